// The FFT at a saddle point (pld_pmf.h explains why). As in the literature, K is the logarithm of
// the moment generating function of the sum of losses, and theta is the tilt.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "tessera/base/format.h"
#include "tessera/privacy/accounting/pld_pmf.h"
#include "tessera/privacy/accounting/pld_spectrum.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting::internal {

namespace {

constexpr int64_t kBlock = 32;  // grid points whose powers of exp(theta interval) do not overflow
constexpr double kMaxTilt = 6;  // times the interval
// The largest tilt, in units of 1 / the standard deviation of the sum. If the largest loss alone
// has a probability above delta, the best tilt would be infinite.
constexpr double kMaxDeviations = 40;
constexpr int64_t kMaxPoints = 1 << 27;  // of an FFT: 4 GiB
// The probability that is left out beyond either end of the window.
constexpr double kTailMass = 1e-14;
const double kLogTailMass = std::log(kTailMass);
// Losses with a probability below kTopMass times delta count as infinite.
constexpr double kTopMass = 1e-10;
constexpr double kLogDigits = 32;  // the logarithm of how far Chernoff's bound may be above delta
constexpr double kMaxSlack = 11;   // the logarithm of the accuracy that a smaller window may cost

// K and its first two derivatives with respect to theta: the mean and the variance of the tilted
// distribution.
struct Cumulants {
  double log_mgf = 0, mean = 0, variance = 0;
};

// Adds up exp(logarithm) * (1, x, x^2) without overflow.
struct ScaledMoments {
  double log_scale = -kInfinity, sum = 0, first = 0, second = 0;

  void add(double logarithm, double mean, double square) {
    if (logarithm > log_scale) {
      const double factor = std::exp(log_scale - logarithm);
      sum *= factor, first *= factor, second *= factor;
      log_scale = logarithm;
    }
    const double weight = std::exp(logarithm - log_scale);
    sum += weight, first += weight * mean, second += weight * square;
  }
};

// Sums of terms, of terms times their index, and of terms times its square. Each sum is divided
// into lanes, because an addition waits for the one before it in the same lane.
struct BlockSums {
  static constexpr int64_t kLanes = 4;
  std::array<double, kLanes> sum{}, first{}, second{};

