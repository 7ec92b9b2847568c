#include "tessera/privacy/clipping/clipped_sum.h"

#include <algorithm>
#include <limits>

#include "tessera/base/contains.h"
#include "tessera/compile/leaf_function.h"
#include "tessera/ir/axis_env.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/control/control_flow_rules.h"
#include "tessera/ops/core/expect.h"
#include "tessera/ops/core/norm_choice.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/privacy/clipping/clip_pytree.h"
#include "tessera/privacy/clipping/example_arguments.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/example_tiles.h"
#include "tessera/transform/per_example_norms.h"

namespace tessera::privacy::internal {

using namespace compile;
using tessera::internal::ErasedFn;
using tessera::internal::run_under_trace;

namespace {

constexpr std::string_view kOp = "clipped_grad";

ops::BatchAxis batch_axis(const ClipOptions& options, int64_t size) {
  return {.size = size,
          .name = {},
          .spmd_axes = options.spmd_axis_name.axes(),
          .indivisible = options.indivisible};
}

bool is(transforms::NormWay way, NormWay asked) {
  switch (way) {
    case transforms::NormWay::kVectors:
    case transforms::NormWay::kGram:
    case transforms::NormWay::kLookup:
      return asked == NormWay::kFactors;
    case transforms::NormWay::kTiles:
      return asked == NormWay::kTiles;
    case transforms::NormWay::kKeep:
      return asked == NormWay::kKeep;
  }
  return false;
}

transforms::NormPlan plan_of(const ClipOptions& options, const transforms::ExampleBatch& batch,
                             size_t input) {
  const std::vector<transforms::NormPlan> plans = transforms::norm_plans(batch, input);
  if (!options.norm_way) return plans[0];
  for (const transforms::NormPlan& plan : plans)
    if (is(plan.way, *options.norm_way)) return plan;
  return plans[0];
}

// The norms with what was chosen for them, for explain().
Array marked(const Array& norms, const transforms::NormPlan& plan, const std::string& path,
             int64_t size) {
  const auto examples = static_cast<double>(size);
  return bind_op1(norm_choice_op,
                  NormChoiceParams{path, std::string(enum_names(plan.way)[size_t(plan.way)]),
                                   plan.flops * examples, plan.bytes * examples},
                  {norms});
}

using Groups = std::vector<ClipGroup>;

// Scales of the clipped gradients by group: 0 for padding.
std::vector<Array> scales_of(const ClipOptions& options, const Groups& groups,
                             const std::vector<Array>& squares, const Array& padding) {
  std::vector<Array> out =
      group_scales(groups, squares, options.rescale_to_unit_norm, options.nan_safe);
  if (padding.defined())
    for (Array& scales : out) scales = where(padding, zeros_like(scales), scales);
  return out;
}

// Of all groups.
Array norms_of(const std::vector<Array>& squares) {
  Array sum;
  for (const Array& of_group : squares) add_to(sum, of_group);
  return sqrt(sum);
}

Dims all_but_first(const Array& x) {
  Dims dims;
  for (int64_t d = 1; d < x.ndim(); ++d) dims.push_back(d);
  return dims;
}

// Values by example, [batch, ...], clipped and summed; their norms before.
struct ClippedValues {
  std::vector<Array> sums;
  Array norms;
};
ClippedValues clip_values(const ClipOptions& options, const Groups& groups,
                          std::vector<Array> values, const Array& loss, const Array& padding,
                          int64_t size) {
  ClippedValues out{std::vector<Array>(values.size()), Array()};
  std::vector<Array> squares(groups.size());
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i : groups[g].leaves) {
      Array& x = values[i];
      if (is_half(x.dtype())) x = astype(x, float32);
      if (options.nan_safe == NanSafe::kElement) x = finite_elements(x);
      Array s = square(abs(x));
      if (x.ndim() > 1) s = sum(s, {.axis = all_but_first(x)});
      add_to(squares[g], loss.defined() ? of_whole_examples(s, loss) : s);
    }
  if (values.empty()) squares[0] = zeros({size});
  out.norms = norms_of(squares);
  const std::vector<Array> scales = scales_of(options, groups, squares, padding);
  // An example that counts as nothing is left out, whatever its elements.
  const bool leave_out = options.nan_safe != NanSafe::kNo || padding.defined();
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i : groups[g].leaves) {
      const Array& x = values[i];
      const Array scale = x.ndim() == 1 ? scales[g] : expand_dims(scales[g], all_but_first(x));
      Array clipped = x * astype(scale, x.dtype());
      if (leave_out) clipped = where(scale == 0.0f, zeros_like(x), clipped);
      out.sums[i] = sum(clipped, {.axis = 0});
    }
  return out;
}

