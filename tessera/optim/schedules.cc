#include "tessera/optim/schedules.h"

#include <numbers>

#include "tessera/ir/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"

namespace tessera::optim {

namespace {
Array number(double value) { return full(Shape{}, value, default_float()); }
}  // namespace

ConstantSchedule constant_schedule(double value) { return {value}; }
Array ConstantSchedule::operator()(const Array&) const { return number(value); }

PolynomialSchedule polynomial_schedule(double init_value, double end_value, double power,
                                       int64_t transition_steps, int64_t transition_begin) {
  return {init_value, end_value, power, transition_steps, std::max<int64_t>(transition_begin, 0)};
}
PolynomialSchedule linear_schedule(double init_value, double end_value, int64_t transition_steps,
                                   int64_t transition_begin) {
  return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin);
}
Array PolynomialSchedule::operator()(const Array& count) const {
  if (transition_steps <= 0) return number(init_value);
  const Array steps = clip(count - transition_begin, Array(0), Array(transition_steps));
  const Array left = 1 - steps / transition_steps;
  return (init_value - end_value) * (power == 1 ? left : tessera::power(left, power)) + end_value;
}

CosineDecaySchedule cosine_decay_schedule(double init_value, int64_t decay_steps, double alpha,
                                          double exponent) {
  if (decay_steps <= 0)
    value_error("optim::cosine_decay_schedule", "expected positive decay_steps, got {}",
                decay_steps);
  return {init_value, decay_steps, alpha, exponent};
}
Array CosineDecaySchedule::operator()(const Array& count) const {
  const double steps = static_cast<double>(decay_steps);
  const Array now = minimum(count, steps);
  const Array cosine = 0.5 * (1 + cos(std::numbers::pi * now / steps));
  return init_value * ((1 - alpha) * (exponent == 1 ? cosine : power(cosine, exponent)) + alpha);
}

WarmupCosineDecaySchedule warmup_cosine_decay_schedule(double init_value, double peak_value,
                                                       int64_t warmup_steps, int64_t decay_steps,
                                                       double end_value, double exponent) {
  if (decay_steps <= warmup_steps)
    value_error("optim::warmup_cosine_decay_schedule",
                "expected decay_steps, which count from step 0, to exceed warmup_steps, got {} and "
                "{}",
                decay_steps, warmup_steps);
  return {linear_schedule(init_value, peak_value, warmup_steps),
          cosine_decay_schedule(peak_value, decay_steps - warmup_steps,
                                peak_value == 0 ? 0 : end_value / peak_value, exponent)};
}
Array WarmupCosineDecaySchedule::operator()(const Array& count) const {
  const int64_t boundary = warmup.transition_steps;
  return where(count < boundary, warmup(count), decay(count - boundary));
}

ExponentialDecay exponential_decay(double init_value, int64_t transition_steps, double decay_rate,
                                   const ExponentialDecayOptions& o) {
  return {init_value,
          decay_rate,
          transition_steps,
          std::max<int64_t>(o.transition_begin, 0),
          o.staircase,
          o.end_value.has_value(),
          o.end_value.value_or(0)};
}
Array ExponentialDecay::operator()(const Array& count) const {
  if (transition_steps <= 0 || decay_rate == 0) return number(init_value);
  const Array steps = count - transition_begin;
  Array exponent = steps / transition_steps;
  if (staircase) exponent = floor(exponent);
  Array value = where(steps <= 0, init_value, init_value * power(decay_rate, exponent));
  if (has_end) value = decay_rate < 1 ? maximum(value, end_value) : minimum(value, end_value);
  return value;
}

PiecewiseConstantSchedule piecewise_constant_schedule(
    double init_value, std::map<int64_t, double> boundaries_and_scales) {
  for (const auto& [boundary, scale] : boundaries_and_scales)
    if (scale < 0)
      value_error("optim::piecewise_constant_schedule",
                  "expected scales that are not negative, got {} at {}", scale, boundary);
  return {init_value, std::move(boundaries_and_scales)};
}
Array PiecewiseConstantSchedule::operator()(const Array& count) const {
  Array value = number(init_value);
  for (const auto& [boundary, scale] : boundaries_and_scales)
    value = where(count < boundary, value, value * scale);
  return value;
}

}  // namespace tessera::optim
