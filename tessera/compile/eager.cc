// Eager execution: ops and composites on concrete arrays. Each is compiled as one program, once,
// and found again by its arguments' types and shardings.
#include "tessera/base/bounded_cache.h"
#include "tessera/base/hash.h"
#include "tessera/compile/composite.h"
#include "tessera/compile/program_cache.h"
#include "tessera/ir/op_def.h"
#include "tessera/trace/trace.h"

namespace tessera {

using namespace compile;

namespace {

using internal::CompositeCall;
using internal::StaticClass;

struct EagerEntry {
  CompiledRef program;
  std::vector<Array> captures;  // concrete arrays that the body captured
};
using EagerEntryRef = std::shared_ptr<const EagerEntry>;

// The callee (an op or a composite) and its params.
struct OpKey {
  const OpDef* op;
  OpParams params;
  bool operator==(const OpKey&) const = default;
};
struct CompositeKey {
  CompositeCall::AnyBody body;
  const StaticClass* params_class;
  std::shared_ptr<const void> params;

  bool is_of(const CompositeCall& call) const {
    return body == call.body && params_class == call.params_class &&
           params_class->equal(params.get(), call.params);
  }
  bool operator==(const CompositeKey& other) const {
    return body == other.body && params_class == other.params_class &&
           params_class->equal(params.get(), other.params.get());
  }
};
template <class Callee>
struct EagerKey {
  Callee callee;
  ArgKeys args;
  bool operator==(const EagerKey&) const = default;
};

constexpr size_t kMaxCalls = 4096;
template <class Callee>
using EagerCache = BoundedCache<EagerKey<Callee>, EagerEntryRef>;
// x64 mode changes what a body computes, so each mode has a cache of its own.
template <class Callee>
EagerCache<Callee>& eager_cache(bool x64 = x64_enabled()) {
  constexpr auto kLevel = ForkParticipant::Level::kCalls;
  static EagerCache<Callee>& narrow = *new EagerCache<Callee>(kMaxCalls, kLevel);
  static EagerCache<Callee>& wide = *new EagerCache<Callee>(kMaxCalls, kLevel);
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

// Runs the cached program for arguments of these types and a callee for which same() is true. If
// the cache has none, callee() returns the callee that the cache keeps and compile() makes the
// program.
template <class Same, class MakeCallee, class Compile>
std::vector<Array> run_eagerly(size_t callee_hash, std::span<const Array> args, Same&& same,
                               MakeCallee&& callee, Compile&& compile) {
  using Callee = std::invoke_result_t<MakeCallee>;
  const size_t hash = hash_arguments(callee_hash, args);
  auto entry = eager_cache<Callee>().find(
      hash, [&](const EagerKey<Callee>& key) { return same(key.callee) && key.args.match(args); });
  if (!entry) entry = eager_cache<Callee>().insert(hash, {callee(), ArgKeys(args)}, compile());
  return run_with_captures(*(*entry)->program, args, (*entry)->captures);
}

// Runs one op on concrete arrays.
std::vector<Array> execute_op(const OpDef& def, const OpParams& params,
                              std::span<const Array> operands) {
  expect_concrete(def.name, operands);
  return run_eagerly(
      hash_combine(std::hash<const void*>()(&def), params.hash()), operands,
      [&](const OpKey& key) { return key.op == &def && key.params == params; },
      [&] {
        return OpKey{&def, params};
      },
      [&] {
        const std::string name(def.name);
        return compile_eager(name.c_str(), operands,
                             [&](const std::vector<Array>& x) { return bind_op(def, params, x); });
      });
}

[[maybe_unused]] const bool installed = (set_eager_executor(&execute_op), true);

}  // namespace

namespace internal {

void clear_eager_calls() {
  for (bool x64 : {false, true}) {
    eager_cache<OpKey>(x64).clear();
    eager_cache<CompositeKey>(x64).clear();
  }
}

std::vector<Array> run_composite(const CompositeCall& call, std::span<const Array> args) {
  expect_concrete(call.name, args);
  return run_eagerly(
      hash_combine(std::hash<CompositeCall::AnyBody>()(call.body),
                   call.params_class->hash(call.params)),
      args, [&](const CompositeKey& key) { return key.is_of(call); },
      [&] {
        return CompositeKey{call.body, call.params_class, call.params_class->copy(call.params)};
      },
      [&] {
        return compile_eager(call.name, args, [&](const std::vector<Array>& x) {
          return call.run(call.body, call.params, x);
        });
      });
}

}  // namespace internal
}  // namespace tessera
