#include "tessera/privacy/accounting/dp_event.h"

#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"

namespace tessera::privacy::accounting {

DpEvent::DpEvent() = default;
DpEvent::DpEvent(const DpEvent& other) = default;
DpEvent::DpEvent(DpEvent&& other) noexcept = default;
DpEvent& DpEvent::operator=(const DpEvent& other) = default;
DpEvent& DpEvent::operator=(DpEvent&& other) noexcept = default;
DpEvent::~DpEvent() = default;
bool DpEvent::operator==(const DpEvent& other) const = default;

namespace {

constexpr const char* kDpEventOp = "privacy::DpEvent";

void expect_not_negative(const char* what, double value) {
  if (!(value >= 0))
    value_error(kDpEventOp,
                "expected {} not to be negative, got {}; noise, counts and sizes start at 0", what,
                value);
}
void expect_probability(double value) {
  if (!(value >= 0 && value <= 1))
    value_error(kDpEventOp,
                "expected a sampling probability in [0, 1], got {}; divide the batch size by the "
                "number of examples",
                value);
}
void expect_sample(int64_t size, int64_t of) {
  expect_not_negative("the sample size", static_cast<double>(size));
  if (of < 1)
    value_error(kDpEventOp, "expected a data set of at least one example, got {}; give its size",
                of);
}

void validate_mixture(const MixtureOfGaussiansDpEvent& event) {
  expect_not_negative("the standard deviation", event.standard_deviation);
  if (event.sensitivities.size() != event.sampling_probs.size())
    value_error(kDpEventOp,
                "expected a probability for each sensitivity, got {} of {}; give as many",
                event.sampling_probs.size(), event.sensitivities.size());
  double sum = 0;
  for (size_t i = 0; i < event.sensitivities.size(); ++i) {
    if (!std::isfinite(event.sensitivities[i]))
      value_error(kDpEventOp, "expected finite sensitivities, got {}; clip the values",
                  event.sensitivities[i]);
    expect_not_negative("a sensitivity", event.sensitivities[i]);
    expect_probability(event.sampling_probs[i]);
    sum += event.sampling_probs[i];
  }
  if (!(std::abs(sum - 1) <= 1e-9))
    value_error(kDpEventOp,
                "expected probabilities of sum 1, got {}; give that of sensitivity 0 too", sum);
}

int64_t checked_product(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    value_error(kDpEventOp, "expected at most 2^63 events, got {} times {}; compose fewer", a, b);
  return product;
}

double inverse_square(double noise_multiplier) { return 1 / (noise_multiplier * noise_multiplier); }

// Returns the sum of 1 / noise_multiplier^2 over the Gaussians of an event, or NaN.
double gaussian_information(const DpEvent& event) {
  double sum = 0;
  for_each_leaf(event, 1, [&](const DpEvent& leaf, int64_t count) {
    const auto* gaussian = std::get_if<GaussianDpEvent>(&leaf);
    sum += gaussian ? static_cast<double>(count) * inverse_square(gaussian->noise_multiplier)
                    : std::numeric_limits<double>::quiet_NaN();
  });
  return sum;
}

}  // namespace

bool operator==(const NestedDpEvent& a, const NestedDpEvent& b) { return *a == *b; }
bool operator==(const ComposedDpEvent& a, const ComposedDpEvent& b) { return a.events == b.events; }

std::string to_string(const DpEvent& event) {
  return std::visit(
      Overloaded{
          [](const NoOpDpEvent&) { return std::string("NoOp()"); },
          [](const NonPrivateDpEvent&) { return std::string("NonPrivate()"); },
          [](const GaussianDpEvent& e) { return fmt::format("Gaussian({})", e.noise_multiplier); },
          [](const LaplaceDpEvent& e) { return fmt::format("Laplace({})", e.noise_multiplier); },
          [](const DiscreteLaplaceDpEvent& e) {
            return fmt::format("DiscreteLaplace({}, {})", e.noise_parameter, e.sensitivity);
          },
          [](const ZCDpEvent& e) { return fmt::format("ZC({}, {})", e.rho, e.xi); },
          [](const MixtureOfGaussiansDpEvent& e) {
            return fmt::format("MixtureOfGaussians({}, [{}], [{}])", e.standard_deviation,
                               fmt::join(e.sensitivities, ", "), fmt::join(e.sampling_probs, ", "));
          },
          [](const TruncatedSubsampledGaussianDpEvent& e) {
            return fmt::format("TruncatedSubsampledGaussian({}, {}, {}, {})", e.dataset_size,
                               e.sampling_probability, e.truncated_batch_size, e.noise_multiplier);
          },
          [](const PoissonSampledDpEvent& e) {
            return fmt::format("PoissonSampled({}, {})", e.sampling_probability,
                               to_string(*e.event));
          },
          [](const SampledWithoutReplacementDpEvent& e) {
            return fmt::format("SampledWithoutReplacement({}, {}, {})", e.source_dataset_size,
                               e.sample_size, to_string(*e.event));
          },
          [](const SampledWithReplacementDpEvent& e) {
            return fmt::format("SampledWithReplacement({}, {}, {})", e.source_dataset_size,
                               e.sample_size, to_string(*e.event));
          },
          [](const SelfComposedDpEvent& e) {
            return fmt::format("SelfComposed({}, {})", to_string(*e.event), e.count);
          },
          [](const ComposedDpEvent& e) {
            std::vector<std::string> parts;
            for (const DpEvent& part : e.events) parts.push_back(to_string(part));
            return fmt::format("Composed({})", fmt::join(parts, ", "));
          },
      },
      static_cast<const DpEventVariant&>(event));
}

void validate(const DpEvent& event) {
  std::visit(Overloaded{
                 [](const NoOpDpEvent&) {},
                 [](const NonPrivateDpEvent&) {},
                 [](const GaussianDpEvent& e) {
                   expect_not_negative("the noise multiplier", e.noise_multiplier);
                 },
                 [](const LaplaceDpEvent& e) {
                   expect_not_negative("the noise multiplier", e.noise_multiplier);
                 },
                 [](const DiscreteLaplaceDpEvent& e) {
                   expect_not_negative("the noise parameter", e.noise_parameter);
                   expect_not_negative("the sensitivity", static_cast<double>(e.sensitivity));
                 },
                 [](const ZCDpEvent& e) {
                   expect_not_negative("rho", e.rho);
                   expect_not_negative("xi", e.xi);
                 },
                 [](const MixtureOfGaussiansDpEvent& e) { validate_mixture(e); },
                 [](const TruncatedSubsampledGaussianDpEvent& e) {
                   expect_not_negative("the size of the data set",
                                       static_cast<double>(e.dataset_size));
                   expect_not_negative("the truncated batch size",
                                       static_cast<double>(e.truncated_batch_size));
                   expect_probability(e.sampling_probability);
                   expect_not_negative("the noise multiplier", e.noise_multiplier);
                 },
                 [](const PoissonSampledDpEvent& e) {
                   expect_probability(e.sampling_probability);
                   validate(*e.event);
                 },
                 [](const SampledWithoutReplacementDpEvent& e) {
                   expect_sample(e.sample_size, e.source_dataset_size);
                   if (e.sample_size > e.source_dataset_size)
                     value_error(kDpEventOp,
                                 "expected a sample of at most {} examples, got {}; take fewer",
                                 e.source_dataset_size, e.sample_size);
                   validate(*e.event);
                 },
                 [](const SampledWithReplacementDpEvent& e) {
                   expect_sample(e.sample_size, e.source_dataset_size);
                   validate(*e.event);
                 },
                 [](const SelfComposedDpEvent& e) {
                   expect_not_negative("the count", static_cast<double>(e.count));
                   validate(*e.event);
                 },
                 [](const ComposedDpEvent& e) {
                   for (const DpEvent& part : e.events) validate(part);
                 },
             },
             static_cast<const DpEventVariant&>(event));
}

void for_each_leaf(const DpEvent& event, int64_t count,
                   const std::function<void(const DpEvent&, int64_t)>& leaf) {
  if (count == 0 || std::holds_alternative<NoOpDpEvent>(event)) return;
  if (const auto* repeated = std::get_if<SelfComposedDpEvent>(&event)) {
    for_each_leaf(*repeated->event, checked_product(count, repeated->count), leaf);
  } else if (const auto* composed = std::get_if<ComposedDpEvent>(&event)) {
    for (const DpEvent& part : composed->events) for_each_leaf(part, count, leaf);
  } else {
    leaf(event, count);
  }
}

double effective_noise_multiplier(const DpEvent& event) {
  return 1 / std::sqrt(gaussian_information(event));
}

}  // namespace tessera::privacy::accounting