  void add(const double* probs, const double* powers, int64_t begin) {
    for (size_t l = 0; l < kLanes; ++l) {
      const double term = probs[l] * powers[l],
                   place = static_cast<double>(begin) + static_cast<double>(l);
      sum[l] += term, first[l] += term * place, second[l] += term * place * place;
    }
  }
  static double total(const std::array<double, kLanes>& lanes) {
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
};

// Returns the cumulants of one distribution. Losses are relative to that of `origin`, which is near
// the mean, so that the variance keeps its digits.
Cumulants cumulants(const PldPmf& pmf, double theta, int64_t origin) {
  std::array<double, kBlock> powers;
  for (size_t j = 0; j < powers.size(); ++j)
    powers[j] = std::exp(theta * static_cast<double>(j) * pmf.interval);
  const auto size = static_cast<int64_t>(pmf.probs.size());
  ScaledMoments all;
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    BlockSums block;
    const double* probs = pmf.probs.data() + begin;
    std::array<double, kBlock> last{};  // of a block that is not complete
    if (size - begin < kBlock) {
      std::copy(probs, pmf.probs.data() + size, last.begin());
      probs = last.data();
    }
    for (int64_t i = 0; i < kBlock; i += BlockSums::kLanes)
      block.add(probs + i, powers.data() + i, i);
    const double sum = BlockSums::total(block.sum);
    if (sum == 0) continue;
    const double first = BlockSums::total(block.first), second = BlockSums::total(block.second);
    const double at = static_cast<double>(begin + pmf.lowest - origin);
    all.add(std::log(sum) + theta * static_cast<double>(begin + pmf.lowest) * pmf.interval,
            at + first / sum, at * at + (2 * at * first + second) / sum);
  }
  if (all.sum == 0) return {-kInfinity, 0, 0};
  const double mean = all.first / all.sum;
  return {std::log(all.sum) + all.log_scale, (mean + static_cast<double>(origin)) * pmf.interval,
          std::max(0.0, all.second / all.sum - mean * mean) * pmf.interval * pmf.interval};
}

// Returns a distribution on a grid of about this interval: every probability is divided between its
// neighbours there so that the mean is kept, which decreases no E exp(theta loss). Such
// distributions serve to find windows.
PldPmf coarse(const PldPmf& pmf, double interval) {
  const auto block = static_cast<int64_t>(std::clamp(interval / pmf.interval, 1.0, 1e6));
  if (block == 1) return pmf;
  const auto size = static_cast<int64_t>(pmf.probs.size());
  const auto floor_div = [&](int64_t a) { return a / block - (a % block < 0); };
  const int64_t lowest = floor_div(pmf.lowest);
  PldPmf out{pmf.interval * static_cast<double>(block), lowest, {}, pmf.infinity_mass};
  out.probs.resize(static_cast<size_t>(floor_div(pmf.lowest + size - 1) - lowest + 2));
  int64_t i = 0;
  for (int64_t at = lowest; i < size; ++at) {
    const int64_t end = std::min((at + 1) * block - pmf.lowest, size);
    double all = 0, upper = 0;
    for (; i < end; ++i) {
      const double probability = pmf.probs[static_cast<size_t>(i)];
      all += probability;
      upper += probability * static_cast<double>(pmf.lowest + i - at * block);
    }
    upper /= static_cast<double>(block);
    out.probs[static_cast<size_t>(at - lowest)] += std::max(all - upper, 0.0);
    out.probs[static_cast<size_t>(at - lowest + 1)] += upper;
  }
  return out;
}

class Composition {
 public:
  explicit Composition(std::vector<RepeatedPmf> parts)
      : parts_(std::move(parts)), interval_(parts_[0].pmf->interval) {
    double log_finite = 0, variance = 0;
    std::vector<double> deviations;
    for (const auto& [pmf, count] : parts_) {
      const double times = static_cast<double>(count);
      log_finite += times * std::log1p(-pmf->infinity_mass);
      lowest_ += times * static_cast<double>(pmf->lowest);
      highest_ +=
          times * static_cast<double>(pmf->lowest + static_cast<int64_t>(pmf->probs.size()) - 1);
      const Cumulants own = cumulants(*pmf, 0, pmf->lowest);
      origins_.push_back(static_cast<int64_t>(std::llround(own.mean / interval_)));
      deviations.push_back(std::sqrt(own.variance));
      variance += times * own.variance;
    }
    infinity_mass_ = -std::expm1(log_finite);
    max_theta_ = std::min(kMaxTilt / interval_, kMaxDeviations / std::sqrt(variance));
    // An interval of an eighth of its deviation is fine enough for the bulk of each part.
    for (size_t p = 0; p < parts_.size(); ++p)
      coarse_.push_back(coarse(*parts_[p].pmf, deviations[p] / 8));
  }

  double infinity_mass() const { return infinity_mass_; }
  double lowest_loss() const { return lowest_ * interval_; }
  double highest_loss() const { return highest_ * interval_; }
  double interval() const { return interval_; }
  double max_theta() const { return max_theta_; }

  // Returns cumulants of the sum from the coarse distributions. K is not below the true one, and
  // close to it where the bulk of the losses is.
  Cumulants at(double theta) const {
    Cumulants sum;
    for (size_t p = 0; p < parts_.size(); ++p) {
      const auto origin = static_cast<double>(origins_[p]) * interval_ / coarse_[p].interval;
      const Cumulants own = cumulants(coarse_[p], theta, std::llround(origin));
      const double times = static_cast<double>(parts_[p].count);
      sum.log_mgf += times * own.log_mgf;
      sum.mean += times * own.mean;
      sum.variance += times * own.variance;
    }
    return sum;
  }

