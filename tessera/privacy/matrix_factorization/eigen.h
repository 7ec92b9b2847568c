// Eigen's views of a Matrix. Only source files include this header, so that users' headers do not
// include Eigen.
#pragma once

#include <Eigen/Core>

#include "tessera/privacy/matrix_factorization/matrix.h"

namespace tessera::privacy::matrix_factorization {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Map<const RowMajor> as_eigen(const Matrix& m) {
  return {m.values.data(), m.rows, m.cols};
}
inline Eigen::Map<RowMajor> as_eigen(Matrix& m) { return {m.values.data(), m.rows, m.cols}; }

template <class Expression>
Matrix from_eigen(const Expression& expression) {
  Matrix out = Matrix::zeros(expression.rows(), expression.cols());
  as_eigen(out) = expression;
  return out;
}

}  // namespace tessera::privacy::matrix_factorization
