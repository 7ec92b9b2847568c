#include "tessera/ops/factor/lu.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/small_lu.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/sort.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;

constexpr std::string_view kLuOp = "lu";

std::vector<Type> infer_lu(std::span<const Type> operands, const NoParams&) {
  expect_operands(kLuOp, operands, 1);
  const Type& x = operands[0];
  expect_matrix(kLuOp, x);
  const int64_t m = rows_of(x), n = cols_of(x);
  return {result_type(operands, x.dtype, x.shape),
          result_type(operands, int32, batch_with(x, {std::min(m, n)})),
          result_type(operands, int32, batch_with(x, {m})),
          result_type(operands, int32, batch_with(x, {}))};
}

// Computes the order of rows after the first `count` exchanges.
void permute(int64_t count, const int32_t* pivots, int64_t m, int32_t* permutation) {
  std::iota(permutation, permutation + m, 0);
  for (int64_t i = 0; i < count; ++i) std::swap(permutation[i], permutation[pivots[i]]);
}

// Factors the matrix column by column: the row with the largest element on or below the diagonal
// (by |real| + |imag| for complex ones, as in BLAS) is exchanged with the row of the diagonal;
// multiples of it are subtracted from the rows below.
template <class T>
void naive_lu(int64_t m, int64_t n, T* a, int32_t* pivots, int32_t* info) {
  auto magnitude = [](T x) { return std::abs(std::real(x)) + std::abs(std::imag(x)); };
  *info = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (magnitude(a[i * n + k]) > magnitude(a[best * n + k])) best = i;
    pivots[k] = static_cast<int32_t>(best);
    if (a[best * n + k] == T{}) {
      if (*info == 0) *info = static_cast<int32_t>(k + 1);
      continue;
    }
    if (best != k) std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
    for (int64_t i = k + 1; i < m; ++i) {
      const T factor = a[i * n + k] /= a[k * n + k];
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
}

std::vector<Literal> evaluate_lu(std::span<const Literal> operands, const NoParams&) {
  const Type x{.dtype = operands[0].dtype(), .shape = operands[0].shape()};
  std::vector<Literal> out;
  for (const Type& t : infer_lu(std::span(&x, 1), {})) out.emplace_back(t.dtype, t.shape);
  out[0] = operands[0];
  const int64_t m = rows_of(x), n = cols_of(x), k = std::min(m, n);
  visit_matrix_dtype(x.dtype, [&]<class T>(TypeTag<T>) {
    for (int64_t i = 0; i < members_of(x); ++i) {
      int32_t* pivots = out[1].mutable_data<int32_t>() + i * k;
      naive_lu(m, n, out[0].mutable_data<T>() + i * m * n, pivots,
               out[3].mutable_data<int32_t>() + i);
      permute(k, pivots, m, out[2].mutable_data<int32_t>() + i * m);
    }
  });
  return out;
}

HostCall lu_call(const OpParams&, std::span<const Type> operands, std::span<const Type> results) {
  const int64_t m = rows_of(operands[0]), n = cols_of(operands[0]), k = std::min(m, n);
  const double operations = static_cast<double>(m * n) * static_cast<double>(k);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!lapack::is_complex<T>)
      if (is_small_lu(m, n))
        return over_members(operands, results, members_of(operands[0]), operations,
                            [=](const void* const* in, void* const* out, int64_t count) {
                              small_lu<T>({.m = m,
                                           .n = n,
                                           .a = static_cast<const T*>(in[0]),
                                           .lu = static_cast<T*>(out[0]),
                                           .pivots = static_cast<int32_t*>(out[1]),
                                           .permutation = static_cast<int32_t*>(out[2]),
                                           .info = static_cast<int32_t*>(out[3])},
                                          count);
                            });
    return over_batch(operands, results, members_of(operands[0]), operations,
                      [=](const void* const* in, void* const* out) {
                        const Workspace<T> a(m * n);
                        transpose_matrix(static_cast<const T*>(in[0]), m, n, a.data());
                        auto* pivots = static_cast<int32_t*>(out[1]);
                        *static_cast<int32_t*>(out[3]) = lapack::getrf(
                            static_cast<int>(m), static_cast<int>(n), a.data(), pivots);
                        for (int64_t i = 0; i < k; ++i) --pivots[i];
                        permute(k, pivots, m, static_cast<int32_t*>(out[2]));
                        transpose_matrix(a.data(), n, m, static_cast<T*>(out[0]));
                      });
  });
}

// --- Small matrices ---

