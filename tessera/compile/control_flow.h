// Control flow over trees: scan, while_loop, fori_loop, cond, switch_, map, associative_scan. Names
// and semantics are JAX's.
//
//   auto [total, partial] = scan([](const Array& sum, const Array& x) {
//     Array next = sum + x;
//     return std::pair(next, next);
//   }, Array(0.f), xs);                                   // partial[i]: the sum of xs[0..i]
//   Array r = cond(x > 0, [](const Array& x) { return x; }, [](const Array& x) { return -x; }, x);
//
// A body is traced once, whatever the number of trips, and compiled once. Arrays that it captures
// are passed to every trip. Each function works on concrete arrays (as one compiled program),
// inside jit and shard_map, and under every transformation.
//
// A carry keeps its type, otherwise a UserError names the leaf. Weakly typed initial values take
// the dtype that the body returns. Inside shard_map, the manual axes that carries vary over are
// found automatically.
#pragma once

#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/compile/leaf_function.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/ops/core/compare.h"

namespace tessera {

struct ScanOptions {
  // The number of trips. It is required if there is nothing to scan over; otherwise it must agree.
  std::optional<int64_t> length = std::nullopt;
  bool reverse = false;  // from the last slice to the first; results are stacked in the order of xs
};

struct AssociativeScanOptions {
  bool reverse = false;
  int64_t axis = 0;
};

namespace internal {

// The results of scan_flat. The functions named *_flat work on lists of leaves under a trace;
// `paths` names the leaves in messages.
struct FlatLoopResult {
  std::vector<Array> carry, ys;
};
FlatLoopResult scan_flat(std::string_view op, const ir::FlatFn& body, std::vector<Array> init,
                         const std::vector<Array>& xs, const std::vector<std::string>& carry_paths,
                         const std::vector<std::string>& xs_paths, const ScanOptions& options);
std::vector<Array> while_flat(std::string_view op, const ir::FlatFn& cond, const ir::FlatFn& body,
                              std::vector<Array> init, const std::vector<std::string>& paths);
// Binds a conditional. `index` is a bool or integer scalar. `result_paths` is called only after a
// branch has been called, since only then the results are known.
std::vector<Array> case_flat(std::string_view op, const Array& index,
                             const std::vector<ir::FlatFn>& branches,
                             const std::vector<Array>& args,
                             const std::function<std::vector<std::string>()>& result_paths);
std::vector<Array> associative_scan_flat(
    const std::function<std::vector<Array>(const std::vector<Array>&, const std::vector<Array>&)>&
        combine,
    const std::vector<Array>& elements, const std::vector<std::string>& paths,
    const AssociativeScanOptions& options);

Array as_predicate(const Array& pred);
Array as_branch_index(const Array& index, int64_t branches);
// Returns both bounds of a loop as integers of one dtype.
std::pair<Array, Array> loop_bounds(const Array& lower, const Array& upper);
Array increment(const Array& i);

template <class T>
std::vector<std::string> leaf_paths(const T& tree, const std::string& name) {
  std::vector<std::string> out;
  tree::append_leaf_paths(tree::outline(tree), name, out);
  return out;
}
[[noreturn]] void throw_structures_differ(std::string_view op, const char* what);
[[noreturn]] void throw_no_branch();

// Throws UserError unless the two trees have the same structure.
template <class T>
void expect_structure(std::string_view op, const char* what, const T& expected, const T& got) {
  std::string a, b;
  tree::append_static_key(expected, a);
  tree::append_static_key(got, b);
  if (a != b) throw_structures_differ(op, what);
}

// Calls `traced` under the current trace or, if there is none, compiles and runs it as a program.
template <class F, class... Args>
auto under_trace(std::string_view op, const F& traced, const Args&... args) {
  if (ir::Trace::current()) return traced(args...);
  return run_once(op, traced, args...);
}

template <class T>
inline constexpr bool kPair = false;
template <class A, class B>
inline constexpr bool kPair<std::pair<A, B>> = true;
template <class A, class B>
inline constexpr bool kPair<std::tuple<A, B>> = true;

template <class F, class Carry, class X>
auto scan_traced(std::string_view op, const F& f, const Carry& init, const X& xs,
                 const ScanOptions& options) {
  if constexpr (!kCallable<F, Carry, X>) {
    return std::pair(init, CallResultOf<F, Carry, X>());
  } else {
    LeafFunction<F, Carry, X> body(f, init, xs);
    using Result = typename decltype(body)::Result;
    static_assert(kPair<Result>,
                  "the body of a scan returns a pair of the new carry and what is stacked: write "
                  "return std::pair(carry, y), or std::pair(carry, None)");
    if constexpr (!kPair<Result>) {
      return std::pair(init, body.result());
    } else {
      using Next = std::decay_t<std::tuple_element_t<0, Result>>;
      static_assert(std::is_same_v<Next, Carry>,
                    "the body of a scan returns a carry of another C++ type than it starts with: "
                    "make both one, for example Array(0.f) and an Array");
      const auto flat = [&](const std::vector<Array>& inputs) {
        std::vector<Array> out = body(inputs);
        expect_structure(op, "carries", init, std::get<0>(body.result()));
        return out;
      };
      FlatLoopResult out = scan_flat(op, flat, tree::leaves(init), tree::leaves(xs),
                                     leaf_paths(init, "carry"), leaf_paths(xs, "xs"), options);
      return std::pair(tree::unflatten(std::get<0>(body.result()), out.carry),
                       tree::unflatten(std::get<1>(body.result()), out.ys));
    }
  }
}

template <class Cond, class Body, class Carry>
Carry while_traced(std::string_view op, const Cond& cond, const Body& body, const Carry& init) {
  if constexpr (!kCallable<Cond, Carry> || !kCallable<Body, Carry>) {
    return CallResultOf<Cond, Carry>(), CallResultOf<Body, Carry>(), init;
  } else {
    LeafFunction<Cond, Carry> condition(cond, init);
    LeafFunction<Body, Carry> step(body, init);
    static_assert(std::is_same_v<typename decltype(condition)::Result, Array>,
                  "the condition of a while_loop returns a bool Array: write return x < 3");
    static_assert(
        std::is_same_v<typename decltype(step)::Result, Carry>,
        "the body of a loop returns a carry of another C++ type than it starts with: make "
        "both one, for example Array(0.f) and an Array");
    const auto flat = [&](const std::vector<Array>& inputs) {
      std::vector<Array> out = step(inputs);
      expect_structure(op, "carries", init, step.result());
      return out;
    };
    return tree::unflatten(init, while_flat(op, condition.flat(), flat, tree::leaves(init),
                                            leaf_paths(init, "carry")));
  }
}

template <class Branches>
struct FirstBranch;
template <class First, class... Rest>
struct FirstBranch<std::tuple<First, Rest...>> {
  using type = First;
};
template <class F>
struct FirstBranch<std::vector<F>> {
  using type = F;
};

// Calls one of `branches`, a tuple or a vector of callables. `index` is a bool or integer scalar.
template <class Branches, class... Args>
auto case_traced(std::string_view op, const Array& index, const Branches& branches,
                 const Args&... args) {
  using Result = typename LeafFunction<typename FirstBranch<Branches>::type, Args...>::Result;
  std::optional<Result> result;
  const auto flatten = [&](const auto& branch) -> ir::FlatFn {
    using Branch = LeafFunction<std::decay_t<decltype(branch)>, Args...>;
    constexpr bool kSame = std::is_same_v<typename Branch::Result, Result>;
    static_assert(kSame,
                  "the branches of cond and switch_ return different C++ types: make each return "
                  "an Array, or the same pair, tuple or struct of Arrays");
    if constexpr (kSame) {
      return [&, f = &branch](const std::vector<Array>& inputs) {
        Branch call(*f, args...);
        std::vector<Array> out = call(inputs);
        if (result) expect_structure(op, "results of all branches", *result, call.result());
        if (!result) result.emplace(call.result());
        return out;
      };
    } else {
      return {};
    }
  };
  std::vector<ir::FlatFn> flat;
  if constexpr (requires { branches.begin(); }) {
    for (const auto& branch : branches) flat.push_back(flatten(branch));
  } else {
    std::apply([&](const auto&... branch) { (flat.push_back(flatten(branch)), ...); }, branches);
  }
  std::vector<Array> leaves;
  append_leaves(leaves, args...);
  const std::vector<Array> out =
      case_flat(op, index, flat, leaves, [&] { return leaf_paths(*result, "result"); });
  return tree::unflatten(*result, out);
}

}  // namespace internal

// Folds f over the leading dimension of every leaf of xs:
//   f(carry, x) -> pair(carry, y), x a slice of xs;  result: pair(last carry, ys stacked).
// Without leaves in xs (None), a length is required. Throws UserError if lengths differ, or if the
// shape, dtype or structure of a carry changes; each error names the leaf.
template <class F, class Carry, class X>
auto scan(const F& f, const Carry& init, const X& xs, const ScanOptions& options = {}) {
  const auto traced = [&](const auto& start, const auto& elements) {
    return internal::scan_traced("scan", f, start, elements, options);
  };
  return internal::under_trace("scan", traced, internal::as_argument<true>(init), xs);
}

// Returns the first carry for which cond(carry), a bool scalar, is false; body(carry) -> carry. If
// cond differs between the devices of a shard_map, every device stops by itself.
template <class Cond, class Body, class Carry>
auto while_loop(const Cond& cond, const Body& body, const Carry& init) {
  const auto traced = [&](const auto& start) {
    return internal::while_traced("while_loop", cond, body, start);
  };
  return internal::under_trace("while_loop", traced, internal::as_argument<true>(init));
}

// Returns the carry after body(i, carry) -> carry for i = lower, ..., upper - 1. With C++ integers
// the number of trips is known, and the loop has a derivative in both directions; with Arrays it is
// a while_loop.
template <class Lower, class Upper, class Body, class Carry>
auto fori_loop(const Lower& lower, const Upper& upper, const Body& body, const Carry& init) {
  if constexpr (std::is_integral_v<Lower> && std::is_integral_v<Upper>) {
    const auto above = static_cast<int64_t>(upper) - static_cast<int64_t>(lower);
    const int64_t trips = above > 0 ? above : 0;
    const auto traced = [&]<class T>(const T& start) {
      const auto step = [&](const std::pair<Array, T>& state, NoneType) {
        return std::pair(std::pair(internal::increment(state.first),
                                   T(internal::call(body, state.first, state.second))),
                         None);
      };
      return internal::scan_traced("fori_loop", step, std::pair(Array(lower), start), None,
                                   {.length = trips})
          .first.second;
    };
    return internal::under_trace("fori_loop", traced, internal::as_argument<true>(init));
  } else {
    const auto traced = [&]<class T>(const Array& first, const Array& last, const T& start) {
      const auto bounds = internal::loop_bounds(first, last);
      using State = std::tuple<Array, Array, T>;
      const auto below = [](const State& s) { return lax::lt(std::get<0>(s), std::get<1>(s)); };
      const auto step = [&](const State& s) {
        return State(internal::increment(std::get<0>(s)), std::get<1>(s),
                     internal::call(body, std::get<0>(s), std::get<2>(s)));
      };
      return std::get<2>(internal::while_traced("fori_loop", below, step,
                                                State(bounds.first, bounds.second, start)));
    };
    return internal::under_trace("fori_loop", traced, internal::as_argument<true>(lower),
                                 internal::as_argument<true>(upper),
                                 internal::as_argument<true>(init));
  }
}

// Returns true_fn(args...) if pred, a scalar, is true (for numbers: not 0), otherwise
// false_fn(args...). Only the chosen one runs, unless pred differs between the devices of a
// shard_map: then both run. Both must return the same structure, shapes and dtypes; otherwise a
// UserError names the leaf.
template <class True, class False, class... Args>
auto cond(const Array& pred, const True& true_fn, const False& false_fn, const Args&... args) {
  const auto traced = [&](const Array& p, const auto&... x) {
    return internal::case_traced("cond", internal::as_predicate(p),
                                 std::tuple<False, True>(false_fn, true_fn), x...);
  };
  return internal::under_trace("cond", traced, pred, internal::as_argument<true>(args)...);
}

// Returns branches[index](args...), with the index clamped to the branches: a tuple of callables,
// or a vector of one type of callable. Throws UserError if there is no branch.
template <class Branches, class... Args>
auto switch_(const Array& index, const Branches& branches, const Args&... args) {
  size_t count = 0;
  if constexpr (requires { branches.size(); }) {
    count = branches.size();
    if (count == 0) internal::throw_no_branch();
  } else {
    count = std::tuple_size_v<Branches>;
  }
  const auto traced = [&](const Array& i, const auto&... x) {
    return internal::case_traced("switch_", internal::as_branch_index(i, count), branches, x...);
  };
  return internal::under_trace("switch_", traced, index, internal::as_argument<true>(args)...);
}

// Returns the stacked results of f, called for one slice after the other of the leading dimension
// of every leaf of xs.
template <class F, class X>
auto map(const F& f, const X& xs) {
  const auto traced = [&](const auto& elements) {
    const auto step = [&](NoneType, const auto& x) {
      return std::pair(None, internal::call(f, x));
    };
    return internal::scan_traced("map", step, None, elements, {}).second;
  };
  return internal::under_trace("map", traced, xs);
}

// Returns the prefix combinations of elements along `axis` by an associative fn(a, b), which
// combines blocks of elements at once: result[i] = fn(result[i - 1], elements[i]). It calls fn
// about 2 log2(n) times (Blelloch, 1990).
template <class F, class T>
T associative_scan(const F& fn, const T& elements, const AssociativeScanOptions& options = {}) {
  const auto traced = [&](const T& elems) -> T {
    const auto combine = [&](const std::vector<Array>& a, const std::vector<Array>& b) {
      const T out = internal::call(fn, tree::unflatten(elems, a), tree::unflatten(elems, b));
      internal::expect_structure("associative_scan", "results and elements", elems, out);
      return tree::leaves(out);
    };
    return tree::unflatten(
        elems, internal::associative_scan_flat(combine, tree::leaves(elems),
                                               internal::leaf_paths(elems, "elems"), options));
  };
  return internal::under_trace("associative_scan", traced, elements);
}

}  // namespace tessera
