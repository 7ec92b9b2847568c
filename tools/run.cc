#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <ostream>

#include "tessera/compile/compiled.h"
#include "tessera/compile/program_cache.h"
#include "tessera/interchange/programs/unroll_loops.h"
#include "tessera/numpy/placement.h"
#include "tessera/runtime/profile.h"
#include "tools/transforms.h"

namespace tessera::tools {

using namespace compile;

namespace {

double milliseconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

void run_program(const Program& program, const RunOptions& options, const Streams& streams) {
  if (options.profile && options.repeat == 1)
    value_error("run",
                "expected --repeat of at least 2 with --profile, got 1: the first run is not "
                "measured, for it makes what the others have");
  if (options.repeat < 1)
    value_error("run", "expected to run the program at least once, got --repeat {}",
                options.repeat);
  std::vector<Array> inputs = read_arguments(program, options.inputs);
  CompiledRef compiled;
  std::vector<Array> results;
  const double compiling = milliseconds_of(
      [&] { compiled = compile_cached(program.function, program.request, devices()[0]); });
  // The inputs are put on the devices before the first run, so that what steps keep with them is
  // kept.
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = device_put(inputs[i], compiled->input_sharding(i));
  const auto run = [&] { results = compiled->run(inputs); };
  const double first = milliseconds_of(run);
  std::optional<Profile> profile;
  if (options.profile) profile.emplace();
  std::vector<double> steady;
  for (int64_t k = 1; k < options.repeat; ++k) steady.push_back(milliseconds_of(run));
  write_results(results, options.outputs, streams);
  if (options.repeat == 1) return;
  if (profile) streams.out << profile->text();
  std::sort(steady.begin(), steady.end());
  const size_t half = steady.size() / 2;
  const double median =
      steady.size() % 2 == 1 ? steady[half] : (steady[half - 1] + steady[half]) / 2;
  streams.out << fmt::format(
      "first {:.3f} ms (compiling {:.3f} ms), then {} {}: median {:.3f} ms, min {:.3f} ms\n",
      compiling + first, compiling, steady.size(), steady.size() == 1 ? "run" : "runs", median,
      steady.front());
}

void run_file(const RunOptions& options, const Streams& streams) {
  const ParsedModule module = load_program({.file = options.file,
                                            .devices = options.devices,
                                            .shapes = options.shapes,
                                            .inputs = options.inputs,
                                            .enough = true},
                                           streams);
  expect_devices(module);
  Program program = program_of(module);
  program.function = interchange::with_loops_rewritten(module);
  run_program(program, options, streams);
}

void transform_file(const std::string& transform, const TransformOptions& options,
                    const RunOptions& run, const EmitOptions& emit, const Streams& streams) {
  const ParsedModule module = load_program({.file = run.file,
                                            .devices = run.devices,
                                            .shapes = run.shapes,
                                            .inputs = run.inputs,
                                            .enough = true},
                                           streams);
  const Program program = *transformed(transform, program_of(module), options);
  if (run.outputs.empty()) {
    if (!run.inputs.empty())
      value_error(transform,
                  "expected --outputs with --inputs, got none; without both the "
                  "program is printed");
    emit_program(*transformed("lower_scans", program, options), emit, streams);
    return;
  }
  expect_devices(module);
  run_program(program, run, streams);
}

}  // namespace tessera::tools
