// Banded strategies C with any entries and columns of norm 1. A user who takes part at most once
// within `bands` iterations moves C x by the root of the number of their participations, whatever
// the entries are (arXiv:2306.08153). Toeplitz strategies are a special case. They are less than
// half a percent worse at a thousand iterations and more, and have a parameter per band instead of
// one per entry (arXiv:2405.15913).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/matrix_factorization/matrix.h"
#include "tessera/privacy/matrix_factorization/optimization.h"
#include "tessera/privacy/matrix_factorization/reduction.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::matrix_factorization::banded {

// Row j of `params` is column j of C from the diagonal down, before it is scaled to norm 1:
//
//   params = [a b c]     C = [a        ]
//            [d e f]         [b d      ]
//            [g h i]         [c e g    ]
//            [j k -]         [  f h j  ]
//            [m - -]         [    i k m]
//
// Entries that would be below the last row of C (-) are not read.
struct ColumnNormalizedBanded {
  Matrix params;  // [n, bands]

  int64_t n() const { return params.rows; }
  int64_t bands() const { return params.cols; }

  static ColumnNormalizedBanded from_banded_toeplitz(int64_t n, const toeplitz::Coefs& coefs);
  // Returns the Toeplitz strategy with the optimal coefficients for the largest error, truncated to
  // `bands`.
  static ColumnNormalizedBanded from_optimal_toeplitz(int64_t n, int64_t bands);

  // Returns params with each row scaled to norm 1, and zeros for entries that are not read. Throws
  // UserError if a row has no nonzero entry or one that is not finite, and if there are more bands
  // than rows.
  Matrix normalized() const;
  // Returns C, [n, n].
  Matrix materialize() const;
};

// Returns the squared sensitivity, which is the number of participations in the first n iterations
// (in all if n is absent): columns that far apart are orthogonal and have norm 1. Throws UserError
// for a min_sep below the number of bands.
double minsep_sensitivity_squared(const ColumnNormalizedBanded& strategy,
                                  const Participation& participation,
                                  std::optional<int64_t> n = std::nullopt);

// Returns the expected squared error of each query: the squared norms of the rows of A C^-1, where
// A is the workload, lower triangular [n, n], or prefix sums if absent. It takes O(n^2 bands) time.
std::vector<double> per_query_error(const ColumnNormalizedBanded& strategy,
                                    const std::optional<Matrix>& workload = std::nullopt);

struct Options {
  int64_t n = 0;
  int64_t bands = 0;
  std::optional<ColumnNormalizedBanded> initial = std::nullopt;
  std::optional<Matrix> workload = std::nullopt;
  int64_t max_optimizer_steps = 100;
  Reduction reduction = mean_error;
  OptimizerCallback callback = {};
};
// Returns the strategy whose reduced error is (locally) smallest.
ColumnNormalizedBanded optimize(const Options& options);

}  // namespace tessera::privacy::matrix_factorization::banded
