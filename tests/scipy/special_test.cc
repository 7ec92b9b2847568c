// Compares scipy/special.h with exact values and derivatives, and at the ends of domains with JAX.
#include "tessera/scipy/special.h"

#include <gmock/gmock.h>

#include "../numpy/run.h"
#include "golden.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/promotion.h"
#include "tests/errors.h"

namespace tessera::test::special_test {
namespace {

namespace special = scipy::special;

#define ONE(name) [](const Arrays& a) -> Arrays { return {special::name(a[0])}; }
#define TWO(name) [](const Arrays& a) -> Arrays { return {special::name(a[0], a[1])}; }

Arrays both(const std::pair<Array, Array>& p) { return {p.first, p.second}; }

Array as_integers(const Array& x) { return as_dtype(x, int64); }

const ComparedFunctions& functions() {
  static const auto& table = *new ComparedFunctions{
      {"gamma", {ONE(gamma)}},
      {"gammaln", {ONE(gammaln)}},
      {"gamma_complex", {ONE(gamma)}},
      {"loggamma_complex", {ONE(loggamma), 5e-14}},
      {"loggamma", {ONE(loggamma)}},
      {"gammasgn", {ONE(gammasgn)}},
      {"digamma", {ONE(digamma), 1e-13}},
      {"polygamma",
       {[](const Arrays& a) -> Arrays { return {special::polygamma(as_integers(a[0]), a[1])}; }}},
      {"zeta", {TWO(zeta)}},
      {"multigammaln",
       {[](const Arrays& a) -> Arrays { return {special::multigammaln(a[0], 4)}; }}},
      {"factorial", {ONE(factorial)}},
      {"poch", {TWO(poch), 1e-13}},
      {"comb", {TWO(comb)}},
      {"beta", {TWO(beta), 1e-14, 1e-10}},
      {"betaln", {TWO(betaln), 1e-14, 1e-11}},
      {"gammainc", {TWO(gammainc), 1e-13}},
      {"gammaincc", {TWO(gammaincc), 3e-13}},
      {"betainc",
       {[](const Arrays& a) -> Arrays { return {special::betainc(a[0], a[1], a[2])}; }, 1e-13}},
      {"erf", {ONE(erf)}},
      {"erfc", {ONE(erfc)}},
      {"erfinv", {ONE(erfinv)}},
      {"erfcinv", {ONE(erfcinv)}},
      {"ndtr", {ONE(ndtr), 5e-13}},
      {"ndtri", {ONE(ndtri)}},
      {"log_ndtr", {ONE(log_ndtr)}},
      {"erfcx", {ONE(erfcx)}},
      {"dawsn", {ONE(dawsn)}},
      {"wofz", {ONE(wofz), 1e-14, 1e-10}},
      {"erfcx_complex", {ONE(erfcx)}},
      {"owens_t", {TWO(owens_t)}},
      {"expit", {ONE(expit)}},
      {"logit", {ONE(logit)}},
      {"xlogy", {TWO(xlogy)}},
      {"xlog1py", {TWO(xlog1py)}},
      {"entr", {ONE(entr)}},
      {"rel_entr", {TWO(rel_entr)}},
      {"kl_div", {TWO(kl_div)}},
      {"boxcox", {TWO(boxcox)}},
      {"boxcox1p", {TWO(boxcox1p)}},
      {"i0", {ONE(i0)}},
      {"i0e", {ONE(i0e)}},
      {"i1", {ONE(i1)}},
      {"i1e", {ONE(i1e)}},
      {"bessel_jn",
       {[](const Arrays& a) {
          const Array all = special::bessel_jn(a[0], {.v = 4, .n_iter = 60});
          Arrays out;
          for (int k = 0; k < 5; ++k) out.push_back(index(all, {k}));
          return out;
        },
        1e-13}},
      {"expi", {ONE(expi)}},
      {"exp1", {ONE(exp1)}},
      {"expn", {TWO(expn)}},
      {"sici", {[](const Arrays& a) { return both(special::sici(a[0])); }}},
      {"fresnel", {[](const Arrays& a) { return both(special::fresnel(a[0])); }}},
      {"spence", {ONE(spence)}},
      {"hyp1f1", {[](const Arrays& a) -> Arrays { return {special::hyp1f1(a[0], a[1], a[2])}; }}},
      {"hyp2f1",
       {[](const Arrays& a) -> Arrays { return {special::hyp2f1(a[0], a[1], a[2], a[3])}; },
        1.2e-14, 1e-11}},
      {"sph_harm_y", {[](const Arrays& a) -> Arrays {
         return {special::sph_harm_y(as_integers(a[0]), as_integers(a[1]), a[2], a[3])};
       }}},
      {"bernoulli", {[](const Arrays&) -> Arrays { return {special::bernoulli(39)}; }}},
  };
  return table;
}

const golden::Topic& topic() {
  static const auto& topic = *new golden::Topic("scipy_special");
  return topic;
}

class SpecialTest : public ::testing::Test {
 private:
  X64 x64_{true};
};

TEST_F(SpecialTest, ValuesAndDerivatives) { expect_points(topic(), functions()); }

TEST_F(SpecialTest, SecondDerivatives) {
  // The second derivatives are, for erfcx: 2 y + 2 x y'; for xlogy by y: -x / y^2; for gammaln:
  // polygamma(1, x).
  const auto second = [](const auto& f, double at) {
    return grad([&](const Array& x) { return grad(f)(x); })(Array(at)).template item<double>();
  };
  for (double x : {-1.5, 0.3, 4.0}) {
    const double y = special::erfcx(x).item<double>();
    const double slope = 2 * x * y - 2 / std::sqrt(M_PI);
    EXPECT_NEAR(second([](const Array& v) { return special::erfcx(v); }, x), 2 * y + 2 * x * slope,
                1e-12 * y);
  }
  EXPECT_NEAR(second([](const Array& v) { return special::xlogy(3.0, v); }, 0.5), -12, 1e-12);
  EXPECT_NEAR(second([](const Array& v) { return special::gammaln(v); }, 2.5),
              special::polygamma(1, 2.5).item<double>(), 1e-13);
  // The derivative of the gamma distribution function by its point is the density.
  EXPECT_NEAR(second([](const Array& v) { return special::gammainc(3.0, v); }, 2.0), 0, 1e-14);
}

// Continued fractions that end at integers: their values do, but their derivatives do not.
TEST_F(SpecialTest, DerivativesByShapesThatAreIntegers) {
  const Array x = array({1.05, 1.9, 4.0, 7.0, 20.0, 70.0}), y = array({0.02, 0.2, 0.5, 0.8, 0.97});
  for (double n : {1.0, 2.0, 5.0, 30.0}) {
    const auto expect_slope = [&](const auto& f, const char* what) {
      SCOPED_TRACE(fmt::format("{} at {}", what, n));
      const Array at = Array(n), h = Array(1e-3);
      const Array slope = jvp(f, std::tuple(at), std::tuple(ones_like(at))).second;
      // The error of this formula is of order h^4.
      const Array want = (8 * (f(at + h) - f(at - h)) - (f(at + 2 * h) - f(at - 2 * h))) / (12 * h);
      expect_close(slope.to_host(), want.to_host(), 1e-8, 1e-9);
    };
    expect_slope([&](const Array& a) { return special::gammainc(a, x); }, "gammainc");
    expect_slope([&](const Array& a) { return special::gammaincc(a, x); }, "gammaincc");
    expect_slope([&](const Array& a) { return special::betainc(a, 2.5, y); }, "betainc by a");
    expect_slope([&](const Array& b) { return special::betainc(1.5, b, y); }, "betainc by b");
    expect_slope([&](const Array& b) { return special::betainc(b + 3, b, y); }, "betainc by both");
  }
}

TEST_F(SpecialTest, EndsOfDomains) { expect_edges(topic(), functions()); }

TEST_F(SpecialTest, UnderJitAndVmap) {
  const Array a = array({0.5, 3.0, 250.0}), x = array({0.2, 5.0, 260.0});
  const auto f = [](const Array& a, const Array& x) { return special::gammainc(a, x); };
  const auto eager = to_vector<double>(f(a, x));
  EXPECT_EQ(to_vector<double>(jit(f)(a, x)), eager);
  EXPECT_EQ(to_vector<double>(vmap(f)(a, x)), eager);
  for (size_t i = 0; i < 3; ++i)  // an element does not depend on the others
    EXPECT_EQ(f(index(a, {i}), index(x, {i})).item<double>(), eager[i]);
}

TEST_F(SpecialTest, LogsumexpWithSign) {
  const Array x = array({0.5, 1000.0, 999.0}), b = array({1.0, -1.0, 1.0});
  const auto [size, sign] = special::logsumexp_with_sign(x, {.b = b});
  EXPECT_NEAR(size.item<double>(), 1000 + std::log1p(-std::exp(-1.0)), 1e-12);
  EXPECT_EQ(sign.item<double>(), -1);
  const auto [none, zero] = special::logsumexp_with_sign(x, {.where = x < 0});
  EXPECT_EQ(none.item<double>(), -INFINITY);
  EXPECT_EQ(zero.item<double>(), 0);
  const auto [rows, signs] =
      special::logsumexp_with_sign(ones({2, 3}), {.axis = 1, .keepdims = true});
  EXPECT_EQ(rows.shape(), (Shape{2, 1}));
  EXPECT_NEAR(index(rows, {1, 0}).item<double>(), 1 + std::log(3.0), 1e-15);
  EXPECT_EQ(index(signs, {0, 0}).item<double>(), 1);
}

TEST_F(SpecialTest, SoftmaxOfAllAxes) {
  const Array x = array({{0.0, 1.0}, {2.0, 3.0}});
  EXPECT_NEAR(sum(special::softmax(x)).item<double>(), 1, 1e-15);
  EXPECT_NEAR(sum(special::softmax(x, {.axis = 0})).item<double>(), 2, 1e-15);
  EXPECT_NEAR(max(abs(exp(special::log_softmax(x)) - special::softmax(x))).item<double>(), 0,
              1e-15);
}

TEST_F(SpecialTest, CombinationsWithRepetition) {
  EXPECT_NEAR(special::comb(4, 3, {.repetition = true}).item<double>(), 20, 1e-13);
  EXPECT_EQ(special::comb(0, 0, {.repetition = true}).item<double>(), 1);
}

TEST(Special, DtypesAndShapes) {
  EXPECT_EQ(special::gamma(array({1, 2, 5})).dtype(), float32);
  EXPECT_EQ(special::ndtr(ones({2}, bfloat16)).dtype(), bfloat16);
  EXPECT_EQ(special::wofz(ones({2})).dtype(), complex64);
  EXPECT_EQ(special::gammainc(ones({3, 1}), ones({4})).shape(), (Shape{3, 4}));
  EXPECT_EQ(special::bessel_jn(ones({2, 3}), {.v = 2}).shape(), (Shape{3, 2, 3}));
  EXPECT_EQ(special::betainc(ones({0}), 1, 0.5).shape(), (Shape{0}));
  // In float32, values are right to a few units in the last place.
  EXPECT_NEAR(special::gamma(4.5f).item<float>(), 11.631728f, 5e-6f);
  EXPECT_NEAR(special::gammainc(2.5f, 3.0f).item<float>(), 0.69378054f, 1e-6f);
  EXPECT_NEAR(special::erfcx(3.0f).item<float>(), 0.17900115f, 5e-8f);
}

TEST(Special, Errors) {
  const Array complex = Array(Literal(complex64, {2}));
  expect_error([&] { special::gammainc(complex, 1); }, "[gammainc] expected real arrays");
  expect_error([&] { special::bessel_jn(complex, {.v = 1}); }, "[bessel_jn] expected real arrays");
  expect_error([&] { special::multigammaln(complex, 2); }, "[multigammaln] expected real arrays");
  expect_error([] { special::polygamma(1.0, 2.0); }, "[polygamma] expected integers n");
  expect_error([] { special::multigammaln(2.0, 0); }, "[multigammaln] expected a dimension d >= 1");
  expect_error([] { special::bernoulli(-1); }, "[bernoulli] expected an index n >= 0");
  expect_error([] { special::bessel_jn(1.0, {.v = 50}); },
               "[bessel_jn] expected orders 0 <= v < n_iter, got v = 50 and n_iter = 50");
  expect_error([] { special::sph_harm_y(1.0, 0, 0.1, 0.1); },
               "[sph_harm_y] expected integers n and m");
  expect_error(
      [] {
        jit([](const Array& n) { return special::sph_harm_y(n, 0, 0.1, 0.1); })(array({1, 2}));
      },
      "[sph_harm_y] expected n_max, since n is traced");
  expect_error([] { special::xlogy(ones({2}), ones({3})); }, "xlogy");
}

}  // namespace
}  // namespace tessera::test::special_test
