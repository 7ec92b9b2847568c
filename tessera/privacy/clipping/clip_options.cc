#include "tessera/privacy/clipping/clip_options.h"

#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::privacy {

ClipNorm::ClipNorm(double norm) : number_(norm) {
  if (!(norm >= 0)) value_error("privacy", "expected an l2_clip_norm of at least 0, got {}", norm);
}

ClipNorm::ClipNorm(Array norm)
    : number_(std::numeric_limits<double>::infinity()), array_(std::move(norm)) {
  if (array_->ndim() != 0 || !is_floating(array_->dtype()))
    shape_error("privacy", "expected an l2_clip_norm that is a real floating-point scalar, got {}",
                describe(array_->type()));
}

namespace {

double bound(const ClipNorm& norm, bool rescaled) {
  if (rescaled) return 1;
  if (norm.array())
    value_error("privacy",
                "expected an l2_clip_norm that is a number, got an Array; set "
                "rescale_to_unit_norm, or give the sensitivity yourself");
  return norm.number();
}

}  // namespace

double sensitivity(const ClipOptions& options, NeighboringRelation relation) {
  if (options.grid_scale) {  // sums of integers are exact
    const auto steps = static_cast<double>(*options.grid_scale);
    return relation == NeighboringRelation::kReplaceOne ? 2 * steps : steps;
  }
  double norm = bound(options.l2_clip_norm, options.rescale_to_unit_norm);
  for (const SubtreeNorm& subtree : options.subtree_norms)
    norm = std::hypot(norm, bound(subtree.l2_clip_norm, options.rescale_to_unit_norm));
  const double one = norm * rounding_factor(options.float32_examples) / options.normalize_by;
  return relation == NeighboringRelation::kReplaceOne ? 2 * one : one;
}

double rounding_factor(int64_t float32_examples) {
  constexpr double kUnit = 0x1p-24;  // half a unit of the last place of float32
  const auto examples = static_cast<double>(float32_examples), devices = double{kFloat32Devices},
             slice = double{ops::kSliceOfExamples};
  // The number of roundings of a term, on average: those of the additions inside its slice, over
  // the slices and over the devices, and that of the result.
  const double additions = (slice + 1) / 2 + (examples / slice + 2) / 2 + (devices + 1) / 2 + 1;
  return (1 + 1e-5) * (1 + 2 * kUnit * 1.001 * additions * examples);
}

}  // namespace tessera::privacy
