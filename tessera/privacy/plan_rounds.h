// The steps of a plan and the schedules over them. Only source files of plans use it.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/privacy/accounting/training.h"
#include "tessera/privacy/batch_selection/sampling_description.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"

namespace tessera::privacy::internal {

// Throws UserError unless the schedule begins at step 0, steps ascend, and factors are finite and
// above 0.
void expect_factors(const char* what, const accounting::Schedule<double>& schedule);
double factor_at(const accounting::Schedule<double>& schedule, int64_t step);

// `count` equal rounds. A round is one cycle of the sampler: an example can be in one of its steps.
// The noise is the least, and the probability the largest, of the steps of the round.
struct Round {
  int64_t count;
  double noise_factor;
  double sampling_prob;
};
// Returns the rounds of the first `steps` steps. Adjacent equal rounds are merged.
std::vector<Round> rounds(const accounting::Schedule<double>& noise,
                          const batch_selection::SamplingDescription& sampling, int64_t steps);

// Returns the squared sensitivity of independent noise with these factors: the largest sum of 1 /
// factor^2 over the steps in which an example can be, or a bound of it.
double squared_sensitivity(const accounting::Schedule<double>& noise,
                           const matrix_factorization::Participation& participation, int64_t steps);

}  // namespace tessera::privacy::internal
