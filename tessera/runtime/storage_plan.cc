#include "tessera/runtime/storage_plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/runtime/collectives/rank_map.h"

namespace tessera::runtime {
namespace {

// In Planner::ends: the input may be overwritten, whatever memory the output has.
constexpr int kLost = -2;

// A collective's result as a view of its operand's memory: for each instance of out, the
// instance of in at which it begins. `spans`: an instance of out covers several instances, which
// must be adjacent in order.
struct ViewMap {
  std::vector<int32_t> map;
  bool spans = false;
};

template <class Source>
std::vector<int32_t> map_ranks(const Schedule& s, const CollectiveStep& c, const Slot& in,
                               const Slot& out, Source&& source) {
  const RankMap ranks(s, out, in, c);
  std::vector<int32_t> map(static_cast<size_t>(out.instances));
  for (int64_t i = 0; i < out.instances; ++i)
    map[static_cast<size_t>(i)] =
        static_cast<int32_t>(ranks.source_of_rank(i, source(ranks.rank(i))));
  return map;
}

bool leading_ones(const Shape& shape, int64_t dims) {
  return std::all_of(shape.begin(), shape.begin() + dims, [](int64_t n) { return n == 1; });
}

std::optional<ViewMap> view_of_gather(const Schedule& s, const CollectiveStep& c, const Slot& in,
                                      const Slot& out) {
  // The shards of one group must be adjacent in storage: the axes `over` must be the minor ones, in
  // the order of the ranks.
  if (!c.groups.empty() || !leading_ones(in.shape, c.dim) || in.axes.size() < c.over.size() ||
      !std::equal(c.over.begin(), c.over.end(),
                  in.axes.end() - static_cast<ptrdiff_t>(c.over.size())))
    return std::nullopt;
  return ViewMap{map_ranks(s, c, in, out, [](int64_t) { return 0; }), true};
}

std::optional<ViewMap> view_of_permute(const Schedule& s, const CollectiveStep& c, const Slot& in,
                                       const Slot& out) {
  std::vector<int64_t> source(static_cast<size_t>(axes_size(s.mesh, c.over)), -1);
  for (const Dims& pair : c.pairs) source[static_cast<size_t>(pair[1])] = pair[0];
  if (std::find(source.begin(), source.end(), -1) != source.end())
    return std::nullopt;  // some rank gets zeros
  return ViewMap{
      map_ranks(s, c, in, out, [&](int64_t rank) { return source[static_cast<size_t>(rank)]; })};
}

std::optional<ViewMap> view_of_broadcast(const Schedule& s, const CollectiveStep& c, const Slot& in,
                                         const Slot& out) {
  std::vector<int64_t> source(static_cast<size_t>(axes_size(s.mesh, c.over)), c.root);
  for (const Dims& group : c.groups)
    for (int64_t rank : group)
      source[static_cast<size_t>(rank)] = group[static_cast<size_t>(c.root)];
  return ViewMap{
      map_ranks(s, c, in, out, [&](int64_t rank) { return source[static_cast<size_t>(rank)]; })};
}

std::optional<ViewMap> view_map(const Schedule& s, const Step& step) {
  if (const auto* v = std::get_if<ViewStep>(&step)) {
    return ViewMap{instance_map(s, s.slots[static_cast<size_t>(v->out)].axes,
                                s.slots[static_cast<size_t>(v->in)].axes)};
  }
  const auto* c = std::get_if<CollectiveStep>(&step);
  if (!c || c->in < 0) return std::nullopt;
  const Slot &in = s.slots[static_cast<size_t>(c->in)], &out = s.slots[static_cast<size_t>(c->out)];
  // Takes the largest group, since groups of an all_reduce or a broadcast may differ in size.
  int64_t group = c->groups.empty() ? axes_size(s.mesh, c->over) : 0;
  for (const Dims& g : c->groups) group = std::max(group, g.rank());
  switch (c->kind) {
    case CollectiveKind::kAllGather:
      if (group > 1) return view_of_gather(s, *c, in, out);
      break;
    case CollectiveKind::kPermute:
      return view_of_permute(s, *c, in, out);
    case CollectiveKind::kBroadcast:
      return view_of_broadcast(s, *c, in, out);
    case CollectiveKind::kCast:
      break;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      if (group > 1) return std::nullopt;
      break;
    case CollectiveKind::kRaggedAllToAll:
    case CollectiveKind::kAxisIndex:
      return std::nullopt;
  }
  return ViewMap{instance_map(s, out.axes, in.axes)};
}

struct Planner {
  const Schedule& s;
  const StorageContext& context;
  std::vector<int> ends;  // for each input, an output as in StorageContext::ends, or kLost
  StoragePlan plan;
  // For each slot, the last step that reads it; steps.size() for results; -1: none.
  std::vector<int> last_read = {};

