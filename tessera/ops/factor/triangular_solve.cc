#include "tessera/ops/factor/triangular_solve.h"

#include <algorithm>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/small_solve.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;
using lax::linalg::Transpose;

constexpr std::string_view kTriangularSolveOp = "triangular_solve";

std::vector<Type> infer_solve(std::span<const Type> operands, const TriangularSolveParams& p) {
  expect_operands(kTriangularSolveOp, operands, 2);
  const Type &a = operands[0], &b = operands[1];
  expect_square(kTriangularSolveOp, a);
  expect_matrix(kTriangularSolveOp, b);
  if (a.dtype != b.dtype)
    type_error(kTriangularSolveOp,
               "expected operands of one dtype (C1), got {} and {}; convert one", describe(a),
               describe(b));
  const int64_t along = p.left_side ? rows_of(b) : cols_of(b);
  if (a.rank() != b.rank() || batch_with(a, {}) != batch_with(b, {}) || along != rows_of(a))
    shape_error(kTriangularSolveOp,
                "expected b of shape {} with {} (C3), got {}; reshape or broadcast it",
                p.left_side ? "[..., m, n]" : "[..., n, m]", describe(a), describe(b));
  return {result_type(operands, b.dtype, b.shape)};
}

// --- Evaluation: substitution ---

// Returns the matrix of the equations, which is op(a), or its transpose if a is on the right. It is
// zero outside of the triangle that is read.
template <class T>
std::vector<T> whole_matrix(int64_t m, const T* a, const TriangularSolveParams& p) {
  std::vector<T> out(static_cast<size_t>(m * m));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < m; ++j) {
      if (p.lower ? j > i : j < i) continue;
      T value = i == j && p.unit_diagonal ? T{1} : a[i * m + j];
      if constexpr (lapack::is_complex<T>)
        if (p.transpose_a == Transpose::kAdjoint) value = std::conj(value);
      const bool swap = (p.transpose_a != Transpose::kNoTranspose) == p.left_side;
      out[swap ? j * m + i : i * m + j] = value;
    }
  return out;
}

// Replaces one right-hand side, whose elements are `step` apart, by its solution.
template <class T>
void substitute(int64_t m, const std::vector<T>& a, bool lower, T* x, int64_t step) {
  for (int64_t k = 0; k < m; ++k) {
    const int64_t i = lower ? k : m - 1 - k;
    NaiveSum<T> sum = x[i * step];
    for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : m); ++j)
      sum -= NaiveSum<T>(a[i * m + j]) * NaiveSum<T>(x[j * step]);
    x[i * step] = static_cast<T>(sum / NaiveSum<T>(a[i * m + i]));
  }
}

std::vector<Literal> evaluate_solve(std::span<const Literal> operands,
                                    const TriangularSolveParams& p) {
  Literal out = operands[1];
  if (out.elements() == 0) return {out};
  visit_matrix_dtype(out.dtype(), [&]<class T>(TypeTag<T>) {
    const int64_t m = operands[0].shape().back(), rank = out.shape().rank(),
                  rows = out.shape()[rank - 2], cols = out.shape()[rank - 1],
                  columns = p.left_side ? cols : rows;
    const bool swap = (p.transpose_a != Transpose::kNoTranspose) == p.left_side;
    T* to = out.mutable_data<T>();
    for (int64_t i = 0; i < out.elements() / (rows * cols); ++i) {
      const std::vector<T> a = whole_matrix(m, operands[0].data<T>() + i * m * m, p);
      for (int64_t c = 0; c < columns; ++c)
        substitute(m, a, p.lower != swap, to + i * rows * cols + (p.left_side ? c : c * m),
                   p.left_side ? cols : 1);
    }
  });
  return {out};
}

// --- Compiled ---

