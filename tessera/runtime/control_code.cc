// Loops and branches: they run nested executables on slots of the outer schedule.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <span>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/executable.h"

namespace tessera::runtime {
namespace {

// A slot of the outer schedule, with its instances arranged as those of a slot of the nested
// schedule, which may vary over other axes.
struct Passed {
  int slot;
  int64_t bytes, instances;  // of the nested slot
  std::vector<int64_t> map;  // nested instance -> outer instance; empty: the same number

  Passed(const Schedule& outer, int outer_slot, const Schedule& nested, int nested_slot)
      : slot(outer_slot) {
    const Slot &a = outer.slots[static_cast<size_t>(outer_slot)],
               &b = nested.slots[static_cast<size_t>(nested_slot)];
    bytes = b.bytes();
    instances = b.instances;
    if (a.axes == b.axes) return;
    for (int32_t i : instance_map(outer, b.axes, a.axes)) map.push_back(i);
  }
  // Returns the addresses of the nested slot's instances. If there is a map, they are in `table`.
  SlotRef ref(const SlotRef* slots, std::vector<int64_t>& table) const {
    const SlotRef& outer = slots[slot];
    if (map.empty()) return outer;
    table.resize(map.size());
    for (size_t i = 0; i < map.size(); ++i) table[i] = outer.at(map[i]) - outer.base;
    return {outer.base, 0, table.data(), outer.packed};
  }
};

struct PassedRefs {
  std::vector<std::vector<int64_t>> tables;
  std::vector<SlotRef> refs;
  PassedRefs(const std::vector<Passed>& passed, const SlotRef* slots) : tables(passed.size()) {
    for (size_t i = 0; i < passed.size(); ++i) refs.push_back(passed[i].ref(slots, tables[i]));
  }
};

// Passes `slots` to nested_slots, from number `first` on.
std::vector<Passed> pass(const Schedule& outer, const std::vector<int>& slots,
                         const Schedule& nested, const std::vector<int>& nested_slots,
                         size_t first = 0) {
  TESSERA_CHECK(nested_slots.size() >= first + slots.size(), "{} slots for {}", slots.size(),
                nested_slots.size());
  std::vector<Passed> out;
  for (size_t i = 0; i < slots.size(); ++i)
    out.emplace_back(outer, slots[i], nested, nested_slots[first + i]);
  return out;
}

void add_copies(const Passed& like, const SlotRef& from, const SlotRef& to,
                std::vector<RegionCopy>& out) {
  for (int64_t k = 0; k < like.instances; ++k)
    if (from.at(k) != to.at(k))
      out.push_back({make_copy_pattern({like.bytes}, {1}, {1}, 1), to.at(k), from.at(k)});
}

void copy_slots(const std::vector<Passed>& like, std::span<const SlotRef> from,
                std::span<const SlotRef> to) {
  std::vector<RegionCopy> copies;
  for (size_t i = 0; i < like.size(); ++i) add_copies(like[i], from[i], to[i], copies);
  run_copies(copies);
}

// Runs a loop trip by trip. The carry alternates between the out slots and a second copy in the
// workspace; the first trip reads the in slots if these have the layout that the body needs. A
// carry that the body updates in place has only its out slot, to which it is copied before the
// first trip unless it is there. A carry that the body overwrites, but that ends in other memory,
// is copied before the first trip to the memory that the second one writes, so that the caller's
// array is unchanged. Body and condition are bound once for each memory that the carry is read
// from, so a trip only moves the slices and runs the steps.
class LoopCode final : public StepCode {
 public:
  LoopCode(const LoopStep& step, const Schedule& s, LoopWorkspace memory,
           std::unique_ptr<Executable> cond, std::unique_ptr<Executable> body)
      : cond_(std::move(cond)),
        body_(std::move(body)),
        memory_(std::move(memory)),
        trips_(step.trip_count),
        reverse_(step.reverse) {
    const Schedule& inside = *step.body;
    consts_ = pass(s, step.consts, inside, inside.inputs);
    in_ = pass(s, step.in, inside, inside.inputs, step.consts.size());
    xs_ = pass(s, step.xs, inside, inside.inputs, step.consts.size() + step.in.size());
    out_ = pass(s, step.out, inside, inside.outputs);
    ys_ = pass(s, step.ys, inside, inside.outputs, step.out.size());
    if (cond_) cond_consts_ = pass(s, step.consts, *step.cond, step.cond->inputs);
  }

  int64_t code_bytes() const override {
    return body_->code_bytes() + (cond_ ? cond_->code_bytes() : 0);
  }
  void run(const SlotRef* slots, std::byte* workspace) const override {
    LoopArguments arguments(*this, slots, workspace);
    if (!cond_ && trips_ == 0) return copy_slots(out_, arguments.in.refs, arguments.out.refs);
    Frames frames(*this, arguments, workspace);
    int at = kStart;
    for (int64_t trip = 0; cond_ ? holds(frames, at) : trip < trips_; ++trip) {
      Executable::Frame& frame = frames.body(at);
      if (!xs_.empty() || !ys_.empty()) {
        const int64_t row = reverse_ ? trips_ - 1 - trip : trip;
        const int64_t rows = row - std::exchange(frames.row[at], row);
        for (size_t k = 0; k < xs_.size(); ++k)
          body_->move_input(frame, consts_.size() + in_.size() + k, rows * xs_[k].bytes);
        for (size_t k = 0; k < ys_.size(); ++k)
          body_->move_output(frame, out_.size() + k, rows * ys_[k].bytes);
      }
      body_->execute_nested(frame);
      at = frames.target(at);
    }
    if (at != kOut) copy_slots(out_, frames.carry(at), arguments.out.refs);
  }

 private:
  // The memories from which a carry is read.
  enum CarryMemory : int { kStart, kOut, kSecond, kCarryMemories };

  // Returns the memory that the first trip writes. If the number of trips is known, it is chosen
  // such that the last trip writes to the out slots.
  CarryMemory first_target() const { return cond_ || trips_ % 2 == 1 ? kOut : kSecond; }

  // The slots of one run, and the second copy of the carry.
  struct LoopArguments {
    PassedRefs consts, in, xs, out, ys, cond_consts;
    std::vector<SlotRef> second;
    std::byte* result;  // the condition's result
    LoopArguments(const LoopCode& code, const SlotRef* slots, std::byte* workspace)
        : consts(code.consts_, slots),
          in(code.in_, slots),
          xs(code.xs_, slots),
          out(code.out_, slots),
          ys(code.ys_, slots),
          cond_consts(code.cond_consts_, slots),
          result(workspace + code.memory_.result) {
      std::vector<RegionCopy> starts;
      for (size_t i = 0; i < code.out_.size(); ++i) {
        second.push_back({workspace + code.memory_.carry[i], code.out_[i].bytes, nullptr});
        const bool in_place = code.memory_.in_place[i];
        if (!in_place && !code.memory_.lost[i]) continue;
        const SlotRef& start = in_place || code.first_target() == kSecond ? out.refs[i] : second[i];
        add_copies(code.in_[i], in.refs[i], start, starts);
        in.refs[i] = start;
        if (in_place) second[i] = start;
      }
      if (!starts.empty()) run_copies(starts);
    }
  };

  // Body and condition, bound to each memory of the carry when it is first needed.
  class Frames {
   public:
    Frames(const LoopCode& code, const LoopArguments& arguments, std::byte* workspace)
        : code_(code), arguments_(arguments), workspace_(workspace) {
      first_ = code.first_target();
      bool dense = true;
      for (size_t i = 0; i < arguments.in.refs.size(); ++i) {
        const SlotRef& ref = arguments.in.refs[i];
        dense =
            dense && !ref.table && (ref.stride == code.in_[i].bytes || code.in_[i].instances == 1);
      }
      if (dense) return;
      // A start that is replicated, or stored differently, is first copied to the memory that the
      // second trip reads.
      start_ = first_ == kOut ? kSecond : kOut;
      copy_slots(code.in_, arguments.in.refs, carry(start_));
    }

    std::span<const SlotRef> carry(int memory) const {
      if (memory == kStart) memory = start_;
      return memory == kStart ? arguments_.in.refs
             : memory == kOut ? arguments_.out.refs
                              : arguments_.second;
    }
    int target(int memory) const {
      if (memory == kStart) return first_;
      return memory == kOut ? kSecond : kOut;
    }
    Executable::Frame& body(int memory) {
      if (!bound_[memory]) {
        bound_[memory] = true;
        bind_op(*code_.body_, body_[memory], arguments_.consts, carry(memory), &arguments_.xs.refs,
                carry(target(memory)), &arguments_.ys.refs, workspace_);
      }
      return body_[memory];
    }
    Executable::Frame& cond(int memory) {
      if (!cond_bound_[memory]) {
        cond_bound_[memory] = true;
        const SlotRef result{arguments_.result, 1, nullptr};
        bind_op(*code_.cond_, cond_[memory], arguments_.cond_consts, carry(memory), nullptr,
                std::span(&result, 1), nullptr, workspace_ + code_.memory_.cond);
      }
      return cond_[memory];
    }
    int64_t row[kCarryMemories] = {0, 0, 0};  // the row of the slices to which each frame is bound

   private:
    static void bind_op(const Executable& code, Executable::Frame& frame, const PassedRefs& consts,
                        std::span<const SlotRef> carry, const std::vector<SlotRef>* xs,
                        std::span<const SlotRef> outputs, const std::vector<SlotRef>* ys,
                        std::byte* arena) {
      std::vector<SlotRef> in(consts.refs), out(outputs.begin(), outputs.end());
      in.insert(in.end(), carry.begin(), carry.end());
      if (xs) in.insert(in.end(), xs->begin(), xs->end());
      if (ys) out.insert(out.end(), ys->begin(), ys->end());
      code.bind_nested(frame, in, out, arena);
    }
    const LoopCode& code_;
    const LoopArguments& arguments_;
    std::byte* workspace_;
    int first_, start_ = kStart;
    bool bound_[kCarryMemories] = {false, false, false},
         cond_bound_[kCarryMemories] = {false, false, false};
    Executable::Frame body_[kCarryMemories], cond_[kCarryMemories];
  };

  bool holds(Frames& frames, int memory) const {
    Executable::Frame& frame = frames.cond(memory);
    cond_->execute_nested(frame);
    return *frame.outputs[0].base != std::byte{0};
  }

  std::unique_ptr<Executable> cond_, body_;
  LoopWorkspace memory_;
  int64_t trips_;
  bool reverse_;
  std::vector<Passed> consts_, in_, xs_, out_, ys_, cond_consts_;
};

// Runs the trips of a loop without carries as tasks of several trips each. A task has memory of its
// own for the temporaries of a trip.
class ParallelLoopCode final : public StepCode {
 public:
  ParallelLoopCode(const LoopStep& step, const Schedule& s, std::unique_ptr<Executable> body)
      : body_(std::move(body)), trips_(step.trip_count) {
    const Schedule& inside = *step.body;
    consts_ = pass(s, step.consts, inside, inside.inputs);
    xs_ = pass(s, step.xs, inside, inside.inputs, step.consts.size());
    ys_ = pass(s, step.ys, inside, inside.outputs);
  }

  int64_t code_bytes() const override { return body_->code_bytes(); }
  // The order of the rows does not matter, so it is the same if the loop is reversed.
  void run(const SlotRef* slots, std::byte*) const override {
    const PassedRefs consts(consts_, slots), xs(xs_, slots), ys(ys_, slots);
    std::vector<SlotRef> in(consts.refs);
    in.insert(in.end(), xs.refs.begin(), xs.refs.end());
    constexpr int64_t kMostTasks = 256;
    const int64_t grain = ceil_div(trips_, kMostTasks);
    parallel_for_ranges(trips_, grain, [&](int64_t begin, int64_t end) {
      const RawWorkspace arena(std::max<int64_t>(64, body_->nested_bytes()));
      Executable::Frame frame;
      body_->bind_nested(frame, in, ys.refs, arena.data());
      for (int64_t row = begin; row < end; ++row) {
        const int64_t rows = row == begin ? begin : 1;
        for (size_t k = 0; k < xs_.size(); ++k)
          body_->move_input(frame, consts_.size() + k, rows * xs_[k].bytes);
        for (size_t k = 0; k < ys_.size(); ++k) body_->move_output(frame, k, rows * ys_[k].bytes);
        body_->execute_nested(frame);
      }
    });
  }

 private:
  std::unique_ptr<Executable> body_;
  int64_t trips_;
  std::vector<Passed> consts_, xs_, ys_;
};

// The code of a branch. It is made at once, or when the branch is first taken if it is unlikely.
class LazyBranch {
 public:
  // `code` is null for an unlikely branch.
  LazyBranch(std::unique_ptr<Executable> code, std::shared_ptr<const Schedule> schedule)
      : unlikely_(!code), schedule_(std::move(schedule)), code_(code.release()) {}
  ~LazyBranch() { delete if_ready(); }
  LazyBranch(const LazyBranch&) = delete;
  LazyBranch& operator=(const LazyBranch&) = delete;

  bool is_unlikely() const { return unlikely_; }
  // Returns null before an unlikely branch is taken.
  const Executable* if_ready() const { return code_.load(std::memory_order_acquire); }
  // Returns the code, made if there is none. If several threads take the branch first at the same
  // time, each makes the code and one of these is kept: a fork could leave a lock held.
  const Executable& ready(const KernelSource& compile) const {
    if (const Executable* code = if_ready()) return *code;
    std::unique_ptr<const Executable> made = Executable::make(*schedule_, compile);
    const Executable* kept = nullptr;
    if (code_.compare_exchange_strong(kept, made.get(), std::memory_order_acq_rel))
      kept = made.release();
    return *kept;
  }

