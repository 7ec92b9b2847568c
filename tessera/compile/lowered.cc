#include "tessera/compile/lowered.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "tessera/base/overloaded.h"
#include "tessera/compile/flops.h"
#include "tessera/compile/pipeline.h"
#include "tessera/compile/program_cache.h"
#include "tessera/compile/step_time.h"
#include "tessera/compile/update_copies.h"
#include "tessera/fusion/schedule_walk.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/expect.h"
#include "tessera/ops/core/norm_choice.h"
#include "tessera/runtime/memory_plan.h"
#include "tessera/spmd/cost.h"

namespace tessera {

using namespace compile;

Lowered::Lowered(Function traced, ShardingRequest request, std::vector<Array> captures,
                 Device device)
    : stages_(std::make_shared<Stages>(run_pipeline(traced, request))),
      request_(std::make_shared<ShardingRequest>(std::move(request))),
      captures_(std::move(captures)),
      device_(device) {}

Lowered::Lowered(const Lowered&) = default;
Lowered::Lowered(Lowered&&) noexcept = default;
Lowered& Lowered::operator=(const Lowered&) = default;
Lowered& Lowered::operator=(Lowered&&) noexcept = default;
Lowered::~Lowered() = default;

std::string Lowered::text(std::string_view stage) const {
  if (stage == "traced") return to_mlir(stages_->traced);
  if (stage == "propagated") return to_mlir(stages_->propagated);
  if (stage == "partitioned") return to_mlir(stages_->partitioned.function);
  if (stage == "fused") return to_string(stages_->schedule);
  value_error("text", "expected one of the stages traced, propagated, partitioned, fused, got '{}'",
              stage);
}

const std::vector<PassTime>& Lowered::pass_times() const { return stages_->pass_times; }
std::vector<Collective> Lowered::collectives() const { return stages_->partitioned.collectives; }
std::vector<Note> Lowered::notes() const {
  std::vector<Note> out = stages_->partitioned.notes;
  for (const compile::UpdateCopy& copy : compile::copies_of_updates(stages_->schedule))
    out.push_back(note_of(copy));
  return out;
}
std::vector<NamedSharding> Lowered::output_shardings() const {
  return stages_->partitioned.outputs;
}

namespace {

// Returns the bytes that one run of the schedule reads and writes on one device.
int64_t bytes_of_steps(const Schedule& schedule) {
  const auto bytes = [](const Schedule& s, std::span<const int> slots) {
    int64_t n = 0;
    for (int slot : slots)
      if (slot >= 0) n += s.slots[static_cast<size_t>(slot)].bytes();
    return n;
  };
  return cost_of_run(
      schedule,
      Overloaded{
          [&](const KernelStep& kernel, const Schedule& s) { return bytes(s, kernel.slots); },
          [&](const DotStep& dot, const Schedule& s) {
            return bytes(s, std::array{dot.lhs, dot.rhs, dot.out, dot.bias});
          },
          [&](const ConvolutionStep& convolution, const Schedule& s) {
            return bytes(s, std::array{convolution.lhs, convolution.rhs, convolution.out});
          },
          [&](const CollectiveStep& collective, const Schedule& s) {
            return bytes(s, std::array{collective.in, collective.out});
          },
          [&](const CallStep& call, const Schedule& s) {
            // The last operands of a scatter are its updates, as large as what it writes.
            const std::span<const int> in = call.in;
            if (call.updates)
              return bytes(s, in.subspan(call.out.size())) + bytes(s, in.last(call.out.size()));
            return bytes(s, call.in) + bytes(s, call.out);
          },
          [&](const UpdateStep& update, const Schedule& s) {
            return 2 * bytes(s, std::array{update.update});
          },
          [](const InstanceTableStep&, const Schedule&) { return int64_t{0}; },
          [](const ViewStep&, const Schedule&) { return int64_t{0}; },
      });
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string seconds_text(double s) {
  if (s < 1e-3) return fmt::format("{:.1f} us", s * 1e6);
  if (s < 1) return fmt::format("{:.2f} ms", s * 1e3);
  return fmt::format("{:.2f} s", s);
}

}  // namespace

Cost Lowered::cost() const {
  Cost cost;
  cost.flops = flops_of(stages_->partitioned.function);
  cost.bytes_accessed = bytes_of_steps(stages_->schedule);
  for (const compile::UpdateCopy& copy : compile::copies_of_updates(stages_->schedule))
    cost.bytes_accessed += 2 * copy.bytes * std::max<int64_t>(1, copy.trips);
  for (const Collective& c : stages_->partitioned.collectives) {
    const int64_t times = std::max<int64_t>(1, c.times);
    cost.communication_bytes += c.bytes_per_device * times;
    cost.communication_seconds += c.seconds * static_cast<double>(times);
  }
  if (stages_->mesh.rank() == 0 || !stages_->mesh.is_abstract())
    cost.arena_bytes = arena_bytes(stages_->schedule);
  return cost;
}

namespace {

// Appends to `out` how norms of per-example gradients are computed, one line for each.
void explain_norms(const Function& f, std::string& out) {
  for (const Op& op : f.ops) {
    for (const FunctionRef& region : control_regions(op)) explain_norms(*region, out);
    if (const FunctionRef callee = callee_of(op)) explain_norms(*callee, out);
    if (const NormChoiceParams* p = norm_choice_of(op))
      out +=
          fmt::format("norms of {}: {}, {:.4g} flop, {} for {} examples\n", p->parameter, p->method,
                      p->flops, bytes_text(p->bytes), f.type(op.results[0]).elements());
  }
}

// Returns the text of a collective's cause, or of a part's: the op that needs it, the place of its
// call, and the reason.
template <class C>
std::string cause_text(const C& c) {
  return fmt::format("{}{}: {}", c.op,
                     c.source.empty() || c.source == c.op ? "" : " (" + c.source + ")", c.reason);
}

}  // namespace

std::string Lowered::explain() const {
  const Partitioned& p = stages_->partitioned;
  std::string out;
  const Function& f = stages_->traced;
  if (stages_->mesh.rank() == 0) {
    out += "one device; nothing is communicated\n";
  } else {
    out += fmt::format("mesh      {} ({} devices)\n", stages_->mesh, stages_->mesh.size());
    for (size_t i = 0; i < p.inputs.size(); ++i)
      out +=
          fmt::format("input {:<3} {} {}\n", i, describe(f.types[f.inputs[i]]), p.inputs[i].spec());
    for (size_t i = 0; i < p.outputs.size(); ++i)
      out += fmt::format("output {:<2} {} {}\n", i, describe(f.types[f.outputs[i]]),
                         p.outputs[i].spec());
    if (p.collectives.empty()) out += "no collectives\n";
    for (size_t i = 0; i < p.collectives.size(); ++i) {
      const Collective& c = p.collectives[i];
      out +=
          fmt::format("#{} {}{} over ({}) among {} devices: each sends {}, about {}{}\n", i + 1,
                      c.name, c.parts.empty() ? "" : fmt::format(" of {} arrays", c.parts.size()),
                      fmt::join(c.axes, ", "), c.group_size,
                      bytes_text(static_cast<double>(c.bytes_per_device)), seconds_text(c.seconds),
                      c.times == 1  ? ""
                      : c.times < 0 ? ", every trip"
                                    : fmt::format(", x {} trips", c.times));
      if (c.parts.empty()) out += fmt::format("   for {}\n", cause_text(c));
      for (const CollectivePart& part : c.parts)
        out += fmt::format("   {} for {}\n", bytes_text(static_cast<double>(part.bytes_per_device)),
                           cause_text(part));
    }
  }
  for (const Note& note : notes())
    out += fmt::format("{}: [{}] {}; {}{}\n", note.warning ? "warning" : "note", note.op, note.text,
                       note.remedy, note.source.empty() ? "" : " (" + note.source + ")");
  explain_norms(f, out);
  const Cost c = cost();
  out += fmt::format("a device: {:.4g} flop, {} accessed, {} sent in about {}; {} steps\n", c.flops,
                     bytes_text(static_cast<double>(c.bytes_accessed)),
                     bytes_text(static_cast<double>(c.communication_bytes)),
                     seconds_text(c.communication_seconds), stages_->schedule.steps.size());
  if (const std::optional<StepTime> time = predict_time(*stages_, device_)) {
    out += fmt::format("a run takes about {}: {} to compute, {} to communicate\n",
                       seconds_text(time->total()), seconds_text(time->compute),
                       seconds_text(time->communication));
  }
  if (stages_->mesh.rank() > 0)
    out += fmt::format("seconds by {}\n", spmd::figures_of(stages_->mesh));
  return out;
}

CompiledRef Lowered::compile() const {
  return compile_cached(stages_->traced, *request_, device_, stages_.get());
}

}  // namespace tessera
