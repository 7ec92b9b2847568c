#include "tessera/ops/factor/reflectors.h"

#include <algorithm>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/reflector_tangents.h"
#include "tessera/ops/factor/small_qr.h"
#include "tessera/ops/indexing/gather.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace factor;

constexpr const char* kNoRule =
    "a product with reflectors has no derivative rule, as in JAX; multiply by "
    "lax::linalg::householder_product, which has";

int64_t taus_of(const Type& x) { return std::min(rows_of(x), cols_of(x)); }

double qr_operations(const Type& x) {
  return 2 * static_cast<double>(rows_of(x) * cols_of(x)) * static_cast<double>(taus_of(x));
}

template <class P>
double reflector_flops(std::span<const Type> operands, std::span<const Type>, const P&) {
  return qr_operations(operands[0]) * static_cast<double>(members_of(operands[0]));
}

// --- geqrf, geqp3 ---

std::vector<Type> infer_geqrf(std::span<const Type> operands, const NoParams&) {
  expect_operands("geqrf", operands, 1);
  const Type& x = operands[0];
  expect_matrix("geqrf", x);
  return {result_type(operands, x.dtype, x.shape),
          result_type(operands, x.dtype, batch_with(x, {taus_of(x)}))};
}

HostCall geqrf_call(const OpParams&, std::span<const Type> operands,
                    std::span<const Type> results) {
  const int64_t m = rows_of(operands[0]), n = cols_of(operands[0]);
  const double operations = qr_operations(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!lapack::is_complex<T>)
      if (is_small_qr(m, n))
        return over_members(operands, results, members_of(operands[0]), operations,
                            [=](const void* const* in, void* const* out, int64_t count) {
                              small_geqrf<T>({.m = m,
                                              .n = n,
                                              .a = static_cast<const T*>(in[0]),
                                              .packed = static_cast<T*>(out[0]),
                                              .taus = static_cast<T*>(out[1])},
                                             count);
                            });
    return over_batch(operands, results, members_of(operands[0]), operations,
                      [=](const void* const* in, void* const* out) {
                        const Workspace<T> a(m * n);
                        transpose_matrix(static_cast<const T*>(in[0]), m, n, a.data());
                        lapack::geqrf(static_cast<int>(m), static_cast<int>(n), a.data(),
                                      static_cast<T*>(out[1]));
                        transpose_matrix(a.data(), n, m, static_cast<T*>(out[0]));
                      });
  });
}

std::vector<Type> infer_geqp3(std::span<const Type> operands, const NoParams&) {
  expect_operands("geqp3", operands, 2);
  const Type &x = operands[0], &pivots = operands[1];
  expect_matrix("geqp3", x);
  if (pivots.dtype != int32)
    type_error("geqp3", "expected int32 pivots, got {}; convert them", describe(pivots));
  expect_shape("geqp3", x, pivots, {cols_of(x)});
  return {result_type(operands, x.dtype, x.shape), result_type(operands, int32, pivots.shape),
          result_type(operands, x.dtype, batch_with(x, {taus_of(x)}))};
}

HostCall geqp3_call(const OpParams&, std::span<const Type> operands,
                    std::span<const Type> results) {
  const int64_t m = rows_of(operands[0]), n = cols_of(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    return over_batch(operands, results, members_of(operands[0]), 2 * qr_operations(operands[0]),
                      [=](const void* const* in, void* const* out) {
                        const Workspace<T> a(m * n);
                        transpose_matrix(static_cast<const T*>(in[0]), m, n, a.data());
                        auto* pivots = static_cast<int32_t*>(out[1]);
                        std::copy_n(static_cast<const int32_t*>(in[1]), n, pivots);
                        lapack::geqp3(static_cast<int>(m), static_cast<int>(n), a.data(), pivots,
                                      static_cast<T*>(out[2]));
                        transpose_matrix(a.data(), n, m, static_cast<T*>(out[0]));
                      });
  });
}

// --- householder_product, ormqr ---

