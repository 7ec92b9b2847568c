// Executable: a schedule made ready to run on memory that its caller provides. Program (program.h)
// runs one on device arrays; loops and branches run nested ones on slots of the schedule around
// them.
#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <vector>

#include "tessera/runtime/step_code.h"
#include "tessera/runtime/storage_plan.h"

namespace tessera {

class Executable {
 public:
  // Compiles the kernels, those of nested schedules included.
  static std::unique_ptr<Executable> make(const Schedule& schedule, const KernelSource& compile);

  // The memory of one run. refs: every slot's place, valid after bind().
  struct Frame {
    boost::container::small_vector<SlotRef, 24> refs;
    std::vector<std::vector<int64_t>> tables;  // of views of inputs that do not lie in order
    std::vector<Buffer> copies;                // of inputs that a view spans
    std::byte* arena = nullptr;
  };

  const StoragePlan& plan() const { return plan_; }
  int64_t arena_bytes() const { return plan_.arena_bytes; }
  // inputs[i]: the instances of input i, in the order of its slot. own_outputs: memory for each
  // storage of kind kOutput.
  void bind(Frame& frame, std::span<const SlotRef> inputs, std::span<std::byte* const> own_outputs,
            std::byte* arena) const;
  void execute(const Frame& frame) const;

  // The same for a nested schedule: its results go to `outputs` (slots of the caller; instances in
  // the order of the output's slot), copied there if they could not be computed in place. An output
  // may not overlap an input.
  void run_nested(std::span<const SlotRef> inputs, std::span<const SlotRef> outputs,
                  std::byte* arena) const;
  // What run_nested returns in place of a memory copy: the address of a replicated one-element
  // output.
  const std::byte* run_condition(std::span<const SlotRef> inputs, std::byte* arena) const;

 private:
  Executable() = default;
  void bind_storage(Frame& frame, size_t storage, const SlotRef& input) const;

  struct OutputSlot {
    int slot;
    int64_t bytes, instances;  // of the slot
    int own = -1;  // the own storage that is exactly this slot, if this is the first output of it
  };
  friend class ExecutableBuilder;
  StoragePlan plan_;
  // Of each slot: its storage, and where its instances are within it if the storage is dense.
  struct StaticRef {
    int slot, storage;
    int64_t offset, stride;
    const int64_t* table;
  };
  std::vector<StaticRef> static_refs_;
  std::vector<std::vector<int64_t>> static_tables_;
  size_t num_slots_ = 0;
  std::vector<int> input_storages_;   // storage of each input
  std::vector<bool> input_is_dense_;  // inputs that a view spans
  std::vector<OutputSlot> outputs_;
  struct Code {
    std::unique_ptr<StepCode> code;
    int64_t workspace;
  };
  std::vector<Code> codes_;
};

std::unique_ptr<StepCode> make_loop_code(const LoopStep& step, const Schedule& schedule,
                                         std::unique_ptr<Executable> cond,
                                         std::unique_ptr<Executable> body);
std::unique_ptr<StepCode> make_branch_code(const BranchStep& step, const Schedule& schedule,
                                           std::vector<std::unique_ptr<Executable>> branches);

}  // namespace tessera
