// solve, and solutions of equations by known factors.
#include "tessera/numpy/custom_solve.h"
#include "tessera/numpy/lax_shapes.h"
#include "tessera/scipy/linalg/matrices.h"

namespace tessera::scipy::linalg {

using namespace internal;

namespace {

using tessera::lax::linalg::triangular_solve;
using tessera::lax::linalg::TriangularSolveOptions;

struct TriangularParams {
  bool lower, transpose, conjugate, unit;
};

// Solves a x = b for a vector or columns b. Batches broadcast.
Array solved(const char* name, const TriangularParams& p, const Array& a, const Array& b) {
  return with_columns(b, [&](const Array& columns) {
    const Arrays both = with_one_batch(name, {a, columns});
    return triangular_solve(both[0], both[1],
                            {.left_side = true,
                             .lower = p.lower,
                             .transpose_a = p.transpose,
                             .conjugate_a = p.conjugate,
                             .unit_diagonal = p.unit});
  });
}

Array solved_by_cholesky(const char* name, bool lower, const Array& c, const Array& b) {
  const Array half = solved(name, {lower, !lower, !lower, false}, c, b);
  return solved(name, {lower, lower, lower, false}, c, half);
}

struct LowerParams {
  bool lower;
};

Array solved_positive(const LowerParams& p, Args x) {
  const Arrays same = promote_dtypes(x, Promotion::kInexact);
  const Array& a = same[0];
  const Array c = lax::stop_gradient(cholesky(a, {.lower = p.lower}));
  return with_columns(same[1], [&](const Array& columns) {
    const Arrays both = with_one_batch("solve", {a, columns});
    const auto product = [&](const Array& v) { return matmul(both[0], v); };
    const auto by_factors = [&](const auto&, const Array& v) {
      return solved_by_cholesky("solve", p.lower, c, v);
    };
    return lax::custom_linear_solve(product, both[1], by_factors, {.symmetric = true});
  });
}

}  // namespace

Array solve(const Array& a, const Array& b, const SolveOptions& o) {
  if (o.assume_a != AssumeA::kPositiveDefinite) return tessera::linalg::solve(a, b);
  expect_square("solve", a);
  expect_right_side("solve", a, b);
  return composite("scipy.linalg.solve", LowerParams{o.lower}, {a, b}, solved_positive);
}

Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& o) {
  expect_square("solve_triangular", a);
  expect_right_side("solve_triangular", a, b);
  const TriangularParams params{o.lower, o.trans != Trans::kN, o.trans == Trans::kC,
                                o.unit_diagonal};
  return composite("scipy.linalg.solve_triangular", params, {a, b},
                   [](const TriangularParams& p, Args x) {
                     const Arrays same = promote_dtypes(x, Promotion::kInexact);
                     return solved("solve_triangular", p, same[0], same[1]);
                   });
}

Array cholesky(const Array& a, const CholeskyOptions& o) {
  expect_square("cholesky", a);
  return composite(
      "scipy.linalg.cholesky", LowerParams{o.lower}, {a}, [](const LowerParams& p, Args x) {
        const Array same = promote_dtypes(x, Promotion::kInexact)[0];
        const Array l = tessera::lax::linalg::cholesky(p.lower ? same : adjoint(same), false);
        return p.lower ? l : adjoint(l);
      });
}
ChoFactor cho_factor(const Array& a, const CholeskyOptions& o) { return {cholesky(a, o), o.lower}; }

Array cho_solve(const ChoFactor& c_and_lower, const Array& b) {
  expect_square("cho_solve", c_and_lower.c);
  expect_right_side("cho_solve", c_and_lower.c, b);
  return composite("scipy.linalg.cho_solve", LowerParams{c_and_lower.lower}, {c_and_lower.c, b},
                   [](const LowerParams& p, Args x) {
                     const Arrays same = promote_dtypes(x, Promotion::kInexact);
                     return solved_by_cholesky("cho_solve", p.lower, same[0], same[1]);
                   });
}

LuFactor lu_factor(const Array& a) {
  expect_matrix("lu_factor", a);
  const Arrays out = composite("scipy.linalg.lu_factor", {}, {a}, [](const NoParams&, Args x) {
    const auto factors = tessera::lax::linalg::lu(in_floats(x[0]));
    return Arrays{factors.lu, factors.pivots};
  });
  return {out[0], out[1]};
}

Array lu_solve(const LuFactor& lu_and_piv, const Array& b, Trans trans) {
  const char* name = "lu_solve";
  expect_square(name, lu_and_piv.lu);
  expect_right_side(name, lu_and_piv.lu, b);
  Shape pivots = lu_and_piv.lu.shape();
  pivots.pop_back();
  if (!is_integer(lu_and_piv.pivots.dtype()) || lu_and_piv.pivots.shape() != pivots)
    type_error(name, "expected integer pivots of shape {}, got {}", pivots,
               describe(lu_and_piv.pivots.type()));
  struct LuSolveParams {
    int trans;
  };
  return composite(
      "scipy.linalg.lu_solve", LuSolveParams{static_cast<int>(trans)},
      {lu_and_piv.lu, b, lu_and_piv.pivots}, [](const LuSolveParams& p, Args x) {
        const Arrays same = promote_dtypes(x.first(2), Promotion::kInexact);
        const Array order = tessera::lax::linalg::lu_pivots_to_permutation(x[2], rows_of(same[0]));
        return with_columns(same[1], [&](const Array& columns) {
          const Arrays all = with_one_batch("lu_solve", {same[0], columns, expand_dims(order, -1)});
          return tessera::lax::linalg::lu_solve(all[0], squeeze(all[2], -1), all[1], p.trans);
        });
      });
}

}  // namespace tessera::scipy::linalg
