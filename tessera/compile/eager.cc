// Eager execution: ops and composites on concrete arrays, each one program that is compiled once
// and found by its arguments' types and placements.
#include "tessera/base/bounded_cache.h"
#include "tessera/base/hash.h"
#include "tessera/compile/composite.h"
#include "tessera/compile/program_cache.h"
#include "tessera/ir/op_def.h"
#include "tessera/trace/trace.h"

namespace tessera {

using namespace compile;

namespace {

struct EagerEntry {
  CompiledRef program;
  std::vector<Array> captures;  // concrete arrays the body used beside its arguments
};
using EagerEntryRef = std::shared_ptr<const EagerEntry>;

// `id`: of the op or the composite.
struct EagerKey {
  const void* id;
  OpParams params;
  ArgKeys args;
  bool operator==(const EagerKey&) const = default;
};

constexpr size_t kMaxCalls = 4096;
using EagerCache = BoundedCache<EagerKey, EagerEntryRef>;
// x64 mode decides what a body computes, so each mode has a cache of its own.
EagerCache& eager_cache(bool x64 = x64_enabled()) {
  constexpr auto kLevel = ForkParticipant::Level::kCalls;
  static EagerCache& narrow = *new EagerCache(kMaxCalls, kLevel);
  static EagerCache& wide = *new EagerCache(kMaxCalls, kLevel);
  return x64 ? wide : narrow;
}

EagerEntryRef compile_eager(const char* name, std::span<const Array> args, const FlatFn& body) {
  TracedFunction traced = trace_function(body, traced_types(args), name);
  std::vector<Array> all(args.begin(), args.end());
  all.insert(all.end(), traced.captures.begin(), traced.captures.end());
  const Device device = device_for(name, all);
  return std::make_shared<EagerEntry>(
      EagerEntry{compile_cached(traced.function, request_for(traced.function, all), device),
                 std::move(traced.captures)});
}

// Runs the program of a call, which compile() makes at the first of its kind.
template <class F>
std::vector<Array> run_eagerly(const void* id, const OpParams& params, std::span<const Array> args,
                               F&& compile) {
  const size_t hash =
      hash_arguments(hash_combine(std::hash<const void*>()(id), params.hash()), args);
  auto entry = eager_cache().find(hash, [&](const EagerKey& key) {
    return key.id == id && key.params == params && key.args.match(args);
  });
  if (!entry) entry = eager_cache().insert(hash, {id, params, ArgKeys(args)}, compile());
  return run_with_captures(*(*entry)->program, args, (*entry)->captures);
}

// One op on concrete arrays.
std::vector<Array> execute_op(const OpDef& def, const OpParams& params,
                              std::span<const Array> operands) {
  return run_eagerly(&def, params, operands, [&] {
    const std::string name(def.name);
    return compile_eager(name.c_str(), operands,
                         [&](const std::vector<Array>& x) { return bind_op(def, params, x); });
  });
}

[[maybe_unused]] const bool installed = (set_eager_executor(&execute_op), true);

}  // namespace

namespace internal {

void clear_eager_calls() {
  for (bool x64 : {false, true}) eager_cache(x64).clear();
}

std::vector<Array> run_composite(const char* name, const OpParams& params,
                                 std::span<const Array> args, CompositeBody body,
                                 const void* closure) {
  expect_concrete(name, args);
  return run_eagerly(name, params, args, [&] {
    return compile_eager(name, args, [&](const std::vector<Array>& x) { return body(closure, x); });
  });
}

}  // namespace internal
}  // namespace tessera
