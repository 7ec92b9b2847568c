#include "tessera/compile/pipeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tessera/cluster/processes.h"
#include "tessera/control/multiply_after_loops.h"
#include "tessera/fusion/fuse.h"
#include "tessera/fusion/rewrites/expected_branches.h"
#include "tessera/fusion/rewrites/loop_over_rows.h"
#include "tessera/fusion/rewrites/loop_over_windows.h"
#include "tessera/fusion/rewrites/merge_sorts.h"
#include "tessera/fusion/rewrites/simplify.h"
#include "tessera/fusion/rewrites/unroll_windows.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/sharding/atoms.h"
#include "tessera/sharding/contract_sums.h"
#include "tessera/sharding/expand_custom_partitions.h"
#include "tessera/sharding/finer_mesh.h"
#include "tessera/sharding/flatten_regions.h"
#include "tessera/sharding/merge_equal_ops.h"
#include "tessera/sharding/prune_control.h"
#include "tessera/sharding/split_constants.h"
#include "tessera/sharding/split_lines.h"
#include "tessera/sharding/split_sorts.h"
#include "tessera/sharding/split_transforms.h"

namespace tessera::compile {
namespace {

template <Function (*rewrite)(const Function&)>
void apply(PassState& p) {
  for (Alternative& a : p.alternatives) a.function = rewrite(a.function);
}

void multiply_after_loops_pass(PassState& p) {
  for (Alternative& a : p.alternatives) a.function = multiply_after_loops(a.function);
}

void pin_pass(PassState& p) {
  for (Alternative& a : p.alternatives) a.function = pin_shardings(a.function, p.mesh, p.request);
}

void propagate_pass(PassState& p) {
  const Function function = std::move(p.alternatives.front().function);
  p.alternatives.clear();
  for (Function& propagated : propagate_in_orders(function, p.mesh, p.request,
                                                  propagation_orders(function, p.mesh, p.request)))
    p.alternatives.push_back(
        {.function = std::move(propagated), .propagated = {}, .partitioned = {}});
}

void partition_pass(PassState& p) {
  for (Alternative& a : p.alternatives) {
    for (const Type& type : a.function.types)
      if (!type.sharding)
        value_error("partition",
                    "expected a program in which every value has a sharding; run the pass "
                    "propagate first");
    a.partitioned = partition(a.function, p.mesh);
    a.propagated = std::exchange(a.function, std::move(a.partitioned.function));
    a.partitioned.function = {};
  }
}

void choose_plan_pass(PassState& p) {
  for (const Alternative& a : p.alternatives)
    if (a.partitioned.mesh.rank() == 0)
      value_error("choose_plan",
                  "expected a partitioned program; run the pass partition before it");
  Alternative kept = std::move(p.alternatives[cheapest(p.alternatives)]);
  p.alternatives.clear();
  p.alternatives.push_back(std::move(kept));
}

// Returns the mesh axes over which an array with this sharding is stored, in the order of its
// instances: dimension by dimension, major first.
AxisList storage_axes(const NamedSharding& sharding, const Mesh& mesh, int64_t rank) {
  const NamedSharding here = translate("jit", sharding, mesh);
  AxisList out;
  for (int64_t d = 0; d < rank; ++d)
    for (const AxisRef& axis : here.dim_axes(d))
      out.push_back(static_cast<int>(mesh.axis_index(axis.name)));
  return out;
}

void fuse_pass(PassState& p) {
  const auto& [function, propagated, partitioned] = p.alternatives.front();
  FuseOptions options;
  for (size_t i = 0; i < partitioned.inputs.size(); ++i)
    options.input_axes.push_back(storage_axes(partitioned.inputs[i], partitioned.mesh,
                                              function.type(function.inputs[i]).rank()));
  options.reproducible = cluster::Processes::reproducible();
  p.schedule = fuse(function, partitioned.mesh, options);
}

constexpr Pass kPasses[] = {
    {"merge_equal_ops", Stage::kPartitioned, true, apply<merge_equal_ops>},
    {"remove_dead_ops", Stage::kPartitioned, false, apply<remove_dead_ops>},
    {"flatten_regions", Stage::kPartitioned, false, apply<flatten_regions>},
    {"prune_control", Stage::kPartitioned, false, apply<prune_control>},
    {"contract_sums", Stage::kPartitioned, false, apply<contract_sums>},
    {"multiply_after_loops", Stage::kPartitioned, false, multiply_after_loops_pass},
    {"split_transforms", Stage::kPartitioned, true, apply<split_transforms>},
    {"split_constants", Stage::kPartitioned, true, apply<split_constants>},
    {"pin_shardings", Stage::kPartitioned, true, pin_pass},
    {"propagate", Stage::kPartitioned, true, propagate_pass},
    {"expand_custom_partitions", Stage::kPartitioned, false, apply<expand_custom_partitions>},
    {"split_lines", Stage::kPartitioned, true, apply<split_lines>},
    {"split_sorts", Stage::kPartitioned, true, apply<split_sorts>},
    {"partition", Stage::kPartitioned, true, partition_pass},
    {"choose_plan", Stage::kPartitioned, true, choose_plan_pass},
    {"merge_sorts", Stage::kFused, false, apply<merge_sorts>},
    {"take_expected_branches", Stage::kFused, false, apply<take_expected_branches>},
    {"loop_over_rows", Stage::kFused, false, apply<loop_over_rows>},
    {"unroll_windows", Stage::kFused, false, apply<unroll_windows>},
    {"simplify", Stage::kFused, false, apply<simplify>},
    {"loop_over_windows", Stage::kFused, false, apply<loop_over_windows>},
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
  const size_t all = state.alternatives.size();
  for (size_t i = 0; i < all; ++i) {
    const std::string which = all == 1 ? "" : fmt::format(", alternative {} of {}", i + 1, all),
                      text = pass.run == fuse_pass ? to_string(state.schedule)
                                                   : to_mlir(state.alternatives[i].function);
    fmt::print(stderr, "// after {}{} ({:.3f} ms)\n{}\n", pass.name, which, seconds * 1e3, text);
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

PassState::PassState(Function function, ShardingRequest request, Mesh mesh)
    : request(std::move(request)), mesh(std::move(mesh)) {
  alternatives.push_back({.function = std::move(function), .propagated = {}, .partitioned = {}});
}

std::span<const Pass> passes() { return kPasses; }

PassTime run_pass(const Pass& pass, PassState& state) {
  if (pass.sharded_only && state.mesh.rank() == 0) return {pass.name};
  const auto start = std::chrono::steady_clock::now();
  pass.run(state);
  const PassTime time{pass.name, seconds_since(start), static_cast<int>(state.alternatives.size())};
  if (verifies()) {
    for (const Alternative& a : state.alternatives) verify(a.function);
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
  PassState state(traced, request, s.mesh);
  Function partitioned;
  for (const Pass& pass : kPasses) {
    if (pass.stage > last) break;
    s.pass_times.push_back(run_pass(pass, state));
    if (pass.run == choose_plan_pass) partitioned = state.function();
  }
  Alternative& kept = state.alternatives.front();
  s.propagated = s.mesh.rank() == 0 ? partitioned : std::move(kept.propagated);
  s.partitioned = std::move(kept.partitioned);
  s.partitioned.function = std::move(partitioned);
  s.schedule = std::move(state.schedule);
  return s;
}

}  // namespace tessera::compile
