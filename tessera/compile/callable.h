// Calls users' functions for the transformations, and explains in one line why one cannot be
// called. A function is called as const, with const references to its arguments.
#pragma once

#include <tuple>
#include <type_traits>

#include "tessera/ir/array.h"

namespace tessera::internal {

template <class F, class... Args>
inline constexpr bool kCallable = std::is_invocable_v<const F&, const Args&...>;

// The type that the function returns. It is Array if the function cannot be called, so that the
// compiler reports that error alone.
template <class F, class... Args>
struct CallResult {
  static_assert(
      kCallable<F, Args...>,
      "the function cannot be called with these arguments: it takes them by value or const "
      "reference (Array&: return the new value), is no `mutable` lambda (return the state, or pass "
      "it as an argument), and its name alone has no default arguments (of sum pass [](const "
      "Array& x) { return sum(x); })");
  using type = Array;
};
template <class F, class... Args>
requires kCallable<F, Args...>
struct CallResult<F, Args...> {
  using Returned = std::decay_t<std::invoke_result_t<const F&, const Args&...>>;
  static_assert(!std::is_void_v<Returned>,
                "the function returns nothing: end it with `return y;`, where y is an Array, or a "
                "pair, tuple, vector or struct of Arrays");
  using type = std::conditional_t<std::is_void_v<Returned>, Array, Returned>;
};
template <class F, class... Args>
using CallResultOf = typename CallResult<F, Args...>::type;

template <class F, class... Args>
CallResultOf<F, Args...> call(const F& f, const Args&... args) {
  if constexpr (!kCallable<F, Args...>) {
    return {};
  } else if constexpr (std::is_void_v<std::invoke_result_t<const F&, const Args&...>>) {
    return {};
  } else {
    return f(args...);
  }
}
template <class F, class... Args>
CallResultOf<F, Args...> apply(const F& f, const std::tuple<Args...>& args) {
  return std::apply([&](const auto&... arg) { return internal::call(f, arg...); }, args);
}

}  // namespace tessera::internal
