// Gradient transformations, as in optax: values that compute updates from gradients and have a tree
// as their state.
//
//   auto tx = optim::chain(optim::clip_by_global_norm(1.0), optim::adam(1e-3));
//   auto state = tx.init(params);
//   auto [updates, next] = tx.update(grads, state, params);
//   params = optim::apply_updates(params, updates);
//
// A transformation is immutable. It works on every tree (base/tree.h). Its state is a plain struct
// over that tree's type, so it passes through jit, scan, shard_map and checkpoints as any tree
// does. A transformation is a tree itself: C++ numbers in it are static (another number is another
// program), and Arrays are leaves. Values that change from step to step (counts, moments) are in
// the state.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ir/array.h"

namespace tessera::optim {

// The state of a transformation without state.
struct NoState {};

// Some leaves of another tree, with their paths there: the tree that masked() and nnx::Optimizer
// pass to a transformation.
struct LeafList {
  std::vector<Array> leaves;
  std::vector<std::string> paths;  // static

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.leaves, self.paths);
  }
};

namespace internal {

template <class T>
std::vector<std::string> leaf_paths(const T& node) {
  if constexpr (std::is_same_v<T, LeafList>) {
    return node.paths;
  } else {
    std::vector<std::string> out;
    tree::for_each_leaf_with_path(
        node, [&](const Array&, const std::string& path) { out.push_back(path); });
    return out;
  }
}

// Throws UserError [op] with the first leaf that only one of the trees has.
[[noreturn]] void structures_differ(std::string_view op, std::string_view what,
                                    const std::vector<std::string>& gradients,
                                    const std::vector<std::string>& other);
[[noreturn]] void shapes_differ(std::string_view op, std::string_view what, const std::string& path,
                                const Array& gradient, const Array& other);

// Returns the leaves of `other`, after a check that it is a tree of the gradients' structure and
// shapes.
template <class T>
std::vector<Array> leaves_like(std::string_view op, const T& gradients, std::string_view what,
                               const T& other) {
  std::string key, other_key;
  tree::append_static_key(gradients, key);
  tree::append_static_key(other, other_key);
  if (key != other_key) structures_differ(op, what, leaf_paths(gradients), leaf_paths(other));
  const std::vector<Array> expected = tree::leaves(gradients);
  std::vector<Array> out = tree::leaves(other);
  for (size_t i = 0; i < out.size(); ++i)
    if (expected[i].shape() != out[i].shape())
      shapes_differ(op, what, leaf_paths(gradients)[i], expected[i], out[i]);
  return out;
}

Array zero_count();                    // int32
Array next_count(const Array& count);  // stays at the largest int32
std::vector<Array> filled_like(const std::vector<Array>& leaves, double value);
template <class P>
P filled(const P& params, double value = 0) {
  return tree::unflatten(params, filled_like(tree::leaves(params), value));
}

Array global_norm(const std::vector<Array>& leaves);
std::vector<Array> apply_updates(const std::vector<Array>& params,
                                 const std::vector<Array>& updates);

}  // namespace internal

// The base class of all transformations. A Rule has
//   init(params) -> state        update(gradients, state, const P* params) -> (updates, state)
template <class Rule>
struct Transformation {
  Rule rule;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.rule);
  }

  template <class P>
  auto init(const P& params) const {
    return rule.init(params);
  }

  // Returns (updates, the next state), both in the trees of the arguments. Throws UserError with
  // the path of the first leaf at which the tree of the state or of the parameters is not that of
  // the gradients.
  template <class P, class State>
  std::pair<P, State> update(const P& gradients, const State& state, const P& params) const {
    internal::leaves_like("optim", gradients, "the parameters", params);
    return rule.update(gradients, state, &params);
  }
  // Does the same, for transformations that do not read the parameters.
  template <class P, class State>
  std::pair<P, State> update(const P& gradients, const State& state) const {
    static_assert(!Rule::kNeedsParams,
                  "this transformation reads the parameters: update(gradients, state, params)");
    return rule.update(gradients, state, static_cast<const P*>(nullptr));
  }
};

namespace internal {

template <class... Rules>
struct Chain {
  std::tuple<Rules...> rules;
  static constexpr bool kNeedsParams = (Rules::kNeedsParams || ...);

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.rules);
  }
  template <class P>
  auto init(const P& params) const {
    return std::apply([&](const auto&... rule) { return std::tuple{rule.init(params)...}; }, rules);
  }
  template <class P, class... States>
  std::pair<P, std::tuple<States...>> update(const P& gradients, const std::tuple<States...>& state,
                                             const P* params) const {
    static_assert(sizeof...(States) == sizeof...(Rules), "the state of a chain of another length");
    std::pair<P, std::tuple<States...>> out(gradients, state);
    [&]<size_t... i>(std::index_sequence<i...>) {
      (
          [&] {
            auto [updates, next] = std::get<i>(rules).update(out.first, std::get<i>(state), params);
            out.first = std::move(updates);
            std::get<i>(out.second) = std::move(next);
          }(),
          ...);
    }
    (std::index_sequence_for<Rules...>());
    return out;
  }
};

}  // namespace internal

// Applies rules one after the other, each to the updates of the one before. The state is the tuple
// of their states.
template <class... Rules>
Transformation<internal::Chain<Rules...>> chain(Transformation<Rules>... transformations) {
  return {{{std::move(transformations.rule)...}}};
}

// Returns params + updates, in the dtypes of the parameters.
template <class P>
P apply_updates(const P& params, const P& updates) {
  return tree::unflatten(
      params, internal::apply_updates(
                  tree::leaves(params),
                  internal::leaves_like("optim::apply_updates", params, "the updates", updates)));
}

// Returns the square root of the sum of all squares.
template <class P>
Array global_norm(const P& tree) {
  return internal::global_norm(tree::leaves(tree));
}

}  // namespace tessera::optim
