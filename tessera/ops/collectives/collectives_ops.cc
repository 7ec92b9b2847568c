// The definitions of the collectives, and their type rules.
#include <algorithm>

#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/collectives/collectives_rules.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::ops {
namespace {

AxisNames sorted(std::vector<std::string> axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Returns whether two parts of one axis overlap: the ranges of factors that they stand for do.
bool overlap(const AxisRef& a, const AxisRef& b) {
  if (a.name != b.name) return false;
  if (a.is_whole() || b.is_whole()) return true;
  return std::max(a.pre_size, b.pre_size) < std::min(a.pre_size * a.size, b.pre_size * b.size);
}

// Throws UserError unless `axes` are axes of the mesh, or parts of axes, that do not overlap.
void check_axes(std::string_view op, const Mesh& mesh, const std::vector<std::string>& axes) {
  std::vector<AxisRef> seen;
  for (const std::string& axis : axes) {
    AxisRef ref = parse_axis_ref(axis);
    if (!mesh.has_axis(ref.name)) sharding_error(op, "expected axes of {}, got '{}'", mesh, axis);
    const int64_t full = mesh.axis_size(ref.name);
    if (!ref.is_whole() && (full % ref.pre_size != 0 || full / ref.pre_size % ref.size != 0))
      sharding_error(op, "expected a part that divides axis '{}' of size {}, got '{}'", ref.name,
                     full, axis);
    for (size_t k = 0; k < seen.size(); ++k) {
      if (axes[k] == axis) sharding_error(op, "expected distinct axes, got '{}' twice", axis);
      if (overlap(seen[k], ref))
        sharding_error(op, "expected axes that do not overlap, got '{}' and '{}'", axes[k], axis);
    }
    seen.push_back(std::move(ref));
  }
}

// Throws UserError unless each rank is in exactly one group and, if `equal`, all groups have one
// size.
void check_groups(std::string_view op, const Mesh& mesh, const std::vector<std::string>& axes,
                  const std::vector<Dims>& groups, bool equal) {
  if (groups.empty()) return;
  const int64_t n = axes_size(mesh, axes);
  std::vector<bool> seen(n, false);
  int64_t count = 0;
  for (const Dims& group : groups) {
    if (equal && group.size() != groups[0].size())
      value_error(op, "expected groups of one size, got {} and {}", groups[0], group);
    for (int64_t rank : group) {
      if (rank < 0 || rank >= n || seen[rank])
        value_error(op, "expected each rank 0 to {} in exactly one group, got {}{}", n - 1, rank,
                    rank < 0 || rank >= n ? "" : " twice");
      seen[rank] = true;
      ++count;
    }
  }
  if (count != n)
    value_error(op, "expected each rank 0 to {} in exactly one group, got {} only", n - 1,
                std::find(seen.begin(), seen.end(), false) - seen.begin() == 0
                    ? "groups without rank 0"
                    : fmt::format("{} of them", count));
}

void check_dim(std::string_view op, const char* what, int64_t dim, const Type& x) {
  if (dim < 0 || dim >= x.rank())
    shape_error(op, "expected a {} dimension in [0, {}), got {} for {}", what, x.rank(), dim,
                describe(x));
}

void check_split(std::string_view op, const char* what, int64_t dim, int64_t parts, const Type& x) {
  check_dim(op, what, dim, x);
  if (x.shape[dim] % parts != 0)
    shape_error(op,
                "expected {} dimension {} of {} to be a multiple of the {} devices, got {}; pad it",
                what, dim, describe(x), parts, x.shape[dim]);
}

void check_reduction(std::string_view op, ReduceKind kind, const Type& x) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kProduct:
      if (x.dtype == bool_)
        type_error(op, "expected numbers, got {}; convert it to int32", describe(x));
      return;
    case ReduceKind::kMin:
    case ReduceKind::kMax:
      if (is_complex(x.dtype)) type_error(op, "expected an ordered dtype, got {}", describe(x));
      return;
    case ReduceKind::kAnd:
    case ReduceKind::kOr:
      if (is_inexact(x.dtype)) type_error(op, "expected bool or integers, got {}", describe(x));
      return;
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
    case ReduceKind::kCustom:
      type_error(op, "expected a fold of one operand, got {}",
                 enum_names(kind)[static_cast<size_t>(kind)]);
  }
}

