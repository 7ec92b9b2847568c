#include "tessera/privacy/clipping/clipped_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/contains.h"
#include "tessera/compile/leaf_function.h"
#include "tessera/control/make_control_flow.h"
#include "tessera/ir/axis_env.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/norm_choice.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/per_example/example_tiles.h"
#include "tessera/per_example/per_example_norms.h"
#include "tessera/privacy/clipping/clip_pytree.h"
#include "tessera/privacy/clipping/clip_to_grid.h"
#include "tessera/privacy/clipping/example_arguments.h"
#include "tessera/transform/batch.h"

namespace tessera::privacy::internal {

using namespace compile;
using tessera::internal::ErasedFn;
using tessera::internal::run_under_trace;

namespace {

constexpr std::string_view kClippedSumOp = "clipped_grad";

bool matches(per_example::NormWay method, NormWay asked) {
  switch (method) {
    case per_example::NormWay::kVectors:
    case per_example::NormWay::kGram:
    case per_example::NormWay::kLookup:
      return asked == NormWay::kFactors;
    case per_example::NormWay::kTiles:
      return asked == NormWay::kTiles;
    case per_example::NormWay::kKeep:
      return asked == NormWay::kKeep;
  }
  return false;
}

// Returns whether a method computes the gradient of each example.
bool makes_gradients(per_example::NormWay method) {
  return matches(method, NormWay::kTiles) || matches(method, NormWay::kKeep);
}

// Returns the method that the options name, if the parameter allows it; otherwise the first method
// that they allow. NanSafe::kElement needs the gradient of each example.
per_example::NormPlan plan_of(const ClipOptions& options, const per_example::ExampleBatch& batch,
                              size_t input) {
  const std::vector<per_example::NormPlan> plans = per_example::norm_plans(batch, input);
  const bool by_element = options.nan_safe == NanSafe::kElement;
  const auto allowed = [&](const per_example::NormPlan& plan) {
    return !by_element || makes_gradients(plan.method);
  };
  if (options.norm_way)
    for (const per_example::NormPlan& plan : plans)
      if (matches(plan.method, *options.norm_way) && allowed(plan)) return plan;
  return *std::find_if(plans.begin(), plans.end(), allowed);
}

// Returns the norms, marked with the method that was chosen for them, for explain().
Array mark_norm_choice(const Array& norms, const per_example::NormPlan& plan,
                       const std::string& path, int64_t size) {
  const auto examples = static_cast<double>(size);
  return bind_op1(norm_choice_op,
                  NormChoiceParams{path, std::string(enum_names(plan.method)[size_t(plan.method)]),
                                   plan.flops * examples, plan.bytes * examples},
                  {norms});
}

using Groups = std::vector<ClipGroup>;

// Returns the clip scales of each group, [batch]. They are 0 for padding.
std::vector<Array> scales_of(const ClipOptions& options, const Groups& groups,
                             const std::vector<Array>& squares, const Array& padding) {
  std::vector<Array> out =
      group_scales(groups, squares, options.rescale_to_unit_norm, options.nan_safe);
  if (padding.defined())
    for (Array& scales : out) scales = lax::select(padding, lax::full_like(scales, 0), scales);
  return out;
}

// Returns the norms over all groups in `dtype`.
Array norms_of(const std::vector<Array>& squares, DType dtype) {
  Array sum;
  for (const Array& of_group : squares) add_to(sum, of_group);
  return lax::convert_element_type(lax::sqrt(sum), dtype);
}

// Returns a mask of the examples that are left out of the sum: padding and, with NanSafe::kExample,
// examples whose gradient is not finite. It is undefined if no example can be left out.
Array left_out(const ClipOptions& options, const std::vector<Array>& squares,
               const Array& padding) {
  if (options.nan_safe != NanSafe::kExample) return padding;
  Array out = padding;
  for (const Array& of_group : squares) {
    const Array not_finite = lax::bitwise_not(lax::is_finite(of_group));
    out = out.defined() ? lax::bitwise_or(out, not_finite) : not_finite;
  }
  return out;
}

Dims all_but_first(const Array& x) {
  Dims dims;
  for (int64_t d = 1; d < x.ndim(); ++d) dims.push_back(d);
  return dims;
}

// Returns x, [batch, ...], with 0 for the examples that the mask `out` marks.
Array clear_examples(const Array& x, const Array& out) {
  const Dims dims = all_but_first(x);
  return where(dims.empty() ? out : expand_dims(out, dims), zeros_like(x), x);
}
per_example::ExampleBatch clear_examples(const per_example::ExampleBatch& batch, const Array& out) {
  std::vector<Array> mapped = batch.mapped();
  for (Array& x : mapped) x = clear_examples(x, out);
  return batch.with_mapped(mapped);
}

// The clipped and summed values of the examples, and their norms before clipping, [batch].
struct ClippedValues {
  std::vector<Array> sums;
  Array norms;
};
ClippedValues clip_values(const ClipOptions& options, const Groups& groups,
                          const std::optional<StepsPerUnit>& steps_per_unit,
                          std::vector<Array> values, const Array& loss, const Array& padding,
                          int64_t size) {
  ClippedValues out{std::vector<Array>(values.size()), Array()};
  std::vector<Array> squares(groups.size());
  DType norm_dtype = float32;
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i : groups[g].leaves) {
      Array& x = values[i];
      if (is_half(x.dtype())) x = astype(x, float32);
      if (clip_dtype(x.dtype()) == float64) norm_dtype = float64;
      if (options.nan_safe == NanSafe::kElement) x = finite_elements(x);
      Array s = exact_squares(x);
      if (x.ndim() > 1) s = lax::reduce_sum(s, all_but_first(x));
      add_to(squares[g], loss.defined() ? of_whole_examples(s, loss) : s);
    }
  if (values.empty()) squares[0] = lax::full({size}, 0, float64);
  out.norms = norms_of(squares, norm_dtype);
  std::vector<Array> scales = scales_of(options, groups, squares, padding);
  if (steps_per_unit)
    for (Array& s : scales) s = steps_per_unit->times(s);
  const Array out_of_sum = left_out(options, squares, padding);
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i : groups[g].leaves) {
      const Array x = out_of_sum.defined() ? clear_examples(values[i], out_of_sum) : values[i];
      if (steps_per_unit) {
        out.sums[i] = lax::reduce_sum(per_example::on_grid(x, scales[g]), {0});
        continue;
      }
      const Array scale = x.ndim() == 1 ? scales[g] : expand_dims(scales[g], all_but_first(x));
      out.sums[i] = lax::reduce_sum(exact(x * astype(scale, x.dtype())), {0});
    }
  return out;
}

