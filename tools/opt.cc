#include <fmt/ranges.h>

#include <ostream>

#include "tessera/fusion/fuse.h"
#include "tessera/fusion/simplify.h"
#include "tessera/ir/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/sharding/atoms.h"
#include "tessera/sharding/flatten_regions.h"
#include "tessera/spmd/partition.h"
#include "tools/program.h"

namespace tessera::tools {
namespace {

// A program between passes.
struct State {
  Function function;
  ShardingRequest request;
  Mesh mesh;  // once propagated
  std::optional<Partitioned> partitioned;
  std::optional<Schedule> schedule;
};

// What a device stores of each input, dimension by dimension.
std::vector<AxisList> input_axes(const Partitioned& p) {
  std::vector<AxisList> out;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const NamedSharding sharding = translate("fuse", p.inputs[i], p.mesh);
    AxisList axes;
    for (int64_t d = 0; d < p.function.type(p.function.inputs[i]).rank(); ++d)
      for (const AxisRef& axis : sharding.dim_axes(d))
        axes.push_back(static_cast<int>(p.mesh.axis_index(axis.name)));
    out.push_back(std::move(axes));
  }
  return out;
}

void propagate_pass(State& s) {
  s.mesh = program_mesh(s.function, s.request);
  if (s.mesh.rank() > 0) s.function = propagate(s.function, s.mesh, s.request);
}

void partition_pass(State& s) {
  s.mesh = program_mesh(s.function, s.request);
  if (s.mesh.rank() == 0) return;
  for (const Type& type : s.function.types)
    if (!type.sharding)
      value_error(
          "tessera-opt",
          "expected a program in which every value has a sharding; run the pass propagate first");
  s.partitioned = partition(s.function, s.mesh);
  s.function = s.partitioned->function;
}

void fuse_pass(State& s) {
  FuseOptions options;
  if (s.partitioned) options.input_axes = input_axes(*s.partitioned);
  s.schedule = fuse(s.function, s.partitioned ? s.partitioned->mesh : Mesh(), options);
}

struct Pass {
  const char* name;
  void (*run)(State&);
};
constexpr Pass kPasses[] = {
    {"flatten", [](State& s) { s.function = flatten_regions(s.function); }},
    {"propagate", propagate_pass},
    {"partition", partition_pass},
    {"simplify", [](State& s) { s.function = simplify(s.function); }},
    {"fuse", fuse_pass},
};

}  // namespace

std::string pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void optimize_file(const OptOptions& options, const Streams& streams) {
  const ParsedModule module = load_program(options.file, options.devices, false, streams);
  State state{.function = module.main, .request = request_of(module)};
  state.function.name = module.name;
  verify(state.function);
  for (const std::string& name : options.passes) {
    const Pass* found = nullptr;
    for (const Pass& pass : kPasses)
      if (name == pass.name) found = &pass;
    if (!found)
      value_error("tessera-opt", "expected passes among {}, got '{}'", pass_names(), name);
    if (state.schedule)
      value_error("tessera-opt", "expected fuse to be the last pass, got '{}' after it", name);
    found->run(state);
    verify(state.function);
  }
  if (state.schedule) {
    verify(*state.schedule);
    streams.out << to_string(*state.schedule);
  } else {
    streams.out << to_mlir(state.function, {.locations = options.locations});
  }
}

}  // namespace tessera::tools
