// The elementary gradient transformations, with optax's names, formulas and defaults. Each function
// returns a Transformation (transformation.h); optim.h chains them into optimizers.
//
// All throw UserError with the path of the leaf if the state is of another tree.
#pragma once

#include <optional>

#include "tessera/base/error.h"
#include "tessera/optim/schedules.h"
#include "tessera/optim/transformation.h"

namespace tessera::optim {

namespace internal {

template <class T>
using Stored = std::conditional_t<std::is_arithmetic_v<T>, double, T>;

// Each computes leaf by leaf. Outside of a trace all leaves are one program.
std::vector<Array> scaled(const std::vector<Array>& updates, const Array& by);
std::vector<Array> decayed(const std::vector<Array>& updates, const std::vector<Array>& params,
                           const Array& by);
std::vector<Array> clipped(const std::vector<Array>& updates, const Array& limit);
std::vector<Array> clipped_by_norm(const std::vector<Array>& updates, const Array& limit);
std::vector<Array> traced(const std::vector<Array>& updates, const std::vector<Array>& momenta,
                          double decay);
std::vector<Array> moments(const std::vector<Array>& updates, const std::vector<Array>& old,
                           double decay, int64_t order);
std::vector<Array> unbiased(const std::vector<Array>& moments, double decay, const Array& count);
std::vector<Array> trust_scaled(const std::vector<Array>& updates,
                                const std::vector<Array>& params);

// A transformation without state: the updates are rule.apply(leaves of the gradients).
template <class Rule>
struct Stateless {
  Rule rule;
  static constexpr bool kNeedsParams = false;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.rule);
  }
  template <class P>
  NoState init(const P&) const {
    return {};
  }
  template <class P>
  std::pair<P, NoState> update(const P& gradients, const NoState&, const P*) const {
    return {tree::unflatten(gradients, rule.apply(tree::leaves(gradients))), {}};
  }
};
template <class Rule>
Transformation<Stateless<Rule>> stateless(Rule rule) {
  return {{std::move(rule)}};
}

struct Identity {
  std::vector<Array> apply(std::vector<Array> updates) const { return updates; }
};
template <class Number>
struct Scale {
  Number by;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.by);
  }
  std::vector<Array> apply(const std::vector<Array>& updates) const {
    return scaled(updates, Array(by));
  }
};
template <class Number>
struct Clip {
  Number limit;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.limit);
  }
  std::vector<Array> apply(const std::vector<Array>& updates) const {
    return clipped(updates, Array(limit));
  }
};
template <class Number>
struct ClipByGlobalNorm {
  Number limit;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.limit);
  }
  std::vector<Array> apply(const std::vector<Array>& updates) const {
    return clipped_by_norm(updates, Array(limit));
  }
};

}  // namespace internal

inline auto identity() { return internal::stateless(internal::Identity{}); }

// Multiplies by a number or an Array.
template <class T>
auto scale(const T& step_size) {
  using Number = internal::Stored<T>;
  return internal::stateless(internal::Scale<Number>{Number(step_size)});
}
// Clips every element to [-max_delta, max_delta].
template <class T>
auto clip(const T& max_delta) {
  using Number = internal::Stored<T>;
  return internal::stateless(internal::Clip<Number>{Number(max_delta)});
}
// Multiplies all leaves by one factor, so that their global norm is at most max_norm. Inside
// shard_map the norm is that of the device's own leaves, so average the gradients first.
template <class T>
auto clip_by_global_norm(const T& max_norm) {
  using Number = internal::Stored<T>;
  return internal::stateless(internal::ClipByGlobalNorm<Number>{Number(max_norm)});
}

// --- Schedules ---
struct CountState {
  Array count;
};

namespace internal {
template <class S>
struct ScaleBySchedule {
  S schedule;
  bool negative;
  static constexpr bool kNeedsParams = false;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.schedule, self.negative);
  }
  template <class P>
  CountState init(const P&) const {
    return {zero_count()};
  }
  template <class P>
  std::pair<P, CountState> update(const P& gradients, const CountState& state, const P*) const {
    const Array by = schedule(state.count);
    return {
        tree::unflatten(gradients, scaled(tree::leaves(gradients), negative ? negated(by) : by)),
        {next_count(state.count)}};
  }

 private:
  static Array negated(const Array& x);
};
Array negated(const Array& x);
template <class S>
Array ScaleBySchedule<S>::negated(const Array& x) {
  return internal::negated(x);
}
}  // namespace internal

// Multiplies by schedule(count); the first count is 0.
template <Schedule S>
Transformation<internal::ScaleBySchedule<S>> scale_by_schedule(S schedule) {
  return {{std::move(schedule), false}};
}
// Multiplies by -learning_rate. Every optimizer ends with it.
template <NumberOrSchedule T>
auto scale_by_learning_rate(const T& learning_rate) {
  if constexpr (Schedule<T>) {
    return Transformation<internal::ScaleBySchedule<T>>{{learning_rate, true}};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return scale(-static_cast<double>(learning_rate));
  } else {
    return scale(internal::negated(learning_rate));
  }
}

