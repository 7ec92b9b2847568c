// Transformations that apply another one: to some leaves only, or at every k-th step only.
#pragma once

#include "tessera/optim/rules.h"

namespace tessera::optim {

// A mask selects leaves: a function (leaf) -> bool or (path, leaf) -> bool, which gets the leaf's
// type. Without captures it is part of the type of the transformation, which then passes through
// jit.
//
//   optim::adamw(1e-3, {}, [](const Array& p) { return p.ndim() > 1; });    // no decay of biases
template <class M>
concept Mask = std::is_invocable_r_v<bool, const M&, const Array&> ||
    std::is_invocable_r_v<bool, const M&, const std::string&, const Array&>;

struct AllLeaves {
  bool operator()(const Array&) const { return true; }
};

namespace internal {

template <class Rule, class M>
struct Masked {
  Rule rule;
  M mask;
  static constexpr bool kNeedsParams = Rule::kNeedsParams;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.rule, self.mask);
  }
  template <class P>
  auto init(const P& params) const {
    return rule.init(chosen(params));
  }
  template <class P, class State>
  std::pair<P, State> update(const P& gradients, const State& state, const P* params) const {
    const LeafList inner = chosen(gradients);
    std::optional<LeafList> inner_params;
    if (params) inner_params = chosen(*params);
    auto updated = rule.update(inner, state, params ? &*inner_params : nullptr);
    P out = gradients;
    size_t i = 0;
    tree::for_each_leaf_with_path(out, [&](Array& leaf, const std::string& path) {
      if (holds(path, leaf)) leaf = updated.first.leaves[i++];
    });
    return {std::move(out), std::move(updated.second)};
  }

 private:
  bool holds(const std::string& path, const Array& leaf) const {
    if constexpr (std::is_invocable_r_v<bool, const M&, const Array&>) {
      return mask(leaf);
    } else {
      return mask(path, leaf);
    }
  }
  template <class P>
  LeafList chosen(const P& tree) const {
    LeafList out;
    const std::vector<std::string> paths = leaf_paths(tree);
    size_t i = 0;
    tree::for_each_leaf(tree, [&](const Array& leaf) {
      const std::string& path = paths[i++];
      if (!holds(path, leaf)) return;
      out.leaves.push_back(leaf);
      out.paths.push_back(path);
    });
    return out;
  }
};

}  // namespace internal

// Applies `inner` to the leaves that the mask selects; the others are returned as they are.
template <class Rule, Mask M>
Transformation<internal::Masked<Rule, M>> masked(Transformation<Rule> inner, M mask) {
  return {{std::move(inner.rule), std::move(mask)}};
}

template <NumberOrSchedule T, Mask M>
auto add_decayed_weights(const T& weight_decay, M mask) {
  return masked(add_decayed_weights(weight_decay), std::move(mask));
}

template <class P, class Inner>
struct MultiStepsState {
  Array mini_step, gradient_step;
  Inner inner;
  P accumulated;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.mini_step, self.gradient_step, self.inner, self.accumulated);
  }
  // Returns whether the last update was one of `inner`: a bool scalar.
  Array has_updated() const;
};

namespace internal {

std::vector<Array> accumulators(const std::vector<Array>& params);  // float32 zeros
std::vector<Array> accumulated(const std::vector<Array>& gradients, const std::vector<Array>& means,
                               const Array& mini_step, bool mean);
std::vector<Array> as_gradients(const std::vector<Array>& means,
                                const std::vector<Array>& gradients);
// Returns, leaf by leaf, x if the condition is true, otherwise y, in y's dtype. An empty y means
// zeros.
std::vector<Array> chosen(const Array& condition, const std::vector<Array>& x,
                          const std::vector<Array>& y);
struct Steps {
  Array emit, mini_step, gradient_step;
};
Steps next_steps(const Array& mini_step, const Array& gradient_step, const Array& every);
Array has_updated(const Array& mini_step, const Array& gradient_step);
void check_every(int64_t every);

template <class Rule, class Every>
struct MultiSteps {
  Rule rule;
  Every every;
  bool use_grad_mean;
  static constexpr bool kNeedsParams = Rule::kNeedsParams;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.rule, self.every, self.use_grad_mean);
  }
  template <class P>
  auto init(const P& params) const {
    auto inner = rule.init(params);
    return MultiStepsState<P, decltype(inner)>{
        zero_count(), zero_count(), std::move(inner),
        tree::unflatten(params, accumulators(tree::leaves(params)))};
  }
  template <class P, class Inner>
  std::pair<P, MultiStepsState<P, Inner>> update(const P& gradients,
                                                 const MultiStepsState<P, Inner>& state,
                                                 const P* params) const {
    const std::vector<Array> g = tree::leaves(gradients);
    const std::vector<Array> sums = internal::accumulated(
        g,
        leaves_like("optim::MultiSteps", gradients, "the accumulated gradients", state.accumulated),
        state.mini_step, use_grad_mean);
    auto [updates, inner] =
        rule.update(tree::unflatten(gradients, as_gradients(sums, g)), state.inner, params);
    const Steps next = next_steps(state.mini_step, state.gradient_step, every_k(state));
    MultiStepsState<P, Inner> out{
        next.mini_step, next.gradient_step,
        tree::unflatten(inner, chosen(next.emit, tree::leaves(inner), tree::leaves(state.inner))),
        tree::unflatten(state.accumulated, chosen(next.emit, accumulators(sums), sums))};
    return {tree::unflatten(updates, chosen(next.emit, tree::leaves(updates), {})), std::move(out)};
  }

 private:
  template <class State>
  Array every_k(const State& state) const {
    if constexpr (Schedule<Every>) {
      return every(state.gradient_step);
    } else {
      return Array(every);
    }
  }
};

}  // namespace internal

template <class P, class Inner>
Array MultiStepsState<P, Inner>::has_updated() const {
  return internal::has_updated(mini_step, gradient_step);
}

// Returns the updates of `inner` for the mean (or sum) of the gradients of each `every` steps, and
// zeros for the steps in between. `every` is a number, or a function of the count of inner's
// updates so far. Throws UserError for a number below 1.
template <class Rule, class Every>
auto MultiSteps(Transformation<Rule> inner, const Every& every, bool use_grad_mean = true) {
  if constexpr (std::is_arithmetic_v<Every>) {
    internal::check_every(static_cast<int64_t>(every));
    return Transformation<internal::MultiSteps<Rule, int64_t>>{
        {std::move(inner.rule), static_cast<int64_t>(every), use_grad_mean}};
  } else {
    return Transformation<internal::MultiSteps<Rule, Every>>{
        {std::move(inner.rule), every, use_grad_mean}};
  }
}

}  // namespace tessera::optim
