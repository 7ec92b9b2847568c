// Sums of clipped per-example gradients, the core of differentially private training, as a
// transformation like grad: jax_privacy's clipped_grad and clipped_fun. They cost about what grad
// of the sum costs (docs/privacy.md).
//
//   auto loss = [](const Params& p, const Array& x, const Array& y) { ...; return mean(...); };
//   auto g = privacy::clipped_grad(loss, {.l2_clip_norm = 1.0, .batch_argnums = {1, 2}});
//   Params sum = g(params, x, y);                  // x: [batch, ...]; loss sees [1, ...]
//   g.sensitivity(NeighboringRelation::kAddOrRemoveOne);  // 1
//
// Guarantee: adding or removing one example changes the sum by an L2 norm of at most sensitivity().
// Values, norms and auxiliary results have no such guarantee: each of them is computed from one
// example.
#pragma once

#include <type_traits>
#include <utility>

#include "tessera/compile/grad.h"
#include "tessera/compile/leaf_function.h"
#include "tessera/nnx/rngs.h"
#include "tessera/nnx/state.h"
#include "tessera/optim/transformation.h"
#include "tessera/privacy/clipping/clip_pytree.h"
#include "tessera/privacy/clipping/clipped_sum.h"

namespace tessera::privacy {

// The result of clipped_value_and_grad. Values, norms (before clipping) and aux have an entry for
// each example: [batch, ...].
template <class Gradients, class Aux = std::tuple<>>
struct ClippedGradients {
  Gradients grads;
  Array values, grad_norms;
  Aux aux;
};

namespace internal {

// Gives `role` to every leaf of an argument, except to the state of modules inside.
template <class T>
void append_roles(const T& node, LeafRole role, bool in_stream, std::vector<LeafRole>& out,
                  bool parameter = true) {
  if constexpr (tree::Leaf<T>) {
    if (in_stream && node.dtype() == uint32 && node.ndim() == 1) {
      out.push_back(LeafRole::kStream);
    } else {
      out.push_back(role == LeafRole::kParameter && !parameter ? LeafRole::kShared : role);
    }
  } else if constexpr (!tree::internal::StaticValue<T>) {
    constexpr bool stream = std::is_same_v<T, nnx::RngStream>;
    tree::internal::for_each_unnamed_child(node, [&](const auto& child) {
      append_roles(child, role, stream || in_stream, out, parameter && !nnx::internal::State<T>);
    });
  }
}

template <class... Args>
std::vector<LeafRole> roles_of(const ClipOptions& options, const std::vector<size_t>& argnums,
                               const std::tuple<const Args&...>& args) {
  std::vector<LeafRole> out;
  [&]<size_t... i>(std::index_sequence<i...>) {
    (
        [&] {
          LeafRole role = LeafRole::kUndeclared;
          for (size_t s : options.shared_argnums)
            if (s == i) role = LeafRole::kShared;
          for (size_t a : argnums)
            if (a == i) role = LeafRole::kParameter;
          for (size_t b : options.batch_argnums)
            if (b == i) role = LeafRole::kBatch;
          if (options.prng_argnum == i) role = LeafRole::kKey;
          append_roles(std::get<i>(args), role, false, out);
        }(),
        ...);
  }
  (std::index_sequence_for<Args...>());
  return out;
}

template <size_t... argnums, class... Args>
ClipRequest request_of(std::string_view op, const ClipOptions& options,
                       const std::optional<Array>& padding,
                       const std::tuple<const Args&...>& args) {
  ClipOptions checked = checked_options(op, options, sizeof...(Args), {argnums...});
  std::vector<LeafRole> roles = roles_of(checked, {argnums...}, args);
  return {.options = std::move(checked),
          .roles = std::move(roles),
          .paths =
              tessera::internal::argument_paths(tessera::internal::erased_outlines<Args...>(&args)),
          .padding = padding};
}

template <class T>
size_t num_parameters(const T& argument) {
  size_t count = 0;
  nnx::internal::for_each_variable(
      argument, [&](const Array&, const std::string&, bool parameter) { count += parameter; });
  return count;
}

// Returns a copy of the argument with gradients in place of its parameters, and 0 in place of the
// state of modules.
template <class T>
T with_gradients(const T& argument, const Array*& next) {
  T out = argument;
  if constexpr (tree::Leaf<T>) {
    out = *next++;
  } else {
    nnx::internal::for_each_variable(out, [&](Array& leaf, const std::string&, bool parameter) {
      leaf = parameter ? *next++ : zeros_like(leaf);
    });
  }
  return out;
}
// Returns the gradients of the arguments in the order of argnums. `sums` are in the order of the
// arguments.
template <size_t... argnums, class... Args>
auto gradients_of(const std::tuple<const Args&...>& args, const std::vector<Array>& sums) {
  const auto of = [&]<size_t a>(std::integral_constant<size_t, a>) {
    const Array* next = sums.data();
    ((next += argnums < a ? num_parameters(std::get<argnums>(args)) : 0), ...);
    return with_gradients(std::get<a>(args), next);
  };
  if constexpr (sizeof...(argnums) == 1) {
    return of(std::integral_constant<size_t, argnums>()...);
  } else {
    return std::tuple{of(std::integral_constant<size_t, argnums>())...};
  }
}

// Separates a call's last argument from the others if it is a Padding.
template <class F, class... Args>
auto without_padding(const F& f, const Args&... args) {
  constexpr size_t n = sizeof...(Args);
  const std::tuple<const Args&...> all(args...);
  if constexpr (n > 0 &&
                std::is_same_v<std::decay_t<std::tuple_element_t<n - 1, std::tuple<Args...>>>,
                               Padding>) {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return f(std::optional<Array>(std::get<n - 1>(all).mask), std::get<i>(all)...);
    }
    (std::make_index_sequence<n - 1>());
  } else {
    return f(std::optional<Array>(), args...);
  }
}

template <class F, size_t... argnums>
class ClippedValueAndGrad {
  static_assert(sizeof...(argnums) > 0);

