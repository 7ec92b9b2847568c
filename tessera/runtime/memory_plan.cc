#include "tessera/runtime/memory_plan.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/overloaded.h"
#include "tessera/runtime/dot_plan.h"
#include "tessera/runtime/routine_code.h"

namespace tessera::runtime {
namespace {

int64_t aligned(int64_t bytes) { return ceil_div(bytes, 64) * 64; }

std::unique_ptr<MemoryPlan> nested_plan(const Schedule& s,
                                        const std::vector<bool>& scattered = {}) {
  return std::make_unique<MemoryPlan>(plan_memory(s, scattered));
}

StepMemory memory_of(const LoopStep& l, const Schedule& s) {
  StepMemory out;
  if (runs_as_routine(l, s)) {
    out.is_routine = true;
    out.workspace = codegen::routine_workspace({&l, &s});
    return out;
  }
  constexpr int64_t kResultBytes = 64;
  // Slices of what is scanned are never one after the other.
  std::vector<bool> scattered(l.body->inputs.size(), false);
  std::fill(scattered.end() - static_cast<ptrdiff_t>(l.xs.size()), scattered.end(), true);
  out.nested.push_back(nested_plan(*l.body, scattered));
  int64_t end = out.nested[0]->nested_bytes;
  if (l.cond) {
    out.nested.push_back(nested_plan(*l.cond));
    out.loop.cond = end;
    out.loop.result = end + out.nested[1]->nested_bytes;
    end = out.loop.result + kResultBytes;
  }
  for (size_t i = 0; i < l.out.size(); ++i) {
    const Slot& carry = l.body->slots[static_cast<size_t>(l.body->outputs[i])];
    out.loop.carry.push_back(end);
    end += aligned(carry.bytes() * carry.instances);
  }
  out.workspace = end;
  return out;
}

// Only one branch runs, so that they share their memory.
StepMemory memory_of(const BranchStep& b) {
  StepMemory out;
  for (size_t i = 0; i < b.branches.size(); ++i) {
    out.nested.push_back(b.is_rare(i) ? nullptr : nested_plan(*b.branches[i]));
    if (out.nested[i]) out.workspace = std::max(out.workspace, out.nested[i]->nested_bytes);
  }
  return out;
}

StepMemory memory_of(const Step& step, const Schedule& s) {
  return std::visit(
      Overloaded{
          [&](const DotStep& d) { return StepMemory{.workspace = DotPlan(d, s).workspace}; },
          [&](const LoopStep& l) { return memory_of(l, s); },
          [&](const BranchStep& b) { return memory_of(b); },
          [&](const CollectiveStep& c) { return StepMemory{.workspace = c.transfer_bytes}; },
          [](const KernelStep&) { return StepMemory(); },
          [](const ConvolutionStep&) { return StepMemory(); },
          [](const CallStep&) { return StepMemory(); },
          [](const ViewStep&) { return StepMemory(); },
          [](const InstanceTableStep&) { return StepMemory(); },
      },
      step);
}

void add_outputs(MemoryPlan& plan, const Schedule& s) {
  std::vector<bool> taken(plan.storage.storages.size(), false);
  for (int i : s.outputs) {
    const Slot& slot = s.slots[static_cast<size_t>(i)];
    const Placement& place = plan.storage.slots[static_cast<size_t>(i)];
    const auto at = static_cast<size_t>(place.storage);
    const Storage& storage = plan.storage.storages[at];
    MemoryPlan::Output out{i, slot.bytes(), slot.instances, -1};
    if (storage.kind == Storage::Kind::kOutput && place.map.empty() &&
        storage.bytes == slot.bytes() && storage.instances == slot.instances && !taken[at]) {
      taken[at] = true;
      out.own = storage.index;
    }
    plan.outputs.push_back(out);
  }
}

void add_nested_results(MemoryPlan& plan) {
  plan.nested_offsets.assign(static_cast<size_t>(plan.storage.own_outputs), 0);
  for (const MemoryPlan::Output& out : plan.outputs)
    if (out.own >= 0) plan.nested_offsets[static_cast<size_t>(out.own)] = -1;
  plan.nested_bytes = aligned(plan.storage.arena_bytes);
  for (const Storage& s : plan.storage.storages) {
    if (s.kind != Storage::Kind::kOutput) continue;
    int64_t& offset = plan.nested_offsets[static_cast<size_t>(s.index)];
    if (offset < 0) continue;
    offset = plan.nested_bytes;
    plan.nested_bytes += aligned(s.total());
  }
}

}  // namespace

MemoryPlan plan_memory(const Schedule& s, const std::vector<bool>& scattered) {
  MemoryPlan plan;
  plan.storage = plan_storages(s, scattered);
  plan.steps.resize(s.steps.size());
  std::vector<int64_t> workspaces(s.steps.size(), 0);
  for (size_t i = 0; i < s.steps.size(); ++i) {
    if (plan.storage.is_view[i]) continue;
    plan.steps[i] = memory_of(s.steps[i], s);
    workspaces[i] = plan.steps[i].workspace;
  }
  plan_arena(plan.storage, s, workspaces);
  add_outputs(plan, s);
  add_nested_results(plan);
  return plan;
}

int64_t arena_bytes(const Schedule& schedule) { return plan_memory(schedule).storage.arena_bytes; }

}  // namespace tessera::runtime
