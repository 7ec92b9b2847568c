#include "tessera/ops/factor/svd.h"

#include <algorithm>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/factor/large_matrix.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;
using lax::linalg::SvdAlgorithm;

constexpr std::string_view kSvdOp = "svd";

std::vector<Type> infer_svd(std::span<const Type> operands, const SvdParams& p) {
  expect_operands(kSvdOp, operands, 1);
  const Type& x = operands[0];
  expect_matrix(kSvdOp, x);
  const int64_t m = rows_of(x), n = cols_of(x), k = std::min(m, n);
  std::vector<Type> out{result_type(operands, real_dtype(x.dtype), batch_with(x, {k}))};
  if (p.compute_uv) {
    out.push_back(result_type(operands, x.dtype, batch_with(x, {m, p.full_matrices ? m : k})));
    out.push_back(result_type(operands, x.dtype, batch_with(x, {p.full_matrices ? n : k, n})));
  }
  out.push_back(result_type(operands, int32, batch_with(x, {})));
  return out;
}

double svd_operations(int64_t m, int64_t n, const SvdParams& p) {
  return (p.compute_uv ? 15 : 4) * static_cast<double>(m * n) * static_cast<double>(std::min(m, n));
}
double svd_operations(const Type& x, const SvdParams& p) {
  return svd_operations(rows_of(x), cols_of(x), p);
}

template <class T>
T conjugated(T x) {
  if constexpr (lapack::is_complex<T>) return std::conj(x);
  return x;
}

template <class T>
int decompose(const SvdParams& p, int64_t m, int64_t n, const T* x, lapack::Real<T>* s, T* u,
              T* vh) {
  const int64_t k = std::min(m, n), uk = p.full_matrices ? m : k, vk = p.full_matrices ? n : k;
  if (!lapack::all_finite(x, m * n)) {
    lapack::fill_nan(s, k);
    if (p.compute_uv) {
      lapack::fill_nan(u, m * uk);
      lapack::fill_nan(vh, vk * n);
    }
    return lapack::kNotFinite;
  }
  const char mode = !p.compute_uv ? 'N' : p.full_matrices ? 'A' : 'S';
  const auto routine = p.algorithm == SvdAlgorithm::kQr ? lapack::gesvd<T> : lapack::gesdd<T>;
  const Workspace<T> a(m * n), left(p.compute_uv ? m * uk : 1), right(p.compute_uv ? vk * n : 1);
  transpose_matrix(x, m, n, a.data());
  if (p.compute_uv && p.algorithm != SvdAlgorithm::kQr && m >= n && 2 * m < 3 * n && uk == n) {
    int info = 0;
    const Workspace<T> v(n * n);
    if (large_svd(m, n, a.data(), s, left.data(), v.data(), &info)) {
      transpose_matrix(left.data(), n, m, u);
      for (int64_t i = 0; i < n * n; ++i) vh[i] = conjugated(v.data()[i]);
      return info;
    }
  }
  const BlasThreads threads = blas_threads_for(svd_operations(m, n, p));
  const int info = k == 0 ? 0
                          : routine(mode, static_cast<int>(m), static_cast<int>(n), a.data(), s,
                                    left.data(), right.data());
  if (!p.compute_uv) return info;
  if (k == 0) {  // there are no singular values: any orthonormal vectors do
    for (int64_t i = 0; i < m * uk; ++i)
      u[i] = i / std::max<int64_t>(1, uk) == i % std::max<int64_t>(1, uk) ? T{1} : T{};
    for (int64_t i = 0; i < vk * n; ++i)
      vh[i] = i / std::max<int64_t>(1, n) == i % std::max<int64_t>(1, n) ? T{1} : T{};
    return info;
  }
  transpose_matrix(left.data(), uk, m, u);
  transpose_matrix(right.data(), n, vk, vh);
  return info;
}

HostCall svd_call(const OpParams& params, std::span<const Type> operands,
                  std::span<const Type> results) {
  const auto p = params.as<SvdParams>();
  const int64_t m = rows_of(operands[0]), n = cols_of(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    return over_batch(
        operands, results, members_of(operands[0]), svd_operations(operands[0], p),
        [=](const void* const* in, void* const* out) {
          *static_cast<int32_t*>(out[p.compute_uv ? 3 : 1]) = decompose(
              p, m, n, static_cast<const T*>(in[0]), static_cast<lapack::Real<T>*>(out[0]),
              p.compute_uv ? static_cast<T*>(out[1]) : nullptr,
              p.compute_uv ? static_cast<T*>(out[2]) : nullptr);
        },
        LargeMember::kOwnTasks);
  });
}