 public:
  ClippedValueAndGrad(F f, ClipOptions options) : f_(std::move(f)), options_(std::move(options)) {}

  // Returns privacy::sensitivity of the options.
  double sensitivity(NeighboringRelation relation = NeighboringRelation::kReplaceSpecial) const {
    return privacy::sensitivity(options_, relation);
  }

  template <class... Args>
  auto operator()(const Args&... args) const {
    return without_padding(
        [&](const std::optional<Array>& padding, const auto&... rest) {
          constexpr bool numbers =
              tessera::internal::numbers_are_arrays<F, std::decay_t<decltype(rest)>...>();
          return compute(padding, tessera::internal::as_argument<numbers>(rest)...);
        },
        args...);
  }

 private:
  template <class... Args>
  auto compute(const std::optional<Array>& padding, const Args&... args) const {
    static_assert(((argnums < sizeof...(Args)) && ...),
                  "an argument to differentiate by is not there");
    using Result = tessera::internal::CallResultOf<F, Args...>;
    constexpr bool has_aux = tessera::internal::LossResult<Result>::kHasAux;
    const std::tuple<const Args&...> arguments(args...);
    std::vector<Array> leaves;
    tessera::internal::append_leaves(leaves, args...);
    const ClipRequest request =
        request_of<argnums...>("clipped_grad", options_, padding, arguments);
    ClippedSum out =
        clipped_gradients(tessera::internal::erase_call(f_, arguments), request, leaves);
    auto gradients = gradients_of<argnums...>(arguments, out.sums);
    if constexpr (has_aux) {
      Result values = tessera::internal::typed_result<Result>(out.results);
      using Aux = std::decay_t<decltype(std::get<1>(values))>;
      return ClippedGradients<decltype(gradients), Aux>{std::move(gradients), std::get<0>(values),
                                                        out.norms, std::move(std::get<1>(values))};
    } else {
      return ClippedGradients<decltype(gradients)>{
          std::move(gradients), out.results.leaves[0], out.norms, {}};
    }
  }