// Throws UserError unless there is at least one array and all have one dtype. StableHLO has
// all_reduces, all_gathers and all_to_alls of several arrays; Tessera also has the other
// collectives of several, because small ones are combined.
void expect_arrays(std::string_view op, std::span<const Type> x) {
  if (x.empty()) type_error(op, "expected an operand or more, got none");
  for (const Type& type : x)
    if (type.dtype != x[0].dtype)
      type_error(op, "expected operands of one dtype, got {} and {}", describe(x[0]),
                 describe(type));
}

template <class P>
AxisNames varying_with(const Type& x, const P& p) {
  return axis_union(x.varying, sorted(p.axes));
}

std::vector<Type> infer_all_reduce(std::span<const Type> x, const AllReduceParams& p) {
  constexpr std::string_view kOp = "all_reduce";
  expect_arrays(kOp, x);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, false);
  std::vector<Type> out;
  for (const Type& type : x) {
    check_reduction(kOp, p.kind, type);
    out.push_back(type.with_varying(p.groups.empty() ? axis_difference(type.varying, sorted(p.axes))
                                                     : varying_with(type, p)));
  }
  return out;
}

std::vector<Type> infer_all_gather(std::span<const Type> x, const AllGatherParams& p) {
  constexpr std::string_view kOp = "all_gather";
  expect_arrays(kOp, x);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, true);
  if (p.invariant && !p.groups.empty())
    value_error(kOp, "expected no groups where the result is to be invariant");
  std::vector<Type> out;
  for (const Type& type : x) {
    check_dim(kOp, "gathered", p.dim, type);
    Shape shape = type.shape;
    shape[p.dim] *= group_size(p.mesh, p.axes, p.groups);
    out.push_back(type.with_shape(shape).with_varying(
        p.invariant ? axis_difference(type.varying, sorted(p.axes)) : varying_with(type, p)));
  }
  return out;
}

std::vector<Type> infer_reduce_scatter(std::span<const Type> x, const ReduceScatterParams& p) {
  constexpr std::string_view kOp = "reduce_scatter";
  expect_arrays(kOp, x);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, true);
  const int64_t n = group_size(p.mesh, p.axes, p.groups);
  std::vector<Type> out;
  for (const Type& type : x) {
    check_reduction(kOp, p.kind, type);
    check_split(kOp, "scattered", p.dim, n, type);
    Shape shape = type.shape;
    shape[p.dim] /= n;
    out.push_back(type.with_shape(shape).with_varying(varying_with(type, p)));
  }
  return out;
}

std::vector<Type> infer_all_to_all(std::span<const Type> x, const AllToAllParams& p) {
  constexpr std::string_view kOp = "all_to_all";
  expect_arrays(kOp, x);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, true);
  const int64_t n = group_size(p.mesh, p.axes, p.groups);
  std::vector<Type> out;
  for (const Type& type : x) {
    check_split(kOp, "split", p.split_dim, n, type);
    check_dim(kOp, "concatenated", p.concat_dim, type);
    Shape shape = type.shape;
    shape[p.split_dim] /= n;
    shape[p.concat_dim] *= n;
    out.push_back(type.with_shape(shape).with_varying(varying_with(type, p)));
  }
  return out;
}

