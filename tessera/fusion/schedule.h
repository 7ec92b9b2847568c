// Schedule: a compiled program as a short list of steps, the same few for every program. The
// runtime executes it on N virtual devices; a step's border is where all instances have finished
// it.
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
  // What it varies over; instance number = mixed-radix coordinate over these, major first.
  AxisList axes;
  int64_t instances = 1;
  enum class Kind : uint8_t { kInput, kOutput, kTemporary, kConstant } kind = Kind::kTemporary;
  int index = -1;   // kInput: which input. kOutput: which output (the first, if it is several).
  Literal literal;  // kConstant: one instance
  int64_t bytes() const { return shape.elements() * itemsize(dtype); }  // of one instance
};

struct KernelStep {
  Kernel kernel;
  std::vector<int> slots;  // one a kernel buffer; -1 for scratch
  AxisList axes;  // the step runs once for each coordinate along these (the union over its slots)
};

// out = lhs . rhs over the contracting dims, batch dims first, as StableHLO orders the result. Runs
// once a coordinate of `axes`. With `reduce_axes` (a dot followed by an all_reduce): the products
// of all instances along these are summed into one, in instance order, and out does not vary over
// them.
struct DotStep {
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  int lhs = -1, rhs = -1, out = -1;
  int bias = -1;  // added along the last dim of out (shape (n,)) before the activation
  enum class Activation : uint8_t { kNone, kRelu } activation = Activation::kNone;
  bool symmetric = false;  // rhs is lhs with the free dim last: out = a . a^T
  DType accumulate = float32;
  ops::DotSum sum = ops::DotSum::kAny;
  AxisList axes, reduce_axes;
};

// out = lhs convolved with rhs. Runs once a coordinate of `axes`.
struct ConvolutionStep {
  ConvolutionParams params;
  int lhs = -1, rhs = -1, out = -1;
  AxisList axes;
};

// Data movement between instances along mesh axes. `kind` says which; the fields it does not need
// are empty.
struct CollectiveStep {
  CollectiveKind kind;
  AxisList over;  // the axes the collective runs over, major first (the order of ranks in a group)
  std::vector<Dims> groups;  // axis_index_groups: ranks; empty: one group of all
  ReduceKind reduce = ReduceKind::kSum;
  int64_t dim = 0;         // all_gather: concatenated; reduce_scatter: scattered; all_to_all: split
  int64_t concat_dim = 0;  // all_to_all
  // Permute: (source rank, target rank); ranks that are no target get zeros.
  std::vector<Dims> pairs;
  int64_t root = 0;  // broadcast: source rank
  int in = -1, out = -1;
  // ragged_all_to_all: slots of input_offsets, send_sizes, output_offsets, recv_sizes (one entry a
  // rank of the group, int32 or int64; rows of the leading dim), after them that of out's initial
  // content (none: zeros).
  std::vector<int> sizes;
  // For messages: "all_reduce over (x) for dot_general: dot_general sums over dimension 1, ...".
  std::string what;
  // In the schedule of one process: some process gets data from another one. Every process of the
  // program knows.
  bool crosses = false;
  // Of one that crosses: the memory that its messages take while they are on their way.
  int64_t transfer_bytes = 0;
  // Of a collective of several arrays, which is a step for each: its number, the same in all of them.
  // -1: of one array.
  int joined = -1;
  // In the schedule of one process: its messages are sent together with those of the next step.
  bool more = false;
};

// The coordinate of each instance along `over`, as int32, or any table of one small literal an
// instance.
struct InstanceTableStep {
  int out = -1;
  std::vector<Literal> values;  // one an instance of out
};

// out has in's bytes under another shape or over other axes (each instance of out names the
// in-instance it is): no copy.
struct ViewStep {
  int in = -1, out = -1;
};

// Other library calls on one instance (sort, scatter, ...).
struct CallStep {
  std::string name;
  std::vector<int> in, out;
  HostCall fn;
  AxisList axes;
  // out[0] is in[0] but for some elements: where both are the same memory, fn writes these alone.
  bool updates = false;
};

// out = in but for a box, which holds `update`; where both are the same memory, the box alone is
// written. Each dimension has an integer scalar among `starts`, where the box begins once it is
// moved so that it fits, as dynamic_update_slice says. Runs once a coordinate of `axes`.
struct UpdateStep {
  int in = -1, update = -1, out = -1;
  std::vector<int> starts;
  AxisList axes;
};

struct Schedule;
// A loop. Inputs of `body`: consts, carry, one slice of each of xs (its leading dimension taken
// away); its outputs: carry, one slice of each of ys. Inputs of `cond`: consts, carry. The carry
// starts as `in` and ends in `out`.
struct LoopStep {
  // Outputs one bool, the same on every device; null: runs `trip_count` times.
  std::shared_ptr<const Schedule> cond;
  std::shared_ptr<const Schedule> body;
  int64_t trip_count = 0;
  bool reverse = false;  // slices are taken and written from the last to the first
  std::vector<int> in, out;
  std::vector<int> consts = {}, xs = {}, ys = {};
};
struct BranchStep {
  int index = -1;  // slot of an int32 scalar (out of range: the last branch), or of a bool: branch
                   // 0 is false, 1 is true
  std::vector<std::shared_ptr<const Schedule>> branches;
  std::vector<int> in, out;
  // The branch that is almost always taken; the others are made ready when they first are.
  std::optional<size_t> usual = std::nullopt;
  bool is_rare(size_t branch) const { return usual && branch != *usual; }
};

using Step = std::variant<KernelStep, DotStep, ConvolutionStep, CollectiveStep, InstanceTableStep,
                          ViewStep, CallStep, UpdateStep, LoopStep, BranchStep>;

class Locality;

struct Schedule {
  Mesh mesh;  // of the program; its axes are what AxisList counts
  // Null: this is for all devices of the mesh. Else it is the part of one process (locality.h):
  // its slots have as many instances as that process holds.
  std::shared_ptr<const Locality> local = nullptr;
  // What is computed has the same bits wherever the devices are: nothing is summed in another order
  // because it lies in one memory.
  bool reproducible = false;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;  // slots; an output may be an input's slot, or occur twice
};

std::string to_string(const Schedule& schedule);

// The slots a step reads and writes, each once.
struct StepSlots {
  std::vector<int> reads, writes;
};
StepSlots step_slots(const Step& step);
// Number of coordinates along `axes`.
int64_t axes_size(const Mesh& mesh, const AxisList& axes);
// For each coordinate along `from`, the instance number of a slot that varies over `to`. Axes of
// `to` that `from` lacks count as 0. Example, x: 2, y: 4, from {y, x}, to {x, y}: 0, 4, 1, 5, 2, 6,
// 3, 7.
std::vector<int32_t> instance_map(const Mesh& mesh, const AxisList& from, const AxisList& to);
// The same of the instances of a schedule, which may be those of one process.
int64_t instance_count(const Schedule& s, const AxisList& axes);
std::vector<int32_t> instance_map(const Schedule& s, const AxisList& from, const AxisList& to);
// Throws InternalError if the schedule breaks a rule of this header.
void verify(const Schedule& schedule);

}  // namespace tessera::fusion