  F f_;
  ClipOptions options_;
};

template <class F, size_t... argnums>
class ClippedGrad {
 public:
  ClippedGrad(F f, ClipOptions options) : of_(std::move(f), std::move(options)) {}
  double sensitivity(NeighboringRelation relation = NeighboringRelation::kReplaceSpecial) const {
    return of_.sensitivity(relation);
  }
  template <class... Args>
  auto operator()(const Args&... args) const {
    auto out = of_(args...);
    if constexpr (std::is_same_v<decltype(out.aux), std::tuple<>>) {
      return std::move(out.grads);
    } else {
      return std::pair(std::move(out.grads), std::move(out.aux));
    }
  }

 private:
  ClippedValueAndGrad<F, argnums...> of_;
};

template <class F>
class ClippedFun {
 public:
  ClippedFun(F f, ClipOptions options) : f_(std::move(f)), options_(std::move(options)) {}
  double sensitivity(NeighboringRelation relation = NeighboringRelation::kReplaceSpecial) const {
    return privacy::sensitivity(options_, relation);
  }
  template <class... Args>
  auto operator()(const Args&... args) const {
    return without_padding([&](const std::optional<Array>& padding,
                               const auto&... rest) { return compute(padding, rest...); },
                           args...);
  }

 private:
  template <class T>
  struct ValueOf {
    using type = T;
  };
  template <class A, class B>
  struct ValueOf<std::pair<A, B>> {
    using type = A;
  };

  // Returns the roles of the leaves. The differentiated arguments are the same for all examples.
  template <class... Args>
  ClipRequest request_of_call(const std::optional<Array>& padding,
                              const std::tuple<const Args&...>& arguments) const {
    ClipOptions options = options_;
    if constexpr (requires { F::differentiated(); }) {
      options = checked_options("clipped_grad", options, sizeof...(Args), F::differentiated());
      for (size_t a : F::differentiated()) options.shared_argnums.push_back(a);
    }
    return request_of<>("clipped_fun", options, padding, arguments);
  }

  template <class... Args>
  auto compute(const std::optional<Array>& padding, const Args&... args) const {
    using Result = tessera::internal::CallResultOf<F, Args...>;
    const std::tuple<const Args&...> arguments(args...);
    std::vector<Array> leaves;
    tessera::internal::append_leaves(leaves, args...);
    ClipRequest request = request_of_call(padding, arguments);
    if constexpr (requires { F::kLossFollows; }) {
      request.loss_follows = true;
      request.loss = tessera::internal::erase_call(f_.f, arguments);
    }
    // The paths of the clipped results, which are known once the function has been called.
    std::vector<std::string> values;
    const auto listing = [&](const Args&... x) {
      Result result = tessera::internal::call(f_, x...);
      values.clear();
      if constexpr (std::is_same_v<typename ValueOf<Result>::type, Result>) {
        tree::append_leaf_paths(tree::outline(result), "", values);
      } else {
        tree::append_leaf_paths(tree::outline(std::get<0>(result)), "", values);
      }
      return result;
    };
    const ClippedSum out =
        clipped_values(tessera::internal::erase_call(listing, arguments), request, leaves, values);
    return tessera::internal::typed_result<Result>(out.results);
  }

