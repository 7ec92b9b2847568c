// Calls of random's functions from the lists of golden/make_random.py and make_samplers.py, and the
// tolerances of their results.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "../golden/golden.h"
#include "../numpy/run.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/random/random.h"

namespace tessera::test {

using golden::Json;

inline random::Key key_of(const Json& words) {
  return random::wrap_key_data(Array(Literal::from<uint32_t>(
      std::vector<uint32_t>{words[0].get<uint32_t>(), words[1].get<uint32_t>()}, {2})));
}

// The parameters of a case.
struct Call {
  const Json& params;
  const std::map<std::string, Array>& inputs;
  Shape out_shape;
  DType out_dtype;

  bool has(const char* name) const { return params.contains(name) || inputs.count(name); }
  Array number(const char* name, Array otherwise = {}) const {
    if (const auto in = inputs.find(name); in != inputs.end()) return in->second;
    if (!params.contains(name)) return otherwise;
    const Json& v = params[name];
    if (v.is_string()) return v == "inf" ? INFINITY : -INFINITY;
    if (v.is_number_integer()) return v.get<int64_t>();
    return v.get<double>();
  }
  OptionalDType dtype() const {
    if (!params.contains("dtype")) return {};
    return dtype_from_name(params["dtype"].get<std::string>());
  }
  std::optional<Shape> shape() const {
    if (!params.contains("shape")) return {};
    return golden::dims(params["shape"]);
  }
  int64_t integer(const char* name, int64_t otherwise) const {
    return params.contains(name) ? params[name].get<int64_t>() : otherwise;
  }
};

inline Array sample(const std::string& f, const random::Key& key, const Call& c) {
  const Shape shape = c.shape().value_or(Shape{});
  if (f == "split") {
    Shape num = c.out_shape;
    num.pop_back();
    return random::key_data(random::split(key, num));
  }
  if (f == "fold_in")
    return random::key_data(random::fold_in(key, c.params["data"].get<int64_t>()));
  if (f == "bits") return random::bits(key, shape, c.dtype());
  if (f == "uniform")
    return random::uniform(key, shape, c.dtype(), c.number("minval", 0.0), c.number("maxval", 1.0));
  if (f == "normal") return random::normal(key, shape, c.dtype());
  if (f == "truncated_normal")
    return random::truncated_normal(key, c.number("lower"), c.number("upper"), c.shape(),
                                    c.dtype());
  if (f == "bernoulli") return random::bernoulli(key, c.number("p", 0.5), c.shape());
  if (f == "randint")
    return random::randint(key, shape, c.number("minval"), c.number("maxval"), c.dtype());
  if (f == "gumbel") return random::gumbel(key, shape, c.dtype());
  if (f == "exponential") return random::exponential(key, shape, c.dtype());
  if (f == "laplace") return random::laplace(key, shape, c.dtype());
  if (f == "logistic") return random::logistic(key, shape, c.dtype());
  if (f == "cauchy") return random::cauchy(key, shape, c.dtype());
  if (f == "rademacher") return random::rademacher(key, shape, c.dtype());
  if (f == "categorical")
    return random::categorical(key, c.number("logits"),
                               {.axis = c.integer("axis", -1),
                                .shape = c.shape(),
                                .replace = c.params.value("replace", true)});
  if (f == "permutation") {
    if (!c.inputs.count("x")) return random::permutation(key, c.params["x"].get<int64_t>());
    const bool independent =
        c.params.contains("independent") && c.params["independent"].get<bool>();
    return random::permutation(key, c.number("x"),
                               {.axis = c.integer("axis", 0), .independent = independent});
  }
  if (f == "gamma") return random::gamma(key, c.number("a"), c.shape(), c.dtype());
  if (f == "loggamma") return random::loggamma(key, c.number("a"), c.shape(), c.dtype());
  if (f == "beta") return random::beta(key, c.number("a"), c.number("b"), c.shape(), c.dtype());
  if (f == "dirichlet") return random::dirichlet(key, c.number("alpha"), c.shape(), c.dtype());
  if (f == "poisson") return random::poisson(key, c.number("lam"), c.shape(), c.dtype());
  if (f == "multivariate_normal")
    return random::multivariate_normal(key, c.number("mean"), c.number("cov"), c.shape(),
                                       c.dtype());
  if (f == "orthogonal") {
    const int64_t n = c.params["n"].get<int64_t>();
    return random::orthogonal(key, n, shape, c.dtype(), c.integer("m", n));
  }
  if (f == "choice") {
    random::ChoiceOptions options{.replace = c.params.value("replace", true),
                                  .axis = c.integer("axis", 0)};
    if (c.inputs.count("p")) options.p = c.number("p");
    if (c.inputs.count("a")) return random::choice(key, c.number("a"), shape, options);
    return random::choice(key, c.params["a"].get<int64_t>(), shape, options);
  }
  ADD_FAILURE() << "no function " << f;
  return {};
}

// Returns the number of representable values between a and b.
template <class T>
int64_t ulps(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, int64_t,
                                  std::conditional_t<sizeof(T) == 4, int32_t, int16_t>>;
  const auto place = [](T x) {
    Bits bits;
    std::memcpy(&bits, &x, sizeof x);
    return bits < 0 ? std::numeric_limits<Bits>::min() - static_cast<int64_t>(bits)
                    : static_cast<int64_t>(bits);
  };
  return std::abs(place(a) - place(b));
}

// How far a sample may be from JAX's: in ulps, and for logarithms of numbers near 1 in units of the
// dtype's epsilon. Samples that are made only of bits must be equal.
struct Tolerance {
  int64_t ulps = 0;
  double epsilons = 0, relative = 0;
};

inline Tolerance tolerance(const std::string& function, DType dtype, bool compiled) {
  static const std::map<std::string, Tolerance> all = {
      {"normal", {3, 0}},      {"truncated_normal", {16, 4}}, {"gumbel", {8, 4}},
      {"exponential", {4, 4}}, {"laplace", {4, 4}},           {"logistic", {16, 4}},
      {"cauchy", {16, 4}}};
  // These are made of several logarithms and roots, or of a whole matrix.
  static const std::set<std::string> composed = {
      "gamma", "loggamma", "beta", "dirichlet", "multivariate_normal", "orthogonal"};
  if (composed.count(function))
    return {0, 64, dtype == float64 ? 1e-10 : dtype == float32 ? 1e-5 : 1e-2};
  const auto at = all.find(function);
  if (at == all.end()) return {};
  // JAX rounds to half types after each op. So do the samplers, if it matters.
  if (is_half(dtype)) return {2, 0};
  // XLA's erf_inv and log1p are not exact. The naive evaluator's libm is exact, and so are the
  // kernels in float64.
  if (dtype == float64 || dtype == complex128) return {64, 32};
  if (!compiled) return {16, 8};
  return at->second;
}

template <class T>
bool within(T got, T expected, Tolerance t) {
  const double epsilon = sizeof(T) == 8               ? 0x1p-52
                         : std::is_same_v<T, float>   ? 0x1p-23
                         : std::is_same_v<T, Float16> ? 0x1p-10
                                                      : 0x1p-7;
  const double a = as_double(got), b = as_double(expected);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return ulps(got, expected) <= t.ulps || std::abs(a - b) <= t.relative * std::abs(b) ||
         std::abs(a - b) <= t.epsilons * epsilon;
}

inline void expect_within(const Literal& got, const Literal& expected, Tolerance t) {
  ASSERT_EQ(got.dtype(), expected.dtype());
  ASSERT_EQ(got.shape(), expected.shape());
  visit_dtype(got.dtype(), [&]<class T>(TypeTag<T>) {
    const T *g = got.data<T>(), *e = expected.data<T>();
    for (int64_t i = 0; i < got.elements(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        ASSERT_EQ(+g[i], +e[i]) << "element " << i;
      } else if constexpr (requires { g[i].real(); }) {
        ASSERT_TRUE(within(g[i].real(), e[i].real(), t) && within(g[i].imag(), e[i].imag(), t))
            << "element " << i;
      } else {
        ASSERT_TRUE(within(g[i], e[i], t))
            << "element " << i << ": " << as_double(g[i]) << ", expected " << as_double(e[i])
            << ", " << ulps(g[i], e[i]) << " ulp away";
      }
    }
  });
}

}  // namespace tessera::test
