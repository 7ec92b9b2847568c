// How far the noise of a plan moves the trained parameters: one number by which plans are compared.
// It corresponds to jax_privacy's BandMFConfig.rmse.
#pragma once

#include "tessera/privacy/plan.h"

namespace tessera::privacy {

// Returns the root mean squared error of an element of the prefix sums of the plan's private
// gradients, over all steps, in units of the clip norm and per expected participation of an
// example: of noise_multiplier * (strategy's sensitivity) * sqrt(mean over the rows of A C^-1 of
// their squared norms) / participations, where A are prefix sums, with the plan's noise and batch
// size schedules. Smaller is better, for plans of the same data and steps; the clip norm and batch
// sizes cancel.
//
// jax_privacy leaves out the sensitivity of a strategy whose columns are not of norm 1.
//
// Time: O(steps bands) for independent, banded and buffered noise; O(steps^2) with a schedule, and
// for dense noise, O(steps^3).
double rmse(const Plan& plan);

}  // namespace tessera::privacy
