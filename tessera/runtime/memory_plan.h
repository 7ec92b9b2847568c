// MemoryPlan: all memory that a schedule and its nested schedules need, computed without making any
// of their code. An Executable is built with one; arena_bytes() only computes one.
#pragma once

#include <memory>
#include <vector>

#include "tessera/runtime/storage_plan.h"

namespace tessera::runtime {

struct MemoryPlan;

// The offsets within the workspace of a loop that is interpreted. The memory of its body is at 0.
struct LoopWorkspace {
  int64_t cond = 0;            // the memory of the condition
  int64_t result = 0;          // the condition's result
  std::vector<int64_t> carry;  // the second copy of each carried value
  std::vector<bool> in_place;  // carries that have one copy, which each trip updates
  std::vector<bool> lost;      // carries whose copy that is read is overwritten, the start's too
};

struct StepMemory {
  int64_t workspace = 0;  // bytes
  // The loop becomes one function of machine code (routine_code.h) and has no nested plans.
  bool is_routine = false;
  // The schedules of another loop: its body, then its condition if it has one. The branches of a
  // branch step: null for unlikely ones, which are planned when they are first taken.
  std::vector<std::unique_ptr<MemoryPlan>> nested;
  LoopWorkspace loop;  // of such a loop
  // For a loop or a branch.
  fusion::InPlace in_place = {};
};

struct MemoryPlan {
  StoragePlan storage;
  std::vector<StepMemory> steps;

  struct Output {
    int slot;
    int64_t bytes, instances;  // of the slot
    int own = -1;  // its own storage, if this output is the first one in it and has its shape
  };
  std::vector<Output> outputs;
  // For a nested schedule: results that are never computed in place are after the arena. These are
  // the offsets of own storages, -1 for those computed in place.
  std::vector<int64_t> nested_offsets;
  int64_t nested_bytes = 0;  // the bytes of the arena and these results, a multiple of 64
};

// Returns the plan of the schedule. Until fill_constants() it points to the schedule's constants.
// `context`: as for plan_storages, without the in-place pairs of its steps.
MemoryPlan plan_memory(const Schedule& schedule, StorageContext context = {});

// Returns the bytes of temporaries in one run of the schedule, which are the arena_bytes() of its
// Executable.
int64_t arena_bytes(const Schedule& schedule);

}  // namespace tessera::runtime
