// Buffered linear Toeplitz (BLT) strategies: Toeplitz matrices whose coefficients are a sum of m
// geometric series, so that noise is correlated by means of m buffers of state, for any number of
// iterations (McMahan et al., arXiv:2404.16706 and arXiv:2408.08868):
//
//   coef = 1, sum_j s_j, sum_j s_j d_j, sum_j s_j d_j^2, ...     d: buf_decay, s: output_scale
//
// The inverse is a BLT of as many buffers (arXiv:2504.21413). If the strategy's scales are positive
// and its Pillutla score is below 1, then the inverse's decays are between those of the strategy,
// and its scales are negative. buffered_toeplitz_optimization.h finds the best BLTs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/privacy/matrix_factorization/matrix.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {

struct RationalApproximation {
  int64_t num_buffers = 0;
  // All decays are scaled so that the largest is at most this.
  double max_buf_decay = 1.0;
  // All output scales are scaled so that the Pillutla score is at most this.
  std::optional<double> max_pillutla_score = std::nullopt;
  // A larger scale moves decays closer to 0 and to 1. A negative shift moves all decays towards 1.
  double buf_decay_scale = 1.6;
  int64_t buf_decay_shift = -1;
};

struct BufferedToeplitz {
  std::vector<double> buf_decay;
  std::vector<double> output_scale;

  // Returns a checked BLT, with the decays in decreasing order.
  static BufferedToeplitz build(std::vector<double> buf_decay, std::vector<double> output_scale);
  // Returns a rational approximation to 1 / sqrt(1 - x), whose series has the optimal coefficients
  // for the largest error (arXiv:2404.16706v2, Proposition 4.5). Optimisation begins with it.
  static BufferedToeplitz from_rational_approx_to_sqrt_x(const RationalApproximation& options);

  int64_t num_buffers() const { return static_cast<int64_t>(buf_decay.size()); }
  // Throws UserError if the lists have different lengths and if a value is not finite.
  void validate() const;
  BufferedToeplitz canonicalize() const;
  toeplitz::Coefs toeplitz_coefs(int64_t n) const;
  Matrix materialize(int64_t n) const;
  // Returns C^-1. Throws UserError if two decays are closer than 1e-9, and if the inverse is not a
  // sum of real geometric series.
  BufferedToeplitz inverse() const;
  // Returns sum_j output_scale[j] / buf_decay[j]. If it is below 1, the inverse has no negative
  // decay.
  double pillutla_score() const;
};

// Returns the parameters and the first coefficients as text.
std::string to_string(const BufferedToeplitz& blt);

// Returns the smallest distance between two decays; infinite for fewer than two.
double min_buf_decay_gap(const std::vector<double>& buf_decay);

// Returns the BLTs with decays theta and theta_hat that are inverses of each other
// (arXiv:2504.21413, Theorem 2). All decays of one BLT are distinct.
std::pair<BufferedToeplitz, BufferedToeplitz> blt_pair_from_theta_pair(
    const std::vector<double>& theta, const std::vector<double>& theta_hat);

// Returns a + a r + ... + a r^(num - 1), accurate to the last digits for any r, including r = 1.
// num may be infinite.
double geometric_sum(double a, double r, double num);

// Returns the squared norm of the first of n columns; for infinite n its limit, which is infinite
// if a decay is above 1. It takes O(m^2) time.
double sensitivity_squared(const BufferedToeplitz& blt, double n);

// Return the expected squared error of prefix sum i (counted from 0) for the inverse, and the
// largest one of the first n prefix sums, which is the last one. They take O(m^2) time, or O(n m)
// if a decay is so near to 1 that closed forms lose digits.
double iteration_error(const BufferedToeplitz& inv_blt, int64_t i);
double max_error(const BufferedToeplitz& inv_blt, int64_t n);
// Returns the limit of max_error / n.
double limit_max_error(const BufferedToeplitz& inv_blt);

// Return the largest error times the squared sensitivity of one participation, and the limit of
// this product divided by n. Both are infinite if an output scale is not positive.
double max_loss(const BufferedToeplitz& blt, int64_t n);
double limit_max_loss(const BufferedToeplitz& blt);

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
