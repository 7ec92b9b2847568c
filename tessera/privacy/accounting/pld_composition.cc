// The FFT at a saddle point (pld_pmf.h says why). The letters are those of the literature: K is the
// logarithm of the moment generating function of the sum of losses, theta the tilt.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/privacy/accounting/fft.h"
#include "tessera/privacy/accounting/pld_pmf.h"

namespace tessera::privacy::accounting::internal {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kBlock = 32;  // grid points whose powers of exp(theta interval) do not overflow
constexpr double kMaxTilt = 6;  // times the interval
// Times the deviation of the sum. Where the largest loss alone has more than delta, no tilt is best.
constexpr double kMaxDeviations = 40;
constexpr int64_t kMaxPoints = 1 << 27;  // of an FFT: 4 GiB
constexpr double kTailMass = 1e-14;      // left out beyond either end of the window
const double kLogTailMass = std::log(kTailMass);
constexpr double kMaxSlack = 11;  // the logarithm of what a smaller window may cost in accuracy

// K and its first two derivatives by theta: the mean and the variance of the tilted distribution.
struct Cumulants {
  double log_mgf = 0, mean = 0, variance = 0;
};

// Adds up exp(logarithm) * (1, x, x^2) without overflow.
struct ScaledMoments {
  double log_scale = -kInf, sum = 0, first = 0, second = 0;

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

// Of one distribution. Losses are relative to that of `origin`, which is near the mean, so that the
// variance keeps its digits.
Cumulants cumulants(const PldPmf& pmf, double theta, int64_t origin) {
  const double step = std::exp(theta * pmf.interval);
  const int64_t size = static_cast<int64_t>(pmf.probs.size());
  ScaledMoments all;
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    double power = 1, sum = 0, first = 0, second = 0;
    for (int64_t i = begin; i < std::min(begin + kBlock, size); ++i, power *= step) {
      const double term = pmf.probs[static_cast<size_t>(i)] * power;
      const double offset = static_cast<double>(i - begin);
      sum += term, first += term * offset, second += term * offset * offset;
    }
    if (sum == 0) continue;
    const double at = static_cast<double>(begin + pmf.lowest - origin);
    all.add(std::log(sum) + theta * static_cast<double>(begin + pmf.lowest) * pmf.interval,
            at + first / sum, at * at + (2 * at * first + second) / sum);
  }
  if (all.sum == 0) return {-kInf, 0, 0};
  const double mean = all.first / all.sum;
  return {std::log(all.sum) + all.log_scale, (mean + static_cast<double>(origin)) * pmf.interval,
          std::max(0.0, all.second / all.sum - mean * mean) * pmf.interval * pmf.interval};
}

class Composition {
 public:
  explicit Composition(std::span<const RepeatedPmf> parts)
      : parts_(parts), interval_(parts[0].pmf->interval) {
    double log_finite = 0;
    for (const auto& [pmf, count] : parts) {
      const double times = static_cast<double>(count);
      log_finite += times * std::log1p(-pmf->infinity_mass);
      lowest_ += times * static_cast<double>(pmf->lowest);
      highest_ +=
          times * static_cast<double>(pmf->lowest + static_cast<int64_t>(pmf->probs.size()) - 1);
      const Cumulants own = cumulants(*pmf, 0, pmf->lowest);
      origins_.push_back(static_cast<int64_t>(std::llround(own.mean / interval_)));
    }
    infinity_mass_ = -std::expm1(log_finite);
    max_theta_ = std::min(kMaxTilt / interval_, kMaxDeviations / std::sqrt(at(0).variance));
  }

  double infinity_mass() const { return infinity_mass_; }
  double lowest_loss() const { return lowest_ * interval_; }
  double highest_loss() const { return highest_ * interval_; }
  double interval() const { return interval_; }
  double max_theta() const { return max_theta_; }

