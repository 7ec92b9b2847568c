// Functions with custom derivatives, and functions whose values are recomputed instead of kept.
//
//   auto safe_log = custom_jvp(f, [](const std::tuple<Array>& x, const std::tuple<Array>& t) {
//     return std::pair(f(std::get<0>(x)), std::get<0>(t) / std::get<0>(x));
//   });
//   auto clipped = custom_vjp(f, fwd, bwd);  // fwd(args...) -> (result, residuals)
//                                            // bwd(residuals, cotangent) -> tuple of cotangents
//   auto block = checkpoint(layer);          // its values are recomputed for the gradient
#pragma once

#include "tessera/compile/grad.h"
#include "tessera/control/custom_derivative.h"
#include "tessera/ops/core/identity.h"

namespace tessera {

using lax::optimization_barrier;
using lax::stop_gradient;

// Returns the tree with leaves that differentiation treats as constants.
template <class T>
requires(!tree::Leaf<T>) T stop_gradient(const T& x) {
  return tree::map([](const Array& leaf) { return lax::stop_gradient(leaf); }, x);
}

// Returns x under the name `name`, by which checkpoint policies refer to it.
using lax::checkpoint_name;

// The values that a checkpoint keeps; all others are recomputed. It is JAX's checkpoint_policies.
struct CheckpointPolicy {
  Saveable saveable = Saveable::kNothing;
  std::vector<std::string> names = {};
};
namespace checkpoint_policies {
inline constexpr CheckpointPolicy nothing_saveable{Saveable::kNothing};
inline constexpr CheckpointPolicy everything_saveable{Saveable::kEverything};
inline constexpr CheckpointPolicy dots_saveable{Saveable::kDots};
inline constexpr CheckpointPolicy dots_with_no_batch_dims_saveable{Saveable::kDotsWithNoBatchDims};
CheckpointPolicy save_only_these_names(std::vector<std::string> names);
CheckpointPolicy save_anything_except_these_names(std::vector<std::string> names);
}  // namespace checkpoint_policies

namespace internal {

ErasedResult checkpoint_erased(const CheckpointPolicy& policy, const ErasedCall& call,
                               const std::vector<Array>& leaves);
// Binds the op; `jvp` maps (leaves..., tangents...) to (results..., tangents...).
std::vector<Array> custom_jvp_flat(const ir::FlatFn& body, const ir::FlatFn& jvp,
                                   std::span<const Array> leaves);
// Binds the op; `fwd` maps the leaves to (results..., residuals...), `bwd` maps (residuals...,
// cotangents...) to cotangents of the leaves. `num_results` is called after fwd is traced.
std::vector<Array> custom_vjp_flat(const ir::FlatFn& body, const ir::FlatFn& fwd,
                                   const ir::FlatFn& bwd,
                                   const std::function<size_t()>& num_results,
                                   std::span<const Array> leaves,
                                   const std::vector<std::string>& paths);

template <class F>
class Checkpointed {
 public:
  Checkpointed(F f, CheckpointPolicy policy) : f_(std::move(f)), policy_(std::move(policy)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    std::vector<Array> leaves;
    append_leaves(leaves, args...);
    const std::tuple<const Args&...> arguments(args...);
    return typed_result<CallResultOf<F, Args...>>(
        checkpoint_erased(policy_, erase_call(f_, arguments), leaves));
  }

 private:
  F f_;
  CheckpointPolicy policy_;
};

template <class F, class Jvp>
class CustomJvp {
 public:
  CustomJvp(F f, Jvp jvp) : f_(std::move(f)), jvp_(std::move(jvp)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    if (ir::Trace::current()) return traced(args...);
    const auto whole = [this](const auto&... x) { return this->traced(x...); };
    return run_once("custom_jvp", whole, args...);
  }

