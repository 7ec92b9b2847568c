// expm_frechet, sqrtm, funm and solve_sylvester.
#include "tessera/compile/control_flow.h"
#include "tessera/compile/grad.h"
#include "tessera/scipy/linalg/matrices.h"

namespace tessera::scipy::linalg {

using namespace internal;

std::pair<Array, Array> expm_frechet(const Array& a, const Array& e) {
  expect_square("expm_frechet", a);
  if (a.shape() != e.shape())
    shape_error("expm_frechet", "expected a and e of one shape, got {} and {}", describe(a.type()),
                describe(e.type()));
  const Arrays out =
      composite("scipy.linalg.expm_frechet", {}, {a, e}, [](const NoParams&, Args x) {
        const Arrays same = promote_dtypes(x, Promotion::kInexact);
        // The derivative is the upper right block of expm([[a, e], [0, a]]) (Higham, "Functions of
        // Matrices", 10.6), but differentiating expm takes less work.
        const auto [value, slope] =
            jvp([](const Array& m) { return expm(m); }, std::tuple(same[0]), std::tuple(same[1]));
        return Arrays{value, slope};
      });
  return {out[0], out[1]};
}

namespace {

// Return column j, and row i, of a matrix.
Array column_at(const Array& a, const Array& j) { return dynamic_index_in_dim(a, j, 1, false); }

// Returns the upper triangular u with u u = t for upper triangular t. Column by column, it solves
// (u + u_jj) u[:, j] = t[:, j] above the diagonal.
Array triangular_root(const Array& t) {
  const int64_t n = rows_of(t);
  const Array root = sqrt(diagonal(t)), place = arange(n);
  const Array unit = eye(n, None, 0, t.dtype());
  return fori_loop(
      0, static_cast<int>(n),
      [&](const Array& j, const Array& u) {
        const Array own = dynamic_index_in_dim(root, j, 0, false);
        const Array above = place < j;
        const Array pivots = where(above, root, 0) + own;
        // If both diagonal elements are 0, there is a root only if the rest of the equation is 0.
        const Array singular = equal(pivots, 0) & above;
        const Array a = u - unit * u + unit * where(singular | ~above, 1, pivots);
        const Array right = where(above, column_at(t, j), 0);
        const Array x = tessera::lax::linalg::triangular_solve(
            where(expand_dims(above, 1) & expand_dims(above, 0), a, unit), expand_dims(right, 1),
            {.left_side = true});
        const Array column = where(singular & not_equal(squeeze(x, 1), 0), NAN, squeeze(x, 1));
        return dynamic_update_slice_in_dim(
            u, expand_dims(where(equal(place, j), own, where(above, column, 0)), 1), j, 1);
      },
      zeros_like(t));
}

}  // namespace

Array sqrtm(const Array& a) {
  expect_square("sqrtm", a);
  return composite("scipy.linalg.sqrtm", {}, {a}, [](const NoParams&, Args x) -> Array {
    const auto [t, z] = schur(x[0], SchurOutput::kComplex);
    if (rows_of(t) == 0) return t;
    return matmul(matmul(z, of_each_matrix(triangular_root, t)), adjoint(z));
  });
}

namespace {

// Returns f of t by Parlett's recurrence, one superdiagonal after the other. Since f commutes with
// t, f[i, j] (t[j, j] - t[i, i]) = t[i, j] (f[j, j] - f[i, i]) + sum over k between i and j of t[i,
// k] f[k, j] - f[i, k] t[k, j].
Array triangular_function(const Array& t, const Array& values) {
  const int64_t n = rows_of(t);
  const Array offset = expand_dims(arange(n), 0) - expand_dims(arange(n), 1);
  const Array eigenvalues = diagonal(t);
  const Array gap = expand_dims(eigenvalues, 0) - expand_dims(eigenvalues, 1);
  const Array gaps = where(equal(gap, 0), 1, gap);
  return fori_loop(
      1, static_cast<int>(n),
      [&](const Array& d, const Array& f) {
        // Elements of f beyond the d-th superdiagonal are still 0, so the sums are elements of
        // products.
        const Array sums = matmul(t, f) - matmul(f, t);
        return where(equal(offset, d), sums / gaps, f);
      },
      diag(values));
}

}  // namespace

Array funm(const Array& a, const std::function<Array(const Array&)>& func) {
  expect_square("funm", a);
  if (a.ndim() != 2)
    shape_error("funm", "expected one matrix, got {}; vmap takes several", describe(a.type()));
  const auto [t, z] = schur(a, SchurOutput::kComplex);
  const Array values = func(diagonal(t));
  if (values.shape() != Shape{rows_of(t)})
    shape_error("funm", "expected a function of vectors that keeps their shape, got {} of {}",
                describe(values.type()), describe(diagonal(t).type()));
  return composite("scipy.linalg.funm", {}, {t, z, values}, [](const NoParams&, Args x) -> Array {
    const Array f = triangular_function(x[0], as_dtype(x[2], x[0].dtype()));
    return matmul(matmul(x[1], f), adjoint(x[1]));
  });
}

namespace {

// Returns y with r y + y s = f, for upper triangular r and s. Column by column, it solves (r +
// s_jj) y[:, j] = f[:, j] - sum over k < j of y[:, k] s[k, j].
Array triangular_sylvester(const Array& r, const Array& s, const Array& f) {
  const Array unit = eye(rows_of(r), None, 0, r.dtype()), place = arange(rows_of(s));
  return fori_loop(
      0, static_cast<int>(rows_of(s)),
      [&](const Array& j, const Array& y) {
        const Array known = where(place < j, column_at(s, j), 0);
        const Array own = dynamic_index_in_dim(dynamic_index_in_dim(s, j, 0, false), j, 0, false);
        const Array right = column_at(f, j) - matmul(y, known);
        const Array x = tessera::lax::linalg::triangular_solve(
            r + unit * own, expand_dims(right, 1), {.left_side = true});
        return dynamic_update_slice_in_dim(y, x, j, 1);
      },
      zeros_like(f));
}

struct SylvesterParams {
  double tol;
};

Array sylvester(const SylvesterParams& p, Args x) {
  const Arrays same = promote_dtypes(x, Promotion::kInexact);
  const Arrays all = with_one_batch("solve_sylvester", {same[0], same[1], same[2]});
  const bool complex = is_complex(all[2].dtype());
  const auto [r, u] = schur(all[0], SchurOutput::kComplex);
  const auto [s, v] = schur(all[1], SchurOutput::kComplex);
  const Array f = matmul(matmul(adjoint(u), astype(all[2], r.dtype())), v);
  const auto of_each = vectorize(triangular_sylvester, "(m,m),(n,n),(m,n)->(m,n)");
  const Array y = matmul(matmul(u, of_each(r, s, f)), adjoint(v));
  const Array sums = expand_dims(diagonal(r, {.axis1 = -2, .axis2 = -1}), -1) +
                     expand_dims(diagonal(s, {.axis1 = -2, .axis2 = -1}), -2);
  const Array singular = any(abs(sums) < p.tol, {.axis = {-2, -1}, .keepdims = true});
  return where(singular, NAN, complex ? y : real(y));
}

}  // namespace

Array solve_sylvester(const Array& a, const Array& b, const Array& c, const SylvesterOptions& o) {
  const char* name = "solve_sylvester";
  expect_square(name, a);
  expect_square(name, b);
  expect_matrix(name, c);
  if (rows_of(c) != rows_of(a) || columns_of(c) != columns_of(b))
    shape_error(name, "expected c of {} by {} for a of {} and b of {}, got {}", rows_of(a),
                rows_of(b), describe(a.type()), describe(b.type()), describe(c.type()));
  return composite("scipy.linalg.solve_sylvester", SylvesterParams{o.tol}, {a, b, c}, sylvester);
}

}  // namespace tessera::scipy::linalg