std::vector<Type> infer_permute(std::span<const Type> x, const CollectivePermuteParams& p) {
  constexpr std::string_view kOp = "collective_permute";
  expect_arrays(kOp, x);
  check_axes(kOp, p.mesh, p.axes);
  const int64_t n = axes_size(p.mesh, p.axes);
  for (int end : {0, 1}) {
    std::vector<bool> seen(n, false);
    for (const Dims& pair : p.pairs) {
      if (pair.size() != 2) value_error(kOp, "expected pairs (source, target), got {}", pair);
      if (pair[end] < 0 || pair[end] >= n)
        value_error(kOp, "expected ranks in [0, {}), got the pair {}", n, pair);
      if (seen[pair[end]])
        value_error(kOp, "expected each {} at most once, got {} twice",
                    end == 0 ? "source" : "target", pair[end]);
      seen[pair[end]] = true;
    }
  }
  std::vector<Type> out;
  for (const Type& type : x) out.push_back(type.with_varying(varying_with(type, p)));
  return out;
}

std::vector<Type> infer_to_unreduced(std::span<const Type> x, const CollectivePermuteParams& p) {
  constexpr std::string_view kOp = "replicated_to_unreduced";
  expect_operands(kOp, x, 1);
  check_axes(kOp, p.mesh, p.axes);
  if (p.pairs != std::vector<Dims>{{0, 0}})
    value_error(kOp, "expected the pair (0, 0), got {} pairs", p.pairs.size());
  return {x[0].with_varying(varying_with(x[0], p))};
}

std::vector<Type> infer_broadcast(std::span<const Type> x, const CollectiveBroadcastParams& p) {
  constexpr std::string_view kOp = "collective_broadcast";
  expect_operands(kOp, x, 1);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, false);
  int64_t n = axes_size(p.mesh, p.axes);  // ranks, or those of the smallest group
  for (const Dims& group : p.groups) n = std::min(n, group.rank());
  if (p.root < 0 || p.root >= n)
    value_error(kOp, "expected a source rank in [0, {}), got {}", n, p.root);
  return {x[0].with_varying(varying_with(x[0], p))};
}

std::vector<Type> infer_ragged(std::span<const Type> x, const RaggedAllToAllParams& p) {
  constexpr std::string_view kOp = "ragged_all_to_all";
  expect_operands(kOp, x, 6);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, true);
  const int64_t n = group_size(p.mesh, p.axes, p.groups);
  if (x[0].rank() < 1 || x[0].dtype != x[1].dtype || x[0].rank() != x[1].rank() ||
      !std::equal(x[0].shape.begin() + 1, x[0].shape.end(), x[1].shape.begin() + 1))
    shape_error(kOp,
                "expected operand and output of one dtype that agree in all dimensions but the "
                "first, got {} and {}",
                describe(x[0]), describe(x[1]));
  for (size_t k = 2; k < 6; ++k)
    if (x[k].shape != Shape{n} || !is_integer(x[k].dtype) || x[k].dtype != x[2].dtype)
      shape_error(kOp,
                  "expected offsets and sizes to be integers of one dtype, one for each of the {} "
                  "devices, got {}",
                  n, describe(x[k]));
  return {x[1].with_varying(axis_union(varying_union(x), sorted(p.axes)))};
}

std::vector<Type> infer_axis_index(std::span<const Type> x, const AxisIndexParams& p) {
  expect_operands("axis_index", x, 0);
  check_axes("axis_index", p.mesh, p.axes);
  return {Type{.dtype = int32, .shape = {}, .varying = sorted(p.axes)}};
}

// Returns the params without the axes over which the operand varies already: then a cotangent is
// summed only over the axes that the cast adds.
PcastParams retype_pcast(std::span<const Type> x, const PcastParams& p) {
  PcastParams q = p;
  if (x.size() == 1)
    std::erase_if(q.axes, [&](const std::string& axis) {
      return std::count(x[0].varying.begin(), x[0].varying.end(), axis) > 0;
    });
  return q;
}

std::vector<Type> infer_pcast(std::span<const Type> x, const PcastParams& p) {
  expect_operands("pcast", x, 1);
  check_axes("pcast", p.mesh, p.axes);
  return {x[0].with_varying(varying_with(x[0], p))};
}

