// Rule: a function in an op's definition, or the reason why the op does not have it. The author of
// an op writes a plain function, or a lambda that captures nothing, over the op's own params
// struct:
//
//   Factors transpose_factors(std::span<const Type> operands, std::span<const Type> results,
//                             const TransposeParams& params);
// The compiler calls it with OpParams, which hold that struct. A rule holds two pointers: one to
// the function, and one to the code that unpacks the params, which all rules of one signature and
// struct share.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

#include "tessera/ir/params.h"

namespace tessera::internal {

// The type as which the compiler passes a T: params are passed as OpParams.
template <class T, class P>
using Passed = std::conditional_t<std::is_same_v<T, const P&>, const ir::OpParams&,
                                  std::conditional_t<std::is_same_v<T, P>, ir::OpParams, T>>;

// Returns an argument as the rule takes it: params as their own struct.
template <class T, class P>
decltype(auto) unpacked(Passed<T, P>& argument) {
  if constexpr (std::is_same_v<T, const P&>) {
    return argument.template as<P>();
  } else {
    return std::forward<T>(argument);
  }
}

}  // namespace tessera::internal

namespace tessera::ir {

// The reason why an op lacks a rule, which is written in place of the rule.
struct Absent {
  const char* why;
};
inline Absent absent(const char* why) { return {why}; }

// A rule is a function of type Signature, which takes a const P& and may return a P.
template <class Signature, class P>
struct Rule;

template <class R, class... Args, class P>
struct Rule<R(Args...), P> {
  using Function = R (*)(Args...);
  using Code = void (*)();  // a Function; `call` knows its type

  Code function = nullptr;
  internal::Passed<R, P> (*call)(Code function, internal::Passed<Args, P>... args) = nullptr;
  const char* why_absent = nullptr;

  Rule() = default;
  Rule(Function f)
      : function(reinterpret_cast<Code>(f)),
        call([](Code code, internal::Passed<Args, P>... args) -> internal::Passed<R, P> {
          return reinterpret_cast<Function>(code)(internal::unpacked<Args, P>(args)...);
        }) {}
  template <std::convertible_to<Function> Lambda>
  Rule(Lambda lambda) : Rule(static_cast<Function>(lambda)) {}
  Rule(Absent reason) : why_absent(reason.why) {}

  explicit operator bool() const { return call != nullptr; }
};

// The rule in the form that the compiler calls.
template <class R, class... Args>
struct Rule<R(Args...), OpParams> {
  using Code = void (*)();

  Code function = nullptr;
  R (*call)(Code function, Args... args) = nullptr;
  const char* why_absent = nullptr;

  explicit operator bool() const { return call != nullptr; }
  R operator()(Args... args) const {
    TESSERA_CHECK(call, "the op has no such rule");
    return call(function, std::forward<Args>(args)...);
  }
};

}  // namespace tessera::ir
