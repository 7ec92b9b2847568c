#include "counts.h"

#include <chrono>

#include "allocations.h"
#include "tessera/compile/pipeline.h"
#include "tessera/fusion/schedule_walk.h"
#include "tessera/runtime/memory_plan.h"
#include "work.h"

namespace tessera::costs {

using namespace compile;

namespace {

double size_of(const Schedule& schedule) {
  double size = 0;
  for_each_schedule(schedule, [&](const Schedule& s) {
    size += static_cast<double>(s.slots.size() + s.steps.size());
    for (const Step& step : s.steps)
      if (const auto* kernel = std::get_if<KernelStep>(&step))
        size += static_cast<double>(kernel->kernel.nodes.size());
  });
  return size;
}

template <class F>
PassCount counted(std::string_view name, const F& run) {
  const auto start = std::chrono::steady_clock::now();
  const Allocations before = allocations();
  run();
  const Allocations after = allocations();
  return {
      .name = std::string(name),
      .allocations = static_cast<double>(after.count - before.count),
      .allocated_bytes = static_cast<double>(after.bytes - before.bytes),
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

}  // namespace

Counts counts_of(const std::function<Function()>& trace) {
  Counts out;
  out.passes.push_back(counted("trace", [&] { out.traced = trace(); }));
  out.passes.back().ops = text_size(out.traced);
  const Function& function = out.traced;
  PassState state(function, {}, program_mesh(function, {}));
  for (const Pass& pass : passes()) {
    PassCount count = counted(pass.name, [&] { run_pass(pass, state); });
    for (const Alternative& a : state.alternatives) count.ops += text_size(a.function);
    out.passes.push_back(std::move(count));
  }
  out.passes.back().ops = size_of(state.schedule);
  out.schedule = std::move(state.schedule);
  out.passes.push_back(counted("plan_memory", [&] { runtime::plan_memory(out.schedule); }));
  out.passes.back().ops = out.passes[out.passes.size() - 2].ops;
  out.run = runtime::run_cost(out.schedule);
  return out;
}

}  // namespace tessera::costs
