#include "tessera/ops/factor/tridiagonal.h"

#include <algorithm>
#include <cmath>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/perturbed_solve.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;

// --- tridiagonal ---

std::vector<Type> infer_tridiagonal(std::span<const Type> operands, const TridiagonalParams&) {
  expect_operands("tridiagonal", operands, 1);
  const Type& x = operands[0];
  expect_square("tridiagonal", x);
  const int64_t n = rows_of(x);
  if (n == 0) shape_error("tridiagonal", "expected matrices of a row or more, got {}", describe(x));
  return {result_type(operands, x.dtype, x.shape),
          result_type(operands, real_dtype(x.dtype), batch_with(x, {n})),
          result_type(operands, real_dtype(x.dtype), batch_with(x, {n - 1})),
          result_type(operands, x.dtype, batch_with(x, {n - 1})),
          result_type(operands, int32, batch_with(x, {}))};
}

double tridiagonal_operations(const Type& x) {
  const auto n = static_cast<double>(rows_of(x));
  return 1.4 * n * n * n;
}

HostCall tridiagonal_call(const OpParams& params, std::span<const Type> operands,
                          std::span<const Type> results) {
  const bool lower = params.as<TridiagonalParams>().lower;
  const int64_t n = rows_of(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    using R = lapack::Real<T>;
    return over_batch(operands, results, members_of(operands[0]),
                      tridiagonal_operations(operands[0]),
                      [=](const void* const* in, void* const* out) {
                        const Workspace<T> a(n * n), taus(n);
                        const Workspace<R> e(n);
                        transpose_matrix(static_cast<const T*>(in[0]), n, n, a.data());
                        *static_cast<int32_t*>(out[4]) =
                            lapack::sytrd(lower ? 'L' : 'U', static_cast<int>(n), a.data(),
                                          static_cast<R*>(out[1]), e.data(), taus.data());
                        transpose_matrix(a.data(), n, n, static_cast<T*>(out[0]));
                        std::copy_n(e.data(), n - 1, static_cast<R*>(out[2]));
                        std::copy_n(taus.data(), n - 1, static_cast<T*>(out[3]));
                      });
  });
}

std::vector<Sample> tridiagonal_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (bool lower : {true, false})
      for (const Shape& shape : {Shape{4, 4}, Shape{4, 2, 3, 3}, Shape{1, 1}})
        out.push_back({.operands = {{dtype, shape}}, .params = TridiagonalParams{lower}});
  return out;
}

// --- tridiagonal_solve ---

std::vector<Type> infer_solve(std::span<const Type> operands, const TridiagonalSolveParams&) {
  constexpr std::string_view kOp = "tridiagonal_solve";
  expect_operands(kOp, operands, 4);
  const Type& b = operands[3];
  expect_matrix(kOp, b);
  expect_same_dtype(kOp, operands);
  for (int k = 0; k < 3; ++k) expect_shape(kOp, b, operands[k], {rows_of(b)});
  return {result_type(operands, b.dtype, b.shape), result_type(operands, int32, batch_with(b, {}))};
}

double solve_operations(const Type& b) { return 8 * static_cast<double>(rows_of(b) * cols_of(b)); }

HostCall solve_call(const OpParams& params, std::span<const Type> operands,
                    std::span<const Type> results) {
  const bool perturb = params.as<TridiagonalSolveParams>().perturb_singular;
  const Type& b = operands[3];
  const int64_t m = rows_of(b), n = cols_of(b);
  return visit_matrix_dtype(b.dtype, [&]<class T>(TypeTag<T>) {
    return over_batch(operands, results, members_of(b), solve_operations(b),
                      [=](const void* const* in, void* const* out) {
                        const T *dl = static_cast<const T*>(in[0]),
                                *d = static_cast<const T*>(in[1]),
                                *du = static_cast<const T*>(in[2]),
                                *rhs = static_cast<const T*>(in[3]);
                        T* x = static_cast<T*>(out[0]);
                        auto* info = static_cast<int32_t*>(out[1]);
                        if (perturb) {
                          *info = 0;
                          return perturbed_solve(m, n, dl, d, du, rhs, x);
                        }
                        const Workspace<T> lower(m), middle(m), upper(m), columns(m * n);
                        if (m > 1) std::copy_n(dl + 1, m - 1, lower.data());
                        std::copy_n(d, m, middle.data());
                        std::copy_n(du, m, upper.data());
                        transpose_matrix(rhs, m, n, columns.data());
                        *info = lapack::gtsv(static_cast<int>(m), static_cast<int>(n), lower.data(),
                                             middle.data(), upper.data(), columns.data());
                        transpose_matrix(columns.data(), n, m, x);
                      });
  });
}

