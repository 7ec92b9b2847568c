// MemoryPlan: all memory that a schedule and its nested schedules need, computed without making
// their code. An Executable is built with a plan; arena_bytes() only computes one.
#pragma once

#include <memory>
#include <vector>

#include "tessera/runtime/storage_plan.h"

namespace tessera::runtime {

struct MemoryPlan;

// Offsets in the workspace of a loop that is interpreted. The memory of its body begins at 0.
struct LoopWorkspace {
  int64_t cond = 0;            // of the memory of the condition
  int64_t result = 0;          // of the condition's result
  std::vector<int64_t> carry;  // of the second copy of each carry
  std::vector<bool> in_place;  // whether each carry has only one copy, which each trip updates
  std::vector<bool> lost;      // whether each trip overwrites the copy of the carry that it reads
};

struct StepMemory {
  int64_t workspace = 0;  // in bytes
  // The step is a loop that becomes one function of machine code (routine_code.h); it has no nested
  // plans.
  bool is_routine = false;
  // Plans of nested schedules. A loop that is interpreted has that of its body, then that of its
  // condition if it has one. A branch step has those of its branches; they are null for unlikely
  // branches, which are planned when they are first taken.
  std::vector<std::unique_ptr<MemoryPlan>> nested;
  LoopWorkspace loop;  // for a loop that is interpreted
  // Whether threads run different trips of the loop. Each thread then has memory of its own for a
  // trip, which is not in the workspace.
  bool parallel_trips = false;
  // For a loop or a branch: operands and results that share memory.
  fusion::InPlace in_place = {};
  // For a kernel: the convolution on whose tiles it runs (result_kernel.h); -1: none.
  int convolution = -1;
};

struct MemoryPlan {
  StoragePlan storage;
  std::vector<StepMemory> steps;

  struct Output {
    int slot;
    int64_t bytes, instances;  // of the slot
    // Its own storage; -1 unless the output is the first in a storage and has its shape.
    int own = -1;
  };
  std::vector<Output> outputs;
  // For a nested schedule: results that are never computed in place are after the arena. For each
  // own storage, the offset of such a result; -1: it is computed in place.
  std::vector<int64_t> nested_offsets;
  int64_t nested_bytes = 0;  // the bytes of the arena and these results, a multiple of 64
};

// Returns the plan of the schedule. Until fill_constants(), it points to the schedule's constants.
// `context` is as for plan_storages(), without the in-place pairs of its steps.
MemoryPlan plan_memory(const Schedule& schedule, StorageContext context = {});

// Returns the bytes of temporaries in one run of the schedule, which is arena_bytes() of its
// Executable.
int64_t arena_bytes(const Schedule& schedule);

}  // namespace tessera::runtime
