#include "tessera/codegen/routines/routine_homes.h"

#include <algorithm>

namespace tessera::codegen {

using fusion::InPlace;

std::vector<bool> writable_inputs(const Schedule& nested, const InPlace& pairs, size_t first) {
  std::vector<bool> out(nested.inputs.size(), false);
  for (const auto& pair : pairs) out[first + static_cast<size_t>(pair.first)] = true;
  return out;
}

Homes HomeFinder::find(const Schedule& s, const std::vector<bool>& writable) {
  Homes out{std::vector<size_t>(s.slots.size()), std::vector<bool>(s.inputs.size(), false)};
  std::vector<size_t>& home = out.home;
  for (size_t i = 0; i < home.size(); ++i) home[i] = i;
  std::vector<int> last_read(home.size(), -1);
  std::vector<bool> may_change(home.size(), false);
  for (size_t i = 0; i < s.steps.size(); ++i) {
    const fusion::StepSlots used = step_slots(s.steps[i]);
    for (int v : used.reads) last_read[static_cast<size_t>(v)] = static_cast<int>(i);
    if (!std::holds_alternative<InstanceTableStep>(s.steps[i]))
      for (int v : used.writes) may_change[static_cast<size_t>(v)] = true;
  }
  for (int v : s.outputs) last_read[static_cast<size_t>(v)] = static_cast<int>(s.steps.size());
  for (size_t k = 0; k < s.inputs.size(); ++k)
    may_change[static_cast<size_t>(s.inputs[k])] = writable[k];
  // For each home: the last step that reads any slot with that memory.
  std::vector<int> last = last_read;
  const auto join = [&](int slot, size_t to) {
    home[static_cast<size_t>(slot)] = to;
    last[to] = std::max(last[to], last_read[static_cast<size_t>(slot)]);
  };
  for (size_t i = 0; i < s.steps.size(); ++i) {
    const Step& step = s.steps[i];
    if (const auto* v = std::get_if<ViewStep>(&step))
      join(v->out, home[static_cast<size_t>(v->in)]);
    for (const auto& [in, to] : fusion::in_place_slots(step, in_place(step, s))) {
      const size_t from = home[static_cast<size_t>(in)];
      const std::vector<int> reads = fusion::reads_of(step);
      const auto uses = std::count_if(reads.begin(), reads.end(),
                                      [&](int v) { return home[static_cast<size_t>(v)] == from; });
      if (!may_change[from] || last[from] > static_cast<int>(i) || uses != 1) continue;
      join(to, from);
      const auto input = std::find(s.inputs.begin(), s.inputs.end(), static_cast<int>(from));
      if (input != s.inputs.end())
        out.overwritten[static_cast<size_t>(input - s.inputs.begin())] = true;
    }
  }
  return out;
}

const InPlace& HomeFinder::in_place(const Step& step, const Schedule& around) {
  static const InPlace kNone;
  if (const auto* loop = std::get_if<LoopStep>(&step)) return in_place(*loop);
  if (const auto* branch = std::get_if<BranchStep>(&step)) return in_place(*branch, around);
  return kNone;
}

// A carry that the body overwrites must end in the memory where it started, since the next trip
// reads it there.
const InPlace& HomeFinder::in_place(const LoopStep& loop) {
  const auto found = found_.find(&loop);
  if (found != found_.end()) return found->second;
  const Schedule& body = *loop.body;
  InPlace may;
  for (int c = 0; c < static_cast<int>(loop.in.size()); ++c) may.emplace_back(c, c);
  while (true) {
    const Homes homes = find(body, writable_inputs(body, may, loop.consts.size()));
    InPlace out;
    const auto fails = [&](const std::pair<int, int>& pair) {
      const size_t input = loop.consts.size() + static_cast<size_t>(pair.first);
      if (!homes.overwritten[input]) return false;
      const auto result = static_cast<size_t>(body.outputs[static_cast<size_t>(pair.second)]);
      if (homes.home[result] != static_cast<size_t>(body.inputs[input])) return true;
      out.push_back(pair);
      return false;
    };
    if (std::erase_if(may, fails) == 0) return found_.emplace(&loop, std::move(out)).first->second;
  }
}

// A branch that reads such an operand must return it as the result that has the operand's memory.
const InPlace& HomeFinder::in_place(const BranchStep& branch, const Schedule& around) {
  const auto found = found_.find(&branch);
  if (found != found_.end()) return found->second;
  InPlace out = fusion::branch_candidates(branch, around);
  bool holds = false;
  while (!holds) {
    holds = true;
    for (const auto& schedule : branch.branches) {
      const Homes homes = find(*schedule, writable_inputs(*schedule, out, 0));
      const auto fails = [&](const std::pair<int, int>& pair) {
        const auto in = static_cast<size_t>(pair.first);
        const auto result =
            static_cast<size_t>(schedule->outputs[static_cast<size_t>(pair.second)]);
        return fusion::reads_input(*schedule, in) &&
               homes.home[result] != static_cast<size_t>(schedule->inputs[in]);
      };
      holds = std::erase_if(out, fails) == 0 && holds;
    }
  }
  return found_.emplace(&branch, std::move(out)).first->second;
}

}  // namespace tessera::codegen