// --- Momentum ---
template <class P>
struct TraceState {
  std::optional<P> trace;  // absent without momentum

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.trace);
  }
};
namespace internal {
struct Trace {
  std::optional<double> decay;
  bool nesterov;
  static constexpr bool kNeedsParams = false;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.decay, self.nesterov);
  }
  template <class P>
  TraceState<P> init(const P& params) const {
    if (!decay) return {};
    return {filled(params)};
  }
  template <class P>
  std::pair<P, TraceState<P>> update(const P& gradients, const TraceState<P>& state,
                                     const P*) const {
    if (!decay) return {gradients, state};
    if (!state.trace)
      throw_user_error(ErrorKind::kValue, "optim::trace",
                       "expected a state with momenta, got one of a transformation "
                       "without momentum; make it with init(params) of this one");
    const std::vector<Array> updates = tree::leaves(gradients);
    const std::vector<Array> momenta = internal::traced(
        updates, leaves_like("optim::trace", gradients, "the momenta", *state.trace), *decay);
    return {
        tree::unflatten(gradients, nesterov ? internal::traced(updates, momenta, *decay) : momenta),
        {tree::unflatten(*state.trace, momenta)}};
  }
};
}  // namespace internal

// Returns m = g + decay * m; with nesterov g + decay * m.
inline Transformation<internal::Trace> trace(std::optional<double> decay, bool nesterov = false) {
  return {{decay, nesterov}};
}

// --- Moments ---
struct AdamOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  bool nesterov = false;
};
template <class P>
struct AdamState {
  Array count;
  P mu, nu;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.count, self.mu, self.nu);
  }
};
namespace internal {
std::vector<Array> adam_updates(const AdamOptions& o, const std::vector<Array>& gradients,
                                const std::vector<Array>& mu, const std::vector<Array>& nu,
                                const Array& count);
struct ScaleByAdam {
  AdamOptions options;
  static constexpr bool kNeedsParams = false;

  template <class P>
  AdamState<P> init(const P& params) const {
    return {zero_count(), filled(params), filled(params)};
  }
  template <class P>
  std::pair<P, AdamState<P>> update(const P& gradients, const AdamState<P>& state, const P*) const {
    const char* op = "optim::scale_by_adam";
    const std::vector<Array> g = tree::leaves(gradients);
    const std::vector<Array> mu =
        moments(g, leaves_like(op, gradients, "the first moments", state.mu), options.b1, 1);
    const std::vector<Array> nu =
        moments(g, leaves_like(op, gradients, "the second moments", state.nu), options.b2, 2);
    const Array count = next_count(state.count);
    return {tree::unflatten(gradients, adam_updates(options, g, mu, nu, count)),
            {count, tree::unflatten(state.mu, mu), tree::unflatten(state.nu, nu)}};
  }
};
}  // namespace internal
inline Transformation<internal::ScaleByAdam> scale_by_adam(const AdamOptions& options = {}) {
  return {{options}};
}

struct LionOptions {
  double b1 = 0.9, b2 = 0.99;
};
template <class P>
struct LionState {
  Array count;
  P mu;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.count, self.mu);
  }
};
namespace internal {
std::vector<Array> lion_updates(const LionOptions& o, const std::vector<Array>& gradients,
                                const std::vector<Array>& mu);
struct ScaleByLion {
  LionOptions options;
  static constexpr bool kNeedsParams = false;

  template <class P>
  LionState<P> init(const P& params) const {
    return {zero_count(), filled(params)};
  }
  template <class P>
  std::pair<P, LionState<P>> update(const P& gradients, const LionState<P>& state, const P*) const {
    const std::vector<Array> g = tree::leaves(gradients);
    const std::vector<Array> mu =
        leaves_like("optim::scale_by_lion", gradients, "the momenta", state.mu);
    return {tree::unflatten(gradients, lion_updates(options, g, mu)),
            {next_count(state.count), tree::unflatten(state.mu, moments(g, mu, options.b2, 1))}};
  }
};
}  // namespace internal
inline Transformation<internal::ScaleByLion> scale_by_lion(const LionOptions& options = {}) {
  return {{options}};
}

template <class P>
struct RssState {
  P sum_of_squares;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.sum_of_squares);
  }
};
namespace internal {
std::vector<Array> sums_of_squares(const std::vector<Array>& gradients,
                                   const std::vector<Array>& sums);
std::vector<Array> rss_updates(const std::vector<Array>& gradients, const std::vector<Array>& sums,
                               double eps);
struct ScaleByRss {
  double initial_accumulator_value, eps;
  static constexpr bool kNeedsParams = false;