// x, [batch, ...], with 0 for the examples that are padding.
Array cleared(const Array& x, const Array& padding) {
  const Dims dims = all_but_first(x);
  return where(dims.empty() ? padding : expand_dims(padding, dims), zeros_like(x), x);
}
transforms::ExampleBatch cleared(const transforms::ExampleBatch& batch, const Array& padding) {
  std::vector<Array> mapped = batch.mapped();
  for (Array& x : mapped) x = cleared(x, padding);
  return batch.with_mapped(mapped);
}

// The clipped sums of a (micro)batch, then the loss's results and the norms by example.
class ClippedBatch {
 public:
  ClippedBatch(const ClipOptions& options, const Groups& groups,
               const transforms::ExampleProgram& program, std::span<const Array> operands,
               std::span<const int> dims, const Array& padding,
               const std::vector<std::string>& paths)
      : options_(options), groups_(groups), batch_(program, operands, dims), padding_(padding) {
    std::vector<Array> squares;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const transforms::NormPlan plan = plan_of(options, batch_, i);
      transforms::SquaredNorms part = transforms::squared_norms(batch_, i, plan.way);
      part.norms = marked(part.norms, plan, paths[i], batch_.size());
      squares.push_back(of_whole_examples(part.norms, loss()));
      ways_.push_back(plan.way);
      kept_.push_back(std::move(part.gradients));
    }
    for (const ClipGroup& group : groups_) {
      Array& sum = squares_.emplace_back();
      for (size_t i : group.leaves) add_to(sum, squares[i]);
      if (!sum.defined()) sum = zeros({batch_.size()});
    }
  }

  std::vector<Array> results() const {
    const Array norms = norms_of(squares_);
    std::vector<Array> out;
    if (options_.nan_safe == NanSafe::kNo || ways_.empty()) {
      out = sums(scales(squares_));
    } else {
      const Array finite =
          bind_op1(expect_op, ExpectParams{1}, {holds_everywhere(all(isfinite(norms)))});
      const auto either = [&](const FlatFn& carefully, const FlatFn& usually) {
        return control_flow::make_case(finite, {carefully, usually}, {});
      };
      const std::vector<Array> chosen =
          either([&](const std::vector<Array>&) { return scales(careful_squares()); },
                 [&](const std::vector<Array>&) { return scales(squares_); });
      out = either([&](const std::vector<Array>&) { return careful_sums(chosen); },
                   [&](const std::vector<Array>&) { return sums(chosen); });
    }
    out.insert(out.end(), batch_.results().begin(), batch_.results().end());
    out.push_back(norms);
    return out;
  }

 private:
  const Array& loss() const { return batch_.results()[0]; }

  // What each example's gradients are multiplied by for the result, by group.
  std::vector<Array> scales(const std::vector<Array>& squares) const {
    std::vector<Array> out = scales_of(options_, groups_, squares, padding_);
    if (options_.normalize_by != 1)
      for (Array& scales : out) scales = scales / full({}, options_.normalize_by, scales.dtype());
    return out;
  }

  // What counts of gradients that may not be finite.
  Array counted(const Array& gradients) const {
    return options_.nan_safe == NanSafe::kElement ? finite_elements(gradients) : gradients;
  }

  // Squared norms by group where some gradient is not finite: of gradients one by one, with 0 for
  // such elements; those of such examples are not finite.
  std::vector<Array> careful_squares() const {
    std::vector<Array> out;
    for (size_t g = 0; g < groups_.size(); ++g) {
      Array sum = zeros_like(squares_[g]);
      std::vector<size_t> others;
      for (size_t i : groups_[g].leaves) {
        if (kept_[i].defined())
          sum = sum + of_whole_examples(transforms::squared_gradients(counted(kept_[i])), loss());
        else
          others.push_back(i);
      }
      out.push_back(astype(with_tiled(sum, std::move(others)), squares_[g].dtype()));
    }
    return out;
  }
  // sum + the squared norms of the leaves, in tiles of those alike in what devices have of them.
  Array with_tiled(Array sum, std::vector<size_t> leaves) const {
    const std::vector<ir::Type>& types = batch_.program().inputs;
    while (!leaves.empty()) {
      const AxisNames axes = types[leaves[0]].varying;
      const auto rest = std::partition(leaves.begin(), leaves.end(),
                                       [&](size_t i) { return types[i].varying == axes; });
      sum = sum +
            of_whole_examples(transforms::tiled_squares(batch_, {leaves.begin(), rest},
                                                        [&](const Array& x) { return counted(x); }),
                              loss());
      leaves.erase(leaves.begin(), rest);
    }
    return sum;
  }

  // The sums then, without examples of scale 0: each in a loop of its own, so that they can be
  // corrected one by one (fusion/usual_ways.h).
  std::vector<Array> careful_sums(const std::vector<Array>& scales) const {
    std::vector<Array> out(kept_.size());
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t i : groups_[g].leaves)
        out[i] = kept_[i].defined()
                     ? transforms::ExampleBatch::weighted_sum(
                           cleared(counted(kept_[i]), scales[g] == 0.0f), scales[g])
                     : transforms::tiled_sums(batch_, {i}, scales[g],
                                              [&](const Array& x) { return counted(x); })[0];
    return out;
  }

  // `scales` by group. Gradients that were there for the norms are summed as they were then:
  // computed otherwise, one of which the terms cancel may be many times as long.
  std::vector<Array> sums(const std::vector<Array>& scales) const {
    // A weight of 0 does not do where what is weighted may be no number.
    const bool clear = options_.nan_safe == NanSafe::kNo && padding_.defined();
    const transforms::ExampleBatch batch = clear ? cleared(batch_, padding_) : batch_;
    // What is small comes first, so that it need not be kept for long.
    std::vector<Array> out(ways_.size());
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t i : groups_[g].leaves)
        if (kept_[i].defined())
          out[i] = transforms::ExampleBatch::weighted_sum(
              clear ? cleared(kept_[i], padding_) : kept_[i], scales[g]);
    for (size_t g = 0; g < groups_.size(); ++g) {
      const std::vector<Array> products = batch.only(groups_[g].leaves).weighted_sums(scales[g]);
      for (size_t i : groups_[g].leaves) {
        if (ways_[i] == transforms::NormWay::kTiles)
          out[i] = transforms::tiled_sums(
              batch, {i}, scales[g], [](const Array& x) { return x; }, false)[0];
        if (!out[i].defined()) out[i] = products[i];
      }
    }
    return out;
  }

  const ClipOptions& options_;
  const Groups& groups_;
  const transforms::ExampleBatch batch_;
  const Array padding_;
  std::vector<Array> squares_;             // of each group, [batch]
  std::vector<transforms::NormWay> ways_;  // of each parameter
  std::vector<Array> kept_;                // [batch, ...], where they were kept
};

