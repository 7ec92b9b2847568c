// Compares sums over many elements in float32 with the same sums in float64: sums of columns, of
// rows, and over several dimensions, like the statistics of a batch of images.
#include <cmath>
#include <random>

#include "run.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/complex.h"

namespace tessera::long_sums_test {
namespace {

using test::X64;

Literal random_literal(const Shape& shape) {
  std::mt19937 random(5);
  std::normal_distribution<float> numbers(0.5f);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& x : values) x = numbers(random);
  return Literal::from(std::span<const float>(values), shape);
}

// Returns the norm of the error of f's float32 result, divided by the norm of the result.
double relative_error(const std::function<Array(const Array&)>& f, const Literal& literal) {
  const X64 x64(true);
  const Array x(literal);
  const Literal got = astype(jit(f)(x), float64).to_host(),
                want = jit(f)(astype(x, float64)).to_host();
  double error = 0, norm = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    error += std::pow(got.data<double>()[i] - want.data<double>()[i], 2);
    norm += std::pow(want.data<double>()[i], 2);
  }
  return std::sqrt(error / norm);
}

// The limit of the error: a few roundings. If 65,536 elements are added one after another, the
// error is 1e-6.
constexpr double kFewRoundings = 2e-7;

TEST(LongSums, OfColumns) {
  for (const Shape& shape : {Shape{1, 256, 256, 32},
                             {1, 256, 256, 3},
                             {4, 64, 64, 256},
                             {1, 128, 128, 512},
                             {16, 1000, 7},
                             {1, 1, 65536, 8}}) {
    Dims all_but_last;
    for (int64_t d = 0; d + 1 < shape.rank(); ++d) all_but_last.push_back(d);
    const Literal x = random_literal(shape);
    EXPECT_LT(relative_error([&](const Array& a) { return sum(a, {.axis = all_but_last}); }, x),
              kFewRoundings)
        << shape;
    EXPECT_LT(relative_error([&](const Array& a) { return var(a, {.axis = all_but_last}); }, x),
              kFewRoundings)
        << shape;
  }
}

TEST(LongSums, OfComplexNumbers) {
  const auto f = [](const Array& a) {
    const Array z = sum(lax::complex(a, a + 1), {.axis = 0});
    return real(z) + imag(z) / 3;
  };
  EXPECT_LT(relative_error(f, random_literal({65536, 8})), kFewRoundings);
}

// There are many results, and each is computed by a loop over its own rows.
TEST(LongSums, OfManyColumns) {
  EXPECT_LT(relative_error([](const Array& a) { return sum(a, {.axis = 1}); },
                           random_literal({40, 20000, 8})),
            kFewRoundings);
}

TEST(LongSums, OfRows) {
  for (const Shape& shape : {Shape{80, 100000}, {3, 1000000}, {1 << 22}})
    EXPECT_LT(
        relative_error([](const Array& a) { return sum(a, {.axis = -1}); }, random_literal(shape)),
        kFewRoundings)
        << shape;
  // Sums of short rows, as for images with the features first.
  EXPECT_LT(relative_error(
                [](const Array& a) {
                  return sum(a, {.axis = {0, 2}});
                },
                random_literal({4096, 70, 8})),
            kFewRoundings);
}

}  // namespace
}  // namespace tessera::long_sums_test
