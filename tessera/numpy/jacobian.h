// Whole Jacobians and Hessians: one pass for each unit vector of the arguments or of the results,
// all of them at once by vmap. They are JAX's jacfwd, jacrev and hessian.
//
//   Array j = jacrev(f)(x);                      // f from an Array to an Array
//   auto [jw, jb] = jacfwd<0, 1>(f)(w, b, x);    // by arguments 0 and 1
//   Params j = jacrev(loss)(params);             // of an Array by a tree: a tree like the argument
//
// The Jacobian of one result array y by one argument array x has y's dtype (jacfwd) or x's (jacrev)
// and shape y.shape + x.shape. For trees it is a tree of results whose leaves are trees of
// arguments:
//   - if the result is an Array: a tree like the argument, or a tuple of them for several argnums;
//   - if the argument is an Array: a tree like the result;
//   - otherwise each Array in a tuple, pair, vector, array, map or optional of the result becomes a
//     tree like the argument, and a struct becomes a vector of such trees, one for each leaf.
#pragma once

#include "tessera/compile/grad.h"

namespace tessera {
namespace internal {

enum class JacobianMode : uint8_t { kForward, kReverse };

// The tree of a call's result, and the Jacobians of each of its leaves by each leaf of the
// arguments `argnums`, those of the first result first. jacobian_erased throws UserError if a
// differentiated leaf or a result is no floating or complex array.
struct Jacobians {
  std::shared_ptr<const void> tree;
  std::vector<Array> blocks;
  size_t num_arguments;  // number of argument leaves
};
Jacobians jacobian_erased(JacobianMode mode, const ErasedCall& call,
                          const std::vector<size_t>& argnums, const std::vector<Array>& leaves);

// Returns a copy of the tree `result` in which each Array is replaced by the next value of
// `next()`, which is a tree X (of the arguments' form).
template <class X, class R, class Next>
auto jacobian_tree(const R& result, const Next& next) {
  namespace t = tree::internal;
  if constexpr (tree::Leaf<R>) {
    return next();
  } else if constexpr (tree::Leaf<X>) {
    R out = result;
    tree::for_each_leaf(out, [&](Array& leaf) { leaf = next(); });
    return out;
  } else if constexpr (t::StaticValue<R>) {
    return result;
  } else if constexpr (t::IsTuple<R>::value) {
    return std::apply(
        [&]<class... Part>(const Part&... part) {  // braces keep this order
          if constexpr (std::is_same_v<R, std::tuple<Part...>>) {
            return std::tuple<decltype(jacobian_tree<X>(part, next))...>{
                jacobian_tree<X>(part, next)...};
          } else {
            return std::pair<decltype(jacobian_tree<X>(part, next))...>{
                jacobian_tree<X>(part, next)...};
          }
        },
        result);
  } else if constexpr (t::IsVector<R>::value) {
    std::vector<decltype(jacobian_tree<X>(result[0], next))> out;
    for (const auto& part : result) out.push_back(jacobian_tree<X>(part, next));
    return out;
  } else if constexpr (t::IsStdArray<R>::value) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      using Part = decltype(jacobian_tree<X>(result[0], next));
      return std::array<Part, sizeof...(I)>{jacobian_tree<X>(result[I], next)...};
    }
    (std::make_index_sequence<std::tuple_size_v<R>>());
  } else if constexpr (t::AnyMap<R>) {
    using Part = decltype(jacobian_tree<X>(result.begin()->second, next));
    typename t::MapOf<R>::template With<Part> out;
    t::for_each_entry(result, [&](const auto& entry) {
      out.emplace(entry.first, jacobian_tree<X>(entry.second, next));
    });
    return out;
  } else if constexpr (t::IsOptional<R>::value) {
    std::optional<decltype(jacobian_tree<X>(*result, next))> out;
    if (result) out.emplace(jacobian_tree<X>(*result, next));
    return out;
  } else {
    std::vector<X> out;
    tree::for_each_leaf(result, [&](const Array&) { out.push_back(next()); });
    return out;
  }
}

template <JacobianMode mode, class F, size_t... argnums>
class Jacobian {
 public:
  explicit Jacobian(F f) : f_(std::move(f)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    static_assert(((argnums < sizeof...(Args)) && ...),
                  "an argument to differentiate by is not there");
    return compute(as_argument<numbers_are_arrays<F, Args...>()>(args)...);
  }

 private:
  template <class... Args>
  auto compute(const Args&... args) const {
    std::vector<Array> leaves;
    append_leaves(leaves, args...);
    const std::tuple<const Args&...> arguments(args...);
    const Jacobians out = jacobian_erased(mode, erase_call(f_, arguments), {argnums...}, leaves);
    auto at = out.blocks.begin();
    const auto next = [&] {
      const std::vector<Array> row(at, at + static_cast<ptrdiff_t>(out.num_arguments));
      at += static_cast<ptrdiff_t>(out.num_arguments);
      return rebuild_arguments<argnums...>(arguments, row);
    };
    using Result = CallResultOf<F, Args...>;
    return jacobian_tree<decltype(next())>(*static_cast<const Result*>(out.tree.get()), next);
  }

  F f_;
};

}  // namespace internal

// Returns a function that computes f's Jacobian by the arguments `argnums` (by the first if none is
// named) in forward mode: one pass for each element of the arguments. It is cheaper than jacrev if
// the arguments have fewer elements than the result.
template <size_t... argnums, class F>
auto jacfwd(F f) {
  constexpr auto kMode = internal::JacobianMode::kForward;
  if constexpr (sizeof...(argnums) == 0) {
    return internal::Jacobian<kMode, F, 0>(std::move(f));
  } else {
    return internal::Jacobian<kMode, F, argnums...>(std::move(f));
  }
}

// Returns a function that computes f's Jacobian in reverse mode: one pass for each element of the
// result.
template <size_t... argnums, class F>
auto jacrev(F f) {
  constexpr auto kMode = internal::JacobianMode::kReverse;
  if constexpr (sizeof...(argnums) == 0) {
    return internal::Jacobian<kMode, F, 0>(std::move(f));
  } else {
    return internal::Jacobian<kMode, F, argnums...>(std::move(f));
  }
}

// Returns a function that computes second derivatives, the Jacobian of the Jacobian. For a scalar
// function of an Array the shape is argument.shape twice.
template <size_t... argnums, class F>
auto hessian(F f) {
  return jacfwd<argnums...>(jacrev<argnums...>(std::move(f)));
}

}  // namespace tessera
