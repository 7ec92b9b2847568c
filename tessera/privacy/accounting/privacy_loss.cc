#include "tessera/privacy/accounting/privacy_loss.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/privacy/accounting/special_functions.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting::internal {

namespace {

// Returns the point beyond which a standard normal has half of the probability exp(log_tail): about
// 9.7 for -50, and 37 for -700.
double cut(double log_tail) { return -normal_quantile_from_log(log_tail - std::log(2.0)); }

// Returns exp(epsilon) Phi(x), whose factors alone may overflow or underflow.
double scaled_cdf(double epsilon, double x) {
  return epsilon < 500 && x > -30 ? std::exp(epsilon) * normal_cdf(x)
                                  : std::exp(epsilon + log_normal_cdf(x));
}

template <class F>
PrivacyLoss pointwise(double lower, double upper, bool symmetric, bool smooth, F excess) {
  return {lower, upper, symmetric, smooth,
          [excess](std::span<const double> epsilons, std::span<double> out) {
            std::transform(epsilons.begin(), epsilons.end(), out.begin(), excess);
          }};
}

// Returns a symmetric loss, from its delta at epsilons that are not negative.
template <class F>
PrivacyLoss symmetric_loss(double bound, bool smooth, F delta) {
  return pointwise(-bound, bound, true, smooth, [delta](double epsilon) {
    return std::isinf(epsilon) ? 0 : std::exp(std::min(epsilon, 0.0)) * delta(std::abs(epsilon));
  });
}

// Returns log(1 + (exp(x) - 1) / q): the loss without sampling, if x is the loss with it. Returns
// -inf if no loss with sampling is as small as x.
double without_sampling(double x, double q) {
  if (x > 30) return x - std::log(q) + std::log1p(-(1 - q) * std::exp(-x));
  const double y = std::expm1(x) / q;
  return y > -1 ? std::log1p(y) : -kInfinity;
}

// Returns log(1 - q + q exp(x)): the loss with sampling, if x is the loss without it.
double with_sampling(double x, double q) {
  return x > 30 ? log_add(std::log1p(-q), std::log(q) + x) : std::log1p(q * std::expm1(x));
}

// The function log E[exp((c y - c^2 / 2) / sigma^2)] of y, where c is drawn from the components. A
// call returns its value and its derivative. The function is convex and increasing.
struct LogMixture {
  double sigma;
  std::vector<MixtureComponent> components;

  std::pair<double, double> operator()(double y) const {
    double largest = -kInfinity, sum = 0, slope = 0;
    for (const auto& [c, p] : components) largest = std::max(largest, exponent(c, y));
    for (const auto& [c, p] : components) {
      const double term = p * std::exp(exponent(c, y) - largest);
      sum += term;
      slope += term * c;
    }
    return {largest + std::log(sum), slope / sum / (sigma * sigma)};
  }
  double exponent(double c, double y) const { return (c * y - c * c / 2) / (sigma * sigma); }

  // Returns the y at which the function has this value, by Newton's method from the given y. Once
  // the iterates are above the result, they decrease towards it.
  double inverse(double value, double y) const {
    for (int step = 0; step < 200; ++step) {
      const auto [at, slope] = (*this)(y);
      const double next = y - (at - value) / slope;
      if (!std::isfinite(next)) return -kInfinity;
      if (at >= value && !(next < y - 1e-13 * sigma)) return std::min(next, y);
      y = next;
    }
    return y;
  }

  double zero_probability() const {
    double zero = 0;
    for (const auto& [c, p] : components) zero += c == 0 ? p : 0;
    return zero;
  }
  double cdf(double x, int sign) const {
    double sum = 0;
    for (const auto& [c, p] : components) sum += p * normal_cdf((x + sign * c) / sigma);
    return sum;
  }
};

// Computes the excess of the mixture against N(0, sigma^2). A loss of epsilon belongs to the
// outcome -y for which the mixture's logarithm at y is epsilon. The excess of negative losses is
// computed in the other direction, in which the outcome is y.
void mixture_excess(const LogMixture& mixture, double y, std::span<const double> epsilons,
                    std::span<double> out) {
  const double least = std::log(mixture.zero_probability());
  for (size_t i = epsilons.size(); i-- > 0;) {
    const double epsilon = epsilons[i];
    if (epsilon > least) y = mixture.inverse(epsilon, y);
    if (epsilon <= least || std::isinf(y))
      out[i] = 0;
    else if (epsilon >= 0)
      out[i] = mixture.cdf(-y, 1) - scaled_cdf(epsilon, -y / mixture.sigma);
    else
      out[i] = scaled_cdf(epsilon, y / mixture.sigma) - mixture.cdf(y, -1);
  }
}

}  // namespace

PrivacyLoss gaussian_loss(double sigma, double log_tail) {
  const double bound = 0.5 / (sigma * sigma) + cut(log_tail) / sigma;
  return symmetric_loss(bound, true, [sigma](double epsilon) {
    return normal_cdf(0.5 / sigma - epsilon * sigma) -
           scaled_cdf(epsilon, -0.5 / sigma - epsilon * sigma);
  });
}

PrivacyLoss laplace_loss(double scale) {
  const double bound = 1 / scale;
  return symmetric_loss(bound, false, [bound](double epsilon) {
    return epsilon >= bound ? 0 : -std::expm1((epsilon - bound) / 2);
  });
}

