// jit: a function traced once for every structure of its arguments, compiled, and run from then on.
//
//   auto f = jit([](const Array& x) { return 2 * sin(x) + 1; });
//   Array y = f(x);                          // traced, compiled and run
//   Array z = f(y);                          // an argument of the same type: only run
//   std::cout << f.lower(x).explain();       // what would be communicated, and why
//
// Arguments and results are trees (base/tree.h). C++ numbers are traced as weakly typed scalars
// where the function takes Arrays in their place, and are static otherwise. Called inside another
// traced function, jit(f) is f.
#pragma once

#include <any>
#include <type_traits>

#include "tessera/base/fork.h"
#include "tessera/base/per_thread.h"
#include "tessera/compile/callable.h"
#include "tessera/compile/comm_budget.h"
#include "tessera/compile/lowered.h"
#include "tessera/compile/prefix_tree.h"
#include "tessera/ops/control/control.h"
#include "tessera/trace/trace.h"

namespace tessera {

struct JitOptions {
  // Where arguments and results shall lie; empty: arguments as they come, results as propagation
  // finds. One for all, or a list of one entry a value, each a sharding or a tree.
  PrefixList<NamedSharding> in_shardings = {}, out_shardings = {};
  // Arguments (by position) whose memory the results may take. A donated array is deleted: using it
  // again is an error.
  std::vector<int> donate_argnums = {};
  // What a call may communicate: checked when it is compiled. Inside another traced function the
  // budget is that function's to give.
  std::optional<CommBudget> comm_budget = std::nullopt;
  // Mesh axes to compute as if they had so many devices, a multiple of those they have: {{"x", 8}}
  // gives the same bits on 1, 2, 4 and 8 devices along x. Inside another traced function the choice
  // is that function's to make.
  AxisSizes compute_as = {};
};

namespace internal {

// What a call of a jitted function needs to know of the program that serves it.
struct JitEntry {
  const void* types;  // identifies the C++ types of the arguments
  std::string statics;
  bool x64;
  std::vector<ArgKey> args;
  CompiledRef program;
  std::vector<Array> captures;
  std::vector<uint8_t> donate;
  std::shared_ptr<const void> result;  // the function's result, with tracers for leaves
};
using JitEntryRef = std::shared_ptr<const JitEntry>;

// The calls one jitted function has seen, the latest kMaxEntries. Thread-safe.
class JitCache {
 public:
  static constexpr size_t kMaxEntries = 1024;
  JitCache();
  ~JitCache();
  JitCache(const JitCache&) = delete;
  JitCache& operator=(const JitCache&) = delete;
  // Empties those of all functions.
  static void clear_all();

  JitEntryRef find(const void* types, std::string_view statics, std::span<const Array> leaves);
  void insert(JitEntryRef entry);

