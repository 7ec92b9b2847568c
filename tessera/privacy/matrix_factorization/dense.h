// Strategies C of any entries, and the optimal ones of them: found as X = C^T C, by which the error
// is convex. For one participation (Denisov et al., arXiv:2202.08312), several epochs in the same
// order (Choquette-Choo et al., arXiv:2211.06530) or a minimal separation (banded with columns of
// equal norm, arXiv:2306.08153). O(n^3) a step; the sensitivities are in sensitivity.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/matrix_factorization/matrix.h"
#include "tessera/privacy/matrix_factorization/optimization.h"
#include "tessera/privacy/matrix_factorization/reduction.h"

namespace tessera::privacy::matrix_factorization::dense {

// One of the strategy C, square, and the noising matrix C^-1, which may have any number of columns
// (a pseudo-inverse of a C that is not square).
struct Mechanism {
  std::optional<Matrix> strategy_matrix = std::nullopt;
  std::optional<Matrix> noising_matrix = std::nullopt;
  std::optional<Matrix> workload_matrix = std::nullopt;  // prefix sums if absent
};
// The expected squared error of each query at unit noise: squared norms of the rows of A C^-1.
std::vector<double> per_query_error(const Mechanism& mechanism);

// 0 where i and j are different iterations that one user can take part in, i = j modulo n / epochs;
// else 1. X with zeros there has the same sensitivity for all signs of contributions.
Matrix get_orthogonal_mask(int64_t n, int64_t epochs = 1);

// The lower-triangular C with C^T C = X, where X is symmetric and positive definite.
Matrix strategy_from_X(const Matrix& X);

struct Options {
  int64_t n = 0;
  int64_t epochs = 1;  // divides n
  std::optional<int64_t> bands = std::nullopt;
  // Columns of C of one norm, as a minimal separation wants it. With one epoch they always are.
  bool equal_norm = false;
  std::optional<Matrix> A = std::nullopt;  // prefix sums if absent
  int64_t max_optimizer_steps = 10000;
  Reduction reduction = mean_error;
  // Stops where no entry of the projected gradient is larger.
  double gradient_tolerance = 1e-6;
  OptimizerCallback callback = {};  // sees X
};
// The C of sensitivity 1 in `epochs` participations that minimises the reduced error.
Matrix optimize(const Options& options);

}  // namespace tessera::privacy::matrix_factorization::dense
