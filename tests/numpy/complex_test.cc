// Compares derivatives of functions of complex numbers along random directions with finite
// differences in complex128. reference_test.cc and reference_options_test.cc compare values.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <limits>

#include "../golden/golden.h"
#include "run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/ir/op_def.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/sorting.h"
#include "tessera/ops/core/op.h"

namespace tessera::complex_test {

using namespace ops;

namespace {

using namespace tessera::test;
using Complex = std::complex<double>;

Array complexes(std::vector<Complex> values) {
  return Array(Literal::from<Complex>(values, {static_cast<int64_t>(values.size())}));
}

void expect_derivative(const char* name, const std::function<Array(const Array&)>& f,
                       const Array& x) {
  SCOPED_TRACE(name);
  const Array t = complexes({{0.3, -0.7}, {-1.1, 0.4}, {0.9, 0.2}, {0.1, 1.3}, {-0.5, -0.6}});
  const double h = 1e-6;
  const Array by_differences = (f(x + h * t) - f(x - h * t)) / (2 * h);
  const auto [value, tangent] = jvp(f, std::tuple(x), std::tuple(t));
  expect_close(value.to_host(), f(x).to_host(), 1e-12, 1e-12);
  expect_close(tangent.to_host(), by_differences.to_host(), 1e-7, 1e-7);
}

TEST(Complex, Derivatives) {
  const X64 x64(true);
  const Array x = complexes({{1.5, 0.4}, {-0.7, 2.9}, {0.2, -1.3}, {2.1, -0.8}, {0.6, 0.1}}),
              y = complexes({{0.5, -0.9}, {1.7, -2.4}, {0.3, 1.1}, {-2.6, 0.2}, {0.8, 7.5}});
  expect_derivative(
      "logaddexp", [&](const Array& z) { return logaddexp(z, y); }, x);
  expect_derivative(
      "logaddexp of y", [&](const Array& z) { return logaddexp(y, z); }, x);
  expect_derivative(
      "logaddexp2", [&](const Array& z) { return logaddexp2(z, y); }, x);
  expect_derivative("softplus", softplus, x);
  expect_derivative("log_sigmoid", log_sigmoid, x);
  expect_derivative("mish", mish, x);
  expect_derivative("deg2rad", deg2rad, x);
  expect_derivative(
      "maximum", [&](const Array& z) { return maximum(z, y); }, x);
  for (const bool reverse : {false, true}) {
    const RunningOptions options{.reverse = reverse};
    expect_derivative(
        "cummax", [&](const Array& z) { return cummax(z, options); }, x);
    expect_derivative(
        "cummin", [&](const Array& z) { return cummin(z, options); }, x);
    expect_derivative(
        "cumlogsumexp", [&](const Array& z) { return cumlogsumexp(z, options); }, x);
  }
  // Some elements are updated twice, and one is better than its update.
  const Array places = array({1, 4, 1, 0, 2});
  expect_derivative(
      "at max", [&](const Array& z) { return at(y)[places].max(z); }, x);
  expect_derivative(
      "at min", [&](const Array& z) { return at(z)[places].min(y); }, x);
}

// As in NumPy and JAX, 1j is true. lax::convert_element_type reads only the real part, as JAX's
// does.
TEST(Complex, TruthIsOfBothParts) {
  const Array z = complexes({{-1, 0}, {0, 1}, {1, 0}, {0, 0}, {0, NAN}});
  const Literal both = Literal::from<bool>(
                    std::initializer_list<bool>{true, true, true, false, true}, {5}),
                real = Literal::from<bool>(
                    std::initializer_list<bool>{true, false, true, false, false}, {5});
  EXPECT_EQ(astype(z, bool_).to_host(), both);
  EXPECT_EQ(jit([](const Array& x) { return astype(x, bool_); })(z).to_host(), both);
  EXPECT_TRUE(array({Complex(0, 1)}, bool_).item<bool>());
  EXPECT_TRUE(astype(Array(Literal::scalar(Complex(0, 1))), bool_).item<bool>());
  EXPECT_EQ(lax::convert_element_type(z, bool_).to_host(), real);
}

// Infinities for which JAX's formula yields NaN.
TEST(Complex, LogaddexpOfNothing) {
  const X64 x64(true);
  const double inf = std::numeric_limits<double>::infinity();
  const Array x = complexes({{-inf, 0}, {-inf, 2}, {1, 2}, {NAN, 0}, {1, 0}}),
              y = complexes({{-inf, 0}, {1, 2}, {-inf, 0}, {1, 0}, {NAN, 0}});
  for (const auto f : {&logaddexp, &logaddexp2}) {
    const Literal sums = f(x, y).to_host();
    const Complex* z = sums.data<Complex>();
    EXPECT_EQ(z[0].real(), -inf);
    EXPECT_EQ(z[1], Complex(1, 2));
    EXPECT_EQ(z[2], Complex(1, 2));
    EXPECT_TRUE(std::isnan(z[3].real()));
    EXPECT_TRUE(std::isnan(z[4].real()));
  }
}

// If real parts are equal, the imaginary parts decide.
TEST(Complex, RunningExtremaOfEqualOnesShareTheDerivative) {
  const X64 x64(true);
  const Array x = complexes({{1, 1}, {1, 2}, {1, 2}}), t = complexes({{1, 0}, {2, 0}, {4, 0}});
  const auto f = [](const Array& z) { return cummax(z); };
  const Literal tangent = jvp(f, std::tuple(x), std::tuple(t)).second.to_host();
  EXPECT_EQ(tangent.data<Complex>()[1], Complex(2));
  EXPECT_EQ(tangent.data<Complex>()[2], Complex(3));
}

TEST(Complex, RunningExtremaKeepNan) {
  const X64 x64(true);
  const Array x = complexes({{3, 0}, {1, NAN}, {5, 1}, {NAN, 2}, {2, 0}});
  for (const auto f : {&cummax, &cummin}) {
    const Literal forward = f(x, {}).to_host(), back = f(x, {.reverse = true}).to_host();
    EXPECT_EQ(forward.data<Complex>()[0], Complex(3, 0));
    EXPECT_EQ(back.data<Complex>()[4], Complex(2, 0));
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(std::isnan(forward.data<Complex>()[i + 1].real())) << i;
      EXPECT_TRUE(std::isnan(back.data<Complex>()[i].imag())) << i;
    }
  }
}

bool same_part(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == 0 && b == 0) return std::signbit(a) == std::signbit(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

// Kernels follow Annex G of C99, as the naive evaluator does: for signs of zeros, and for which
// part is NaN. JAX has the same values with two exceptions, in which it is not consistent. It
// returns NaN for both parts if only one is unknown, also for an infinity next to a NaN (its atan
// of 1 + i NaN has a real part, its log of inf + i NaN none). And the sign of a zero may get lost,
// so that sqrt(-1 - 0i) is i, like sqrt(-1 + 0i), while atanh distinguishes the sides of its cut.
TEST(Complex, FunctionsOfZerosInfinitiesAndNan) {
  const X64 x64(true);
  const golden::Topic topic("complex_grid");
  const Literal z = topic.array(topic["z"]);
  std::vector<const OpDef*> ops;
  std::vector<Literal> jax;
  for (const auto& [name, reference] : topic["functions"].items()) {
    const OpDef* op = find_op("stablehlo", name);
    ops.push_back(op ? op : find_op("chlo", name));
    jax.push_back(convert_literal(topic.array(reference), complex128));
  }
  const auto all = [&](const Arrays& x) {
    Arrays out;
    for (const OpDef* op : ops) out.push_back(bind_op1(*op, NoParams{}, {x[0]}));
    return out;
  };
  for (const DType dtype : {complex64, complex128}) {
    const std::vector<Literal> evaluated = run_traced(all, {convert_literal(z, dtype)});
    const auto compiled =
        jit([&](const Array& x) { return all({x}); })(Array(convert_literal(z, dtype)));
    const double tolerance = dtype == complex64 ? 1e-5 : 1e-12;
    for (size_t k = 0; k < ops.size(); ++k) {
      const Literal a = convert_literal(compiled[k].to_host(), complex128),
                    b = convert_literal(evaluated[k], complex128);
      for (int64_t i = 0; i < z.elements(); ++i) {
        const Complex at = z.data<Complex>()[i], x = a.data<Complex>()[i], y = b.data<Complex>()[i],
                      j = jax[k].data<Complex>()[i];
        SCOPED_TRACE(fmt::format("{} of {} + {}i: {} + {}i, evaluated {} + {}i, JAX {} + {}i",
                                 ops[k]->name, at.real(), at.imag(), x.real(), x.imag(), y.real(),
                                 y.imag(), j.real(), j.imag()));
        // For NaN, Annex G does not define the signs of zeros. It does not contain logistic and
        // rsqrt.
        const bool undefined = ops[k]->name == "logistic" || ops[k]->name == "rsqrt";
        if (undefined || std::isnan(at.real()) || std::isnan(at.imag())) {
          EXPECT_TRUE(same_part(std::abs(x.real()), std::abs(y.real()), tolerance));
          EXPECT_TRUE(same_part(std::abs(x.imag()), std::abs(y.imag()), tolerance));
          continue;
        }
        EXPECT_TRUE(same_part(x.real(), y.real(), tolerance));
        EXPECT_TRUE(same_part(x.imag(), y.imag(), tolerance));
        const bool has_zero = at.real() == 0 || at.imag() == 0;
        for (const auto& [ours, theirs] :
             {std::pair(y.real(), j.real()), std::pair(y.imag(), j.imag())})
          EXPECT_TRUE(std::isnan(theirs) || same_part(ours, theirs, tolerance) ||
                      std::abs(ours - theirs) <= 1e-15 ||
                      (has_zero && same_part(std::abs(ours), std::abs(theirs), tolerance)));
      }
    }
  }
}

// Bits have no derivative, even if the dtype does not change.
TEST(Bits, HaveNoDerivative) {
  const auto f = [](const Array& x) { return lax::bitcast_convert_type(x, float32) * x; };
  EXPECT_EQ(to_vector<float>(jvp(f, std::tuple(array({3.f})), std::tuple(array({1.f}))).second),
            std::vector<float>{3});
}

}  // namespace
}  // namespace tessera::complex_test
