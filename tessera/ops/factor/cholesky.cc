#include "tessera/ops/factor/cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/small_cholesky.h"
#include "tessera/ops/factor/triangular_solve.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;

constexpr std::string_view kCholeskyOp = "cholesky";

std::vector<Type> infer_cholesky(std::span<const Type> operands, const CholeskyParams&) {
  expect_operands(kCholeskyOp, operands, 1);
  expect_square(kCholeskyOp, operands[0]);
  return {result_type(operands, operands[0].dtype, operands[0].shape)};
}

template <class T>
T not_a_number() {
  return T(std::numeric_limits<lapack::Real<T>>::quiet_NaN());
}

// Computes the factor row by row from the definition; returns false if the matrix is not positive
// definite. A NaN is neither: what depends on it becomes NaN.
template <class T>
bool naive_lower(int64_t n, const T* a, bool lower, T* l) {
  auto at = [&](int64_t i, int64_t j) -> T {
    if (lower) return a[i * n + j];
    if constexpr (lapack::is_complex<T>) return std::conj(a[j * n + i]);
    return a[j * n + i];
  };
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      NaiveSum<T> sum = at(i, j);
      if (i == j) sum = std::real(sum);
      for (int64_t k = 0; k < j; ++k) {
        NaiveSum<T> other = l[j * n + k];
        if constexpr (lapack::is_complex<T>) other = std::conj(other);
        sum -= NaiveSum<T>(l[i * n + k]) * other;
      }
      if (i == j) {
        if (std::real(sum) <= 0) return false;
        l[i * n + i] = T(static_cast<lapack::Real<T>>(std::sqrt(std::real(sum))));
      } else {
        l[i * n + j] = static_cast<T>(sum / NaiveSum<T>(l[j * n + j]));
      }
    }
  return true;
}

std::vector<Literal> evaluate_cholesky(std::span<const Literal> operands, const CholeskyParams& p) {
  const Literal& x = operands[0];
  Literal out(x.dtype(), x.shape());
  visit_matrix_dtype(x.dtype(), [&]<class T>(TypeTag<T>) {
    const int64_t n = x.shape().back();
    const int64_t members = n == 0 ? 0 : x.elements() / (n * n);
    for (int64_t i = 0; i < members; ++i) {
      std::vector<T> l(static_cast<size_t>(n * n));
      T* to = out.mutable_data<T>() + i * n * n;
      if (!naive_lower(n, x.data<T>() + i * n * n, p.lower, l.data())) {
        std::fill_n(to, n * n, not_a_number<T>());
        keep_triangle(p.lower, n, to);
      } else if (p.lower) {
        std::copy(l.begin(), l.end(), to);
      } else {
        for (int64_t r = 0; r < n; ++r)
          for (int64_t c = 0; c < n; ++c) {
            T value = l[c * n + r];
            if constexpr (lapack::is_complex<T>) value = std::conj(value);
            to[r * n + c] = value;
          }
      }
    }
  });
  return {out};
}

template <class T>
bool is_finite(const T& x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}

// LAPACKs differ in what they do after a pivot that is NaN: some stop, others leave zeros where a
// NaN belongs. `out` is the factor as LAPACK left it, or `stopped` if it did not end. Makes every
// element NaN that depends on a NaN: element (i, j) of a lower factor does if row i has one before
// column j, or row j up to column j.
template <class T>
void spread_nans(int64_t n, bool lower, bool stopped, const T* a, T* out) {
  if (stopped) {
    std::vector<T> l(static_cast<size_t>(n * n));
    const bool positive = naive_lower(n, a, lower, l.data());
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        T& to = out[lower ? i * n + j : j * n + i];
        to = positive ? l[i * n + j] : not_a_number<T>();
        if constexpr (lapack::is_complex<T>)
          if (!lower) to = std::conj(to);
      }
    return;
  }
  std::vector<int64_t> first(static_cast<size_t>(n), n);  // the first column of a row with a NaN
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      T& l = out[lower ? i * n + j : j * n + i];
      if (first[i] <= j || first[j] <= j) l = not_a_number<T>();
      if (l != l) first[i] = std::min(first[i], j);
    }
}

// Computes the factor in Tessera's own code and returns true, if the matrix is small and finite.
template <class T>
bool factorised(int64_t n, bool lower, const T* a, T* out) {
  const SmallCholesky result = small_cholesky(n, lower, a, out);
  if (result == SmallCholesky::kNotPositiveDefinite && !std::all_of(a, a + n * n, is_finite<T>))
    return false;
  if (result == SmallCholesky::kNotPositiveDefinite) {
    std::fill_n(out, n * n, not_a_number<T>());
    keep_triangle(lower, n, out);
  }
  return result != SmallCholesky::kLeftToLapack;
}