// Returns the call for few unknowns and right-hand sides.
template <class T>
HostCall small_solve_call(const TriangularSolveParams& p, std::span<const Type> operands,
                          std::span<const Type> results, double operations) {
  const int64_t m = rows_of(operands[0]),
                columns = p.left_side ? cols_of(operands[1]) : rows_of(operands[1]),
                members = members_of(operands[0]);
  const auto batch = [=](const void* const* in, void* const* out) {
    return SolveBatch<T>{.m = m,
                         .columns = columns,
                         .left = p.left_side,
                         .lower = p.lower,
                         .transposed = p.transpose_a != Transpose::kNoTranspose,
                         .unit_diagonal = p.unit_diagonal,
                         .conjugated = p.transpose_a == Transpose::kAdjoint,
                         .a = static_cast<const T*>(in[0]),
                         .b = static_cast<const T*>(in[1]),
                         .x = static_cast<T*>(out[0])};
  };
  return over_members(operands, results, members, operations,
                      [=](const void* const* in, void* const* out, int64_t count) {
                        small_solve(batch(in, out), count);
                      });
}

// Returns how many of the right-hand sides of one member are one task. The parts depend only on the
// sizes, because the library may round differently in parts of other sizes.
int64_t sides_of_part(int64_t sides, double operations) {
  constexpr int64_t kLeastSides = 64, kMostParts = 16;
  constexpr double kPartOperations = 8e6;
  const auto parts =
      static_cast<int64_t>(std::min(operations / kPartOperations, static_cast<double>(kMostParts)));
  return std::max({kLeastSides, ceil_div(sides, std::max<int64_t>(1, parts)), int64_t{1}});
}

// LAPACK sees row-major matrices as their transposes: it solves x^T op(a)^T = b^T, in which the
// stored matrix is a^T, with the other triangle.
HostCall solve_call(const OpParams& params, std::span<const Type> operands,
                    std::span<const Type> results) {
  const auto p = params.as<TriangularSolveParams>();
  const int64_t rows = rows_of(operands[1]), cols = cols_of(operands[1]);
  const double operations =
      static_cast<double>(rows * cols) * static_cast<double>(p.left_side ? rows : cols);
  const char transposition = p.transpose_a == Transpose::kNoTranspose ? 'N'
                             : p.transpose_a == Transpose::kTranspose ? 'T'
                                                                      : 'C';
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    if (is_small_solve(rows_of(operands[0]), (p.left_side ? cols : rows) * sizeof(T)))
      return small_solve_call<T>(p, operands, results, operations);
    const int64_t sides = p.left_side ? cols : rows, part = sides_of_part(sides, operations);
    return over_batch(
        operands, results, members_of(operands[0]), operations,
        [=](const void* const* in, void* const* out) {
          T* to = static_cast<T*>(out[0]);
          std::copy_n(static_cast<const T*>(in[1]), rows * cols, to);
          parallel_for(ceil_div(sides, part), [&](int64_t i) {
            const auto first = i * part, count = std::min(part, sides - first);
            lapack::trsm(!p.left_side, !p.lower, transposition, p.unit_diagonal,
                         static_cast<int>(p.left_side ? count : cols),
                         static_cast<int>(p.left_side ? rows : count), static_cast<const T*>(in[0]),
                         to + first * (p.left_side ? 1 : cols), static_cast<int>(cols));
          });
        },
        LargeMember::kOwnTasks);
  });
}

// --- Small matrices ---

// Equations of at most this many unknowns are solved by elementwise ops, which are part of the
// kernels and loops around them. (A call of the library takes longer than the arithmetic.) The
// choice must not depend on the other dimensions, which may be sharded: bits would depend on it.
constexpr int64_t kUnrolledUnknowns = 4;