void expect_loss(const Function& f) {
  const Type& value = f.type(f.outputs[0]);
  if (value.elements() != 1 || value.rank() != 0)
    shape_error(kOp,
                "expected a loss of one example that is a scalar, got {}; reduce it (sum, mean)",
                describe(value));
  if (!is_floating(value.dtype))
    type_error(kOp, "expected a loss that is a real floating-point number, got {}",
               describe(value));
}

// A result by example as the caller wants it: without the dimension of one that the function had.
Array by_example(const Array& x, bool keep_batch_dim) {
  if (keep_batch_dim && x.ndim() >= 2 && x.shape()[1] == 1) return squeeze(x, {1});
  return x;
}

// `arrays`: the sums (of gradients: divided already), what is by example, the norms. With `values_are_sums` the call's first results
// are the sums themselves.
ClippedSum finished(const ClipOptions& options, const std::vector<Array>& arrays, size_t num_sums,
                    bool values_are_sums, ErasedResult results) {
  ClippedSum out{std::move(results), {}, arrays.back()};
  for (size_t i = 0; i < num_sums; ++i) {
    Array sum = arrays[i];
    if (values_are_sums && options.normalize_by != 1)
      sum = sum / full({}, options.normalize_by, sum.dtype());
    out.sums.push_back(options.dtype ? astype(sum, *options.dtype) : sum);
  }
  std::vector<Array>& leaves = out.results.leaves;
  for (size_t r = 0; r < leaves.size(); ++r)
    leaves[r] = !values_are_sums ? by_example(arrays[num_sums + r], options.keep_batch_dim)
                : r < num_sums   ? out.sums[r]
                                 : by_example(arrays[r], options.keep_batch_dim);
  return out;
}

}  // namespace

void expect_clip_options(std::string_view op, const ClipOptions& options, size_t num_arguments,
                         const std::vector<size_t>& argnums) {
  if (!(options.normalize_by > 0))
    value_error(op, "expected normalize_by above 0, got {}", options.normalize_by);
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
  if (options.prng_argnum && (*options.prng_argnum >= num_arguments ||
                              contains(options.batch_argnums, *options.prng_argnum) ||
                              contains(argnums, *options.prng_argnum)))
    value_error(op, "expected a prng_argnum of an argument of its own, got {}",
                *options.prng_argnum);
}

