#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "tessera/compile/pipeline.h"
#include "tessera/interchange/bytecode/writer.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tools/transforms.h"

namespace tessera::tools {

using namespace compile;

std::string pass_names() {
  std::vector<std::string_view> names = transform_names();
  for (const Pass& pass : passes()) names.push_back(pass.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

namespace {

// Applies the transforms at the beginning of the list. Returns their number.
size_t apply_transforms(const OptOptions& options, Program& program) {
  size_t next = 0;
  for (; next < options.passes.size(); ++next) {
    std::optional<Program> after = transformed(options.passes[next], program, options.transforms);
    if (!after) break;
    program = std::move(*after);
    verify(program.function);
  }
  return next;
}

const Pass& pass_called(const std::string& name) {
  const auto all = passes();
  const auto pass =
      std::find_if(all.begin(), all.end(), [&](const Pass& p) { return p.name == name; });
  if (pass != all.end()) return *pass;
  const auto& transforms = transform_names();
  if (std::find(transforms.begin(), transforms.end(), name) != transforms.end())
    value_error("tessera-opt",
                "expected {} before all passes that are no transforms, got it "
                "after one; name it first",
                name);
  value_error("tessera-opt", "expected passes among {}, got '{}'", pass_names(), name);
}

}  // namespace

void optimize_file(const OptOptions& options, const Streams& streams) {
  Program program = program_of(load_program(
      {.file = options.file, .devices = options.devices, .shapes = options.shapes}, streams));
  verify(program.function);
  const size_t transforms = apply_transforms(options, program);
  PassState state(program.function, program.request,
                  program_mesh(program.function, program.request));
  bool fused = false;
  for (size_t i = transforms; i < options.passes.size(); ++i) {
    const Pass& pass = pass_called(options.passes[i]);
    if (fused)
      value_error("tessera-opt", "expected fuse to be the last pass, got '{}' after it", pass.name);
    const PassTime time = run_pass(pass, state);
    if (options.timings)
      streams.err << fmt::format("{:<16} {:8.3f} ms\n", time.name, time.seconds * 1e3);
    verify(state.function());
    fused = pass.name == passes().back().name;
  }
  if (const size_t all = state.alternatives.size(); all > 1)
    streams.err << fmt::format(
        "this is the first of {} alternatives; the pass choose_plan, after partition, keeps the "
        "cheapest\n",
        all);
  if (fused && options.emit.emit == "bytecode")
    value_error("tessera-opt",
                "expected a program to emit as bytecode, got a schedule; leave out fuse");
  if (fused) {
    verify(state.schedule);
    streams.out << to_string(state.schedule);
  } else if (options.emit.emit == "bytecode") {
    streams.out << to_bytecode(state.function(), {.version = options.emit.vhlo});
  } else {
    streams.out << to_mlir(state.function(), {.locations = options.emit.locations});
  }
}

}  // namespace tessera::tools
