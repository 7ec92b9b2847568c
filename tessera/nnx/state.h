// Separates a module's parameters from its state, which training updates but does not learn:
// running statistics and streams of random keys. A type that declares static constexpr bool
// kIsState = true is state with all that it contains. Every other leaf of a module is a parameter.
//
// Modules without state do not need this: value_and_grad, tree::map and the transformations of
// optim/ handle their leaves.
#pragma once

#include "tessera/compile/grad.h"
#include "tessera/numpy/creation.h"

namespace tessera::nnx {

// Running statistics.
struct BatchStat {
  static constexpr bool kIsState = true;
  Array value;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.value);
  }
};

namespace internal {

template <class T>
concept State = requires {
  requires T::kIsState;
};

// Calls visit(leaf, path, whether it is a parameter) for every leaf.
template <class T, class F>
void for_each_variable(T& node, const F& visit, const std::string& path = {},
                       bool parameter = true) {
  using U = std::remove_const_t<T>;
  if constexpr (tree::Leaf<T>) {
    visit(node, path, parameter);
  } else if constexpr (!tree::internal::StaticValue<U>) {
    tree::internal::for_each_child(node, [&](auto& child, const std::string& name) {
      for_each_variable(child, visit, path + name, parameter && !State<U>);
    });
  }
}

template <class M>
std::vector<Array> parameters(const M& module) {
  std::vector<Array> out;
  for_each_variable(module, [&](const Array& leaf, const std::string&, bool parameter) {
    if (parameter) out.push_back(leaf);
  });
  return out;
}
template <class M>
M with_parameters(M module, const std::vector<Array>& parameters) {
  size_t next = 0;
  for_each_variable(module, [&](Array& leaf, const std::string&, bool parameter) {
    if (parameter) leaf = parameters[next++];
  });
  return module;
}

// Returns f(module with the parameters, args...) for the arguments (parameters, module, args...).
template <class F>
struct OfParameters {
  F f;
  template <class M, class... Args>
  requires std::is_invocable_v<const F&, const M&, const Args&...>
  auto operator()(const std::vector<Array>& p, const M& module, const Args&... args) const {
    return f(with_parameters(module, p), args...);
  }
};

}  // namespace internal

// Like tessera::value_and_grad with respect to the first argument, a module, but with respect to
// its parameters only. The gradients are a module of the same type, in which state is 0. A loss
// function that changes the module's state (BatchNorm and Dropout do, in training) takes it by
// value and returns it:
//
//   auto loss_fn = [](Model model, const Array& x, const Array& y) {
//     Array loss = mean(square(model(x) - y));
//     return std::pair(loss, model);
//   };
//   auto [loss_and_model, grads] = nnx::value_and_grad(loss_fn)(model, x, y);
//   model = loss_and_model.second;
//   optimizer.update(model, grads);
inline constexpr auto value_and_grad = []<class F>(F f) {
  return [of = tessera::value_and_grad(internal::OfParameters<F>{std::move(f)})](
             const auto& module, const auto&... args) {
    auto result = of(internal::parameters(module), module, args...);
    const std::vector<Array>& gradients = result.second;
    auto out = module;
    size_t next = 0;
    internal::for_each_variable(out, [&](Array& leaf, const std::string&, bool parameter) {
      leaf = parameter ? gradients[next++] : zeros_like(leaf);
    });
    return std::pair(std::move(result.first), std::move(out));
  };
};
// Returns the gradients alone, or a pair of them and the auxiliary results.
inline constexpr auto grad = []<class F>(F f) {
  return [of = nnx::value_and_grad(std::move(f))](const auto& module, const auto&... args) {
    auto [value, gradients] = of(module, args...);
    if constexpr (std::is_same_v<decltype(value), Array>) {
      return std::move(gradients);
    } else {
      return std::pair(std::move(gradients), std::get<1>(std::move(value)));
    }
  };
};
// (value_and_grad and grad are objects, not functions. So argument-dependent lookup does not find
// them, and an unqualified value_and_grad(loss) for a loss of nnx modules is tessera's.)

namespace internal {
template <class M>
void set_training(M& node, bool training) {
  if constexpr (requires { node.set_training(training); }) node.set_training(training);
  if constexpr (!tree::Leaf<M> && !tree::internal::StaticValue<M>)
    tree::internal::for_each_unnamed_child(node, [&](auto& c) { set_training(c, training); });
}
}  // namespace internal

// Puts every Dropout and BatchNorm of a module into training, the initial mode, or into evaluation.
// The mode is static: a jitted function is traced for each.
inline constexpr auto train = [](auto& module) { internal::set_training(module, true); };
inline constexpr auto eval = [](auto& module) { internal::set_training(module, false); };

}  // namespace tessera::nnx