  // The range of the sum when it is tilted by theta, except for a probability of at most kTailMass
  // on either side. Without the tilt, at most kTailMass exp(log_tail) is above the range.
  struct Range {
    double theta;
    int64_t lowest;     // a grid point
    int64_t size;       // the number of grid points
    double mass_above;  // a bound of the probability above it, not tilted
    bool complete;      // the sum has no grid points below it
  };
  Range range(double theta, double log_tail) const;

  // The parts, tilted by theta, each moved so that its tilted mean is near 0. Then the Fourier
  // coefficients that matter have small arguments, whose rounding errors are not amplified by the
  // power.
  struct Tilted {
    std::vector<RingPart> parts;
    double log_mgf = 0;  // of the sum: its probabilities times exp(theta loss -
                         // log_mgf) are these
    int64_t moved = 0;   // the number of grid points by which the sum is moved
  };
  Tilted tilted(double theta) const;

 private:
  std::vector<RepeatedPmf> parts_;
  std::vector<PldPmf> coarse_;
  double interval_, infinity_mass_ = 0, max_theta_ = 0;
  double lowest_ = 0, highest_ = 0;  // grid points of the sum
  std::vector<int64_t> origins_;     // the grid point next to each part's mean
};

// Returns probs[i] exp(theta (loss_i - loss_origin)), computed in blocks whose powers do not lose
// digits.
std::vector<double> weighted(const PldPmf& pmf, double theta, int64_t origin, double log_scale) {
  const auto size = static_cast<int64_t>(pmf.probs.size());
  std::vector<double> out(pmf.probs.size()), powers(kBlock);
  for (int64_t j = 0; j < kBlock; ++j)
    powers[static_cast<size_t>(j)] = std::exp(theta * static_cast<double>(j) * pmf.interval);
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const double first = std::exp(
        theta * static_cast<double>(begin + pmf.lowest - origin) * pmf.interval - log_scale);
    for (int64_t i = begin; i < std::min(begin + kBlock, size); ++i)
      out[static_cast<size_t>(i)] =
          pmf.probs[static_cast<size_t>(i)] * (first * powers[static_cast<size_t>(i - begin)]);
  }
  return out;
}

Composition::Tilted Composition::tilted(double theta) const {
  Tilted out;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const PldPmf& pmf = *parts_[p].pmf;
    const Cumulants own = cumulants(pmf, theta, origins_[p]);
    const auto shift = static_cast<int64_t>(std::llround(own.mean / interval_));
    const double log_scale = own.log_mgf - theta * static_cast<double>(shift) * interval_;
    out.parts.push_back(
        {weighted(pmf, theta, shift, log_scale), pmf.lowest - shift, parts_[p].count});
    out.log_mgf += static_cast<double>(parts_[p].count) * own.log_mgf;
    out.moved += shift * parts_[p].count;
  }
  return out;
}

Composition::Range Composition::range(double theta, double log_tail) const {
  const Cumulants here = at(theta);
  const double deviation = std::max(std::sqrt(here.variance), interval_);
  double high = kInfinity, high_untilted = kInfinity, low = lowest_loss();
  for (const double step : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    const double u = std::min(step / deviation, kMaxTilt / interval_);
    const double log_mgf = at(theta + u).log_mgf;
    high = std::min(high, (log_mgf - here.log_mgf - kLogTailMass) / u);
    high_untilted = std::min(high_untilted, (log_mgf - log_tail - kLogTailMass) / (theta + u));
    low = std::max(low, (here.log_mgf - at(theta - u).log_mgf + kLogTailMass) / u);
  }
  high = std::max(high, high_untilted);
  const bool all = high >= highest_loss();
  if (all) high = highest_loss();
  const double points = (high - std::min(low, high)) / interval_;
  const int64_t lowest = static_cast<int64_t>(std::floor(std::min(low, high) / interval_));
  return {theta, lowest,
          points < kMaxPoints ? std::max<int64_t>(std::llround(points) + 3, 64) : kMaxPoints,
          all ? 0 : std::exp(log_tail + kLogTailMass), static_cast<double>(lowest) <= lowest_};
}

