#include "tessera/compile/pipeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tessera/cluster/processes.h"
#include "tessera/fusion/fuse.h"
#include "tessera/fusion/simplify.h"
#include "tessera/fusion/usual_ways.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/sharding/atoms.h"
#include "tessera/sharding/contract_sums.h"
#include "tessera/sharding/cut_lines.h"
#include "tessera/sharding/cut_sorts.h"
#include "tessera/sharding/finer_mesh.h"
#include "tessera/sharding/flatten_regions.h"
#include "tessera/sharding/merge_equal_ops.h"
#include "tessera/sharding/prune_control.h"
#include "tessera/sharding/split_constants.h"
#include "tessera/sharding/split_transforms.h"

namespace tessera::compile {
namespace {

template <Function (*rewrite)(const Function&)>
void apply(PassState& p) {
  p.function = rewrite(p.function);
}

void pin_pass(PassState& p) { p.function = pin_shardings(p.function, p.mesh, p.request); }

void propagate_pass(PassState& p) {
  Propagated chosen = propagate_for_least(p.function, p.mesh, p.request);
  p.function = std::move(chosen.function);
  p.plan = std::move(chosen.plan);
}

void partition_pass(PassState& p) {
  for (const Type& type : p.function.types)
    if (!type.sharding)
      value_error("partition",
                  "expected a program in which every value has a sharding; run the pass propagate "
                  "first");
  // A program that other passes have changed since is another one.
  if (p.plan && p.plan->cut == p.function) {
    p.partitioned = std::move(p.plan->partitioned);
  } else {
    p.partitioned = partition(p.function, p.mesh);
  }
  p.plan.reset();
  p.function = std::move(p.partitioned.function);
}

// The mesh axes an array with this sharding is stored over, in the order of its instances:
// dimension by dimension, major first.
AxisList storage_axes(const NamedSharding& sharding, const Mesh& mesh, int64_t rank) {
  const NamedSharding here = translate("jit", sharding, mesh);
  AxisList out;
  for (int64_t d = 0; d < rank; ++d)
    for (const AxisRef& axis : here.dim_axes(d))
      out.push_back(static_cast<int>(mesh.axis_index(axis.name)));
  return out;
}

void fuse_pass(PassState& p) {
  FuseOptions options;
  for (size_t i = 0; i < p.partitioned.inputs.size(); ++i)
    options.input_axes.push_back(storage_axes(p.partitioned.inputs[i], p.partitioned.mesh,
                                              p.function.type(p.function.inputs[i]).rank()));
  options.reproducible = cluster::Processes::reproducible();
  p.schedule = fuse(p.function, p.partitioned.mesh, options);
}

constexpr Pass kPasses[] = {
    {"merge_equal_ops", Stage::kPropagated, true, apply<merge_equal_ops>},
    {"remove_dead_ops", Stage::kPropagated, false, apply<remove_dead_ops>},
    {"flatten_regions", Stage::kPropagated, false, apply<flatten_regions>},
    {"prune_control", Stage::kPropagated, false, apply<prune_control>},
    {"contract_sums", Stage::kPropagated, false, apply<contract_sums>},
    {"split_transforms", Stage::kPropagated, true, apply<split_transforms>},
    {"split_constants", Stage::kPropagated, true, apply<split_constants>},
    {"pin_shardings", Stage::kPropagated, true, pin_pass},
    {"propagate", Stage::kPropagated, true, propagate_pass},
    {"cut_lines", Stage::kPropagated, true, apply<cut_lines>},
    {"cut_sorts", Stage::kPropagated, true, apply<cut_sorts>},
    {"partition", Stage::kPartitioned, true, partition_pass},
    {"take_usual_ways", Stage::kFused, false, apply<take_usual_ways>},
    {"simplify", Stage::kFused, false, apply<simplify>},
    {"fuse", Stage::kFused, false, fuse_pass},
};

bool verifies() {
#ifdef NDEBUG
  static const bool on = [] {
    const char* value = std::getenv("TESSERA_VERIFY_PASSES");
    return value && std::string_view(value) == "1";
  }();
  return on;
#else
  return true;
#endif
}

bool prints_after(const Pass& pass) {
  static const char* const wanted = std::getenv("TESSERA_PRINT_AFTER");
  return wanted && (wanted == pass.name || std::string_view(wanted) == "all");
}

void print(const Pass& pass, const PassState& state, double seconds) {
  const std::string text =
      pass.run == fuse_pass ? to_string(state.schedule) : to_mlir(state.function);
  fmt::print(stderr, "// after {} ({:.3f} ms)\n{}\n", pass.name, seconds * 1e3, text);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

PassTime run_pass(const Pass& pass, PassState& state) {
  if (pass.sharded_only && state.mesh.rank() == 0) return {pass.name};
  const auto start = std::chrono::steady_clock::now();
  pass.run(state);
  const PassTime time{pass.name, seconds_since(start)};
  if (verifies()) {
    verify(state.function);
    if (pass.run == fuse_pass) verify(state.schedule);
  }
  if (prints_after(pass)) print(pass, state, time.seconds);
  return time;
}

Stages run_pipeline(const Function& traced, const ShardingRequest& request, Stage last) {
  if (!request.compute_as.empty()) {
    Stages finer =
        run_pipeline(on_finer_mesh(traced, request.compute_as), on_finer_mesh(request), last);
    finer.traced = traced;
    return finer;
  }
  Stages s;
  s.traced = traced;
  s.mesh = program_mesh(traced, request);
  PassState state{.function = traced, .request = request, .mesh = s.mesh};
  for (size_t i = 0; i < std::size(kPasses) && kPasses[i].stage <= last; ++i) {
    s.pass_times.push_back(run_pass(kPasses[i], state));
    const bool ends_stage = i + 1 == std::size(kPasses) || kPasses[i + 1].stage != kPasses[i].stage;
    if (!ends_stage) continue;
    if (kPasses[i].stage == Stage::kPropagated) {
      s.propagated = state.function;
    } else if (kPasses[i].stage == Stage::kPartitioned) {
      s.partitioned = state.partitioned;
      s.partitioned.function = state.function;
    } else {
      s.schedule = std::move(state.schedule);
    }
  }
  return s;
}

}  // namespace tessera::compile