FlatFn unrolled_solve(const OpParams& params, std::span<const Type> operands, const Type& result) {
  const auto p = params.as<TriangularSolveParams>();
  const int64_t m = rows_of(operands[0]);
  if (is_complex(result.dtype) || result.elements() == 0 || m > kUnrolledUnknowns) return nullptr;
  return [p, m](const std::vector<Array>& x) -> std::vector<Array> {
    const bool swap = (p.transpose_a != Transpose::kNoTranspose) == p.left_side;
    const bool forward = p.lower != swap;
    const int64_t rank = x[1].ndim(), dim = p.left_side ? rank - 2 : rank - 1;
    std::vector<Array> unknowns(static_cast<size_t>(m));
    const auto right = [&](int64_t i) { return lax::slice_in_dim(x[1], i, i + 1, 1, dim); };
    const Shape shape = right(0).shape();
    const auto coefficient = [&](int64_t i, int64_t j) {
      const Array one =
          swap ? block_of(x[0], j, j + 1, i, i + 1) : block_of(x[0], i, i + 1, j, j + 1);
      return lax::broadcast_in_dim(one, shape, iota_dims(rank));
    };
    for (int64_t k = 0; k < m; ++k) {
      const int64_t i = forward ? k : m - 1 - k;
      Array sum = right(i);
      for (int64_t j = forward ? 0 : i + 1; j < (forward ? i : m); ++j)
        sum = sum - coefficient(i, j) * unknowns[static_cast<size_t>(j)];
      unknowns[static_cast<size_t>(i)] = p.unit_diagonal ? sum : sum / coefficient(i, i);
    }
    return {lax::concatenate(unknowns, dim)};
  };
}

// --- Rules ---

// Right-hand sides are independent of each other.
Factors solve_factors(std::span<const Type> operands, std::span<const Type> results,
                      const TriangularSolveParams& p) {
  const int64_t batch = operands[0].rank() - 2;
  Factors out = matrix_factors(operands, results, batch);
  const int64_t free = batch + (p.left_side ? 1 : 0);
  const int columns = out.operands[1][free][0];
  out.factors[columns].kind = FactorKind::kPass;
  out.results[0] = out.operands[1];
  out.factors.resize(out.factors.size() - 2);  // the result alone has none
  return out;
}

double solve_flops(std::span<const Type> operands, std::span<const Type> results,
                   const TriangularSolveParams&) {
  return static_cast<double>(results[0].elements() * rows_of(operands[0]));
}

// Returns op(a) for the tangent t of a, restricted to the triangle that is read.
Array tangent_matrix(const Array& t, const TriangularSolveParams& p) {
  const int64_t k = p.unit_diagonal ? 1 : 0;
  const Array kept = p.lower ? lower_triangle(t, -k) : upper_triangle(t, k);
  switch (p.transpose_a) {
    case Transpose::kNoTranspose:
      return kept;
    case Transpose::kTranspose:
      return transposed(kept);
    case Transpose::kAdjoint:
      return adjoint(kept);
  }
  TESSERA_CHECK(false, "a transposition");
}

JvpResult jvp_solve(std::span<const Array> x, std::span<const Array> t,
                    const TriangularSolveParams& p) {
  auto solve = [&](const Array& b) { return bind_op1(triangular_solve_op, p, {x[0], b}); };
  const Array out = solve(x[1]);
  Array tangent;
  if (t[1].defined()) tangent = solve(t[1]);
  if (t[0].defined()) {
    const Array da = tangent_matrix(t[0], p);
    const int64_t m = x[0].shape().back(),
                  n = p.left_side ? out.shape().back() : out.shape()[out.ndim() - 2];
    // The product with fewer columns is computed first.
    Array change;
    if (p.left_side)
      change = m > n ? solve(matmul(da, out)) : matmul(solve(da), out);
    else
      change = m > n ? solve(matmul(out, da)) : matmul(out, solve(da));
    tangent = tangent.defined() ? tangent - change : -change;
  }
  return {{out}, {tangent}};
}

std::vector<Array> transpose_solve(std::span<const Array> ct, std::span<const Array> x,
                                   const std::vector<bool>& linear,
                                   const TriangularSolveParams& p) {
  TESSERA_CHECK(!linear[0] && linear[1], "triangular_solve is linear in b alone");
  TriangularSolveParams q = p;
  Array a = x[0];
  switch (p.transpose_a) {
    case Transpose::kNoTranspose:
      q.transpose_a = Transpose::kTranspose;
      break;
    case Transpose::kTranspose:
      q.transpose_a = Transpose::kNoTranspose;
      break;
    case Transpose::kAdjoint:
      q.transpose_a = Transpose::kNoTranspose;
      a = conjugate(a);
      break;
  }
  return {Array(), bind_op1(triangular_solve_op, q, {a, ct[0]})};
}

