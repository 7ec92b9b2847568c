// Schedule: a compiled program as a short list of steps of a few kinds, the same for every program.
// The runtime executes it on N virtual devices; a step ends when all instances have finished it.
//
// Values live in slots. A slot that varies over some mesh axes exists once for each coordinate
// along those axes (an instance), not once a device: a replicated value is computed once and stored
// once, whatever the number of devices.
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
  Shape shape;  // of one instance, row-major
  // The axes that it varies over; an instance number is the mixed-radix coordinate over these,
  // major first.
  AxisList axes;
  int64_t instances = 1;
  enum class Kind : uint8_t { kInput, kOutput, kTemporary, kConstant } kind = Kind::kTemporary;
  // kInput: the number of the input. kOutput: the output (the first, if it is several).
  int index = -1;
  Literal literal;                                                      // kConstant: one instance
  int64_t bytes() const { return shape.elements() * itemsize(dtype); }  // of one instance
};

struct KernelStep {
  Kernel kernel;
  std::vector<int> slots;  // one for each kernel buffer; -1 for scratch
  AxisList axes;  // the step runs once for each coordinate along these (the union over its slots)
};

// out = lhs . rhs over the contracting dimensions, batch dimensions first, as StableHLO orders the
// result. It runs once for each coordinate of `axes`. With `reduce_axes` (a dot followed by an
// all_reduce), the products of all instances along these are summed into one, in instance order,
// and out does not vary over them.
struct DotStep {
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  int lhs = -1, rhs = -1, out = -1;
  int bias = -1;  // added along the last dimension of out (shape (n,)) before the activation
  enum class Activation : uint8_t { kNone, kRelu } activation = Activation::kNone;
  bool symmetric = false;  // rhs is lhs with the free dimension last: out = a . a^T
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

// Data movement between instances along mesh axes, of the kind `kind`; the fields that it does not
// need are empty.
struct CollectiveStep {
  CollectiveKind kind;
  // The axes that the collective runs over, major first (the order of ranks in a group).
  AxisList over;
  std::vector<Dims> groups;  // axis_index_groups: ranks; empty: one group of all
  ReduceKind reduce = ReduceKind::kSum;
  int64_t dim = 0;         // all_gather: concatenated; reduce_scatter: scattered; all_to_all: split
  int64_t concat_dim = 0;  // all_to_all
  // Permute: (source rank, target rank); ranks that are no target get zeros.
  std::vector<Dims> pairs;
  int64_t root = 0;  // broadcast: source rank
  int in = -1, out = -1;
  // For ragged_all_to_all: the slots of input_offsets, send_sizes, output_offsets, recv_sizes (one
  // entry for each rank of the group, int32 or int64; rows of the leading dimension), then that of
  // out's initial content (none: zeros).
  std::vector<int> sizes;
  // For messages: "all_reduce over (x) for dot_general: dot_general sums over dimension 1, ...".
  std::string what;
  // In the schedule of one process: some process gets data from another one. Every process of the
  // program has the same flag.
  bool crosses = false;
  // If it crosses: the memory that its messages take in transit.
  int64_t transfer_bytes = 0;
  // A collective of several arrays is one step for each; all of them have the same number here. -1:
  // a collective of one array.
  int collective = -1;
  // In the schedule of one process: its messages are sent together with those of the next step.
  bool sends_with_next = false;
};

// The coordinate of each instance along `over`, as int32, or any table with one small literal for
// each instance.
struct InstanceTableStep {
  int out = -1;
  std::vector<Literal> values;  // one for each instance of out
};

// out has in's bytes under another shape or over other axes (each instance of out names its
// instance of in): no copy.
struct ViewStep {
  int in = -1, out = -1;
};

// Another library call on one instance (sort, scatter, ...).
struct CallStep {
  std::string name;
  std::vector<int> in, out;
  HostCall fn;
  AxisList axes;
  // out[r] is in[r] except for some elements: if both are the same memory, fn writes only these.
  bool updates = false;
};

// out = in except for a box, which gets `update`; if both are the same memory, only the box is
// written. Each dimension has an integer scalar among `starts`; the box begins there, moved so that
// it fits, as in dynamic_update_slice. It runs once for each coordinate of `axes`.
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
  // It outputs one bool, the same on every device; null: the body runs `trip_count` times.
  std::shared_ptr<const Schedule> cond;
  std::shared_ptr<const Schedule> body;
  int64_t trip_count = 0;
  bool reverse = false;  // slices are read and written from the last to the first
  std::vector<int> in, out;
  std::vector<int> consts = {}, xs = {}, ys = {};
};
struct BranchStep {
  int index = -1;  // slot of an int32 scalar (out of range: the last branch), or of a bool: branch
                   // 0 is false, 1 is true
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
  // (locality.h): its slots have as many instances as that process holds.
  std::shared_ptr<const Locality> local = nullptr;
  // Results have the same bits wherever the devices are: no sum changes its order because its
  // operands are in one memory.
  bool reproducible = false;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;  // slots; an output may be an input's slot, or occur twice
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
// Axes of `to` that `from` lacks count as 0. Example, x: 2, y: 4, from {y, x}, to {x, y}: 0, 4, 1,
// 5, 2, 6, 3, 7.
std::vector<int32_t> instance_map(const Mesh& mesh, const AxisList& from, const AxisList& to);
// Returns the same number for the instances of a schedule, which may be those of one process.
int64_t instance_count(const Schedule& s, const AxisList& axes);
std::vector<int32_t> instance_map(const Schedule& s, const AxisList& from, const AxisList& to);
// Throws InternalError if the schedule breaks a rule of this header.
void verify(const Schedule& schedule);

}  // namespace tessera::fusion
