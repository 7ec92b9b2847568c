// StoragePlan: where every slot of a schedule lives. Slots that are views of each other share one
// storage; temporaries whose lifetimes do not meet share addresses of one arena. It needs no code of
// the steps, only how much workspace each takes (memory_plan.h).
#pragma once

#include <span>
#include <vector>

#include "tessera/base/buffer.h"
#include "tessera/fusion/in_place.h"
#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

// A block of instances one after the other.
struct Storage {
  enum class Kind : uint8_t {
    kInput,     // the caller's; its instances may lie anywhere
    kOutput,    // a buffer that leaves the program
    kArena,     // temporaries
    kConstant,  // filled by fill_constants()
  };
  Kind kind = Kind::kArena;
  int index = -1;     // kInput: which input; kOutput: number among the storages of this kind
  int64_t bytes = 0;  // of one instance
  int64_t instances = 1;
  // Steps of the first and the last use; -1 before the first step, steps.size() after the last.
  int first = -1, last = -1;
  int64_t offset = 0;                 // kArena
  std::span<const Literal> literals;  // kConstant: one an instance; the schedule's
  Buffer constant;                    // kConstant, once filled
  bool spanned = false;  // a view spans several instances: they must lie one after the other
  int64_t total() const { return bytes * instances; }
};

// Instance i of a slot begins where instance map[i] of its storage does (an empty map: instance i).
// A slot may span several instances of its storage: the result of an all_gather whose shards
// already lie in order.
struct SlotLocation {
  int storage = -1;
  std::vector<int32_t> map;
};
// Whether a map of instances takes each to the one of its own number, as an empty one does.
bool is_identity(const std::vector<int32_t>& map);

// A collective between processes goes on from the end of step `after` (-1: from the start), that
// before it (overlap.h puts it where its operand is there), to the begin of step `until`: until its
// result is read.
struct TransferSpan {
  int step, after, until;
};

struct StoragePlan {
  std::vector<SlotLocation> slots;
  std::vector<TransferSpan> transfers;  // in the order of `after`, the same in all processes
  std::vector<Storage> storages;
  std::vector<bool> is_view;  // of steps: nothing is left to run
  // Inputs whose instances must lie one after the other, for a view spans them.
  std::vector<int> dense_inputs;
  int64_t arena_bytes = 0;
  std::vector<int64_t> workspaces;  // of steps: offset in the arena
  int own_outputs = 0;              // storages of kind kOutput
  // Of the inputs: whether a step overwrites it. It then ends as the output that the context says,
  // unless the context says that it may be lost.
  std::vector<bool> overwritten;
  std::vector<bool> lost;  // of the inputs: overwritten, and it does not end as that output
  std::vector<fusion::InPlace> nested;  // as StorageContext::nested
};

// What a schedule's plan depends on beside the schedule.
struct StorageContext {
  // Inputs whose instances never lie one after the other (slices of a loop), so that no view may
  // span them.
  std::vector<bool> scattered = {};
  // Of each input, the output that has to be in its memory if a step overwrites it, as the carry of a
  // loop has to be for the next trip; -1: no step may. Empty: of no input.
  std::vector<int> ends = {};
  // Whether an input that has such an output may be overwritten although it ends elsewhere: then
  // nobody reads its memory again.
  bool may_lose = false;
  // Of each step that is a loop or a branch: what it has in place. Empty: nothing.
  std::vector<fusion::InPlace> nested = {};
};

// Returns how often the step reads the storage.
int64_t count_reads(const StoragePlan& plan, const Step& step, int storage);
// Returns whether the output is the whole memory of the input.
bool ends_in(const StoragePlan& plan, const Schedule& schedule, size_t input, size_t output);

// Finds the views and the updates in place, and gives every slot a storage, not yet an address.
StoragePlan plan_storages(const Schedule& schedule, const StorageContext& context = {});
// Gives the temporaries, and a workspace of workspace_bytes[i] to step i, their addresses.
void plan_arena(StoragePlan& plan, const Schedule& schedule,
                const std::vector<int64_t>& workspace_bytes);
// Gives the constants their memory and contents. From here on the plan does not need its schedule.
void fill_constants(StoragePlan& plan);

}  // namespace tessera::runtime
