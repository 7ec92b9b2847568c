#include "tessera/compile/update_copies.h"

#include <algorithm>

#include "tessera/base/overloaded.h"
#include "tessera/codegen/routines/routine_homes.h"
#include "tessera/fusion/in_place.h"
#include "tessera/fusion/schedule_walk.h"
#include "tessera/ir/format.h"
#include "tessera/runtime/routine_code.h"

namespace tessera::compile {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;
// The number of trips assumed for a loop that a condition ends.
constexpr int64_t kExpectedTrips = 1000;

class CopyFinder {
 public:
  std::vector<UpdateCopy> run(const Schedule& s) {
    for (const Step& step : s.steps) visit(step, s);
    return std::move(out_);
  }

 private:
  void visit(const Step& step, const Schedule& around) {
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      const int64_t trips = loop->cond ? -1 : loop->trip_count;
      const Schedule& body = *loop->body;
      const size_t first = loop->consts.size(), carries = loop->in.size();
      fusion::InPlace pairs = finder_.in_place(*loop);
      const bool is_routine = runtime::runs_as_routine(*loop, around);
      // If the loop is interpreted, its body has memory of its own for each carry and may overwrite
      // it (StorageContext::may_lose).
      for (size_t c = 0; !is_routine && c < carries; ++c)
        pairs.emplace_back(static_cast<int>(c), static_cast<int>(c));
      const std::vector<bool> writable = codegen::writable_inputs(body, pairs, first);
      find(body, writable, first, carries, trips);
      if (!is_routine) find_moved(body, writable, first, carries, trips);
    } else if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const auto& schedule : branch->branches)
        for (const Step& inner : schedule->steps) visit(inner, *schedule);
    }
  }

  // Finds updates that are done in the memory of one carry and copied to another carry afterwards.
  void find_moved(const Schedule& body, const std::vector<bool>& writable, size_t first_carry,
                  size_t carries, int64_t trips) {
    const codegen::Homes homes = finder_.find(body, writable);
    const auto home_of = [&](int slot) { return homes.home[static_cast<size_t>(slot)]; };
    for (const Step& step : body.steps) {
      for (const auto& [in, result] : fusion::in_place_slots(step, finder_.in_place(step, body))) {
        const size_t home = home_of(result);
        if (static_cast<size_t>(in) != home) continue;  // not the first update of the array
        bool stays = false, moves = false;
        for (size_t c = 0; c < carries; ++c) {
          if (home_of(body.outputs[c]) != home) continue;
          const bool same = home == static_cast<size_t>(body.inputs[first_carry + c]);
          (same ? stays : moves) = true;
        }
        const auto inputs = std::span(body.inputs).subspan(first_carry, carries);
        const bool is_carry =
            std::find(inputs.begin(), inputs.end(), static_cast<int>(home)) != inputs.end();
        if (is_carry && moves && !stays) add(step, body, in, homes, first_carry, carries, trips);
      }
    }
  }

  void find(const Schedule& body, const std::vector<bool>& writable, size_t first_carry,
            size_t carries, int64_t trips) {
    const codegen::Homes homes = finder_.find(body, writable);
    for (const Step& step : body.steps) {
      for (const auto& [in, result] : fusion::in_place_slots(step, finder_.in_place(step, body)))
        if (homes.home[static_cast<size_t>(in)] != homes.home[static_cast<size_t>(result)])
          add(step, body, in, homes, first_carry, carries, trips);
      if (const auto* branch = std::get_if<BranchStep>(&step)) {
        for (const auto& schedule : branch->branches)
          find(*schedule, codegen::writable_inputs(*schedule, finder_.in_place(*branch, body), 0),
               0, schedule->inputs.size(), trips);
      } else {
        visit(step, body);
      }
    }
  }

  void add(const Step& step, const Schedule& body, int in, const codegen::Homes& homes,
           size_t first_carry, size_t carries, int64_t trips) {
    const Slot& slot = body.slots[static_cast<size_t>(in)];
    const int64_t bytes = slot.bytes() * slot.instances;
    if (bytes * (trips < 0 ? kExpectedTrips : trips) < kLeastBytes) return;
    UpdateCopy copy{.op = name_of(step),
                    .dtype = slot.dtype,
                    .shape = slot.shape,
                    .bytes = bytes,
                    .trips = trips};
    const auto home = static_cast<int>(homes.home[static_cast<size_t>(in)]);
    const auto at = std::find(body.inputs.begin(), body.inputs.end(), home);
    if (at != body.inputs.end()) {
      const auto input = static_cast<size_t>(at - body.inputs.begin());
      const bool is_carry = input >= first_carry && input < first_carry + carries;
      copy.reason = is_carry ? UpdateCopy::Reason::kEndsElsewhere : UpdateCopy::Reason::kConstant;
    }
    if (is_read_after(step, body, home, homes)) copy.reason = UpdateCopy::Reason::kReadAfterwards;
    out_.push_back(std::move(copy));
  }

  static bool is_read_after(const Step& step, const Schedule& body, int home,
                            const codegen::Homes& homes) {
    bool after = false;
    for (const Step& other : body.steps) {
      const auto reads = step_slots(other).reads;
      if (after && std::any_of(reads.begin(), reads.end(), [&](int v) {
            return homes.home[static_cast<size_t>(v)] == static_cast<size_t>(home);
          }))
        return true;
      after = after || &other == &step;
    }
    return false;
  }

  static std::string name_of(const Step& step) {
    if (const auto* call = std::get_if<CallStep>(&step)) return call->name;
    if (std::holds_alternative<UpdateStep>(step)) return "dynamic_update_slice";
    return std::holds_alternative<LoopStep>(step) ? "loop" : "branch";
  }

  codegen::HomeFinder finder_;
  std::vector<UpdateCopy> out_;
};

struct Words {
  const char *why, *remedy;
};

Words words_of(UpdateCopy::Reason reason) {
  switch (reason) {
    case UpdateCopy::Reason::kReadAfterwards:
      return {"the array is read after its update",
              "read what is needed of it before, or of the updated one"};
    case UpdateCopy::Reason::kConstant:
      return {"each trip updates the same array anew",
              "carry the array through the loop, or keep the updates alone"};
    case UpdateCopy::Reason::kEndsElsewhere:
      return {"the update does not become the carry that the array is",
              "return the updated array in the array's place"};
  }
  return {};
}

}  // namespace

std::vector<UpdateCopy> copies_of_updates(const Schedule& schedule) {
  return CopyFinder().run(schedule);
}

Note note_of(const UpdateCopy& copy) {
  const Words words = words_of(copy.reason);
  const std::string trips =
      copy.trips < 0 ? "in every trip" : fmt::format("in each of {} trips", copy.trips);
  return {.op = copy.op,
          .text = fmt::format("all of {} ({} bytes) is copied {} of a loop, because {}",
                              describe(Type{copy.dtype, copy.shape}), copy.bytes, trips, words.why),
          .remedy = words.remedy};
}

}  // namespace tessera::compile