 private:
  ForkSafeMutex mutex_{ForkParticipant::Level::kCalls};
  std::vector<JitEntryRef> entries_;  // the latest found first
};

// A function traced with its arguments' types.
struct TracedCall {
  TracedFunction traced;
  std::shared_ptr<const void> result;
  std::vector<NamedSharding> out_shardings;
};

JitEntryRef compile_call(TracedCall call, const void* types, std::string_view statics,
                         std::span<const Array> leaves,
                         const std::vector<NamedSharding>& in_shardings,
                         std::vector<uint8_t> donate,
                         const std::optional<CommBudget>& budget = std::nullopt,
                         const AxisSizes& compute_as = {});
Lowered lower_call(TracedCall call, std::span<const Array> leaves,
                   const std::vector<NamedSharding>& in_shardings,
                   const AxisSizes& compute_as = {});
std::vector<Array> run_call(const JitEntry& entry, std::span<const Array> leaves);
void expect_concrete(std::string_view op, std::span<const Array> leaves);

template <class... Args>
inline constexpr char kTypesTag = 0;

// An argument as the function sees it: numbers become Arrays where the function accepts that.
template <bool kNumbersAreArrays, class T>
decltype(auto) as_argument(const T& x) {
  if constexpr (kNumbersAreArrays && std::is_arithmetic_v<T>) {
    return Array(x);
  } else {
    return x;
  }
}
template <class T>
using ArrayIfNumber = std::conditional_t<std::is_arithmetic_v<T>, Array, T>;
template <class F, class... Args>
constexpr bool numbers_are_arrays() {
  if constexpr ((std::is_arithmetic_v<Args> || ...)) {
    return std::is_invocable_v<const F&, const ArrayIfNumber<Args>&...>;
  } else {
    return false;
  }
}

// Calls `f` with tracers in place of the leaves.
template <class F, class... Args>
TracedCall trace_call(const F& f, std::span<const Array> leaves,
                      const PrefixList<NamedSharding>& out_shardings, const Args&... args) {
  using Result = CallResultOf<F, Args...>;
  static_assert(!std::is_void_v<Result>, "a traced function returns its results");
  TracedCall call;
  std::vector<Type> types;
  for (const Array& leaf : leaves) types.push_back(traced_type(leaf));
  call.traced = trace_function(
      [&](const std::vector<Array>& inputs) {
        size_t next = 0;
        [[maybe_unused]] auto with_tracers = [&]<class T>(const T& arg) {
          T copy = arg;
          tree::for_each_leaf(copy, [&](Array& leaf) { leaf = inputs[next++]; });
          return copy;
        };
        std::tuple<std::decay_t<Args>...> traced_args{with_tracers(args)...};
        auto result = std::make_shared<Result>(internal::apply(f, traced_args));
        call.result = result;
        if (!out_shardings.empty())
          call.out_shardings = out_shardings.of_result("jit", "out_shardings", *result);
        return tree::leaves(*result);
      },
      types);
  return call;
}

// Traces `f` with these concrete arguments, runs it and forgets it; the program is cached by its
// structure.
template <class F, class... Args>
auto run_once(std::string_view op, const F& f, const Args&... args) {
  using Result = CallResultOf<F, Args...>;
  std::vector<Array> leaves;
  (tree::for_each_leaf(args, [&](const Array& leaf) { leaves.push_back(leaf); }), ...);
  expect_concrete(op, leaves);
  const JitEntryRef entry =
      compile_call(trace_call(f, leaves, {}, args...), nullptr, {}, leaves, {}, {});
  return tree::unflatten(*static_cast<const Result*>(entry->result.get()),
                         run_call(*entry, leaves));
}

}  // namespace internal

template <class F>
class Jitted {
 public:
  Jitted(F f, JitOptions options) : f_(std::move(f)), options_(std::move(options)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    return call(internal::as_argument<internal::numbers_are_arrays<F, Args...>()>(args)...);
  }

  // The traced function and where its arguments lie. Arguments may be abstract_array()s.
  template <class... Args>
  Lowered lower(const Args&... args) const {
    return lower_arguments(
        internal::as_argument<internal::numbers_are_arrays<F, Args...>()>(args)...);
  }

 private:
  template <class... Args>
  auto call(const Args&... args) const {
    using Result = internal::CallResultOf<F, Args...>;
    if (Trace::current()) return call_traced<Result>(args...);
    boost::container::small_vector<Array, 8> leaves;
    (tree::for_each_leaf(args, [&](const Array& leaf) { leaves.push_back(leaf); }), ...);
    std::string& statics = per_thread<std::string, internal::JitCache>();
    statics.clear();
    (tree::append_static_key(args, statics), ...);
    const std::span<const Array> all(leaves.data(), leaves.size());
    const void* types = &internal::kTypesTag<Args...>;
    internal::JitEntryRef entry = cache_->find(types, statics, all);
    if (!entry) {
      const std::string key = statics;  // tracing may call other jitted functions
      internal::expect_concrete("jit", all);
      entry = internal::compile_call(internal::trace_call(f_, all, options_.out_shardings, args...),
                                     types, key, all, in_shardings(args...), donate_flags(args...),
                                     options_.comm_budget, options_.compute_as);
      cache_->insert(entry);
    }
    std::vector<Array> results = internal::run_call(*entry, all);
    if constexpr (std::is_same_v<Result, Array>) {
      return std::move(results[0]);
    } else {
      return tree::unflatten(*static_cast<const Result*>(entry->result.get()), results);
    }
  }

