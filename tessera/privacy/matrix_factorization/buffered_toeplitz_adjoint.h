// Values of BLTs with their gradients by decays and scales. Internal.
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

// The functions of buffered_toeplitz.h of these names.
BltValue sensitivity_squared_with_gradient(const BufferedToeplitz& blt, double n);
BltValue max_error_with_gradient(const BufferedToeplitz& inv_blt, int64_t n);

// From the gradient by the first n coefficients.
BltGradient pull_back_coefs(const BufferedToeplitz& blt, const toeplitz::Coefs& gradient);

// blt_pair_from_theta_pair: adds to the gradients by theta and by theta_hat what `by_scale`, the
// gradient by the scales of the BLT with decays theta, has by them.
void pull_back_scales(const BufferedToeplitz& blt, const std::vector<double>& theta_hat,
                      const std::vector<double>& by_scale, std::vector<double>& by_theta,
                      std::vector<double>& by_theta_hat);

// The scales of the BLT with decays theta whose inverse has the decays theta_hat.
std::vector<double> scales_of_pair(const std::vector<double>& theta,
                                   const std::vector<double>& theta_hat);

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