  Cumulants at(double theta) const {
    Cumulants sum;
    for (size_t p = 0; p < parts_.size(); ++p) {
      const Cumulants own = cumulants(*parts_[p].pmf, theta, origins_[p]);
      const double times = static_cast<double>(parts_[p].count);
      sum.log_mgf += times * own.log_mgf;
      sum.mean += times * own.mean;
      sum.variance += times * own.variance;
    }
    return sum;
  }

  // Where the sum lies when tilted by theta, but for kTailMass on either side; and, without the tilt, but
  // for kTailMass exp(log_tail) above.
  struct Range {
    double theta, log_mgf;
    int64_t lowest;     // grid point
    int64_t size;       // a length of the FFT
    double mass_above;  // a bound of the probability, not tilted, above it
    bool complete;      // nothing lies below it
  };
  Range range(double theta, double log_tail) const;

  // The tilted probabilities in the range, not negative: probability times exp(theta loss - log_mgf).
  // What lies beyond is folded in. Each part is moved to its tilted mean: the coefficients that matter
  // then have small arguments, whose rounding the power does not blow up.
  std::vector<double> tilted(const Range& range) const;

 private:
  std::span<const RepeatedPmf> parts_;
  double interval_, infinity_mass_ = 0, max_theta_ = 0;
  double lowest_ = 0, highest_ = 0;  // grid points of the sum
  std::vector<int64_t> origins_;     // the grid point next to each part's mean
};

// value to the power of count, by squaring.
std::complex<double> power(std::complex<double> value, int64_t count) {
  double re = value.real(), im = value.imag(), out_re = 1, out_im = 0;
  const auto times = [](double& a, double& b, double c, double d) {
    const double real = a * c - b * d;
    b = a * d + b * c, a = real;
  };
  for (; count > 0; count /= 2) {
    if (count % 2 == 1) times(out_re, out_im, re, im);
    times(re, im, re, im);
  }
  return {out_re, out_im};
}

std::vector<double> Composition::tilted(const Range& range) const {
  if (range.size == kMaxPoints)
    value_error("privacy::PrivacyLossDistribution",
                "expected a composition of at most 2^27 grid points, got more; take a larger "
                "value_discretization_interval than {}",
                interval_);
  const size_t size = fast_fft_size(static_cast<size_t>(range.size));
  const int64_t n = static_cast<int64_t>(size);
  const RealFft fft(size);
  std::vector<std::complex<double>> product(size / 2 + 1, 1.0);
  int64_t moved = 0;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const PldPmf& pmf = *parts_[p].pmf;
    const Cumulants own = cumulants(pmf, range.theta, origins_[p]);
    const int64_t shift = static_cast<int64_t>(std::llround(own.mean / interval_));
    std::vector<double> values(size, 0.0);
    for (size_t i = 0; i < pmf.probs.size(); ++i) {
      const int64_t point = pmf.lowest + static_cast<int64_t>(i);
      const int64_t place = (((point - shift) % n) + n) % n;
      values[static_cast<size_t>(place)] +=
          pmf.probs[i] *
          std::exp(range.theta * static_cast<double>(point) * interval_ - own.log_mgf);
    }
    const std::vector<std::complex<double>> coefficients = fft.forward(values);
    for (size_t k = 0; k < product.size(); ++k)
      product[k] *= power(coefficients[k], parts_[p].count);
    moved += shift * parts_[p].count;
  }
  std::vector<double> folded = fft.inverse(product);
  const int64_t first = (((range.lowest - moved) % n) + n) % n;
  std::rotate(folded.begin(), folded.begin() + first, folded.end());
  for (double& probability : folded) probability = std::max(probability, 0.0);
  return folded;
}

Composition::Range Composition::range(double theta, double log_tail) const {
  const Cumulants here = at(theta);
  const double deviation = std::max(std::sqrt(here.variance), interval_);
  double high = kInf, high_untilted = kInf, low = lowest_loss();
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
  return {theta,
          here.log_mgf,
          lowest,
          points < kMaxPoints ? std::max<int64_t>(std::llround(points) + 3, 64) : kMaxPoints,
          all ? 0 : std::exp(log_tail + kLogTailMass),
          static_cast<double>(lowest) <= lowest_};
}