// Computes the clipped sums of a (micro)batch, the loss's results and the norms of the examples.
//
// The contribution of an example is a function of the example, the parameters and the options, with
// the same bits in every batch. Methods are chosen by shapes of one example, products over the
// batch are invariant (DotSum in ops/linear/dot_general.h), scales read the example's own norm, and
// an example that is left out is replaced by zeros, which changes nothing else
// (docs/privacy_proof.md).
class ClippedBatch {
 public:
  // With `in_double` products are summed in float64 too. `steps_per_unit` is set if there is a
  // grid.
  ClippedBatch(const ClipOptions& options, const Groups& groups,
               const per_example::ExampleProgram& program, std::span<const Array> operands,
               std::span<const int> dims, const Array& padding,
               const std::vector<std::string>& paths, bool in_double,
               const std::optional<StepsPerUnit>& steps_per_unit)
      : options_(options),
        groups_(groups),
        batch_(program, operands, dims),
        padding_(padding),
        in_double_(in_double),
        steps_per_unit_(steps_per_unit) {
    std::vector<Array> squares, reported;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      if (clip_dtype(program.inputs[i].dtype) == float64) norm_dtype_ = float64;
      const per_example::NormPlan plan = plan_of(options, batch_, i);
      per_example::TiledSquares part = squares_of(i, plan.method);
      part.mapped =
          of_whole_examples(mark_norm_choice(part.mapped, plan, paths[i], batch_.size()), loss());
      squares.push_back(part.mapped);
      reported.push_back(options.nan_safe == NanSafe::kElement
                             ? of_whole_examples(part.plain, loss())
                             : part.mapped);
      methods_.push_back(plan.method);
    }
    for (const ClipGroup& group : groups_) {
      Array &sum = squares_.emplace_back(), &plain = reported_.emplace_back();
      for (size_t i : group.leaves) add_to(sum, squares[i]), add_to(plain, reported[i]);
      if (!sum.defined()) sum = plain = lax::full({batch_.size()}, 0, float64);
    }
  }

  std::vector<Array> results() const {
    std::vector<Array> scales = scales_of(options_, groups_, squares_, padding_);
    if (steps_per_unit_)
      for (Array& s : scales) s = steps_per_unit_->times(s);
    if (options_.normalize_by != 1)
      for (Array& s : scales) s = lax::div(s, lax::full_like(s, options_.normalize_by));
    std::vector<Array> out = sums(scales);
    out.insert(out.end(), batch_.results().begin(), batch_.results().end());
    out.push_back(norms_of(reported_, norm_dtype_));
    return out;
  }

 private:
  const Array& loss() const { return batch_.results()[0]; }

  // Returns the map that sets elements of a gradient which do not count to 0; null if all elements
  // count.
  per_example::GradientMap counted_elements() const {
    return options_.nan_safe == NanSafe::kElement ? per_example::GradientMap(finite_elements)
                                                  : nullptr;
  }

  // Returns the squared norms of the gradients, and those of their elements that count.
  per_example::TiledSquares squares_of(size_t input, per_example::NormWay method) {
    kept_.emplace_back();
    if (method == per_example::NormWay::kTiles)
      return per_example::tiled_squares(batch_, {input}, counted_elements());
    per_example::SquaredNorms part = per_example::squared_norms(batch_, input, method);
    kept_.back() = part.gradients;
    if (!counted_elements()) return {part.norms, part.norms};
    kept_.back() = finite_elements(part.gradients);
    return {part.norms, per_example::squared_gradients(kept_.back())};
  }

  // Returns the contributions of examples: their weighted gradients, in steps of the grid if there
  // is one.
  Array contribution(const Array& gradients, const Array& weights) const {
    const Array counts = counted_elements() ? finite_elements(gradients) : gradients;
    return options_.grid_scale ? per_example::on_grid(counts, weights)
                               : per_example::weighted(counts, weights);
  }

  // Returns the sums of contributions: float64, float32 for a product, or int32 on a grid.
  // Gradients that were kept for the norms are summed, not computed again: a gradient whose terms
  // cancel may be many times as long if it is computed in another order.
  std::vector<Array> sums(const std::vector<Array>& scales) const {
    // A weight of 0 would not be enough, because the weighted value may be NaN or infinite.
    const Array out_of_sum = left_out(options_, squares_, padding_);
    const auto clear = [&](const auto& x) {
      return out_of_sum.defined() ? clear_examples(x, out_of_sum) : x;
    };
    const per_example::ExampleBatch batch = clear(batch_);
    std::vector<Array> out(methods_.size());
    // Kept gradients are summed first, so that they are not in memory for long.
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t i : groups_[g].leaves) {
        if (kept_[i].defined()) {
          out[i] = lax::reduce_sum(contribution(clear(kept_[i]), scales[g]), {0});
        } else if (options_.grid_scale && methods_[i] != per_example::NormWay::kTiles) {
          if (const auto sum = per_example::grid_sum(batch_, i, scales[g], out_of_sum))
            out[i] = lax::convert_element_type(*sum, int32);
        }
      }
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::vector<size_t> products;
      for (size_t i : groups_[g].leaves) {
        if (out[i].defined()) continue;
        if (methods_[i] == per_example::NormWay::kTiles || options_.grid_scale) {
          out[i] = per_example::tiled_sum(
              batch, i, scales[g],
              [&](const Array& x, const Array& weights) { return contribution(x, weights); });
        } else {
          products.push_back(i);
        }
      }
      if (products.empty()) continue;
      const std::vector<Array> sums = batch.only(products).weighted_sums(scales[g], in_double_);
      for (size_t i : products) out[i] = sums[i];
    }
    return out;
  }

  const ClipOptions& options_;
  const Groups& groups_;
  const per_example::ExampleBatch batch_;
  const Array padding_;
  const bool in_double_;
  const std::optional<StepsPerUnit> steps_per_unit_;  // steps of the grid
  DType norm_dtype_ = float32;
  // For each group, [batch]: the squared norms of the elements that count, and of the gradients.
  std::vector<Array> squares_;
  std::vector<Array> reported_;
  std::vector<per_example::NormWay> methods_;  // the method of each parameter
  std::vector<Array> kept_;  // gradients (elements that count), [batch, ...], if they were kept
};

