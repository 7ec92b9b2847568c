#include "tessera/ops/collectives/collectives.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/ir/axis_env.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::lax {

using namespace ops;

namespace {

std::vector<Dims> as_dims(const AxisGroups& groups) {
  std::vector<Dims> out;
  for (const auto& group : groups) out.emplace_back(group.begin(), group.end());
  return out;
}

const Mesh& bound_mesh(std::string_view op, const AxisArg& axis) {
  const AxisEnv& env = AxisEnv::current();
  if (axis.axes().empty()) value_error(op, "expected at least one mesh axis, got none");
  for (const std::string& name : axis.axes()) env.expect_bound(op, name);
  return env.mesh_of(axis.axes());
}

// Returns x with a type that varies over the axes, as collectives require.
Array varying(const Array& x, const AxisArg& axis, const Mesh& mesh) {
  std::vector<std::string> missing;
  const AxisNames& have = x.type().varying;
  for (const std::string& name : axis.axes())
    if (std::find(have.begin(), have.end(), name) == have.end()) missing.push_back(name);
  return missing.empty() ? x : bind_op1(pcast_op, PcastParams{mesh, missing}, {x});
}

Array all_reduce(const char* name, ReduceKind kind, const Array& x, const AxisArg& axis,
                 const AxisGroups& groups) {
  const SourceScope source(name);
  const Mesh& mesh = bound_mesh(name, axis);
  return bind_op1(all_reduce_op, AllReduceParams{mesh, axis.axes(), as_dims(groups), kind},
                  {varying(x, axis, mesh)});
}

int64_t ranks(const Mesh& mesh, const AxisArg& axis, const AxisGroups& groups) {
  return group_size(mesh, axis.axes(), as_dims(groups));
}

Array with_dim(const Array& x, int64_t at) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + at, 1);
  return reshape(x, shape);
}
Array without_dim(const Array& x, int64_t at) {
  Shape shape = x.shape();
  shape.erase(shape.begin() + at);
  return reshape(x, shape);
}

// Throws UserError unless dimension `dim` is as long as the axis: an all_to_all that is not tiled
// splits it into single rows.
void check_as_long_as_axis(std::string_view op, const Array& x, int64_t dim, int64_t n,
                           const AxisArg& axis) {
  if (x.shape()[dim] != n)
    shape_error(op,
                "expected dimension {} of {} to be as long as axis '{}', {}, got {}; pass tiled = "
                "true to cut it into parts",
                dim, describe(x.type()), fmt::join(axis.axes(), "', '"), n, x.shape()[dim]);
}

}  // namespace

Array psum(const Array& x, const AxisArg& axis, const AxisGroups& groups) {
  return all_reduce("psum", ReduceKind::kSum,
                    x.dtype() == bool_ ? convert_element_type(x, int32) : x, axis, groups);
}

Array pmean(const Array& x, const AxisArg& axis, const AxisGroups& groups) {
  const SourceScope source("pmean");
  const Array y =
      is_inexact(x.dtype()) ? x : convert_element_type(x, x64_enabled() ? float64 : float32);
  const int64_t n = ranks(bound_mesh("pmean", axis), axis, groups);
  const bool equal = std::all_of(groups.begin(), groups.end(),
                                 [&](const auto& g) { return g.size() == groups[0].size(); });
  if (!equal) value_error("pmean", "expected groups of one size");
  const Array sum = psum(y, axis, groups);
  return div(sum, full_like(sum, static_cast<double>(n)));
}

Array pmax(const Array& x, const AxisArg& axis, const AxisGroups& groups) {
  return all_reduce("pmax", x.dtype() == bool_ ? ReduceKind::kOr : ReduceKind::kMax, x, axis,
                    groups);
}

Array pmin(const Array& x, const AxisArg& axis, const AxisGroups& groups) {
  return all_reduce("pmin", x.dtype() == bool_ ? ReduceKind::kAnd : ReduceKind::kMin, x, axis,
                    groups);
}

Array all_gather(const Array& x, const AxisArg& axis, const AllGatherOptions& options) {
  const SourceScope source("all_gather");
  const Mesh& mesh = bound_mesh("all_gather", axis);
  const int64_t dim =
      normalize_axis("all_gather", options.axis, x.ndim() + (options.tiled ? 0 : 1));
  const Array y = options.tiled ? x : with_dim(x, dim);
  return bind_op1(
      all_gather_op,
      AllGatherParams{mesh, axis.axes(), as_dims(options.groups), dim, options.invariant},
      {varying(y, axis, mesh)});
}

Array psum_scatter(const Array& x, const AxisArg& axis, const PsumScatterOptions& options) {
  const SourceScope source("psum_scatter");
  const Mesh& mesh = bound_mesh("psum_scatter", axis);
  const int64_t dim = normalize_axis("psum_scatter", options.scatter_dimension, x.ndim());
  if (!options.tiled)
    check_as_long_as_axis("psum_scatter", x, dim, ranks(mesh, axis, options.groups), axis);
  const Array y = bind_op1(
      reduce_scatter_op,
      ReduceScatterParams{mesh, axis.axes(), as_dims(options.groups), ReduceKind::kSum, dim},
      {varying(x.dtype() == bool_ ? convert_element_type(x, int32) : x, axis, mesh)});
  return options.tiled ? y : without_dim(y, dim);
}

