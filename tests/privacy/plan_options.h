// Options of plans for the tests of plans. Their mechanism is Gaussian.
#pragma once

#include <functional>
#include <limits>

#include "../errors.h"
#include "tessera/privacy/plan.h"

namespace tessera::privacy::plan_options {

using tessera::test::expect_error;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns the factor by which a plan's sensitivity is larger because its sums are rounded.
inline double rounded(const Plan& plan) {
  return rounding_factor(plan.clip_options().float32_examples);
}

inline PlanOptions dpsgd() {
  return {.num_examples = 10'000,
          .steps = 1000,
          .sampling_prob = .01,
          .noise_multiplier = 1,
          .delta = 1e-5,
          .mechanism = Gaussian{}};
}

// Returns jax_privacy's BandMFExecutionPlanConfig.
inline PlanOptions banded() {
  return {.num_examples = 1000,
          .steps = 100,
          .sampling_prob = .4,
          .epsilon = 1,
          .delta = 1e-5,
          .relation = NeighboringRelation::kReplaceSpecial,
          .mechanism = Gaussian{},
          .strategy = BandedNoise{.strategy = {1, .5, .2, .1}},
          .rescale_to_unit_norm = true,
          .normalize_by = 1};
}

inline PlanOptions of_sampler(const batch_selection::BatchSelectionStrategy& sampler) {
  return {.sampler = sampler, .noise_multiplier = 2, .delta = 1e-5, .mechanism = Gaussian{}};
}

// Expects that make_plan refuses dpsgd() with this change, with a message that contains `text`.
inline void expect_refused(const std::function<void(PlanOptions&)>& change, const char* text) {
  PlanOptions options = dpsgd();
  change(options);
  expect_error([&] { make_plan(options); }, text);
}

}  // namespace tessera::privacy::plan_options
