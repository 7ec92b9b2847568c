// Events describe what a mechanism did to the data, exactly enough to account for it. They are a
// closed set of plain values. Accountants (accountant.h) compose events; training.h and events.h
// make them. The names and meanings are dp_accounting's.
//
//   DpEvent step = PoissonSampledDpEvent{0.01, GaussianDpEvent{1.0}};
//   DpEvent run = SelfComposedDpEvent{step, 1000};
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tessera::privacy::accounting {

struct DpEvent;

// An event inside another one. It is a value although DpEvent is incomplete here.
class NestedDpEvent {
 public:
  template <class Event>
  requires(!std::is_same_v<std::remove_cvref_t<Event>, NestedDpEvent>)
      NestedDpEvent(Event event);  // NOLINT(google-explicit-constructor)
  const DpEvent& operator*() const { return *event_; }
  const DpEvent* operator->() const { return event_.get(); }

 private:
  std::shared_ptr<const DpEvent> event_;
};
bool operator==(const NestedDpEvent& a, const NestedDpEvent& b);

// It has no effect on privacy.
struct NoOpDpEvent {
  bool operator==(const NoOpDpEvent&) const = default;
};
// It publishes the data: epsilon is infinite.
struct NonPrivateDpEvent {
  bool operator==(const NonPrivateDpEvent&) const = default;
};
// The mechanism returns a sum of values of L2 norm at most C, plus N(0, (noise_multiplier C)^2).
struct GaussianDpEvent {
  double noise_multiplier;
  bool operator==(const GaussianDpEvent&) const = default;
};
// The mechanism returns a sum of values of L1 norm at most C, plus Laplace noise of scale
// noise_multiplier C.
struct LaplaceDpEvent {
  double noise_multiplier;
  bool operator==(const LaplaceDpEvent&) const = default;
};
// The mechanism returns a sum of integers of L1 norm at most `sensitivity`, plus integer noise x of
// probability tanh(a/2) exp(-a |x|).
struct DiscreteLaplaceDpEvent {
  double noise_parameter;  // a
  int64_t sensitivity = 1;
  bool operator==(const DiscreteLaplaceDpEvent&) const = default;
};
// A mechanism of Renyi divergence at most xi + rho alpha at every order alpha.
struct ZCDpEvent {
  double rho;
  double xi = 0;
  bool operator==(const ZCDpEvent&) const = default;
};
// Neighbours are distinguished as N(0, s^2) from a mixture of N(sensitivities[i], s^2)
// (Choquette-Choo et al. 2023).
struct MixtureOfGaussiansDpEvent {
  double standard_deviation;
  std::vector<double> sensitivities;
  std::vector<double> sampling_probs;
  bool operator==(const MixtureOfGaussiansDpEvent&) const = default;
};
// Each example is sampled with a given probability. If the sample has more than
// truncated_batch_size examples, that many are chosen from it at random. The Gaussian mechanism
// follows (Ganesh 2025).
struct TruncatedSubsampledGaussianDpEvent {
  int64_t dataset_size;
  double sampling_probability;
  int64_t truncated_batch_size;
  double noise_multiplier;
  bool operator==(const TruncatedSubsampledGaussianDpEvent&) const = default;
};
// `event` is applied to a sample that contains each example with this probability.
struct PoissonSampledDpEvent {
  double sampling_probability;
  NestedDpEvent event;
  bool operator==(const PoissonSampledDpEvent&) const = default;
};
// `event` is applied to a random subset of this size.
struct SampledWithoutReplacementDpEvent {
  int64_t source_dataset_size;
  int64_t sample_size;
  NestedDpEvent event;
  bool operator==(const SampledWithoutReplacementDpEvent&) const = default;
};
// `event` is applied to so many draws with replacement. No accountant supports it, as in
// dp_accounting.
struct SampledWithReplacementDpEvent {
  int64_t source_dataset_size;
  int64_t sample_size;
  NestedDpEvent event;
  bool operator==(const SampledWithReplacementDpEvent&) const = default;
};
// `event` is run `count` times. Each run may depend on the results of those before it.
struct SelfComposedDpEvent {
  NestedDpEvent event;
  int64_t count;
  bool operator==(const SelfComposedDpEvent&) const = default;
};
// Events follow one another. Each may depend on the results of those before it.
struct ComposedDpEvent {
  std::vector<DpEvent> events;
};
bool operator==(const ComposedDpEvent& a, const ComposedDpEvent& b);

using DpEventVariant = std::variant<NoOpDpEvent, NonPrivateDpEvent, GaussianDpEvent, LaplaceDpEvent,
                                    DiscreteLaplaceDpEvent, ZCDpEvent, MixtureOfGaussiansDpEvent,
                                    TruncatedSubsampledGaussianDpEvent, PoissonSampledDpEvent,
                                    SampledWithoutReplacementDpEvent, SampledWithReplacementDpEvent,
                                    SelfComposedDpEvent, ComposedDpEvent>;

// Its members are defined in dp_event.cc, so that programs that include this header do not compile
// the members of the variant.
struct DpEvent : DpEventVariant {
  using DpEventVariant::DpEventVariant;
  DpEvent();
  DpEvent(const DpEvent& other);
  DpEvent(DpEvent&& other) noexcept;
  DpEvent& operator=(const DpEvent& other);
  DpEvent& operator=(DpEvent&& other) noexcept;
  ~DpEvent();
  bool operator==(const DpEvent& other) const;
};

template <class Event>
requires(!std::is_same_v<std::remove_cvref_t<Event>, NestedDpEvent>)
    NestedDpEvent::NestedDpEvent(Event event)
    : event_(std::make_shared<const DpEvent>(std::move(event))) {}

// Returns a text like "SelfComposed(PoissonSampled(0.01, Gaussian(1)), 1000)".
std::string to_string(const DpEvent& event);

// Throws UserError unless every number of the event is in its range: noise not negative (infinite
// is allowed, NaN is not), probabilities in [0, 1] that sum to 1, counts and sizes not negative.
void validate(const DpEvent& event);

// Calls leaf(e, n) for every event e inside `event` that is neither a composition nor without
// effect. n is how often e occurs if `event` itself occurs `count` times.
void for_each_leaf(const DpEvent& event, int64_t count,
                   const std::function<void(const DpEvent&, int64_t)>& leaf);

// Returns the noise multiplier of the one Gaussian mechanism that is equivalent to all Gaussian
// mechanisms of the event on the same data; NaN unless `event` is made of these alone.
double effective_noise_multiplier(const DpEvent& event);

}  // namespace tessera::privacy::accounting
