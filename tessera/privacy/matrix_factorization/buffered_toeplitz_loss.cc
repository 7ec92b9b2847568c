#include "tessera/privacy/matrix_factorization/buffered_toeplitz_loss.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "tessera/base/format.h"
#include "tessera/privacy/matrix_factorization/toeplitz_adjoint.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {
namespace {

BltValue error_with_gradient(const LossFn& loss_fn, const BufferedToeplitz& inverse) {
  if (loss_fn.closed_form) return max_error_with_gradient(inverse, loss_fn.n);
  const toeplitz::ValueAndGradient error =
      toeplitz::noising_error(inverse.toeplitz_coefs(loss_fn.n), loss_fn.n,
                              loss_fn.error == Error::kMean ? mean_error : last_error);
  return {error.value, pull_back_coefs(inverse, error.gradient)};
}

BltValue sensitivity_with_gradient(const LossFn& loss_fn, const BufferedToeplitz& blt) {
  if (loss_fn.closed_form)
    return sensitivity_squared_with_gradient(blt, static_cast<double>(loss_fn.n));
  const toeplitz::ValueAndGradient sum =
      toeplitz::spaced_columns(blt.toeplitz_coefs(loss_fn.n), loss_fn.n,
                               loss_fn.participation.min_sep, loss_fn.max_participations());
  return {sum.value, pull_back_coefs(blt, sum.gradient)};
}

// The values of the barriers, their weighted sum, and the gradients of the sum.
class Barriers {
 public:
  Penalties values = {0, 0, 0, 0, 0, 0, 0, 0, 0};
  BltGradient by_blt, by_inverse;  // gradients of total()

  Barriers(const LossFn& loss_fn, const BufferedToeplitz& blt, const BufferedToeplitz& inverse)
      : by_blt(blt.buf_decay.size()),
        by_inverse(blt.buf_decay.size()),
        weights_(loss_fn.penalty_multipliers) {
    const Penalties& w = weights_;
    each(w.buf_decay_above_0, 1, 0, blt.buf_decay, by_blt.by_decay, values.buf_decay_above_0);
    each(w.buf_decay_below_1, -1, 1, blt.buf_decay, by_blt.by_decay, values.buf_decay_below_1);
    each(w.output_scale_above_0, 1, 0, blt.output_scale, by_blt.by_scale,
         values.output_scale_above_0);
    each(w.inv_buf_decay_above_0, 1, 0, inverse.buf_decay, by_inverse.by_decay,
         values.inv_buf_decay_above_0);
    each(w.inv_buf_decay_below_1, -1, 1, inverse.buf_decay, by_inverse.by_decay,
         values.inv_buf_decay_below_1);
    each(w.inv_output_scale_below_0, -1, 0, inverse.output_scale, by_inverse.by_scale,
         values.inv_output_scale_below_0);
    values.theta_gap = gap(loss_fn, blt.buf_decay, by_blt.by_decay) +
                       gap(loss_fn, inverse.buf_decay, by_inverse.by_decay);
    second_coef(loss_fn, blt);
    pillutla_score(blt);
  }

  double total() const {
    const auto& [a, b, c, d, e, f, g, h, i] = weights_;
    const Penalties& v = values;
    double sum = 0;
    const auto add = [&](double weight, double value) {
      if (weight != 0) sum += weight * value;  // a disabled barrier may be infinite
    };
    add(a, v.buf_decay_above_0);
    add(b, v.buf_decay_below_1);
    add(c, v.output_scale_above_0);
    add(d, v.inv_buf_decay_above_0);
    add(e, v.inv_buf_decay_below_1);
    add(f, v.inv_output_scale_below_0);
    add(g, v.theta_gap);
    add(h, v.second_coef);
    add(i, v.pillutla_score);
    return sum;
  }

