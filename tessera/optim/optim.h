// Optimizers, with optax's names, formulas and defaults: chains of gradient transformations that
// end in scale_by_learning_rate. A learning rate is a number, an Array or a schedule (schedules.h).
//
//   auto tx = optim::adam(1e-3);
//   auto state = tx.init(params);
//   auto step = jit([=](auto params, auto state, const Array& x, const Array& y) {
//     auto [loss, grads] = value_and_grad(loss_fn)(params, x, y);
//     auto [updates, next] = tx.update(grads, state, params);
//     return std::tuple(optim::apply_updates(params, updates), next, loss);
//   });
#pragma once

#include "tessera/optim/wrappers.h"

namespace tessera::optim {

struct SgdOptions {
  std::optional<double> momentum = std::nullopt;
  bool nesterov = false;
};
template <NumberOrSchedule T>
auto sgd(const T& learning_rate, const SgdOptions& options = {}) {
  return chain(trace(options.momentum, options.nesterov), scale_by_learning_rate(learning_rate));
}

template <NumberOrSchedule T>
auto adam(const T& learning_rate, const AdamOptions& options = {}) {
  return chain(scale_by_adam(options), scale_by_learning_rate(learning_rate));
}

struct AdamWOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0, weight_decay = 1e-4;
  bool nesterov = false;
};
// The weight decay, for the leaves that the mask selects, is added after the moments, so it does
// not enter them.
template <NumberOrSchedule T, Mask M = AllLeaves>
auto adamw(const T& learning_rate, const AdamWOptions& o = {}, M mask = {}) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root, o.nesterov}),
               add_decayed_weights(o.weight_decay, std::move(mask)),
               scale_by_learning_rate(learning_rate));
}

struct LionWOptions {
  double b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
};
template <NumberOrSchedule T, Mask M = AllLeaves>
auto lion(const T& learning_rate, const LionWOptions& o = {}, M mask = {}) {
  return chain(scale_by_lion({o.b1, o.b2}), add_decayed_weights(o.weight_decay, std::move(mask)),
               scale_by_learning_rate(learning_rate));
}

struct AdagradOptions {
  double initial_accumulator_value = 0.1, eps = 1e-7;
};
template <NumberOrSchedule T>
auto adagrad(const T& learning_rate, const AdagradOptions& o = {}) {
  return chain(scale_by_rss(o.initial_accumulator_value, o.eps),
               scale_by_learning_rate(learning_rate));
}

struct RmspropOptions {
  double decay = 0.9, eps = 1e-8, initial_scale = 0;
  bool eps_in_sqrt = true, centered = false;
  std::optional<double> momentum = std::nullopt;
  bool nesterov = false, bias_correction = false;
};
template <NumberOrSchedule T>
auto rmsprop(const T& learning_rate, const RmspropOptions& o = {}) {
  return chain(
      scale_by_rms({o.decay, o.eps, o.initial_scale, o.eps_in_sqrt, o.bias_correction, o.centered}),
      scale_by_learning_rate(learning_rate), trace(o.momentum, o.nesterov));
}

struct LambOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-6, eps_root = 0, weight_decay = 0;
};
template <NumberOrSchedule T, Mask M = AllLeaves>
auto lamb(const T& learning_rate, const LambOptions& o = {}, M mask = {}) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}),
               add_decayed_weights(o.weight_decay, std::move(mask)), scale_by_trust_ratio(),
               scale_by_learning_rate(learning_rate));
}

}  // namespace tessera::optim
