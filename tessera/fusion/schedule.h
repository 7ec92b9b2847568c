// Schedule: a compiled program as a short list of steps of a few kinds, the same for every program.
// The runtime executes it on N virtual devices. A step ends when all instances have finished it.
//
// Values are in slots. A slot that varies over some mesh axes exists once for each coordinate along
// those axes (an instance), not once for each device: a replicated value is computed once and
// stored once, whatever the number of devices.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/fusion/kernel.h"
#include "tessera/ir/lowering.h"
#include "tessera/mesh/mesh.h"
#include "tessera/ops/linear/convolution.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion {

// Axis indices into the program's mesh, in storage order, major first.
using AxisList = std::vector<int>;

struct Slot {
  DType dtype;
  Shape shape;  // of one instance, stored in row-major order
  // The axes that the slot varies over. An instance number is the mixed-radix number of the
  // coordinates along these axes, major first.
  AxisList axes;
  int64_t instances = 1;
  enum class Kind : uint8_t { kInput, kOutput, kTemporary, kConstant } kind = Kind::kTemporary;
  // For kInput, the number of the input; for kOutput, the number of the (first) output.
  int index = -1;
  Literal literal;  // kConstant: of one instance
  int64_t bytes() const { return shape.elements() * itemsize(dtype); }  // of one instance
};

struct KernelStep {
  Kernel kernel;
  std::vector<int> slots;  // one for each kernel buffer; -1 for scratch
  AxisList axes;  // the step runs once for each coordinate along these (the union over its slots)
};

// out = lhs . rhs over the contracting dimensions, with dimensions ordered as StableHLO orders the
// result (batch first). It runs once for each coordinate of `axes`. With `reduce_axes` (a dot
// followed by an all_reduce), the products of all instances along these axes are summed in instance
// order, and out does not vary over them.
struct DotStep {
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  int lhs = -1, rhs = -1, out = -1;
  // A vector of shape (n,) that is added along the last dimension of out before the activation.
  int bias = -1;
  enum class Activation : uint8_t { kNone, kRelu } activation = Activation::kNone;
  bool symmetric = false;  // rhs is lhs with the free dimension last, so that out = a . a^T
  DType accumulate = float32;
  ops::DotSum sum = ops::DotSum::kAny;
  AxisList axes, reduce_axes;
};

// out = lhs convolved with rhs. It runs once for each coordinate of `axes`.
struct ConvolutionStep {
  ConvolutionParams params;
  int lhs = -1, rhs = -1, out = -1;
  AxisList axes;
};

// Data movement between instances along mesh axes. Fields that the kind does not need are empty.
struct CollectiveStep {
  CollectiveKind kind;
  // The axes that the collective runs over, major first (the order of ranks in a group).
  AxisList over;
  std::vector<Dims> groups;  // axis_index_groups, as ranks; empty: one group of all ranks
  ReduceKind reduce = ReduceKind::kSum;
  // The dimension that is concatenated (all_gather), scattered (reduce_scatter) or split
  // (all_to_all).
  int64_t dim = 0;
  int64_t concat_dim = 0;  // all_to_all: the dimension that is concatenated
  // Permute: pairs (source rank, target rank). Ranks that are not a target get zeros.
  std::vector<Dims> pairs;
  int64_t root = 0;  // broadcast: the source rank
  int in = -1, out = -1;
  // For ragged_all_to_all: the slots of input_offsets, send_sizes, output_offsets, recv_sizes (one
  // entry for each rank of the group, int32 or int64, counting rows of the leading dimension), then
  // the slot of out's initial content (without it: zeros).
  std::vector<int> sizes;
  // For messages: "all_reduce over (x) for dot_general: dot_general sums over dimension 1, ...".
  std::string what;
  // In the schedule of one process: whether any process gets data from another one. Every process
  // of the program has the same value here.
  bool crosses = false;
  // If it crosses: the bytes of memory that its messages take while they are sent.
  int64_t transfer_bytes = 0;
  // A collective of several arrays is one step for each; all of these have the same number here.
  // -1: a collective of one array.
  int collective = -1;
  // In the schedule of one process: whether its messages are sent together with those of the next
  // step.
  bool sends_with_next = false;
};

