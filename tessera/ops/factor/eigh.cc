#include "tessera/ops/factor/eigh.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/factor/large_matrix.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/small_eigenvalues.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;

constexpr std::string_view kEighOp = "eigh", kEighValuesOp = "eigh_values";

std::vector<Type> infer_eigh(std::span<const Type> operands, const EighParams&) {
  expect_operands(kEighOp, operands, 1);
  const Type& x = operands[0];
  expect_square(kEighOp, x);
  return {result_type(operands, x.dtype, x.shape),
          result_type(operands, real_dtype(x.dtype), batch_with(x, {rows_of(x)})),
          result_type(operands, int32, batch_with(x, {}))};
}

double operations_of_order(int64_t order) {
  const auto n = static_cast<double>(order);
  return 9 * n * n * n;
}
double eigh_operations(const Type& x) { return operations_of_order(rows_of(x)); }

template <class T>
int decompose(bool lower, int64_t n, const T* x, lapack::Real<T>* w, T* v) {
  if (!lapack::all_finite(x, n * n)) {
    lapack::fill_nan(w, n);
    lapack::fill_nan(v, n * n);
    return lapack::kNotFinite;
  }
  const Workspace<T> a(n * n);
  transpose_matrix(x, n, n, a.data());
  if (lower && is_large(n, n)) {
    const Workspace<T> vectors(n * n);
    int info = 0;
    if (large_eigh(n, a.data(), w, vectors.data(), &info)) {
      transpose_matrix(vectors.data(), n, n, v);
      return info;
    }
  }
  const BlasThreads threads = blas_threads_for(operations_of_order(n));
  const int info = lapack::syevd(true, lower ? 'L' : 'U', static_cast<int>(n), a.data(), w);
  transpose_matrix(a.data(), n, n, v);
  return info;
}

HostCall eigh_call(const OpParams& params, std::span<const Type> operands,
                   std::span<const Type> results) {
  const bool lower = params.as<EighParams>().lower;
  const int64_t n = rows_of(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    return over_batch(
        operands, results, members_of(operands[0]), eigh_operations(operands[0]),
        [=](const void* const* in, void* const* out) {
          *static_cast<int32_t*>(out[2]) =
              decompose(lower, n, static_cast<const T*>(in[0]),
                        static_cast<lapack::Real<T>*>(out[1]), static_cast<T*>(out[0]));
        },
        LargeMember::kOwnTasks);
  });
}

std::vector<Type> infer_eigh_values(std::span<const Type> operands, const EighParams&) {
  expect_operands(kEighValuesOp, operands, 1);
  const Type& x = operands[0];
  expect_square(kEighValuesOp, x);
  return {result_type(operands, real_dtype(x.dtype), batch_with(x, {rows_of(x)})),
          result_type(operands, int32, batch_with(x, {}))};
}

template <class T>
int find_values(bool lower, int64_t n, const T* x, lapack::Real<T>* w) {
  if (!lapack::all_finite(x, n * n)) {
    lapack::fill_nan(w, n);
    return lapack::kNotFinite;
  }
  const Workspace<T> a(n * n);
  transpose_matrix(x, n, n, a.data());
  // One thread of OpenBLAS. Most of the time is that of products of a matrix with a vector; several
  // threads would wait for each other at every column.
  return lapack::syevd(false, lower ? 'L' : 'U', static_cast<int>(n), a.data(), w);
}

HostCall eigh_values_call(const OpParams& params, std::span<const Type> operands,
                          std::span<const Type> results) {
  const bool lower = params.as<EighParams>().lower;
  const int64_t n = rows_of(operands[0]), members = members_of(operands[0]);
  const double operations = eigh_operations(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!lapack::is_complex<T>)
      if (has_small_eigenvalues(n))
        return over_members(operands, results, members, operations,
                            [=](const void* const* in, void* const* out, int64_t count) {
                              small_eigenvalues<T>({.n = n,
                                                    .lower = lower,
                                                    .a = static_cast<const T*>(in[0]),
                                                    .w = static_cast<T*>(out[0]),
                                                    .info = static_cast<int32_t*>(out[1])},
                                                   count);
                            });
    return over_batch(
        operands, results, members, operations,
        [=](const void* const* in, void* const* out) {
          *static_cast<int32_t*>(out[1]) = find_values(lower, n, static_cast<const T*>(in[0]),
                                                       static_cast<lapack::Real<T>*>(out[0]));
        },
        LargeMember::kOwnTasks);
  });
}

