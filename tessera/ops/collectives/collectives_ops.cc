// The definitions of the collectives: type rules, and their naive evaluation on all devices at
// once.
#include <algorithm>
#include <cstring>

#include "tessera/base/visit_dtype.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/collectives/collectives_rules.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/reduce_internal.h"
#include "tessera/ops/text/formats.h"

namespace tessera::ops {
namespace {

using DeviceLiterals = std::vector<Literal>;

AxisNames sorted(std::vector<std::string> axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Parts of one axis overlap where the ranges of factors do that they stand for.
bool overlap(const AxisRef& a, const AxisRef& b) {
  if (a.name != b.name) return false;
  if (a.is_whole() || b.is_whole()) return true;
  return std::max(a.pre_size, b.pre_size) < std::min(a.pre_size * a.size, b.pre_size * b.size);
}

// Axes of the mesh, or parts of them, that have nothing in common.
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

// Each rank in exactly one group; `equal`: the groups are of one size.
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

template <class P>
AxisNames varying_with(const Type& x, const P& p) {
  return axis_union(x.varying, sorted(p.axes));
}

std::vector<Type> infer_all_reduce(std::span<const Type> x, const AllReduceParams& p) {
  constexpr std::string_view kOp = "all_reduce";
  expect_operands(kOp, x, 1);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, false);
  check_reduction(kOp, p.kind, x[0]);
  return {x[0].with_varying(p.groups.empty() ? axis_difference(x[0].varying, sorted(p.axes))
                                             : varying_with(x[0], p))};
}

std::vector<Type> infer_all_gather(std::span<const Type> x, const AllGatherParams& p) {
  constexpr std::string_view kOp = "all_gather";
  expect_operands(kOp, x, 1);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, true);
  check_dim(kOp, "gathered", p.dim, x[0]);
  if (p.invariant && !p.groups.empty())
    value_error(kOp, "expected no groups where the result is to be invariant");
  Shape shape = x[0].shape;
  shape[p.dim] *= group_size(p.mesh, p.axes, p.groups);
  return {x[0].with_shape(shape).with_varying(
      p.invariant ? axis_difference(x[0].varying, sorted(p.axes)) : varying_with(x[0], p))};
}

std::vector<Type> infer_reduce_scatter(std::span<const Type> x, const ReduceScatterParams& p) {
  constexpr std::string_view kOp = "reduce_scatter";
  expect_operands(kOp, x, 1);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, true);
  check_reduction(kOp, p.kind, x[0]);
  const int64_t n = group_size(p.mesh, p.axes, p.groups);
  check_split(kOp, "scattered", p.dim, n, x[0]);
  Shape shape = x[0].shape;
  shape[p.dim] /= n;
  return {x[0].with_shape(shape).with_varying(varying_with(x[0], p))};
}

std::vector<Type> infer_all_to_all(std::span<const Type> x, const AllToAllParams& p) {
  constexpr std::string_view kOp = "all_to_all";
  expect_operands(kOp, x, 1);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, true);
  const int64_t n = group_size(p.mesh, p.axes, p.groups);
  check_split(kOp, "split", p.split_dim, n, x[0]);
  check_dim(kOp, "concatenated", p.concat_dim, x[0]);
  Shape shape = x[0].shape;
  shape[p.split_dim] /= n;
  shape[p.concat_dim] *= n;
  return {x[0].with_shape(shape).with_varying(varying_with(x[0], p))};
}

std::vector<Type> infer_permute(std::span<const Type> x, const CollectivePermuteParams& p) {
  constexpr std::string_view kOp = "collective_permute";
  expect_operands(kOp, x, 1);
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
  return {x[0].with_varying(varying_with(x[0], p))};
}

