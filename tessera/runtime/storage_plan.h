// StoragePlan: the memory of every slot of a schedule. Slots that are views of each other share one
// storage; temporaries whose lifetimes do not overlap share addresses in one arena. It does not
// need the code of the steps, only how much workspace each takes (memory_plan.h).
#pragma once

#include <span>
#include <vector>

#include "tessera/base/buffer.h"
#include "tessera/fusion/in_place.h"
#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

// So many of the largest blocks of the arena are each compared with those that are placed already.
inline constexpr size_t kBlocksPlacedBySize = 4096;

// A block of instances that are in order without gaps.
struct Storage {
  enum class Kind : uint8_t {
    kInput,     // the caller's memory; its instances may be anywhere
    kOutput,    // a buffer that the program returns
    kArena,     // temporaries
    kConstant,  // filled by fill_constants()
  };
  Kind kind = Kind::kArena;
  // kInput: the number of the input; kOutput: its number among the storages of this kind.
  int index = -1;
  int64_t bytes = 0;  // of one instance
  int64_t instances = 1;
  // The first and the last step that use it: -1 is before the first step, steps.size() after the
  // last.
  int first = -1, last = -1;
  int64_t offset = 0;  // kArena: in the arena
  // kConstant: a literal of the schedule for each instance.
  std::span<const Literal> literals;
  Buffer constant;  // kConstant: the memory, once filled
  // True if a view spans several instances, which must then be in order without gaps.
  bool spanned = false;
  // kArena: only tiles of it are ever stored, by one step (result_kernel.h), so it has no address.
  bool in_tiles = false;
  int64_t total() const { return bytes * instances; }
};

// Instance i of a slot begins at instance map[i] of its storage; if the map is empty, at instance
// i. An instance may span several instances of its storage: it may be the result of an all_gather
// of shards that are adjacent in order.
struct SlotLocation {
  int storage = -1;
  std::vector<int32_t> map;
};
// Returns whether the map takes each instance to the instance of the same number, as an empty map
// does.
bool is_identity(const std::vector<int32_t>& map);

// A collective between processes goes on from the end of step `after` (-1: from the start), the
// step before it, to the begin of step `until`, which reads its result. overlap.h puts the
// collective right after its operand is computed.
struct TransferSpan {
  int step, after, until;
};

struct StoragePlan {
  std::vector<SlotLocation> slots;
  std::vector<TransferSpan> transfers;  // in the order of `after`, the same in all processes
  std::vector<Storage> storages;
  std::vector<bool> is_view;  // for each step: whether it is a view, with nothing to run
  // Inputs whose instances must be in order without gaps, because a view spans them.
  std::vector<int> dense_inputs;
  int64_t arena_bytes = 0;
  std::vector<int64_t> workspaces;  // for each step: its offset in the arena
  int own_outputs = 0;              // the number of storages of kind kOutput
  // For each input: whether a step overwrites it. If so, its output (StorageContext::ends) ends in
  // the same memory, unless the input is lost.
  std::vector<bool> overwritten;
  std::vector<bool> lost;  // for each input: overwritten, and its output ends in other memory
  std::vector<fusion::InPlace> nested;  // as StorageContext::nested
};

// The inputs of a storage plan besides the schedule.
struct StorageContext {
  // For each input: whether its instances are never in order without gaps (slices of a loop), so
  // that no view may span them.
  std::vector<bool> scattered = {};
  // For each input: the output that must be in its memory if a step overwrites it, as the carry of
  // a loop must for the next trip; -1: no step may overwrite it. Empty: no step may overwrite any
  // input.
  std::vector<int> ends = {};
  // Whether an input that has such an output may be overwritten although the output ends in other
  // memory. The caller may then not read the input's memory again.
  bool may_lose = false;
  // For each step that is a loop or a branch: its pairs of operands and results that share memory.
  // Empty: no step has any.
  std::vector<fusion::InPlace> nested = {};
};

// Returns how often the step reads the storage.
int64_t count_reads(const StoragePlan& plan, const Step& step, int storage);
// Returns whether the output has the same memory as the input, all of it and in the same order.
bool ends_in(const StoragePlan& plan, const Schedule& schedule, size_t input, size_t output);

// Finds the views and the updates in place, and assigns a storage to every slot, but no addresses
// yet.
StoragePlan plan_storages(const Schedule& schedule, const StorageContext& context = {});
// Assigns addresses to the temporaries, and to a workspace of workspace_bytes[i] for each step i.
void plan_arena(StoragePlan& plan, const Schedule& schedule,
                const std::vector<int64_t>& workspace_bytes);
// Allocates and fills the constants. From here on the plan does not need its schedule.
void fill_constants(StoragePlan& plan);

}  // namespace tessera::runtime
