// Whole Jacobians and Hessians, a unit vector of the arguments or of the results at a time (all at
// once by vmap). JAX's jacfwd, jacrev and hessian.
//
//   Array j = jacrev(f)(x);                      // f from an Array to an Array
//   auto [jw, jb] = jacfwd<0, 1>(f)(w, b, x);    // by arguments 0 and 1
//   Params j = jacrev(loss)(params);             // of an Array by a tree: a tree like the argument
//
// The Jacobian of one result array y by one argument array x is of y's dtype (jacfwd) or x's
// (jacrev) and of shape y.shape + x.shape. Of trees it is a tree of results whose leaves are trees
// of arguments:
//   - the result is an Array: like the argument, or a tuple of those of several argnums;
//   - the argument is an Array: like the result;
//   - else each Array of a result's tuple, pair, vector, array, map or optional becomes a tree like
//     the argument, and a struct becomes a vector of them, one a leaf, in order.
#pragma once

#include "tessera/compile/grad.h"

namespace tessera {
namespace internal {

enum class JacobianMode : uint8_t { kForward, kReverse };

// The tree of a call's result, and the Jacobians of every leaf of it by every leaf of the arguments
// `argnums`: those of the first result first. UserErrors: a differentiated leaf or a result that is
// no float or complex array.
struct Jacobians {
  std::shared_ptr<const void> tree;
  std::vector<Array> blocks;
  size_t num_arguments;  // leaves
};
Jacobians jacobian_erased(JacobianMode mode, const ErasedCall& call,
                          const std::vector<size_t>& argnums, const std::vector<Array>& leaves);

// The tree of a result whose Arrays are replaced by what `next` gives, trees X like the arguments.
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
        [&]<class... Part>(const Part&... part) {  // braces: in this order
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

// The Jacobian of a function by the arguments `argnums` (the first if none is named), forward: one
// pass for each element of the arguments. Cheaper than jacrev where these are fewer than the
// result's.
template <size_t... argnums, class F>
auto jacfwd(F f) {
  constexpr auto kMode = internal::JacobianMode::kForward;
  if constexpr (sizeof...(argnums) == 0) {
    return internal::Jacobian<kMode, F, 0>(std::move(f));
  } else {
    return internal::Jacobian<kMode, F, argnums...>(std::move(f));
  }
}

// The Jacobian in reverse: one pass for each element of the result.
template <size_t... argnums, class F>
auto jacrev(F f) {
  constexpr auto kMode = internal::JacobianMode::kReverse;
  if constexpr (sizeof...(argnums) == 0) {
    return internal::Jacobian<kMode, F, 0>(std::move(f));
  } else {
    return internal::Jacobian<kMode, F, argnums...>(std::move(f));
  }
}

// The second derivatives: the Jacobian of the Jacobian. Of a scalar function of an Array: shape
// argument.shape twice.
template <size_t... argnums, class F>
auto hessian(F f) {
  return jacfwd<argnums...>(jacrev<argnums...>(std::move(f)));
}

}  // namespace tessera
