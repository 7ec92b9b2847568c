// Derivatives of callables over trees: grad, value_and_grad, vjp, jvp, linearize, jacfwd, jacrev,
// hessian. Names and semantics are JAX's, except that gradients have the C++ types of the
// arguments.
//
//   auto [loss, grads] = value_and_grad(loss_fn)(params, x, y);     // grads: a Params
//   auto [dx, dy] = grad<1, 2>(loss_fn)(params, x, y);              // by arguments 1 and 2
//
// Each works on concrete arrays (as one compiled program), inside jit, shard_map and vmap, and on
// functions that use any of them. Arrays that the callable captures are constants.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "tessera/compile/derivatives.h"
#include "tessera/compile/leaf_function.h"

namespace tessera {
namespace internal {

// The result of a function to differentiate: a scalar, or a scalar and auxiliary results.
template <class R>
struct LossResult {
  static_assert(std::is_same_v<R, Array>,
                "a function to differentiate returns its loss, an Array: write return sum(y), or "
                "std::pair(loss, anything) for further results");
  static constexpr bool kHasAux = false;
};
template <class Aux>
struct LossResult<std::pair<Array, Aux>> {
  static constexpr bool kHasAux = true;
};
template <class Aux>
struct LossResult<std::tuple<Array, Aux>> {
  static constexpr bool kHasAux = true;
};

// Returns the differentiated arguments with these leaves: one tree, or a tuple of trees.
template <size_t... argnums, class... Args>
auto rebuild_arguments(const std::tuple<Args...>& args, const std::vector<Array>& leaves) {
  const Array* next = leaves.data();
  if constexpr (sizeof...(argnums) == 1) {
    return with_leaves(std::get<argnums...>(args), next);
  } else {
    // braces evaluate in this order
    return std::tuple{with_leaves(std::get<argnums>(args), next)...};
  }
}

template <class F, size_t... argnums>
class ValueAndGrad {
  static_assert(sizeof...(argnums) > 0);

 public:
  explicit ValueAndGrad(F f) : f_(std::move(f)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    static_assert(
        ((argnums < sizeof...(Args)) && ...),
        "there are fewer arguments than the one to differentiate by: the first is grad<0>");
    return compute(as_argument<numbers_are_arrays<F, Args...>()>(args)...);
  }

 private:
  template <class... Args>
  auto compute(const Args&... args) const {
    using Result = CallResultOf<F, Args...>;
    constexpr bool has_aux = LossResult<Result>::kHasAux;
    std::vector<Array> leaves;
    append_leaves(leaves, args...);
    const std::tuple<const Args&...> arguments(args...);
    ValueAndGradients out = value_and_grad_erased(erase_call(f_, arguments), {argnums...}, leaves);
    auto gradients = rebuild_arguments<argnums...>(arguments, out.gradients);
    if constexpr (has_aux) {
      return std::pair(typed_result<Result>(out.value), std::move(gradients));
    } else {
      return std::pair(std::move(out.value.leaves[0]), std::move(gradients));
    }
  }
  F f_;
};

template <class F, size_t... argnums>
class Grad {
 public:
  explicit Grad(F f) : value_and_grad_(std::move(f)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    auto [value, gradients] = value_and_grad_(args...);
    if constexpr (std::is_same_v<decltype(value), Array>) {
      return std::move(gradients);
    } else {
      return std::pair(std::move(gradients), std::get<1>(std::move(value)));
    }
  }

 private:
  ValueAndGrad<F, argnums...> value_and_grad_;
};

}  // namespace internal

// Returns the function (args...) -> (value, gradients by the arguments `argnums`; the first if none
// is named). `f` returns a real scalar, or a pair of that scalar and auxiliary results, which are
// passed on. Inside shard_map a gradient varies over the axes that the value varies over: it is the
// device's own gradient for a device's own loss, and the sum over devices for a loss that is the
// same everywhere (after psum, pmean). Throws UserError for a result that is not a real
// floating-point scalar, a differentiated leaf that is not floating-point, and an op without a
// derivative.
template <size_t... argnums, class F>
auto value_and_grad(F f) {
  if constexpr (sizeof...(argnums) == 0) {
    return internal::ValueAndGrad<F, 0>(std::move(f));
  } else {
    return internal::ValueAndGrad<F, argnums...>(std::move(f));
  }
}

// Returns the function that returns only the gradients, or a pair of the gradients and the
// auxiliary results.
template <size_t... argnums, class F>
auto grad(F f) {
  if constexpr (sizeof...(argnums) == 0) {
    return internal::Grad<F, 0>(std::move(f));
  } else {
    return internal::Grad<F, argnums...>(std::move(f));
  }
}

// JAX's grad(f, argnums) does not exist here: the types of the gradients depend on argnums, so
// these are template arguments. It is declared so that the compiler's error says this.
template <size_t... argnums, class F, class Argnums>
auto grad(F f, const Argnums&) {
  static_assert(std::is_void_v<F>, "write the arguments to differentiate by as grad<0, 2>(f)");
  return grad<argnums...>(std::move(f));
}
template <size_t... argnums, class F, class Argnums>
auto value_and_grad(F f, const Argnums&) {
  static_assert(std::is_void_v<F>,
                "write the arguments to differentiate by as value_and_grad<0, 2>(f)");
  return value_and_grad<argnums...>(std::move(f));
}

// The pullback of a function at a point. It maps a cotangent of the result to a tuple with a
// cotangent for each argument.
template <class Result, class... Args>
class Pullback {
 public:
  Pullback(internal::LinearizationRef at, std::tuple<Args...> args)
      : at_(std::move(at)), args_(std::move(args)) {}