 private:
  template <class... Args>
  auto traced(const Args&... args) const {
    LeafFunction<F, Args...> f(f_, args...);
    const std::vector<Array> leaves = f.leaves();
    const ir::FlatFn rule = [&](const std::vector<Array>& inputs) {
      std::tuple<Args...> primals(args...), tangents(args...);
      size_t next = 0;
      tree::for_each_leaf(primals, [&](Array& leaf) { leaf = inputs[next++]; });
      tree::for_each_leaf(tangents, [&](Array& leaf) { leaf = inputs[next++]; });
      const auto [value, tangent] = internal::call(jvp_, primals, tangents);
      std::vector<Array> out = tree::leaves(value);
      for (Array& t : tree::leaves(tangent)) out.push_back(std::move(t));
      return out;
    };
    const std::vector<Array> results = custom_jvp_flat(f.flat(), rule, leaves);
    return tree::unflatten(f.result(), results);
  }

  F f_;
  Jvp jvp_;
};

template <class F, class Fwd, class Bwd>
class CustomVjp {
 public:
  CustomVjp(F f, Fwd fwd, Bwd bwd) : f_(std::move(f)), fwd_(std::move(fwd)), bwd_(std::move(bwd)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    if (ir::Trace::current()) return traced(args...);
    const auto whole = [this](const auto&... x) { return this->traced(x...); };
    return run_once("custom_vjp", whole, args...);
  }

 private:
  template <class... Args>
  auto traced(const Args&... args) const {
    LeafFunction<F, Args...> f(f_, args...);
    using Forward = CallResultOf<Fwd, Args...>;
    using Result = std::decay_t<std::tuple_element_t<0, Forward>>;
    using Residuals = std::decay_t<std::tuple_element_t<1, Forward>>;
    static_assert(std::is_same_v<Result, typename LeafFunction<F, Args...>::Result>,
                  "fwd returns (result, residuals), the result as the function returns it");
    LeafFunction<Fwd, Args...> fwd(fwd_, args...);
    const ir::FlatFn bwd = [&](const std::vector<Array>& inputs) {
      Result cotangent = std::get<0>(fwd.result());
      Residuals residuals = std::get<1>(fwd.result());
      size_t next = 0;
      tree::for_each_leaf(residuals, [&](Array& leaf) { leaf = inputs[next++]; });
      tree::for_each_leaf(cotangent, [&](Array& leaf) { leaf = inputs[next++]; });
      return tree::leaves(internal::call(bwd_, residuals, cotangent));
    };
    const auto num_results = [&] { return tree::num_leaves(std::get<0>(fwd.result())); };
    const std::vector<Array> results =
        custom_vjp_flat(f.flat(), fwd.flat(), bwd, num_results, f.leaves(), f.paths());
    return tree::unflatten(f.result(), results);
  }

  F f_;
  Fwd fwd_;
  Bwd bwd_;
};

}  // namespace internal

// Returns `f` such that its gradient recomputes the values of `f` instead of keeping them, except
// those that the policy saves. It needs less memory and more work. It is JAX's jax.checkpoint
// (jax.remat).
template <class F>
auto checkpoint(F f, CheckpointPolicy policy = {}) {
  return internal::Checkpointed<F>(std::move(f), std::move(policy));
}

// Returns `f` with a custom forward derivative: jvp(primals, tangents) takes tuples of the
// arguments and returns (result, tangent of it), linear in the tangents. Reverse derivatives follow
// from it. Throws UserError if the tangent's leaves do not have the results' types.
template <class F, class Jvp>
auto custom_jvp(F f, Jvp jvp) {
  return internal::CustomJvp<F, Jvp>(std::move(f), std::move(jvp));
}

// Returns `f` with a custom reverse derivative: fwd(args...) returns (result, residuals), and
// bwd(residuals, cotangent) returns a tuple of cotangents, one for each argument. It has no forward
// derivative. Throws UserError if the results of bwd do not have the arguments' types, and if what
// the functions capture is differentiated.
template <class F, class Fwd, class Bwd>
auto custom_vjp(F f, Fwd fwd, Bwd bwd) {
  return internal::CustomVjp<F, Fwd, Bwd>(std::move(f), std::move(fwd), std::move(bwd));
}

}  // namespace tessera
