// Elementwise functions at NaN, infinities, zeros of both signs, the least and the largest normal
// numbers, and where their pieces meet: values and derivatives as in JAX, each element by itself
// (golden/make_extremes.py).
#include <limits>

#include "derivatives.h"
#include "tessera/numpy/sorting.h"
#include "tessera/numpy/ufuncs.h"
#include "tessera/ops/core/elementwise.h"

namespace tessera::derivatives_extremes_test {
namespace {

using namespace derivatives_test;

// Calls that the other tables do not have, or have with other arguments.
const std::vector<Row> kOwnRows = {
    CALL("jax.numpy.clip", clip(x[0], -1, 2)),
    CALL("jax.lax.integer_pow/3", lax::integer_pow(x[0], 3)),
    CALL("jax.lax.integer_pow/-2", lax::integer_pow(x[0], -2)),
};

// Returns the row of this name; null if there is none.
const Row* find_row(const std::string& name) {
  for (const auto* rows : {&kOwnRows, &elementwise_rows(), &lax_rows(), &nn_rows(), &scipy_rows()})
    for (const Row& row : *rows)
      if (row.name == name) return &row;
  return nullptr;
}

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
    if (const Row* row = find_row(name)) {
      compare(topic, c, *row);
    } else {
      ADD_FAILURE() << "no such row";
    }
  }
  EXPECT_EQ(seen.size(), 102U);
  for (const Row& row : kOwnRows) EXPECT_TRUE(seen.contains(row.name)) << row.name;
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
