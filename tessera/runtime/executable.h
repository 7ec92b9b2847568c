// Executable: a schedule made ready to run on memory that its caller provides. Program (program.h)
// runs one on device arrays; loops and branches run nested ones on slots of the schedule around
// them.
//
// Before: the schedule's MemoryPlan, which says where everything is. After: the code of each step.
#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/runtime/memory_plan.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {

class Executable {
 public:
  // Compiles the kernels, those of nested schedules included.
  static std::unique_ptr<Executable> make(const Schedule& schedule, const KernelSource& compile);
  // How many this process has made, nested ones included.
  static int64_t made();

  // The memory of one run. refs: every slot's place, valid after bind().
  struct Frame {
    boost::container::small_vector<SlotRef, 24> refs;
    std::vector<std::vector<int64_t>> tables;  // of views of inputs that do not lie in order
    std::vector<Buffer> copies;                // of inputs that a view spans
    std::byte* arena = nullptr;
    // Of a nested schedule: where its results belong, and those that are computed elsewhere.
    boost::container::small_vector<SlotRef, 8> outputs;
    boost::container::small_vector<int, 4> copied;
  };

  const StoragePlan& plan() const { return memory_.storage; }
  int64_t arena_bytes() const { return memory_.storage.arena_bytes; }
  // What the executable itself takes: machine code, constants, an estimate of its tables.
  int64_t code_bytes() const;
  // inputs[i]: the instances of input i, in the order of its slot. own_outputs: memory for each
  // storage of kind kOutput.
  void bind(Frame& frame, std::span<const SlotRef> inputs, std::span<std::byte* const> own_outputs,
            std::byte* arena) const;
  void execute(const Frame& frame) const;

  // The same for a nested schedule, bound once and executed once or, in a loop, many times with
  // some of its inputs and outputs moved in between. Its results go to `outputs` (slots of the
  // caller; instances in the order of the output's slot), computed in place where that is possible.
  // An output may not overlap an input that the schedule still reads.
  int64_t nested_bytes() const { return memory_.nested_bytes; }  // of its arena
  void bind_nested(Frame& frame, std::span<const SlotRef> inputs, std::span<const SlotRef> outputs,
                   std::byte* arena) const;
  void move_input(Frame& frame, size_t input, int64_t bytes) const;
  void move_output(Frame& frame, size_t output, int64_t bytes) const;
  void execute_nested(const Frame& frame) const;

 private:
  explicit Executable(MemoryPlan memory);
  void bind_storage(Frame& frame, size_t storage, const SlotRef& input) const;

  friend class ExecutableBuilder;
  MemoryPlan memory_;  // its steps are in codes_
  // Of each slot: its storage, and where its instances are within it if the storage is dense.
  struct StaticRef {
    int slot, storage;
    int64_t offset, stride;
    const int64_t* table;
  };
  std::vector<StaticRef> static_refs_;
  std::vector<std::vector<int64_t>> static_tables_;
  size_t num_slots_ = 0;
  std::vector<int> input_storages_;                 // storage of each input
  std::vector<bool> input_is_dense_;                // inputs that a view spans
  std::vector<std::vector<int>> input_slots_;       // of each input: all slots in its storage
  std::vector<std::vector<int>> own_output_slots_;  // of each output that has a storage to itself
  // A step, or the start or the end of one that others are run beside.
  struct Code {
    enum class Part : uint8_t { kAll, kStart, kFinish } part = Part::kAll;
    std::shared_ptr<StepCode> code;
    int64_t workspace;
  };
  std::vector<Code> codes_;
};

std::unique_ptr<StepCode> make_loop_code(const LoopStep& step, const Schedule& schedule,
                                         LoopWorkspace memory, std::unique_ptr<Executable> cond,
                                         std::unique_ptr<Executable> body);
// branches: null for those that are rare; `compile` makes these when they are first taken.
std::unique_ptr<StepCode> make_branch_code(const BranchStep& step, const Schedule& schedule,
                                           std::vector<std::unique_ptr<Executable>> branches,
                                           const fusion::InPlace& in_place,
                                           const KernelSource& compile);

}  // namespace tessera::runtime
