// Sensitivities: the L2 norm by which one user can change C x, if each participation changes one
// row of x by a vector of norm at most 1 (Choquette-Choo et al., "Multi-Epoch Matrix Factorization
// Mechanisms", arXiv:2211.06530; "(Amplified) Banded Matrix Factorization", arXiv:2306.08153). C is
// the strategy, X = C^T C its Gram matrix. A noise multiplier of sigma means noise with a stddev of
// sigma times the sensitivity.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/matrix_factorization/matrix.h"

namespace tessera::privacy::matrix_factorization {

// The sets of iterations in which a user can take part: all sets of at most max_participations
// iterations (if absent, of any number) that are at least min_sep apart (1 allows consecutive
// iterations).
struct Participation {
  int64_t min_sep = 1;
  std::optional<int64_t> max_participations = std::nullopt;
};

namespace sensitivity {

// Returns the largest norm of a column.
double single_participation_sensitivity(const Matrix& C);

// Returns the largest number of iterations, of n, in which a user can take part.
int64_t minsep_true_max_participations(int64_t n, const Participation& participation);

// Returns the largest sum of entries of x over a set of allowed iterations (arXiv:2306.08153,
// Algorithm 3). It is 0 if all entries are negative, since a user may take part in no iteration.
double max_participation_for_linear_fn(const std::vector<double>& x,
                                       const Participation& participation = {});

// Return an [n, n] mask of ones in the diagonal and in the num_bands - 1 diagonals below it, or on
// both sides of it.
Matrix banded_lower_triangular_mask(int64_t n, int64_t num_bands);
Matrix banded_symmetric_mask(int64_t n, int64_t num_bands);

// Return a bound of the sensitivity for any C (arXiv:2306.08153, Algorithm 4), for which rows and
// columns of X are chosen independently. It equals the banded sensitivity if that is defined. It
// takes O(n^2 participations) time.
double get_min_sep_sensitivity_upper_bound_for_X(const Matrix& X,
                                                 const Participation& participation = {});
double get_min_sep_sensitivity_upper_bound(const Matrix& C,
                                           const Participation& participation = {});

// Return the exact sensitivity if columns of C at least min_sep apart are orthogonal, as they are
// if C has at most min_sep bands. Otherwise they throw UserError.
double get_sensitivity_banded_for_X(const Matrix& X, const Participation& participation = {});
double get_sensitivity_banded(const Matrix& C, const Participation& participation = {});

// Return the sensitivity if every user takes part once per epoch, in iterations i, i + n / epochs,
// ..., where `epochs` divides n. It is exact if X has no negative entry at pairs of these
// iterations, and otherwise a bound.
double fixed_epoch_sensitivity_for_X(const Matrix& X, int64_t epochs);
double fixed_epoch_sensitivity(const Matrix& C, int64_t epochs);

}  // namespace sensitivity
}  // namespace tessera::privacy::matrix_factorization