double eigh_flops(std::span<const Type> operands, std::span<const Type>, const EighParams&) {
  return eigh_operations(operands[0]) * static_cast<double>(members_of(operands[0]));
}

// The derivative for distinct eigenvalues, by perturbation theory
// (https://people.maths.ox.ac.uk/gilesm/files/NA-08-01.pdf, 3.1): dw = diag(v^H da v) and dv = v (f
// * v^H da v), where f[i, j] = 1 / (w[j] - w[i]) off the diagonal.
JvpResult jvp_eigh(std::span<const Array> x, std::span<const Array> t, const EighParams& p) {
  std::vector<Array> out = bind_op(eigh_op, p, std::vector{x[0]});
  if (!t[0].defined()) return {out, std::vector<Array>(3)};
  const Array& v = out[0];
  const Shape& shape = v.shape();
  const int64_t n = shape.back();
  const Array da = hermitian_of(t[0], p.lower);
  const Array w = in_dtype_of(out[1], v), one = identity_like(v, n);
  const Array f = 1 / (one + as_rows(w, shape) - as_columns(w, shape)) - one;
  const Array inner = matmul(matmul(adjoint(v), da), v);
  return {out, {matmul(v, f * inner), real_part(diagonal_of(inner)), Array()}};
}

// LAPACK chooses the phase of complex eigenvectors, and the derivative does not follow its choice:
// tests/ops/factor_test.cc compares what does not depend on it.
std::vector<Sample> eigh_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (bool lower : {true, false})
      for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 3}, Shape{4, 2, 2, 2}})
        out.push_back({.operands = {{dtype, shape}}, .params = EighParams{lower}});
  out.push_back({.operands = {{float32, {1, 1}}}, .params = EighParams{true}});
  out.push_back({.operands = {{float32, {2, 0, 0}}}, .params = EighParams{true}});
  return out;
}

}  // namespace

const OpDef& eigh_op = define<EighParams>({
    .name = "eigh",
    .dialect = "tessera",
    .attributes = {"lower"},
    .infer = infer_eigh,
    .evaluate = evaluate_call<infer_eigh, eigh_call, EighParams>,
    .factors = whole_matrices<EighParams>,
    .lower = Library{LibraryKind::kCall, eigh_call},
    .flops = eigh_flops,
    .jvp = {jvp_eigh},
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const EighParams& p) {
      return batch_matrices(eigh_op, p, x, dims);
    }},
    .samples = eigh_samples,
});

const OpDef& eigh_values_op = define<EighParams>({
    .name = "eigh_values",
    .dialect = "tessera",
    .attributes = {"lower"},
    .infer = infer_eigh_values,
    .evaluate = evaluate_call<infer_eigh_values, eigh_values_call, EighParams>,
    .factors = whole_matrices<EighParams>,
    .lower = Library{LibraryKind::kCall, eigh_values_call},
    .flops = eigh_flops,
    .jvp = absent("eigh becomes it after it is differentiated"),
    .transpose = absent("a factorisation is not linear"),
    .batch = absent("eigh becomes it after it is mapped"),
    .samples = eigh_samples,
});

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;
using namespace ops::array_math;

Eigh eigh(const Array& x, bool lower, bool symmetrize_input) {
  SourceScope source("eigh");
  factor::expect_square("eigh", x.type());
  const Array a = symmetrize_input ? (x + factor::adjoint(x)) * 0.5 : x;
  const std::vector<Array> out = bind_op(eigh_op, EighParams{lower}, std::vector{a});
  return {factor::nan_where_failed(out[0], out[2]), factor::nan_where_failed(out[1], out[2])};
}

}  // namespace tessera::lax::linalg
