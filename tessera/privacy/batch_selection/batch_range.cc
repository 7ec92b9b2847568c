#include "tessera/privacy/batch_selection/batch_range.h"

#include "tessera/base/format.h"

namespace tessera::privacy::batch_selection::internal {

void check_step(int64_t step, int64_t high) {
  if (step < 0 || step >= high)
    value_error("privacy::batch_selection",
                "expected a step in [0, {}), got {}; a run has as many steps as the sampler's "
                "iterations",
                high, step);
}

void check_first_step(int64_t step, int64_t iterations) {
  if (step < 0 || step > iterations)
    value_error("privacy::batch_selection",
                "expected a first step in [0, {}], got {}; a run has as many steps as the "
                "sampler's iterations",
                iterations, step);
}

}  // namespace tessera::privacy::batch_selection::internal
