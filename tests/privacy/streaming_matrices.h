// The streaming matrices of golden/make_noise.py by name.
#pragma once

#include <map>
#include <string>

#include "../golden/golden.h"
#include "tessera/numpy/creation.h"
#include "tessera/privacy/matrix_factorization/streaming_matrix.h"

namespace tessera::test {

inline const golden::Topic& noise_data() {
  static const golden::Topic out("noise");
  return out;
}

inline std::vector<double> golden_numbers(const char* key) {
  const Literal x = noise_data().array(noise_data()[key]);
  return {x.data<double>(), x.data<double>() + x.elements()};
}

inline std::map<std::string, privacy::matrix_factorization::StreamingMatrix> streaming_matrices() {
  using namespace privacy::matrix_factorization;
  const std::vector<double> diag{0.5, 2.0, -1.5}, rates{0.1, 0.2, 0.05};
  const std::vector<double> coef{1.0, 0.5, 0.25, 0.125}, decay{0.9, 0.3}, scale{0.4, 0.2};
  return {
      {"identity", identity()},
      {"prefix_sum", prefix_sum()},
      {"diagonal", diagonal(diag)},
      {"momentum", momentum_sgd_matrix(0.9, rates)},
      {"toeplitz_inverse", toeplitz_inverse(coef)},
      {"one_band", toeplitz_inverse({2.0})},
      {"column_normalized", toeplitz_inverse(coef, {.column_normalize_for_n = 6})},
      {"banded_inverse", column_normalized_banded_inverse(golden_numbers("params"), 3)},
      {"buffered", buffered_toeplitz_matrix(decay, scale)},
      {"buffered_inverse", buffered_toeplitz_inverse(decay, scale)},
      {"product", prefix_sum() * toeplitz_inverse(coef)},
      {"scaled", scale_rows_and_columns(prefix_sum(), {.row_scale = diag, .col_scale = rates})},
      {"times", prefix_sum() * 3.0},
  };
}

}  // namespace tessera::test
