// By how much one user can change C x in L2 norm, where each participation changes one row of x by
// a vector of norm at most 1 (Choquette-Choo et al., "Multi-Epoch Matrix Factorization Mechanisms",
// arXiv:2211.06530; "(Amplified) Banded Matrix Factorization", arXiv:2306.08153). C is the
// strategy, X = C^T C its Gram matrix. A noise multiplier of sigma means noise whose stddev is
// sigma times the sensitivity.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/matrix_factorization/matrix.h"

namespace tessera::privacy::matrix_factorization {

// The sets of iterations that a user can take part in: any whose distances are at least min_sep (1
// allows consecutive ones), with at most max_participations of them (absent: as many as there is
// room for).
struct Participation {
  int64_t min_sep = 1;
  std::optional<int64_t> max_participations = std::nullopt;
};

namespace sensitivity {

// Returns the largest norm of a column.
double single_participation_sensitivity(const Matrix& C);

// Returns the largest number of participations in n iterations, within the bound.
int64_t minsep_true_max_participations(int64_t n, const Participation& participation);

// Returns the largest sum of entries of x at allowed iterations: arXiv:2306.08153, Algorithm 3. It
// is 0 where all are negative, since a user may also take part in none.
double max_participation_for_linear_fn(const std::vector<double>& x,
                                       const Participation& participation = {});

// Returns ones in the diagonal and in the num_bands - 1 diagonals next to it, below it or on both
// sides.
Matrix banded_lower_triangular_mask(int64_t n, int64_t num_bands);
Matrix banded_symmetric_mask(int64_t n, int64_t num_bands);

// Returns a bound for any C (arXiv:2306.08153, Algorithm 4), in which rows and columns of X are
// chosen independently. It equals the banded sensitivity where that is defined. O(n^2
// participations).
double get_min_sep_sensitivity_upper_bound_for_X(const Matrix& X,
                                                 const Participation& participation = {});
double get_min_sep_sensitivity_upper_bound(const Matrix& C,
                                           const Participation& participation = {});

// Returns the exact sensitivity if columns of C at least min_sep apart are orthogonal, as those of
// a C of at most min_sep bands are; otherwise throws UserError.
double get_sensitivity_banded_for_X(const Matrix& X, const Participation& participation = {});
double get_sensitivity_banded(const Matrix& C, const Participation& participation = {});

// Returns the sensitivity if every user takes part once per epoch, in iterations i, i + n / epochs,
// ..., where `epochs` divides n. It is exact where those entries of X are not negative, else a
// bound.
double fixed_epoch_sensitivity_for_X(const Matrix& X, int64_t epochs);
double fixed_epoch_sensitivity(const Matrix& C, int64_t epochs);

}  // namespace sensitivity
}  // namespace tessera::privacy::matrix_factorization
