#include "tessera/privacy/clipping/example_arguments.h"

#include <algorithm>

#include "tessera/base/contains.h"
#include "tessera/compile/leaf_function.h"
#include "tessera/control/make_control_flow.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/privacy/clipping/one_example.h"
#include "tessera/random/key.h"
#include "tessera/trace/example_scope.h"
#include "tessera/trace/trace.h"

namespace tessera::privacy::internal {

using namespace compile;
using tessera::internal::ErasedCall;

namespace {

int64_t batch_size(std::string_view op, const ClipRequest& request,
                   const std::vector<Array>& leaves) {
  int64_t size = -1;
  std::string from;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (request.roles[i] != LeafRole::kBatch) continue;
    if (leaves[i].ndim() == 0)
      shape_error(op, "expected a first dimension of examples of {}, got the scalar {}",
                  request.paths[i], describe(leaves[i].type()));
    const int64_t extent = leaves[i].shape()[0];
    if (size < 0) {
      size = extent;
      from = request.paths[i];
    } else if (size != extent) {
      shape_error(op, "expected batch arguments of one size, got {} of {} and {} of {}", size, from,
                  extent, request.paths[i]);
    }
  }
  if (size < 0) value_error(op, "expected batch arguments with an array, got none");
  for (size_t i = 0; i < leaves.size() && size > 1; ++i)
    if (request.roles[i] == LeafRole::kUndeclared && leaves[i].ndim() > 0 &&
        leaves[i].shape()[0] == size)
      value_error(op,
                  "expected {} declared, which is {} and as long as the batch, got it in neither "
                  "batch_argnums nor shared_argnums; add its argument to batch_argnums if each "
                  "example has its own part of it, or to shared_argnums if every example sees all",
                  request.paths[i], describe(leaves[i].type()));
  if (request.options.microbatch_size) {
    const int64_t m = *request.options.microbatch_size;
    if (m <= 0 || size % m != 0)
      value_error(op, "expected a microbatch_size that divides the batch of {}, got {}", size, m);
  }
  if (request.padding) {
    const Array& mask = *request.padding;
    if (mask.dtype() != bool_ || mask.shape() != Shape{size})
      shape_error(op, "expected a padding mask bool[{}], one for each example, got {}", size,
                  describe(mask.type()));
  }
  return size;
}

// Folded into a stream's key, so that the keys of examples differ from the keys that the stream
// makes.
constexpr uint32_t kExamples = 0x9e3779b9;

// Returns the operand of a leaf: for keys and batches it has a dimension of examples.
Array spread(const Array& leaf, LeafRole role, int64_t size, bool keep_batch_dim) {
  switch (role) {
    case LeafRole::kShared:
    case LeafRole::kUndeclared:
    case LeafRole::kParameter:
      return leaf;
    case LeafRole::kBatch:
      return keep_batch_dim ? expand_dims(leaf, {1}) : leaf;
    case LeafRole::kKey:
      return random::split(random::wrap_key_data(leaf), size).data;
    case LeafRole::kStream: {
      return random::split(random::fold_in(random::Key{leaf}, kExamples), size).data;
    }
  }
  return leaf;
}

// Marks parameters as varying over `axes`, those axes of a surrounding shard_map over which the
// loss varies, so that gradients are those of the device's own examples (as in grad). Returns
// whether this changed a parameter. Along other axes devices share an example, and its gradient is
// summed over them.
bool cast_parameters(ExampleArguments& arguments, const AxisNames& axes) {
  bool changed = false;
  for (size_t i = 0; i < arguments.operands.size(); ++i) {
    Array& x = arguments.operands[i];
    if (!arguments.wrt[i] || axis_subset(axes, traced_type(x).varying)) continue;
    x = lax::pcast_varying(x, axes);
    changed = true;
  }
  return changed;
}

std::vector<Type> example_types(const ExampleArguments& arguments) {
  std::vector<Type> out;
  for (size_t i = 0; i < arguments.operands.size(); ++i) {
    out.push_back(traced_type(arguments.operands[i]));
    if (arguments.dims[i] == 0) out.back().shape.erase(out.back().shape.begin());
  }
  return out;
}

// Returns x, [size, ...], with 0 for padding.
Array without_padding(const Array& x, const Array& padding) {
  const Type type = traced_type(x);
  return lax::select(lax::broadcast_in_dim(padding, type.shape, {0}), lax::full_like(x, 0), x);
}

}  // namespace

ExampleArguments example_arguments(std::string_view op, const ErasedCall& call,
                                   const ClipRequest& request, const std::vector<Array>& leaves,
                                   ErasedResult& call_result) {
  ExampleArguments out;
  out.size = batch_size(op, request, leaves);
  if (request.padding) out.padding = *request.padding;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const LeafRole role = request.roles[i];
    const bool mapped =
        role != LeafRole::kShared && role != LeafRole::kUndeclared && role != LeafRole::kParameter;
    out.operands.push_back(spread(leaves[i], role, out.size, request.options.keep_batch_dim));
    out.dims.push_back(mapped ? 0 : -1);
    out.wrt.push_back(role == LeafRole::kParameter);
  }
  const auto traced_call = [&] {
    return trace_function(
        [&](const std::vector<Array>& inputs) {
          std::optional<ExampleScope> scope;
          if (request.options.keep_batch_dim) scope.emplace();
          call_result = call(inputs);
          return call_result.leaves;
        },
        example_types(out), "example");
  };
  TracedFunction traced = traced_call();
  expect_one_example(op, call, request, leaves, example_types(out));
  const auto varying = [&] {
    const Function& f = traced.function;
    return f.outputs.empty() ? AxisNames() : f.type(f.outputs[0]).varying;
  };
  while (cast_parameters(out, varying())) traced = traced_call();
  expect_no_captured_batch(op, request.options, traced.captures, out.size);
  for (Array& captured : traced.captures) {
    out.operands.push_back(std::move(captured));
    out.dims.push_back(-1);
    out.wrt.push_back(false);
  }
  out.function = remove_dead_ops(traced.function);
  if (out.padding.defined())
    for (size_t i = 0; i < out.operands.size(); ++i)
      if (out.dims[i] >= 0) out.operands[i] = without_padding(out.operands[i], out.padding);
  return out;
}

