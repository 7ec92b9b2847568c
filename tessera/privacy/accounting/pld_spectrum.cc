#include "tessera/privacy/accounting/pld_spectrum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>

#include "tessera/privacy/accounting/fft.h"

namespace tessera::privacy::accounting::internal {

namespace {

using Complex = std::complex<double>;

constexpr double kLogNothing = -50;      // the logarithm of a negligible coefficient
constexpr int64_t kLeastTransform = 64;  // the least length of the short transforms
// The least number of points per coefficient for which only the first coefficients are computed.
constexpr int64_t kLeastSaving = 8;

// Returns value^count, by squaring.
Complex power(Complex value, int64_t count) {
  Complex out = 1;
  for (; count > 0; count /= 2) {
    if (count % 2 == 1) out = product(out, value);
    value = product(value, value);
  }
  return out;
}

// Returns exp(2 pi i q / n), from two short tables.
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n) {
    const auto root = [&](int64_t q) {
      return std::polar(1.0, 2 * M_PI * static_cast<double>(q) / static_cast<double>(n));
    };
    for (int64_t q = 0; q < kFine; ++q) fine_.push_back(root(q));
    for (int64_t q = 0; q < n; q += kFine) coarse_.push_back(root(q));
  }
  Complex operator()(int64_t q) const {
    q %= n_;
    return product(coarse_[static_cast<size_t>(q / kFine)], fine_[static_cast<size_t>(q % kFine)]);
  }

 private:
  static constexpr int64_t kFine = 256;
  int64_t n_;
  std::vector<Complex> fine_, coarse_;
};

std::vector<double> on_ring(const RingPart& part, int64_t n) {
  std::vector<double> out(static_cast<size_t>(n), 0.0);
  int64_t place = ((part.lowest % n) + n) % n;
  for (double probability : part.probs) {
    out[static_cast<size_t>(place)] += probability;
    if (++place == n) place = 0;
  }
  return out;
}

double total_variation(const std::vector<double>& probs) {
  double sum = 0, last = 0;
  for (double p : probs) sum += std::abs(p - last), last = p;
  return sum + last;
}

// Returns the number of coefficients that are not negligible, which are the first ones. By
// summation by parts the k-th coefficient of a part is at most its total variation divided by 2
// sin(pi k / n).
int64_t significant(const std::vector<RingPart>& parts, int64_t n) {
  std::vector<double> variations;
  for (const RingPart& part : parts) variations.push_back(total_variation(part.probs));
  const auto log_bound = [&](int64_t k) {
    const double chord = 2 * std::sin(M_PI * static_cast<double>(k) / static_cast<double>(n));
    double sum = 0;
    for (size_t p = 0; p < parts.size(); ++p)
      sum += static_cast<double>(parts[p].count) * std::min(0.0, std::log(variations[p] / chord));
    return sum;
  };
  int64_t low = 0, high = n / 2 + 1;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (log_bound(middle) < kLogNothing ? high : low) = middle;
  }
  return high;
}

// Returns the coefficients 0 to count - 1 on a ring of n points, where n is a multiple of
// `transform`. The points of each residue modulo n / transform have a short transform, and the low
// coefficients of these are combined (Cooley and Tukey).
std::vector<Complex> low_coefficients(const RingPart& part, int64_t n, int64_t transform,
                                      int64_t count, const Roots& roots) {
  const int64_t stride = n / transform, size = static_cast<int64_t>(part.probs.size());
  const RealFft fft(static_cast<size_t>(transform));
  std::vector<Complex> out(static_cast<size_t>(count));
  for (int64_t r = 0; r < std::min(stride, size); ++r) {
    std::vector<double> values(static_cast<size_t>(transform), 0.0);
    const int64_t place = (((part.lowest + r) % n) + n) % n, residue = place % stride;
    int64_t j = place / stride;
    for (int64_t i = r; i < size; i += stride) {
      values[static_cast<size_t>(j)] += part.probs[static_cast<size_t>(i)];
      if (++j == transform) j = 0;
    }
    const std::vector<Complex> own = fft.forward(values);
    for (int64_t k = 0; k < count; ++k)
      out[static_cast<size_t>(k)] +=
          product(own[static_cast<size_t>(k)], std::conj(roots(residue * k)));
  }
  return out;
}

