#include "tessera/privacy/accounting/pld_pmf.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/base/format.h"

namespace tessera::privacy::accounting::internal {

namespace {

// Returns the distribution with this excess at the grid points from `lowest` on, which include 0.
//
// A decrease of delta between two neighbours on the grid is a mass of losses between them. It is
// divided between both so that its sum and its sum of exp(-loss) are kept. This is linear in delta,
// and perfect privacy is the mass 1 at 0: only the excess is differenced, whose rounding error is
// proportional to itself.
std::shared_ptr<const PldPmf> from_excess(std::span<const double> excess, int64_t lowest,
                                          double interval) {
  const double to_lower = 1 / std::expm1(interval), to_upper = -1 / std::expm1(-interval);
  std::vector<double> probs(excess.size());
  probs[static_cast<size_t>(-lowest)] = 1;
  probs[0] -= excess[0];
  for (size_t i = 0; i + 1 < excess.size(); ++i) {
    const double drop = excess[i] - excess[i + 1];
    probs[i] -= drop * to_lower;
    probs[i + 1] += drop * to_upper;
  }
  for (double& probability : probs) probability = std::max(probability, 0.0);
  return std::make_shared<const PldPmf>(PldPmf{interval, lowest, std::move(probs), excess.back()});
}

// A loss, and the excess on a grid that is computed from it.
struct Grid {
  const PrivacyLoss& loss;
  double interval;
  int64_t lowest;
  std::span<double> out;

  std::span<double> between(int64_t first, int64_t last) const {
    return out.subspan(static_cast<size_t>(first - lowest), static_cast<size_t>(last - first + 1));
  }
};

constexpr size_t kNodes = 16;
constexpr int64_t kFewPoints = 4 * kNodes;  // so few points are computed one by one
constexpr double kAccuracy = 3e-14;  // of the last coefficients: about the rounding of values
using Nodes = std::array<double, kNodes>;

// Returns cos(pi (j + 1/2) k / kNodes).
const std::array<Nodes, kNodes>& cosines() {
  static const std::array<Nodes, kNodes> table = [] {
    std::array<Nodes, kNodes> out;
    for (size_t k = 0; k < kNodes; ++k)
      for (size_t j = 0; j < kNodes; ++j)
        out[k][j] =
            std::cos(M_PI * (static_cast<double>(j) + 0.5) * static_cast<double>(k) / kNodes);
    return out;
  }();
  return table;
}

// Returns the Chebyshev coefficients of the polynomial with these values at the nodes cosines()[1].
// The first one is already halved.
Nodes coefficients_of(const Nodes& values) {
  Nodes out{};
  for (size_t k = 0; k < kNodes; ++k) {
    for (size_t j = 0; j < kNodes; ++j) out[k] += cosines()[k][j] * values[j];
    out[k] *= (k == 0 ? 1.0 : 2.0) / kNodes;
  }
  return out;
}

// Evaluates the polynomial at equidistant points from -1 to 1 (Clenshaw), several at a time.
void evaluate(const Nodes& coefficients, std::span<double> out) {
  constexpr size_t kLanes = 8;
  const double step = 2 / static_cast<double>(out.size() - 1);
  for (size_t begin = 0; begin < out.size(); begin += kLanes) {
    std::array<double, kLanes> x, last{}, before{};
    for (size_t l = 0; l < kLanes; ++l) x[l] = static_cast<double>(begin + l) * step - 1;
    for (size_t k = kNodes; k-- > 1;)
      for (size_t l = 0; l < kLanes; ++l) {
        const double next = 2 * x[l] * last[l] - before[l] + coefficients[k];
        before[l] = last[l];
        last[l] = next;
      }
    for (size_t l = 0; l < kLanes && begin + l < out.size(); ++l)
      out[begin + l] = x[l] * last[l] - before[l] + coefficients[0];
  }
}

// Fills in the points from first to last by a polynomial, and returns true, if the values differ
// little and one polynomial is as accurate as their rounding. Otherwise returns false.
bool interpolate(const Grid& grid, int64_t first, int64_t last) {
  Nodes epsilons, values;
  const double middle = static_cast<double>(first + last) / 2,
               half = static_cast<double>(last - first) / 2;
  for (size_t j = 0; j < kNodes; ++j)  // ascending
    epsilons[j] = (middle - half * cosines()[1][j]) * grid.interval;
  grid.loss.excess(epsilons, values);
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  if (!(*least > 0 && *largest <= 8 * *least)) return false;
  const double bound = kAccuracy * *largest;
  std::reverse(values.begin(), values.end());
  const Nodes coefficients = coefficients_of(values);
  if (!(std::abs(coefficients[kNodes - 1]) + std::abs(coefficients[kNodes - 2]) <= bound))
    return false;
  evaluate(coefficients, grid.between(first, last));
  return true;
}

// Fills in the points from first to last. A smooth excess is interpolated by polynomials, each over
// as many points as it is accurate for.
void fill(const Grid& grid, int64_t first, int64_t last) {
  if (last - first >= kFewPoints && grid.loss.smooth) {
    if (interpolate(grid, first, last)) return;
    const int64_t middle = first + (last - first) / 2;
    fill(grid, first, middle);
    return fill(grid, middle + 1, last);
  }
  std::vector<double> epsilons;
  for (int64_t i = first; i <= last; ++i)
    epsilons.push_back(static_cast<double>(i) * grid.interval);
  grid.loss.excess(epsilons, grid.between(first, last));
}

}  // namespace

double grid_points(const PrivacyLoss& loss, double interval) {
  return std::ceil(loss.upper / interval) - std::floor(loss.lower / interval) + 1;
}

BothDirections connect_the_dots(const PrivacyLoss& loss, double interval) {
  TESSERA_CHECK(loss.lower <= 0 && loss.upper >= 0);
  const int64_t lowest = static_cast<int64_t>(std::floor(loss.lower / interval));
  const int64_t highest = static_cast<int64_t>(std::ceil(loss.upper / interval));
  std::vector<double> excess(static_cast<size_t>(highest - lowest + 1));
  // The grid is filled in two pieces, because an excess has a kink at 0.
  const Grid grid{loss, interval, lowest, excess};
  fill(grid, lowest, std::min<int64_t>(0, highest));
  if (highest > 0) fill(grid, 1, highest);
  for (double& value : excess) {
    TESSERA_CHECK(!std::isnan(value), "of {} losses", excess.size());
    value = std::clamp(value, 0.0, 1.0);
  }
  const std::shared_ptr<const PldPmf> remove = from_excess(excess, lowest, interval);
  if (loss.symmetric) return {remove, remove};
  for (size_t i = 0; i < excess.size(); ++i)
    excess[i] *= std::exp(-static_cast<double>(lowest + static_cast<int64_t>(i)) * interval);
  std::reverse(excess.begin(), excess.end());
  return {remove, from_excess(excess, -highest, interval)};
}

}  // namespace tessera::privacy::accounting::internal
