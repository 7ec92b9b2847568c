// Strategies C that are lower-triangular Toeplitz matrices. They are represented by the leading
// entries of their first column: coef[0] is on the diagonal, and coef[k] is k rows below it.
// Entries beyond the list are 0, so a short list represents a banded matrix of any size. Products
// and inverses of lower-triangular Toeplitz matrices have this form too, and all functions take O(n
// bands) time.
//
//   coef = [a, b, c], n = 5:   [a        ]
//                              [b a      ]
//                              [c b a    ]
//                              [  c b a  ]
//                              [    c b a]
//
// If a function has an optional n, it is the size of the matrix, or coef.size() if absent.
// Coefficients from coef[n] on are not read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/matrix_factorization/matrix.h"
#include "tessera/privacy/matrix_factorization/optimization.h"
#include "tessera/privacy/matrix_factorization/reduction.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"

namespace tessera::privacy::matrix_factorization::toeplitz {

using Coefs = std::vector<double>;
using Size = std::optional<int64_t>;

// Returns coefficients of length n: truncated, or with zeros appended.
Coefs pad_coefs_to_n(const Coefs& coef, Size n = std::nullopt);

// Returns 1, 1/2, 3/8, 5/16, ...: the coefficients of the C with C C = prefix sum. It is the best
// Toeplitz matrix for the largest error if each user takes part once (Fichtenberger et al.,
// arXiv:2202.11205; Dvijotham et al., arXiv:2404.16706). The noising coefficients are those of its
// inverse.
Coefs optimal_max_error_strategy_coefs(int64_t n);
Coefs optimal_max_error_noising_coefs(int64_t n);

Matrix materialize_lower_triangular(const Coefs& coef, Size n = std::nullopt);

// Returns x with C x = rhs, for rhs.size() equations. coef[0] may not be 0.
Coefs solve_banded(const Coefs& coef, const std::vector<double>& rhs);
// Returns the coefficients of the product of two matrices. Without n both must have the same
// length.
Coefs multiply(const Coefs& lhs_coef, const Coefs& rhs_coef, Size n = std::nullopt);
// Returns the n coefficients of C^-1.
Coefs inverse_coef(const Coefs& coef, Size n = std::nullopt);
// Returns the norms of the columns of C. If the rows of C^-1 are multiplied by these, the result is
// the inverse of C with its columns scaled to norm 1 (`column_normalize_for_n` of jax_privacy).
std::vector<double> column_norms(const Coefs& coef, Size n = std::nullopt);

// Returns the squared sensitivity if every user takes part at most once.
double sensitivity_squared(const Coefs& coef, Size n = std::nullopt);
// Returns the exact squared sensitivity. Throws UserError unless coefficients are not negative and
// do not increase: then the worst user takes part every min_sep iterations from the first on
// (arXiv:2405.13763, Theorem 2).
double minsep_sensitivity_squared(const Coefs& coef, const Participation& participation,
                                  Size n = std::nullopt);
// Returns a bound of the squared sensitivity for any coefficients: that of the smallest
// non-increasing coefficients that are not below |coef|. It is exact if minsep_sensitivity_squared
// is defined.
double minsep_sensitivity_squared_upper_bound(const Coefs& coef, const Participation& participation,
                                              Size n = std::nullopt);

// A mechanism, by the coefficients of either the strategy C or the noising matrix C^-1; the other
// list is empty.
struct Mechanism {
  Coefs strategy_coef = {};
  Coefs noising_coef = {};
  Size n = std::nullopt;
  Coefs workload_coef = {};  // if empty, prefix sums
};
// Returns the expected squared error of each of the n queries at unit noise: the squared norms of
// the rows of A C^-1. They do not decrease from query to query.
std::vector<double> per_query_error(const Mechanism& mechanism);

// Returns the root mean squared error of the queries at a noise multiplier of 1, which means that
// the stddev of the noise is the sensitivity of the strategy (to one participation unless another
// is given). It does not depend on the scale of the strategy. (jax_privacy's `rmse` of a plan is
// this times the noise multiplier, divided by the expected number of participations, for a strategy
// of norm 1; it leaves out the norm.)
double rmse(const Mechanism& mechanism,
            const Participation& participation = {.max_participations = 1});

struct SgdWorkload {
  double momentum = 0;  // in [0, 1)
  double decay = 1;     // in (0, 1]: 1 - learning rate * weight decay
};
// Returns the first n coefficients of the workload of SGD with momentum and weight decay at a
// learning rate of 1. Coefficient k is the sum over i + j = k of momentum^i decay^j: row t of the
// workload times the gradients are the parameters after step t (Kalinin and Lampert,
// arXiv:2405.13763). Throws UserError for n below 1 and options outside their range.
Coefs sgd_workload_coefs(int64_t n, const SgdWorkload& workload = {});

// Returns the reduced error of prefix sums times the squared sensitivity of one participation
// (arXiv:2405.15913).
double loss(const Coefs& coef, Size n = std::nullopt, const Reduction& reduction = mean_error);

struct BandedOptions {
  int64_t n = 0;
  int64_t bands = 0;
  Coefs strategy_coef = {};  // the start; if empty, optimal_max_error_strategy_coefs
  int64_t max_optimizer_steps = 250;
  Reduction reduction = mean_error;
};
// Returns the coefficients of norm 1 that minimise `loss`. They are for one participation, or for
// several that are at least `bands` apart.
Coefs optimize_banded_toeplitz(const BandedOptions& options);

}  // namespace tessera::privacy::matrix_factorization::toeplitz
