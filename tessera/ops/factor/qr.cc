#include "tessera/ops/factor/qr.h"

#include <algorithm>
#include <numeric>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/factor/large_matrix.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/qr_tangents.h"
#include "tessera/ops/factor/small_qr.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/structural/concatenate.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;

constexpr std::string_view kQrOp = "qr";

std::vector<Type> infer_qr(std::span<const Type> operands, const QrParams& p) {
  expect_operands(kQrOp, operands, 1);
  const Type& x = operands[0];
  expect_matrix(kQrOp, x);
  const int64_t m = rows_of(x), n = cols_of(x), k = p.full_matrices ? m : std::min(m, n);
  std::vector<Type> out{result_type(operands, x.dtype, batch_with(x, {m, k})),
                        result_type(operands, x.dtype, batch_with(x, {k, n}))};
  if (p.pivoting) out.push_back(result_type(operands, int32, batch_with(x, {n})));
  return out;
}

double qr_operations(const Type& x) {
  const int64_t m = rows_of(x), n = cols_of(x);
  return 4 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n));
}

// Factors one matrix: geqrf or geqp3 compute r and reflectors, from which q is computed.
template <class T>
void factorize(const QrParams& p, int64_t m, int64_t n, const T* x, T* q, T* r, int32_t* pivots) {
  const int64_t small = std::min(m, n), k = p.full_matrices ? m : small;
  const int im = static_cast<int>(m), in = static_cast<int>(n), is = static_cast<int>(small),
            ik = static_cast<int>(k);
  const Workspace<T> a(m * std::max(n, k)), taus(small), rows(m * n);
  const bool large = !p.pivoting && is_large(m, n);
  const Workspace<T> columns(large ? m * k : 1);
  transpose_matrix(x, m, n, a.data());
  if (large) {
    large_qr(m, n, a.data(), k, columns.data());
  } else if (p.pivoting) {
    std::fill_n(pivots, n, 0);
    lapack::geqp3(im, in, a.data(), pivots, taus.data());
    for (int64_t j = 0; j < n; ++j) --pivots[j];
  } else {
    lapack::geqrf(im, in, a.data(), taus.data());
  }
  transpose_matrix(a.data(), n, m, rows.data());
  for (int64_t i = 0; i < k; ++i) {
    const int64_t zeros = std::min(i, n);
    std::fill_n(r + i * n, zeros, T{});
    std::copy_n(rows.data() + i * n + zeros, n - zeros, r + i * n + zeros);
  }
  if (!large) lapack::orgqr(im, ik, is, a.data(), taus.data());
  transpose_matrix(large ? columns.data() : a.data(), k, m, q);
}

HostCall qr_call(const OpParams& params, std::span<const Type> operands,
                 std::span<const Type> results) {
  const auto p = params.as<QrParams>();
  const int64_t m = rows_of(operands[0]), n = cols_of(operands[0]),
                k = p.full_matrices ? m : std::min(m, n);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!lapack::is_complex<T>)
      if (!p.pivoting && is_small_qr(m, n))
        return over_members(operands, results, members_of(operands[0]), qr_operations(operands[0]),
                            [=](const void* const* in, void* const* out, int64_t count) {
                              small_qr<T>({.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = static_cast<const T*>(in[0]),
                                           .q = static_cast<T*>(out[0]),
                                           .r = static_cast<T*>(out[1])},
                                          count);
                            });
    return over_batch(
        operands, results, members_of(operands[0]), qr_operations(operands[0]),
        [=](const void* const* in, void* const* out) {
          factorize(p, m, n, static_cast<const T*>(in[0]), static_cast<T*>(out[0]),
                    static_cast<T*>(out[1]), p.pivoting ? static_cast<int32_t*>(out[2]) : nullptr);
        },
        p.pivoting ? LargeMember::kBlasThreads : LargeMember::kOwnTasks);
  });
}