// Right-hand sides are independent of each other.
Factors solve_factors(std::span<const Type> operands, std::span<const Type> results,
                      const TridiagonalSolveParams&) {
  const int64_t batch = operands[3].rank() - 2;
  Factors out = matrix_factors(operands, results, batch);
  out.factors[out.operands[3][batch + 1][0]].kind = FactorKind::kPass;
  out.results[0] = out.operands[3];
  out.factors.resize(out.factors.size() - 2);  // the result alone has none
  return out;
}

// Returns the tridiagonal matrix times x.
Array product(const Array& dl, const Array& d, const Array& du, const Array& x) {
  const int64_t r = x.ndim() - 2;
  const Array zero = lax::full({}, 0, x.dtype());
  Dims down(x.shape().size(), 0), up = down;
  down[r] = 1;
  up[r] = -1;
  const Array above = lax::pad(x, zero, down, up), below = lax::pad(x, zero, up, down);
  auto scaled = [&](const Array& diagonal, const Array& rows) {
    return as_columns(diagonal, x.shape()) * rows;
  };
  return scaled(d, x) + scaled(dl, above) + scaled(du, below);
}

JvpResult jvp_solve(std::span<const Array> x, std::span<const Array> t,
                    const TridiagonalSolveParams& p) {
  const std::vector<Array> out = bind_op(tridiagonal_solve_op, p, x);
  Array right = t[3];
  if (t[0].defined() || t[1].defined() || t[2].defined()) {
    auto or_zero = [&](int k) { return t[k].defined() ? t[k] : lax::zeros_like(x[k].type()); };
    const Array change = product(or_zero(0), or_zero(1), or_zero(2), out[0]);
    right = right.defined() ? right - change : -change;
  }
  if (!right.defined()) return {out, {Array(), Array()}};
  const Array tangent = bind_op(tridiagonal_solve_op, p, std::vector{x[0], x[1], x[2], right})[0];
  return {out, {tangent, Array()}};
}

// The lower diagonal of the transposed matrix is the upper one of the matrix, shifted by one, and
// vice versa.
std::vector<Array> transpose_solve(std::span<const Array> ct, std::span<const Array> x,
                                   const std::vector<bool>& linear,
                                   const TridiagonalSolveParams& p) {
  TESSERA_CHECK(!linear[0] && !linear[1] && !linear[2] && linear[3],
                "tridiagonal_solve is linear in b alone");
  const Array zero = lax::full({}, 0, x[0].dtype());
  const int64_t last = x[0].ndim() - 1;
  auto moved = [&](const Array& diagonal, int64_t by) {
    Dims low(x[0].shape().size(), 0), high = low;
    low[last] = by;
    high[last] = -by;
    return lax::pad(diagonal, zero, low, high);
  };
  const Array out = bind_op(tridiagonal_solve_op, p,
                            std::vector{moved(x[2], 1), x[1], moved(x[0], -1), ct[0]})[0];
  return {Array(), Array(), Array(), out};
}

