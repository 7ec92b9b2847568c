#include "tessera/compile/vmap.h"

#include "tessera/compile/leaf_function.h"
#include "tessera/compile/vmap_flat.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"

namespace tessera::internal {

using namespace compile;

namespace {

constexpr std::string_view kVmapOp = "vmap";

// Returns the mapped dimension of each leaf (-1: not mapped) and sets the number of examples.
std::vector<int> mapped_dims(std::span<const Array> leaves, FlatVmap& options) {
  std::vector<int> dims;
  std::optional<int64_t> size = options.axis_size;
  std::string from = "axis_size";
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!options.in_axes[i]) {
      dims.push_back(-1);
      continue;
    }
    const int axis = *options.in_axes[i];
    const int64_t rank = leaves[i].ndim();
    if (axis < -rank || axis >= rank)
      value_error(kVmapOp, "expected in_axes in [-{}, {}) for {}, {}, got {}{}", rank, rank,
                  options.paths[i], describe(leaves[i].type()), axis,
                  rank == 0 ? "; a scalar is not mapped: pass None" : "");
    dims.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    const int64_t extent = leaves[i].shape()[dims.back()];
    if (size && *size != extent)
      shape_error(kVmapOp,
                  "expected mapped dimensions of one size, got {} from {} and {} from dimension {} "
                  "of {}, {}",
                  *size, from, extent, dims.back(), options.paths[i], describe(leaves[i].type()));
    if (!size) {
      size = extent;
      from = fmt::format("dimension {} of {}", dims.back(), options.paths[i]);
    }
  }
  if (!size)
    value_error(kVmapOp,
                "expected a mapped argument or an axis_size, got in_axes that are all None");
  options.axis.size = *size;
  return dims;
}

}  // namespace

std::vector<Array> vmap_flat(const FlatFn& body, std::span<const Array> leaves, FlatVmap options,
                             const std::function<std::vector<MappedAxis>()>& out_axes) {
  std::vector<int> dims = mapped_dims(leaves, options);
  const std::string& name = options.axis.name;
  std::vector<Type> examples;
  for (size_t i = 0; i < leaves.size(); ++i) {
    Type type = traced_type(leaves[i]);
    if (dims[i] >= 0) {
      type.shape.erase(type.shape.begin() + dims[i]);
      if (!name.empty()) type.varying = axis_union(type.varying, {name});
    }
    examples.push_back(std::move(type));
  }
  TracedFunction traced;
  {
    std::optional<AxisEnv::MappedScope> scope;
    if (!name.empty()) scope.emplace(name, options.axis.size);
    traced = trace_function(body, examples, "example");
  }
  const std::vector<MappedAxis> wanted = out_axes();
  std::vector<Array> operands(leaves.begin(), leaves.end());
  for (const Array& captured : traced.captures) {
    operands.push_back(captured);
    dims.push_back(-1);
  }
  const BatchAxis::Scope scope(options.axis);
  BatchResult out = batch_function(remove_dead_ops(traced.function), operands, dims);
  for (size_t r = 0; r < out.results.size(); ++r) {
    const std::optional<int>& axis = wanted[r].axis();
    if (!axis) {
      if (out.dims[r] >= 0)
        value_error(kVmapOp,
                    "expected result {} to be the same for every example, as out_axes None says, "
                    "got one that is mapped; reduce it (psum over axis_name) or give it an axis",
                    r);
      continue;
    }
    const int64_t rank = out.results[r].ndim() + (out.dims[r] < 0 ? 1 : 0);
    if (*axis < -rank || *axis >= rank)
      value_error(kVmapOp, "expected out_axes in [-{}, {}) for result {}, got {}", rank, rank, r,
                  *axis);
    out.results[r] =
        lax::move_dim(lax::with_batch_first(out.results[r], out.dims[r], options.axis.size), 0,
                      *axis < 0 ? *axis + rank : *axis);
  }
  return out.results;
}

namespace {

ErasedResult vmap_traced(const VmapOptions& options, const ErasedCall& call,
                         const std::vector<Array>& leaves) {
  const std::vector<tree::Outline> arguments = call.argument_outlines();
  FlatVmap flat{.paths = argument_paths(arguments), .axis_size = options.axis_size};
  flat.axis = {.name = options.axis_name,
               .spmd_axes = options.spmd_axis_name.axes(),
               .indivisible = options.indivisible};
  if (options.in_axes.empty()) {
    flat.in_axes.assign(leaves.size(), 0);
  } else {
    // A list with one entry, an axis, is for all arguments, too.
    const std::vector<PrefixTree<MappedAxis>>& entries = options.in_axes.entries();
    const bool for_all = entries.size() == 1 && arguments.size() != 1 && entries[0].value();
    const PrefixList<MappedAxis> axes =
        for_all ? PrefixList<MappedAxis>(*entries[0].value()) : options.in_axes;
    for (const MappedAxis& axis : axes.of_arguments("vmap", "in_axes", arguments))
      flat.in_axes.push_back(axis.axis());
  }
  ErasedResult result;  // its tree has the body's tracers as leaves
  const FlatFn body = [&](const std::vector<Array>& inputs) {
    result = call(inputs);
    return result.leaves;
  };
  const auto out_axes = [&] {
    if (options.out_axes.empty())
      return std::vector<MappedAxis>(result.leaves.size(), MappedAxis(0));
    return options.out_axes.of_result("vmap", "out_axes", result.outline(result.tree.get()));
  };
  result.leaves = vmap_flat(body, leaves, std::move(flat), out_axes);
  return result;
}

}  // namespace

ErasedResult vmap_erased(const VmapOptions& options, const ErasedCall& call,
                         const std::vector<Array>& leaves) {
  const ErasedFn traced = [&](const std::vector<Array>& x) {
    return vmap_traced(options, call, x);
  };
  return run_under_trace("vmap", traced, leaves);
}

}  // namespace tessera::internal
