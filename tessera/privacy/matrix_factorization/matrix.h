// A dense matrix of doubles on the host. It describes matrix factorizations, and their
// sensitivities and errors are computed from it. Noise itself is added to Arrays
// (streaming_matrix.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::privacy::matrix_factorization {

struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> values;  // row-major, rows * cols

  static Matrix zeros(int64_t rows, int64_t cols);
  static Matrix identity(int64_t n);
  // Returns a matrix of ones on and below the diagonal: the workload of training without momentum,
  // whose i-th iterate is the sum of the gradients 0, ..., i.
  static Matrix prefix_sum(int64_t n);

  double& operator()(int64_t row, int64_t col) { return values[index(row, col)]; }
  double operator()(int64_t row, int64_t col) const { return values[index(row, col)]; }
  bool operator==(const Matrix&) const = default;

 private:
  size_t index(int64_t row, int64_t col) const { return static_cast<size_t>(row * cols + col); }
};

Matrix transpose(const Matrix& m);
// Returns a b: [m, k] [k, n] -> [m, n].
Matrix multiply(const Matrix& a, const Matrix& b);
// Returns C^T C, exactly symmetric: entry (i, j) is the inner product of the columns i and j.
Matrix gram(const Matrix& C);

// Returns a line for each row, with six digits.
std::string to_string(const Matrix& m);

}  // namespace tessera::privacy::matrix_factorization