  template <class P>
  RssState<P> init(const P& params) const {
    return {filled(params, initial_accumulator_value)};
  }
  template <class P>
  std::pair<P, RssState<P>> update(const P& gradients, const RssState<P>& state, const P*) const {
    const std::vector<Array> g = tree::leaves(gradients);
    const std::vector<Array> sums = sums_of_squares(
        g,
        leaves_like("optim::scale_by_rss", gradients, "the sums of squares", state.sum_of_squares));
    return {tree::unflatten(gradients, rss_updates(g, sums, eps)),
            {tree::unflatten(state.sum_of_squares, sums)}};
  }
};
}  // namespace internal
inline Transformation<internal::ScaleByRss> scale_by_rss(double initial_accumulator_value = 0.1,
                                                         double eps = 1e-7) {
  return {{initial_accumulator_value, eps}};
}

struct RmsOptions {
  double decay = 0.9, eps = 1e-8, initial_scale = 0;
  bool eps_in_sqrt = true, bias_correction = false;
  bool centered = false;  // as optax's scale_by_stddev: the mean is subtracted
};
template <class P>
struct RmsState {
  std::optional<Array> count;  // with bias_correction
  std::optional<P> mu;         // if centered
  P nu;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.count, self.mu, self.nu);
  }
};
namespace internal {
// mu is empty unless centered.
std::vector<Array> rms_updates(const RmsOptions& o, const std::vector<Array>& gradients,
                               const std::vector<Array>& mu, const std::vector<Array>& nu);
struct ScaleByRms {
  RmsOptions options;
  static constexpr bool kNeedsParams = false;

  template <class P>
  RmsState<P> init(const P& params) const {
    RmsState<P> out{{}, {}, filled(params, options.initial_scale)};
    if (options.bias_correction) out.count = zero_count();
    if (options.centered) out.mu = filled(params);
    return out;
  }
  template <class P>
  std::pair<P, RmsState<P>> update(const P& gradients, const RmsState<P>& state, const P*) const {
    const char* op = "optim::scale_by_rms";
    if (state.count.has_value() != options.bias_correction ||
        state.mu.has_value() != options.centered)
      throw_user_error(ErrorKind::kValue, op,
                       "expected a state made with these options (centered, bias_correction); make "
                       "it with init(params) of this transformation");
    const std::vector<Array> g = tree::leaves(gradients);
    RmsState<P> next = state;
    std::vector<Array> nu =
        moments(g, leaves_like(op, gradients, "the second moments", state.nu), options.decay, 2);
    next.nu = tree::unflatten(state.nu, nu);
    std::vector<Array> mu;
    if (state.mu) {
      mu = moments(g, leaves_like(op, gradients, "the first moments", *state.mu), options.decay, 1);
      next.mu = tree::unflatten(*state.mu, mu);
    }
    if (state.count) {
      next.count = next_count(*state.count);
      nu = unbiased(nu, options.decay, *next.count);
      mu = unbiased(mu, options.decay, *next.count);
    }
    return {tree::unflatten(gradients, rms_updates(options, g, mu, nu)), std::move(next)};
  }
};
}  // namespace internal
inline Transformation<internal::ScaleByRms> scale_by_rms(const RmsOptions& options = {}) {
  return {{options}};
}

// --- With the parameters ---
namespace internal {
struct ScaleByTrustRatio {
  static constexpr bool kNeedsParams = true;
  template <class P>
  NoState init(const P&) const {
    return {};
  }
  template <class P>
  std::pair<P, NoState> update(const P& gradients, const NoState&, const P* params) const {
    return {
        tree::unflatten(gradients, trust_scaled(tree::leaves(gradients), tree::leaves(*params))),
        {}};
  }
};
template <class T>
struct AddDecayedWeights {
  T weight_decay;
  static constexpr bool kNeedsParams = true;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.weight_decay);
  }
  template <class P>
  auto init(const P&) const {
    if constexpr (Schedule<T>) {
      return CountState{zero_count()};
    } else {
      return NoState{};
    }
  }
  template <class P, class State>
  std::pair<P, State> update(const P& gradients, const State& state, const P* params) const {
    const auto add = [&](const Array& by) {
      return tree::unflatten(gradients,
                             decayed(tree::leaves(gradients), tree::leaves(*params), by));
    };
    if constexpr (Schedule<T>) {
      return {add(weight_decay(state.count)), {next_count(state.count)}};
    } else {
      if constexpr (std::is_same_v<T, double>)
        if (weight_decay == 0) return {gradients, state};
      return {add(Array(weight_decay)), state};
    }
  }
};
}  // namespace internal

// Multiplies each leaf by |parameter| / |update|, or by 1 if either is 0.
inline Transformation<internal::ScaleByTrustRatio> scale_by_trust_ratio() { return {}; }

// Adds weight_decay * parameter. With a mask it is masked(), see wrappers.h.
template <NumberOrSchedule T>
auto add_decayed_weights(const T& weight_decay) {
  using Value = internal::Stored<T>;
  return Transformation<internal::AddDecayedWeights<Value>>{{Value(weight_decay)}};
}

}  // namespace tessera::optim