// Square matrices of at most this many rows are factored by elementwise ops, which are part of the
// kernels and loops around them. (A call of the library takes longer than the arithmetic.)
constexpr int64_t kUnrolledRows = 4;

// The factorisation of matrices, of which each element is an array over the batch.
class UnrolledLu {
 public:
  explicit UnrolledLu(const Array& x)
      : n_(x.shape().back()), batch_(x.shape().begin(), x.shape().end() - 2) {
    for (int64_t i = 0; i < n_; ++i) {
      for (int64_t j = 0; j < n_; ++j)
        a_.push_back(lax::reshape(block_of(x, i, i + 1, j, j + 1), batch_));
      permutation_.push_back(index(i));
    }
    info_ = index(0);
    for (int64_t k = 0; k < n_; ++k) eliminate(k);
  }
  std::vector<Array> results() const {
    return {stacked(a_, {n_, n_}), stacked(pivots_, {n_}), stacked(permutation_, {n_}), info_};
  }

 private:
  Array& at(int64_t i, int64_t j) { return a_[static_cast<size_t>(i * n_ + j)]; }
  Array index(int64_t i) const { return lax::full(batch_, static_cast<double>(i), int32); }

  // Exchanges row k with the row of the largest element, and subtracts multiples of it from those
  // below. If that element is zero, nothing is subtracted.
  void eliminate(int64_t k) {
    Array best = lax::abs(at(k, k)), pivot = index(k);
    for (int64_t i = k + 1; i < n_; ++i) {
      const Array size = lax::abs(at(i, k)), larger = lax::gt(size, best);
      best = lax::select(larger, size, best);
      pivot = lax::select(larger, index(i), pivot);
    }
    pivots_.push_back(pivot);
    for (int64_t i = k + 1; i < n_; ++i) {
      const Array exchanged = lax::eq(pivot, index(i));
      for (int64_t j = 0; j < n_; ++j) exchange(exchanged, at(k, j), at(i, j));
      exchange(exchanged, permutation_[static_cast<size_t>(k)],
               permutation_[static_cast<size_t>(i)]);
    }
    const Array zero = lax::zeros_like(best.type()), is_zero = lax::eq(best, zero);
    const Array first = lax::eq(info_, index(0));
    info_ = lax::select(lax::bitwise_and(is_zero, first), index(k + 1), info_);
    for (int64_t i = k + 1; i < n_; ++i) {
      at(i, k) = lax::select(is_zero, at(i, k), at(i, k) / at(k, k));
      for (int64_t j = k + 1; j < n_; ++j)
        at(i, j) = lax::select(is_zero, at(i, j), at(i, j) - at(i, k) * at(k, j));
    }
  }
  static void exchange(const Array& where, Array& a, Array& b) {
    const Array first = a;
    a = lax::select(where, b, a);
    b = lax::select(where, first, b);
  }
  // Returns the arrays along new last dimensions of these extents.
  Array stacked(const std::vector<Array>& arrays, const Dims& extents) const {
    std::vector<Array> ones;
    Shape one = batch_, all = batch_;
    one.push_back(1);
    for (const Array& x : arrays) ones.push_back(lax::reshape(x, one));
    for (int64_t extent : extents) all.push_back(extent);
    return lax::reshape(lax::concatenate(ones, one.rank() - 1), all);
  }

  const int64_t n_;
  const Shape batch_;
  std::vector<Array> a_, pivots_, permutation_;
  Array info_;
};

FlatFn unrolled_lu(const OpParams&, std::span<const Type> operands, const Type& result) {
  const int64_t m = rows_of(operands[0]), n = cols_of(operands[0]);
  if (is_complex(result.dtype) || result.elements() == 0 || m != n || n > kUnrolledRows)
    return nullptr;
  return [](const std::vector<Array>& x) { return UnrolledLu(x[0]).results(); };
}

double lu_flops(std::span<const Type> operands, std::span<const Type>, const NoParams&) {
  const Type& x = operands[0];
  return static_cast<double>(x.elements() * std::min(rows_of(x), cols_of(x)));
}

// Returns the rows of x [..., m, n] in the order of `permutation` [..., m].
Array permuted_rows(const Array& x, const Array& permutation) {
  if (x.size() == 0) return x;
  return lax::take_along(x, as_columns(permutation, x.shape()), x.ndim() - 2);
}