// LAPACK sees a row-major matrix as its transpose, whose upper factor is the transpose of the lower
// factor.
template <class T>
void lapack_factor(int64_t n, bool lower, const T* a, T* out) {
  std::copy_n(a, n * n, out);
  const bool stopped = lapack::potrf(lower ? 'U' : 'L', static_cast<int>(n), out) != 0;
  if (!std::all_of(a, a + n * n, is_finite<T>))
    spread_nans(n, lower, stopped, a, out);
  else if (stopped)
    std::fill_n(out, n * n, not_a_number<T>());
  keep_triangle(lower, n, out);
}

HostCall cholesky_call(const OpParams& params, std::span<const Type> operands,
                       std::span<const Type> results) {
  const bool lower = params.as<CholeskyParams>().lower;
  const int64_t n = rows_of(operands[0]);
  const double operations = static_cast<double>(n) * static_cast<double>(n * n) / 3;
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    return over_batch(operands, results, members_of(operands[0]), operations,
                      [=](const void* const* in, void* const* out) {
                        T* to = static_cast<T*>(out[0]);
                        if (factorised(n, lower, static_cast<const T*>(in[0]), to)) return;
                        lapack_factor(n, lower, static_cast<const T*>(in[0]), to);
                      });
  });
}

double cholesky_flops(std::span<const Type> operands, std::span<const Type>,
                      const CholeskyParams&) {
  return static_cast<double>(operands[0].elements() * rows_of(operands[0])) / 3;
}

// Murray, "Differentiation of the Cholesky decomposition" (2016), eq. 8: dl = l phi(l^-1 da l^-H),
// where phi keeps the lower triangle and half of the diagonal.
JvpResult jvp_cholesky(std::span<const Array> x, std::span<const Array> t,
                       const CholeskyParams& p) {
  const Array factor = bind_op1(cholesky_op, p, {x[0]});
  if (!t[0].defined()) return {{factor}, {Array()}};
  const Array l = p.lower ? factor : adjoint(factor), da = hermitian_of(t[0], p.lower);
  using lax::linalg::triangular_solve;
  const Array right =
      triangular_solve(l, da, {.lower = true, .transpose_a = true, .conjugate_a = true});
  const Array both = triangular_solve(l, right, {.left_side = true, .lower = true});
  const Array phi = lower_triangle(both) - diagonal_matrix(diagonal_of(both)) * 0.5;
  const Array dl = matmul(l, phi);
  return {{factor}, {p.lower ? dl : adjoint(dl)}};
}

// Samples are positive definite matrices (the product of a random matrix and its adjoint), and one
// matrix that is not.
std::vector<Sample> cholesky_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (bool lower : {true, false})
      for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 3}, Shape{4, 2, 5, 5}}) {
        const int64_t n = shape.back();
        Literal x(complex128, shape);
        auto* at = x.mutable_data<std::complex<double>>();
        for (int64_t i = 0; i < x.elements(); ++i) {
          const int64_t row = i / n % n, col = i % n;
          const double spread = std::sin(static_cast<double>(i + 1));
          at[i] = {row == col ? 2.0 * static_cast<double>(n) + spread : spread,
                   row == col ? 0.0 : std::cos(3.0 * static_cast<double>(i))};
        }
        out.push_back({.operands = {{dtype, shape}},
                       .params = CholeskyParams{lower},
                       .literals = {convert_literal(x, dtype)}});
      }
  for (const Shape& shape : {Shape{1, 1}, Shape{0, 0}, Shape{0, 2, 2}})
    out.push_back({.operands = {{float32, shape}}, .params = CholeskyParams{true}, .low = 1});
  return out;
}

}  // namespace

const OpDef& cholesky_op = define<CholeskyParams>({
    .name = "cholesky",
    .attributes = {"lower"},
    .infer = infer_cholesky,
    .evaluate = evaluate_cholesky,
    .factors = whole_matrices<CholeskyParams>,
    .lower = Library{LibraryKind::kCall, cholesky_call},
    .flops = cholesky_flops,
    .jvp = {jvp_cholesky},
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const CholeskyParams& p) {
      return batch_matrices(cholesky_op, p, x, dims);
    }},
    .samples = cholesky_samples,
});

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;
using namespace ops::array_math;

Array cholesky(const Array& x, bool symmetrize_input) {
  SourceScope source("cholesky");
  factor::expect_square("cholesky", x.type());
  const Array a = symmetrize_input ? (x + factor::adjoint(x)) * 0.5 : x;
  return bind_op1(cholesky_op, CholeskyParams{true}, {a});
}

}  // namespace tessera::lax::linalg