template <class P>
Factors same_shape_factors(std::span<const Type> operands, std::span<const Type> results,
                           const P&) {
  return pointwise_factors(operands, results);
}
template <class P>
Factors dim_factors(std::span<const Type> operands, std::span<const Type> results, const P& p) {
  return changed_dims_factors(operands[0], results[0], {p.dim});
}
Factors all_to_all_factors(std::span<const Type> operands, std::span<const Type> results,
                           const AllToAllParams& p) {
  return changed_dims_factors(operands[0], results[0], {p.split_dim, p.concat_dim});
}
template <class P>
double no_flops(std::span<const Type>, std::span<const Type>, const P&) {
  return 0;
}
template <class P>
double reduction_flops(std::span<const Type> operands, std::span<const Type>, const P&) {
  double flops = 0;
  for (const Type& type : operands) flops += static_cast<double>(type.elements());
  return flops;
}

}  // namespace

const OpDef& all_reduce_op = define<AllReduceParams>({
    .name = "all_reduce",
    .attributes = {"mesh", "axes", "groups", "kind"},
    .infer = infer_all_reduce,
    .evaluate_spmd = evaluate_all_reduce,
    .factors = same_shape_factors<AllReduceParams>,
    .lower = CollectiveLowering{CollectiveKind::kAllReduce},
    .flops = reduction_flops<AllReduceParams>,
    .jvp = {jvp_collective<AllReduceParams>},
    .transpose = {transpose_collective<AllReduceParams>},
    .batch = {batch_collective<AllReduceParams>},
    .samples = all_reduce_samples,
});

