// Elementwise functions at NaN, infinities, zeros of both signs, the least and the largest normal
// numbers, and where their pieces meet: values and derivatives as in JAX, each element by itself
// (golden/make_extremes.py).
#include <limits>

#include "derivatives.h"
#include "tessera/numpy/activations.h"
#include "tessera/numpy/float_parts.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/sorting.h"
#include "tessera/numpy/ufuncs.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/scipy/special.h"

namespace tessera::derivatives_extremes_test {
namespace {

using namespace derivatives_test;

const std::vector<Row> kRows = {
    CALL("jax.numpy.sin", sin(x[0])),
    CALL("jax.numpy.cos", cos(x[0])),
    CALL("jax.numpy.tan", tan(x[0])),
    CALL("jax.numpy.sinh", sinh(x[0])),
    CALL("jax.numpy.cosh", cosh(x[0])),
    CALL("jax.numpy.tanh", tanh(x[0])),
    CALL("jax.numpy.arcsin", arcsin(x[0])),
    CALL("jax.numpy.arccos", arccos(x[0])),
    CALL("jax.numpy.arctan", arctan(x[0])),
    CALL("jax.numpy.arcsinh", arcsinh(x[0])),
    CALL("jax.numpy.arccosh", arccosh(x[0])),
    CALL("jax.numpy.arctanh", arctanh(x[0])),
    CALL("jax.numpy.exp", exp(x[0])),
    CALL("jax.numpy.exp2", exp2(x[0])),
    CALL("jax.numpy.expm1", expm1(x[0])),
    CALL("jax.numpy.log", log(x[0])),
    CALL("jax.numpy.log2", log2(x[0])),
    CALL("jax.numpy.log10", log10(x[0])),
    CALL("jax.numpy.log1p", log1p(x[0])),
    CALL("jax.numpy.sqrt", sqrt(x[0])),
    CALL("jax.numpy.cbrt", cbrt(x[0])),
    CALL("jax.numpy.square", square(x[0])),
    CALL("jax.numpy.reciprocal", reciprocal(x[0])),
    CALL("jax.numpy.abs", abs(x[0])),
    CALL("jax.numpy.negative", negative(x[0])),
    CALL("jax.numpy.sign", sign(x[0])),
    CALL("jax.numpy.floor", floor(x[0])),
    CALL("jax.numpy.ceil", ceil(x[0])),
    CALL("jax.numpy.rint", rint(x[0])),
    CALL("jax.numpy.trunc", trunc(x[0])),
    CALL("jax.numpy.deg2rad", deg2rad(x[0])),
    CALL("jax.numpy.rad2deg", rad2deg(x[0])),
    CALL("jax.numpy.nan_to_num", nan_to_num(x[0])),
    CALL("jax.numpy.sinc", sinc(x[0])),
    CALL("jax.numpy.modf", modf(x[0])),
    CALL("jax.numpy.angle", angle(x[0])),
    CALL("jax.numpy.real", real(x[0])),
    CALL("jax.numpy.imag", imag(x[0])),
    CALL("jax.lax.rsqrt", lax::rsqrt(x[0])),
    CALL("jax.lax.logistic", lax::logistic(x[0])),
    CALL("jax.lax.erf", lax::erf(x[0])),
    CALL("jax.lax.erfc", lax::erfc(x[0])),
    CALL("jax.lax.erf_inv", lax::erf_inv(x[0])),
    CALL("jax.lax.integer_pow/3", lax::integer_pow(x[0], 3)),
    CALL("jax.lax.integer_pow/-2", lax::integer_pow(x[0], -2)),
    CALL("jax.numpy.clip", clip(x[0], -1, 2)),
    CALL("jax.nn.celu", celu(x[0])),
    CALL("jax.nn.elu", elu(x[0])),
    CALL("jax.nn.gelu", gelu(x[0])),
    CALL("jax.nn.hard_sigmoid", hard_sigmoid(x[0])),
    CALL("jax.nn.hard_silu", hard_silu(x[0])),
    CALL("jax.nn.hard_swish", hard_swish(x[0])),
    CALL("jax.nn.hard_tanh", hard_tanh(x[0])),
    CALL("jax.nn.leaky_relu", leaky_relu(x[0])),
    CALL("jax.nn.log_sigmoid", log_sigmoid(x[0])),
    CALL("jax.nn.mish", mish(x[0])),
    CALL("jax.nn.relu", relu(x[0])),
    CALL("jax.nn.relu6", relu6(x[0])),
    CALL("jax.nn.selu", selu(x[0])),
    CALL("jax.nn.sigmoid", sigmoid(x[0])),
    CALL("jax.nn.silu", silu(x[0])),
    CALL("jax.nn.soft_sign", soft_sign(x[0])),
    CALL("jax.nn.softplus", softplus(x[0])),
    CALL("jax.nn.sparse_plus", sparse_plus(x[0])),
    CALL("jax.nn.sparse_sigmoid", sparse_sigmoid(x[0])),
    CALL("jax.nn.squareplus", squareplus(x[0])),
    CALL("jax.nn.log1mexp", log1mexp(x[0])),
    CALL("jax.nn.gelu/exact", gelu(x[0], false)),
    CALL("jax.scipy.special.entr", scipy::special::entr(x[0])),
    CALL("jax.scipy.special.expit", scipy::special::expit(x[0])),
    CALL("jax.scipy.special.gammaln", scipy::special::gammaln(x[0])),
    CALL("jax.scipy.special.i0e", scipy::special::i0e(x[0])),
    CALL("jax.scipy.special.i1e", scipy::special::i1e(x[0])),
    CALL("jax.scipy.special.log_ndtr", scipy::special::log_ndtr(x[0])),
    CALL("jax.scipy.special.ndtr", scipy::special::ndtr(x[0])),
    CALL("jax.scipy.special.logit", scipy::special::logit(x[0])),
    CALL("jax.scipy.special.ndtri", scipy::special::ndtri(x[0])),
    CALL("jax.numpy.add", add(x[0], x[1])),
    CALL("jax.numpy.subtract", subtract(x[0], x[1])),
    CALL("jax.numpy.multiply", multiply(x[0], x[1])),
    CALL("jax.numpy.divide", divide(x[0], x[1])),
    CALL("jax.numpy.maximum", maximum(x[0], x[1])),
    CALL("jax.numpy.minimum", minimum(x[0], x[1])),
    CALL("jax.numpy.fmax", fmax(x[0], x[1])),
    CALL("jax.numpy.fmin", fmin(x[0], x[1])),
    CALL("jax.numpy.arctan2", arctan2(x[0], x[1])),
    CALL("jax.numpy.hypot", hypot(x[0], x[1])),
    CALL("jax.numpy.logaddexp", logaddexp(x[0], x[1])),
    CALL("jax.numpy.logaddexp2", logaddexp2(x[0], x[1])),
    CALL("jax.numpy.copysign", copysign(x[0], x[1])),
    CALL("jax.numpy.heaviside", heaviside(x[0], x[1])),
    CALL("jax.numpy.remainder", remainder(x[0], x[1])),
    CALL("jax.numpy.fmod", fmod(x[0], x[1])),
    CALL("jax.numpy.floor_divide", floor_divide(x[0], x[1])),
    CALL("jax.numpy.power", power(x[0], x[1])),
    CALL("jax.numpy.float_power", float_power(x[0], x[1])),
    CALL("jax.lax.pow", lax::pow(x[0], x[1])),
    CALL("jax.lax.rem", lax::rem(x[0], x[1])),
    CALL("jax.scipy.special.kl_div", scipy::special::kl_div(x[0], x[1])),
    CALL("jax.scipy.special.rel_entr", scipy::special::rel_entr(x[0], x[1])),
    CALL("jax.scipy.special.xlog1py", scipy::special::xlog1py(x[0], x[1])),
    CALL("jax.scipy.special.xlogy", scipy::special::xlogy(x[0], x[1])),
};

// An element: the inputs (y is 0 if there is one), and the largest and least number of their dtype.
struct At {
  double x, y, max, tiny;
  bool has_size(double size) const { return std::abs(x) == size || std::abs(y) == size; }
};

// Elements that are not compared, because JAX differs and is not right.
struct Excepted {
  const char* name;
  bool (*at)(const At& e);
};
constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<Excepted> kExcepted = {
    // JAX loses the digits of small results, or gives 0 for them.
    {"jax.nn.gelu", [](const At& e) { return e.x <= -6; }},
    {"jax.nn.silu", [](const At& e) { return e.x == -90; }},
    {"jax.nn.mish", [](const At& e) { return e.x == -90; }},
    {"jax.scipy.special.expit", [](const At& e) { return e.x >= 8; }},
    {"jax.scipy.special.log_ndtr", [](const At& e) { return e.x >= 3 || e.x <= -17; }},
    // Outside of its domain the value is NaN, and JAX's derivative is not.
    {"jax.nn.log1mexp", [](const At& e) { return e.x < 0; }},
    // The derivative of NaN is a number in JAX.
    {"jax.scipy.special.i1e", [](const At& e) { return std::isnan(e.x); }},
    // JAX's derivative is -inf on both sides of the pole; from the left, the limit is inf.
    {"jax.scipy.special.gammaln", [](const At& e) { return e.x == 0 && std::signbit(e.x); }},
    // The square of the largest number overflows, and JAX's derivative is NaN.
    {"jax.nn.sparse_plus", [](const At& e) { return e.has_size(e.max); }},
    {"jax.nn.squareplus", [](const At& e) { return e.has_size(e.max); }},
    // The result or a part of JAX's formula overflows or is subnormal.
    {"jax.numpy.divide", [](const At& e) { return e.has_size(e.tiny) || e.has_size(e.max); }},
    {"jax.scipy.special.xlogy", [](const At& e) { return e.has_size(e.max); }},
    {"jax.scipy.special.xlog1py", [](const At& e) { return e.has_size(e.max); }},
    // JAX's derivative is NaN at 0 to the 0, and by x where y is 0.
    {"jax.numpy.power", [](const At& e) { return e.y == 0 || e.has_size(e.max); }},
    {"jax.numpy.float_power", [](const At& e) { return e.y == 0 || e.has_size(e.max); }},
    {"jax.lax.pow", [](const At& e) { return e.y == 0 || e.has_size(e.max); }},
    // JAX has no derivative at infinities (exp(x) if y is infinite), and none where x and y are 0.
    {"jax.numpy.logaddexp", [](const At& e) { return e.has_size(kInf) || e.has_size(e.max); }},
    {"jax.numpy.logaddexp2", [](const At& e) { return e.has_size(kInf) || e.has_size(e.max); }},
    {"jax.numpy.hypot",
     [](const At& e) {
       return e.has_size(kInf) || e.has_size(e.max) || (std::isnan(e.x) && e.y == 0) ||
              (e.x == 0 && (e.y == 0 || std::isnan(e.y)));
     }},
};

// Functions whose derivative is a difference of numbers near 1: it has no more digits than these.
const std::set<std::string> kDifferences = {"jax.numpy.tanh",        "jax.nn.soft_sign",
                                            "jax.nn.squareplus",     "jax.numpy.logaddexp2",
                                            "jax.scipy.special.i0e", "jax.scipy.special.i1e"};

bool is_excepted(const std::string& name, const At& e) {
  return std::any_of(kExcepted.begin(), kExcepted.end(),
                     [&](const Excepted& known) { return known.name == name && known.at(e); });
}

double element(const Literal& x, int64_t i) {
  return x.dtype() == float32 ? x.data<float>()[i] : x.data<double>()[i];
}

// Returns the outputs, their tangents and the gradients, in the order of the golden rows.
Arrays results_of(const Row& row, const Arrays& at) {
  const auto of = [&](const Arrays& x) {
    Arrays out;
    for (const Array& y : row.function(x))
      if (is_inexact(y.dtype())) out.push_back(y);
    return out;
  };
  Arrays out = of(at);
  for (size_t i = 0; i < at.size(); ++i) {
    Arrays along;
    for (size_t j = 0; j < at.size(); ++j) along.push_back(full_like(at[j], i == j ? 1 : 0));
    for (const Array& t : jvp(of, std::tuple(at), std::tuple(along)).second) out.push_back(t);
  }
  const auto total = [&](const Arrays& x) {
    Array sums = zeros({}, x[0].dtype());
    for (const Array& y : of(x)) sums = sums + sum(y);
    return sums;
  };
  for (const Array& g : grad(total)(at)) out.push_back(g);
  return out;
}

void compare(const golden::Topic& topic, const golden::Json& c, const Row& row) {
  std::vector<Literal> inputs = topic.arrays(c["inputs"]);
  const Literal want = topic.array(c["rows"]);
  const bool single = want.dtype() == float32;
  const double max =
      single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const double tiny =
      single ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const double relative = single ? 2e-5 : 1e-12;
  // XLA's numbers below the least normal one are 0.
  const double absolute = kDifferences.contains(row.name) ? (single ? 5e-7 : 1e-15) : 4 * tiny;
  Arrays at;
  for (const Literal& x : inputs) at.push_back(Array(x));
  const Arrays got = results_of(row, at);
  ASSERT_EQ(static_cast<int64_t>(got.size()), want.shape()[0]);
  const int64_t n = want.shape()[1];
  for (size_t r = 0; r < got.size(); ++r) {
    const Literal have = got[r].to_host();
    ASSERT_EQ(have.dtype(), want.dtype());
    for (int64_t i = 0; i < n; ++i) {
      const double a = element(have, i), b = element(want, static_cast<int64_t>(r) * n + i);
      const At e{element(inputs[0], i), inputs.size() > 1 ? element(inputs[1], i) : 0, max, tiny};
      const bool near = a == b || (std::isnan(a) && std::isnan(b)) ||
                        std::abs(a - b) <= std::max(absolute, relative * std::abs(b));
      EXPECT_TRUE(near || is_excepted(row.name, e))
          << "row " << r << " of " << got.size() << " at (" << e.x << ", " << e.y << "): " << a
          << " instead of " << b;
    }
  }
}

TEST(Derivatives, Extremes) {
  const test::X64 x64(true);
  const golden::Topic topic("extremes");
  std::set<std::string> seen;
  for (const golden::Json& c : topic["cases"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    seen.insert(name);
    const auto row =
        std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.name == name; });
    if (row == kRows.end()) {
      ADD_FAILURE() << "no such row";
    } else {
      compare(topic, c, *row);
    }
  }
  for (const Row& row : kRows) EXPECT_TRUE(seen.contains(row.name)) << row.name << " has no data";
}

// What JAX has no derivative for.
TEST(Derivatives, HypotAtInfinities) {
  const test::X64 x64(true);
  const Array x = array({kInf, -kInf, 1.0, kInf, std::nan("")}),
              y = array({1.0, std::nan(""), -kInf, -kInf, kInf});
  const auto total = [](const Array& a, const Array& b) { return sum(hypot(a, b)); };
  EXPECT_EQ(to_vector<double>(hypot(x, y)), std::vector<double>(5, kInf));
  EXPECT_EQ(to_vector<double>(grad(total)(x, y)), (std::vector<double>{1, -1, 0, 1, 0}));
  EXPECT_EQ(to_vector<double>(grad<1>(total)(x, y)), (std::vector<double>{0, 0, -1, 0, 1}));
}

// JAX has these values; its derivatives beside infinities are wrong.
TEST(Derivatives, CumlogsumexpOfInfinities) {
  const test::X64 x64(true);
  const Array x = array({-kInf, 2.0, kInf, kInf, 1.0});
  const auto total = [](const Array& a) { return sum(cumlogsumexp(a)); };
  EXPECT_EQ(to_vector<double>(cumlogsumexp(x)), (std::vector<double>{-kInf, 2, kInf, kInf, kInf}));
  EXPECT_EQ(to_vector<double>(grad(total)(x)), (std::vector<double>{1, 1, 2, 1, 0}));
}

}  // namespace
}  // namespace tessera::derivatives_extremes_test
