// The base class of all linen modules. A module describes a computation and has no arrays; its
// parameters are separate. Names, defaults and initial values are those of flax.linen.
//
//   linen::Dense model(10);
//   auto params = model.init(random::key(0), x);           // linen::Dense::Params
//   Array y = model.apply(params, x);
//
// A model with running statistics (BatchNorm, or a Sequential with one) has both as its variables:
//
//   auto variables = model.init(random::key(0), x);        // .params and .batch_stats
//   Array y = model.apply(variables, x);                   // in evaluation
//   auto [y, stats] = model.apply(variables, x, linen::Train{.dropout = key});
//
// A user's own module derives from Module<itself> and has
//
//   struct Params; struct Stats;                           // trees; Stats may be linen::None
//   std::pair<Params, Stats> init_at(Scope& scope, const Array& x) const;
//   Array forward(const Params&, Stats&, Call&, const Array& x) const;   // may update Stats
//
// It passes scope.child(name) and call.child(name) to the modules that it contains.
#pragma once

#include "tessera/compile/jit.h"
#include "tessera/linen/scope.h"

namespace tessera::linen {

// The type of absent parameters or absent statistics.
struct None {};

template <class P, class S>
struct Variables {
  P params;
  S batch_stats;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.params, self.batch_stats);
  }
};

// Calls a module in training: statistics are those of the batch, and dropout is active.
struct Train {
  std::optional<random::Key> dropout = std::nullopt;
};

// The mode of a call, training or evaluation, and the path of the module in the model.
struct Call {
  bool train;
  Scope scope;
  Call child(const std::string& name) const { return {train, scope.child(name)}; }
};

namespace internal {
template <class T>
concept AModule = requires {
  typename T::Params;
  typename T::Stats;
};
}  // namespace internal

template <class Self>
class Module {
 public:
  // Returns the parameters for inputs of x's shape, or Variables if the module has statistics. x
  // may be abstract. Throws UserError for an input that the module does not accept.
  template <class X>
  auto init(const random::Key& key, const X& x) const {
    Scope scope(key, std::nullopt);
    auto [params, stats] = self().init_at(scope, x);
    if constexpr (std::is_empty_v<typename Self::Stats>) {
      return std::move(params);
    } else {
      return Variables<typename Self::Params, typename Self::Stats>{std::move(params),
                                                                    std::move(stats)};
    }
  }

  // Returns the result in evaluation. `variables` is the result of init().
  template <class V, class X>
  Array apply(const V& variables, const X& x) const {
    Call call{false, Scope(std::nullopt, std::nullopt)};
    if constexpr (std::is_same_v<V, typename Self::Params>) {
      static_assert(std::is_empty_v<typename Self::Stats>,
                    "this model has statistics: pass all that init() gave");
      typename Self::Stats none;
      return self().forward(variables, none, call, x);
    } else {
      auto stats = variables.batch_stats;
      return self().forward(variables.params, stats, call, x);
    }
  }

  // Returns the result in training, or a pair of it and the updated statistics if the module has
  // statistics.
  template <class V, class X>
  auto apply(const V& variables, const X& x, const Train& train) const {
    Call call{true, Scope(std::nullopt, train.dropout)};
    if constexpr (std::is_same_v<V, typename Self::Params>) {
      static_assert(std::is_empty_v<typename Self::Stats>,
                    "this model has statistics: pass all that init() gave");
      typename Self::Stats none;
      return self().forward(variables, none, call, x);
    } else {
      auto stats = variables.batch_stats;
      Array y = self().forward(variables.params, stats, call, x);
      return std::pair(std::move(y), std::move(stats));
    }
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace tessera::linen
