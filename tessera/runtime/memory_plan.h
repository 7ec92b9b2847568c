// MemoryPlan: all memory that a schedule and those nested in it need, worked out without making any
// of their code. An Executable is built over one; arena_bytes() asks for one alone.
#pragma once

#include <memory>
#include <vector>

#include "tessera/runtime/storage_plan.h"

namespace tessera::runtime {

struct MemoryPlan;

// Offsets within the workspace of a loop that is interpreted. The memory of its body is at 0.
struct LoopWorkspace {
  int64_t cond = 0;            // the memory of the condition
  int64_t result = 0;          // the condition's result
  std::vector<int64_t> carry;  // the second copy of each carried value
  std::vector<bool> in_place;  // carries that have one copy, which each trip updates
};

struct StepMemory {
  int64_t workspace = 0;  // bytes
  // A loop that becomes one function of machine code (routine_code.h); nothing is nested in it.
  bool is_routine = false;
  // The schedules of another loop: its body, then its condition if it has one. The branches of a
  // branch step: null for those that are rare, which are planned when they are first taken.
  std::vector<std::unique_ptr<MemoryPlan>> nested;
  LoopWorkspace loop;  // of such a loop
  // Of a loop or a branch.
  fusion::InPlace in_place = {};
};

struct MemoryPlan {
  StoragePlan storage;
  std::vector<StepMemory> steps;

  struct Output {
    int slot;
    int64_t bytes, instances;  // of the slot
    int own = -1;  // the own storage that is exactly this slot, if this is its first output
  };
  std::vector<Output> outputs;
  // As a nested schedule: results that are never computed in place are behind the arena. Offsets of
  // own storages, -1 for those computed in place.
  std::vector<int64_t> nested_offsets;
  int64_t nested_bytes = 0;  // of the arena and these results, a multiple of 64
};

// Returns the plan of the schedule, to whose constants it points until fill_constants().
// `context`: as plan_storages, without what its steps have in place.
MemoryPlan plan_memory(const Schedule& schedule, StorageContext context = {});

// Returns the memory for temporaries that one run of the schedule takes, in bytes: the same as the
// arena_bytes() of its Executable.
int64_t arena_bytes(const Schedule& schedule);

}  // namespace tessera::runtime
