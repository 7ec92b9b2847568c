#include "tessera/privacy/plan_grid.h"

#include <algorithm>
#include <cmath>

namespace tessera::privacy::internal {

double likely_batch(const batch_selection::SamplingDescription& sampling) {
  double mean = batch_selection::expected_batch_size(sampling);
  for (const auto& [step, probability] : sampling.sampling_prob_changes)
    mean = std::max(mean, batch_selection::expected_batch_size(at_step(sampling, step)));
  return std::ceil(mean + 12 * std::sqrt(mean) + 16);
}

int64_t chosen_grid_scale(const GridNeeds& needs) {
  constexpr int64_t kFinest = int64_t{1} << 19, kCoarsest = 16;
  const auto fits = [&](double scale) {
    return scale * needs.finest * needs.batch <= 0x1p30 && scale * needs.largest <= 0x1p30 &&
           scale * needs.stddev <= 0x1p24 && scale * needs.finest <= 0x1p21;
  };
  int64_t scale = kFinest;
  while (scale > kCoarsest && !fits(static_cast<double>(scale))) scale /= 2;
  return scale;
}

}  // namespace tessera::privacy::internal