  const Slot& slot(int i) const { return s.slots[static_cast<size_t>(i)]; }
  SlotLocation& at(int i) { return plan.slots[static_cast<size_t>(i)]; }

  int new_storage(Storage::Kind kind, const Slot& slot) {
    Storage storage;
    storage.kind = kind;
    storage.bytes = slot.bytes();
    storage.instances = slot.instances;
    plan.storages.push_back(std::move(storage));
    return static_cast<int>(plan.storages.size()) - 1;
  }

  void add_constant(int i, std::span<const Literal> literals) {
    const int id = new_storage(Storage::Kind::kConstant, slot(i));
    Storage& storage = plan.storages[static_cast<size_t>(id)];
    storage.literals = literals;
    at(i).storage = id;
    // One literal serves all instances.
    if (static_cast<int64_t>(literals.size()) != storage.instances) {
      at(i).map.assign(static_cast<size_t>(storage.instances), 0);
      storage.instances = 1;
    }
  }

  // Makes `out` a view of `in`. Returns false if the view spans instances that are not adjacent.
  bool add_view(const ViewMap& view, int in, int out) {
    const SlotLocation from = at(in);
    Storage& storage = plan.storages[static_cast<size_t>(from.storage)];
    if (view.spans) {
      // A view can span only instances that are adjacent in the storage.
      if (!from.map.empty() || storage.bytes != slot(in).bytes()) return false;
      if (storage.kind == Storage::Kind::kInput) {
        const auto input = static_cast<size_t>(storage.index);
        if (input < context.scattered.size() && context.scattered[input]) return false;
        if (plan.overwritten[input]) return false;
        plan.dense_inputs.push_back(storage.index);
      }
      storage.spanned = true;
    }
    SlotLocation placed{from.storage, view.map};
    if (!from.map.empty())
      for (int32_t& i : placed.map) i = from.map[static_cast<size_t>(i)];
    if (is_identity(placed.map)) placed.map.clear();
    at(out) = std::move(placed);
    return true;
  }

  void find_last_reads() {
    last_read.assign(s.slots.size(), -1);
    for (size_t i = 0; i < s.steps.size(); ++i)
      for (int v : step_slots(s.steps[i]).reads)
        last_read[static_cast<size_t>(v)] = static_cast<int>(i);
    for (int v : s.outputs) last_read[static_cast<size_t>(v)] = static_cast<int>(s.steps.size());
  }

  // Returns whether a step may overwrite the storage with another slot's content.
  bool is_writable(const Storage& storage) const {
    if (storage.kind == Storage::Kind::kArena) return true;
    const auto input = static_cast<size_t>(storage.index);
    return storage.kind == Storage::Kind::kInput && ends[input] != -1 && !storage.spanned;
  }

  // Returns whether `out` can take the memory of `in`, whose last reader is step `i`.
  bool can_take_over(int in, int out, int i) const {
    const SlotLocation& from = plan.slots[static_cast<size_t>(in)];
    const Storage& storage = plan.storages[static_cast<size_t>(from.storage)];
    if (!is_writable(storage) || !from.map.empty() || storage.bytes != slot(out).bytes() ||
        storage.instances != slot(out).instances || slot(in).axes != slot(out).axes)
      return false;
    for (size_t v = 0; v < s.slots.size(); ++v)
      if (plan.slots[v].storage == from.storage && last_read[v] > i) return false;
    return true;
  }

  void take_over(int in, int out) {
    at(out) = at(in);
    const Storage& storage = plan.storages[static_cast<size_t>(at(in).storage)];
    if (storage.kind == Storage::Kind::kInput)
      plan.overwritten[static_cast<size_t>(storage.index)] = true;
  }

