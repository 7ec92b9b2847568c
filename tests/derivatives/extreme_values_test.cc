// Values where others rarely look (golden/make_extremes.py): distributions at NaN, infinities,
// zeros of both signs, the least and the largest normal numbers, against SciPy in float64; and
// functions at denormal numbers, which Tessera keeps and JAX flushes to zero, against exact values.
#include <limits>

#include "derivatives.h"

namespace tessera::derivatives_extreme_values_test {
namespace {

using namespace derivatives_test;

const Row* find_row(const std::string& name) {
  for (const auto* rows :
       {&elementwise_rows(), &lax_rows(), &nn_rows(), &scipy_rows(), &stats_rows()})
    for (const Row& row : *rows)
      if (row.name == name) return &row;
  return nullptr;
}

double element(const Literal& x, int64_t i) {
  return x.dtype() == float32 ? x.data<float>()[i] : x.data<double>()[i];
}

struct Numbers {
  double max, tiny, least, epsilon;
};
template <class T>
Numbers numbers() {
  using Limits = std::numeric_limits<T>;
  return {Limits::max(), Limits::min(), Limits::denorm_min(), Limits::epsilon()};
}
Numbers numbers_of(DType dtype) { return dtype == float32 ? numbers<float>() : numbers<double>(); }

// Elements that are not compared.
struct Excepted {
  const char* name;
  bool (*at)(double x);
};
const std::vector<Excepted> kExcepted = {
    // The probability, of which this is the logarithm, is less than the least number.
    {"jax.scipy.stats.beta.logcdf", [](double x) { return x > 0 && x < 1e-30; }},
    {"jax.scipy.stats.chi2.logcdf", [](double x) { return x > 0 && x < 1e-30; }},
    {"jax.scipy.stats.gamma.logcdf", [](double x) { return x > 0 && x < 1e-30; }},
    // JAX has NaN at 0 and 1, where SciPy has infinities.
    {"jax.scipy.stats.gumbel_l.ppf", [](double x) { return x == 0 || x == 1; }},
    {"jax.scipy.stats.gumbel_r.ppf", [](double x) { return x == 0 || x == 1; }},
};

bool is_excepted(const std::string& name, double x) {
  return std::any_of(kExcepted.begin(), kExcepted.end(),
                     [&](const Excepted& known) { return known.name == name && known.at(x); });
}

// Expects that the values are those of the case, in float64 before they are rounded to the dtype.
// `absolute` is in least denormal numbers.
void compare(const golden::Topic& topic, const golden::Json& c, const std::vector<Literal>& inputs,
             double relative, double absolute) {
  const std::string name = c["name"];
  SCOPED_TRACE(name);
  const Row* row = find_row(name);
  ASSERT_TRUE(row);
  Arrays at;
  for (const Literal& x : inputs) at.push_back(Array(x));
  const Literal have = row->function(at)[0].to_host(), want = topic.array(c["values"]);
  const DType dtype = inputs[0].dtype();
  ASSERT_EQ(have.dtype(), dtype);
  const Numbers n = numbers_of(dtype);
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double x = element(inputs[0], i), a = element(have, i);
    double b = want.data<double>()[i];
    if (std::abs(b) > n.max) b = std::copysign(std::numeric_limits<double>::infinity(), b);
    const bool near =
        a == b || (std::isnan(a) && std::isnan(b)) ||
        std::abs(a - b) <= std::max(absolute * n.least, relative * n.epsilon * std::abs(b));
    EXPECT_TRUE(near || is_excepted(name, x))
        << dtype << " at " << x << ": " << a << " instead of " << b;
  }
}

TEST(ExtremeValues, Distributions) {
  const test::X64 x64(true);
  const golden::Topic topic("extremes");
  for (const golden::Json& c : topic["distributions"])
    compare(topic, c, topic.arrays(c["inputs"]), 200, 1);
  EXPECT_EQ(topic["distributions"].size(), 166U);
}

TEST(ExtremeValues, DenormalsAreKept) {
  const test::X64 x64(true);
  const golden::Topic topic("extremes");
  for (const golden::Json& c : topic["denormals"])
    compare(topic, c, {topic.array(c["inputs"])}, 8, 1);
  EXPECT_EQ(topic["denormals"].size(), 126U);
}

}  // namespace
}  // namespace tessera::derivatives_extreme_values_test
