#include "counts.h"

#include <chrono>

#include "allocations.h"
#include "instructions.h"
#include "tessera/compile/load_program.h"
#include "tessera/compile/pipeline.h"
#include "tessera/fusion/schedule_walk.h"
#include "tessera/mesh/device.h"
#include "tessera/runtime/memory_plan.h"
#include "tessera/runtime/program.h"
#include "tessera/runtime/routine_code.h"
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
  start_counting_instructions();
  run();
  const Allocations after = allocations();
  const double instructions = instructions_since_start();
  return {
      .name = std::string(name),
      .allocations = static_cast<double>(after.count - before.count),
      .allocated_bytes = static_cast<double>(after.bytes - before.bytes),
      .instructions = instructions,
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

// Makes the program without machine code, so it cannot run.
void make_program(const Function& traced, const PassState& state) {
  const runtime::InterpretLoops interpret;  // a loop is not compiled either
  const spmd::Partitioned& partitioned = state.alternatives.front().partitioned;
  const auto no_code = [](std::span<const fusion::Kernel* const> kernels) {
    return std::vector<fusion::KernelCode>(kernels.size());
  };
  const Device& device = devices().front();
  runtime::Program(state.schedule, array_specs(traced, traced.inputs, partitioned.inputs, device),
                   array_specs(traced, traced.outputs, partitioned.outputs, device), no_code);
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
  const double size = size_of(state.schedule);
  out.passes.back().ops = size;
  out.passes.push_back(counted("plan_memory", [&] { runtime::plan_memory(state.schedule); }));
  out.passes.back().ops = size;
  if (state.mesh.rank() == 0 || !state.mesh.is_abstract()) {
    out.passes.push_back(counted("program", [&] { make_program(function, state); }));
    out.passes.back().ops = size;
  }
  out.schedule = std::move(state.schedule);
  out.run = runtime::run_cost(out.schedule);
  return out;
}

}  // namespace tessera::costs