void expect_loss(const Function& f) {
  const Type& value = f.type(f.outputs[0]);
  if (value.elements() != 1 || value.rank() != 0)
    shape_error(kClippedSumOp,
                "expected a loss of one example that is a scalar, got {}; reduce it (sum, mean)",
                describe(value));
  if (!is_floating(value.dtype))
    type_error(kClippedSumOp, "expected a loss that is a real floating-point number, got {}",
               describe(value));
}

// Returns a result for each example in the caller's shape, without the dimension of size 1 that the
// function saw.
Array by_example(const Array& x, bool keep_batch_dim) {
  if (keep_batch_dim && x.ndim() >= 2 && x.shape()[1] == 1) return squeeze(x, {1});
  return x;
}

// Returns the result of the call. `arrays` are the sums (if of gradients, already divided by
// normalize_by), the results for each example, and the norms. With `values_are_sums` the call's
// first results are replaced by the sums.
ClippedSum finished(const ClipOptions& options, const std::vector<DType>& dtypes,
                    const std::vector<Array>& arrays, bool values_are_sums, ErasedResult results) {
  const size_t num_sums = dtypes.size();
  ClippedSum out{std::move(results), {}, arrays.back()};
  for (size_t i = 0; i < num_sums; ++i) {
    Array sum = arrays[i];
    if (values_are_sums && options.normalize_by != 1)
      sum = lax::div(sum, lax::full_like(sum, options.normalize_by));
    out.sums.push_back(lax::convert_element_type(sum, dtypes[i]));
  }
  std::vector<Array>& leaves = out.results.leaves;
  for (size_t r = 0; r < leaves.size(); ++r)
    leaves[r] = !values_are_sums ? by_example(arrays[num_sums + r], options.keep_batch_dim)
                : r < num_sums   ? out.sums[r]
                                 : by_example(arrays[r], options.keep_batch_dim);
  return out;
}

}  // namespace

