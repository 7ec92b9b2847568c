// Naive evaluation, derivatives, transposes, batching, factors and samples of the collectives. All
// reductions except max and min are linear. Their transposes follow from the axes over which types
// vary:
//   psum (varying -> invariant)  <->  pcast (invariant -> varying)
//   all_gather                   <->  psum_scatter
//   all_to_all(split, concat)    <->  all_to_all(concat, split)
//   ppermute                     <->  ppermute by the inverse
//   pbroadcast                    ->  psum, kept at the source
#pragma once

#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"

namespace tessera::ops {

inline const OpDef& op_of(const AllReduceParams&) { return all_reduce_op; }
inline const OpDef& op_of(const AllGatherParams&) { return all_gather_op; }
inline const OpDef& op_of(const ReduceScatterParams&) { return reduce_scatter_op; }
inline const OpDef& op_of(const AllToAllParams&) { return all_to_all_op; }
inline const OpDef& op_of(const CollectivePermuteParams&) { return collective_permute_op; }
inline const OpDef& op_of(const CollectiveBroadcastParams&) { return collective_broadcast_op; }
inline const OpDef& op_of(const PcastParams&) { return pcast_op; }

// Returns x with a type that varies over the axes too. Collectives need it of their operands, and
// transposes of cotangents: the cotangent of a varying value may come in without variance.
Array varying(const Array& x, const Mesh& mesh, const std::vector<std::string>& axes);

// Checks that a transform sees a collective of one array. Collectives of several arrays exist only
// in partitioned programs (spmd/combine_collectives.h), which are not transformed.
inline void expect_one_array(size_t count) {
  TESSERA_CHECK(count == 1, "a transform of a collective of {} arrays", count);
}

// Throws UserError for a reduction that is not a sum.
void expect_linear(const AllReduceParams& p);
void expect_linear(const ReduceScatterParams& p);
template <class P>
void expect_linear(const P&) {}

// Returns the tangent of a maximum or minimum: the mean of the tangents of the devices that have
// that value.
JvpResult jvp_extremum(const Array& x, const Array& t, const AllReduceParams& p);

template <class P>
JvpResult jvp_collective(std::span<const Array> x, std::span<const Array> t, const P& p) {
  expect_one_array(x.size());
  if constexpr (std::is_same_v<P, AllReduceParams>)
    if (t[0].defined() && (p.kind == ReduceKind::kMax || p.kind == ReduceKind::kMin))
      return jvp_extremum(x[0], t[0], p);
  JvpResult out{{bind_op1(op_of(p), p, {x[0]})}, {Array()}};
  if (!t[0].defined()) return out;
  expect_linear(p);
  out.tangents[0] = bind_op1(op_of(p), p, {t[0]});
  return out;
}

// Returns the cotangent of the operand for the cotangent `ct` of the result.
Array transposed(const Array& ct, const AllReduceParams& p);
Array transposed(const Array& ct, const AllGatherParams& p);
Array transposed(const Array& ct, const ReduceScatterParams& p);
Array transposed(const Array& ct, const AllToAllParams& p);
Array transposed(const Array& ct, const CollectivePermuteParams& p);
Array transposed(const Array& ct, const CollectiveBroadcastParams& p);
Array transposed(const Array& ct, const PcastParams& p);
template <class P>
std::vector<Array> transpose_collective(std::span<const Array> ct, std::span<const Array>,
                                        const std::vector<bool>&, const P& p) {
  expect_one_array(ct.size());
  if (!ct[0].defined()) return {Array()};
  expect_linear(p);
  return {transposed(ct[0], p)};
}

// The values on all devices at once: entry [k][d] is operand (or result) k on device d.
using Evaluated = std::vector<std::vector<Literal>>;
Evaluated evaluate_all_reduce(const Evaluated& x, const AllReduceParams& p, const Mesh& mesh);
Evaluated evaluate_all_gather(const Evaluated& x, const AllGatherParams& p, const Mesh& mesh);
Evaluated evaluate_reduce_scatter(const Evaluated& x, const ReduceScatterParams& p,
                                  const Mesh& mesh);
Evaluated evaluate_all_to_all(const Evaluated& x, const AllToAllParams& p, const Mesh& mesh);
Evaluated evaluate_permute(const Evaluated& x, const CollectivePermuteParams& p, const Mesh& mesh);
Evaluated evaluate_broadcast(const Evaluated& x, const CollectiveBroadcastParams& p,
                             const Mesh& mesh);
Evaluated evaluate_ragged(const Evaluated& x, const RaggedAllToAllParams& p, const Mesh& mesh);
Evaluated evaluate_axis_index(const Evaluated& x, const AxisIndexParams& p, const Mesh& mesh);
Evaluated evaluate_pcast(const Evaluated& x, const PcastParams& p, const Mesh& mesh);

// Under vmap with axis_name, a collective over that axis becomes a computation along the mapped
// dimension. If `p` names other axes too, only sums and casts are supported.
bool over_batch_axis(const std::vector<std::string>& axes);
BatchResult batched_over_axis(const Array& x, int dim, const AllReduceParams& p);
BatchResult batched_over_axis(const Array& x, int dim, const AllGatherParams& p);
BatchResult batched_over_axis(const Array& x, int dim, const ReduceScatterParams& p);
BatchResult batched_over_axis(const Array& x, int dim, const AllToAllParams& p);
BatchResult batched_over_axis(const Array& x, int dim, const CollectivePermuteParams& p);
BatchResult batched_over_axis(const Array& x, int dim, const CollectiveBroadcastParams& p);
BatchResult batched_over_axis(const Array& x, int dim, const PcastParams& p);
BatchResult batch_axis_index(std::span<const Array> x, std::span<const int> dims,
                             const AxisIndexParams& p);

// Returns x with the mapped dimension first, so that the numbers of the other dimensions grow by
// one.
Array front(const Array& x, int dim);
template <class P>
BatchResult batch_collective(std::span<const Array> x, std::span<const int> dims, const P& p) {
  expect_one_array(x.size());
  if (over_batch_axis(p.axes)) return batched_over_axis(x[0], dims[0], p);
  if constexpr (
      requires { p.dim; } || requires { p.split_dim; }) {
    P q = p;
    if constexpr (requires { p.dim; }) ++q.dim;
    if constexpr (requires { p.split_dim; }) ++q.split_dim, ++q.concat_dim;
    return {{bind_op1(op_of(p), q, {front(x[0], dims[0])})}, {0}};
  } else {
    return {{bind_op1(op_of(p), p, {x[0]})}, {dims[0]}};
  }
}

// Returns the factors of a pointwise op, except that the dimensions `changed` are needed whole.
Factors changed_dims_factors(const Type& operand, const Type& result,
                             std::initializer_list<int64_t> changed);
Factors ragged_factors(std::span<const Type> operands, std::span<const Type> results,
                       const RaggedAllToAllParams& p);

std::vector<Sample> all_reduce_samples();
std::vector<Sample> all_gather_samples();
std::vector<Sample> reduce_scatter_samples();
std::vector<Sample> all_to_all_samples();
std::vector<Sample> permute_samples();
std::vector<Sample> to_unreduced_samples();
std::vector<Sample> broadcast_samples();
std::vector<Sample> ragged_samples();
std::vector<Sample> axis_index_samples();
std::vector<Sample> pcast_samples();

}  // namespace tessera::ops
