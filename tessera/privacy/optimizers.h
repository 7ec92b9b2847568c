// Optimizers that define how the gradient of each example is transformed before it is clipped
// ("scale then privatize": Ganesh, McMahan and Thakurta, "On design principles for private adaptive
// optimizers", arXiv:2507.01129, Algorithm 8). They correspond to jax_privacy.optimizers.
//
//   const auto optimizer = privacy::scale_then_privatize(optim::adam(1e-3));
//   auto state = optimizer.init(params);
//   for (...) {
//     const auto clipped = privacy::clipped_value_and_grad(
//         loss, options, optimizer.pre_clipping_transform(state));
//     auto [noisy, next_noise] = noise.update(clipped(params, x, y).grads, noise_state);
//     auto [updates, next] = optimizer.update(noisy, state, params);
//     ...
//   }
//
// An AugmentedTransformation is used like a transformation of optim/, except that its update takes
// gradients that were transformed by pre_clipping_transform() of the same state, and then clipped,
// summed and noised. The update undoes the transform first. The sensitivity of the sum is that of
// the clipping, whatever the transform is; the transform may depend on the data only through sums
// that were noised, which holds if the state has seen no other gradients.
//
// It is not a Transformation, because optim::chain would hide its transform. Chain other
// transformations into the optimizer that is given to scale_then_privatize.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/optim/optim.h"

namespace tessera::privacy {

// An optimizer and its transform. A Rule has
//   init(params) -> state          update(gradients, state, const P* params) -> (updates, state)
//   pre_clipping_transform(state) -> (gradients of one example) -> the transformed gradients
// and kTransforms, which is false if the transform returns its argument.
template <class Rule>
struct AugmentedTransformation {
  optim::Transformation<Rule> optimizer;  // its update undoes the transform first
  static constexpr bool kTransforms = Rule::kTransforms;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.optimizer);
  }

  // Returns the state of the optimizer that is augmented.
  template <class P>
  auto init(const P& params) const {
    return optimizer.init(params);
  }

  // Returns (updates, the next state) for transformed, clipped and noised gradients, as
  // optim::Transformation::update does; optimizers that do not read the parameters need no third
  // argument.
  template <class P, class State, class... Params>
  std::pair<P, State> update(const P& gradients, const State& state,
                             const Params&... params) const {
    return optimizer.update(gradients, state, params...);
  }

  // Returns a function that transforms the gradients of one example: the third argument of
  // clipped_value_and_grad. It holds Arrays of the state, so it is made anew for each step.
  template <class State>
  auto pre_clipping_transform(const State& state) const {
    return optimizer.rule.pre_clipping_transform(state);
  }
};

struct ScaleThenPrivatizeOptions {
  // eps is added to the root of the second moments, and eps_root to the second moments under the
  // root. Large values scale all coordinates nearly equally; values as small as the optimizer's own
  // add much noise to coordinates with small gradients. Throws UserError unless both are at least 0
  // and finite, and one of them is above 0 (second moments begin at 0).
  double eps = 1e-8;
  double eps_root = 0;
};

namespace internal {

// Returns u / d, or d u if `inverse`, for each leaf u, where d = sqrt(second moment + eps_root) +
// eps, in float32 or wider. Leaves whose path has no second moment are returned as they are. Throws
// UserError if no leaf has the path of a second moment, or if its shape is not that of its leaf.
std::vector<Array> scaled_by_moments(const std::vector<Array>& leaves,
                                     const std::vector<std::string>& paths,
                                     const optim::LeafList& second_moments,
                                     const ScaleThenPrivatizeOptions& options, bool inverse);
void expect_scale_options(const ScaleThenPrivatizeOptions& options);
[[noreturn]] void centered_moments();

// Maps a tree of gradients to the same tree, with each leaf scaled by the second moment at its
// path.
struct ScaleByMoments {
  optim::LeafList second_moments;
  ScaleThenPrivatizeOptions options;
  bool inverse = false;

  template <class Tree>
  Tree operator()(const Tree& gradients) const {
    return tree::unflatten(gradients, scaled_by_moments(tree::leaves(gradients),
                                                        optim::internal::leaf_paths(gradients),
                                                        second_moments, options, inverse));
  }
};

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};

