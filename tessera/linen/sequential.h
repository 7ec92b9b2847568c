// linen::Sequential: layers one after the other. Its parts are modules and functions of an Array;
// the parameters are a tuple with one element for each part (linen::None for functions), with
// flax's names layers_0, layers_1, ...
//
//   linen::Sequential model(linen::Dense(64), relu, linen::Dropout(0.1), linen::Dense(10));
//   auto params = model.init(key, x);
//   Array kernel = std::get<3>(params).kernel;
#pragma once

#include "tessera/linen/module.h"

namespace tessera::linen {

namespace internal {
template <class L>
struct PartOf {
  using Params = None;
  using Stats = None;
};
template <AModule L>
struct PartOf<L> {
  using Params = typename L::Params;
  using Stats = typename L::Stats;
};
// A tuple, or None if all of its elements are None: then the model has no statistics.
template <class... Stats>
using StatsOf = std::conditional_t<(std::is_empty_v<Stats> && ...), None, std::tuple<Stats...>>;
}  // namespace internal

template <class... Layers>
class Sequential : public Module<Sequential<Layers...>> {
  static_assert(sizeof...(Layers) > 0, "a Sequential of nothing");
  static constexpr auto kAll = std::index_sequence_for<Layers...>();

 public:
  using Params = std::tuple<typename internal::PartOf<Layers>::Params...>;
  using Stats = internal::StatsOf<typename internal::PartOf<Layers>::Stats...>;

  explicit Sequential(Layers... layers) : layers_(std::move(layers)...) {}

  std::pair<Params, Stats> init_at(Scope& scope, const Array& x) const {
    std::pair<Params, Stats> out;
    Array input = x;
    [&]<size_t... i>(std::index_sequence<i...>) { (init_part<i>(scope, out, input), ...); }
    (kAll);
    return out;
  }

  Array forward(const Params& params, Stats& stats, Call& call, const Array& x) const {
    Array y = x;
    [&]<size_t... i>(std::index_sequence<i...>) {
      ((y = forward_part<i>(std::get<i>(params), part<i>(stats), call, y)), ...);
    }
    (kAll);
    return y;
  }

 private:
  // Returns the statistics of one part.
  template <size_t i>
  static auto& part(Stats& stats) {
    if constexpr (std::is_empty_v<Stats>) {
      return stats;
    } else {
      return std::get<i>(stats);
    }
  }

  template <size_t i>
  void init_part(Scope& scope, std::pair<Params, Stats>& out, Array& x) const {
    using Layer = std::tuple_element_t<i, std::tuple<Layers...>>;
    auto& params = std::get<i>(out.first);
    auto& stats = part<i>(out.second);
    if constexpr (internal::AModule<Layer>) {
      Scope inner = scope.child(name(i));
      std::tie(params, stats) = std::get<i>(layers_).init_at(inner, x);
    }
    // The next part only needs the type of its input.
    if constexpr (i + 1 < sizeof...(Layers))
      x = eval_shape(
          [&](const auto& p, auto s, const Array& input) {
            Call call{false, Scope(std::nullopt, std::nullopt)};
            return forward_part<i>(p, s, call, input);
          },
          params, stats, x);
  }

  template <size_t i, class P, class S>
  Array forward_part(const P& params, S& stats, Call& call, const Array& x) const {
    const auto& layer = std::get<i>(layers_);
    if constexpr (internal::AModule<std::tuple_element_t<i, std::tuple<Layers...>>>) {
      Call inner = call.child(name(i));
      return layer.forward(params, stats, inner, x);
    } else {
      return layer(x);
    }
  }

  static std::string name(size_t i) { return "layers_" + std::to_string(i); }

  std::tuple<Layers...> layers_;
};

}  // namespace tessera::linen