std::vector<Type> infer_broadcast(std::span<const Type> x, const CollectiveBroadcastParams& p) {
  constexpr std::string_view kOp = "collective_broadcast";
  expect_operands(kOp, x, 1);
  check_axes(kOp, p.mesh, p.axes);
  check_groups(kOp, p.mesh, p.axes, p.groups, false);
  int64_t n = axes_size(p.mesh, p.axes);  // or of the smallest group
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

// What varies already is not cast again: a cotangent is summed over the axes that are added alone.
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

// The row-major elements of [outer, dim, inner] as `count` runs of bytes, for cutting and joining
// along dim.
struct Runs {
  int64_t count, bytes;
};
Runs runs(const Literal& x, int64_t dim) {
  Runs r{1, itemsize(x.dtype())};
  for (int64_t d = 0; d < x.shape().rank(); ++d) (d < dim ? r.count : r.bytes) *= x.shape()[d];
  return r;
}

// `parts` of one shape joined along dim.
Literal concatenate(const std::vector<const Literal*>& parts, int64_t dim) {
  Shape shape = parts[0]->shape();
  const int64_t n = static_cast<int64_t>(parts.size());
  shape[dim] *= n;
  Literal out(parts[0]->dtype(), shape);
  const Runs r = runs(*parts[0], dim);
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < r.count; ++i)
    for (int64_t j = 0; j < n; ++j)
      std::memcpy(to + (i * n + j) * r.bytes, parts[j]->raw() + i * r.bytes,
                  static_cast<size_t>(r.bytes));
  return out;
}

// The j-th of n equal parts along dim.
Literal part(const Literal& x, int64_t dim, int64_t n, int64_t j) {
  Shape shape = x.shape();
  shape[dim] /= n;
  Literal out(x.dtype(), shape);
  const Runs r = runs(out, dim);
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < r.count; ++i)
    std::memcpy(to + i * r.bytes, x.raw() + (i * n + j) * r.bytes, static_cast<size_t>(r.bytes));
  return out;
}

std::vector<const Literal*> pick(const DeviceLiterals& x, const std::vector<int64_t>& group) {
  std::vector<const Literal*> out;
  for (int64_t device : group) out.push_back(&x[device]);
  return out;
}

// Nothing is added to what the devices have: a sum of negative zeros is one.
Literal neutral_element(ReduceKind kind, DType dtype) {
  if (kind != ReduceKind::kSum || !is_inexact(dtype)) return reduce_identity(kind, dtype);
  return convert_literal(
      is_complex(dtype) ? Literal::scalar(std::complex<double>(-0., -0.)) : Literal::scalar(-0.),
      dtype);
}

Literal reduce_group(const DeviceLiterals& x, const std::vector<int64_t>& group, ReduceKind kind) {
  Shape stacked = x[0].shape();
  stacked.insert(stacked.begin(), 1);
  std::vector<Literal> rows;
  for (int64_t device : group) rows.push_back(x[device].reshaped(stacked));
  std::vector<const Literal*> parts;
  for (const Literal& row : rows) parts.push_back(&row);
  return fold(kind, concatenate(parts, 0), neutral_element(kind, x[0].dtype()), {0});
}

using Evaluated = std::vector<DeviceLiterals>;

Evaluated evaluate_all_reduce(const Evaluated& x, const AllReduceParams& p, const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size())};
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    if (group.empty()) continue;
    const Literal sum = reduce_group(x[0], group, p.kind);
    for (int64_t device : group) out[0][device] = sum;
  }
  return out;
}

Evaluated evaluate_all_gather(const Evaluated& x, const AllGatherParams& p, const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size())};
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    const Literal all = concatenate(pick(x[0], group), p.dim);
    for (int64_t device : group) out[0][device] = all;
  }
  return out;
}

Evaluated evaluate_reduce_scatter(const Evaluated& x, const ReduceScatterParams& p,
                                  const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size())};
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    const int64_t n = static_cast<int64_t>(group.size());
    const Literal sum = reduce_group(x[0], group, p.kind);
    for (int64_t j = 0; j < n; ++j) out[0][group[j]] = part(sum, p.dim, n, j);
  }
  return out;
}

