// The iterative solvers: solutions, derivatives, preconditioners, what they report, errors.
#include <map>

#include "../errors.h"
#include "../numpy/run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/scipy/sparse/linalg.h"

namespace tessera::sparse_linalg_test {
namespace {

using namespace scipy::sparse::linalg;
using test::expect_close;
using test::expect_error;

Array matrix() {
  return array(
      {{4.0, 1.0, 0.0, -0.5}, {1.0, 3.0, 0.5, 0.0}, {0.0, 0.5, 5.0, 1.0}, {-0.5, 0.0, 1.0, 4.0}});
}
Array skewed() { return matrix() + triu(ones({4, 4}), 1); }
Array right() { return array({1.0, -2.0, 0.5, 3.0}); }

void expect_solved(const std::pair<Array, Array>& result, const Array& a, const Array& b) {
  expect_close(result.first.to_host(), linalg::solve(a, b).to_host(), 1e-8, 1e-8);
  EXPECT_EQ(result.second.item<int>(), 0);
}

TEST(SparseLinalg, SolvesEquations) {
  const test::X64 x64(true);
  expect_solved(cg(matrix(), right(), {.tol = 1e-10}), matrix(), right());
  expect_solved(bicgstab(skewed(), right(), {.tol = 1e-10}), skewed(), right());
  expect_solved(gmres(skewed(), right(), {.tol = 1e-10}), skewed(), right());
  expect_solved(gmres(skewed(), right(), {.tol = 1e-10, .restart = 2}), skewed(), right());
  const auto product = [](const Array& x) { return matmul(skewed(), x); };
  expect_solved(jit([&](const Array& b) { return bicgstab(product, b, {.tol = 1e-10}); })(right()),
                skewed(), right());
}

TEST(SparseLinalg, TakesAStartAndAPreconditioner) {
  const test::X64 x64(true);
  const auto scaled = [](const Array& x) { return x / array({4.0, 3.0, 5.0, 4.0}); };
  expect_solved(cg(matrix(), right(), {.x0 = ones(4), .tol = 1e-10, .M = scaled}), matrix(),
                right());
  expect_solved(bicgstab(skewed(), right(), {.x0 = ones(4), .tol = 1e-10, .M = scaled}), skewed(),
                right());
  expect_solved(gmres(skewed(), right(), {.x0 = ones(4), .tol = 1e-10, .M = scaled}), skewed(),
                right());
}

TEST(SparseLinalg, SolvesForTrees) {
  using Tree = std::map<std::string, Array>;
  const Tree b{{"u", array({2.0f, 4.0f})}, {"v", array(6.0f)}};
  const auto product = [](const Tree& x) {
    return Tree{{"u", 2 * x.at("u")}, {"v", 3 * x.at("v")}};
  };
  const auto [x, info] = cg(product, b);
  EXPECT_EQ(to_vector<float>(x.at("u")), (std::vector<float>{1, 2}));
  EXPECT_FLOAT_EQ(x.at("v").item<float>(), 2);
  EXPECT_EQ(info.item<int>(), 0);
}

TEST(SparseLinalg, DerivativesByTheMatrixAndTheRightSide) {
  const test::X64 x64(true);
  const auto by_solve = [](const Array& a, const Array& b) {
    return sum(sin(linalg::solve(a, b)));
  };
  const auto check = [&](const auto& loss, const Array& a) {
    const auto [da, db] = grad<0, 1>(loss)(a, right());
    const auto [want_a, want_b] = grad<0, 1>(by_solve)(a, right());
    expect_close(da.to_host(), want_a.to_host(), 1e-7, 1e-7);
    expect_close(db.to_host(), want_b.to_host(), 1e-7, 1e-7);
  };
  check([](const Array& a, const Array& b) { return sum(sin(cg(a, b, {.tol = 1e-11}).first)); },
        matrix());
  check(
      [](const Array& a, const Array& b) { return sum(sin(bicgstab(a, b, {.tol = 1e-11}).first)); },
      skewed());
  check([](const Array& a, const Array& b) { return sum(sin(gmres(a, b, {.tol = 1e-11}).first)); },
        skewed());
}

TEST(SparseLinalg, ReportsWhatDoesNotConverge) {
  EXPECT_EQ(cg(matrix(), right(), {.tol = 1e-6, .maxiter = 1}).second.item<int>(), 1);
  EXPECT_EQ(bicgstab(skewed(), right(), {.tol = 1e-6, .maxiter = 1}).second.item<int>(), 1);
  EXPECT_EQ(gmres(skewed(), right(), {.tol = 1e-6, .restart = 1, .maxiter = 1}).second.item<int>(),
            1);
}

TEST(SparseLinalg, ErrorsSayWhatIsExpected) {
  expect_error([&] { cg(matrix(), right(), {.maxiter = 0}); }, "[cg] expected maxiter >= 1, got 0");
  expect_error([&] { gmres(matrix(), right(), {.restart = 0}); }, "[gmres] expected restart >= 1");
  expect_error([&] { bicgstab(matrix(), right(), {.x0 = ones(3)}); },
               "[bicgstab] expected x0 of b's shape");
  expect_error([&] { cg([](const Array& x) { return sum(x); }, right()); },
               "[custom_linear_solve] expected a result of matvec of");
}

}  // namespace
}  // namespace tessera::sparse_linalg_test
