// Members of Plan that depend on its mechanism and source of random numbers: they return the noise
// that is added to the clipped sums, and the Gaussian mechanism for which it is accounted.
#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/privacy/noise/discrete_banded.h"
#include "tessera/privacy/noise/discrete_gaussian.h"
#include "tessera/privacy/plan.h"
#include "tessera/privacy/plan_grid.h"
#include "tessera/privacy/plan_rounds.h"

namespace tessera::privacy {
namespace {

constexpr const char* kPlanMechanismOp = "privacy::make_plan";

const DiscreteGaussian* grid_of(const Mechanism& mechanism) {
  return std::get_if<DiscreteGaussian>(&mechanism);
}

// Throws UserError for a strategy that DiscreteGaussian does not support. Whole numbers stay whole
// only if the coefficients of the strategy are whole. Those of a banded strategy are rounded to
// whole numbers. Other strategies have infinitely many coefficients, and their buffers, which
// replace the noise of earlier steps, are real numbers.
void refuse_strategy(const char* strategy) {
  value_error(kPlanMechanismOp,
              "expected IndependentNoise or BandedNoise, not {}, for {}, whose noise is whole "
              "numbers and keeps those of a few steps; take one of these, or {}",
              strategy, internal::kDefaultMechanism, internal::kNameGaussian);
}

}  // namespace

void Plan::expect_mechanism() const {
  const PlanOptions& o = options_;
  if (o.random_source == RandomSource::kSystem && std::holds_alternative<DenseNoise>(o.strategy))
    value_error(kPlanMechanismOp,
                "expected a strategy other than DenseNoise for RandomSource::kSystem, as it draws "
                "earlier noise again; take BandedNoise, or RandomSource::kKey");
  const DiscreteGaussian* grid = grid_of(mechanism());
  if (!grid) return;
  if (grid->grid_scale && (*grid->grid_scale < 16 || *grid->grid_scale > int64_t{1} << 24))
    value_error(kPlanMechanismOp, "expected a grid_scale in [16, 2^24], got {}", *grid->grid_scale);
  std::visit(Overloaded{[](const IndependentNoise&) {}, [](const BandedNoise&) {},
                        [&](const BufferedNoise&) { refuse_strategy("BufferedNoise"); },
                        [&](const DenseNoise&) { refuse_strategy("DenseNoise"); },
                        [&](const BandedInverseNoise&) { refuse_strategy("BandedInverseNoise"); }},
             o.strategy);
  if (o.rescale_to_unit_norm)
    value_error(kPlanMechanismOp,
                "expected no rescale_to_unit_norm for {}, whose sums are whole numbers; leave it "
                "out, or take {}",
                internal::kDefaultMechanism, internal::kNameGaussian);
}

void Plan::choose_grid(double noise_multiplier) {
  auto* grid = std::get_if<DiscreteGaussian>(&*options_.mechanism);
  if (!grid || grid->grid_scale) return;
  const double stddev = noise_multiplier * sensitivity_ / (is_banded() ? toeplitz_[0] : 1);
  const double growth = is_banded() ? internal::noise_growth(toeplitz_, steps()) : 1;
  internal::GridNeeds needs{.stddev = stddev,
                            .largest = 16 * growth * stddev,
                            .batch = internal::likely_batch(sampling_)};
  for (const auto& [step, factor] : options_.noise_schedule.changes())
    needs.finest = std::max(needs.finest, 1 / factor);
  grid->grid_scale = internal::chosen_grid_scale(needs);
}

void Plan::expect_grid() const {
  std::optional<double> steps = drawn_steps(noise_multiplier());
  if (!steps) return;
  if (is_banded()) *steps = std::ldexp(*steps, -internal::kLatticeBits);
  const int64_t scale = *grid_of(mechanism())->grid_scale;
  if (*steps < 8)
    value_error(
        kPlanMechanismOp,
        "expected noise of at least 8 steps of the grid, got {:.3g} by a noise_multiplier of "
        "{:.3g} and a grid_scale of {}; take a larger grid_scale, more noise, or {}",
        *steps, noise_multiplier(), scale, internal::kNameGaussian);
  if (*steps > 0x1p24)
    value_error(
        kPlanMechanismOp,
        "expected noise of at most 2^24 steps of the grid, got {:.3g} by a noise_multiplier "
        "of {:.3g} and a grid_scale of {}; take a smaller grid_scale, less noise, or {}",
        *steps, noise_multiplier(), scale, internal::kNameGaussian);
  if (is_banded())
    internal::expect_bounded_noise(kPlanMechanismOp, toeplitz_, this->steps(), *steps);
}

std::optional<double> Plan::grid_steps(double noise_multiplier) const {
  const DiscreteGaussian* grid = grid_of(mechanism());
  if (!grid) return std::nullopt;
  return noise_multiplier * sensitivity_ * static_cast<double>(*grid->grid_scale);
}

std::optional<double> Plan::drawn_steps(double noise_multiplier) const {
  const std::optional<double> steps = grid_steps(noise_multiplier);
  if (!steps || !is_banded()) return steps;
  return std::ldexp(*steps / toeplitz_[0], internal::kLatticeBits);
}

double Plan::accounted_multiplier(double noise_multiplier) const {
  const std::optional<double> steps = drawn_steps(noise_multiplier);
  if (!steps || *steps == 0) return noise_multiplier;
  return noise_multiplier * (accounted_stddev(*steps) / *steps);
}

double Plan::covered_multiplier(double accounted_multiplier) const {
  const std::optional<double> steps = drawn_steps(accounted_multiplier);
  if (!steps || *steps == 0) return accounted_multiplier;
  // This inverts accounted_stddev(s) = sqrt(s^2 - 4) and rounds up.
  return accounted_multiplier * (std::hypot(*steps, 2) / *steps) * (1 + 0x1p-50);
}

optim::Transformation<internal::Privatizer> Plan::privatizer(
    const std::optional<random::Key>& key) const {
  if (has_noise_schedule())
    value_error("privacy::Plan::privatizer",
                "expected a plan without noise_schedule, got one with; divide each step's sum by "
                "noise_factor(step), take scaled_privatizer, and multiply its result by it");
  return scaled_privatizer(key);
}

optim::Transformation<internal::Privatizer> Plan::scaled_privatizer(
    const std::optional<random::Key>& key) const {
  const NoiseOptions noise{.stddev = stddev(), .key = key, .random_source = options_.random_source};
  auto out = matrix_factorization_privatizer(noising_matrix_, noise);
  out.rule.noise.steps_per_stddev = grid_steps(noise_multiplier());
  return out;
}

std::optional<random::Key> Plan::noise_key(const random::Key& key) const {
  return random_source() == RandomSource::kSystem ? std::nullopt : std::optional(key);
}

void Plan::expect_keyed(std::string_view op) const {
  if (random_source() == RandomSource::kSystem)
    value_error(
        op,
        "expected no key for a plan of RandomSource::kSystem, whose noise nobody can repeat, "
        "got one; leave it out, or make the plan with RandomSource::kKey");
}

}  // namespace tessera::privacy
