#include "tessera/runtime/memory_plan.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/overloaded.h"
#include "tessera/runtime/convolutions/result_kernel.h"
#include "tessera/runtime/products/dot_plan.h"
#include "tessera/runtime/routine_code.h"

namespace tessera::runtime {
namespace {

int64_t aligned(int64_t bytes) { return ceil_div(bytes, 64) * 64; }

std::unique_ptr<MemoryPlan> nested_plan(const Schedule& s, StorageContext context = {}) {
  return std::make_unique<MemoryPlan>(plan_memory(s, std::move(context)));
}

StepMemory memory_of(const LoopStep& l, const Schedule& s) {
  StepMemory out;
  if (runs_as_routine(l, s)) {
    out.is_routine = true;
    out.workspace = codegen::routine_workspace({&l, &s});
    out.in_place = codegen::routine_in_place(l);
    return out;
  }
  constexpr int64_t kResultBytes = 64;
  // The slices of scanned operands are never in order without gaps.
  fusion::InPlace carries;
  for (int c = 0; c < static_cast<int>(l.in.size()); ++c) carries.emplace_back(c, c);
  StorageContext context{.scattered = std::vector<bool>(l.body->inputs.size(), false),
                         .ends = fusion::ends_of(carries, l.consts.size(), l.body->inputs.size()),
                         .may_lose = true};
  std::fill(context.scattered.end() - static_cast<ptrdiff_t>(l.xs.size()), context.scattered.end(),
            true);
  out.nested.push_back(nested_plan(*l.body, std::move(context)));
  for (const auto& [in, result] : carries) {
    const StoragePlan& storage = out.nested[0]->storage;
    const size_t input = l.consts.size() + static_cast<size_t>(in);
    out.loop.lost.push_back(storage.lost[input]);
    out.loop.in_place.push_back(storage.overwritten[input] && !storage.lost[input]);
    if (out.loop.in_place.back()) out.in_place.emplace_back(in, result);
  }
  int64_t end = out.nested[0]->nested_bytes;
  if (runs_trips_in_parallel(l, end)) {
    out.parallel_trips = true;
    return out;
  }
  if (l.cond) {
    out.nested.push_back(nested_plan(*l.cond));
    out.loop.cond = end;
    out.loop.result = end + out.nested[1]->nested_bytes;
    end = out.loop.result + kResultBytes;
  }
  for (size_t i = 0; i < l.out.size(); ++i) {
    const Slot& carry = l.body->slots[static_cast<size_t>(l.body->outputs[i])];
    out.loop.carry.push_back(end);
    if (out.loop.in_place[i]) continue;
    end += aligned(carry.bytes() * carry.instances);
  }
  out.workspace = end;
  return out;
}

// Removes the pairs that cannot be in place in some branch. Returns whether there were any.
bool drop_pairs(const BranchStep& b, StepMemory& memory) {
  const auto fails = [&](const std::pair<int, int>& pair) {
    const auto in = static_cast<size_t>(pair.first), result = static_cast<size_t>(pair.second);
    for (size_t i = 0; i < b.branches.size(); ++i)
      if (fusion::reads_input(*b.branches[i], in) &&
          !ends_in(memory.nested[i]->storage, *b.branches[i], in, result))
        return true;
    return false;
  };
  return std::erase_if(memory.in_place, fails) > 0;
}

// The branches share their memory, since only one of them runs. If one is expected, the others are
// planned when they are taken, and the storage plan decides what is corrected in place.
StepMemory memory_of(const BranchStep& b, const Schedule& s) {
  StepMemory out;
  if (!b.expected) out.in_place = fusion::branch_candidates(b, s);
  do {
    out.nested.clear();
    for (size_t i = 0; i < b.branches.size(); ++i)
      out.nested.push_back(
          b.is_unlikely(i) ? nullptr
                           : nested_plan(*b.branches[i],
                                         {.ends = fusion::ends_of(out.in_place, 0, b.in.size())}));
  } while (drop_pairs(b, out));
  for (const auto& nested : out.nested)
    if (nested) out.workspace = std::max(out.workspace, nested->nested_bytes);
  return out;
}

StepMemory memory_of(const Step& step, const Schedule& s) {
  return std::visit(
      Overloaded{
          [&](const DotStep& d) { return StepMemory{.workspace = DotPlan(d, s).workspace}; },
          [&](const LoopStep& l) { return memory_of(l, s); },
          [&](const BranchStep& b) { return memory_of(b, s); },
          [&](const CollectiveStep& c) { return StepMemory{.workspace = c.transfer_bytes}; },
          [](const KernelStep&) { return StepMemory(); },
          [](const ConvolutionStep&) { return StepMemory(); },
          [](const CallStep&) { return StepMemory(); },
          [](const UpdateStep&) { return StepMemory(); },
          [](const ViewStep&) { return StepMemory(); },
          [](const InstanceTableStep&) { return StepMemory(); },
      },
      step);
}

void add_outputs(MemoryPlan& plan, const Schedule& s) {
  std::vector<bool> taken(plan.storage.storages.size(), false);
  for (int i : s.outputs) {
    const Slot& slot = s.slots[static_cast<size_t>(i)];
    const SlotLocation& location = plan.storage.slots[static_cast<size_t>(i)];
    const auto at = static_cast<size_t>(location.storage);
    const Storage& storage = plan.storage.storages[at];
    MemoryPlan::Output out{i, slot.bytes(), slot.instances, -1};
    if (storage.kind == Storage::Kind::kOutput && location.map.empty() &&
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

MemoryPlan plan_memory(const Schedule& s, StorageContext context) {
  MemoryPlan plan;
  context.nested.clear();
  for (const Step& step : s.steps) {
    StepMemory& memory = plan.steps.emplace_back(memory_of(step, s));
    context.nested.push_back(memory.in_place);
  }
  plan.storage = plan_storages(s, context);
  std::vector<int64_t> workspaces(s.steps.size(), 0);
  for (size_t i = 0; i < s.steps.size(); ++i) {
    if (plan.storage.is_view[i]) plan.steps[i] = {};
    workspaces[i] = plan.steps[i].workspace;
  }
  const std::vector<int> convolutions = join_result_kernels(s, plan.storage);
  for (size_t i = 0; i < s.steps.size(); ++i) plan.steps[i].convolution = convolutions[i];
  plan_arena(plan.storage, s, workspaces);
  add_outputs(plan, s);
  add_nested_results(plan);
  return plan;
}

int64_t arena_bytes(const Schedule& schedule) { return plan_memory(schedule).storage.arena_bytes; }

}  // namespace tessera::runtime
