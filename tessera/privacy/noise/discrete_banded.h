// Discrete Gaussian noise that is correlated over the steps by a banded Toeplitz strategy C:
// integers that plans (plan.h) with BandedNoise and DiscreteGaussian add to sums of whole steps of
// a grid. Internal to privacy/.
//
// The noise: C is scaled to ones on its diagonal, and its coefficients are whole multiples m_j of
// 2^-8, with m_0 = 2^8. In step t the noise is
//
//   e_t = floor((z_t - sum over j >= 1 of m_j e_{t-j}) / 2^8 + 1/2),
//
// where z_t is a discrete Gaussian over the integers, with a parameter of 2^8 times the noise in
// steps of the grid. Without the rounding e would be C^-1 (z / 2^8). Everything is an integer, so
// the result is exact in any order of sums, on any devices, and after a checkpoint. The state is
// the last bands - 1 values of e.
//
// Why this is private: let g_t be the clipped sums, and y_t = sum over j of m_j g_{t-j} + z_t.
// These y_t are integers with discrete Gaussian noise, and the accounting is for them. Define x_t =
// floor((y_t - sum over j >= 1 of m_j x_{t-j}) / 2^8 + 1/2), which is a function of y alone. Then
// x_t = g_t + e_t: if this holds before t, the bracket is m_0 g_t + z_t - sum over j >= 1 of m_j
// e_{t-j}, and g_t can be moved out of the floor. So the released sums g_t + e_t are a function of
// y (docs/privacy_proof.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/privacy/matrix_factorization/toeplitz.h"
#include "tessera/privacy/noise/noise_addition.h"

namespace tessera::privacy::internal {

inline constexpr int kLatticeBits = 8;  // m_0 = 2^8

// Returns the coefficients m_j: those of C, divided by the first one, in units of 2^-8, rounded to
// the nearest. Throws UserError naming `op` if the magnitude of one is above 2^22.
std::vector<int64_t> lattice_coefs(std::string_view op,
                                   const matrix_factorization::toeplitz::Coefs& coefs);
// Returns the strategy with the rounded coefficients. Its first coefficient is |coefs[0]|, and its
// other coefficients are multiples of 2^-8 times that.
matrix_factorization::toeplitz::Coefs on_lattice(
    std::string_view op, const matrix_factorization::toeplitz::Coefs& coefs);

// Returns the factor by which the noise of a step may be larger than the noise that is drawn: the
// sum of the absolute values of the coefficients of C^-1, scaled to ones on its diagonal, over the
// steps of a run.
double noise_growth(const matrix_factorization::toeplitz::Coefs& coefs, int64_t run_steps);

// Throws UserError naming `op` unless the noise stays below 2^30 in all steps of a run, whatever is
// drawn. grid_steps is the standard deviation of z / 2^8.
void expect_bounded_noise(std::string_view op, const matrix_factorization::toeplitz::Coefs& coefs,
                          int64_t run_steps, double grid_steps);

// Returns the sums with the e of this step added, in the units of `noise.stddev`, and the next
// state. `noise.noising_matrix` is the inverse of a strategy that on_lattice() returned. The noise
// z / 2^8 has noise.steps_per_stddev, divided by the strategy's first coefficient, steps of the
// grid. Leaves and buffers are int32, and wrap as leaves of discrete_gaussian_privatizer do.
FlatUpdate add_banded_discrete_noise(const Noise& noise,
                                     const matrix_factorization::internal::FlatStep& given,
                                     const random::Key& key);

}  // namespace tessera::privacy::internal