  // If the expected branch of a conditional returns an operand unchanged, and no other branch reads
  // the operand, the result takes the operand's memory.
  void place_corrected(const BranchStep& b, int i) {
    if (!b.expected) return;
    const Schedule& expected = *b.branches[*b.expected];
    for (size_t r = 0; r < b.out.size(); ++r) {
      const auto input =
          std::find(expected.inputs.begin(), expected.inputs.end(), expected.outputs[r]);
      if (input == expected.inputs.end()) continue;
      const auto k = static_cast<size_t>(input - expected.inputs.begin());
      const int storage = at(b.in[k]).storage;
      const auto others =
          std::count_if(b.in.begin(), b.in.end(), [&](int v) { return at(v).storage == storage; });
      bool read = others != 1 || at(b.index).storage == storage;
      for (size_t branch = 0; branch < b.branches.size(); ++branch)
        read = read || (branch != *b.expected && reads_input(*b.branches[branch], k));
      if (!read && can_take_over(b.in[k], b.out[r], i)) take_over(b.in[k], b.out[r]);
    }
  }
  // Lets results that are updates of an operand take the operand's memory, so that the step writes
  // only what changes.
  void place_updated(const Step& step, int i) {
    const fusion::InPlace none;
    const fusion::InPlace& nested =
        context.nested.empty() ? none : context.nested[static_cast<size_t>(i)];
    for (const auto& [in, out] : in_place_slots(step, nested)) {
      if (!can_take_over(in, out, i) || count_reads(plan, step, at(in).storage) != 1) continue;
      take_over(in, out);
    }
  }

  static bool contains(const std::vector<int>& list, int v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  }

  // Finds how long each transfer may go on: until the next step that uses its result's memory, or
  // writes to its operand's.
  void place_transfers() {
    for (TransferSpan& span : plan.transfers) {
      const StepSlots used = step_slots(s.steps[static_cast<size_t>(span.step)]);
      const auto storages = [&](const std::vector<int>& slots) {
        std::vector<int> out;
        for (int v : slots) out.push_back(at(v).storage);
        return out;
      };
      const std::vector<int> sent = storages(used.reads), received = storages(used.writes);
      const auto meets = [](const std::vector<int>& a, const std::vector<int>& b) {
        return std::any_of(a.begin(), a.end(), [&](int x) { return contains(b, x); });
      };
      span.until = static_cast<int>(s.steps.size());
      for (auto j = static_cast<size_t>(span.step) + 1; j < s.steps.size(); ++j) {
        if (plan.is_view[j]) continue;
        const StepSlots other = step_slots(s.steps[j]);
        if (!meets(storages(other.reads), received) && !meets(storages(other.writes), received) &&
            !meets(storages(other.writes), sent))
          continue;
        // If that step is a transfer itself, it begins right after the step before it.
        const bool transfer =
            std::any_of(plan.transfers.begin(), plan.transfers.end(),
                        [&](const TransferSpan& t) { return t.step == static_cast<int>(j); });
        span.until = transfer ? std::max(span.step, static_cast<int>(j) - 1) : static_cast<int>(j);
        break;
      }
    }
  }

