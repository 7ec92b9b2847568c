// Sensitivities and errors of BLTs, with their gradients with respect to decays and scales.
// Internal.
#pragma once

#include <vector>

#include "tessera/privacy/matrix_factorization/buffered_toeplitz.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {

struct BltGradient {
  std::vector<double> by_decay, by_scale;

  explicit BltGradient(size_t buffers) : by_decay(buffers), by_scale(buffers) {}
  void add(double factor, const BltGradient& other);
};

struct BltValue {
  double value = 0;
  BltGradient gradient;
};

// Return the results of the functions of buffered_toeplitz.h with these names, and their gradients.
BltValue sensitivity_squared_with_gradient(const BufferedToeplitz& blt, double n);
BltValue max_error_with_gradient(const BufferedToeplitz& inv_blt, int64_t n);

// Returns the gradient with respect to decays and scales, given that with respect to the first n
// coefficients.
BltGradient pull_back_coefs(const BufferedToeplitz& blt, const toeplitz::Coefs& gradient);

// Differentiates blt_pair_from_theta_pair: adds to the gradients with respect to theta and
// theta_hat the contribution of `by_scale`, the gradient with respect to the scales of the BLT with
// decays theta.
void pull_back_scales(const BufferedToeplitz& blt, const std::vector<double>& theta_hat,
                      const std::vector<double>& by_scale, std::vector<double>& by_theta,
                      std::vector<double>& by_theta_hat);

// Returns the scales of the BLT with decays theta whose inverse has the decays theta_hat.
std::vector<double> scales_of_pair(const std::vector<double>& theta,
                                   const std::vector<double>& theta_hat);

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