namespace {

// Returns the one argument that is neither differentiated nor a key nor declared as shared. Throws
// UserError unless there is exactly one.
std::vector<size_t> only_batch_argument(std::string_view op, const ClipOptions& options,
                                        size_t num_arguments, const std::vector<size_t>& argnums) {
  std::vector<size_t> out;
  for (size_t i = 0; i < num_arguments; ++i)
    if (!contains(argnums, i) && options.prng_argnum != i && !contains(options.shared_argnums, i))
      out.push_back(i);
  if (out.size() == 1) return out;
  value_error(
      op,
      "expected batch_argnums, which arguments have an example for each index of their first "
      "dimension, got none for a function of {} arguments; write .batch_argnums = {{{}}}, "
      "less those that are the same for every example",
      num_arguments, fmt::join(out, ", "));
}

}  // namespace

ClipOptions checked_options(std::string_view op, ClipOptions options, size_t num_arguments,
                            const std::vector<size_t>& argnums) {
  if (!(options.normalize_by > 0))
    value_error(op, "expected normalize_by above 0, got {}", options.normalize_by);
  if (options.float32_examples < 1)
    value_error(op, "expected float32_examples of at least 1, got {}", options.float32_examples);
  if (options.prng_argnum && (*options.prng_argnum >= num_arguments ||
                              contains(options.batch_argnums, *options.prng_argnum) ||
                              contains(argnums, *options.prng_argnum)))
    value_error(op, "expected a prng_argnum of an argument of its own, got {}",
                *options.prng_argnum);
  if (options.batch_argnums.empty())
    options.batch_argnums = only_batch_argument(op, options, num_arguments, argnums);
  for (size_t i : options.shared_argnums)
    if (i >= num_arguments || contains(options.batch_argnums, i))
      value_error(op, "expected shared_argnums of arguments that are not of the batch, got {}", i);
  for (size_t i : options.batch_argnums) {
    if (i >= num_arguments)
      value_error(op, "expected batch_argnums below the number of arguments, {}, got {}",
                  num_arguments, i);
    if (contains(argnums, i))
      value_error(op,
                  "expected arguments that are differentiated or of the batch, got argument {} as "
                  "both; a gradient by what each example has of its own is not summed: use vmap",
                  i);
  }
  return options;
}