  void plan_all() {
    find_last_reads();
    plan.overwritten.assign(s.inputs.size(), false);
    plan.slots.resize(s.slots.size());
    plan.is_view.resize(s.steps.size(), false);
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      const int in = s.inputs[i];
      TESSERA_CHECK(at(in).storage < 0, "slot {} is two inputs", in);
      at(in).storage = new_storage(Storage::Kind::kInput, slot(in));
      plan.storages.back().index = static_cast<int>(i);
    }
    for (size_t i = 0; i < s.slots.size(); ++i)
      if (s.slots[i].kind == Slot::Kind::kConstant)
        add_constant(static_cast<int>(i), {&s.slots[i].literal, 1});
    for (size_t i = 0; i < s.steps.size(); ++i) {
      const Step& step = s.steps[i];
      if (const auto* table = std::get_if<InstanceTableStep>(&step)) {
        add_constant(table->out, table->values);
        plan.is_view[i] = true;
        continue;
      }
      const StepSlots used = step_slots(step);
      const auto* collective = std::get_if<CollectiveStep>(&step);
      const bool crosses = collective && collective->crosses;
      if (crosses) plan.transfers.push_back({static_cast<int>(i), static_cast<int>(i) - 1, 0});
      if (const std::optional<ViewMap> view = crosses ? std::nullopt : view_map(s, step)) {
        const int in = std::holds_alternative<ViewStep>(step) ? std::get<ViewStep>(step).in
                                                              : std::get<CollectiveStep>(step).in;
        plan.is_view[i] = add_view(*view, in, used.writes[0]);
      }
      if (plan.is_view[i]) continue;
      if (const auto* branch = std::get_if<BranchStep>(&step))
        place_corrected(*branch, static_cast<int>(i));
      place_updated(step, static_cast<int>(i));
      for (int out : used.writes)
        if (at(out).storage < 0) at(out).storage = new_storage(Storage::Kind::kArena, slot(out));
    }
    const int end = static_cast<int>(s.steps.size());
    place_transfers();
    for (size_t i = 0; i < s.steps.size(); ++i) {
      if (plan.is_view[i]) continue;
      const StepSlots used = step_slots(s.steps[i]);
      for (const auto* list : {&used.reads, &used.writes}) {
        for (int v : *list) {
          Storage& storage = plan.storages[static_cast<size_t>(at(v).storage)];
          if (storage.first < 0 && storage.kind != Storage::Kind::kInput)
            storage.first = static_cast<int>(i);
          storage.last = static_cast<int>(i);
        }
      }
    }
    for (const TransferSpan& span : plan.transfers) {
      const StepSlots used = step_slots(s.steps[static_cast<size_t>(span.step)]);
      for (const auto* list : {&used.reads, &used.writes})
        for (int v : *list) {
          Storage& storage = plan.storages[static_cast<size_t>(at(v).storage)];
          if (storage.kind != Storage::Kind::kInput)
            storage.first = std::min(storage.first, std::max(0, span.after));
          storage.last = std::max(storage.last, std::min(span.until, end - 1));
        }
    }
    for (int out : s.outputs) {
      Storage& storage = plan.storages[static_cast<size_t>(at(out).storage)];
      storage.last = end;
      if (storage.kind != Storage::Kind::kArena) continue;
      storage.kind = Storage::Kind::kOutput;
      storage.index = plan.own_outputs++;
    }
  }
};

// A block of the arena and the steps during which it is in use.
struct Block {
  int64_t size, offset = 0;
  int first, last;
  int64_t* result;
};

// Places the largest block first, each at the lowest address that is free for its whole lifetime
// (Pisarchyk and Lee, 2020, "greedy by size"). Returns where the blocks end. Its time is quadratic
// in the number of blocks.
int64_t place_by_size(std::span<Block> blocks) {
  int64_t end = 0;
  std::vector<const Block*> placed;  // by offset
  for (Block& block : blocks) {
    int64_t offset = 0;
    for (const Block* other : placed) {
      if (other->last < block.first || block.last < other->first) continue;
      if (offset + block.size <= other->offset) break;
      offset = std::max(offset, other->offset + other->size);
    }
    block.offset = offset;
    end = std::max(end, offset + block.size);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &block,
                         [](const Block* a, const Block* b) { return a->offset < b->offset; }),
        &block);
  }
  return end;
}

// Free ranges of addresses from `begin` on. The last range has no end.
class FreeRanges {
 public:
  explicit FreeRanges(int64_t begin) : end_(begin) {}

  int64_t take(int64_t size) {
    const auto fit = by_size_.lower_bound({size, 0});
    if (fit == by_size_.end()) return std::exchange(end_, end_ + size);
    const auto [have, offset] = *fit;
    erase(by_offset_.find(offset));
    if (have > size) insert(offset + size, have - size);
    return offset;
  }
  void give_back(int64_t offset, int64_t size) {
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + size) {
      size += after->second;
      after = erase(after);
    }
    if (after != by_offset_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        offset = before->first;
        size += before->second;
        erase(before);
      }
    }
    insert(offset, size);
  }
  int64_t end() const { return end_; }

 private:
  using ByOffset = std::map<int64_t, int64_t>;
  void insert(int64_t offset, int64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  ByOffset::iterator erase(ByOffset::iterator it) {
    by_size_.erase({it->second, it->first});
    return by_offset_.erase(it);
  }

  ByOffset by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_;
};

// Places blocks in the order in which steps need them, each in the smallest free range that fits.
// Returns where the blocks end.
int64_t place_by_time(std::span<Block> blocks, int64_t begin) {
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return std::pair(a.first, -a.size) < std::pair(b.first, -b.size);
  });
  FreeRanges free(begin);
  const auto ends_later = [](const Block* a, const Block* b) { return a->last > b->last; };
  std::priority_queue<const Block*, std::vector<const Block*>, decltype(ends_later)> in_use(
      ends_later);
  for (Block& block : blocks) {
    for (; !in_use.empty() && in_use.top()->last < block.first; in_use.pop())
      free.give_back(in_use.top()->offset, in_use.top()->size);
    block.offset = free.take(block.size);
    in_use.push(&block);
  }
  return free.end();
}

}  // namespace

