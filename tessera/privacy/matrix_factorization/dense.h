// Strategies C with any entries, and the optimal ones among them. The search is over X = C^T C, in
// which the error is convex. It supports one participation (Denisov et al., arXiv:2202.08312),
// several epochs in the same order (Choquette-Choo et al., arXiv:2211.06530) or a minimal
// separation (banded with columns of equal norm, arXiv:2306.08153). A step takes O(n^3); the
// sensitivities are in sensitivity.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/matrix_factorization/matrix.h"
#include "tessera/privacy/matrix_factorization/optimization.h"
#include "tessera/privacy/matrix_factorization/reduction.h"

namespace tessera::privacy::matrix_factorization::dense {

// Either the strategy C, which is square, or the noising matrix C^-1, which may have any number of
// columns (a pseudo-inverse of a C that is not square).
struct Mechanism {
  std::optional<Matrix> strategy_matrix = std::nullopt;
  std::optional<Matrix> noising_matrix = std::nullopt;
  std::optional<Matrix> workload_matrix = std::nullopt;  // prefix sums if absent
};
// Returns the expected squared error of each query at unit noise: the squared norms of the rows of
// A C^-1.
std::vector<double> per_query_error(const Mechanism& mechanism);

// Returns an [n, n] mask that is 0 if i and j are different iterations that one user can take part
// in (i = j modulo n / epochs), and 1 otherwise. If X is 0 where the mask is, the sensitivity does
// not depend on the signs of contributions.
Matrix get_orthogonal_mask(int64_t n, int64_t epochs = 1);

// Returns the lower-triangular C with C^T C = X, where X is symmetric and positive definite.
Matrix strategy_from_X(const Matrix& X);

struct Options {
  int64_t n = 0;
  int64_t epochs = 1;  // has to divide n
  std::optional<int64_t> bands = std::nullopt;
  // Whether all columns of C must have the same norm, as a minimal separation requires. With one
  // epoch they always have it.
  bool equal_norm = false;
  std::optional<Matrix> A = std::nullopt;  // prefix sums if absent
  int64_t max_optimizer_steps = 10000;
  Reduction reduction = mean_error;
  // The search stops when no entry of the projected gradient is larger than this.
  double gradient_tolerance = 1e-6;
  OptimizerCallback callback = {};  // called with X
};
// Returns the C of sensitivity 1 in `epochs` participations that minimises the reduced error.
Matrix optimize(const Options& options);

}  // namespace tessera::privacy::matrix_factorization::dense