  std::tuple<Args...> operator()(const Result& cotangent) const {
    const std::vector<Array> out = internal::pull_back(*at_, tree::leaves(cotangent));
    const Array* next = out.data();
    return std::apply(
        [&](const auto&... arg) {  // braces evaluate in this order
          return std::tuple<Args...>{internal::with_leaves(arg, next)...};
        },
        args_);
  }

 private:
  internal::LinearizationRef at_;
  std::tuple<Args...> args_;
};

// The derivative of a function at a point. It maps a tangent for each argument to the tangent of
// the result.
template <class Result, class... Args>
class Pushforward {
 public:
  Pushforward(internal::LinearizationRef at, Result result)
      : at_(std::move(at)), result_(std::move(result)) {}

  Result operator()(const Args&... tangents) const {
    std::vector<Array> leaves;
    internal::append_leaves(leaves, tangents...);
    return tree::unflatten(result_, internal::push_forward(*at_, leaves));
  }

 private:
  internal::LinearizationRef at_;
  Result result_;
};

namespace internal {

// Linearizes `f` by all its arguments. Outside of a trace one program computes the results and
// residuals.
template <class F, class... Args>
auto linearize_all(std::string_view op, const F& f, const Args&... args) {
  LinearizationRef at;
  const auto traced = [&](const auto&... x) {
    LeafFunction<F, std::decay_t<decltype(x)>...> leaf(f, x...);
    at = linearize_all_flat(op, leaf.flat(), leaf.leaves(), leaf.paths());
    return std::pair(tree::unflatten(leaf.result(), results_of(*at)), residuals_of(*at));
  };
  if (ir::Trace::current()) {
    auto result = traced(args...).first;
    return std::pair(std::move(result), std::move(at));
  }
  auto [result, residuals] = run_once(op, traced, args...);
  at = computed(*at, tree::leaves(result), std::move(residuals));
  return std::pair(std::move(result), std::move(at));
}

}  // namespace internal

// Returns (f(args...), its pullback). The residuals that the pullback needs are kept on the device.
template <class F, class... Args>
auto vjp(const F& f, const Args&... args) {
  auto [result, at] = internal::linearize_all("vjp", f, args...);
  using Result = std::decay_t<decltype(result)>;
  Pullback<Result, Args...> pullback(std::move(at), std::tuple<Args...>(args...));
  return std::pair(std::move(result), std::move(pullback));
}

// Returns (f(args...), its tangent map).
template <class F, class... Args>
auto linearize(const F& f, const Args&... args) {
  auto [result, at] = internal::linearize_all("linearize", f, args...);
  using Result = std::decay_t<decltype(result)>;
  Pushforward<Result, Args...> pushforward(std::move(at), result);
  return std::pair(std::move(result), std::move(pushforward));
}

// Returns (f(primals...), the derivative of f along the tangents). Tangents have the trees of the
// primals.
template <class F, class... Args>
auto jvp(const F& f, const std::tuple<Args...>& primals, const std::tuple<Args...>& tangents) {
  const auto traced = [&](const std::tuple<Args...>& x, const std::tuple<Args...>& t) {
    return std::apply(
        [&](const auto&... arg) {
          internal::LeafFunction<F, Args...> leaf(f, arg...);
          const internal::ResultsAndTangents out =
              internal::jvp_flat(leaf.flat(), leaf.leaves(), tree::leaves(t), leaf.paths());
          return std::pair(tree::unflatten(leaf.result(), out.results),
                           tree::unflatten(leaf.result(), out.tangents));
        },
        x);
  };
  internal::expect_tangents(tree::num_leaves(primals), tree::num_leaves(tangents));
  if (ir::Trace::current()) return traced(primals, tangents);
  return internal::run_once("jvp", traced, primals, tangents);
}

}  // namespace tessera
