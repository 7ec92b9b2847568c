// The steps of a plan and the schedules over them. For plan.cc.
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

// Several rounds of a cycle, in each of which an example can be in one step, with the least noise
// and the largest probability of the round's steps.
struct Round {
  int64_t count;
  double noise_factor;
  double sampling_prob;
};
// Returns the rounds of the first `steps` steps. Adjacent equal ones are merged.
std::vector<Round> rounds(const accounting::Schedule<double>& noise,
                          const batch_selection::SamplingDescription& sampling, int64_t steps);

// Returns the squared sensitivity of independent noise with these factors: the largest sum of 1 /
// factor^2 over the steps that an example can have.
double squared_sensitivity(const accounting::Schedule<double>& noise,
                           const matrix_factorization::Participation& participation, int64_t steps);

}  // namespace tessera::privacy::internal
