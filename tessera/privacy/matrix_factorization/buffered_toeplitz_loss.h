// LossFn::penalized_loss with its gradient. Internal.
#pragma once

#include "tessera/privacy/matrix_factorization/buffered_toeplitz_adjoint.h"
#include "tessera/privacy/matrix_factorization/buffered_toeplitz_optimization.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {

struct PenalizedLoss {
  double value = 0;
  BltGradient by_blt, by_inverse;  // as if blt and inverse were independent of each other
};

PenalizedLoss penalized_loss_with_gradient(const LossFn& loss_fn, const BufferedToeplitz& blt,
                                           const BufferedToeplitz& inv_blt, bool normalize);

// Convert between the coordinates of the search and a BLT with its inverse. pull_back_pair()
// returns the gradient with respect to the coordinates.
std::vector<double> params_from_blt(Parameterization parameterization, const BufferedToeplitz& blt);
std::pair<BufferedToeplitz, BufferedToeplitz> blt_and_inverse_from_params(
    Parameterization parameterization, const std::vector<double>& params);
std::vector<double> pull_back_pair(Parameterization parameterization, const BufferedToeplitz& blt,
                                   const BufferedToeplitz& inverse, const PenalizedLoss& loss);

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