// If one matrix is shared by all examples, their right-hand sides are solved together.
BatchResult batch_solve(std::span<const Array> x, std::span<const int> dims,
                        const TriangularSolveParams& p) {
  if (dims[0] >= 0) return batch_matrices(triangular_solve_op, p, x, dims);
  const int64_t rank = x[0].ndim(), at = p.left_side ? rank - 1 : rank - 2;
  const Array b = lax::move_dim(x[1], dims[1], at);  // just before the free dimension
  Shape merged = b.shape();
  merged[at] *= merged[at + 1];
  merged.erase(merged.begin() + at + 1);
  const Array out = bind_op1(triangular_solve_op, p, {x[0], lax::reshape(b, merged)});
  return {{lax::reshape(out, b.shape())}, {static_cast<int>(at)}};
}

std::vector<Sample> solve_samples() {
  std::vector<Sample> out;
  auto add = [&](DType dtype, Shape a, Shape b, TriangularSolveParams p) {
    out.push_back(
        {.operands = {{dtype, std::move(a)}, {dtype, std::move(b)}}, .params = p, .low = 0.5});
  };
  for (DType dtype : {float32, complex128})
    for (bool left : {true, false})
      for (bool lower : {true, false})
        for (Transpose t : {Transpose::kNoTranspose, Transpose::kTranspose, Transpose::kAdjoint}) {
          add(dtype, {4, 4}, left ? Shape{4, 2} : Shape{2, 4}, {left, lower, lower, t});
          add(dtype, {2, 3, 3}, left ? Shape{2, 3, 4} : Shape{2, 4, 3}, {left, lower, !lower, t});
        }
  add(float64, {2, 2, 3, 3}, {2, 2, 3, 8}, {true, true, false, Transpose::kNoTranspose});
  add(complex64, {3, 3}, {3, 1}, {true, false, false, Transpose::kAdjoint});
  add(float64, {2, 5, 5}, {2, 3, 5}, {false, false, false, Transpose::kNoTranspose});
  add(float32, {0, 0}, {0, 3}, {true, true, false, Transpose::kNoTranspose});
  add(float32, {3, 3}, {3, 0}, {true, true, false, Transpose::kNoTranspose});
  return out;
}

}  // namespace

const OpDef& triangular_solve_op = define<TriangularSolveParams>({
    .name = "triangular_solve",
    .attributes = {"left_side", "lower", "unit_diagonal", "transpose_a"},
    .infer = infer_solve,
    .evaluate = evaluate_solve,
    .factors = solve_factors,
    .lower = Library{LibraryKind::kCall, solve_call},
    .flops = solve_flops,
    .jvp = {jvp_solve},
    .transpose = {transpose_solve},
    .batch = {batch_solve},
    .samples = solve_samples,
});

namespace {
[[maybe_unused]] const bool kUnrollsSolves =
    register_unroll_rule(triangular_solve_op, unrolled_solve);
}  // namespace

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;

Array triangular_solve(const Array& a, const Array& b, const TriangularSolveOptions& o) {
  SourceScope source("triangular_solve");
  const bool vectors = b.ndim() == a.ndim() - 1;
  const Dims last{o.left_side ? b.ndim() : b.ndim() - 1};
  const bool conjugated = o.conjugate_a && !o.transpose_a;
  const Transpose transposition = !o.transpose_a ? Transpose::kNoTranspose
                                  : o.conjugate_a && tessera::is_complex(a.dtype())
                                      ? Transpose::kAdjoint
                                      : Transpose::kTranspose;
  const Array x =
      bind_op1(triangular_solve_op,
               TriangularSolveParams{o.left_side, o.lower, o.unit_diagonal, transposition},
               {conjugated ? factor::conjugate(a) : a, vectors ? lax::expand_dims(b, last) : b});
  return vectors ? lax::squeeze(x, last) : x;
}

}  // namespace tessera::lax::linalg