namespace {

// Runs `sum` on the leaves, under a trace. `sum` returns the clipped sums, the results for each
// example, and the norms.
ClippedSum run_clipped(std::string_view op, const ErasedCall& call, const ClipRequest& request,
                       const std::vector<Array>& leaves, bool values_are_sums,
                       const std::function<std::vector<Array>(const ExampleArguments&)>& sum,
                       std::vector<DType>& dtypes) {
  const ErasedFn traced = [&](const std::vector<Array>& x) {
    ErasedResult results;
    ClipRequest local = request;
    std::vector<Array> given = x;
    if (request.padding) {
      local.padding = given.back();
      given.pop_back();
    }
    const ExampleArguments arguments = example_arguments(op, call, local, given, results);
    const std::vector<Array> arrays = sum(arguments);  // sets dtypes
    ClippedSum out = finished(request.options, dtypes, arrays, values_are_sums, std::move(results));
    ErasedResult all = std::move(out.results);
    all.leaves.push_back(out.norms);
    all.leaves.insert(all.leaves.end(), out.sums.begin(), out.sums.end());
    return all;
  };
  std::vector<Array> given = leaves;
  if (request.padding) given.push_back(*request.padding);
  ClippedSum out{run_under_trace(op, traced, given), {}, {}};
  const auto first = out.results.leaves.end() - static_cast<ptrdiff_t>(dtypes.size());
  out.sums.assign(first, out.results.leaves.end());
  out.results.leaves.erase(first, out.results.leaves.end());
  out.norms = out.results.leaves.back();
  out.results.leaves.pop_back();
  return out;
}

// Returns whether products are summed in float64 because float32 would round more than
// sensitivity() counts.
bool sums_in_double(const ClipOptions& options, int64_t size) {
  return size > options.float32_examples || devices().size() > kFloat32Devices;
}

// Returns the dtype of the sum of values of `dtype` over `size` examples.
DType result_dtype(std::string_view op, const ClipOptions& options, DType dtype, int64_t size) {
  if (options.grid_scale) {
    if (is_complex(dtype))
      type_error(op,
                 "expected real numbers to round to a grid, got {}; take their real and imaginary "
                 "parts as parameters, or a plan of the mechanism Gaussian",
                 dtype);
    return int32;
  }
  const bool doubled = sums_in_double(options, size);
  if (options.dtype) {
    if (!is_inexact(*options.dtype) || itemsize(real_dtype(*options.dtype)) < itemsize(float32))
      type_error(op,
                 "expected a dtype of at least float32 for the sum, got {}, which rounds more than "
                 "sensitivity() says; leave dtype out, add the noise, and convert then",
                 *options.dtype);
    if (doubled && itemsize(real_dtype(*options.dtype)) < itemsize(float64))
      type_error(
          op,
          "expected dtype = float64 for the sum of {} examples on {} devices, got {}, which "
          "rounds more than sensitivity() says; leave dtype out, or set float32_examples (now "
          "{}), which sensitivity() counts",
          size, devices().size(), *options.dtype, options.float32_examples);
    return *options.dtype;
  }
  if (doubled) return is_complex(dtype) ? complex128 : float64;
  return is_half(dtype) ? accumulation_dtype(dtype) : dtype;
}

// Returns the grid if the options have one, and lowers the norms of the groups for it.
std::optional<StepsPerUnit> grid_of(std::string_view op, const ClipOptions& options, Groups& groups,
                                    const std::vector<int64_t>& elements, int64_t size) {
  if (options.grid_scale) return clip_to_grid(op, options, groups, elements, size);
  if (options.grid_factors)
    value_error(op,
                "expected grid_factors with grid_scale alone, got them without; leave them out");
  return std::nullopt;
}

// Returns the clipped sums of the examples' values, the other results, and the norms.
std::vector<Array> clipped_values_of(const ClipRequest& request, const Groups& groups,
                                     const std::optional<StepsPerUnit>& steps_per_unit,
                                     const ExampleArguments& arguments, size_t num_values,
                                     std::span<const Array> operands, const Array& padding,
                                     int64_t size) {
  const BatchResult batch =
      per_example::batch_function(arguments.function, operands, arguments.dims);
  std::vector<Array> results;
  for (size_t r = 0; r < batch.results.size(); ++r)
    results.push_back(lax::with_batch_first(batch.results[r], batch.dims[r], size));
  const auto rest = results.begin() + static_cast<ptrdiff_t>(num_values);
  ClippedValues clipped =
      clip_values(request.options, groups, steps_per_unit, {results.begin(), rest},
                  request.loss_follows ? results[num_values] : Array(), padding, size);
  std::vector<Array> out = std::move(clipped.sums);
  out.insert(out.end(), rest, results.end());
  out.push_back(clipped.norms);
  return out;
}

}  // namespace

