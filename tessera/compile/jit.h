// jit: traces and compiles a function once for every structure of its arguments. Further calls run
// the compiled program.
//
//   auto f = jit([](const Array& x) { return 2 * sin(x) + 1; });
//   Array y = f(x);                          // traced, compiled and run
//   Array z = f(y);                          // an argument of the same type: only run
//   std::cout << f.lower(x).explain();       // what would be communicated, and why
//
// Arguments and results are trees (base/tree.h). C++ numbers are traced as weakly typed scalars if
// the function accepts Arrays in their position, and are static otherwise. A call of jit(f) inside
// another traced function is a call of f.
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
  // The requested shardings of arguments and results: one sharding for all, or a list with one
  // entry for each, which is a sharding or a tree of shardings. If empty, arguments keep theirs,
  // and propagation chooses those of results.
  PrefixList<NamedSharding> in_shardings = {}, out_shardings = {};
  // The arguments (by position) whose memory the results may use. A donated array is deleted: using
  // it again is an error.
  std::vector<int> donate_argnums = {};
  // Limits of communication, checked when a call is compiled. Inside another traced function the
  // budget of that function applies instead.
  std::optional<CommBudget> comm_budget = std::nullopt;
  // Mesh axes to compute on as if they had the given number of devices, a multiple of the real
  // number: {{"x", 8}} computes the same bits on 1, 2, 4 and 8 devices along x. Inside another
  // traced function the choice of that function applies.
  AxisSizes compute_as = {};
};

namespace internal {

// The program of a call (jit_cache.h).
struct JitEntry;
using JitEntryRef = std::shared_ptr<const JitEntry>;
class JitCache;

std::vector<Array> run_call(const JitEntry& entry, std::span<const Array> leaves);
// Returns the function's result, with tracers as leaves.
const void* result_of(const JitEntry& entry);

// The part of a jitted function that does not depend on its C++ types: its options, and the
// programs of its earlier calls.
class JitCore {
 public:
  JitCore(JitOptions options, SourceLocation where);
  ~JitCore();

  // Returns the program of an earlier call with such arguments; null if there was none. `types`
  // identifies the C++ types of the arguments, `statics` their static parts.
  JitEntryRef find(const void* types, std::string_view statics,
                   std::span<const Array> leaves) const;
  JitEntryRef compile(const ErasedCall& call, const void* types, const std::string& statics,
                      std::span<const Array> leaves) const;
  Lowered lower(const ErasedCall& call, std::span<const Array> leaves) const;

  // Returns whether shardings were requested. Inside another traced function, requests become
  // sharding constraints.
  bool constrains() const;
  // Returns the result of a call under a trace, with the requested shardings as constraints.
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

// Returns the results of a call as abstract arrays.
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

  // Returns the traced function and the shardings of its arguments, which may be abstract_array()s.
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
      const std::string key = statics;  // a copy, since tracing may call other jitted functions
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

// Returns `f` as a function that is compiled at the first call for each structure of its arguments.
// `f` must be pure: it is called only to be traced. Calls throw the errors of the ops in `f`, with
// `where` appended, and UserError kTrace if `f` uses a traced value as a C++ bool or number, or if
// a tracer leaks out of it.
template <class F>
Jitted<F> jit(F f, JitOptions options = {}, SourceLocation where = SourceLocation::current()) {
  return Jitted<F>(std::move(f), std::move(options), where);
}

// Returns the types of the results of `f` for such arguments, as abstract arrays in the tree of the
// result. Nothing is computed.
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
