// Executable: a schedule with the code of its steps, which runs on memory that its caller provides.
// Program (program.h) runs one on device arrays; loops and branches run nested ones on slots of the
// outer schedule.
//
// Before: the schedule's MemoryPlan, which has the location of everything. After: the code of each
// step.
#pragma once

#include <boost/container/small_vector.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/runtime/memory_plan.h"
#include "tessera/runtime/products/packed_weights.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {

class Executable {
 public:
  // Compiles all kernels, including those of nested schedules, and returns the executable.
  static std::unique_ptr<Executable> make(const Schedule& schedule, const KernelSource& compile);
  // Returns how many executables this process has made, nested ones included.
  static int64_t num_made();

  // The memory of one run. `refs` has the address of every slot; it is valid after bind().
  struct Frame {
    boost::container::small_vector<SlotRef, 24> refs;
    // Offsets of the instances of views of inputs, if those instances are not in order.
    std::vector<std::vector<int64_t>> tables;
    std::vector<Buffer> copies;  // copies of inputs that a view spans
    std::byte* arena = nullptr;
    // For a nested schedule: the addresses of its results, including results that are computed
    // elsewhere and then copied.
    boost::container::small_vector<SlotRef, 8> outputs;
    boost::container::small_vector<int, 4> copied;
  };

  const StoragePlan& plan() const { return memory_.storage; }
  int64_t arena_bytes() const { return memory_.storage.arena_bytes; }
  // Returns the bytes of the executable itself: machine code, constants, an estimate of its tables.
  int64_t code_bytes() const;
  // Sets the addresses of a run. inputs[i] has the instances of input i in the order of its slot;
  // own_outputs has memory for each storage of kind kOutput.
  void bind(Frame& frame, std::span<const SlotRef> inputs, std::span<std::byte* const> own_outputs,
            std::byte* arena) const;
  void execute(const Frame& frame) const;

  // The following functions do the same for a nested schedule. It is bound once and executed once
  // or, in a loop, many times, with some of its inputs and outputs moved in between. Its results go
  // to `outputs` (slots of the caller, instances in the order of the output's slot) and are
  // computed there if possible. An output must not overlap an input that the schedule still reads.
  int64_t nested_bytes() const { return memory_.nested_bytes; }  // of the arena
  void bind_nested(Frame& frame, std::span<const SlotRef> inputs, std::span<const SlotRef> outputs,
                   std::byte* arena) const;
  void move_input(Frame& frame, size_t input, int64_t bytes) const;
  void move_output(Frame& frame, size_t output, int64_t bytes) const;
  void execute_nested(const Frame& frame) const;

 private:
  explicit Executable(MemoryPlan memory);
  void pack_constants() const;
  void bind_storage(Frame& frame, size_t storage, const SlotRef& input,
                    const LazyPackedWeights* packed) const;

  friend class ExecutableBuilder;
  MemoryPlan memory_;  // without the steps, which are in codes_
  // The packed forms of each storage's elements, used if it is a constant.
  std::deque<LazyPackedWeights> packed_constants_;
  // For each slot: its storage, and the positions of its instances in it if the storage's instances
  // are in order without gaps.
  struct StaticRef {
    int slot, storage;
    int64_t offset, stride;
    const int64_t* table;
  };
  std::vector<StaticRef> static_refs_;
  std::vector<std::vector<int64_t>> static_tables_;
  size_t num_slots_ = 0;
  std::vector<int> input_storages_;            // the storage of each input
  std::vector<bool> input_is_dense_;           // for each input: a view spans its instances
  std::vector<std::vector<int>> input_slots_;  // for each input: all slots in its storage
  // For each output: all slots in its storage, if it has a storage of its own.
  std::vector<std::vector<int>> own_output_slots_;
  // A step, or the start or the end of a transfer during which other steps run.
  struct Code {
    enum class Part : uint8_t { kAll, kStart, kFinish } part = Part::kAll;
    std::shared_ptr<StepCode> code;
    int64_t workspace;
  };
  std::vector<Code> codes_;
  std::vector<std::string> names_;  // of codes_
  const int64_t number_;            // unique among the executables of this process

  void run_code(const Code& code, const Frame& frame) const;
  void execute_timed(const Frame& frame) const;
};

std::unique_ptr<StepCode> make_parallel_loop_code(const LoopStep& step, const Schedule& schedule,
                                                  std::unique_ptr<Executable> body);
std::unique_ptr<StepCode> make_loop_code(const LoopStep& step, const Schedule& schedule,
                                         LoopWorkspace memory, std::unique_ptr<Executable> cond,
                                         std::unique_ptr<Executable> body);
// Entries of `branches` are null for unlikely branches, which are compiled by `compile` when they
// are first taken.
std::unique_ptr<StepCode> make_branch_code(const BranchStep& step, const Schedule& schedule,
                                           std::vector<std::unique_ptr<Executable>> branches,
                                           const fusion::InPlace& in_place,
                                           const KernelSource& compile);

}  // namespace tessera::runtime
