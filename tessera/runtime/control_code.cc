// Loops and branches: nested executables on slots of the schedule around them.
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/executable.h"

namespace tessera {
namespace {

int64_t aligned(int64_t bytes) { return ceil_div(bytes, 64) * 64; }

// The instances of a slot of the outer schedule as a slot of the nested one, which may vary over
// other axes.
struct Passed {
  int slot;
  int64_t bytes, instances;  // of the nested slot
  std::vector<int64_t> map;  // nested instance -> outer instance; empty: the same

  Passed(const Schedule& outer, int outer_slot, const Schedule& nested, int nested_slot)
      : slot(outer_slot) {
    const Slot &a = outer.slots[static_cast<size_t>(outer_slot)],
               &b = nested.slots[static_cast<size_t>(nested_slot)];
    bytes = b.bytes();
    instances = b.instances;
    if (a.axes == b.axes) return;
    for (int32_t i : instance_map(outer.mesh, b.axes, a.axes)) map.push_back(i);
  }
  int64_t total() const { return bytes * instances; }
  // `table`: room for one entry an instance if there is a map.
  SlotRef ref(const SlotRef* slots, std::vector<int64_t>& table) const {
    const SlotRef& outer = slots[slot];
    if (map.empty()) return outer;
    table.resize(map.size());
    for (size_t i = 0; i < map.size(); ++i) table[i] = outer.at(map[i]) - outer.base;
    return {outer.base, 0, table.data()};
  }
};

struct PassedRefs {
  std::vector<std::vector<int64_t>> tables;
  std::vector<SlotRef> refs;
  PassedRefs(const std::vector<Passed>& passed, const SlotRef* slots) : tables(passed.size()) {
    for (size_t i = 0; i < passed.size(); ++i) refs.push_back(passed[i].ref(slots, tables[i]));
  }
};

std::vector<Passed> pass(const Schedule& outer, const std::vector<int>& slots,
                         const Schedule& nested, const std::vector<int>& nested_slots) {
  TESSERA_CHECK(slots.size() == nested_slots.size(), "{} slots for {}", slots.size(),
                nested_slots.size());
  std::vector<Passed> out;
  for (size_t i = 0; i < slots.size(); ++i)
    out.emplace_back(outer, slots[i], nested, nested_slots[i]);
  return out;
}

void copy_slots(const std::vector<Passed>& like, const std::vector<SlotRef>& from,
                const std::vector<SlotRef>& to) {
  std::vector<RegionCopy> copies;
  for (size_t i = 0; i < like.size(); ++i)
    for (int64_t k = 0; k < like[i].instances; ++k)
      if (from[i].at(k) != to[i].at(k))
        copies.push_back(
            {make_copy_pattern({like[i].bytes}, {1}, {1}, 1), to[i].at(k), from[i].at(k)});
  run_copies(copies);
}

// The carry alternates between the out slots and a second copy in the workspace; the first trip
// reads the in slots.
class LoopCode final : public StepCode {
 public:
  LoopCode(const LoopStep& step, const Schedule& s, std::unique_ptr<Executable> cond,
           std::unique_ptr<Executable> body)
      : cond_(std::move(cond)), body_(std::move(body)), trips_(step.trip_count) {
    in_ = pass(s, step.in, *step.body, step.body->inputs);
    out_ = pass(s, step.out, *step.body, step.body->outputs);
    // What the condition's own results need, a few bytes each, lies behind its arena.
    if (cond_) {
      cond_bytes_ = aligned(cond_->arena_bytes());
      for (const Storage& storage : cond_->plan().storages)
        if (storage.kind == Storage::Kind::kOutput) cond_bytes_ += aligned(storage.total());
    }
    for (const Passed& carry : out_) carry_bytes_ += aligned(carry.total());
  }

  int64_t workspace_bytes() const override {
    return aligned(body_->arena_bytes()) + cond_bytes_ + carry_bytes_;
  }

  void run(const SlotRef* slots, std::byte* workspace) const override {
    std::byte* body_arena = workspace;
    std::byte* cond_arena = body_arena + aligned(body_->arena_bytes());
    std::byte* next = cond_arena + cond_bytes_;
    PassedRefs in(in_, slots), out(out_, slots);
    std::vector<SlotRef> second;
    for (const Passed& carry : out_) {
      second.push_back({next, carry.bytes, nullptr});
      next += aligned(carry.total());
    }
    const std::vector<SlotRef>* current = &in.refs;
    // With the number of trips known the last one writes to the out slots.
    const std::vector<SlotRef>* target = cond_ || trips_ % 2 == 1 ? &out.refs : &second;
    for (int64_t trip = 0; cond_ ? holds(*current, cond_arena) : trip < trips_; ++trip) {
      body_->run_nested(*current, *target, body_arena);
      current = target;
      target = target == &second ? &out.refs : &second;
    }
    if (current != &out.refs) copy_slots(out_, *current, out.refs);
  }

 private:
  bool holds(const std::vector<SlotRef>& carry, std::byte* arena) const {
    return *cond_->run_condition(carry, arena) != std::byte{0};
  }
  std::unique_ptr<Executable> cond_, body_;
  int64_t trips_;
  std::vector<Passed> in_, out_;
  int64_t cond_bytes_ = 0, carry_bytes_ = 0;
};

class BranchCode final : public StepCode {
 public:
  BranchCode(const BranchStep& step, const Schedule& s,
             std::vector<std::unique_ptr<Executable>> branches)
      : branches_(std::move(branches)), index_(step.index) {
    index_is_bool_ = s.slots[static_cast<size_t>(index_)].dtype == bool_;
    for (const auto& branch : step.branches) {
      in_.push_back(pass(s, step.in, *branch, branch->inputs));
      out_.push_back(pass(s, step.out, *branch, branch->outputs));
    }
    for (const auto& branch : branches_) arena_ = std::max(arena_, branch->arena_bytes());
  }
  int64_t workspace_bytes() const override { return arena_; }

  void run(const SlotRef* slots, std::byte* workspace) const override {
    // Out of range: the last branch, as StableHLO's case.
    int64_t chosen = index_is_bool_
                         ? static_cast<int64_t>(*slots[index_].at(0) == std::byte{0} ? 0 : 1)
                         : read_index(slots);
    const auto last = static_cast<int64_t>(branches_.size()) - 1;
    if (chosen < 0 || chosen > last) chosen = last;
    const auto b = static_cast<size_t>(chosen);
    PassedRefs in(in_[b], slots), out(out_[b], slots);
    branches_[b]->run_nested(in.refs, out.refs, workspace);
  }

 private:
  int64_t read_index(const SlotRef* slots) const {
    int32_t value;
    std::memcpy(&value, slots[index_].at(0), sizeof value);
    return value;
  }
  std::vector<std::unique_ptr<Executable>> branches_;
  int index_;
  bool index_is_bool_;
  std::vector<std::vector<Passed>> in_, out_;
  int64_t arena_ = 0;
};

}  // namespace

std::unique_ptr<StepCode> make_loop_code(const LoopStep& step, const Schedule& schedule,
                                         std::unique_ptr<Executable> cond,
                                         std::unique_ptr<Executable> body) {
  return std::make_unique<LoopCode>(step, schedule, std::move(cond), std::move(body));
}
std::unique_ptr<StepCode> make_branch_code(const BranchStep& step, const Schedule& schedule,
                                           std::vector<std::unique_ptr<Executable>> branches) {
  return std::make_unique<BranchCode>(step, schedule, std::move(branches));
}

}  // namespace tessera
