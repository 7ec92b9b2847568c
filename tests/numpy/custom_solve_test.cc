// custom_linear_solve, custom_root and linear_transpose: values, derivatives of both modes by
// captured arrays, and errors.
#include "tessera/numpy/custom_solve.h"

#include <cmath>

#include "../errors.h"
#include "run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::custom_solve_test {
namespace {

using test::expect_close;
using test::expect_error;

const auto dense = [](const auto& product, const Array& b) {
  // Computes the matrix column by column.
  const Array a =
      vmap([&](const Array& e) { return product(e); })(eye(b.size(), None, 0, b.dtype()));
  return linalg::solve(transpose(a), b);
};

Array solved(const Array& a, const Array& b) {
  return lax::custom_linear_solve([&](const Array& x) { return matmul(a, x); }, b, dense, dense);
}

TEST(CustomLinearSolve, DerivativesAreThoseOfTheSolution) {
  const test::X64 x64(true);
  const Array a = array({{3.0, 1.0}, {0.5, -2.0}}), b = array({1.0, 4.0});
  const auto loss = [](const Array& a, const Array& b) { return sum(sin(solved(a, b))); };
  const auto plain = [](const Array& a, const Array& b) { return sum(sin(linalg::solve(a, b))); };
  expect_close(solved(a, b).to_host(), linalg::solve(a, b).to_host(), 1e-12, 1e-12);
  const auto [da, db] = grad<0, 1>(loss)(a, b);
  const auto [want_a, want_b] = grad<0, 1>(plain)(a, b);
  expect_close(da.to_host(), want_a.to_host(), 1e-12, 1e-12);
  expect_close(db.to_host(), want_b.to_host(), 1e-12, 1e-12);
  const Array forward =
      jvp([&](const Array& m) { return loss(m, b); }, std::tuple(a), std::tuple(ones({2, 2})))
          .second;
  EXPECT_NEAR(forward.item<double>(), sum(want_a).item<double>(), 1e-12);
}

// A solver that is not differentiated, so that second derivatives have to come from the equation.
Array solved_apart(const Array& a, const Array& b) {
  const auto once = [&](const auto& product, const Array& v) {
    return lax::stop_gradient(dense(product, v));
  };
  return lax::custom_linear_solve([&](const Array& x) { return matmul(a, x); }, b, once, once);
}

TEST(CustomLinearSolve, SecondDerivativesOfBothModes) {
  const test::X64 x64(true);
  const Array a = array({{3.0, 1.0}, {0.5, -2.0}}), b = array({1.0, 4.0});
  const auto loss = [](const Array& a, const Array& b) { return sum(sin(solved_apart(a, b))); };
  const auto plain = [](const Array& a, const Array& b) { return sum(sin(linalg::solve(a, b))); };
  const std::tuple at(a, b), along(array({{0.3, -0.7}, {1.1, 0.4}}), array({0.6, -0.2}));
  const auto [got_a, got_b] = jvp(grad<0, 1>(loss), at, along).second;
  const auto [want_a, want_b] = jvp(grad<0, 1>(plain), at, along).second;
  expect_close(got_a.to_host(), want_a.to_host(), 1e-12, 1e-12);
  expect_close(got_b.to_host(), want_b.to_host(), 1e-12, 1e-12);
  const auto size = [&](const auto& f) {
    return [&](const Array& m) { return sum(square(grad(f)(m, b))); };
  };
  expect_close(grad(size(loss))(a).to_host(), grad(size(plain))(a).to_host(), 1e-12, 1e-12);
}

TEST(CustomLinearSolve, SymmetricProductsAreTheirOwnTranspose) {
  const test::X64 x64(true);
  const Array a = array({{3.0, 1.0}, {1.0, 2.0}}), b = array({1.0, 4.0});
  const auto loss = [&](const Array& b) {
    return sum(square(lax::custom_linear_solve([&](const Array& x) { return matmul(a, x); }, b,
                                               dense, {.symmetric = true})));
  };
  const Array want = grad([&](const Array& b) { return sum(square(linalg::solve(a, b))); })(b);
  expect_close(jit(grad(loss))(b).to_host(), want.to_host(), 1e-12, 1e-12);
}

TEST(CustomRoot, DerivativesByWhatTheFunctionCaptures) {
  const test::X64 x64(true);
  const auto root = [](const Array& c) {
    return lax::custom_root(
        [&](const Array& x) { return x * x - c; }, full_like(c, 1.0),
        [](const auto& f, const Array& guess) {
          return fori_loop(
              0, 30, [&](const Array&, const Array& x) { return x - f(x) / (2 * x); }, guess);
        },
        [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
  };
  EXPECT_NEAR(root(array(9.0, float64)).item<double>(), 3, 1e-12);
  EXPECT_NEAR(grad(root)(array(9.0, float64)).item<double>(), 1.0 / 6, 1e-12);
}

TEST(LinearTranspose, IsTheTransposeOfALinearFunction) {
  const Array a = array({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
  const auto transposed =
      lax::linear_transpose([&](const Array& x) { return matmul(a, x); }, zeros(3));
  const Array y = array({1.0f, -1.0f});
  expect_close(transposed(y).to_host(), matmul(transpose(a), y).to_host());
  expect_close(jit(transposed)(y).to_host(), matmul(transpose(a), y).to_host());
}

TEST(CustomSolve, ErrorsSayWhatIsExpected) {
  const Array b = ones(2);
  const auto same = [](const Array& x) { return x; };
  const auto shorter = [](const auto&, const Array& x) { return slice_in_dim(x, 0, 1); };
  expect_error([&] { lax::custom_linear_solve([](const Array& x) { return sum(x); }, b, dense); },
               "[custom_linear_solve] expected a result of matvec of");
  expect_error([&] { lax::custom_linear_solve(same, b, shorter); },
               "[custom_linear_solve] expected a result of solve of");
  const auto given = [](const auto&, const Array& x) { return x; };
  expect_error([&] { lax::custom_root([](const Array& x) { return sum(x); }, b, given, given); },
               "[custom_root] expected a result of f of");
  expect_error([&] { lax::custom_root(same, b, shorter, given); },
               "[custom_root] expected a result of solve of");
  expect_error([&] { lax::linear_transpose(same, b)(ones(3)); },
               "[linear_transpose] expected a cotangent of");
}

}  // namespace
}  // namespace tessera::custom_solve_test