Array holds_everywhere(const Array& condition) {
  const Type type = traced_type(condition);
  if (type.varying.empty()) return condition;
  return lax::ne(lax::pmin(lax::convert_element_type(condition, int32), type.varying),
                 lax::full({}, 0, int32));
}

namespace {

// Returns x, [batch, ...], as [batches, microbatch, ...]: microbatch i has the examples i, i +
// batches, ...
Array strided(const Array& x, int64_t microbatch) {
  Shape shape = x.shape();
  shape[0] /= microbatch;
  shape.insert(shape.begin(), microbatch);
  return lax::move_to_front(lax::reshape(x, shape), 1);
}
Array in_order(const Array& x) {
  Shape shape = x.shape();
  shape[1] *= shape[0];
  shape.erase(shape.begin());
  return lax::reshape(lax::move_to_front(x, 1), shape);
}

// Returns x, [1, ...], with a second example of zeros, which is padding.
Array with_padding(const Array& x) {
  return lax::concatenate(std::vector<Array>{x, lax::full_like(x, 0)}, 0);
}

// Calls fn for a microbatch, under a BatchAxis::Scope.
std::vector<Array> in_batch(const std::vector<int>& dims, int64_t microbatch, size_t num_sums,
                            const ClipOptions& options, std::span<const Array> operands,
                            const Array& padding, const BatchFn& fn) {
  const int64_t size = microbatch == 1 ? 2 : microbatch;
  const ops::BatchAxis::Scope scope({.size = size,
                                     .name = {},
                                     .spmd_axes = options.spmd_axis_name.axes(),
                                     .indivisible = options.indivisible,
                                     .invariant = true});
  if (size == microbatch) return fn(operands, padding, size);
  std::vector<Array> two(operands.begin(), operands.end());
  for (size_t i = 0; i < two.size(); ++i)
    if (dims[i] >= 0) two[i] = with_padding(two[i]);
  constexpr bool kSecond[] = {false, true};
  const Array second = lax::constant(Literal::from<bool>(kSecond, {2}));
  std::vector<Array> out =
      fn(two, padding.defined() ? lax::bitwise_or(with_padding(padding), second) : second, size);
  for (size_t r = num_sums; r < out.size(); ++r) out[r] = lax::slice_in_dim(out[r], 0, 1, 1, 0);
  return out;
}

}  // namespace

std::vector<Array> over_microbatches(const ExampleArguments& arguments, size_t num_sums,
                                     const ClipOptions& options, const BatchFn& batch_fn) {
  const int64_t size = arguments.size, microbatch = options.microbatch_size.value_or(size);
  const auto fn = [&](std::span<const Array> operands, const Array& padding) {
    return in_batch(arguments.dims, microbatch, num_sums, options, operands, padding, batch_fn);
  };
  if (microbatch == size) return fn(arguments.operands, arguments.padding);
  control::ScanSpec spec{.length = size / microbatch};
  std::vector<Type> types;
  for (size_t i = 0; i < arguments.operands.size(); ++i) {
    types.push_back(traced_type(arguments.operands[i]));
    if (arguments.dims[i] < 0) {
      spec.consts.push_back(arguments.operands[i]);
      continue;
    }
    spec.xs.push_back(strided(arguments.operands[i], microbatch));
    types.back().shape[0] = microbatch;
  }
  const bool padded = arguments.padding.defined();
  if (padded) {
    spec.xs.push_back(strided(arguments.padding, microbatch));
    types.push_back({bool_, {microbatch}});
  }
  const FlatFn trip = [&](const std::vector<Array>& x) {
    return fn(std::span(x).first(arguments.operands.size()), padded ? x.back() : Array());
  };
  // This trace yields the types of the sums, which start at zeros.
  const TracedFunction one = trace_function(trip, types, "microbatch");
  const std::vector<Type> results = one.function.output_types();
  for (size_t s = 0; s < num_sums; ++s) spec.carry.push_back(control::zero_of(results[s]));
  std::vector<Array> out = control::make_scan(spec, [&](const std::vector<Array>& inputs) {
    std::vector<Array> x;
    size_t next_const = 0, next_row = spec.consts.size() + spec.carry.size();
    for (int dim : arguments.dims) x.push_back(inputs[dim < 0 ? next_const++ : next_row++]);
    if (padded) x.push_back(inputs[next_row]);
    std::vector<Array> results_of_trip;
    if (padded) {
      // A microbatch that is all padding has zeros as its results.
      results_of_trip = control::make_case(holds_everywhere(lax::reduce_and(x.back(), {0})),
                                           {trip,
                                            [&](const std::vector<Array>&) {
                                              std::vector<Array> zeros;
                                              for (const Type& t : results)
                                                zeros.push_back(control::zero_of(t));
                                              return zeros;
                                            }},
                                           x);
    } else {
      results_of_trip = trip(x);
    }
    for (size_t s = 0; s < num_sums; ++s)
      results_of_trip[s] = lax::add(inputs[spec.consts.size() + s], results_of_trip[s]);
    return results_of_trip;
  });
  for (size_t r = num_sums; r < out.size(); ++r) out[r] = in_order(out[r]);
  return out;
}

}  // namespace tessera::privacy::internal