namespace {

// Runs `sum` on the leaves, under a trace: arrays that are the clipped sums, what is by example, and
// the norms.
ClippedSum run_clipped(std::string_view op, const ErasedCall& call, const ClipRequest& request,
                       const std::vector<Array>& leaves, bool values_are_sums,
                       const std::function<std::vector<Array>(const ExampleArguments&)>& sum,
                       size_t& num_sums) {
  const ErasedFn traced = [&](const std::vector<Array>& x) {
    ErasedResult results;
    ClipRequest local = request;
    std::vector<Array> given = x;
    if (request.padding) {
      local.padding = given.back();
      given.pop_back();
    }
    const ExampleArguments arguments = example_arguments(op, call, local, given, results);
    const std::vector<Array> arrays = sum(arguments);  // sets num_sums
    ClippedSum out =
        finished(request.options, arrays, num_sums, values_are_sums, std::move(results));
    ErasedResult all = std::move(out.results);
    all.leaves.push_back(out.norms);
    all.leaves.insert(all.leaves.end(), out.sums.begin(), out.sums.end());
    return all;
  };
  std::vector<Array> given = leaves;
  if (request.padding) given.push_back(*request.padding);
  ClippedSum out{run_under_trace(op, traced, given), {}, {}};
  const auto first = out.results.leaves.end() - static_cast<ptrdiff_t>(num_sums);
  out.sums.assign(first, out.results.leaves.end());
  out.results.leaves.erase(first, out.results.leaves.end());
  out.norms = out.results.leaves.back();
  out.results.leaves.pop_back();
  return out;
}

}  // namespace

ClippedSum clipped_gradients(const ErasedCall& call, const ClipRequest& request,
                             const std::vector<Array>& leaves) {
  size_t num_sums = 0;
  std::vector<std::string> paths;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (request.roles[i] != LeafRole::kParameter) continue;
    if (!is_inexact(leaves[i].dtype()))
      type_error(kOp,
                 "expected float or complex parameters, got {} at {}; convert it, or pass it as "
                 "another argument",
                 describe(leaves[i].type()), request.paths[i]);
    paths.push_back(request.paths[i]);
  }
  const auto sum = [&](const ExampleArguments& arguments) {
    expect_loss(arguments.function);
    const transforms::ExampleProgram program =
        transforms::example_program(arguments.function, arguments.wrt, arguments.differs());
    num_sums = program.inputs.size();
    const Groups groups =
        clip_groups(kOp, request.options.l2_clip_norm, request.options.subtree_norms, paths);
    const int64_t microbatch = request.options.microbatch_size.value_or(arguments.size);
    return over_microbatches(
        arguments, microbatch, num_sums,
        [&](std::span<const Array> operands, const Array& padding) {
          const ops::BatchAxis::Scope scope(batch_axis(request.options, microbatch));
          return ClippedBatch(request.options, groups, program, operands, arguments.dims, padding,
                              paths)
              .results();
        });
  };
  return run_clipped(kOp, call, request, leaves, false, sum, num_sums);
}

ClippedSum clipped_values(const ErasedCall& call, const ClipRequest& request,
                          const std::vector<Array>& leaves,
                          const std::vector<std::string>& values) {
  size_t num_values = 0;
  const auto sum = [&](const ExampleArguments& arguments) {
    num_values = values.size();
    const Groups groups = clip_groups("clipped_fun", request.options.l2_clip_norm,
                                      request.options.subtree_norms, values);
    for (size_t r = 0; r < num_values; ++r)
      expect_clippable("clipped_fun", arguments.function.type(arguments.function.outputs[r]));
    const int64_t microbatch = request.options.microbatch_size.value_or(arguments.size);
    return over_microbatches(
        arguments, microbatch, num_values,
        [&](std::span<const Array> operands, const Array& padding) {
          const ops::BatchAxis::Scope scope(batch_axis(request.options, microbatch));
          const BatchResult batch =
              transforms::batch_function(arguments.function, operands, arguments.dims);
          std::vector<Array> results;
          for (size_t r = 0; r < batch.results.size(); ++r)
            results.push_back(lax::with_batch_first(batch.results[r], batch.dims[r], microbatch));
          const auto rest = results.begin() + static_cast<ptrdiff_t>(num_values);
          ClippedValues clipped = clip_values(request.options, groups, {results.begin(), rest},
                                              request.loss_follows ? results[num_values] : Array(),
                                              padding, microbatch);
          std::vector<Array> out = std::move(clipped.sums);
          out.insert(out.end(), rest, results.end());
          out.push_back(clipped.norms);
          return out;
        });
  };
  return run_clipped("clipped_fun", call, request, leaves, true, sum, num_values);
}

}  // namespace tessera::privacy::internal