// Returns the length of short transforms for `count` coefficients: a power of 2, at least 4 count.
// More than 2 * 1.5 * count is needed, because `count` may grow by half.
int64_t transform_for(int64_t count) {
  const uint64_t wanted = static_cast<uint64_t>(4 * count);
  return std::max(kLeastTransform, static_cast<int64_t>(std::bit_ceil(wanted)));
}

}  // namespace

RingTails::RingTails(const std::vector<RingPart>& parts, int64_t first, int64_t points,
                     double theta, double interval)
    : theta_(theta), interval_(interval) {
  const int64_t count = significant(parts, points);
  const int64_t transform = transform_for(count);
  if (theta > 0 && count * kLeastSaving < points && transform * 2 <= points) {
    // Rounding up adds at most half of the points, and so half of the coefficients.
    n_ = (points + transform - 1) / transform * transform;
    from_low(parts, first, significant(parts, n_), transform);
  } else {
    n_ = static_cast<int64_t>(fast_fft_size(static_cast<size_t>(points)));
    from_all(parts, first);
  }
}

void RingTails::from_all(const std::vector<RingPart>& parts, int64_t first) {
  const RealFft fft(static_cast<size_t>(n_));
  std::vector<Complex> sum(static_cast<size_t>(n_ / 2 + 1), 1.0);
  for (const RingPart& part : parts) {
    const std::vector<Complex> coefficients = fft.forward(on_ring(part, n_));
    for (size_t k = 0; k < sum.size(); ++k)
      sum[k] = product(sum[k], power(coefficients[k], part.count));
  }
  std::vector<double> ring = fft.inverse(sum);
  std::rotate(ring.begin(), ring.begin() + ((first % n_) + n_) % n_, ring.end());
  upper_.resize(ring.size() + 1), lower_.resize(ring.size() + 1);
  const double step = std::exp(-theta_ * interval_), both = std::exp(-(theta_ + 1) * interval_);
  for (size_t m = ring.size(); m-- > 0;) {
    const double probability = std::max(ring[m], 0.0);
    upper_[m] = upper_[m + 1] * step + probability;
    lower_[m] = lower_[m + 1] * both + probability;
  }
}

void RingTails::from_low(const std::vector<RingPart>& parts, int64_t first, int64_t count,
                         int64_t transform) {
  const Roots roots(n_);
  const int64_t start = ((first % n_) + n_) % n_;
  std::vector<Complex> sum(static_cast<size_t>(count), 1.0);
  for (const RingPart& part : parts) {
    const std::vector<Complex> coefficients = low_coefficients(part, n_, transform, count, roots);
    for (size_t k = 0; k < sum.size(); ++k)
      sum[k] = product(sum[k], power(coefficients[k], part.count));
  }
  for (int64_t k = 0; k < count; ++k) {
    const double angle = 2 * M_PI * static_cast<double>(k) / static_cast<double>(n_);
    const double half = std::sin(angle / 2);
    const auto divided = [&](Complex value, double log_ratio) -> Coefficient {
      const double ratio = std::exp(-log_ratio);
      const Complex out = value / Complex(-std::expm1(-log_ratio) + ratio * 2 * half * half,
                                          -ratio * std::sin(angle));
      return {out.real(), out.imag()};
    };
    const double weight = (k == 0 ? 1.0 : 2.0) / static_cast<double>(n_);
    const Complex value = weight * product(sum[static_cast<size_t>(k)], roots(k * start));
    low_upper_.push_back(divided(value, theta_ * interval_));
    low_lower_.push_back(divided(value, (theta_ + 1) * interval_));
  }
}

RingTails::Tail RingTails::operator()(int64_t m0) const {
  if (low_upper_.empty()) return {upper_[static_cast<size_t>(m0)], lower_[static_cast<size_t>(m0)]};
  const double left = static_cast<double>(n_ - m0) * interval_;
  const double end_upper = std::exp(-theta_ * left), end_lower = std::exp(-(theta_ + 1) * left);
  const Complex step =
      std::polar(1.0, 2 * M_PI * static_cast<double>(m0) / static_cast<double>(n_));
  Complex at = 1;
  Tail out{0, 0};
  for (size_t k = 0; k < low_upper_.size(); ++k, at = product(at, step)) {
    const Coefficient &u = low_upper_[k], &l = low_lower_[k];
    out.upper += u.re * (at.real() - end_upper) - u.im * at.imag();
    out.lower += l.re * (at.real() - end_lower) - l.im * at.imag();
  }
  return out;
}

}  // namespace tessera::privacy::accounting::internal
