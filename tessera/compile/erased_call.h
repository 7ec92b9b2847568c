// ErasedCall: a user's callable and its arguments with their C++ types hidden. Of jit (and of eager
// calls), only the templates of this header are compiled once for each of a user's functions;
// jit.cc works on flat lists of leaves, and on outlines of trees.
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/compile/callable.h"

namespace tessera::internal {

// The result of a call: its leaves, and the tree that they belong to.
struct ErasedResult {
  std::vector<Array> leaves;
  std::shared_ptr<const void> tree;
  tree::Outline (*outline)(const void* tree);

  ErasedResult();
  ErasedResult(std::vector<Array> leaves, std::shared_ptr<const void> tree,
               tree::Outline (*outline)(const void* tree));
  ErasedResult(const ErasedResult&);
  ErasedResult(ErasedResult&&) noexcept;
  ErasedResult& operator=(const ErasedResult&);
  ErasedResult& operator=(ErasedResult&&) noexcept;
  ~ErasedResult();
};

struct ErasedCall {
  const void* function;
  const void* arguments;  // a std::tuple<const Args&...>
  ErasedResult (*call)(const ErasedCall& self, const std::vector<Array>& leaves);
  std::vector<tree::Outline> (*outlines)(const void* arguments);

  // Calls the function with the arguments' leaves replaced by these.
  ErasedResult operator()(const std::vector<Array>& leaves) const { return call(*this, leaves); }
  std::vector<tree::Outline> argument_outlines() const { return outlines(arguments); }
};

template <class T>
tree::Outline erased_outline(const void* tree) {
  return tree::outline(*static_cast<const T*>(tree));
}
template <class... Args>
std::vector<tree::Outline> erased_outlines(const void* arguments) {
  tree::Outline out(tree::Outline::Kind::kNode, {});
  std::apply([&](const Args&... arg) { (out.append(tree::outline(arg)), ...); },
             *static_cast<const std::tuple<const Args&...>*>(arguments));
  return std::move(out.children);
}

// Returns the result of a call as the C++ type that the function returned.
template <class Result>
Result typed_result(const ErasedResult& result) {
  if constexpr (tree::Leaf<Result>) {
    return result.leaves[0];
  } else {
    return tree::unflatten(*static_cast<const Result*>(result.tree.get()), result.leaves);
  }
}

// The leaves of a call's arguments: stored inline if they are few.
class CallLeaves {
 public:
  CallLeaves();
  CallLeaves(const CallLeaves&) = delete;
  CallLeaves& operator=(const CallLeaves&) = delete;
  ~CallLeaves();
  void push_back(const Array& leaf);
  operator std::span<const Array>() const { return {leaves_.data(), leaves_.size()}; }

 private:
  boost::container::small_vector<Array, 8> leaves_;
};

// Appends the leaves of several trees, one after the other.
template <class Leaves, class... Args>
void append_leaves(Leaves& out, const Args&... args) {
  (tree::for_each_leaf(args, [&](const Array& leaf) { out.push_back(leaf); }), ...);
}
// Returns a tree like `like` with the leaves from `next` on, and advances `next`.
template <class T>
T with_leaves(const T& like, const Array*& next) {
  if constexpr (tree::Leaf<T>) {
    return *next++;
  } else {
    T out = like;
    tree::for_each_leaf(out, [&](Array& leaf) { leaf = *next++; });
    return out;
  }
}

template <class F, class... Args>
ErasedResult call_erased(const ErasedCall& self, const std::vector<Array>& leaves) {
  using Result = CallResultOf<F, Args...>;
  const Array* next = leaves.data();
  // Within braces, elements are evaluated in order.
  const std::tuple<Args...> args =
      std::apply([&](const Args&... arg) { return std::tuple<Args...>{with_leaves(arg, next)...}; },
                 *static_cast<const std::tuple<const Args&...>*>(self.arguments));
  auto result =
      std::make_shared<Result>(internal::apply(*static_cast<const F*>(self.function), args));
  std::vector<Array> out = tree::leaves(*result);
  return {std::move(out), std::move(result), erased_outline<Result>};
}

template <class F, class... Args>
ErasedCall erase_call(const F& f, const std::tuple<const Args&...>& args) {
  return {&f, &args, call_erased<F, Args...>, erased_outlines<Args...>};
}

// Maps leaves of the arguments to the result of a call: an ErasedCall, or a transform of one.
using ErasedFn = std::function<ErasedResult(const std::vector<Array>&)>;
// Traces the function with these concrete leaves and runs it as a program, which is cached by its
// structure. Returns its result with the computed arrays as leaves.
ErasedResult run_erased(std::string_view op, const ErasedFn& function,
                        const std::vector<Array>& leaves);
// Calls the function under the current trace or, if there is none, as run_erased() does.
ErasedResult run_under_trace(std::string_view op, const ErasedFn& function,
                             const std::vector<Array>& leaves);

template <class F, class... Args>
auto run_once(std::string_view op, const F& f, const Args&... args) {
  using Result = CallResultOf<F, Args...>;
  std::vector<Array> leaves;
  append_leaves(leaves, args...);
  const std::tuple<const Args&...> arguments(args...);
  return typed_result<Result>(run_erased(op, erase_call(f, arguments), leaves));
}

// Returns an argument as the function gets it: numbers become Arrays if the function accepts that.
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

}  // namespace tessera::internal
