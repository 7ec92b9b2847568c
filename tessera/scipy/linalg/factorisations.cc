// lu, qr, eigh, schur, hessenberg and polar.
#include "tessera/compile/control_flow.h"
#include "tessera/scipy/linalg/matrices.h"

namespace tessera::scipy::linalg {

using namespace internal;

namespace {

Arrays lu_parts(const NoParams&, Args x) {
  const auto factors = tessera::lax::linalg::lu(in_floats(x[0]));
  const int64_t m = rows_of(factors.lu), n = columns_of(factors.lu), k = std::min(m, n);
  const Array l = tril(slice_in_dim(factors.lu, 0, k, -1), -1) + eye(m, k, 0, factors.lu.dtype());
  const Array u = slice_in_dim(triu(factors.lu), 0, k, -2);
  // Row permutation[i] of a is row i of l u.
  const Array place = expand_dims(arange(m), 1);
  const Array p =
      astype(equal(expand_dims(factors.permutation, -2), place), real(factors.lu).dtype());
  return {p, l, u};
}

}  // namespace

Lu lu(const Array& a) {
  expect_matrix("lu", a);
  const Arrays out = composite("scipy.linalg.lu", {}, {a}, lu_parts);
  return {out[0], out[1], out[2]};
}
std::pair<Array, Array> lu_permuted(const Array& a) {
  const Lu factors = lu(a);
  return {matmul(factors.p, factors.l), factors.u};
}

Qr qr(const Array& a, QrMode mode) {
  const tessera::linalg::Qr out =
      tessera::linalg::qr(a, mode == QrMode::kFull ? tessera::linalg::QrMode::kComplete
                                                   : tessera::linalg::QrMode::kReduced);
  return {out.q, out.r};
}

std::pair<Array, Array> qr_multiply(const Array& a, const Array& c, Side mode) {
  const char* name = "qr_multiply";
  expect_matrix(name, a);
  const bool left = mode == Side::kLeft, vector = c.ndim() == 1;
  if (c.ndim() == 0) shape_error(name, "expected a vector or matrices c, got a scalar");
  const int64_t wanted = left ? std::min(rows_of(a), columns_of(a)) : rows_of(a);
  const int64_t got = vector ? c.size() : left ? rows_of(c) : columns_of(c);
  if (got != wanted)
    shape_error(name, "expected {} {} of c for a of {}, got {}", wanted, left ? "rows" : "columns",
                describe(a.type()), describe(c.type()));
  const Qr factors = qr(a, QrMode::kEconomic);
  const Array of = vector ? expand_dims(c, left ? 1 : 0) : c;
  const Array out = left ? matmul(factors.q, of) : matmul(of, factors.q);
  return {vector ? squeeze(out, left ? -1 : -2) : out, factors.r};
}

namespace {

struct EighParams {
  int type;
  bool lower;
};

// Returns Hermitian matrices with this triangle of a.
Array hermitian(const Array& a, bool lower) {
  const Array strict = lower ? tril(a, -1) : triu(a, 1);
  const Array diagonal = tril(triu(a));
  const Array on =
      is_complex(a.dtype()) ? lax::complex(real(diagonal), zeros_like(real(diagonal))) : diagonal;
  return strict + adjoint(strict) + on;
}

Array triangular(const Array& l, const Array& b, bool left, bool adjoint_of_l) {
  return tessera::lax::linalg::triangular_solve(
      l, b,
      {.left_side = left, .lower = true, .transpose_a = adjoint_of_l, .conjugate_a = adjoint_of_l});
}

Arrays eigh_of_pair(const EighParams& p, Args x) {
  const Arrays same = promote_dtypes(x, Promotion::kInexact);
  const Arrays both = with_one_batch("eigh", {same[0], same[1]});
  const Array a = hermitian(both[0], p.lower), b = hermitian(both[1], p.lower);
  const Array l = tessera::linalg::cholesky(b);
  // With b = l l^H the eigenvalues are those of l^-1 a l^-H, or of l^H a l.
  const Array c = p.type == 1 ? triangular(l, triangular(l, a, true, false), false, true)
                              : matmul(adjoint(l), matmul(a, l));
  const tessera::linalg::Eigen e = tessera::linalg::eigh(c);
  const Array v =
      p.type == 3 ? matmul(l, e.eigenvectors) : triangular(l, e.eigenvectors, true, true);
  return {e.eigenvalues, v};
}

}  // namespace

Eigh eigh(const Array& a, const EighOptions& o) {
  expect_square("eigh", a);
  if (o.type < 1 || o.type > 3) value_error("eigh", "expected type 1, 2 or 3, got {}", o.type);
  if (!o.b) {
    const tessera::linalg::Eigen e = tessera::linalg::eigh(a, {.lower = o.lower});
    return {e.eigenvalues, e.eigenvectors};
  }
  expect_square("eigh", *o.b);
  if (columns_of(*o.b) != columns_of(a))
    shape_error("eigh", "expected a and b of one extent, got {} and {}", describe(a.type()),
                describe(o.b->type()));
  const Arrays out =
      composite("scipy.linalg.eigh", EighParams{o.type, o.lower}, {a, *o.b}, eigh_of_pair);
  return {out[0], out[1]};
}
Array eigvalsh(const Array& a, const EighOptions& options) { return eigh(a, options).w; }

namespace {

Array tridiagonal_matrix(const char* name, const Array& d, const Array& e) {
  if (d.ndim() != 1 || e.ndim() != 1 || e.size() != std::max<int64_t>(0, d.size() - 1))
    shape_error(name, "expected vectors d of n and e of n - 1 elements, got {} and {}",
                describe(d.type()), describe(e.type()));
  if (d.dtype() != e.dtype() || !is_inexact(d.dtype()))
    type_error(name, "expected floating d and e of one dtype, got {} and {}", describe(d.type()),
               describe(e.type()));
  return composite("scipy.linalg.tridiagonal_matrix", {}, {d, e}, [](const NoParams&, Args x) {
    const Array d = is_complex(x[0].dtype()) ? astype(real(x[0]), x[0].dtype()) : x[0];
    if (d.size() < 2) return diag(d);
    return diag(d) + diag(x[1], 1) + diag(conj(x[1]), -1);
  });
}

void check_range(const char* name, const std::optional<SelectRange>& select, int64_t n) {
  if (select && (select->first < 0 || select->first > select->last || select->last >= n))
    value_error(name, "expected indices 0 <= first <= last < {}, got {} and {}", n, select->first,
                select->last);
}

}  // namespace

Eigh eigh_tridiagonal(const Array& d, const Array& e, const std::optional<SelectRange>& select) {
  const Array a = tridiagonal_matrix("eigh_tridiagonal", d, e);
  check_range("eigh_tridiagonal", select, d.size());
  const Eigh all = eigh(a);
  if (!select) return all;
  return {slice_in_dim(all.w, select->first, select->last + 1),
          slice_in_dim(all.v, select->first, select->last + 1, 1)};
}
Array eigvalsh_tridiagonal(const Array& d, const Array& e,
                           const std::optional<SelectRange>& select) {
  const Array a = tridiagonal_matrix("eigvalsh_tridiagonal", d, e);
  check_range("eigvalsh_tridiagonal", select, d.size());
  const Array w = tessera::linalg::eigvalsh(a);
  return select ? slice_in_dim(w, select->first, select->last + 1) : w;
}

std::pair<Array, Array> schur(const Array& a, SchurOutput output) {
  expect_square("schur", a);
  const Array x = in_floats(a);
  const auto out = tessera::lax::linalg::schur(
      output == SchurOutput::kComplex ? astype(x, complex_kin(x.dtype())) : x);
  return {out.t, out.q};
}

namespace {

// Makes the block of two rows that ends at row m upper triangular, by one rotation.
std::pair<Array, Array> without_block(const Array& t, const Array& z, const Array& m) {
  const auto at = [&](const Array& row, const Array& column) {
    return dynamic_slice(t, {row, column}, {1, 1});
  };
  const Array k = m - 1;
  const Array a = at(k, k), b = at(k, m), c = at(m, k), d = at(m, m);
  // mu is an eigenvalue of the block, minus d.
  const Array half = (a - d) / 2, root = sqrt(half * half + b * c);
  const Array mu = half + root;
  const Array r = sqrt(square(abs(mu)) + square(abs(c)));
  const Array cosine = mu / r, sine = c / r;
  const Array g =
      concatenate({concatenate({conj(cosine), sine}, 1), concatenate({-sine, cosine}, 1)}, 0);
  const Array rows = matmul(g, dynamic_slice_in_dim(t, k, 2, 0));
  const Array turned = dynamic_update_slice_in_dim(t, rows, k, 0);
  const Array columns = matmul(dynamic_slice_in_dim(turned, k, 2, 1), adjoint(g));
  return {
      dynamic_update_slice_in_dim(turned, columns, k, 1),
      dynamic_update_slice_in_dim(z, matmul(dynamic_slice_in_dim(z, k, 2, 1), adjoint(g)), k, 1)};
}

std::pair<Array, Array> complex_schur(const Array& real_t, const Array& real_z) {
  using Pair = std::pair<Array, Array>;
  const int64_t n = rows_of(real_t);
  const DType dtype = complex_kin(result_type({real_t, real_z}).dtype);
  const Pair start(astype(real_t, dtype), astype(real_z, dtype));
  if (n < 2) return start;
  const double eps = dtype == complex128 ? std::numeric_limits<double>::epsilon()
                                         : std::numeric_limits<float>::epsilon();
  const Array row = expand_dims(arange(n), 1), column = expand_dims(arange(n), 0);
  return fori_loop(
      1, static_cast<int>(n),
      [&](const Array& i, const Pair& p) {
        const Array m = static_cast<int>(n) - i;
        const auto size_at = [&](const Array& r, const Array& c) {
          return squeeze(abs(dynamic_slice(p.first, {r, c}, {1, 1})));
        };
        const Array block = size_at(m, m - 1) > eps * (size_at(m - 1, m - 1) + size_at(m, m));
        const Pair turned = cond(
            block, [&](const Pair& q) { return without_block(q.first, q.second, m); },
            [](const Pair& q) { return q; }, p);
        const Array below = equal(row, m) & equal(column, m - 1);
        return Pair(where(below, 0, turned.first), turned.second);
      },
      start);
}

}  // namespace

std::pair<Array, Array> rsf2csf(const Array& t, const Array& z) {
  expect_square("rsf2csf", t);
  expect_square("rsf2csf", z);
  if (t.shape() != z.shape())
    shape_error("rsf2csf", "expected t and z of one shape, got {} and {}", describe(t.type()),
                describe(z.type()));
  const Arrays out = composite("scipy.linalg.rsf2csf", {}, {t, z}, [](const NoParams&, Args x) {
    const auto [t, z] = of_each_matrix(complex_schur, x[0], x[1]);
    return Arrays{t, z};
  });
  return {out[0], out[1]};
}

Hessenberg hessenberg(const Array& a) {
  expect_square("hessenberg", a);
  const Arrays out = composite("scipy.linalg.hessenberg", {}, {a}, [](const NoParams&, Args x) {
    const Array p = in_floats(x[0]);
    const int64_t n = rows_of(p);
    if (n == 0) return Arrays{p, p};
    const auto reduced = tessera::lax::linalg::hessenberg(p);
    const Array h = triu(reduced.h, -1);
    if (n == 1) return Arrays{h, ones(p.shape(), p.dtype())};
    const Array reflectors = slice_in_dim(slice_in_dim(reduced.h, 1, n, -2), 0, n - 1, -1);
    const Array q = tessera::lax::linalg::householder_product(reflectors, reduced.taus);
    std::vector<std::pair<int64_t, int64_t>> around(static_cast<size_t>(p.ndim() - 2));
    around.insert(around.end(), 2, {1, 0});
    const Array first = zeros({n, n}, p.dtype());
    return Arrays{h, pad(q, around) + at(first)[{0, 0}].set(1)};
  });
  return {out[0], out[1]};
}

std::pair<Array, Array> polar(const Array& a, Side side) {
  expect_matrix("polar", a);
  struct PolarParams {
    bool right;
  };
  const Arrays out = composite("scipy.linalg.polar", PolarParams{side == Side::kRight}, {a},
                               [](const PolarParams& p, Args x) {
                                 const Svd f = tessera::linalg::svd(in_floats(x[0]), false);
                                 const Array s = expand_dims(f.s, -2);
                                 const Array half = p.right ? matmul(adjoint(f.vh) * s, f.vh)
                                                            : matmul(f.u * s, adjoint(f.u));
                                 return Arrays{matmul(f.u, f.vh), half};
                               });
  return {out[0], out[1]};
}

}  // namespace tessera::scipy::linalg