std::vector<Type> infer_product(std::span<const Type> operands, const NoParams&) {
  constexpr std::string_view kOp = "householder_product";
  expect_operands(kOp, operands, 2);
  const Type &x = operands[0], &taus = operands[1];
  expect_matrix(kOp, x);
  if (taus.dtype != x.dtype)
    type_error(kOp, "expected operands of one dtype, got {} and {}; convert one", describe(x),
               describe(taus));
  const int64_t count = taus.rank() > 0 ? taus.shape.back() : 0;
  expect_shape(kOp, x, taus, {count});
  if (rows_of(x) < cols_of(x) || count > cols_of(x))
    shape_error(kOp, "expected as many rows as columns or more, and no more taus, got {} and {}",
                describe(x), describe(taus));
  return {result_type(operands, x.dtype, x.shape)};
}

HostCall product_call(const OpParams&, std::span<const Type> operands,
                      std::span<const Type> results) {
  const int64_t m = rows_of(operands[0]), n = cols_of(operands[0]), k = operands[1].shape.back();
  const double operations = qr_operations(operands[0]);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!lapack::is_complex<T>)
      if (is_small_qr(m, n) && k > 0)
        return over_members(operands, results, members_of(operands[0]), operations,
                            [=](const void* const* in, void* const* out, int64_t count) {
                              small_product<T>({.m = m,
                                                .n = n,
                                                .count = k,
                                                .a = static_cast<const T*>(in[0]),
                                                .taus = static_cast<const T*>(in[1]),
                                                .q = static_cast<T*>(out[0])},
                                               count);
                            });
    return over_batch(operands, results, members_of(operands[0]), operations,
                      [=](const void* const* in, void* const* out) {
                        const Workspace<T> a(m * n);
                        transpose_matrix(static_cast<const T*>(in[0]), m, n, a.data());
                        lapack::orgqr(static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
                                      a.data(), static_cast<const T*>(in[1]));
                        transpose_matrix(a.data(), n, m, static_cast<T*>(out[0]));
                      });
  });
}

std::vector<Type> infer_ormqr(std::span<const Type> operands, const OrmqrParams& p) {
  constexpr std::string_view kOp = "ormqr";
  expect_operands(kOp, operands, 3);
  const Type &x = operands[0], &taus = operands[1], &c = operands[2];
  expect_matrix(kOp, x);
  expect_matrix(kOp, c);
  expect_same_dtype(kOp, operands);
  const int64_t count = taus.rank() > 0 ? taus.shape.back() : 0;
  expect_shape(kOp, x, taus, {count});
  expect_shape(kOp, x, c, p.left ? Dims{rows_of(x), cols_of(c)} : Dims{rows_of(c), rows_of(x)});
  if (count > std::min(rows_of(x), cols_of(x)))
    shape_error(kOp, "expected no more taus than rows and columns, got {} and {}", describe(x),
                describe(taus));
  return {result_type(operands, c.dtype, c.shape)};
}

HostCall ormqr_call(const OpParams& params, std::span<const Type> operands,
                    std::span<const Type> results) {
  const auto p = params.as<OrmqrParams>();
  const int64_t m = rows_of(operands[0]), n = cols_of(operands[0]), k = operands[1].shape.back(),
                rows = rows_of(operands[2]), cols = cols_of(operands[2]);
  const double operations = 4 * static_cast<double>(rows * cols) * static_cast<double>(k);
  return visit_matrix_dtype(operands[0].dtype, [&]<class T>(TypeTag<T>) {
    return over_batch(operands, results, members_of(operands[0]), operations,
                      [=](const void* const* in, void* const* out) {
                        const Workspace<T> a(m * n), c(rows * cols);
                        transpose_matrix(static_cast<const T*>(in[0]), m, n, a.data());
                        transpose_matrix(static_cast<const T*>(in[2]), rows, cols, c.data());
                        lapack::ormqr(p.left, p.transpose, static_cast<int>(rows),
                                      static_cast<int>(cols), static_cast<int>(k), a.data(),
                                      static_cast<const T*>(in[1]), c.data());
                        transpose_matrix(c.data(), cols, rows, static_cast<T*>(out[0]));
                      });
  });
}

