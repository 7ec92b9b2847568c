#include "tessera/privacy/matrix_factorization/matrix.h"

#include <algorithm>

#include "tessera/base/format.h"
#include "tessera/privacy/matrix_factorization/eigen.h"

namespace tessera::privacy::matrix_factorization {

Matrix Matrix::zeros(int64_t rows, int64_t cols) {
  if (rows < 0 || cols < 0)
    value_error("privacy::Matrix", "expected extents of at least 0, got [{}, {}]", rows, cols);
  return {rows, cols, std::vector<double>(static_cast<size_t>(rows * cols))};
}

Matrix Matrix::identity(int64_t n) {
  Matrix out = zeros(n, n);
  for (int64_t i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}

Matrix Matrix::prefix_sum(int64_t n) {
  Matrix out = zeros(n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) out(i, j) = 1;
  return out;
}

Matrix transpose(const Matrix& m) { return from_eigen(as_eigen(m).transpose()); }

Matrix multiply(const Matrix& a, const Matrix& b) {
  if (a.cols != b.rows)
    shape_error("privacy::multiply",
                "expected as many columns on the left as rows on the right, "
                "got [{}, {}] and [{}, {}]",
                a.rows, a.cols, b.rows, b.cols);
  return from_eigen(as_eigen(a) * as_eigen(b));
}

Matrix gram(const Matrix& C) {
  Matrix out = Matrix::zeros(C.cols, C.cols);
  auto X = as_eigen(out);
  X.selfadjointView<Eigen::Lower>().rankUpdate(as_eigen(C).transpose());
  X.triangularView<Eigen::StrictlyUpper>() = X.transpose();
  return out;
}

std::string to_string(const Matrix& m) {
  std::string out = "[";
  for (int64_t i = 0; i < m.rows; ++i) {
    out += i == 0 ? "[" : "\n [";
    for (int64_t j = 0; j < m.cols; ++j)
      out += fmt::format("{}{:.6g}", j == 0 ? "" : ", ", m(i, j));
    out += "]";
  }
  return out + "]";
}

}  // namespace tessera::privacy::matrix_factorization