// Returns a, padded with zeros to `rows` by `cols`, with ones on the diagonal from `from` on.
Array padded_with_identity(const Array& a, int64_t rows, int64_t cols, int64_t from) {
  const int64_t r = a.ndim() - 2;
  Dims low(a.shape().size(), 0), high = low;
  high[r] = rows - a.shape()[r];
  high[r + 1] = cols - a.shape()[r + 1];
  const Array padded = lax::pad(a, lax::full({}, 0, a.dtype()), low, high, low);
  if (from == std::min(rows, cols)) return padded;
  const Array ones = identity_like(padded, rows);
  Dims start(a.shape().size(), 0), zero = start;
  start[r] = start[r + 1] = from;
  const Array corner = block_of(ones, 0, rows - from, 0, cols - from);
  return padded + lax::pad(corner, lax::full({}, 0, a.dtype()), start, zero, zero);
}

// De Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using triangular
// factorization" (2011): dl = l tril(l^-1 p da u^-1, -1), du = triu(l^-1 p da u^-1) u, with l and u
// completed to square matrices.
JvpResult jvp_lu(std::span<const Array> x, std::span<const Array> t, const NoParams& p) {
  std::vector<Array> out = bind_op(lu_op, p, std::vector{x[0]});
  if (!t[0].defined() || x[0].size() == 0) return {out, std::vector<Array>(4)};
  const int64_t m = rows_of(x[0].type()), n = cols_of(x[0].type()), k = std::min(m, n);
  const Array unit_lower =
      padded_with_identity(lower_triangle(block_of(out[0], 0, m, 0, k), -1), m, m, m) +
      identity_like(out[0], m);
  const Array upper = padded_with_identity(upper_triangle(block_of(out[0], 0, k, 0, n)), n, n, k);
  using lax::linalg::triangular_solve;
  const Array left = triangular_solve(unit_lower, permuted_rows(t[0], out[2]),
                                      {.left_side = true, .lower = true, .unit_diagonal = true});
  const Array both = triangular_solve(upper, left, {});
  const Array tangent =
      matmul(unit_lower, lower_triangle(both, -1)) + matmul(upper_triangle(both), upper);
  return {out, {tangent, Array(), Array(), Array()}};
}

std::vector<Sample> lu_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 5}, Shape{4, 2, 5, 3}})
      out.push_back({.operands = {{dtype, shape}}, .params = NoParams{}});
  for (const Shape& shape : {Shape{1, 1}, Shape{0, 0}, Shape{2, 0, 3}, Shape{0, 3, 3}})
    out.push_back({.operands = {{float32, shape}}, .params = NoParams{}});
  return out;
}

}  // namespace

const OpDef& lu_op = define<NoParams>({
    .name = "lu",
    .dialect = "tessera",
    .infer = infer_lu,
    .evaluate = evaluate_lu,
    .factors = whole_matrices<NoParams>,
    .lower = Library{LibraryKind::kCall, lu_call},
    .flops = lu_flops,
    .jvp = {jvp_lu},
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_matrices(lu_op, p, x, dims);
    }},
    .samples = lu_samples,
});

namespace {
[[maybe_unused]] const bool kUnrollsLu = register_unroll_rule(lu_op, unrolled_lu);
}  // namespace

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;

Lu lu(const Array& x) {
  SourceScope source("lu");
  const std::vector<Array> out = bind_op(lu_op, NoParams{}, std::vector{x});
  return {out[0], out[1], out[2]};
}

Array lu_solve(const Array& lu, const Array& permutation, const Array& b, int trans) {
  SourceScope source("lu_solve");
  factor::expect_square("lu_solve", lu.type());
  if (trans < 0 || trans > 2) value_error("lu_solve", "expected trans 0, 1 or 2, got {}", trans);
  if (trans == 0) {
    const Array x = triangular_solve(lu, permuted_rows(b, permutation),
                                     {.left_side = true, .lower = true, .unit_diagonal = true});
    return triangular_solve(lu, x, {.left_side = true});
  }
  const bool conjugate = trans == 2;
  Array x =
      triangular_solve(lu, b, {.left_side = true, .transpose_a = true, .conjugate_a = conjugate});
  x = triangular_solve(lu, x,
                       {.left_side = true,
                        .lower = true,
                        .transpose_a = true,
                        .conjugate_a = conjugate,
                        .unit_diagonal = true});
  // Sorting the permutation gives its inverse: the new position of each row.
  const Array places = iota(int32, permutation.shape(), permutation.ndim() - 1);
  return permuted_rows(x, sort(std::vector{permutation, places}, -1)[1]);
}

Array solve(const Array& a, const Array& b) {
  SourceScope source("solve");
  factor::expect_square("solve", a.type());
  const Lu f = lu(a);
  return lu_solve(f.lu, f.permutation, b);
}

}  // namespace tessera::lax::linalg