bool is_identity(const std::vector<int32_t>& map) {
  for (size_t i = 0; i < map.size(); ++i)
    if (map[i] != static_cast<int32_t>(i)) return false;
  return true;
}

int64_t count_reads(const StoragePlan& plan, const Step& step, int storage) {
  const std::vector<int> reads = fusion::reads_of(step);
  return std::count_if(reads.begin(), reads.end(), [&](int v) {
    return plan.slots[static_cast<size_t>(v)].storage == storage;
  });
}

bool ends_in(const StoragePlan& plan, const Schedule& schedule, size_t input, size_t output) {
  const SlotLocation &before = plan.slots[static_cast<size_t>(schedule.inputs[input])],
                     &after = plan.slots[static_cast<size_t>(schedule.outputs[output])];
  return before.storage == after.storage && after.map.empty();
}

// If a step overwrites an input, its output (StorageContext::ends) must end in the same memory. If
// that does not hold for an input, the plan is made again: the input is then marked as lost if
// may_lose allows it, and is otherwise not overwritten.
StoragePlan plan_storages(const Schedule& schedule, const StorageContext& context) {
  std::vector<int> ends = context.ends;
  ends.resize(schedule.inputs.size(), -1);
  while (true) {
    Planner planner{schedule, context, ends, {}};
    planner.plan_all();
    bool holds = true;
    for (size_t k = 0; k < ends.size(); ++k) {
      if (!planner.plan.overwritten[k] || ends[k] == kLost ||
          ends_in(planner.plan, schedule, k, static_cast<size_t>(ends[k])))
        continue;
      ends[k] = context.may_lose ? kLost : -1;
      holds = false;
    }
    if (!holds) continue;
    for (size_t k = 0; k < ends.size(); ++k)
      planner.plan.lost.push_back(planner.plan.overwritten[k] && ends[k] == kLost);
    planner.plan.nested = context.nested;
    return std::move(planner.plan);
  }
}

// The largest blocks are placed by size, because they determine the size of the arena. The many
// small blocks of a large program follow after them, in a time that grows hardly faster than the
// program.
void plan_arena(StoragePlan& plan, const Schedule& schedule,
                const std::vector<int64_t>& workspace_bytes) {
  plan.workspaces.assign(schedule.steps.size(), 0);
  std::vector<Block> blocks;
  auto add = [&](int64_t bytes, int first, int last, int64_t* result) {
    if (bytes > 0) blocks.push_back({ceil_div(bytes, 64) * 64, 0, first, last, result});
  };
  for (Storage& s : plan.storages)
    if (s.kind == Storage::Kind::kArena && !s.in_tiles) add(s.total(), s.first, s.last, &s.offset);
  std::vector<std::pair<int, int>> uses;  // of each workspace: the first and the last step
  for (size_t i = 0; i < workspace_bytes.size(); ++i)
    uses.emplace_back(static_cast<int>(i), static_cast<int>(i));
  for (const TransferSpan& span : plan.transfers)
    uses[static_cast<size_t>(span.step)] = {std::max(0, span.after), span.until};
  for (size_t i = 0; i < workspace_bytes.size(); ++i)
    add(workspace_bytes[i], uses[i].first, uses[i].second, &plan.workspaces[i]);
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.size > b.size; });
  const std::span<Block> all(blocks);
  const size_t large = std::min(kBlocksPlacedBySize, blocks.size());
  plan.arena_bytes = std::max(plan.arena_bytes, place_by_size(all.first(large)));
  if (large < blocks.size()) plan.arena_bytes = place_by_time(all.subspan(large), plan.arena_bytes);
  for (const Block& block : blocks) *block.result = block.offset;
}

void fill_constants(StoragePlan& plan) {
  for (Storage& s : plan.storages) {
    if (s.kind != Storage::Kind::kConstant) continue;
    // The constant takes the literal's memory, unless that is borrowed: then its owner may write to
    // it.
    if (s.literals.size() == 1 && s.literals[0].offset() == 0 &&
        !s.literals[0].buffer().borrowed()) {
      s.constant = s.literals[0].buffer();
      s.literals = {};
      continue;
    }
    s.constant = Buffer::allocate(s.bytes * static_cast<int64_t>(s.literals.size()));
    for (size_t i = 0; i < s.literals.size(); ++i)
      std::memcpy(s.constant.data() + static_cast<int64_t>(i) * s.bytes, s.literals[i].raw(),
                  static_cast<size_t>(s.bytes));
    s.literals = {};
  }
}

}  // namespace tessera::runtime