const OpDef& all_gather_op = define<AllGatherParams>({
    .name = "all_gather",
    .attributes = {"mesh", "axes", "groups", "all_gather_dim", "invariant"},
    .infer = infer_all_gather,
    .evaluate_spmd = evaluate_all_gather,
    .factors = dim_factors<AllGatherParams>,
    .lower = CollectiveLowering{CollectiveKind::kAllGather},
    .flops = no_flops<AllGatherParams>,
    .jvp = {jvp_collective<AllGatherParams>},
    .transpose = {transpose_collective<AllGatherParams>},
    .batch = {batch_collective<AllGatherParams>},
    .samples = all_gather_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& reduce_scatter_op = define<ReduceScatterParams>({
    .name = "reduce_scatter",
    .attributes = {"mesh", "axes", "groups", "kind", "scatter_dimension"},
    .infer = infer_reduce_scatter,
    .evaluate_spmd = evaluate_reduce_scatter,
    .factors = dim_factors<ReduceScatterParams>,
    .lower = CollectiveLowering{CollectiveKind::kReduceScatter},
    .flops = reduction_flops<ReduceScatterParams>,
    .jvp = {jvp_collective<ReduceScatterParams>},
    .transpose = {transpose_collective<ReduceScatterParams>},
    .batch = {batch_collective<ReduceScatterParams>},
    .samples = reduce_scatter_samples,
});

const OpDef& all_to_all_op = define<AllToAllParams>({
    .name = "all_to_all",
    .attributes = {"mesh", "axes", "groups", "split_dimension", "concat_dimension"},
    .infer = infer_all_to_all,
    .evaluate_spmd = evaluate_all_to_all,
    .factors = all_to_all_factors,
    .lower = CollectiveLowering{CollectiveKind::kAllToAll},
    .flops = no_flops<AllToAllParams>,
    .jvp = {jvp_collective<AllToAllParams>},
    .transpose = {transpose_collective<AllToAllParams>},
    .batch = {batch_collective<AllToAllParams>},
    .samples = all_to_all_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& collective_permute_op = define<CollectivePermuteParams>({
    .name = "collective_permute",
    .attributes = {"mesh", "axes", "source_target_pairs"},
    .infer = infer_permute,
    .evaluate_spmd = evaluate_permute,
    .factors = same_shape_factors<CollectivePermuteParams>,
    .lower = CollectiveLowering{CollectiveKind::kPermute},
    .flops = no_flops<CollectivePermuteParams>,
    .jvp = {jvp_collective<CollectivePermuteParams>},
    .transpose = {transpose_collective<CollectivePermuteParams>},
    .batch = {batch_collective<CollectivePermuteParams>},
    .samples = permute_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

CollectivePermuteParams to_unreduced(const Mesh& mesh, std::vector<std::string> axes) {
  return {.mesh = mesh, .axes = std::move(axes), .pairs = {{0, 0}}};
}

bool is_replicated_to_unreduced(const Op& op) { return op.def == &replicated_to_unreduced_op; }

const OpDef& replicated_to_unreduced_op = define<CollectivePermuteParams>({
    .name = "replicated_to_unreduced",
    .dialect = "tessera",
    .attributes = {"mesh", "axes", "source_target_pairs"},
    .infer = infer_to_unreduced,
    .evaluate_spmd = evaluate_permute,
    .factors = same_shape_factors<CollectivePermuteParams>,
    .lower = CollectiveLowering{CollectiveKind::kPermute},
    .flops = no_flops<CollectivePermuteParams>,
    .jvp = {jvp_collective<CollectivePermuteParams>},
    .transpose = {transpose_collective<CollectivePermuteParams>},
    .batch = {batch_collective<CollectivePermuteParams>},
    .samples = to_unreduced_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& collective_broadcast_op = define<CollectiveBroadcastParams>({
    .name = "collective_broadcast",
    .attributes = {"mesh", "axes", "groups", "root"},
    .infer = infer_broadcast,
    .evaluate_spmd = evaluate_broadcast,
    .factors = same_shape_factors<CollectiveBroadcastParams>,
    .lower = CollectiveLowering{CollectiveKind::kBroadcast},
    .flops = no_flops<CollectiveBroadcastParams>,
    .jvp = {jvp_collective<CollectiveBroadcastParams>},
    .transpose = {transpose_collective<CollectiveBroadcastParams>},
    .batch = {batch_collective<CollectiveBroadcastParams>},
    .samples = broadcast_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& ragged_all_to_all_op = define<RaggedAllToAllParams>({
    .name = "ragged_all_to_all",
    .dialect = "tessera",
    .attributes = {"mesh", "axes", "groups"},
    .infer = infer_ragged,
    .evaluate_spmd = evaluate_ragged,
    .factors = ragged_factors,
    .lower = CollectiveLowering{CollectiveKind::kRaggedAllToAll},
    .flops = no_flops<RaggedAllToAllParams>,
    .jvp = absent("its offsets and sizes say at run time what moves where"),
    .transpose = absent("its offsets and sizes say at run time what moves where"),
    .batch = absent("the rows that it moves are its first dimension"),
    .samples = ragged_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& axis_index_op = define<AxisIndexParams>({
    .name = "axis_index",
    .dialect = "tessera",
    .attributes = {"mesh", "axes"},
    .infer = infer_axis_index,
    .evaluate_spmd = evaluate_axis_index,
    .lower = CollectiveLowering{CollectiveKind::kAxisIndex},
    .flops = no_flops<AxisIndexParams>,
    .jvp = {[](std::span<const Array>, std::span<const Array>, const AxisIndexParams& p) {
      return JvpResult{{bind_op1(axis_index_op, p, {})}, {Array()}};
    }},
    .transpose = absent("the op has no operands"),
    .batch = {batch_axis_index},
    .samples = axis_index_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& pcast_op = define<PcastParams>({
    .name = "pcast",
    .dialect = "tessera",
    .attributes = {"mesh", "axes"},
    .infer = infer_retyped<retype_pcast, infer_pcast>,
    .retype = retype_pcast,
    .evaluate_spmd = evaluate_pcast,
    .factors = same_shape_factors<PcastParams>,
    .lower = CollectiveLowering{CollectiveKind::kCast},
    .flops = no_flops<PcastParams>,
    .jvp = {jvp_collective<PcastParams>},
    .transpose = {transpose_collective<PcastParams>},
    .batch = {batch_collective<PcastParams>},
    .samples = pcast_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops
