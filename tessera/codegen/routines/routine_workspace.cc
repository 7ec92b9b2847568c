#include "tessera/codegen/routines/routine_workspace.h"

#include <algorithm>

#include "tessera/codegen/routines/routine.h"
#include "tessera/codegen/routines/routine_homes.h"
#include "tessera/fusion/schedule_walk.h"

namespace tessera::codegen {
namespace {

// Counts the bytes of all memory that RoutineEmitter::local() provides, including what is on the
// stack.
class LocalBytes {
 public:
  int64_t of(const LoopStep& loop, const Schedule& around) {
    add(loop, around);
    return bytes_;
  }

 private:
  void room(int64_t size) { bytes_ += std::max<int64_t>(64, padded_bytes(size)); }

  void add(const Schedule& s, std::vector<bool> writable) {
    writable.resize(s.inputs.size(), false);
    const std::vector<size_t> root = homes_.find(s, writable).home;
    std::vector<char> has_memory(s.slots.size(), 0);
    for (int slot : s.inputs) has_memory[static_cast<size_t>(slot)] = 1;
    for (size_t i = 0; i < s.slots.size(); ++i)
      if (s.slots[i].kind == Slot::Kind::kConstant) has_memory[i] = 1;
    for (const Step& step : s.steps)
      if (const auto* t = std::get_if<InstanceTableStep>(&step))
        has_memory[static_cast<size_t>(t->out)] = 1;
    for (int slot : s.outputs) has_memory[root[static_cast<size_t>(slot)]] = 1;
    for (const Step& step : s.steps) {
      for (int i : step_slots(step).writes) {
        const size_t slot = root[static_cast<size_t>(i)];
        if (!has_memory[slot]) room(s.slots[slot].bytes());
        has_memory[slot] = 1;
      }
      if (const auto* k = std::get_if<KernelStep>(&step)) add_scratch(*k);
      if (const auto* l = std::get_if<LoopStep>(&step)) add(*l, s);
      if (const auto* b = std::get_if<BranchStep>(&step))
        for (const auto& branch : b->branches)
          add(*branch, writable_inputs(*branch, homes_.in_place(*b, s), 0));
    }
  }
  void add_scratch(const KernelStep& step) {
    for (size_t i = 0; i < step.slots.size(); ++i) {
      const KernelBuffer& buffer = step.kernel.buffers[i];
      if (step.slots[i] < 0) room(buffer.elements * itemsize(buffer.dtype));
    }
  }
  void add(const LoopStep& loop, const Schedule& around) {
    const fusion::InPlace& in_place = homes_.in_place(loop);
    for (int c = 0; c < static_cast<int>(loop.in.size()); ++c) {
      if (std::any_of(in_place.begin(), in_place.end(), [&](auto& p) { return p.first == c; }))
        continue;
      const int64_t bytes =
          around.slots[static_cast<size_t>(loop.out[static_cast<size_t>(c)])].bytes();
      room(bytes);
      if (bytes <= kStackBytes) room(bytes);
    }
    if (loop.cond) {
      room(1);
      add(*loop.cond, {});
    }
    add(*loop.body, writable_inputs(*loop.body, in_place, loop.consts.size()));
  }

  HomeFinder homes_;
  int64_t bytes_ = 0;
};

}  // namespace

int64_t routine_workspace(const Routine& routine) {
  return LocalBytes().of(*routine.loop, *routine.around);
}

}  // namespace tessera::codegen
