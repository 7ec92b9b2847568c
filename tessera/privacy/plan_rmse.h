// A number by which plans are compared: how far the noise of a plan moves the trained parameters.
// It corresponds to jax_privacy's BandMFConfig.rmse.
#pragma once

#include "tessera/privacy/plan.h"

namespace tessera::privacy {

// Returns the root mean squared error of an element of the prefix sums of the plan's private
// gradients, over all steps, in units of the clip norm and per expected participation of an
// example. It is noise_multiplier * (sensitivity of the strategy) * sqrt(mean squared norm of the
// rows of A C^-1) / participations, where A is prefix sums, if there are no schedules of the noise
// and the batch size, which are taken into account. For plans of the same data and steps, smaller
// is better; the clip norm and batch sizes cancel.
//
// jax_privacy leaves out the sensitivity of a strategy whose columns are not of norm 1.
//
// It takes O(steps bands) time for independent, banded and buffered noise, O(steps^2) with a
// schedule, and O(steps^3) for dense noise.
double rmse(const Plan& plan);

}  // namespace tessera::privacy
