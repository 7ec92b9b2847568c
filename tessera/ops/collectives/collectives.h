// Collectives: communication along named mesh axes, with jax.lax's names and meanings. They are
// called inside shard_map, where the axes are bound; the partitioner binds the same ops.
//
// A type lists the manual axes over which its value varies. Every collective takes a value that
// varies over its axes (a replicated value is cast first, so psum of a constant 1 is the axis
// size). The result of a reduction no longer varies over them; the results of all other collectives
// do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/reduce_kind.h"

namespace tessera::ops {

// The fields that all params have:
//   mesh    the mesh whose axes are named
//   axes    whole axes ("x") or parts ("x:(1)2", see AxisRef), major first: the order of ranks
//   groups  a partition of the ranks; a collective runs in each group separately, in the order
//           listed. If it is empty, all ranks are one group.
struct AllReduceParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  ReduceKind kind = ReduceKind::kSum;  // a reduction of one operand
};
// Concatenates the operands of all ranks along dim.
struct AllGatherParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  int64_t dim = 0;
  // Whether the type says that the result is the same on all ranks, which it is. JAX's all_gather
  // has a result that varies.
  bool invariant = false;
};
// Reduces the operands of all ranks, and splits the result along dim: rank i keeps part i.
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
// Rank `source` of each pair (source, target) sends its operand to `target`; ranks that are not a
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
// sends send_sizes[j] rows of data, from row input_offsets[j] on, to rank j, which writes them to
// its output from row output_offsets[j] (of rank i) on.
struct RaggedAllToAllParams {
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
};
// The result is the device's rank along the axes, an int32 scalar.
struct AxisIndexParams {
  Mesh mesh;
  std::vector<std::string> axes;
};
// The result is the operand, with a type that varies over the axes as well.
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

// JAX's axis_index_groups. Each rank is in exactly one group.
using AxisGroups = std::vector<std::vector<int>>;

struct AllGatherOptions {
  // The dimension along which operands are concatenated (tiled), or the position of the new one
  // (not tiled).
  int64_t axis = 0;
  bool tiled = false;  // if false, there is a new dimension as long as the axis
  AxisGroups groups = {};
  bool invariant = false;  // the result's type does not vary over the axis
};
struct PsumScatterOptions {
  int64_t scatter_dimension = 0;
  bool tiled = false;  // if false, that dimension is as long as the axis, and is removed
  AxisGroups groups = {};
};
struct AllToAllOptions {
  // If false, the split dimension is as long as the mesh axis, and moves to concat_axis.
  bool tiled = false;
  AxisGroups groups = {};
};

}  // namespace tessera

namespace tessera::lax {

// Each of these returns x reduced element by element over all devices along `axis`. They throw
// UserError unless a surrounding shard_map binds the axis. psum of bool counts (int32); pmean of
// integers is float. If there are groups, the result still varies over the axis.
Array psum(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmean(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmax(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmin(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});

Array all_gather(const Array& x, const AxisArg& axis, const AllGatherOptions& options = {});
Array psum_scatter(const Array& x, const AxisArg& axis, const PsumScatterOptions& options = {});
// Sends x from rank to rank as the pairs (source, target) of `permutation` say; each source and
// each target occurs once. Ranks that are not a target get zeros.
Array ppermute(const Array& x, const AxisArg& axis,
               const std::vector<std::pair<int, int>>& permutation);
// Returns on rank i the x of rank permutation[i].
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
// Returns x with a type that varies over the axes. Axes over which it varies already are ignored.
// `to` must be "varying".
Array pcast(const Array& x, const AxisArg& axis, std::string_view to);
Array pcast_varying(const Array& x, const AxisArg& axis);

}  // namespace tessera::lax