 private:
  // Adds -log(offset + sign x) for each x.
  static void each(double weight, double sign, double offset, const std::vector<double>& x,
                   std::vector<double>& gradient, double& value) {
    for (size_t j = 0; j < x.size(); ++j) {
      const double distance = offset + sign * x[j];
      value -= std::log(distance);
      if (weight != 0) gradient[j] -= weight * sign / distance;
    }
  }

  double gap(const LossFn& loss_fn, const std::vector<double>& x, std::vector<double>& gradient) {
    size_t a = 0, b = 0;
    double closest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < x.size(); ++j)
        if (x[i] >= x[j] && i != j && x[i] - x[j] < closest) {
          closest = x[i] - x[j];
          a = i;
          b = j;
        }
    if (x.size() < 2) return 0;
    const double distance = closest - loss_fn.min_theta_gap;
    if (weights_.theta_gap != 0) {
      gradient[a] -= weights_.theta_gap / distance;
      gradient[b] += weights_.theta_gap / distance;
    }
    return -std::log(distance);
  }

  void second_coef(const LossFn& loss_fn, const BufferedToeplitz& blt) {
    const double distance =
        std::accumulate(blt.output_scale.begin(), blt.output_scale.end(), loss_fn.max_second_coef,
                        [](double sum, double s) { return sum - s; });
    values.second_coef = -std::log(distance);
    if (weights_.second_coef == 0) return;
    for (double& g : by_blt.by_scale) g += weights_.second_coef / distance;
  }

  void pillutla_score(const BufferedToeplitz& blt) {
    const double distance = 1 - blt.pillutla_score();
    values.pillutla_score = -std::log(distance);
    if (weights_.pillutla_score == 0) return;
    const double slope = weights_.pillutla_score / distance;
    for (size_t j = 0; j < blt.buf_decay.size(); ++j) {
      const double share = slope / blt.buf_decay[j];
      by_blt.by_scale[j] += share;
      by_blt.by_decay[j] -= share * blt.output_scale[j] / blt.buf_decay[j];
    }
  }

  const Penalties weights_;
};

// Returns a rough estimate of the least loss: the root of the largest error of Toeplitz mechanisms
// grows as 1 + log(n) / pi.
double approximate_optimum(const LossFn& loss_fn) {
  const double root = 1 + std::log(static_cast<double>(loss_fn.n)) / std::numbers::pi;
  return static_cast<double>(loss_fn.max_participations()) + root * root;
}

std::vector<double> concat(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Returns the coordinates -log(1 - decay) in which the search moves. The larger n is, the nearer
// the best decays are to 1, each at a scale of its own. If the search moved in the decays
// themselves, with steps of one length, it would stall.
std::vector<double> searched(std::vector<double> decays) {
  for (double& d : decays) d = -std::log1p(-d);
  return decays;
}
std::vector<double> decays_of(std::vector<double> coordinates) {
  for (double& z : coordinates) z = -std::expm1(-z);
  return coordinates;
}
std::vector<double> by_coordinates(const std::vector<double>& decays,
                                   std::vector<double> gradient) {
  for (size_t j = 0; j < decays.size(); ++j) gradient[j] *= 1 - decays[j];
  return gradient;
}

// The decays l of the inverse are the zeros of sum_j omega_j / (theta_j - l) - 1, which determines
// their derivatives.
void pull_back_inverse_decays(const BufferedToeplitz& blt, const BufferedToeplitz& inverse,
                              const std::vector<double>& by_inverse_decay, BltGradient& by_blt) {
  for (size_t i = 0; i < inverse.buf_decay.size(); ++i) {
    double slope = 0;
    for (size_t j = 0; j < blt.buf_decay.size(); ++j) {
      const double distance = blt.buf_decay[j] - inverse.buf_decay[i];
      slope += blt.output_scale[j] / (distance * distance);
    }
    for (size_t j = 0; j < blt.buf_decay.size(); ++j) {
      const double distance = blt.buf_decay[j] - inverse.buf_decay[i];
      const double share = by_inverse_decay[i] / (slope * distance);
      by_blt.by_scale[j] -= share;
      by_blt.by_decay[j] += share * blt.output_scale[j] / distance;
    }
  }
}

}  // namespace

