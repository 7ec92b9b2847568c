#include "tessera/fusion/in_place.h"

#include <algorithm>
#include <optional>

#include "tessera/base/overloaded.h"

namespace tessera::fusion {
namespace {

// For each slot, the input that it equals, apart from updates; -1: none.
std::vector<int> origins(const Schedule& s) {
  std::vector<int> out(s.slots.size(), -1);
  const auto of = [&](int slot) -> int& { return out[static_cast<size_t>(slot)]; };
  for (size_t k = 0; k < s.inputs.size(); ++k) of(s.inputs[k]) = static_cast<int>(k);
  for (const Step& step : s.steps) {
    if (const auto* view = std::get_if<ViewStep>(&step)) of(view->out) = of(view->in);
    for (const auto& [from, to] : in_place_slots(step, {})) of(to) = of(from);
    if (const auto* loop = std::get_if<LoopStep>(&step))
      for (size_t c = 0; c < loop->in.size(); ++c) of(loop->out[c]) = of(loop->in[c]);
    if (const auto* branch = std::get_if<BranchStep>(&step))
      for (const auto& [in, result] : branch_candidates(*branch, s))
        of(branch->out[static_cast<size_t>(result)]) = of(branch->in[static_cast<size_t>(in)]);
  }
  return out;
}

bool same_memory(const Slot& a, const Slot& b) {
  return a.dtype == b.dtype && a.bytes() == b.bytes() && a.instances == b.instances &&
         a.axes == b.axes;
}

}  // namespace

std::vector<std::pair<int, int>> in_place_slots(const Step& step, const InPlace& nested) {
  std::vector<std::pair<int, int>> out;
  const auto add_nested = [&](const auto& s) {
    for (const auto& [in, result] : nested)
      out.emplace_back(s.in[static_cast<size_t>(in)], s.out[static_cast<size_t>(result)]);
  };
  std::visit(Overloaded{
                 [&](const UpdateStep& u) { out.emplace_back(u.in, u.out); },
                 [&](const CallStep& c) {
                   for (size_t r = 0; c.updates && r < c.out.size(); ++r)
                     out.emplace_back(c.in[r], c.out[r]);
                 },
                 [&](const LoopStep& l) { add_nested(l); },
                 [&](const BranchStep& b) { add_nested(b); },
                 [](const KernelStep&) {},
                 [](const DotStep&) {},
                 [](const ConvolutionStep&) {},
                 [](const CollectiveStep&) {},
                 [](const InstanceTableStep&) {},
                 [](const ViewStep&) {},
             },
             step);
  return out;
}

std::vector<int> reads_of(const Step& step) {
  std::vector<int> out;
  const auto add = [&](const std::vector<int>& slots) {
    out.insert(out.end(), slots.begin(), slots.end());
  };
  if (const auto* loop = std::get_if<LoopStep>(&step)) {
    for (const auto* slots : {&loop->consts, &loop->in, &loop->xs}) add(*slots);
  } else if (const auto* branch = std::get_if<BranchStep>(&step)) {
    add({branch->index});
    add(branch->in);
  } else if (const auto* call = std::get_if<CallStep>(&step)) {
    add(call->in);
  } else if (const auto* update = std::get_if<UpdateStep>(&step)) {
    add({update->in, update->update});
    add(update->starts);
  } else {
    add(step_slots(step).reads);
  }
  return out;
}

bool reads_input(const Schedule& schedule, size_t input) {
  const int slot = schedule.inputs[input];
  const auto has = [&](const std::vector<int>& slots) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  };
  return has(schedule.outputs) ||
         std::any_of(schedule.steps.begin(), schedule.steps.end(),
                     [&](const Step& step) { return has(step_slots(step).reads); });
}

InPlace branch_candidates(const BranchStep& branch, const Schedule& around) {
  std::vector<std::vector<int>> found;
  for (const auto& schedule : branch.branches) found.push_back(origins(*schedule));
  InPlace out;
  std::vector<bool> taken(branch.in.size(), false);
  for (size_t r = 0; r < branch.out.size(); ++r) {
    std::optional<size_t> input;
    bool holds = true;
    for (size_t b = 0; b < found.size() && holds; ++b) {
      const int from = found[b][static_cast<size_t>(branch.branches[b]->outputs[r])];
      if (from < 0) continue;
      holds = !input || *input == static_cast<size_t>(from);
      input = static_cast<size_t>(from);
    }
    if (!holds || !input || taken[*input] ||
        !same_memory(around.slots[static_cast<size_t>(branch.in[*input])],
                     around.slots[static_cast<size_t>(branch.out[r])]))
      continue;
    // A branch that returns something else must not read the operand, which its result overwrites.
    for (size_t b = 0; b < found.size() && holds; ++b)
      holds = found[b][static_cast<size_t>(branch.branches[b]->outputs[r])] >= 0 ||
              !reads_input(*branch.branches[b], *input);
    if (!holds) continue;
    taken[*input] = true;
    out.emplace_back(static_cast<int>(*input), static_cast<int>(r));
  }
  return out;
}

std::vector<int> ends_of(const InPlace& pairs, size_t first, size_t inputs) {
  std::vector<int> out(inputs, -1);
  for (const auto& [in, result] : pairs) out[first + static_cast<size_t>(in)] = result;
  return out;
}

}  // namespace tessera::fusion
