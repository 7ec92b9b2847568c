#include "tessera/privacy/clipping/clip_to_grid.h"

#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/base/warning.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/structural/broadcast.h"

namespace tessera::privacy::internal {

using namespace ops::array_math;

namespace {

// The largest grid_scale. Products on a grid are rounded correctly up to twice this.
constexpr double kMostGridSteps = 1 << 21;
// The relative rounding error of norms, scales, factors and products together.
constexpr double kRounding = 1e-5;

void expect_options(std::string_view op, const ClipOptions& options) {
  if (options.normalize_by != 1 || options.rescale_to_unit_norm || options.dtype)
    value_error(op,
                "expected neither normalize_by, rescale_to_unit_norm nor dtype with grid_scale, "
                "whose sums are whole numbers of steps; divide after the noise");
}

// Returns the value of a clip norm. Throws UserError unless it is a finite number above 0 or, if
// may_be_zero, 0.
double norm_of(std::string_view op, const ClipNorm& norm, bool may_be_zero) {
  const double number = norm.number();
  if (norm.array() || !std::isfinite(number) || !(number > 0 || may_be_zero))
    value_error(op, "expected a finite l2_clip_norm above 0 that is a number with grid_scale");
  return number;
}

// Returns the root of the sum of squares of all norms.
double whole_norm(std::string_view op, const ClipOptions& options) {
  double out = norm_of(op, options.l2_clip_norm, !options.subtree_norms.empty());
  for (const SubtreeNorm& subtree : options.subtree_norms)
    out = std::hypot(out, norm_of(op, subtree.l2_clip_norm, false));
  return out;
}

void expect_scale(std::string_view op, double steps, int64_t examples) {
  const double largest = std::numeric_limits<int32_t>::max();
  if (steps > kMostGridSteps)
    value_error(op, "expected a grid_scale of at most {}, got {}; take a smaller one",
                static_cast<int64_t>(kMostGridSteps), steps);
  if (steps * static_cast<double>(examples) > largest)
    value_error(op,
                "expected a grid_scale of at most {} for {} examples, whose sums are int32, got {}",
                static_cast<int64_t>(largest / static_cast<double>(examples)), examples, steps);
}

// Warns if rounding takes a notable part of the clip norm: gradients are then clipped to less than
// the options ask for, with the same guarantee.
void warn_of_rounding(double part, double parameters) {
  constexpr double kNotable = 0.01;
  if (part < kNotable) return;
  warn(fmt::format(
      "privacy: rounding the gradients of {} parameters to whole steps of a grid takes "
      "{:.1f} % of their clip norm; take a larger grid_scale, or smaller batches, which "
      "leave room for one",
      parameters, 100 * part));
}

Array scalar_of(std::string_view op, const Array& factor) {
  if (factor.ndim() != 0 || !is_floating(factor.dtype()))
    type_error(op, "expected grid_factors of floating-point scalars, got {}",
               describe(factor.type()));
  return lax::convert_element_type(factor, float64);
}

}  // namespace

Array StepsPerUnit::times(const Array& x) const {
  return lax::mul(
      x, array_ ? lax::broadcast_in_dim(*array_, x.shape(), {}) : lax::full_like(x, number_));
}

StepsPerUnit clip_to_grid(std::string_view op, const ClipOptions& options,
                          std::vector<ClipGroup>& groups, const std::vector<int64_t>& elements,
                          int64_t examples) {
  expect_options(op, options);
  const double whole = whole_norm(op, options);
  const auto scale = static_cast<double>(*options.grid_scale);
  const std::optional<GridFactors>& factors = options.grid_factors;
  const double least = factors ? factors->least_scale : 1, most = factors ? factors->most_scale : 1;
  if (!(least > 0 && least <= most))
    value_error(op, "expected grid_factors with 0 < least_scale <= most_scale, got {} and {}",
                least, most);
  for (ClipGroup& group : groups) {
    const double norm = norm_of(op, group.norm, group.leaves.empty());
    double count = 0;
    for (const size_t leaf : group.leaves) count += static_cast<double>(elements[leaf]);
    // Rounding moves each element by at most half a step, and so all together by at most half the
    // root of their number.
    const double rounding = std::sqrt(count) / 2, share = norm / whole;
    if (!(scale * least * share * (1 - kRounding) > rounding))
      value_error(op,
                  "expected a grid_scale above {}, which rounding the gradients of {} parameters "
                  "may come to, got {}; take a larger one",
                  rounding / share / least, count, *options.grid_scale);
    warn_of_rounding(rounding / (scale * least * share), count);
    if (!factors) {
      group.norm = norm * (1 - kRounding - rounding / (scale * share));
      continue;
    }
    const Array room = (1 - kRounding) - rounding / (scale * share) / scalar_of(op, factors->scale);
    group.norm = ClipNorm(scalar_of(op, factors->clip) * norm * room);
  }
  expect_scale(op, scale * most, examples);
  if (!factors) return StepsPerUnit(scale / whole);
  return StepsPerUnit(scalar_of(op, factors->scale) * (scale / whole) /
                      scalar_of(op, factors->clip));
}

}  // namespace tessera::privacy::internal