// Applies the reflectors one after the other, by their definition.
template <class T>
void naive_reflect(const OrmqrParams& p, int64_t m, int64_t n, int64_t k, int64_t rows,
                   int64_t cols, const T* a, const T* taus, T* c) {
  auto conj = [](T x) {
    if constexpr (lapack::is_complex<T>) return std::conj(x);
    return x;
  };
  for (int64_t r = 0; r < k; ++r) {
    const int64_t i = p.left == p.transpose ? r : k - 1 - r;
    const T tau = p.transpose ? conj(taus[i]) : taus[i];
    std::vector<T> v(static_cast<size_t>(m));
    for (int64_t j = i; j < m; ++j) v[j] = j == i ? T{1} : a[j * n + i];
    const int64_t lines = p.left ? cols : rows, step = p.left ? cols : 1;
    for (int64_t line = 0; line < lines; ++line) {
      T* x = c + line * (p.left ? 1 : cols);
      NaiveSum<T> sum{};
      for (int64_t j = i; j < m; ++j)
        sum += NaiveSum<T>(p.left ? conj(v[j]) : v[j]) * NaiveSum<T>(x[j * step]);
      for (int64_t j = i; j < m; ++j)
        x[j * step] -= tau * static_cast<T>(sum) * (p.left ? v[j] : conj(v[j]));
    }
  }
}

std::vector<Literal> evaluate_ormqr(std::span<const Literal> operands, const OrmqrParams& p) {
  const Type x{.dtype = operands[0].dtype(), .shape = operands[0].shape()},
      y{.dtype = x.dtype, .shape = operands[2].shape()};
  Literal out = operands[2];
  if (out.elements() == 0) return {out};
  const int64_t m = rows_of(x), n = cols_of(x), k = operands[1].shape().back();
  visit_matrix_dtype(x.dtype, [&]<class T>(TypeTag<T>) {
    for (int64_t i = 0; i < members_of(x); ++i)
      naive_reflect(p, m, n, k, rows_of(y), cols_of(y), operands[0].data<T>() + i * m * n,
                    operands[1].data<T>() + i * k,
                    out.mutable_data<T>() + i * rows_of(y) * cols_of(y));
  });
  return {out};
}

// The product of reflectors is computed by applying them to the identity.
std::vector<Literal> evaluate_product(std::span<const Literal> operands, const NoParams&) {
  const Literal& x = operands[0];
  Literal identity(x.dtype(), x.shape());
  const int64_t n = x.shape().back(), m = x.shape()[x.shape().rank() - 2];
  visit_matrix_dtype(x.dtype(), [&]<class T>(TypeTag<T>) {
    for (int64_t i = 0; i < x.elements(); ++i)
      identity.mutable_data<T>()[i] = i / n % m == i % n ? T{1} : T{};
  });
  return evaluate_ormqr(std::vector{x, operands[1], identity}, OrmqrParams{});
}

// --- Samples ---

std::vector<Sample> matrix_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 5}, Shape{4, 2, 5, 3}})
      out.push_back({.operands = {{dtype, shape}}, .params = NoParams{}});
  out.push_back({.operands = {{float32, {0, 3}}}, .params = NoParams{}});
  return out;
}

std::vector<Sample> geqp3_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128})
    for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 5}, Shape{4, 2, 5, 3}}) {
      Shape pivots = shape;
      pivots.erase(pivots.end() - 2);
      out.push_back({.operands = {{dtype, shape}, {int32, pivots}}, .params = NoParams{}});
    }
  return out;
}

std::vector<Sample> product_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, complex64, complex128}) {
    out.push_back({.operands = {{dtype, {4, 4}}, {dtype, {4}}}, .params = NoParams{}});
    out.push_back({.operands = {{dtype, {4, 2, 5, 3}}, {dtype, {4, 2, 2}}}, .params = NoParams{}});
  }
  out.push_back({.operands = {{float32, {3, 0}}, {float32, {0}}}, .params = NoParams{}});
  return out;
}

// --- Derivatives ---

JvpResult jvp_geqrf(std::span<const Array> x, std::span<const Array> t, const NoParams& p) {
  const std::vector<Array> out = bind_op(geqrf_op, p, x);
  if (!t[0].defined() || x[0].size() == 0) return {out, std::vector<Array>(2)};
  const ReflectorTangents d = reflector_tangents(out[0], out[1], x[0], t[0]);
  return {out, {d.packed, d.taus}};
}

// The derivative of geqp3 is that of geqrf of the columns in the order that was chosen.
JvpResult jvp_geqp3(std::span<const Array> x, std::span<const Array> t, const NoParams& p) {
  const std::vector<Array> out = bind_op(geqp3_op, p, x);
  if (!t[0].defined() || x[0].size() == 0) return {out, std::vector<Array>(3)};
  auto ordered = [&](const Array& a) {
    return lax::take_along(a, as_rows(out[1] - 1, a.shape()), a.ndim() - 1);
  };
  const ReflectorTangents d = reflector_tangents(out[0], out[2], ordered(x[0]), ordered(t[0]));
  return {out, {d.packed, Array(), d.taus}};
}