double svd_flops(std::span<const Type> operands, std::span<const Type>, const SvdParams& p) {
  return svd_operations(operands[0], p) * static_cast<double>(members_of(operands[0]));
}

// The derivative for distinct singular values (Giles,
// https://people.maths.ox.ac.uk/gilesm/files/NA-08-01.pdf, 3.2), with u and v in the phases of
// jax.lax.linalg.svd.
JvpResult jvp_svd(std::span<const Array> x, std::span<const Array> t, const SvdParams& p) {
  const int64_t m = rows_of(x[0].type()), n = cols_of(x[0].type());
  std::vector<Array> out = bind_op(svd_op, p, std::vector{x[0]});
  std::vector<Array> none(out.size());
  if (!t[0].defined()) return {out, none};
  if (p.compute_uv && p.full_matrices && m != n)
    value_error(kSvdOp,
                "expected full_matrices = false where it is differentiated, got {}; the columns "
                "beyond the rank have no derivative",
                describe(x[0].type()));
  std::vector<Array> thin = out;
  if (!p.compute_uv) thin = bind_op(svd_op, SvdParams{false, true, p.algorithm}, std::vector{x[0]});
  const Array &s = thin[0], &u = thin[1], &vh = thin[2], &da = t[0];
  const Array uh = adjoint(u), v = adjoint(vh);
  const Array ds = matmul(matmul(uh, da), v);
  none[0] = real_part(diagonal_of(ds));
  if (!p.compute_uv) return {out, none};

  const Shape& square = ds.shape();
  const int64_t k = square.back();
  const Array rows = as_rows(s, square), cols = as_columns(s, square), one = identity_like(rows, k);
  const Array f = in_dtype_of(1 / ((rows + cols) * (rows - cols) + one) - one, da);
  const Array s_row = in_dtype_of(rows, da), s_col = in_dtype_of(cols, da);
  const Array right = s_row * ds, left = s_col * ds;
  const Array zeros = lax::convert_element_type(s == 0, s.dtype());
  const Array inverse = in_dtype_of(diagonal_matrix(1 / (s + zeros) - zeros), da);
  const Array turn = (ds - adjoint(ds)) * inverse * 0.5;
  Array du = matmul(u, f * (right + adjoint(right)) + turn);
  Array dv = matmul(v, f * (left + adjoint(left)));
  if (m > n) {
    const Array along = matmul(da, v);
    du = du + (along - matmul(u, matmul(uh, along))) / in_dtype_of(as_rows(s, along.shape()), da);
  }
  if (n > m) {
    const Array along = matmul(adjoint(da), u);
    dv = dv + (along - matmul(v, matmul(vh, along))) / in_dtype_of(as_rows(s, along.shape()), da);
  }
  return {out, {none[0], du, adjoint(dv), Array()}};
}

std::vector<Sample> svd_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (const SvdParams& p : {SvdParams{true, true}, SvdParams{false, true},
                               SvdParams{false, false}, SvdParams{false, true, SvdAlgorithm::kQr}})
      for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 5}, Shape{4, 2, 5, 3}})
        out.push_back({.operands = {{dtype, shape}}, .params = p});
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{0, 2, 2}})
    for (bool full : {true, false})
      out.push_back({.operands = {{float32, shape}}, .params = SvdParams{full, true}});
  return out;
}

}  // namespace

const OpDef& svd_op = define<SvdParams>({
    .name = "svd",
    .dialect = "tessera",
    .attributes = {"full_matrices", "compute_uv", "algorithm"},
    .infer = infer_svd,
    .evaluate = evaluate_call<infer_svd, svd_call, SvdParams>,
    .factors = whole_matrices<SvdParams>,
    .lower = Library{LibraryKind::kCall, svd_call},
    .flops = svd_flops,
    .jvp = {jvp_svd},
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const SvdParams& p) {
      return batch_matrices(svd_op, p, x, dims);
    }},
    .samples = svd_samples,
});

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;

Svd svd(const Array& x, bool full_matrices, SvdAlgorithm algorithm) {
  SourceScope source("svd");
  const std::vector<Array> out =
      bind_op(svd_op, SvdParams{full_matrices, true, algorithm}, std::vector{x});
  auto checked = [&](const Array& a) { return factor::nan_where_failed(a, out[3]); };
  return {checked(out[1]), checked(out[0]), checked(out[2])};
}

Array svdvals(const Array& x) {
  SourceScope source("svdvals");
  const std::vector<Array> out = bind_op(svd_op, SvdParams{false, false}, std::vector{x});
  return factor::nan_where_failed(out[0], out[1]);
}

}  // namespace tessera::lax::linalg