 private:
  const bool unlikely_;
  const std::shared_ptr<const Schedule> schedule_;
  mutable std::atomic<const Executable*> code_;
};

class BranchCode final : public StepCode {
 public:
  BranchCode(const BranchStep& step, const Schedule& s,
             std::vector<std::unique_ptr<Executable>> branches, const fusion::InPlace& in_place,
             const KernelSource& compile)
      : index_(step.index), compile_(compile) {
    index_is_bool_ = s.slots[static_cast<size_t>(index_)].dtype == bool_;
    for (size_t b = 0; b < branches.size(); ++b) {
      const std::shared_ptr<const Schedule>& branch = step.branches[b];
      in_.push_back(pass(s, step.in, *branch, branch->inputs));
      out_.push_back(pass(s, step.out, *branch, branch->outputs));
      branches_.emplace_back(std::move(branches[b]), branch);
      in_place_.emplace_back();
      for (const auto& [in, result] : in_place)
        if (fusion::reads_input(*branch, static_cast<size_t>(in)))
          in_place_.back().emplace_back(in, result);
    }
  }
  int64_t code_bytes() const override {
    int64_t bytes = 0;
    for (const LazyBranch& branch : branches_)
      if (const Executable* code = branch.if_ready()) bytes += code->code_bytes();
    return bytes;
  }
  void run(const SlotRef* slots, std::byte* workspace) const override {
    // An index out of range selects the last branch, as in StableHLO's case.
    int64_t chosen = index_is_bool_
                         ? static_cast<int64_t>(*slots[index_].at(0) == std::byte{0} ? 0 : 1)
                         : read_index(slots);
    const auto last = static_cast<int64_t>(branches_.size()) - 1;
    if (chosen < 0 || chosen > last) chosen = last;
    const auto b = static_cast<size_t>(chosen);
    const Executable& code = branches_[b].ready(compile_);
    // An unlikely branch has memory only while it runs.
    Buffer own;
    if (branches_[b].is_unlikely() && code.nested_bytes() > 0) {
      own = Buffer::allocate(code.nested_bytes());
      workspace = own.data();
    }
    PassedRefs in(in_[b], slots), out(out_[b], slots);
    std::vector<RegionCopy> starts;
    for (const auto& [from, to] : in_place_[b]) {
      SlotRef& operand = in.refs[static_cast<size_t>(from)];
      const SlotRef& result = out.refs[static_cast<size_t>(to)];
      add_copies(in_[b][static_cast<size_t>(from)], operand, result, starts);
      operand = result;
    }
    if (!starts.empty()) run_copies(starts);
    Executable::Frame frame;
    code.bind_nested(frame, in.refs, out.refs, workspace);
    code.execute_nested(frame);
  }

 private:
  int64_t read_index(const SlotRef* slots) const {
    int32_t value;
    std::memcpy(&value, slots[index_].at(0), sizeof value);
    return value;
  }
  std::deque<LazyBranch> branches_;
  int index_;
  bool index_is_bool_;
  KernelSource compile_;
  std::vector<std::vector<Passed>> in_, out_;
  // For each branch: the operands that are read and updated in the result's memory. They are copied
  // there if they are elsewhere.
  std::vector<fusion::InPlace> in_place_;
};

}  // namespace

std::unique_ptr<StepCode> make_parallel_loop_code(const LoopStep& step, const Schedule& schedule,
                                                  std::unique_ptr<Executable> body) {
  return std::make_unique<ParallelLoopCode>(step, schedule, std::move(body));
}
std::unique_ptr<StepCode> make_loop_code(const LoopStep& step, const Schedule& schedule,
                                         LoopWorkspace memory, std::unique_ptr<Executable> cond,
                                         std::unique_ptr<Executable> body) {
  return std::make_unique<LoopCode>(step, schedule, std::move(memory), std::move(cond),
                                    std::move(body));
}
std::unique_ptr<StepCode> make_branch_code(const BranchStep& step, const Schedule& schedule,
                                           std::vector<std::unique_ptr<Executable>> branches,
                                           const fusion::InPlace& in_place,
                                           const KernelSource& compile) {
  return std::make_unique<BranchCode>(step, schedule, std::move(branches), in_place, compile);
}

}  // namespace tessera::runtime