// Finds the second moments in the state of an optimizer: those of Adam and RMSProp, and the sums of
// squares of Adagrad. It searches a chain in its order, and in MultiSteps the optimizer that it
// wraps.
struct FindSecondMoments {
  template <class State>
  static constexpr bool found() {
    if constexpr (
        requires(const State& s) { s.nu; } || requires(const State& s) { s.sum_of_squares; }) {
      return true;
    } else if constexpr (requires(const State& s) { s.inner; }) {
      return found<std::decay_t<decltype(std::declval<const State&>().inner)>>();
    } else if constexpr (IsTuple<State>::value) {
      return []<size_t... i>(std::index_sequence<i...>) {
        return (found<std::tuple_element_t<i, State>>() || ...);
      }
      (std::make_index_sequence<std::tuple_size_v<State>>());
    } else {
      return false;
    }
  }

  template <class State>
  const auto& operator()(const State& state) const {
    return of(state);
  }

 private:
  template <size_t i = 0, class State>
  static const auto& of(const State& state) {
    if constexpr (requires { state.nu; }) {
      if constexpr (requires { state.mu.has_value(); })
        if (state.mu.has_value()) centered_moments();
      return state.nu;
    } else if constexpr (requires { state.sum_of_squares; }) {
      return state.sum_of_squares;
    } else if constexpr (requires { state.inner; }) {
      return of(state.inner);
    } else if constexpr (found<std::tuple_element_t<i, State>>()) {
      return of(std::get<i>(state));
    } else {
      return of<i + 1>(state);
    }
  }
};

template <class Base, class SecondMoments>
struct ScaleThenPrivatize {
  Base base;
  ScaleThenPrivatizeOptions options;
  SecondMoments second_moments;
  static constexpr bool kNeedsParams = Base::kNeedsParams;
  static constexpr bool kTransforms = true;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.base, self.options, self.second_moments);
  }
  template <class P>
  auto init(const P& params) const {
    return base.init(params);
  }
  template <class P, class State>
  std::pair<P, State> update(const P& gradients, const State& state, const P* params) const {
    return base.update(scale(state, true)(gradients), state, params);
  }
  template <class State>
  ScaleByMoments pre_clipping_transform(const State& state) const {
    return scale(state, false);
  }

 private:
  template <class State>
  ScaleByMoments scale(const State& state, bool inverse) const {
    const auto& moments = second_moments(state);
    return {{tree::leaves(moments), optim::internal::leaf_paths(moments)}, options, inverse};
  }
};

struct NoTransform {
  template <class Tree>
  const Tree& operator()(const Tree& gradients) const {
    return gradients;
  }
};

template <class Base>
struct NotTransforming : Base {
  static constexpr bool kTransforms = false;
  template <class State>
  NoTransform pre_clipping_transform(const State&) const {
    return {};
  }
};

}  // namespace internal

// Returns an optimizer with which gradients are clipped and noised in the geometry of its second
// moments v of earlier steps: the gradient g of each example becomes g / (sqrt(v + eps_root) +
// eps), and the noised sum is multiplied by the same before `base` sees it.
//
// `second_moments` is a function that returns v from the state of `base`: a tree of Arrays at the
// paths of the gradients that they scale. If absent, v is the first that Adam, RMSProp or Adagrad
// keeps in the state. If masked() keeps v for some leaves, the other leaves are not scaled. It is a
// compile-time error if there is no v.
//
// Results are float32 or wider, whatever the gradients are, because the reciprocal of eps overflows
// float16. Throws UserError (kValue) if options are outside their range, if v has a leaf that the
// gradients lack, and for a centred RMSProp, which does not divide by the root of v. Throws
// UserError (kShape) if v has another shape than its leaf.
template <class Base, class SecondMoments = internal::FindSecondMoments>
auto scale_then_privatize(optim::Transformation<Base> base,
                          const ScaleThenPrivatizeOptions& options = {},
                          SecondMoments second_moments = {}) {
  if constexpr (std::is_same_v<SecondMoments, internal::FindSecondMoments>)
    static_assert(
        internal::FindSecondMoments::found<decltype(base.init(std::declval<optim::LeafList>()))>(),
        "scale_then_privatize takes an optimizer with second moments (adam, adamw, rmsprop, "
        "adagrad, ...), or a function that returns them of its state");
  internal::expect_scale_options(options);
  return AugmentedTransformation<internal::ScaleThenPrivatize<Base, SecondMoments>>{
      {{std::move(base.rule), options, std::move(second_moments)}}};
}

// Returns the optimizer with a transform that changes nothing; an augmented optimizer is returned
// unchanged. It is for code that takes both.
template <class Base>
AugmentedTransformation<internal::NotTransforming<Base>> as_augmented(
    optim::Transformation<Base> optimizer) {
  return {{{std::move(optimizer.rule)}}};
}
template <class Rule>
AugmentedTransformation<Rule> as_augmented(AugmentedTransformation<Rule> optimizer) {
  return optimizer;
}

}  // namespace tessera::privacy
