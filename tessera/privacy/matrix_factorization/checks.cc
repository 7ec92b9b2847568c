#include "tessera/privacy/matrix_factorization/checks.h"

#include <cmath>

#include "tessera/base/format.h"

namespace tessera::privacy::matrix_factorization::checks {
namespace {

constexpr const char* kChecksOp = "privacy::checks";

bool close(double a, double b, Tolerance t) {
  return std::abs(a - b) <= t.atol + t.rtol * std::abs(b);
}

void check_values(const Matrix& m, const char* name) {
  if (m.rows < 0 || m.cols < 0 || m.values.size() != static_cast<size_t>(m.rows * m.cols))
    shape_error(kChecksOp, "expected rows * cols values in {}, got {} for [{}, {}]", name,
                m.values.size(), m.rows, m.cols);
  if (m.rows == 0 || m.cols == 0)
    shape_error(kChecksOp, "expected at least one row and column in {}, got [{}, {}]", name, m.rows,
                m.cols);
}

void check_extent(int64_t extent, int64_t expected, const char* what) {
  if (extent != expected)
    shape_error(kChecksOp, "expected {} to be {}, got {}", what, expected, extent);
}

}  // namespace

void check_finite(const Matrix& m, const char* name) {
  check_values(m, name);
  for (size_t i = 0; i < m.values.size(); ++i)
    if (!std::isfinite(m.values[i]))
      value_error(kChecksOp, "expected finite entries in {}, got {} in row {}, column {}", name,
                  m.values[i], static_cast<int64_t>(i) / m.cols, static_cast<int64_t>(i) % m.cols);
}

void check_square(const Matrix& m, const char* name) {
  check_values(m, name);
  if (m.rows != m.cols)
    shape_error(kChecksOp, "expected {} to be square, got [{}, {}]", name, m.rows, m.cols);
}

void check_lower_triangular(const Matrix& m, const char* name, Tolerance tolerance) {
  check_values(m, name);
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t j = i + 1; j < m.cols; ++j)
      if (!close(m(i, j), 0, tolerance))
        value_error(kChecksOp, "expected {} to be lower triangular, got {} in row {}, column {}",
                    name, m(i, j), i, j);
}

void check_symmetric(const Matrix& m, const char* name, Tolerance tolerance) {
  check_square(m, name);
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (!close(m(i, j), m(j, i), tolerance))
        value_error(kChecksOp, "expected {} to be symmetric, got {} and {} in row {}, column {}",
                    name, m(i, j), m(j, i), i, j);
}

void check(const Factorization& matrices, Tolerance tolerance) {
  const auto& [A, B, C, X] = matrices;
  int64_t n = -1;  // unknown until the first matrix determines it
  const auto same_n = [&](int64_t extent, const char* what) {
    if (n >= 0) check_extent(extent, n, what);
    n = extent;
  };
  for (const auto& [m, name] : {std::pair{A, "A"}, {B, "B"}, {C, "C"}, {X, "X"}}) {
    if (!m) continue;
    check_finite(*m, name);
    if (m == A || m == X) check_square(*m, name);
    if (m != X && m->rows == m->cols) check_lower_triangular(*m, name, tolerance);
  }
  if (A) same_n(A->rows, "the rows of A");
  if (B) same_n(B->rows, "the rows of B");
  if (C) same_n(C->cols, "the columns of C");
  if (X) {
    check_symmetric(*X, "X", tolerance);
    same_n(X->rows, "the rows of X");
  }
  if (B && C) check_extent(B->cols, C->rows, "the columns of B");
}

}  // namespace tessera::privacy::matrix_factorization::checks