// Returns the tilt at which the increasing function `slope` changes its sign, to a few percent.
template <class F>
double find_tilt(double max_theta, F&& slope) {
  double theta = std::min(1.0, max_theta);
  while (theta < max_theta && slope(theta) < 0) theta = std::min(2 * theta, max_theta);
  double lower = theta / 2;
  while (lower > 1e-12 && slope(lower) > 0) theta = lower, lower /= 2;
  for (int step = 0; step < 5; ++step) {
    const double middle = std::sqrt(lower * theta);
    (slope(middle) > 0 ? theta : lower) = middle;
  }
  return std::sqrt(lower * theta);
}

// Returns the window in which the tail of a probability of about exp(log_tail) is computed. The
// saddle point keeps all of the FFT's digits. But if there are improbable large losses, it
// increases their weight, which makes its window long. So, of the smaller tilts that lose few
// digits, the one with the smallest window is taken.
Composition::Range window_for(const Composition& sum, double saddle, double log_tail) {
  const Cumulants there = sum.at(saddle);
  Composition::Range best = sum.range(saddle, log_tail);
  for (double theta = saddle / 2; theta > saddle / 100; theta /= 2) {
    const double slack = sum.at(theta).log_mgf - there.log_mgf + (saddle - theta) * there.mean;
    if (slack > kMaxSlack) break;
    const Composition::Range range = sum.range(theta, log_tail);
    if (range.size < best.size) best = range;
  }
  return best;
}

// The probabilities of the losses above each point of a window.
class Window {
 public:
  Window(const Composition& sum, const Composition::Range& range)
      : Window(sum, range, sum.tilted(range.theta)) {}

  int64_t size() const { return tails_.size(); }
  double loss(int64_t m) const { return static_cast<double>(range_.lowest + m) * sum_.interval(); }
  // The sums over the losses at point m and above, from which delta is computed for an epsilon just
  // below loss(m).
  struct Above {
    double upper, lower;  // the second one is multiplied by exp(loss(m))
    double delta(double epsilon_less_loss) const {
      return upper - lower * std::exp(epsilon_less_loss);
    }
  };
  Above above(int64_t m) const {
    Above out{sum_.infinity_mass() + range_.mass_above, 0};
    if (m >= size()) return out;
    const RingTails::Tail tail = tails_(m);
    const double scale = std::exp(log_mgf_ - range_.theta * loss(m));
    return {out.upper + scale * tail.upper, scale * tail.lower};
  }
  // Returns the first point at which a delta of exp(log_delta) is not lost in the rounding of
  // larger probabilities.
  int64_t first_exact(double log_delta) const {
    if (range_.theta == 0) return 0;
    const double loss = (log_mgf_ - log_delta - kLogDigits) / range_.theta;
    const double m = std::ceil(loss / sum_.interval()) - static_cast<double>(range_.lowest);
    return static_cast<int64_t>(std::clamp(m, 0.0, static_cast<double>(size())));
  }

 private:
  Window(const Composition& sum, const Composition::Range& range, const Composition::Tilted& tilted)
      : sum_(sum),
        range_(range),
        log_mgf_(tilted.log_mgf),
        tails_(tilted.parts, range.lowest - tilted.moved, range.size, range.theta, sum.interval()) {
  }

  const Composition& sum_;
  Composition::Range range_;
  double log_mgf_;
  RingTails tails_;
};

void expect_size(const Composition& sum, const Composition::Range& range) {
  if (range.size == kMaxPoints)
    value_error("privacy::PrivacyLossDistribution",
                "expected a composition of at most 2^27 grid points, got more; "
                "take a larger "
                "value_discretization_interval than {}",
                sum.interval());
}

