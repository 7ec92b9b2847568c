#include "tessera/ops/factor/eig.h"

#include <algorithm>
#include <cmath>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;

constexpr std::string_view kEigOp = "eig";

DType complex_of(DType dtype) { return itemsize(real_dtype(dtype)) == 8 ? complex128 : complex64; }

std::vector<Type> infer_eig(std::span<const Type> operands, const EigParams& p) {
  expect_operands(kEigOp, operands, 1);
  const Type& x = operands[0];
  expect_square(kEigOp, x);
  const DType dtype = complex_of(x.dtype);
  std::vector<Type> out{result_type(operands, dtype, batch_with(x, {rows_of(x)}))};
  for (int i = 0; i < p.left + p.right; ++i) out.push_back(result_type(operands, dtype, x.shape));
  out.push_back(result_type(operands, int32, batch_with(x, {})));
  return out;
}

double eig_operations(const Type& x) {
  const auto n = static_cast<double>(rows_of(x));
  return 25 * n * n * n;
}

HostCall eig_call(const OpParams& params, std::span<const Type> operands,
                  std::span<const Type> results) {
  const auto p = params.as<EigParams>();
  const int64_t n = rows_of(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    using Complex = std::complex<lapack::Real<T>>;
    return over_batch(operands, results, members_of(operands[0]), eig_operations(operands[0]),
                      [=](const void* const* in, void* const* out) {
                        const Workspace<T> a(n * n);
                        const Workspace<Complex> left(p.left ? n * n : 1),
                            right(p.right ? n * n : 1);
                        auto* w = static_cast<Complex*>(out[0]);
                        auto* info = static_cast<int32_t*>(out[1 + p.left + p.right]);
                        transpose_matrix(static_cast<const T*>(in[0]), n, n, a.data());
                        *info = lapack::kNotFinite;
                        if (lapack::all_finite(a.data(), n * n)) {
                          *info = lapack::geev(p.left, p.right, static_cast<int>(n), a.data(), w,
                                               left.data(), right.data());
                        } else {
                          std::fill_n(w, n, Complex(NAN, NAN));
                        }
                        auto store = [&](const Workspace<Complex>& v, void* to) {
                          auto* vectors = static_cast<Complex*>(to);
                          if (*info == 0)
                            transpose_matrix(v.data(), n, n, vectors);
                          else
                            std::fill_n(vectors, n * n, Complex(NAN, NAN));
                        };
                        if (p.left) store(left, out[1]);
                        if (p.right) store(right, out[1 + p.left]);
                      });
  });
}

double eig_flops(std::span<const Type> operands, std::span<const Type>, const EigParams&) {
  return eig_operations(operands[0]) * static_cast<double>(members_of(operands[0]));
}

struct Tangents {
  Array w, v;
};

// The derivative for distinct eigenvalues, by perturbation theory, with the norm and phase of
// LAPACK's eigenvectors as in jax.lax.linalg.eig: a change keeps the norm of each eigenvector 1 and
// its largest element real.
Tangents vector_tangents(const Array& w, const Array& v, const Array& da) {
  const Shape& shape = v.shape();
  const int64_t n = shape.back(), rows = v.ndim() - 2;
  const Array one = identity_like(v, n);
  const Array f = 1 / (one + as_rows(w, shape) - as_columns(w, shape)) - one;
  const Array inner = matmul(lax::linalg::solve(v, da), v);
  const Array u = matmul(v, f * inner);
  const Array largest = lax::argmax(lax::abs(v), rows);
  const Array mask = in_dtype_of(lax::iota(int32, shape, rows) == as_rows(largest, shape), v);
  const Array along = lax::real(lax::reduce_sum(lax::conj(v) * u, {rows}));
  const Array turn =
      lax::imag(lax::reduce_sum(mask * u, {rows})) / lax::real(lax::reduce_sum(mask * v, {rows}));
  const Array c = lax::complex(-along, -turn);
  return {diagonal_of(inner), u + v * as_rows(c, shape)};
}

JvpResult jvp_eig(std::span<const Array> x, std::span<const Array> t, const EigParams& p) {
  std::vector<Array> out = bind_op(eig_op, p, std::vector{x[0]});
  std::vector<Array> tangents(out.size());
  if (!t[0].defined() || x[0].shape().back() == 0) return {out, tangents};
  const Array da = lax::convert_element_type(t[0], out[0].dtype());
  if (!p.left && !p.right) {
    const Array v = bind_op(eig_op, EigParams{false, true}, std::vector{x[0]})[1];
    tangents[0] = diagonal_of(matmul(lax::linalg::solve(v, da), v));
  }
  if (p.left) {
    const Tangents left = vector_tangents(lax::conj(out[0]), out[1], adjoint(da));
    tangents[0] = lax::conj(left.w);
    tangents[1] = left.v;
  }
  if (p.right) {
    const Tangents right = vector_tangents(out[0], out[1 + p.left], da);
    tangents[0] = right.w;
    tangents[1 + p.left] = right.v;
  }
  return {out, tangents};
}

std::vector<Sample> eig_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (const EigParams& p : {EigParams{true, true}, EigParams{false, true},
                               EigParams{true, false}, EigParams{false, false}})
      for (const Shape& shape : {Shape{4, 4}, Shape{4, 2, 3, 3}})
        out.push_back({.operands = {{dtype, shape}}, .params = p});
  out.push_back({.operands = {{float32, {2, 0, 0}}}, .params = EigParams{}});
  return out;
}

}  // namespace

const OpDef& eig_op = define<EigParams>({
    .name = "eig",
    .dialect = "tessera",
    .attributes = {"left", "right"},
    .infer = infer_eig,
    .evaluate = evaluate_call<infer_eig, eig_call, EigParams>,
    .factors = whole_matrices<EigParams>,
    .lower = Library{LibraryKind::kCall, eig_call},
    .flops = eig_flops,
    .jvp = {jvp_eig},
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const EigParams& p) {
      return batch_matrices(eig_op, p, x, dims);
    }},
    .samples = eig_samples,
});

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;

Eig eig(const Array& x, bool left, bool right) {
  SourceScope source("eig");
  const std::vector<Array> out = bind_op(eig_op, EigParams{left, right}, std::vector{x});
  auto checked = [&](size_t r) { return factor::nan_where_failed(out[r], out.back()); };
  return {checked(0), left ? checked(1) : Array(), right ? checked(1 + left) : Array()};
}

}  // namespace tessera::lax::linalg
