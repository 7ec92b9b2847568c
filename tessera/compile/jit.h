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

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/base/per_thread.h"
#include "tessera/base/source_location.h"
#include "tessera/compile/comm_budget.h"
#include "tessera/compile/erased_call.h"
#include "tessera/compile/lowered.h"
#include "tessera/compile/prefix_tree.h"

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

// The program that serves a call (jit_cache.h).
struct JitEntry;
using JitEntryRef = std::shared_ptr<const JitEntry>;
class JitCache;

std::vector<Array> run_call(const JitEntry& entry, std::span<const Array> leaves);
// The function's result, with tracers for leaves.
const void* result_of(const JitEntry& entry);

// The part of a jitted function that its C++ types do not change: its options, and the programs of the
// calls that it has seen.
class JitCore {
 public:
  JitCore(JitOptions options, SourceLocation where);
  ~JitCore();

  // Null for a call that has not been seen. `types` identifies the C++ types of the arguments,
  // `statics` is what is static about them.
  JitEntryRef find(const void* types, std::string_view statics,
                   std::span<const Array> leaves) const;
  JitEntryRef compile(const ErasedCall& call, const void* types, const std::string& statics,
                      std::span<const Array> leaves) const;
  Lowered lower(const ErasedCall& call, std::span<const Array> leaves) const;

  // Whether shardings were requested, which inside another traced function are constraints.
  bool constrains() const;
  // Under a trace: the call between these constraints.
  ErasedResult call_constrained(const ErasedCall& call, std::vector<Array> leaves) const;

 private:
  std::vector<NamedSharding> in_shardings(const ErasedCall& call) const;
  std::vector<uint8_t> donate_flags(const ErasedCall& call) const;

  const JitOptions options_;
  const SourceLocation where_;
  const std::shared_ptr<JitCache> cache_;
};

std::shared_ptr<const JitCore> make_jit_core(JitOptions options, SourceLocation where);

template <class... Args>
inline constexpr char kTypesTag = 0;

// The results of a call as abstract arrays.
ErasedResult eval_shape_erased(const ErasedCall& call, const std::vector<Array>& leaves);

}  // namespace internal

template <class F>
class Jitted {
 public:
  Jitted(F f, JitOptions options, SourceLocation where)
      : f_(std::move(f)), core_(internal::make_jit_core(std::move(options), where)) {}

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
    if (ir::Trace::current()) return call_traced<Result>(args...);
    internal::CallLeaves leaves;
    internal::append_leaves(leaves, args...);
    std::string& statics = per_thread<std::string, internal::JitCore>();
    statics.clear();
    (tree::append_static_key(args, statics), ...);
    const std::span<const Array> all = leaves;
    const void* types = &internal::kTypesTag<Args...>;
    internal::JitEntryRef entry = core_->find(types, statics, all);
    if (!entry) {
      const std::tuple<const Args&...> arguments(args...);
      const std::string key = statics;  // tracing may call other jitted functions
      entry = core_->compile(internal::erase_call(f_, arguments), types, key, all);
    }
    std::vector<Array> results = internal::run_call(*entry, all);
    if constexpr (std::is_same_v<Result, Array>) {
      return std::move(results[0]);
    } else {
      return tree::unflatten(*static_cast<const Result*>(internal::result_of(*entry)), results);
    }
  }

  template <class... Args>
  Lowered lower_arguments(const Args&... args) const {
    internal::CallLeaves leaves;
    internal::append_leaves(leaves, args...);
    const std::tuple<const Args&...> arguments(args...);
    return core_->lower(internal::erase_call(f_, arguments), leaves);
  }

  template <class Result, class... Args>
  Result call_traced(const Args&... args) const {
    if (!core_->constrains()) return internal::call(f_, args...);
    std::vector<Array> leaves;
    internal::append_leaves(leaves, args...);
    const std::tuple<const Args&...> arguments(args...);
    return internal::typed_result<Result>(
        core_->call_constrained(internal::erase_call(f_, arguments), std::move(leaves)));
  }

  F f_;
  std::shared_ptr<const internal::JitCore> core_;
};

// `f` compiled for the structure of its arguments at each first call. `f` must be pure: it is
// called only to be traced. `where`: what errors of a cluster name. Errors: those of `f`'s ops;
// UserError kTrace where it uses a traced value as a C++ bool or number, or where a tracer leaks out
// of it.
template <class F>
Jitted<F> jit(F f, JitOptions options = {}, SourceLocation where = SourceLocation::current()) {
  return Jitted<F>(std::move(f), std::move(options), where);
}

// The results' types of `f` for such arguments, as abstract arrays in the result's tree; nothing is
// computed.
template <class F, class... Args>
auto eval_shape(const F& f, const Args&... args) {
  using Result = internal::CallResultOf<F, Args...>;
  std::vector<Array> leaves;
  internal::append_leaves(leaves, args...);
  const std::tuple<const Args&...> arguments(args...);
  return internal::typed_result<Result>(
      internal::eval_shape_erased(internal::erase_call(f, arguments), leaves));
}

}  // namespace tessera