JvpResult jvp_product(std::span<const Array> x, std::span<const Array> t, const NoParams& p) {
  const Array out = bind_op1(householder_product_op, p, {x[0], x[1]});
  if ((!t[0].defined() && !t[1].defined()) || out.size() == 0 || x[1].size() == 0)
    return {{out}, {Array()}};
  return {{out}, {product_tangent(x[0], x[1], t[0], t[1])}};
}

std::vector<Sample> ormqr_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, complex128})
    for (bool transpose : {false, true}) {
      out.push_back({.operands = {{dtype, {2, 4, 3}}, {dtype, {2, 3}}, {dtype, {2, 4, 5}}},
                     .params = OrmqrParams{true, transpose}});
      out.push_back({.operands = {{dtype, {4, 3}}, {dtype, {2}}, {dtype, {5, 4}}},
                     .params = OrmqrParams{false, transpose}});
    }
  return out;
}

}  // namespace

const OpDef& geqrf_op = define<NoParams>({
    .name = "geqrf",
    .dialect = "tessera",
    .infer = infer_geqrf,
    .evaluate = evaluate_call<infer_geqrf, geqrf_call, NoParams>,
    .factors = whole_matrices<NoParams>,
    .lower = Library{LibraryKind::kCall, geqrf_call},
    .flops = reflector_flops<NoParams>,
    .jvp = {jvp_geqrf},
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_matrices(geqrf_op, p, x, dims);
    }},
    .samples = matrix_samples,
});

const OpDef& geqp3_op = define<NoParams>({
    .name = "geqp3",
    .dialect = "tessera",
    .infer = infer_geqp3,
    .evaluate = evaluate_call<infer_geqp3, geqp3_call, NoParams>,
    .factors = whole_matrices<NoParams>,
    .lower = Library{LibraryKind::kCall, geqp3_call},
    .flops = reflector_flops<NoParams>,
    .jvp = {jvp_geqp3},
    .transpose = absent("a factorisation is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_matrices(geqp3_op, p, x, dims);
    }},
    .samples = geqp3_samples,
});

const OpDef& householder_product_op = define<NoParams>({
    .name = "householder_product",
    .dialect = "tessera",
    .infer = infer_product,
    .evaluate = evaluate_product,
    .factors = whole_matrices<NoParams>,
    .lower = Library{LibraryKind::kCall, product_call},
    .flops = reflector_flops<NoParams>,
    .jvp = {jvp_product},
    .transpose = absent("a product of reflectors is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_matrices(householder_product_op, p, x, dims);
    }},
    .samples = product_samples,
});

const OpDef& ormqr_op = define<OrmqrParams>({
    .name = "ormqr",
    .dialect = "tessera",
    .attributes = {"left", "transpose"},
    .infer = infer_ormqr,
    .evaluate = evaluate_ormqr,
    .factors = whole_matrices<OrmqrParams>,
    .lower = Library{LibraryKind::kCall, ormqr_call},
    .flops = reflector_flops<OrmqrParams>,
    .jvp = absent(kNoRule),
    .transpose = absent("reflectors have no derivative rule, as in JAX"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const OrmqrParams& p) {
      return batch_matrices(ormqr_op, p, x, dims);
    }},
    .samples = ormqr_samples,
});

}  // namespace tessera::ops

namespace tessera::lax::linalg {

using namespace ops;

std::pair<Array, Array> geqrf(const Array& a) {
  SourceScope source("geqrf");
  const std::vector<Array> out = bind_op(geqrf_op, NoParams{}, std::vector{a});
  return {out[0], out[1]};
}

Array householder_product(const Array& a, const Array& taus) {
  SourceScope source("householder_product");
  return bind_op1(householder_product_op, NoParams{}, {a, taus});
}

Array ormqr(const Array& a, const Array& taus, const Array& c, bool left, bool transpose) {
  SourceScope source("ormqr");
  return bind_op1(ormqr_op, OrmqrParams{left, transpose}, {a, taus, c});
}

}  // namespace tessera::lax::linalg