// The tilt at which `slope`, increasing, changes its sign; to a few percent, which is all it needs.
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

// The window to read a tail from whose probability is about exp(log_tail). The saddle point keeps all of
// the FFT's digits, but where there are rare large losses it weighs them up so that its window is long: of
// smaller tilts, that of the smallest window whose loss of digits is bounded.
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

struct Scan {
  double epsilon;
  bool found;
};

// The epsilon at which the losses of the window, from the highest down, first explain delta: where
// upper - exp(epsilon) lower = delta for the masses of both neighbours above epsilon.
Scan scan(const Composition& sum, const Composition::Range& range, double delta) {
  const std::vector<double> tilted = sum.tilted(range);
  const double step = std::exp(-sum.interval());
  // `lower` is relative to exp(-loss), which may be too large or too small for a number.
  double upper = sum.infinity_mass() + range.mass_above, lower = 0, loss = 0;
  const auto epsilon = [&] { return loss + std::log((upper - delta) / lower); };
  for (size_t i = tilted.size(); i-- > 0;) {
    const double next =
        static_cast<double>(range.lowest + static_cast<int64_t>(i)) * sum.interval();
    if (upper > delta && lower > 0 && epsilon() >= next) return {epsilon(), true};
    loss = next;
    const double probability = tilted[i] * std::exp(range.log_mgf - range.theta * loss);
    upper += probability;
    lower = lower * step + probability;
  }
  if (upper > delta && lower > 0) return {epsilon(), range.complete};
  return {-kInf, range.complete};
}

}  // namespace

double delta_of_composition(std::span<const RepeatedPmf> parts, double epsilon) {
  if (parts.empty()) return epsilon >= 0 ? 0 : -std::expm1(epsilon);
  const Composition sum(parts);
  if (epsilon >= sum.highest_loss() || sum.infinity_mass() == 1) return sum.infinity_mass();
  const double saddle = sum.at(0).mean >= epsilon ? 0 : find_tilt(sum.max_theta(), [&](double t) {
    return sum.at(t).mean - epsilon;
  });
  const Composition::Range range =
      window_for(sum, saddle, sum.at(saddle).log_mgf - saddle * epsilon);
  const std::vector<double> tilted = sum.tilted(range);
  double delta = sum.infinity_mass() + range.mass_above;
  for (size_t i = tilted.size(); i-- > 0;) {
    const double loss =
        static_cast<double>(range.lowest + static_cast<int64_t>(i)) * sum.interval();
    if (loss <= epsilon) return std::min(delta, 1.0);
    delta -= std::expm1(epsilon - loss) * tilted[i] * std::exp(range.log_mgf - range.theta * loss);
  }
  return std::min(delta + (range.complete ? 0 : kTailMass), 1.0);
}

double epsilon_of_composition(std::span<const RepeatedPmf> parts, double delta) {
  if (parts.empty() || delta == 1) return 0;
  const Composition sum(parts);
  if (sum.infinity_mass() > delta) return kInf;
  if (sum.infinity_mass() == delta) return std::max(sum.highest_loss(), 0.0);
  const double log_delta = std::log(delta - sum.infinity_mass());
  double saddle = find_tilt(sum.max_theta(), [&](double t) {
    const Cumulants here = sum.at(t);
    return t * here.mean - here.log_mgf + log_delta;  // of Chernoff's bound (K - log delta) / t
  });
  for (;; saddle = saddle < 1e-3 ? 0 : saddle / 4) {  // again where epsilon lies below the window
    const Composition::Range range = window_for(sum, saddle, log_delta);
    const Scan result = scan(sum, range, delta);
    const double bottom = static_cast<double>(range.lowest) * sum.interval();
    if (result.found || saddle == 0 || bottom <= 0) return std::max(result.epsilon, 0.0);
  }
}

double composition_points(std::span<const RepeatedPmf> parts) {
  if (parts.empty()) return 0;
  const Composition sum(parts);
  return 20 * std::sqrt(sum.at(0).variance) / sum.interval();
}

}  // namespace tessera::privacy::accounting::internal
