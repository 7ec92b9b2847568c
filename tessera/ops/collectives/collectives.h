// Collectives: communication along named mesh axes, with jax.lax's names and meanings. They are
// called inside shard_map, which binds the axes (or inside vmap with an axis_name); the partitioner
// binds the same ops.
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
  // Whether the result's type does not vary over the axes: the result is the same on all ranks. The
  // type of the result of JAX's all_gather varies.
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
// Returns the params of replicated_to_unreduced_op: rank 0 keeps its operand.
CollectivePermuteParams to_unreduced(const Mesh& mesh, std::vector<std::string> axes);
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
// Shardy's op of this name: the operand is the same on all ranks, and the results are parts of
// which it is the sum. Rank 0 has the operand and the other ranks have zeros; the partitioner may
// choose other parts, if these cost less (spmd/parts_of_sums.h).
extern const OpDef& replicated_to_unreduced_op;
bool is_replicated_to_unreduced(const Op& op);

}  // namespace tessera::ops

namespace tessera {

// One axis name, or several names, major first. Several axes are used like one axis: their sizes
// are multiplied, and ranks count their coordinates row-major.
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

// JAX's axis_index_groups: lists of ranks. Each rank is in exactly one group, and the collective
// runs in each group separately, with its ranks in the order listed. No groups: all ranks are one.
using AxisGroups = std::vector<std::vector<int>>;

struct AllGatherOptions {
  // The dimension along which operands are concatenated (tiled), or the position of the new
  // dimension (not tiled). Negative numbers count from the end.
  int64_t axis = 0;
  bool tiled = false;  // if false, the result has a new dimension as long as the mesh axis
  AxisGroups groups = {};
  bool invariant = false;  // if true, the result's type does not vary over the mesh axis
};
struct PsumScatterOptions {
  int64_t scatter_dimension = 0;
  bool tiled = false;  // if false, that dimension is as long as the mesh axis, and is removed
  AxisGroups groups = {};
};
struct AllToAllOptions {
  // If false, the split dimension is as long as the mesh axis, and moves to concat_axis.
  bool tiled = false;
  AxisGroups groups = {};
};

}  // namespace tessera

namespace tessera::lax {

// In all functions below, n is the number of ranks: of devices along `axis`, or of those in a
// group. All throw UserError: kSharding unless a surrounding shard_map (or vmap) binds the axes,
// kShape if a dimension does not exist or does not have the length that is asked for, kValue for
// wrong groups or ranks. Unless it is said, groups must be of one size.

// Each of these returns x reduced element by element over the n ranks, with the shape of x; every
// rank gets the same result. psum and pmean take numbers and booleans: psum of booleans counts
// (int32), and pmean of booleans and integers is float32 (float64 if x64 is enabled). pmax and pmin
// do not take complex numbers (UserError kType); of booleans they are "or" and "and". Groups may
// differ in size, except for pmean; with groups, the result's type still varies over the axis.
Array psum(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmean(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmax(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});
Array pmin(const Array& x, const AxisArg& axis, const AxisGroups& groups = {});

// Returns on every rank the x of all ranks, in the order of ranks: stacked along a new dimension of
// length n, or, if tiled, concatenated along dimension `options.axis`, which becomes n times as
// long.
Array all_gather(const Array& x, const AxisArg& axis, const AllGatherOptions& options = {});
// Returns on rank i part i of the sum of x over the n ranks. Dimension scatter_dimension is
// divided: if tiled, into n parts of equal length; otherwise its length must be n, and rank i gets
// index i without that dimension. Booleans are counted (int32).
Array psum_scatter(const Array& x, const AxisArg& axis, const PsumScatterOptions& options = {});
// Returns on rank `target` the x of rank `source`, for each pair (source, target) of `permutation`.
// Each source and each target occurs at most once. Ranks that are not a target get zeros.
Array ppermute(const Array& x, const AxisArg& axis,
               const std::vector<std::pair<int, int>>& permutation);
// Returns on rank i the x of rank permutation[i]. `permutation` contains each of 0 to n - 1 once;
// throws UserError kValue otherwise.
Array pshuffle(const Array& x, const AxisArg& axis, const std::vector<int>& permutation);
// Divides x along dimension split_axis into n parts, sends part j to rank j, and returns the parts
// that were received, in the order of ranks. If tiled, they are concatenated along concat_axis: for
// example, with n = 2, (4, 3) with split_axis 0 and concat_axis 1 becomes (2, 6). Otherwise
// split_axis must have the length n; it is removed, and the parts are stacked along a new dimension
// of length n at concat_axis: (2, 3) becomes (3, 2).
Array all_to_all(const Array& x, const AxisArg& axis, int64_t split_axis, int64_t concat_axis,
                 const AllToAllOptions& options = {});
// Returns on rank i, at index j of dimension `dim`, index i of that dimension of rank j's x. The
// length of the dimension must be n.
Array pswapaxes(const Array& x, const AxisArg& axis, int64_t dim, const AxisGroups& groups = {});
// Returns on every rank the x of rank `source`. (The type of the result varies over the axis.)
Array pbroadcast(const Array& x, const AxisArg& axis, int source);
// Returns `output` with rows replaced by rows of other ranks. Rank i sends send_sizes[j] rows of
// `operand`, from row input_offsets[j] on, to rank j, where they replace rows of `output` from row
// output_offsets[j] (of rank i) on. recv_sizes[i] is the number of rows that arrive from rank i.
// `operand` and `output` have the same dtype and agree in all dimensions except the first; offsets
// and sizes are (n,) integers of one dtype. Rows must not reach beyond `operand` and `output`.
Array ragged_all_to_all(const Array& operand, const Array& output, const Array& input_offsets,
                        const Array& send_sizes, const Array& output_offsets,
                        const Array& recv_sizes, const AxisArg& axis,
                        const AxisGroups& groups = {});
// Returns the device's rank along the axes, an int32 scalar.
Array axis_index(const AxisArg& axis);
// Returns the number of devices along the axes.
int64_t axis_size(const AxisArg& axis);
// Returns x with a type that varies over the axes. Axes over which it already varies are ignored.
// `to` must be "varying"; throws UserError kValue otherwise.
Array pcast(const Array& x, const AxisArg& axis, std::string_view to);
// Returns pcast(x, axis, "varying").
Array pcast_varying(const Array& x, const AxisArg& axis);

}  // namespace tessera::lax