Evaluated evaluate_all_to_all(const Evaluated& x, const AllToAllParams& p, const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size())};
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    const int64_t n = static_cast<int64_t>(group.size());
    for (int64_t j = 0; j < n; ++j) {
      std::vector<Literal> received;
      for (int64_t source : group) received.push_back(part(x[0][source], p.split_dim, n, j));
      std::vector<const Literal*> parts;
      for (const Literal& piece : received) parts.push_back(&piece);
      out[0][group[j]] = concatenate(parts, p.concat_dim);
    }
  }
  return out;
}

Evaluated evaluate_permute(const Evaluated& x, const CollectivePermuteParams& p, const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size(), Literal(x[0][0].dtype(), x[0][0].shape()))};
  for (const auto& group : device_groups(mesh, p.axes, {}))
    for (const Dims& pair : p.pairs) out[0][group[pair[1]]] = x[0][group[pair[0]]];
  return out;
}

Evaluated evaluate_broadcast(const Evaluated& x, const CollectiveBroadcastParams& p,
                             const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size())};
  for (const auto& group : device_groups(mesh, p.axes, p.groups))
    for (int64_t device : group) out[0][device] = x[0][group[p.root]];
  return out;
}

int64_t integer_at(const Literal& x, int64_t i) {
  return visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) -> int64_t {
    if constexpr (std::is_integral_v<T>) return static_cast<int64_t>(x.data<T>()[i]);
    TESSERA_CHECK(false, "offsets of {}", dtype_name(x.dtype()));
    return 0;
  });
}

Evaluated evaluate_ragged(const Evaluated& x, const RaggedAllToAllParams& p, const Mesh& mesh) {
  Evaluated out{x[1]};
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    for (size_t i = 0; i < group.size(); ++i) {
      const int64_t source = group[i];
      const int64_t row =
          runs(x[0][source], 0).bytes / std::max<int64_t>(x[0][source].shape()[0], 1);
      for (size_t j = 0; j < group.size(); ++j) {
        const int64_t target = group[j];
        const int64_t from = integer_at(x[2][source], j), count = integer_at(x[3][source], j),
                      to = integer_at(x[4][source], j);
        if (from < 0 || count < 0 || to < 0 || from + count > x[0][source].shape()[0] ||
            to + count > out[0][target].shape()[0])
          value_error("ragged_all_to_all",
                      "expected offsets and sizes within {} rows sent and {} received, got {} rows "
                      "from {} to {}",
                      x[0][source].shape()[0], out[0][target].shape()[0], count, from, to);
        if (count > 0)
          std::memcpy(out[0][target].mutable_raw() + to * row, x[0][source].raw() + from * row,
                      static_cast<size_t>(count * row));
      }
    }
  }
  return out;
}

Evaluated evaluate_axis_index(const Evaluated&, const AxisIndexParams& p, const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size())};
  for (const auto& group : device_groups(mesh, p.axes, {}))
    for (size_t rank = 0; rank < group.size(); ++rank)
      out[0][group[rank]] = Literal::scalar(static_cast<int32_t>(rank));
  return out;
}

Evaluated evaluate_pcast(const Evaluated& x, const PcastParams&, const Mesh&) { return {x[0]}; }

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
  return static_cast<double>(operands[0].elements());
}

}  // namespace

const OpDef& all_reduce_op = define<AllReduceParams>({
    .name = "all_reduce",
    .attributes = {"mesh", "axes", "groups", "kind"},
    .format = formats::collective(),
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
    .format = formats::collective(),
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
    .format = formats::collective(),
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
    .format = formats::collective(),
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
    .format = formats::collective(),
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

const OpDef& collective_broadcast_op = define<CollectiveBroadcastParams>({
    .name = "collective_broadcast",
    .attributes = {"mesh", "axes", "groups", "root"},
    .format = formats::collective(),
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
    .infer = infer_pcast,
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