Penalties LossFn::compute_penalties(const BufferedToeplitz& blt,
                                    const BufferedToeplitz& inv_blt) const {
  return Barriers(*this, blt, inv_blt).values;
}

PenalizedLoss penalized_loss_with_gradient(const LossFn& loss_fn, const BufferedToeplitz& blt,
                                           const BufferedToeplitz& inv_blt, bool normalize) {
  const Barriers barriers(loss_fn, blt, inv_blt);
  const size_t m = blt.buf_decay.size();
  PenalizedLoss out{loss_fn.penalty_strength * barriers.total(), BltGradient(m), BltGradient(m)};
  // Beyond a barrier the loss is not computed, because powers of decays may be huge.
  if (!std::isfinite(out.value)) return out;
  const BltValue error = error_with_gradient(loss_fn, inv_blt);
  const BltValue sensitivity = sensitivity_with_gradient(loss_fn, blt);
  const double scale = normalize ? 1 / approximate_optimum(loss_fn) : 1;
  out.value += scale * error.value * sensitivity.value;
  out.by_blt.add(scale * error.value, sensitivity.gradient);
  out.by_blt.add(loss_fn.penalty_strength, barriers.by_blt);
  out.by_inverse.add(scale * sensitivity.value, error.gradient);
  out.by_inverse.add(loss_fn.penalty_strength, barriers.by_inverse);
  return out;
}

std::vector<double> params_from_blt(Parameterization parameterization,
                                    const BufferedToeplitz& blt) {
  switch (parameterization) {
    case Parameterization::kBufDecayPair:
      return concat(searched(blt.buf_decay), searched(blt.inverse().buf_decay));
    case Parameterization::kStrategyBlt:
      return concat(searched(blt.buf_decay), blt.output_scale);
  }
  return {};
}

// The decays stay in the order of the parameters, so that gradients have the same order.
std::pair<BufferedToeplitz, BufferedToeplitz> blt_and_inverse_from_params(
    Parameterization parameterization, const std::vector<double>& params) {
  const auto middle = params.begin() + static_cast<std::ptrdiff_t>(params.size() / 2);
  const std::vector<double> first = decays_of({params.begin(), middle}),
                            second(middle, params.end());
  switch (parameterization) {
    case Parameterization::kBufDecayPair: {
      const std::vector<double> hat = decays_of(second);
      return {{first, scales_of_pair(first, hat)}, {hat, scales_of_pair(hat, first)}};
    }
    case Parameterization::kStrategyBlt:
      return {{first, second}, BufferedToeplitz{first, second}.inverse()};
  }
  return {};
}

std::vector<double> pull_back_pair(Parameterization parameterization, const BufferedToeplitz& blt,
                                   const BufferedToeplitz& inverse, const PenalizedLoss& loss) {
  BltGradient by_blt = loss.by_blt;
  std::vector<double> by_inverse_decay = loss.by_inverse.by_decay;
  pull_back_scales(inverse, blt.buf_decay, loss.by_inverse.by_scale, by_inverse_decay,
                   by_blt.by_decay);
  switch (parameterization) {
    case Parameterization::kBufDecayPair:
      pull_back_scales(blt, inverse.buf_decay, loss.by_blt.by_scale, by_blt.by_decay,
                       by_inverse_decay);
      return concat(by_coordinates(blt.buf_decay, by_blt.by_decay),
                    by_coordinates(inverse.buf_decay, by_inverse_decay));
    case Parameterization::kStrategyBlt:
      pull_back_inverse_decays(blt, inverse, by_inverse_decay, by_blt);
      return concat(by_coordinates(blt.buf_decay, by_blt.by_decay), by_blt.by_scale);
  }
  return {};
}

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