double qr_flops(std::span<const Type> operands, std::span<const Type>, const QrParams&) {
  return qr_operations(operands[0]) * static_cast<double>(members_of(operands[0]));
}

// Returns the tangent of the columns of q beyond n, as in JAX (arXiv:2409.13374, equations 32 and
// 33).
Array full_tangent(const Array& q, const Array& dq, int64_t m, int64_t n) {
  const Array thin = block_of(q, 0, m, 0, n), top = block_of(q, 0, n, 0, n),
              bottom = block_of(q, n, m, 0, n), rest = block_of(q, 0, m, n, m),
              dtop = block_of(dq, 0, n, 0, n), dbottom = block_of(dq, n, m, 0, n);
  const lax::linalg::Lu f = lax::linalg::lu(top - identity_like(top, n));
  const Array zh = lax::linalg::lu_solve(f.lu, f.permutation, adjoint(bottom), 2);
  const Array z = adjoint(zh);
  return matmul(dq, zh) - matmul(thin + matmul(rest, z), adjoint(dbottom - matmul(z, dtop)));
}

JvpResult jvp_qr(std::span<const Array> x, std::span<const Array> t, const QrParams& p) {
  std::vector<Array> out = bind_op(qr_op, p, std::vector{x[0]});
  if (!t[0].defined() || x[0].size() == 0) return {out, std::vector<Array>(out.size())};
  const int64_t m = rows_of(x[0].type()), n = cols_of(x[0].type()), last = x[0].ndim() - 1;
  const Array &q = out[0], &r = out[1];
  auto ordered = [&](const Array& a) {
    return p.pivoting ? lax::take_along(a, as_rows(out[2], a.shape()), last) : a;
  };
  const Array a = ordered(x[0]), dx = ordered(t[0]);
  QrTangents d;
  if (p.full_matrices && m > n) {
    d = qr_tangents(block_of(q, 0, m, 0, n), block_of(r, 0, n, 0, n), a, dx);
    d.q = lax::concatenate(std::vector{d.q, full_tangent(q, d.q, m, n)}, last);
    const Array zeros = lax::zeros_like(block_of(r, n, m, 0, n).type());
    d.r = lax::concatenate(std::vector{d.r, zeros}, last - 1);
  } else {
    d = qr_tangents(q, r, a, dx);
  }
  std::vector<Array> tangents{d.q, d.r};
  if (p.pivoting) tangents.emplace_back();
  return {out, tangents};
}

std::vector<Sample> qr_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (const QrParams& p : {QrParams{true, false}, QrParams{false, false}, QrParams{false, true}})
      for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 5}, Shape{4, 2, 5, 3}})
        if (!p.pivoting || shape.rank() != 3)
          out.push_back({.operands = {{dtype, shape}}, .params = p});
  out.push_back({.operands = {{float32, {0, 3}}}, .params = QrParams{false, false}});
  out.push_back({.operands = {{float32, {3, 0}}}, .params = QrParams{true, false}});
  return out;
}

}  // namespace

const OpDef& qr_op = define<QrParams>({
    .name = "qr",
    .dialect = "tessera",
    .attributes = {"full_matrices", "pivoting"},
    .infer = infer_qr,
    .evaluate = evaluate_call<infer_qr, qr_call, QrParams>,
    .factors = whole_matrices<QrParams>,
    .lower = Library{LibraryKind::kCall, qr_call},
    .flops = qr_flops,
    .jvp = {jvp_qr},
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const QrParams& p) {
      return batch_matrices(qr_op, p, x, dims);
    }},
    .samples = qr_samples,
});

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;

Qr qr(const Array& a, bool full_matrices, bool pivoting) {
  SourceScope source("qr");
  const std::vector<Array> out = bind_op(qr_op, QrParams{full_matrices, pivoting}, std::vector{a});
  return {out[0], out[1], pivoting ? out[2] : Array()};
}

}  // namespace tessera::lax::linalg
