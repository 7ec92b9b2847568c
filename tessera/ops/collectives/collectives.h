// Collectives: communication along named mesh axes, with jax.lax's names and meanings. They are
// called inside shard_map, where the axes are bound; the partitioner binds the same ops.
//
// Types say over which manual axes values vary. Every collective takes a value that varies over its
// axes (a replicated one is cast first, so psum of a constant 1 is the axis size); a reduction's
// result no longer varies over them, all others' results do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/reduce_kind.h"

namespace tessera::ops {

// The fields that all have:
//   mesh    the mesh whose axes are named
//   axes    whole axes ("x") or parts ("x:(1)2", see AxisRef), major first: the order of ranks
//   groups  a partition of the ranks; a collective runs in each group separately, in the order
//           listed. If it is empty, all ranks are one group.
struct AllReduceParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  ReduceKind kind = ReduceKind::kSum;  // a kind with one operand
};
// Concatenates the operands of all ranks along dim.
struct AllGatherParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  int64_t dim = 0;
  // The result's type says that it is the same on all ranks, which it is; JAX's all_gather says
  // that it varies.
  bool invariant = false;
};
// Reduces, and splits the result along dim; each rank keeps its part.
struct ReduceScatterParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  ReduceKind kind = ReduceKind::kSum;
  int64_t dim = 0;
};
// Splits the operand along split_dim, sends part j to rank j, and concatenates what is received
// along concat_dim.
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
// All ranks receive the operand of rank `root`.
struct CollectiveBroadcastParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  int64_t root = 0;
};
// The operands are data, output, input_offsets, send_sizes, output_offsets, recv_sizes. Rank i
// sends rows input_offsets[j] ... + send_sizes[j] of data to rank j, which writes them to its
// output from row output_offsets[j] (of i) on.
struct RaggedAllToAllParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
};
// Returns the device's rank along the axes, int32.
struct AxisIndexParams {
  Mesh mesh;
  std::vector<std::string> axes;
};
// Returns the operand, whose type varies over the axes too.
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

// JAX's axis_index_groups: ranks, each in exactly one group.
using AxisGroups = std::vector<std::vector<int>>;

struct AllGatherOptions {
  // Where the result is concatenated (tiled), or the position of the new dimension (not tiled).
  int64_t axis = 0;
  bool tiled = false;  // false: a new dimension of the size of the mesh axis
  AxisGroups groups = {};
  bool invariant = false;  // whether the result's type is the same on all devices
};
struct PsumScatterOptions {
  int64_t scatter_dimension = 0;
  bool tiled = false;  // false: that dimension is as long as the mesh axis, and is removed
  AxisGroups groups = {};
};
struct AllToAllOptions {
  // If false, the split dimension is as long as the mesh axis, and moves to concat_axis.
  bool tiled = false;
  AxisGroups groups = {};
};

}  // namespace tessera

namespace tessera::lax {

// Reductions of every element, over all devices along `axis`. Each throws UserError unless a
// surrounding shard_map binds the axis. psum of bool counts (int32); pmean of integers is float.
// With groups the result still varies.
Array psum(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmean(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmax(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmin(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});

Array all_gather(const Array& x, const AxisArg& axis, const AllGatherOptions& options = {});
Array psum_scatter(const Array& x, const AxisArg& axis, const PsumScatterOptions& options = {});
// permutation: (source, target) ranks; each source and each target occurs once.
Array ppermute(const Array& x, const AxisArg& axis,
               const std::vector<std::pair<int, int>>& permutation);
// Rank i receives the x of rank permutation[i].
Array pshuffle(const Array& x, const AxisArg& axis, const std::vector<int>& permutation);
Array all_to_all(const Array& x, const AxisArg& axis, int64_t split_axis, int64_t concat_axis,
                 const AllToAllOptions& options = {});
// Exchanges dimension `dim` of x, which is as long as the mesh axis, with that axis.
Array pswapaxes(const Array& x, const AxisArg& axis, int64_t dim, const AxisGroups& groups = {});
Array pbroadcast(const Array& x, const AxisArg& axis, int source);
Array ragged_all_to_all(const Array& operand, const Array& output, const Array& input_offsets,
                        const Array& send_sizes, const Array& output_offsets,
                        const Array& recv_sizes, const AxisArg& axis,
                        const AxisGroups& groups = {});
Array axis_index(const AxisArg& axis);
int64_t axis_size(const AxisArg& axis);
// Returns x with a type that varies over the axes (axes over which it varies already are ignored).
// `to` must be "varying".
Array pcast(const Array& x, const AxisArg& axis, std::string_view to);
Array pcast_varying(const Array& x, const AxisArg& axis);

}  // namespace tessera::lax
