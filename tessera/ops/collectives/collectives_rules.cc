#include "tessera/ops/collectives/collectives_rules.h"

#include <algorithm>

#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

void expect_sum(const char* op, ReduceKind kind) {
  if (kind != ReduceKind::kSum)
    type_error(op,
               "expected a sum to differentiate, got a {}, which has no derivative; use "
               "stop_gradient on its operand",
               enum_names(kind)[static_cast<size_t>(kind)]);
}

}  // namespace

Array varying(const Array& x, const Mesh& mesh, const std::vector<std::string>& axes) {
  std::vector<std::string> missing;
  const AxisNames& have = x.type().varying;
  for (const std::string& axis : axes)
    if (std::find(have.begin(), have.end(), axis) == have.end()) missing.push_back(axis);
  return missing.empty() ? x : bind_op1(pcast_op, PcastParams{mesh, missing}, {x});
}

JvpResult jvp_extremum(const Array& x, const Array& t, const AllReduceParams& p) {
  const Array extremum = bind_op1(all_reduce_op, p, {x});
  AllReduceParams sum = p;
  sum.kind = ReduceKind::kSum;
  const Array here = lax::eq(x, varying(extremum, p.mesh, x.type().varying)),
              count = bind_op1(all_reduce_op, sum, {lax::convert_element_type(here, t.dtype())}),
              some = lax::select(here, t, lax::full_like(t, 0));
  return {{extremum}, {lax::div(bind_op1(all_reduce_op, sum, {some}), count)}};
}

void expect_linear(const AllReduceParams& p) { expect_sum("all_reduce", p.kind); }
void expect_linear(const ReduceScatterParams& p) { expect_sum("reduce_scatter", p.kind); }

Array transposed(const Array& ct, const AllReduceParams& p) {
  const Array all = varying(ct, p.mesh, p.axes);
  return p.groups.empty() ? all : bind_op1(all_reduce_op, p, {all});
}

Array transposed(const Array& ct, const AllGatherParams& p) {
  if (!p.invariant)
    return bind_op1(reduce_scatter_op,
                    ReduceScatterParams{p.mesh, p.axes, p.groups, ReduceKind::kSum, p.dim},
                    {varying(ct, p.mesh, p.axes)});
  // Every device has the whole cotangent, and takes its own part.
  const int64_t size = ct.shape()[p.dim] / axes_size(p.mesh, p.axes);
  const Array start = lax::mul(bind_op1(axis_index_op, AxisIndexParams{p.mesh, p.axes}, {}),
                               Array(Literal::scalar(static_cast<int32_t>(size))));
  return lax::dynamic_slice_in_dim(ct, start, size, p.dim);
}

Array transposed(const Array& ct, const ReduceScatterParams& p) {
  return bind_op1(all_gather_op, AllGatherParams{p.mesh, p.axes, p.groups, p.dim},
                  {varying(ct, p.mesh, p.axes)});
}

Array transposed(const Array& ct, const AllToAllParams& p) {
  AllToAllParams q = p;
  std::swap(q.split_dim, q.concat_dim);
  return bind_op1(all_to_all_op, q, {varying(ct, p.mesh, p.axes)});
}

Array transposed(const Array& ct, const CollectivePermuteParams& p) {
  CollectivePermuteParams q = p;
  for (Dims& pair : q.pairs) std::swap(pair[0], pair[1]);
  return bind_op1(collective_permute_op, q, {varying(ct, p.mesh, p.axes)});
}

Array transposed(const Array& ct, const CollectiveBroadcastParams& p) {
  const Array sum =
      bind_op1(all_reduce_op, AllReduceParams{p.mesh, p.axes, p.groups, ReduceKind::kSum},
               {varying(ct, p.mesh, p.axes)});
  const Array rank = bind_op1(axis_index_op, AxisIndexParams{p.mesh, p.axes}, {});
  Array is_root;
  for (const Dims& group :
       p.groups.empty() ? std::vector<Dims>{iota_dims(axes_size(p.mesh, p.axes))} : p.groups) {
    const Array here = lax::eq(rank, Array(Literal::scalar(static_cast<int32_t>(group[p.root]))));
    is_root = is_root.defined() ? lax::bitwise_or(is_root, here) : here;
  }
  return lax::select(is_root, sum, lax::full_like(sum, 0));
}

Array transposed(const Array& ct, const PcastParams& p) {
  if (p.axes.empty()) return ct;
  return bind_op1(all_reduce_op, AllReduceParams{p.mesh, p.axes, {}, ReduceKind::kSum},
                  {varying(ct, p.mesh, p.axes)});
}

Array front(const Array& x, int dim) { return lax::move_to_front(x, dim); }

}  // namespace tessera::ops