PrivacyLoss discrete_laplace_loss(double a, int64_t sensitivity) {
  // An outcome x in [0, k] has the loss a (k - 2 x); an outcome outside has the loss of the nearer
  // end.
  const double top = a * static_cast<double>(sensitivity);
  return symmetric_loss(top, false, [=](double epsilon) {
    double delta = epsilon < top ? -std::expm1(epsilon - top) / (1 + std::exp(-a)) : 0;
    for (int64_t x = 1; top - 2 * a * static_cast<double>(x) > epsilon; ++x)
      delta -= std::tanh(a / 2) * std::exp(-a * static_cast<double>(x)) *
               std::expm1(epsilon - (top - 2 * a * static_cast<double>(x)));
    return delta;
  });
}

// delta with sampling is q times the delta without it at the corresponding loss, for losses of
// either sign.
PrivacyLoss subsampled(PrivacyLoss loss, double q) {
  TESSERA_CHECK(loss.symmetric);
  return {
      with_sampling(loss.lower, q), with_sampling(loss.upper, q), false, loss.smooth,
      [base = std::move(loss.excess), q](std::span<const double> epsilons, std::span<double> out) {
        std::vector<double> inner;
        for (double epsilon : epsilons) inner.push_back(without_sampling(epsilon, q));
        base(inner, out);
        for (double& value : out) value *= q;
      }};
}

PrivacyLoss symmetrized(PrivacyLoss loss) {
  return {
      -loss.upper, loss.upper, true, loss.smooth,
      [above = std::move(loss.excess)](std::span<const double> epsilons, std::span<double> out) {
        // The excess at -x is exp(-x) times that at x; the list of epsilons is ascending.
        const auto zero = std::lower_bound(epsilons.begin(), epsilons.end(), 0.0);
        const auto negative = static_cast<size_t>(zero - epsilons.begin());
        above(epsilons.subspan(negative), out.subspan(negative));
        std::vector<double> sizes, mirrored(negative);
        for (size_t i = negative; i-- > 0;) sizes.push_back(-epsilons[i]);
        above(sizes, mirrored);
        for (size_t i = 0; i < negative; ++i)
          out[i] = std::exp(epsilons[i]) * mirrored[negative - 1 - i];
      }};
}

PrivacyLoss replaced_gaussian_loss(double sigma, double q, double log_tail) {
  const double variance = sigma * sigma;
  const auto side = [=](double y) { return with_sampling((y - 0.5) / variance, q); };
  // An outcome x has the loss side(-x) - side(x); outcomes farther than cut(log_tail) * sigma from
  // both means are truncated.
  const double extreme = cut(log_tail) * sigma + 1;
  // This is the outcome of a loss, in units of the variance:
  // sinh(x + epsilon / 2) = -(1 - q) / q exp(1 / (2 variance)) sinh(epsilon / 2).
  const double log_ratio = 0.5 / variance + std::log1p(-q) - std::log(q);
  return symmetric_loss(side(extreme) - side(-extreme), true, [=](double epsilon) {
    double shift = 0;
    if (epsilon > 0) {
      const double log_sinh = epsilon / 2 + std::log(-std::expm1(-epsilon) / 2) + log_ratio;
      shift = log_sinh > 300 ? log_sinh + std::log(2.0) : std::asinh(std::exp(log_sinh));
    }
    const double x = -variance * (shift + epsilon / 2);
    return (1 - q) * (normal_cdf(x / sigma) - scaled_cdf(epsilon, x / sigma)) +
           q * (normal_cdf((x + 1) / sigma) - scaled_cdf(epsilon, (x - 1) / sigma));
  });
}

PrivacyLoss gaussian_mixture_loss(double sigma, std::vector<MixtureComponent> components,
                                  double log_tail) {
  std::erase_if(components, [](const MixtureComponent& c) { return c.probability == 0; });
  const LogMixture mixture{sigma, std::move(components)};
  double largest = 0;
  for (const auto& [c, p] : mixture.components) largest = std::max(largest, c);
  const double tail = cut(log_tail) * sigma, mass = 0.5 * std::exp(log_tail);
  const double lowest =
      find_root([&](double x) { return mixture.cdf(x, 1) - mass; }, -tail - largest - 1e-6 * sigma,
                -tail + 1e-6 * sigma, 1e-6 * sigma);
  return {mixture(-tail).first, mixture(-lowest).first, false, true,
          [=](std::span<const double> epsilons, std::span<double> out) {
            mixture_excess(mixture, tail + largest + sigma, epsilons, out);
          }};
}

PrivacyLoss mixed(double probability, PrivacyLoss first, PrivacyLoss second) {
  return {std::min(first.lower, second.lower), std::max(first.upper, second.upper),
          first.symmetric && second.symmetric, first.smooth && second.smooth,
          [=](std::span<const double> epsilons, std::span<double> out) {
            std::vector<double> other(out.size());
            first.excess(epsilons, out);
            second.excess(epsilons, other);
            for (size_t i = 0; i < out.size(); ++i)
              out[i] = probability * out[i] + (1 - probability) * other[i];
          }};
}

}  // namespace tessera::privacy::accounting::internal
