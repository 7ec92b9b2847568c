// Eager execution: ops and composites on concrete arrays, each one program that is compiled once
// and found by its arguments' types and placements.
#include "tessera/compile/call_cache.h"
#include "tessera/compile/composite.h"
#include "tessera/ir/op_def.h"
#include "tessera/trace/trace.h"

namespace tessera {

using namespace compile;

namespace {

struct EagerEntry {
  CompiledRef program;
  std::vector<Array> captures;  // concrete arrays the body used beside its arguments
};
using EagerCache = CallCache<EagerEntry>;
// x64 mode decides what a body computes, so each mode has a cache of its own.
EagerCache& eager_cache(bool x64 = x64_enabled()) {
  static EagerCache* const caches = new EagerCache[2];
  return caches[x64 ? 1 : 0];
}

EagerCache::EntryRef compile_eager(const char* name, std::span<const Array> args,
                                   const FlatFn& body) {
  TracedFunction traced = trace_function(body, traced_types(args), name);
  std::vector<Array> all(args.begin(), args.end());
  all.insert(all.end(), traced.captures.begin(), traced.captures.end());
  const Device device = device_for(name, all);
  return std::make_shared<EagerEntry>(
      EagerEntry{compile_cached(traced.function, request_for(traced.function, all), device),
                 std::move(traced.captures)});
}

std::vector<Array> run(const EagerEntry& entry, std::span<const Array> args) {
  if (entry.captures.empty()) return entry.program->run(args);
  std::vector<Array> all(args.begin(), args.end());
  all.insert(all.end(), entry.captures.begin(), entry.captures.end());
  return entry.program->run(all);
}

void expect_concrete(const char* name, std::span<const Array> args) {
  for (const Array& x : args)
    if (x.is_tracer())
      trace_error(name,
                  "expected concrete arrays, got the traced {} after its trace has ended (a leaked "
                  "tracer): return it from the traced "
                  "function instead of storing it",
                  describe(x.type()));
}

// One op on concrete arrays.
std::vector<Array> execute_op(const OpDef& def, const OpParams& params,
                              std::span<const Array> operands) {
  const size_t hash = EagerCache::hash(&def, params, operands);
  EagerCache::EntryRef entry = eager_cache().find(&def, params, operands, hash);
  if (!entry) {
    const std::string name(def.name);
    entry = compile_eager(name.c_str(), operands,
                          [&](const std::vector<Array>& x) { return bind_op(def, params, x); });
    eager_cache().insert(&def, params, operands, hash, entry);
  }
  return run(*entry, operands);
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
  const size_t hash = EagerCache::hash(name, params, args);
  EagerCache::EntryRef entry = eager_cache().find(name, params, args, hash);
  if (!entry) {
    entry =
        compile_eager(name, args, [&](const std::vector<Array>& x) { return body(closure, x); });
    eager_cache().insert(name, params, args, hash, entry);
  }
  return run(*entry, args);
}

}  // namespace internal
}  // namespace tessera
