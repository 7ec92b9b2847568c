// Batching rules of collectives over an axis that vmap maps.
#include <algorithm>

#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives_rules.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

std::vector<std::string> other_axes(const std::vector<std::string>& axes) {
  std::vector<std::string> out;
  for (const std::string& axis : axes)
    if (axis != BatchAxis::current().name) out.push_back(axis);
  return out;
}

template <class P>
void expect_alone(const char* op, const P& p) {
  if (p.axes.size() > 1)
    value_error(op,
                "expected the axis of vmap, '{}', alone, got it together with mesh axes; apply it "
                "axis by axis",
                BatchAxis::current().name);
  if constexpr (requires { p.groups; }) {
    if (!p.groups.empty())
      value_error(op, "expected no axis_index_groups over the axis of vmap, '{}'",
                  BatchAxis::current().name);
  }
}

// Returns x with the mapped dimension first. An x that is not mapped is repeated for each example.
Array mapped_first(const Array& x, int dim) {
  return lax::with_batch_first(x, dim, BatchAxis::current().size);
}

Array fold_batch(const Array& x, ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kProduct:
      return lax::reduce_prod(x, {0});
    case ReduceKind::kMin:
      return lax::reduce_min(x, {0});
    case ReduceKind::kMax:
      return lax::reduce_max(x, {0});
    case ReduceKind::kAnd:
      return lax::reduce_and(x, {0});
    case ReduceKind::kOr:
      return lax::reduce_or(x, {0});
    default:
      return lax::reduce_sum(x, {0});
  }
}

// Returns x with dimensions `at` and `at` + 1 merged.
Array merged(const Array& x, int64_t at) {
  Shape shape = x.shape();
  shape[at] *= shape[at + 1];
  shape.erase(shape.begin() + at + 1);
  return lax::reshape(x, shape);
}
// Returns x with dimension `at` split into two, of which the first has size `count`.
Array split(const Array& x, int64_t at, int64_t count) {
  Shape shape = x.shape();
  shape[at] /= count;
  shape.insert(shape.begin() + at, count);
  return lax::reshape(x, shape);
}

}  // namespace

bool over_batch_axis(const std::vector<std::string>& axes) {
  const std::string& name = BatchAxis::current().name;
  return !name.empty() && std::find(axes.begin(), axes.end(), name) != axes.end();
}

BatchResult batched_over_axis(const Array& x, int dim, const AllReduceParams& p) {
  if (!p.groups.empty()) expect_alone("all_reduce", p);
  Array out = fold_batch(mapped_first(x, dim), p.kind);
  AllReduceParams rest = p;
  rest.axes = other_axes(p.axes);
  if (!rest.axes.empty()) {
    rest.mesh = AxisEnv::current().mesh_of(rest.axes);
    out = bind_op1(all_reduce_op, rest, {out});
  }
  return {{out}, {-1}};
}

BatchResult batched_over_axis(const Array& x, int dim, const AllGatherParams& p) {
  expect_alone("all_gather", p);
  return {{merged(lax::move_dim(mapped_first(x, dim), 0, p.dim), p.dim)}, {-1}};
}

BatchResult batched_over_axis(const Array& x, int dim, const ReduceScatterParams& p) {
  expect_alone("psum_scatter", p);
  const Array sum = fold_batch(mapped_first(x, dim), p.kind);
  return {{split(sum, p.dim, BatchAxis::current().size)}, {static_cast<int>(p.dim)}};
}

BatchResult batched_over_axis(const Array& x, int dim, const AllToAllParams& p) {
  expect_alone("all_to_all", p);
  // [source, ..., target * part, ...] -> [target, ..., source * part, ...]
  const Array parts = split(mapped_first(x, dim), p.split_dim + 1, BatchAxis::current().size);
  const Array by_target = lax::move_dim(parts, p.split_dim + 1, 0);
  return {{merged(lax::move_dim(by_target, 1, p.concat_dim + 1), p.concat_dim + 1)}, {0}};
}

BatchResult batched_over_axis(const Array& x, int dim, const CollectivePermuteParams& p) {
  expect_alone("ppermute", p);
  const Array all = mapped_first(x, dim);
  std::vector<int64_t> source(static_cast<size_t>(BatchAxis::current().size), -1);
  for (const Dims& pair : p.pairs) source[static_cast<size_t>(pair[1])] = pair[0];
  std::vector<Array> rows;
  for (int64_t from : source) {
    const Array row =
        lax::slice_in_dim(all, std::max<int64_t>(from, 0), std::max<int64_t>(from, 0) + 1);
    rows.push_back(from < 0 ? lax::full_like(row, 0) : row);
  }
  return {{lax::concatenate(rows, 0)}, {0}};
}

BatchResult batched_over_axis(const Array& x, int dim, const CollectiveBroadcastParams& p) {
  expect_alone("pbroadcast", p);
  return {{lax::squeeze(lax::slice_in_dim(mapped_first(x, dim), p.root, p.root + 1), {0})}, {-1}};
}

BatchResult batched_over_axis(const Array& x, int dim, const PcastParams& p) {
  const std::vector<std::string> rest = other_axes(p.axes);
  if (rest.empty()) return {{x}, {dim}};
  return {{bind_op1(pcast_op, PcastParams{AxisEnv::current().mesh_of(rest), rest}, {x})}, {dim}};
}

// The rank is a number whose digits are the ranks along the axes, the first axis most significant.
BatchResult batch_axis_index(std::span<const Array>, std::span<const int>,
                             const AxisIndexParams& p) {
  if (!over_batch_axis(p.axes)) return {{bind_op1(axis_index_op, p, {})}, {-1}};
  const int64_t n = BatchAxis::current().size;
  Array rank = lax::full({n}, 0, int32);
  for (const std::string& axis : p.axes) {
    const bool mapped = axis == BatchAxis::current().name;
    const Array digit =
        mapped ? lax::iota(int32, {n})
               : lax::broadcast_in_dim(
                     bind_op1(axis_index_op,
                              AxisIndexParams{AxisEnv::current().mesh_of({axis}), {axis}}, {}),
                     {n}, {});
    const double size = static_cast<double>(p.mesh.axis_size(axis));
    rank = lax::add(lax::mul(rank, lax::full_like(rank, size)), digit);
  }
  return {{rank}, {0}};
}

}  // namespace tessera::ops
