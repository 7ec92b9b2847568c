#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "tessera/compile/pipeline.h"
#include "tessera/ir/bytecode/writer.h"
#include "tessera/ir/printer.h"
#include "tessera/ir/verifier.h"
#include "tools/program.h"

namespace tessera::tools {

using namespace compile;

std::string pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& pass : passes()) names.push_back(pass.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void optimize_file(const OptOptions& options, const Streams& streams) {
  const ParsedModule module = load_program(options.file, options.devices, false, streams);
  PassState state{.function = module.main, .request = request_of(module)};
  state.function.name = module.name;
  verify(state.function);
  state.mesh = program_mesh(state.function, state.request);
  bool fused = false;
  for (const std::string& name : options.passes) {
    const auto all = passes();
    const auto pass =
        std::find_if(all.begin(), all.end(), [&](const Pass& p) { return p.name == name; });
    if (pass == all.end())
      value_error("tessera-opt", "expected passes among {}, got '{}'", pass_names(), name);
    if (fused)
      value_error("tessera-opt", "expected fuse to be the last pass, got '{}' after it", name);
    const PassTime time = run_pass(*pass, state);
    if (options.timings)
      streams.err << fmt::format("{:<16} {:8.3f} ms\n", time.name, time.seconds * 1e3);
    verify(state.function);
    fused = name == all.back().name;
  }
  if (fused && options.emit == "bytecode")
    value_error("tessera-opt",
                "expected a program to emit as bytecode, got a schedule; leave out fuse");
  if (fused) {
    verify(state.schedule);
    streams.out << to_string(state.schedule);
  } else if (options.emit == "bytecode") {
    streams.out << to_bytecode(state.function, {.version = options.vhlo});
  } else {
    streams.out << to_mlir(state.function, {.locations = options.locations});
  }
}

}  // namespace tessera::tools