  F f_;
  ClipOptions options_;
};

// The function that is clipped if the gradient is transformed first. It maps (args...) to (the
// transformed gradient, (value, the gradient's norm, the loss's auxiliary results)).
template <class F, class Transform, size_t... argnums>
struct TransformedGradient {
  static constexpr bool kLossFollows = true;
  static std::vector<size_t> differentiated() { return {argnums...}; }
  F f;
  Transform transform;
  template <class... Args>
  auto operator()(const Args&... args) const {
    auto [value, gradients] = value_and_grad<argnums...>(f)(args...);
    const auto norm = [&gradients = gradients](const Array& loss) {
      return norm_of_whole_example(tree::leaves(gradients), loss);
    };
    if constexpr (std::is_same_v<decltype(value), Array>) {
      return std::pair(transform(gradients), std::tuple(value, norm(value), std::tuple<>()));
    } else {
      const Array& loss = std::get<0>(value);
      return std::pair(transform(gradients), std::tuple(loss, norm(loss), std::get<1>(value)));
    }
  }
};

template <class F, class Transform, size_t... argnums>
class TransformedClippedGrad {
 public:
  TransformedClippedGrad(F f, ClipOptions options, Transform transform)
      : of_({std::move(f), std::move(transform)}, std::move(options)) {}
  double sensitivity(NeighboringRelation relation = NeighboringRelation::kReplaceSpecial) const {
    return of_.sensitivity(relation);
  }
  template <class... Args>
  auto operator()(const Args&... args) const {
    auto [gradients, rest] = of_(args...);
    auto& [values, norms, aux] = rest;
    return ClippedGradients<std::decay_t<decltype(gradients)>, std::decay_t<decltype(aux)>>{
        std::move(gradients), std::move(values), std::move(norms), std::move(aux)};
  }

 private:
  ClippedFun<TransformedGradient<F, Transform, argnums...>> of_;
};

}  // namespace internal

// Returns a function that computes the sums of clipped gradients by the arguments `argnums` (the
// first if none is named), and for each example its loss, norm and aux. `loss` returns a real
// scalar, or a pair of it and auxiliary results. Leaves of the gradients are float32 or wider (see
// ClipOptions::dtype). Only the parameters of nnx modules are differentiated (the gradient of state
// is 0), and each example gets keys of its own from a stream of random keys.
//
// A call's last argument may be a Padding. Throws the UserErrors of the options, and UserError if
// the loss of an example is not a real scalar, if batch arguments have no first dimension or
// different ones, and if an op has no derivative or batching rule.
template <size_t... argnums, class F>
auto clipped_value_and_grad(F loss, ClipOptions options) {
  if constexpr (sizeof...(argnums) == 0) {
    return internal::ClippedValueAndGrad<F, 0>(std::move(loss), std::move(options));
  } else {
    return internal::ClippedValueAndGrad<F, argnums...>(std::move(loss), std::move(options));
  }
}

// Returns a function that computes the sums of clipped gradients alone or, if the loss returns
// auxiliary results, a pair of the sums and these results for each example.
template <size_t... argnums, class F>
auto clipped_grad(F loss, ClipOptions options) {
  if constexpr (sizeof...(argnums) == 0) {
    return internal::ClippedGrad<F, 0>(std::move(loss), std::move(options));
  } else {
    return internal::ClippedGrad<F, argnums...>(std::move(loss), std::move(options));
  }
}

// Returns a function that clips transform(gradients of one example), which may be any tree, in
// place of the gradients; grad_norms are the norms of the gradients. All gradients of a microbatch
// are in memory at once: set a microbatch_size if they are large.
template <size_t... argnums, class F, class Transform>
auto clipped_value_and_grad(F loss, ClipOptions options, Transform pre_clipping_transform) {
  if constexpr (sizeof...(argnums) == 0) {
    return internal::TransformedClippedGrad<F, Transform, 0>(std::move(loss), std::move(options),
                                                             std::move(pre_clipping_transform));
  } else {
    return internal::TransformedClippedGrad<F, Transform, argnums...>(
        std::move(loss), std::move(options), std::move(pre_clipping_transform));
  }
}

// Returns a function that computes the sum over examples of fun's clipped results. If fun returns a
// pair, the first is clipped and summed, and the second is returned for each example.
//
//   auto clipped_mean = privacy::clipped_fun([](const Array& x) { return mean(x); });
//   clipped_mean(array({0.f, 1.f, 2.f, 3.f, 4.f, 5.f}));   // 5
template <class F>
auto clipped_fun(F fun, ClipOptions options = {}) {
  return internal::ClippedFun<F>(std::move(fun), std::move(options));
}

}  // namespace tessera::privacy
