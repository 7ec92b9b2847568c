#include "tessera/ops/factor/schur.h"

#include <algorithm>

#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"

namespace tessera::ops {
namespace {

using namespace factor;

double schur_operations(const Type& x, double factor) {
  const auto n = static_cast<double>(rows_of(x));
  return factor * n * n * n;
}

// --- schur ---

std::vector<Type> infer_schur(std::span<const Type> operands, const SchurParams& p) {
  expect_operands("schur", operands, 1);
  const Type& x = operands[0];
  expect_square("schur", x);
  const DType dtype = itemsize(real_dtype(x.dtype)) == 8 ? complex128 : complex64;
  std::vector<Type> out(p.vectors ? 2 : 1, result_type(operands, x.dtype, x.shape));
  out.push_back(result_type(operands, dtype, batch_with(x, {rows_of(x)})));
  out.push_back(result_type(operands, int32, batch_with(x, {})));
  return out;
}

HostCall schur_call(const OpParams& params, std::span<const Type> operands,
                    std::span<const Type> results) {
  const bool vectors = params.as<SchurParams>().vectors;
  const int64_t n = rows_of(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    return over_batch(
        operands, results, members_of(operands[0]), schur_operations(operands[0], 25),
        [=](const void* const* in, void* const* out) {
          const Workspace<T> a(n * n), q(vectors ? n * n : 1);
          transpose_matrix(static_cast<const T*>(in[0]), n, n, a.data());
          if (!lapack::all_finite(a.data(), n * n)) {
            lapack::fill_nan(static_cast<T*>(out[0]), n * n);
            if (vectors) lapack::fill_nan(static_cast<T*>(out[1]), n * n);
            lapack::fill_nan(static_cast<std::complex<lapack::Real<T>>*>(out[1 + vectors]), n);
            *static_cast<int32_t*>(out[2 + vectors]) = lapack::kNotFinite;
            return;
          }
          *static_cast<int32_t*>(out[2 + vectors]) =
              lapack::gees(vectors, static_cast<int>(n), a.data(),
                           static_cast<std::complex<lapack::Real<T>>*>(out[1 + vectors]), q.data());
          transpose_matrix(a.data(), n, n, static_cast<T*>(out[0]));
          if (vectors) transpose_matrix(q.data(), n, n, static_cast<T*>(out[1]));
        });
  });
}

// --- hessenberg ---

std::vector<Type> infer_hessenberg(std::span<const Type> operands, const NoParams&) {
  expect_operands("hessenberg", operands, 1);
  const Type& x = operands[0];
  expect_square("hessenberg", x);
  if (rows_of(x) == 0)
    shape_error("hessenberg", "expected matrices of a row or more, got {}", describe(x));
  return {result_type(operands, x.dtype, x.shape),
          result_type(operands, x.dtype, batch_with(x, {rows_of(x) - 1})),
          result_type(operands, int32, batch_with(x, {}))};
}

HostCall hessenberg_call(const OpParams&, std::span<const Type> operands,
                         std::span<const Type> results) {
  const int64_t n = rows_of(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    return over_batch(operands, results, members_of(operands[0]),
                      schur_operations(operands[0], 3.3),
                      [=](const void* const* in, void* const* out) {
                        const Workspace<T> a(n * n), taus(n);
                        transpose_matrix(static_cast<const T*>(in[0]), n, n, a.data());
                        *static_cast<int32_t*>(out[2]) =
                            lapack::gehrd(static_cast<int>(n), a.data(), taus.data());
                        transpose_matrix(a.data(), n, n, static_cast<T*>(out[0]));
                        std::copy_n(taus.data(), n - 1, static_cast<T*>(out[1]));
                      });
  });
}

std::vector<Sample> square_samples(const std::vector<OpParams>& params) {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (const OpParams& p : params)
      for (const Shape& shape : {Shape{4, 4}, Shape{4, 2, 3, 3}, Shape{1, 1}})
        out.push_back({.operands = {{dtype, shape}}, .params = p});
  return out;
}

}  // namespace

const OpDef& schur_op = define<SchurParams>({
    .name = "schur",
    .dialect = "tessera",
    .attributes = {"vectors"},
    .infer = infer_schur,
    .evaluate = evaluate_call<infer_schur, schur_call, SchurParams>,
    .factors = whole_matrices<SchurParams>,
    .lower = Library{LibraryKind::kCall, schur_call},
    .flops =
        [](std::span<const Type> x, std::span<const Type>, const SchurParams&) {
          return schur_operations(x[0], 25) * static_cast<double>(members_of(x[0]));
        },
    .jvp = absent("the Schur form has no derivative rule, as in JAX"),
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const SchurParams& p) {
      return batch_matrices(schur_op, p, x, dims);
    }},
    .samples =
        [] {
          return square_samples({OpParams(SchurParams{true}), OpParams(SchurParams{false})});
        },
});

const OpDef& hessenberg_op = define<NoParams>({
    .name = "hessenberg",
    .dialect = "tessera",
    .infer = infer_hessenberg,
    .evaluate = evaluate_call<infer_hessenberg, hessenberg_call, NoParams>,
    .factors = whole_matrices<NoParams>,
    .lower = Library{LibraryKind::kCall, hessenberg_call},
    .flops =
        [](std::span<const Type> x, std::span<const Type>, const NoParams&) {
          return schur_operations(x[0], 3.3) * static_cast<double>(members_of(x[0]));
        },
    .jvp = absent("the Hessenberg form has no derivative rule, as in JAX"),
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_matrices(hessenberg_op, p, x, dims);
    }},
    .samples = [] { return square_samples({OpParams(NoParams{})}); },
});

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;

Schur schur(const Array& x, bool vectors) {
  SourceScope source("schur");
  const std::vector<Array> out = bind_op(schur_op, SchurParams{vectors}, std::vector{x});
  auto checked = [&](size_t r) { return factor::nan_where_failed(out[r], out.back()); };
  return {checked(0), vectors ? checked(1) : Array()};
}

Hessenberg hessenberg(const Array& x) {
  SourceScope source("hessenberg");
  const std::vector<Array> out = bind_op(hessenberg_op, NoParams{}, std::vector{x});
  return {factor::nan_where_failed(out[0], out[2]), factor::nan_where_failed(out[1], out[2])};
}

}  // namespace tessera::lax::linalg