ClippedSum clipped_gradients(const ErasedCall& call, const ClipRequest& request,
                             const std::vector<Array>& leaves) {
  std::vector<DType> dtypes;
  std::vector<std::string> paths;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (request.roles[i] != LeafRole::kParameter) continue;
    if (!is_inexact(leaves[i].dtype()))
      type_error(kClippedSumOp,
                 "expected float or complex parameters, got {} at {}; convert it, or pass it as "
                 "another argument",
                 describe(leaves[i].type()), request.paths[i]);
    paths.push_back(request.paths[i]);
  }
  const auto sum = [&](const ExampleArguments& arguments) {
    expect_loss(arguments.function);
    const per_example::ExampleProgram program =
        per_example::example_program(arguments.function, arguments.wrt, arguments.differs());
    dtypes.clear();
    for (const Type& type : program.inputs)
      dtypes.push_back(result_dtype(kClippedSumOp, request.options, type.dtype, arguments.size));
    const ClipOptions& options = request.options;
    Groups groups = clip_groups(kClippedSumOp, options.l2_clip_norm, options.subtree_norms, paths);
    const bool in_double = sums_in_double(options, arguments.size);
    std::vector<int64_t> elements;
    for (const Type& type : program.inputs) elements.push_back(type.elements());
    const std::optional<StepsPerUnit> steps =
        grid_of(kClippedSumOp, options, groups, elements, arguments.size);
    return over_microbatches(arguments, dtypes.size(), options,
                             [&](std::span<const Array> operands, const Array& padding, int64_t) {
                               return ClippedBatch(options, groups, program, operands,
                                                   arguments.dims, padding, paths, in_double, steps)
                                   .results();
                             });
  };
  ClipRequest with_loss = request;
  with_loss.loss = call;
  return run_clipped(kClippedSumOp, call, with_loss, leaves, false, sum, dtypes);
}

ClippedSum clipped_values(const ErasedCall& call, const ClipRequest& request,
                          const std::vector<Array>& leaves,
                          const std::vector<std::string>& values) {
  std::vector<DType> dtypes;
  const auto sum = [&](const ExampleArguments& arguments) {
    const size_t num_values = values.size();  // the call has set them
    Groups groups = clip_groups("clipped_fun", request.options.l2_clip_norm,
                                request.options.subtree_norms, values);
    dtypes.clear();
    std::vector<int64_t> elements;
    for (size_t r = 0; r < num_values; ++r) {
      const Type& type = arguments.function.type(arguments.function.outputs[r]);
      expect_clippable("clipped_fun", type);
      dtypes.push_back(result_dtype("clipped_fun", request.options, type.dtype, arguments.size));
      elements.push_back(type.elements());
    }
    const std::optional<StepsPerUnit> steps =
        grid_of("clipped_fun", request.options, groups, elements, arguments.size);
    return over_microbatches(
        arguments, num_values, request.options,
        [&](std::span<const Array> operands, const Array& padding, int64_t size) {
          return clipped_values_of(request, groups, steps, arguments, num_values, operands, padding,
                                   size);
        });
  };
  return run_clipped("clipped_fun", call, request, leaves, true, sum, dtypes);
}

}  // namespace tessera::privacy::internal