Array ppermute(const Array& x, const AxisArg& axis,
               const std::vector<std::pair<int, int>>& permutation) {
  const SourceScope source("ppermute");
  const Mesh& mesh = bound_mesh("ppermute", axis);
  std::vector<Dims> pairs;
  for (const auto& [from, to] : permutation) pairs.push_back({from, to});
  return bind_op1(collective_permute_op, CollectivePermuteParams{mesh, axis.axes(), pairs},
                  {varying(x, axis, mesh)});
}

Array pshuffle(const Array& x, const AxisArg& axis, const std::vector<int>& permutation) {
  const int64_t n = ranks(bound_mesh("pshuffle", axis), axis, {});
  std::vector<int> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool valid = static_cast<int64_t>(sorted.size()) == n;
  for (size_t i = 0; valid && i < sorted.size(); ++i) valid = sorted[i] == static_cast<int>(i);
  if (!valid)
    value_error("pshuffle", "expected a permutation of 0 to {}, got ({})", n - 1,
                fmt::join(permutation, ", "));
  std::vector<std::pair<int, int>> pairs;
  for (size_t i = 0; i < permutation.size(); ++i)
    pairs.emplace_back(permutation[i], static_cast<int>(i));
  return ppermute(x, axis, pairs);
}

Array all_to_all(const Array& x, const AxisArg& axis, int64_t split_axis, int64_t concat_axis,
                 const AllToAllOptions& options) {
  const SourceScope source("all_to_all");
  const Mesh& mesh = bound_mesh("all_to_all", axis);
  int64_t split = normalize_axis("all_to_all", split_axis, x.ndim()),
          concat = normalize_axis("all_to_all", concat_axis, x.ndim());
  auto exchange = [&](const Array& y) {
    return bind_op1(all_to_all_op,
                    AllToAllParams{mesh, axis.axes(), as_dims(options.groups), split, concat},
                    {varying(y, axis, mesh)});
  };
  if (options.tiled) return exchange(x);
  // The split dimension disappears, and concat_axis counts the other dimensions. The result gets a
  // new dimension there.
  check_as_long_as_axis("all_to_all", x, split, ranks(mesh, axis, options.groups), axis);
  if (split == concat) return exchange(x);
  Array y;
  if (split < concat) {
    y = with_dim(x, ++concat);
  } else {
    y = with_dim(x, concat);
    ++split;
  }
  return without_dim(exchange(y), split);
}

Array pswapaxes(const Array& x, const AxisArg& axis, int64_t dim, const AxisGroups& groups) {
  return all_to_all(x, axis, dim, dim, {.groups = groups});
}

Array pbroadcast(const Array& x, const AxisArg& axis, int root) {
  const SourceScope source("pbroadcast");
  const Mesh& mesh = bound_mesh("pbroadcast", axis);
  return bind_op1(collective_broadcast_op, CollectiveBroadcastParams{mesh, axis.axes(), {}, root},
                  {varying(x, axis, mesh)});
}

Array ragged_all_to_all(const Array& operand, const Array& output, const Array& input_offsets,
                        const Array& send_sizes, const Array& output_offsets,
                        const Array& recv_sizes, const AxisArg& axis, const AxisGroups& groups) {
  const SourceScope source("ragged_all_to_all");
  const Mesh& mesh = bound_mesh("ragged_all_to_all", axis);
  return bind_op1(ragged_all_to_all_op, RaggedAllToAllParams{mesh, axis.axes(), as_dims(groups)},
                  {varying(operand, axis, mesh), varying(output, axis, mesh),
                   varying(input_offsets, axis, mesh), varying(send_sizes, axis, mesh),
                   varying(output_offsets, axis, mesh), varying(recv_sizes, axis, mesh)});
}

Array axis_index(const AxisArg& axis) {
  const Mesh& mesh = bound_mesh("axis_index", axis);
  return bind_op1(axis_index_op, AxisIndexParams{mesh, axis.axes()}, {});
}

int64_t axis_size(const AxisArg& axis) {
  return axes_size(bound_mesh("axis_size", axis), axis.axes());
}

Array pcast(const Array& x, const AxisArg& axis, std::string_view to) {
  const Mesh& mesh = bound_mesh("pcast", axis);
  if (to != "varying")
    value_error("pcast",
                "expected to = \"varying\", got \"{}\"; a varying value becomes the same on all "
                "devices by psum, pmax, pmin or "
                "all_gather(invariant)",
                to);
  return varying(x, axis, mesh);
}

Array pcast_varying(const Array& x, const AxisArg& axis) { return pcast(x, axis, "varying"); }

}  // namespace tessera::lax