  template <class... Args>
  Lowered lower_arguments(const Args&... args) const {
    boost::container::small_vector<Array, 8> leaves;
    (tree::for_each_leaf(args, [&](const Array& leaf) { leaves.push_back(leaf); }), ...);
    const std::span<const Array> all(leaves.data(), leaves.size());
    internal::expect_concrete("jit", all);
    return internal::lower_call(internal::trace_call(f_, all, options_.out_shardings, args...), all,
                                in_shardings(args...), options_.compute_as);
  }

  // Inside another traced function: the requested shardings are constraints.
  template <class Result, class... Args>
  Result call_traced(const Args&... args) const {
    if (options_.in_shardings.empty() && options_.out_shardings.empty())
      return internal::call(f_, args...);
    const std::vector<NamedSharding> in = in_shardings(args...);
    size_t next = 0;
    [[maybe_unused]] auto constrained = [&]<class T>(const T& arg) {
      T copy = arg;
      tree::for_each_leaf(copy, [&](Array& leaf) {
        if (!in.empty()) leaf = lax::sharding_constraint(leaf, in[next++]);
      });
      return copy;
    };
    std::tuple<std::decay_t<Args>...> inputs{constrained(args)...};
    Result result = internal::apply(f_, inputs);
    if (options_.out_shardings.empty()) return result;
    const std::vector<NamedSharding> out =
        options_.out_shardings.of_result("jit", "out_shardings", result);
    size_t i = 0;
    tree::for_each_leaf(result,
                        [&](Array& leaf) { leaf = lax::sharding_constraint(leaf, out[i++]); });
    return result;
  }

  template <class... Args>
  std::vector<NamedSharding> in_shardings(const Args&... args) const {
    if (options_.in_shardings.empty()) return {};
    return options_.in_shardings.of_arguments("jit", "in_shardings", args...);
  }

  template <class... Args>
  std::vector<uint8_t> donate_flags(const Args&... args) const {
    if (options_.donate_argnums.empty()) return {};
    std::vector<uint8_t> flags;
    int position = 0;
    [[maybe_unused]] auto add = [&](const auto& arg) {
      const bool donated = std::find(options_.donate_argnums.begin(), options_.donate_argnums.end(),
                                     position++) != options_.donate_argnums.end();
      flags.insert(flags.end(), tree::num_leaves(arg), donated);
    };
    (add(args), ...);
    for (int n : options_.donate_argnums)
      if (n < 0 || n >= position)
        value_error("jit", "expected donate_argnums in [0, {}), got {}", position, n);
    return flags;
  }

  F f_;
  JitOptions options_;
  std::shared_ptr<internal::JitCache> cache_ = std::make_shared<internal::JitCache>();
};

// `f` compiled for the structure of its arguments at each first call. `f` must be pure: it is
// called only to be traced. Errors: those of `f`'s ops; UserError kTrace where it uses a traced
// value as a C++ bool or number, or where a tracer leaks out of it.
template <class F>
Jitted<F> jit(F f, JitOptions options = {}) {
  return Jitted<F>(std::move(f), std::move(options));
}

// The results' types of `f` for such arguments, as abstract arrays in the result's tree; nothing is
// computed.
template <class F, class... Args>
auto eval_shape(const F& f, const Args&... args) {
  using Result = internal::CallResultOf<F, Args...>;
  std::vector<Array> leaves;
  (tree::for_each_leaf(args, [&](const Array& leaf) { leaves.push_back(leaf); }), ...);
  const internal::TracedCall call = internal::trace_call(f, leaves, {}, args...);
  Result out = *static_cast<const Result*>(call.result.get());
  const std::vector<Type> types = call.traced.function.output_types();
  size_t i = 0;
  tree::for_each_leaf(
      out, [&](Array& leaf) { leaf = abstract_array(types[i].shape, types[i].dtype), ++i; });
  return out;
}

}  // namespace tessera