// Returns the epsilon at this delta if it is in the window. If it is below the window, returns the
// lowest loss of the window if nothing is below that or if it is not above 0, and nullopt
// otherwise.
std::optional<double> epsilon_in(const Composition& sum, const Composition::Range& range,
                                 double delta) {
  expect_size(sum, range);
  const Window window(sum, range);
  int64_t low = window.first_exact(std::log(delta - sum.infinity_mass())), high = window.size();
  if (!(window.above(low).delta(0) > delta)) {
    const bool lowest = range.theta == 0 || (low == 0 && range.complete);
    return lowest || window.loss(low) <= 0 ? std::optional(window.loss(low)) : std::nullopt;
  }
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (window.above(middle).delta(0) > delta ? low : high) = middle;
  }
  const Window::Above above = window.above(high);
  const double below = std::log((above.upper - delta) / above.lower);  // less loss(high)
  return window.loss(high) + (below <= 0 ? std::max(below, -sum.interval()) : 0);
}

// Returns the parts without their largest losses, whose total probability is below `budget`. These
// count as infinite.
std::vector<RepeatedPmf> without_top(std::span<const RepeatedPmf> parts, double budget) {
  std::vector<RepeatedPmf> out;
  for (const auto& [pmf, count] : parts) {
    const double allowed = budget / static_cast<double>(count) / static_cast<double>(parts.size());
    double mass = 0;
    size_t size = pmf->probs.size();
    while (size > 1 && mass + pmf->probs[size - 1] <= allowed &&
           pmf->lowest + static_cast<int64_t>(size) > 1)
      mass += pmf->probs[--size];
    out.push_back({pmf, count});
    if (size == pmf->probs.size()) continue;
    out.back().pmf = std::make_shared<const PldPmf>(
        PldPmf{pmf->interval,
               pmf->lowest,
               {pmf->probs.begin(), pmf->probs.begin() + static_cast<std::ptrdiff_t>(size)},
               pmf->infinity_mass + mass});
  }
  return out;
}

}  // namespace

double delta_of_composition(std::span<const RepeatedPmf> parts, double epsilon) {
  if (parts.empty()) return epsilon >= 0 ? 0 : -std::expm1(epsilon);
  const Composition sum({parts.begin(), parts.end()});
  if (epsilon >= sum.highest_loss() || sum.infinity_mass() == 1) return sum.infinity_mass();
  const double saddle = sum.at(0).mean >= epsilon ? 0 : find_tilt(sum.max_theta(), [&](double t) {
    return sum.at(t).mean - epsilon;
  });
  const Composition::Range range =
      window_for(sum, saddle, sum.at(saddle).log_mgf - saddle * epsilon);
  expect_size(sum, range);
  const Window window(sum, range);
  const double place = std::floor(epsilon / sum.interval()) + 1 - static_cast<double>(range.lowest);
  const auto m = static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(window.size())));
  const double missing = place < 0 && !range.complete ? kTailMass : 0;
  const double delta = window.above(m).delta(epsilon - window.loss(m)) + missing;
  return std::clamp(delta, sum.infinity_mass(), 1.0);
}

double epsilon_of_composition(std::span<const RepeatedPmf> parts, double delta) {
  if (parts.empty() || delta == 1) return 0;
  const Composition sum(without_top(parts, kTopMass * delta));
  if (sum.infinity_mass() > delta) return kInfinity;
  if (sum.infinity_mass() == delta) return std::max(sum.highest_loss(), 0.0);
  const double log_delta = std::log(delta - sum.infinity_mass());
  double saddle = find_tilt(sum.max_theta(), [&](double t) {
    const Cumulants here = sum.at(t);
    // This has the sign of the derivative of Chernoff's bound (K - log delta) / t.
    return t * here.mean - here.log_mgf + log_delta;
  });
  for (;; saddle = saddle < 1e-3 ? 0 : saddle / 4)  // repeated if epsilon is below the window
    if (const auto epsilon = epsilon_in(sum, window_for(sum, saddle, log_delta), delta))
      return std::max(*epsilon, 0.0);
}

double composition_points(std::span<const RepeatedPmf> parts) {
  double variance = 0;
  for (const auto& [pmf, count] : parts)
    variance += static_cast<double>(count) * cumulants(*pmf, 0, pmf->lowest).variance;
  return parts.empty() ? 0 : 20 * std::sqrt(variance) / parts[0].pmf->interval;
}

}  // namespace tessera::privacy::accounting::internal
