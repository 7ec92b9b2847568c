#include "tessera/compile/jit.h"

#include <algorithm>
#include <unordered_set>

#include "tessera/base/error_calls.h"
#include "tessera/base/hash.h"
#include "tessera/cluster/processes.h"
#include "tessera/codegen/call_place.h"
#include "tessera/compile/jit_cache.h"
#include "tessera/compile/pipeline.h"
#include "tessera/control/control.h"
#include "tessera/ir/format.h"
#include "tessera/sharding/finer_mesh.h"
#include "tessera/trace/trace.h"

namespace tessera::internal {

using namespace compile;

namespace {

// Lists the caches of all jitted functions. It is never destroyed, since jitted functions may be
// static.
struct AllCaches {
  // Its level comes before that of any cache.
  ForkSafeMutex mutex{ForkParticipant::Level::kCompilations};
  std::unordered_set<JitCache*> caches;
};
AllCaches& all_caches() {
  static AllCaches& instance = *new AllCaches;
  return instance;
}

}  // namespace

JitCache::JitCache() {
  const std::lock_guard lock(all_caches().mutex);
  all_caches().caches.insert(this);
}
JitCache::~JitCache() {
  const std::lock_guard lock(all_caches().mutex);
  all_caches().caches.erase(this);
}

void JitCache::clear_all() {
  // Destroyed after the locks are released, since a function may capture anything.
  std::vector<BoundedCache<Key, JitEntryRef>::Entries> dead;
  const std::lock_guard lock(all_caches().mutex);
  for (JitCache* cache : all_caches().caches) dead.push_back(cache->calls_.take_all());
}

namespace {

size_t hash_of_call(const void* types, std::string_view statics, bool x64,
                    std::span<const Array> leaves) {
  const size_t seed = hash_combine(std::hash<const void*>()(types), x64);
  return hash_arguments(hash_combine(seed, std::hash<std::string_view>()(statics)), leaves);
}

}  // namespace

JitEntryRef JitCache::find(const void* types, std::string_view statics,
                           std::span<const Array> leaves) {
  const bool x64 = x64_enabled();
  const auto same = [&](const Key& key) {
    return key.types == types && key.x64 == x64 && key.statics == statics && key.args.match(leaves);
  };
  // Most calls have the same key as the one before.
  if (auto latest = calls_.find_latest(same)) return *std::move(latest);
  return calls_.find(hash_of_call(types, statics, x64, leaves), same).value_or(nullptr);
}

void JitCache::insert(const void* types, const std::string& statics, std::span<const Array> leaves,
                      JitEntryRef entry) {
  const bool x64 = x64_enabled();
  calls_.insert(hash_of_call(types, statics, x64, leaves), {types, statics, x64, ArgKeys(leaves)},
                std::move(entry));
}

namespace {

// Throws the error again and adds two lines of source to its message: that of the user's call that
// it is about, if `calls` led to it and the program has debug information, and that where the
// function was jitted. If the message already names a jitted function, because a callback of a
// program called it, the error is thrown unchanged.
[[noreturn, gnu::cold, gnu::noinline]] void rethrow_with(const SourceLocation& where,
                                                         const UserError& error,
                                                         std::span<const uintptr_t> calls = {}) {
  constexpr std::string_view kJitted = "; in the function that was jitted at ";
  const std::string_view text = error.what();
  if (where.line() == 0 || text.find(kJitted) != text.npos) throw;
  const std::string line = codegen::place_of_call(calls);
  throw UserError(error.kind(), fmt::format("{}{}{}{}{}:{}", text, line.empty() ? "" : "; at ",
                                            line, kJitted, where.file_name(), where.line()));
}

// Returns work(); its errors get the location where the function was jitted.
template <class Work>
auto located(const SourceLocation& where, const Work& work) {
  const internal::ErrorCalls calls;
  try {
    return work();
  } catch (const UserError& error) {
    rethrow_with(where, error, calls.of(error.what()));
  }
}

// A function traced with its arguments' types.
struct TracedCall {
  TracedFunction traced;
  ErasedResult result;
  std::vector<NamedSharding> out_shardings;
};

TracedCall trace_call(const ErasedFn& call, std::span<const Array> leaves,
                      const PrefixList<NamedSharding>& out_shardings = {}) {
  TracedCall out;
  out.traced = trace_function(
      [&](const std::vector<Array>& inputs) {
        out.result = call(inputs);
        if (!out_shardings.empty())
          out.out_shardings = out_shardings.of_result("jit", "out_shardings",
                                                      out.result.outline(out.result.tree.get()));
        return std::move(out.result.leaves);
      },
      traced_types(leaves));
  return out;
}

struct PlacedArguments {
  std::vector<Array> all;  // arguments, then captures
  ShardingRequest request;
};

PlacedArguments place_arrays(const TracedCall& call, std::span<const Array> leaves,
                             const std::vector<NamedSharding>& in_shardings) {
  PlacedArguments out;
  out.all.assign(leaves.begin(), leaves.end());
  out.all.insert(out.all.end(), call.traced.captures.begin(), call.traced.captures.end());
  if (in_shardings.empty() && call.out_shardings.empty()) {
    out.request = request_for(call.traced.function, out.all);
    return out;
  }
  // Requested shardings replace those of the arguments.
  for (size_t i = 0; i < in_shardings.size(); ++i)
    check_rank("jit", in_shardings[i], leaves[i].shape());
  std::vector<Array> asked = out.all;
  for (size_t i = 0; i < in_shardings.size(); ++i)
    asked[i] = abstract_array(leaves[i].shape(), leaves[i].dtype(), in_shardings[i]);
  out.request = request_for(call.traced.function, asked);
  for (size_t i = 0; i < call.out_shardings.size(); ++i)
    out.request.outputs[i] = call.out_shardings[i];
  return out;
}

PlacedArguments place_call(const TracedCall& call, std::span<const Array> leaves,
                           const std::vector<NamedSharding>& in_shardings,
                           const AxisSizes& compute_as) {
  PlacedArguments out = place_arrays(call, leaves, in_shardings);
  if (compute_as.empty()) return out;
  finer_mesh(program_mesh(call.traced.function, out.request), compute_as);  // called for its errors
  out.request.compute_as = compute_as;
  return out;
}

// Returns the entry with the program of a traced call. The caller adds its key and what it donates.
// `stages` is the result of run_pipeline for the call, or null if it has not run.
std::shared_ptr<JitEntry> compile_call(TracedCall call, const PlacedArguments& placed,
                                       const Stages* stages = nullptr) {
  auto entry = std::make_shared<JitEntry>();
  entry->program =
      compile_cached(call.traced.function, placed.request, device_for("jit", placed.all), stages);
  entry->captures = std::move(call.traced.captures);
  entry->result = std::move(call.result.tree);
  return entry;
}

}  // namespace

std::vector<Array> run_call(const JitEntry& entry, std::span<const Array> leaves) {
  const cluster::CallSite site(entry.where);
  try {
    return run_with_captures(*entry.program, leaves, entry.captures, entry.donate);
  } catch (const UserError& error) {
    rethrow_with(entry.where, error);
  }
}

const void* result_of(const JitEntry& entry) { return entry.result.get(); }

ErasedResult run_erased(std::string_view op, const ErasedFn& function,
                        const std::vector<Array>& leaves) {
  expect_concrete(op, leaves);
  TracedCall traced = trace_call(function, leaves);
  ErasedResult out = traced.result;
  const PlacedArguments placed = place_call(traced, leaves, {}, {});
  out.leaves = run_call(*compile_call(std::move(traced), placed), leaves);
  return out;
}

ErasedResult run_under_trace(std::string_view op, const ErasedFn& function,
                             const std::vector<Array>& leaves) {
  return Trace::current() ? function(leaves) : run_erased(op, function, leaves);
}

ErasedResult eval_shape_erased(const ErasedCall& call, const std::vector<Array>& leaves) {
  TracedCall traced = trace_call(call, leaves);
  ErasedResult out = std::move(traced.result);
  out.leaves.clear();
  for (const Type& type : traced.traced.function.output_types())
    out.leaves.emplace_back(std::make_shared<AbstractData>(
        Type{.dtype = type.dtype, .shape = type.shape, .weak = type.weak}));
  return out;
}

JitCore::JitCore(JitOptions options, SourceLocation where)
    : options_(std::move(options)), where_(where), cache_(std::make_shared<JitCache>()) {}
JitCore::~JitCore() = default;

std::shared_ptr<const JitCore> make_jit_core(JitOptions options, SourceLocation where) {
  return std::make_shared<JitCore>(std::move(options), where);
}

JitEntryRef JitCore::find(const void* types, std::string_view statics,
                          std::span<const Array> leaves) const {
  return cache_->find(types, statics, leaves);
}

JitEntryRef JitCore::compile(const ErasedCall& call, const void* types, const std::string& statics,
                             std::span<const Array> leaves) const {
  const std::shared_ptr<JitEntry> entry = located(where_, [&] {
    expect_concrete("jit", leaves);
    std::vector<uint8_t> donate = donate_flags(call);
    const std::vector<NamedSharding> in = in_shardings(call);
    TracedCall traced = trace_call(call, leaves, options_.out_shardings);
    const PlacedArguments placed = place_call(traced, leaves, in, options_.compute_as);
    std::optional<Stages> stages;
    if (options_.comm_budget) {
      stages = run_pipeline(traced.traced.function, placed.request);
      expect_within(*options_.comm_budget, stages->partitioned.collectives);
    }
    std::shared_ptr<JitEntry> out =
        compile_call(std::move(traced), placed, stages ? &*stages : nullptr);
    // The caller cannot donate what a function captured.
    if (!donate.empty()) donate.resize(placed.all.size(), 0);
    out->donate = std::move(donate);
    return out;
  });
  entry->where = where_;
  cache_->insert(types, statics, leaves, entry);
  return entry;
}

Lowered JitCore::lower(const ErasedCall& call, std::span<const Array> leaves) const {
  return located(where_, [&] {
    expect_concrete("jit", leaves);
    const std::vector<NamedSharding> in = in_shardings(call);
    TracedCall traced = trace_call(call, leaves, options_.out_shardings);
    PlacedArguments placed = place_call(traced, leaves, in, options_.compute_as);
    const Device device = device_for("jit", placed.all);
    return Lowered(std::move(traced.traced.function), std::move(placed.request),
                   std::move(traced.traced.captures), device);
  });
}

bool JitCore::constrains() const {
  return !options_.in_shardings.empty() || !options_.out_shardings.empty();
}

ErasedResult JitCore::call_constrained(const ErasedCall& call, std::vector<Array> leaves) const {
  const std::vector<NamedSharding> in = in_shardings(call);
  for (size_t i = 0; i < in.size(); ++i) leaves[i] = lax::sharding_constraint(leaves[i], in[i]);
  ErasedResult result = call(leaves);
  if (options_.out_shardings.empty()) return result;
  const std::vector<NamedSharding> out =
      options_.out_shardings.of_result("jit", "out_shardings", result.outline(result.tree.get()));
  for (size_t i = 0; i < out.size(); ++i)
    result.leaves[i] = lax::sharding_constraint(result.leaves[i], out[i]);
  return result;
}

std::vector<NamedSharding> JitCore::in_shardings(const ErasedCall& call) const {
  if (options_.in_shardings.empty()) return {};
  return options_.in_shardings.of_arguments("jit", "in_shardings", call.argument_outlines());
}

std::vector<uint8_t> JitCore::donate_flags(const ErasedCall& call) const {
  const std::vector<int>& donated = options_.donate_argnums;
  if (donated.empty()) return {};
  std::vector<uint8_t> flags;
  int position = 0;
  for (const tree::Outline& argument : call.argument_outlines())
    flags.insert(flags.end(), tree::num_leaves(argument),
                 std::find(donated.begin(), donated.end(), position++) != donated.end());
  for (int n : donated)
    if (n < 0 || n >= position)
      value_error("jit", "expected donate_argnums in [0, {}), got {}", position, n);
  return flags;
}

}  // namespace tessera::internal