// If one matrix is shared by all examples, their right-hand sides are solved together.
BatchResult batch_solve(std::span<const Array> x, std::span<const int> dims,
                        const TridiagonalSolveParams& p) {
  if (dims[0] >= 0 || dims[1] >= 0 || dims[2] >= 0)
    return batch_matrices(tridiagonal_solve_op, p, x, dims);
  const int64_t at = x[1].ndim();  // just before the columns
  const Array b = lax::move_dim(x[3], dims[3], at);
  Shape merged = b.shape();
  merged[at] *= merged[at + 1];
  merged.pop_back();
  const std::vector<Array> out =
      bind_op(tridiagonal_solve_op, p, std::vector{x[0], x[1], x[2], lax::reshape(b, merged)});
  return {{lax::reshape(out[0], b.shape()), out[1]}, {static_cast<int>(at), -1}};
}

std::vector<Sample> solve_samples() {
  std::vector<Sample> out;
  auto add = [&](DType dtype, const Shape& diagonal, int64_t columns, bool perturb) {
    Shape b = diagonal;
    b.push_back(columns);
    const Type d{dtype, diagonal};
    out.push_back(
        {.operands = {d, d, d, {dtype, b}}, .params = TridiagonalSolveParams{perturb}, .low = 0.5});
  };
  for (DType dtype : {float32, float64, complex64, complex128})
    for (bool perturb : {false, true}) {
      add(dtype, {5}, 2, perturb);
      add(dtype, {4, 2, 3}, 4, perturb);
      add(dtype, {1}, 2, perturb);
    }
  add(float32, {3}, 0, false);
  return out;
}

}  // namespace

const OpDef& tridiagonal_op = define<TridiagonalParams>({
    .name = "tridiagonal",
    .dialect = "tessera",
    .attributes = {"lower"},
    .infer = infer_tridiagonal,
    .evaluate = evaluate_call<infer_tridiagonal, tridiagonal_call, TridiagonalParams>,
    .factors = whole_matrices<TridiagonalParams>,
    .lower = Library{LibraryKind::kCall, tridiagonal_call},
    .flops =
        [](std::span<const Type> x, std::span<const Type>, const TridiagonalParams&) {
          return tridiagonal_operations(x[0]) * static_cast<double>(members_of(x[0]));
        },
    .jvp = absent("the tridiagonal form has no derivative rule, as in JAX"),
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const TridiagonalParams& p) {
      return batch_matrices(tridiagonal_op, p, x, dims);
    }},
    .samples = tridiagonal_samples,
});

const OpDef& tridiagonal_solve_op = define<TridiagonalSolveParams>({
    .name = "tridiagonal_solve",
    .dialect = "tessera",
    .attributes = {"perturb_singular"},
    .infer = infer_solve,
    .evaluate = evaluate_call<infer_solve, solve_call, TridiagonalSolveParams>,
    .factors = solve_factors,
    .lower = Library{LibraryKind::kCall, solve_call},
    .flops =
        [](std::span<const Type> x, std::span<const Type>, const TridiagonalSolveParams&) {
          return solve_operations(x[3]) * static_cast<double>(members_of(x[3]));
        },
    .jvp = {jvp_solve},
    .transpose = {transpose_solve},
    .batch = {batch_solve},
    .samples = solve_samples,
});

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;

Tridiagonal tridiagonal(const Array& x, bool lower) {
  SourceScope source("tridiagonal");
  const std::vector<Array> out = bind_op(tridiagonal_op, TridiagonalParams{lower}, std::vector{x});
  auto checked = [&](size_t r) { return factor::nan_where_failed(out[r], out[4]); };
  return {checked(0), checked(1), checked(2), checked(3)};
}

Array tridiagonal_solve(const Array& dl, const Array& d, const Array& du, const Array& b,
                        bool perturb_singular) {
  SourceScope source("tridiagonal_solve");
  const std::vector<Array> out = bind_op(
      tridiagonal_solve_op, TridiagonalSolveParams{perturb_singular}, std::vector{dl, d, du, b});
  return factor::nan_where_failed(out[0], out[1]);
}

}  // namespace tessera::lax::linalg