// A table with one small literal for each instance, such as the coordinate of each instance along
// `over` (as int32).
struct InstanceTableStep {
  int out = -1;
  std::vector<Literal> values;  // for each instance of out
};

// out has in's bytes, with another shape or over other axes. Nothing is copied: each instance of
// out is one instance of in.
struct ViewStep {
  int in = -1, out = -1;
};

// A call of another library function for each instance (sort, scatter, ...).
struct CallStep {
  std::string name;
  std::vector<int> in, out;
  HostCall fn;
  AxisList axes;
  // True if out[r] is in[r] except for some elements: if both are the same memory, fn writes only
  // these.
  bool updates = false;
};

// out = in except for a box, which gets `update`. If both are the same memory, only the box is
// written. `starts` has an integer scalar for each dimension at which the box begins; it is clamped
// so that the box fits, as in dynamic_update_slice. The step runs once for each coordinate of
// `axes`.
struct UpdateStep {
  int in = -1, update = -1, out = -1;
  std::vector<int> starts;
  AxisList axes;
};

struct Schedule;
// A loop. The inputs of `body` are consts, carry, one slice of each of xs (without its leading
// dimension); its outputs are carry, one slice of each of ys. The inputs of `cond` are consts,
// carry. The carry starts as `in` and ends in `out`.
struct LoopStep {
  // The condition's only output is a bool, the same on every device. Null: the body runs
  // `trip_count` times.
  std::shared_ptr<const Schedule> cond;
  std::shared_ptr<const Schedule> body;
  int64_t trip_count = 0;
  bool reverse = false;  // slices are read and written from the last to the first
  // Whether trips may run at the same time: nothing is carried, and no step has an effect.
  bool independent = false;
  std::vector<int> in, out;
  std::vector<int> consts = {}, xs = {}, ys = {};
};
struct BranchStep {
  // The slot of the branch's number: an int32 scalar (out of range: the last branch), or a bool.
  int index = -1;
  // In order of `index`; for a bool, 0 is false and 1 is true.
  std::vector<std::shared_ptr<const Schedule>> branches;
  std::vector<int> in, out;
  // The branch that is almost always taken; the others are compiled when they are first taken.
  std::optional<size_t> expected = std::nullopt;
  bool is_unlikely(size_t branch) const { return expected && branch != *expected; }
};

using Step = std::variant<KernelStep, DotStep, ConvolutionStep, CollectiveStep, InstanceTableStep,
                          ViewStep, CallStep, UpdateStep, LoopStep, BranchStep>;

class Locality;

struct Schedule {
  Mesh mesh;  // the mesh of the program; an AxisList has indices of its axes
  // Null: the schedule is for all devices of the mesh. Otherwise it is the part of one process
  // (locality.h), and its slots have as many instances as that process holds.
  std::shared_ptr<const Locality> local = nullptr;
  // True if results must have the same bits on every mesh: then no sum may change its order because
  // its operands happen to be in the same memory.
  bool reproducible = false;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  // Slots. An output may be an input's slot, or the slot of another output.
  std::vector<int> inputs, outputs;
};

std::string to_string(const Schedule& schedule);

// The slots that a step reads and writes, each once.
struct StepSlots {
  std::vector<int> reads, writes;
};
StepSlots step_slots(const Step& step);
// Returns the number of coordinates along `axes`.
int64_t axes_size(const Mesh& mesh, const AxisList& axes);
// Returns, for each coordinate along `from`, the instance number of a slot that varies over `to`.
// The coordinate along axes of `to` that `from` lacks is 0. Example: with x: 2, y: 4, from {y, x},
// to {x, y} returns 0, 4, 1, 5, 2, 6, 3, 7.
std::vector<int32_t> instance_map(const Mesh& mesh, const AxisList& from, const AxisList& to);
// Returns the number of instances along `axes` in this schedule, which may be that of one process.
int64_t instance_count(const Schedule& s, const AxisList& axes);
std::vector<int32_t> instance_map(const Schedule& s, const AxisList& from, const AxisList& to);
// Throws InternalError if the schedule breaks a rule of this header.
void verify(const Schedule& schedule);

}  // namespace tessera::fusion
