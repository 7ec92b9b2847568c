// StepCode: one step of a schedule, ready to run. Everything that does not depend on the address of
// the data is computed when it is made: which instance reads which, how the work is divided into
// tasks, and whether it is worth using other threads.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

class LazyPackedWeights;

// The addresses of a slot's instances during a run.
struct SlotRef {
  std::byte* base = nullptr;
  int64_t stride = 0;              // the distance in bytes from one instance to the next
  const int64_t* table = nullptr;  // if not null, the byte offsets of the instances instead
  // Keeps packed forms of the array in this memory; null if the memory's content changes.
  const LazyPackedWeights* packed = nullptr;
  std::byte* at(int64_t i) const { return base + (table ? table[i] : i * stride); }
};

class StepCode {
 public:
  virtual ~StepCode() = default;
  // Returns the bytes that the step keeps: machine code, tables.
  virtual int64_t code_bytes() const { return 0; }
  // Packs weights that are constants, before the first run. `constants` is indexed by slot; slots
  // that are not constants have no memory.
  virtual void pack_constants(const SlotRef* constants) const { static_cast<void>(constants); }
  // Runs the step. `slots` is indexed by slot. `workspace` is memory for the step's own use,
  // aligned to 64 bytes, with as many bytes as the memory plan says. The caller is one thread;
  // several threads may run the same code on different slots.
  virtual void run(const SlotRef* slots, std::byte* workspace) const = 0;
};

// Returns the machine code of kernels, in the order of the kernels.
using KernelSource = std::function<std::vector<KernelCode>(std::span<const Kernel* const>)>;
// Returns the source that uses the compiler of the process.
KernelSource process_kernels();

std::unique_ptr<StepCode> make_kernel_code(const KernelStep& step, const Schedule& schedule,
                                           KernelCode code);
std::unique_ptr<StepCode> make_dot_code(const DotStep& step, const Schedule& schedule);
std::unique_ptr<StepCode> make_collective_code(const CollectiveStep& step,
                                               const Schedule& schedule);
// A step between processes, during which other steps run. It starts when its operand is ready and
// finishes before its result is read.
class TransferCode : public StepCode {
 public:
  // Returns the bytes that its messages take while they are in transit.
  virtual int64_t workspace_bytes() const { return 0; }
  virtual void start(const SlotRef* slots, std::byte* workspace) const = 0;
  virtual void finish() const = 0;
  void run(const SlotRef* slots, std::byte* workspace) const final {
    start(slots, workspace);
    finish();
  }
};
// Returns null if no process gets data from another one. Otherwise every process of the program has
// such a step.
std::unique_ptr<TransferCode> make_cross_collective_code(const CollectiveStep& step,
                                                         const Schedule& schedule);
std::unique_ptr<StepCode> make_call_code(const CallStep& step, const Schedule& schedule);

std::unique_ptr<StepCode> make_update_code(const UpdateStep& step, const Schedule& schedule);

// Maps the number of a step's instance to the number of a slot's instance.
class InstanceMap {
 public:
  InstanceMap() = default;  // maps each number to itself
  InstanceMap(const Schedule& s, const AxisList& step_axes, const AxisList& slot_axes);
  int64_t operator()(int64_t i) const {
    return map_.empty() ? i * factor_ : map_[static_cast<size_t>(i)];
  }
  bool identity() const { return map_.empty() && factor_ == 1; }

 private:
  int64_t factor_ = 1;  // 1: maps each number to itself; 0: the slot has one instance
  std::vector<int32_t> map_;
};

// The calling thread does less work than this itself, since handing it out would cost more.
inline constexpr double kInlineNs = 6000;
// The time of one task: long enough to hide the cost of starting it, short enough for balance.
inline constexpr double kTaskNs = 25000;
// The least time of a task if other threads wait for it without sleeping.
inline constexpr double kShortTaskNs = 3000;

}  // namespace tessera::runtime
