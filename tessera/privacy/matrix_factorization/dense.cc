#include "tessera/privacy/matrix_factorization/dense.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/privacy/matrix_factorization/checks.h"
#include "tessera/privacy/matrix_factorization/eigen.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"

namespace tessera::privacy::matrix_factorization::dense {
namespace {

// Returns B with B C = A.
Matrix solve_for_decoder(const Matrix& C, const Matrix& A) {
  const Eigen::FullPivLU<RowMajor> lu(as_eigen(C).transpose());
  if (!lu.isInvertible())
    value_error(
        "privacy::dense::per_query_error",
        "expected an invertible strategy_matrix, got one of rank {} of {}; a noising_matrix "
        "may be given instead",
        lu.rank(), C.rows);
  return from_eigen(lu.solve(as_eigen(A).transpose()).transpose());
}

// The convex problem: to minimise the reduced errors a_i^T X^-1 a_i of the rows a_i of A, over all
// X with the same sensitivity and the same zeros.
class Problem {
 public:
  explicit Problem(const Options& options)
      : reduction_(options.reduction),
        A_(options.A ? *options.A : Matrix::prefix_sum(options.n)),
        mask_(get_orthogonal_mask(options.n, options.epochs)),
        epochs_(options.epochs),
        equal_norm_(options.equal_norm) {
    if (!options.bands) return;
    as_eigen(mask_).array() *=
        as_eigen(sensitivity::banded_symmetric_mask(options.n, *options.bands)).array();
  }

  // Returns the reduced error at X, and its gradient: with H = X^-1 A^T, the derivative of the
  // error of query i is -h_i h_i^T.
  double operator()(const std::vector<double>& params, std::vector<double>& gradient) const {
    const Eigen::Map<const RowMajor> X(params.data(), A_.rows, A_.rows);
    const Eigen::LLT<RowMajor> cholesky(X);
    if (cholesky.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    const RowMajor H = cholesky.solve(as_eigen(A_).transpose());
    std::vector<double> errors(static_cast<size_t>(A_.rows));
    Eigen::Map<Eigen::VectorXd>(errors.data(), A_.rows) =
        as_eigen(A_).cwiseProduct(H.transpose()).rowwise().sum();
    const Reduced reduced = reduce(reduction_, errors);
    const Eigen::Map<const Eigen::VectorXd> weights(reduced.gradient.data(), A_.rows);
    Eigen::Map<RowMajor> dX(gradient.data(), A_.rows, A_.rows);
    dX.noalias() = -(H * weights.asDiagonal()) * H.transpose();
    project(dX);
    return reduced.value;
  }

 private:
  // Projects a gradient onto the allowed changes of X: the diagonal does not change if columns have
  // equal norms; otherwise the sum of each user's squared norms does not change.
  void project(Eigen::Map<RowMajor>& dX) const {
    const int64_t rounds = A_.rows / epochs_;
    for (int64_t first = 0; first < rounds; ++first) {
      double mean = 0;
      for (int64_t i = first; i < A_.rows; i += rounds) mean += dX(i, i) / double(epochs_);
      for (int64_t i = first; i < A_.rows; i += rounds)
        dX(i, i) = equal_norm_ ? 0 : dX(i, i) - mean;
    }
    dX.array() *= as_eigen(mask_).array();
    // This makes dX symmetric to the last bit, so that X stays symmetric.
    dX = (0.5 * (dX + dX.transpose())).eval();
  }

  const Reduction& reduction_;
  Matrix A_, mask_;
  int64_t epochs_;
  bool equal_norm_;
};

}  // namespace

std::vector<double> per_query_error(const Mechanism& mechanism) {
  constexpr const char* kOp = "privacy::dense::per_query_error";
  const auto& [C, C_inv, workload] = mechanism;
  if (C.has_value() == C_inv.has_value())
    value_error(kOp, "expected one of strategy_matrix and noising_matrix, got {}",
                C ? "both" : "neither");
  if (C) checks::check_square(*C, "strategy_matrix");
  if (C_inv) checks::check_finite(*C_inv, "noising_matrix");
  const Matrix A = workload ? *workload : Matrix::prefix_sum(C ? C->rows : C_inv->rows);
  checks::check({.A = &A, .C = C ? &*C : nullptr});
  const Matrix B = C ? solve_for_decoder(*C, A) : multiply(A, *C_inv);
  checks::check({.A = &A, .B = &B});
  std::vector<double> out(static_cast<size_t>(B.rows));
  Eigen::Map<Eigen::VectorXd>(out.data(), B.rows) = as_eigen(B).rowwise().squaredNorm();
  return out;
}

Matrix get_orthogonal_mask(int64_t n, int64_t epochs) {
  if (n < 1 || epochs < 1 || n % epochs != 0)
    value_error("privacy::dense::get_orthogonal_mask",
                "expected a positive number of epochs that divides n = {}, got {}", n, epochs);
  Matrix out = Matrix::zeros(n, n);
  const int64_t rounds = n / epochs;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) out(i, j) = i == j || (i - j) % rounds != 0 ? 1 : 0;
  return out;
}

// If rows and columns are reversed, C^T C becomes the L L^T of Cholesky.
Matrix strategy_from_X(const Matrix& X) {
  checks::check({.X = &X});
  const Eigen::LLT<RowMajor> cholesky(as_eigen(X).reverse());
  if (cholesky.info() != Eigen::Success)
    value_error("privacy::dense::strategy_from_X",
                "expected a positive definite matrix, got one that Cholesky fails on");
  return from_eigen(RowMajor(cholesky.matrixL()).transpose().reverse());
}

Matrix optimize(const Options& options) {
  if (options.A) {
    checks::check({.A = &*options.A});
    if (options.A->rows != options.n)
      shape_error("privacy::dense::optimize", "expected a workload of n = {} rows, got {}",
                  options.n, options.A->rows);
  }
  const Problem problem(options);
  Matrix X = Matrix::identity(options.n);
  for (double& v : X.values) v /= static_cast<double>(options.epochs);
  X.values = matrix_factorization::optimize(std::cref(problem), X.values,
                                            {.max_optimizer_steps = options.max_optimizer_steps,
                                             .gradient_tolerance = options.gradient_tolerance,
                                             .callback = options.callback});
  return strategy_from_X(X);
}

}  // namespace tessera::privacy::matrix_factorization::dense
