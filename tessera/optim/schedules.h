// Schedules: numbers that depend on the number of steps, as in optax. A schedule is any value that
// can be called with the count of steps (an int32 scalar, which may be traced) and returns a
// scalar: one of those below, or a lambda. Those below are trees without leaves, so that a
// transformation with one passes through jit. So are lambdas without captures.
//
//   auto tx = optim::adamw(optim::warmup_cosine_decay_schedule(0.0, 1e-3, 100, 1000));
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <tuple>

#include "tessera/ir/array.h"

namespace tessera::optim {

template <class S>
concept Schedule = !std::is_arithmetic_v<S> && !std::is_same_v<S, Array> &&
                   std::is_invocable_r_v<Array, const S&, const Array&>;
// A learning rate: a number (static), an Array (data, which may change without a new program), or a
// schedule.
template <class S>
concept NumberOrSchedule = std::is_arithmetic_v<S> || std::is_same_v<S, Array> || Schedule<S>;

struct ConstantSchedule {
  double value;
  Array operator()(const Array& count) const;
};
ConstantSchedule constant_schedule(double value);

// Goes from init_value to end_value over transition_steps, from step transition_begin on; linearly
// for power 1. Without positive transition_steps it stays at init_value, as in optax.
struct PolynomialSchedule {
  double init_value, end_value, power;
  int64_t transition_steps, transition_begin;
  Array operator()(const Array& count) const;
};
PolynomialSchedule polynomial_schedule(double init_value, double end_value, double power,
                                       int64_t transition_steps, int64_t transition_begin = 0);
PolynomialSchedule linear_schedule(double init_value, double end_value, int64_t transition_steps,
                                   int64_t transition_begin = 0);

// init_value * ((1 - alpha) * (0.5 * (1 + cos(pi t / decay_steps)))^exponent + alpha). Throws
// UserError unless decay_steps is positive.
struct CosineDecaySchedule {
  double init_value;
  int64_t decay_steps;
  double alpha, exponent;
  Array operator()(const Array& count) const;
};
CosineDecaySchedule cosine_decay_schedule(double init_value, int64_t decay_steps, double alpha = 0,
                                          double exponent = 1);

// Goes linearly from init_value to peak_value in warmup_steps, then as a cosine to end_value at
// decay_steps (which count from step 0).
struct WarmupCosineDecaySchedule {
  PolynomialSchedule warmup;
  CosineDecaySchedule decay;
  Array operator()(const Array& count) const;
};
WarmupCosineDecaySchedule warmup_cosine_decay_schedule(double init_value, double peak_value,
                                                       int64_t warmup_steps, int64_t decay_steps,
                                                       double end_value = 0, double exponent = 1);

struct ExponentialDecayOptions {
  int64_t transition_begin = 0;
  bool staircase = false;                          // whole powers only
  std::optional<double> end_value = std::nullopt;  // the value stops there
};
// init_value * decay_rate^(t / transition_steps). With transition_steps or decay_rate 0 it stays at
// init_value, as in optax.
struct ExponentialDecay {
  double init_value, decay_rate;
  int64_t transition_steps, transition_begin;
  bool staircase, has_end;
  double end_value;
  Array operator()(const Array& count) const;
};
ExponentialDecay exponential_decay(double init_value, int64_t transition_steps, double decay_rate,
                                   const ExponentialDecayOptions& options = {});

// Returns init_value times the scale of each boundary that the count has reached. Throws UserError
// for a negative scale.
struct PiecewiseConstantSchedule {
  double init_value;
  std::map<int64_t, double> boundaries_and_scales;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.init_value, self.boundaries_and_scales);
  }
  Array operator()(const Array& count) const;
};
PiecewiseConstantSchedule piecewise_constant_schedule(
    double init_value, std::map<int64_t, double> boundaries_and_scales = {});

}  // namespace tessera::optim
