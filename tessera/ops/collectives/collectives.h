// Collectives: communication along named mesh axes, with jax.lax's names and meanings. They are
// called inside shard_map, where the axes are bound; the partitioner binds the same ops.
//
// Values are typed by the manual axes they vary over. Every collective takes a value that varies
// over its axes (a replicated one is cast first, so psum of a constant 1 is the axis size); a
// reduction's result no longer varies over them, all others' still do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/reduce_kind.h"

namespace tessera::ops {

// The fields that all have:
//   mesh    whose axes are named
//   axes    whole axes ("x") or parts ("x:(1)2", see AxisRef), major first: the order of ranks
//   groups  partition of the ranks; a collective runs in each by itself, in the order listed.
//           Empty: one group of all.
struct AllReduceParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  ReduceKind kind = ReduceKind::kSum;  // of the kinds of one operand
};
// The operands of all ranks concatenated along dim.
struct AllGatherParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  int64_t dim = 0;
  // The result is typed as the same on all ranks, which it is; JAX's all_gather says it varies.
  bool invariant = false;
};
// The reduction cut along dim; each rank keeps its part.
struct ReduceScatterParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  ReduceKind kind = ReduceKind::kSum;
  int64_t dim = 0;
};
// Cuts the operand along split_dim, sends part j to rank j, and concatenates what arrives along
// concat_dim.
struct AllToAllParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  int64_t split_dim = 0, concat_dim = 0;
};
// Rank `source` of each pair (source, target) sends its operand to `target`; ranks that are no
// target get zeros.
struct CollectivePermuteParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> pairs;
};
// All ranks get the operand of rank `root`.
struct CollectiveBroadcastParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  int64_t root = 0;
};
// Operands: data, output, input_offsets, send_sizes, output_offsets, recv_sizes. Rank i sends rows
// input_offsets[j] ... + send_sizes[j] of data to rank j, which finds them from row
// output_offsets[j] (of i) of its output on.
struct RaggedAllToAllParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
};
// The device's rank along the axes, int32.
struct AxisIndexParams {
  Mesh mesh;
  std::vector<std::string> axes;
};
// The operand, typed as varying over the axes too.
struct PcastParams {
  Mesh mesh;
  std::vector<std::string> axes;
};

extern const OpDef& all_reduce_op;
extern const OpDef& all_gather_op;
extern const OpDef& reduce_scatter_op;
extern const OpDef& all_to_all_op;
extern const OpDef& collective_permute_op;
extern const OpDef& collective_broadcast_op;
extern const OpDef& ragged_all_to_all_op;
extern const OpDef& axis_index_op;
extern const OpDef& pcast_op;

}  // namespace tessera::ops

namespace tessera {

// One axis name, or several, major first.
class AxisArg {
 public:
  AxisArg(const char* axis) : axes_{axis} {}
  AxisArg(std::string axis) : axes_{std::move(axis)} {}
  AxisArg(std::vector<std::string> axes) : axes_(std::move(axes)) {}
  AxisArg(std::initializer_list<std::string> axes) : axes_(axes) {}
  const std::vector<std::string>& axes() const { return axes_; }

 private:
  std::vector<std::string> axes_;
};

// axis_index_groups of JAX: ranks, each in exactly one group.
using AxisGroups = std::vector<std::vector<int>>;

struct AllGatherOptions {
  // Where the result is concatenated (tiled), or the new dimension stands (not tiled).
  int64_t axis = 0;
  bool tiled = false;  // false: a new dimension of the size of the mesh axis
  AxisGroups groups = {};
  bool invariant = false;  // type the result as not varying
};
struct PsumScatterOptions {
  int64_t scatter_dimension = 0;
  bool tiled = false;  // false: that dimension is as long as the mesh axis, and is removed
  AxisGroups groups = {};
};
struct AllToAllOptions {
  // False: the split dimension is as long as the mesh axis, and moves to concat_axis.
  bool tiled = false;
  AxisGroups groups = {};
};

}  // namespace tessera

namespace tessera::lax {

// Of every element, over all devices along `axis`. Each is a UserError where the axis is not bound
// by a shard_map around the call. psum of bool counts (int32); pmean of integers is float. With
// groups the result still varies.
Array psum(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmean(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmax(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmin(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});

Array all_gather(const Array& x, const AxisArg& axis, const AllGatherOptions& options = {});
Array psum_scatter(const Array& x, const AxisArg& axis, const PsumScatterOptions& options = {});
// permutation: (source, target) ranks, each source and each target once.
Array ppermute(const Array& x, const AxisArg& axis,
               const std::vector<std::pair<int, int>>& permutation);
// Rank i gets the x of rank permutation[i].
Array pshuffle(const Array& x, const AxisArg& axis, const std::vector<int>& permutation);
Array all_to_all(const Array& x, const AxisArg& axis, int64_t split_axis, int64_t concat_axis,
                 const AllToAllOptions& options = {});
// Dimension `dim` of x, as long as the mesh axis, changes places with it.
Array pswapaxes(const Array& x, const AxisArg& axis, int64_t dim, const AxisGroups& groups = {});
Array pbroadcast(const Array& x, const AxisArg& axis, int source);
Array ragged_all_to_all(const Array& operand, const Array& output, const Array& input_offsets,
                        const Array& send_sizes, const Array& output_offsets,
                        const Array& recv_sizes, const AxisArg& axis,
                        const AxisGroups& groups = {});
Array axis_index(const AxisArg& axis);
int64_t axis_size(const AxisArg& axis);
// x typed as varying over the axes (those it varies over already do not matter). `to` must be
// "varying".
Array pcast(const Array& x, const AxisArg& axis, std::string_view to);
Array pcast_varying(const Array& x, const AxisArg& axis);

}  // namespace tessera::lax
