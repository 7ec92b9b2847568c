// Solves equations with so many right-hand sides that they are divided into tasks.
#include "tessera/ops/factor/triangular_solve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <variant>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tessera/ir/op_def.h"

namespace tessera::testing_ops::triangular_solve_test {

using namespace ops;
using lax::linalg::Transpose;

namespace {

constexpr int64_t kUnknowns = 300, kSides = 301;

// Returns a triangular matrix whose inverse has no large elements, with NaN where it is not read.
Literal triangular(const TriangularSolveParams& p) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> real(-1, 1);
  Literal out(float64, {kUnknowns, kUnknowns});
  for (int64_t i = 0; i < kUnknowns; ++i)
    for (int64_t j = 0; j < kUnknowns; ++j) {
      const bool read = i == j ? !p.unit_diagonal : p.lower == (j < i);
      out.mutable_data<double>()[i * kUnknowns + j] = !read
                                                          ? std::numeric_limits<double>::quiet_NaN()
                                                      : i == j ? 2 + real(rng)
                                                               : real(rng) / 100;
    }
  return out;
}

Literal sides_of(const TriangularSolveParams& p) {
  std::mt19937 rng(2);
  std::uniform_real_distribution<double> real(-1, 1);
  Literal out(float64, p.left_side ? Shape{kUnknowns, kSides} : Shape{kSides, kUnknowns});
  for (int64_t i = 0; i < out.elements(); ++i) out.mutable_data<double>()[i] = real(rng);
  return out;
}

Literal solved(const TriangularSolveParams& p, const Literal& a, const Literal& b) {
  const std::vector<Type> types{{.dtype = float64, .shape = a.shape()},
                                {.dtype = float64, .shape = b.shape()}};
  Literal out(float64, b.shape());
  const void* in[] = {a.raw(), b.raw()};
  void* to[] = {out.mutable_raw()};
  std::get<Library>(triangular_solve_op.lower)
      .call(OpParams(p), types, std::span(types).subspan(1))(in, to);
  return out;
}

// Checks op(a) x = b, or x op(a) = b, for some of the right-hand sides.
void expect_solution(const TriangularSolveParams& p, const Literal& a, const Literal& b,
                     const Literal& x) {
  const auto element = [&](int64_t i, int64_t j) {
    if (p.transpose_a != Transpose::kNoTranspose) std::swap(i, j);
    if (i == j && p.unit_diagonal) return 1.0;
    return i == j || p.lower == (j < i) ? a.data<double>()[i * kUnknowns + j] : 0.0;
  };
  for (int64_t side = 0; side < kSides; side += 25)
    for (int64_t i = 0; i < kUnknowns; ++i) {
      const auto at = [&](const Literal& y, int64_t unknown) {
        return y.data<double>()[p.left_side ? unknown * kSides + side : side * kUnknowns + unknown];
      };
      double sum = 0;
      for (int64_t j = 0; j < kUnknowns; ++j)
        sum += (p.left_side ? element(i, j) : element(j, i)) * at(x, j);
      ASSERT_NEAR(sum, at(b, i), 1e-12) << "side " << side << ", row " << i;
    }
}

TEST(TriangularSolve, ManyRightHandSides) {
  const int before = num_threads();
  for (bool left : {true, false})
    for (bool lower : {true, false})
      for (bool unit : {true, false})
        for (Transpose transpose : {Transpose::kNoTranspose, Transpose::kTranspose}) {
          const TriangularSolveParams p{left, lower, unit, transpose};
          SCOPED_TRACE(::testing::Message()
                       << left << lower << unit << static_cast<int>(transpose));
          const Literal a = triangular(p), b = sides_of(p);
          set_num_threads(1);
          const Literal x = solved(p, a, b);
          expect_solution(p, a, b, x);
          for (int threads : {2, 4}) {
            set_num_threads(threads);
            EXPECT_EQ(solved(p, a, b), x) << threads << " threads";
          }
        }
  set_num_threads(before);
}

// Members of a batch are tasks, whose parts are not.
TEST(TriangularSolve, BatchesOfManyRightHandSides) {
  const TriangularSolveParams p{.left_side = true, .lower = true};
  const Literal a = triangular(p), b = sides_of(p), x = solved(p, a, b);
  Literal as(float64, {3, kUnknowns, kUnknowns}), bs(float64, {3, kUnknowns, kSides});
  for (int64_t i = 0; i < 3; ++i) {
    std::copy_n(a.data<double>(), a.elements(), as.mutable_data<double>() + i * a.elements());
    std::copy_n(b.data<double>(), b.elements(), bs.mutable_data<double>() + i * b.elements());
  }
  const Literal xs = solved(p, as, bs);
  for (int64_t i = 0; i < xs.elements(); ++i)
    ASSERT_EQ(xs.data<double>()[i], x.data<double>()[i % x.elements()]) << i;
}

}  // namespace
}  // namespace tessera::testing_ops::triangular_solve_test
