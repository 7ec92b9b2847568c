// Runs functions of the numpy layer in both modes: traced and evaluated naively (the oracle of the
// ops), and eagerly (compiled).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tessera/base/visit_dtype.h"
#include "tessera/numpy/creation.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::test {

using namespace tracing;

using Arrays = std::vector<Array>;
using ArraysFn = std::function<Arrays(const Arrays&)>;

struct TracedRun {
  TracedFunction traced;
  std::vector<Literal> values;
};
inline TracedRun trace_and_evaluate(const ArraysFn& f, const std::vector<Literal>& inputs) {
  std::vector<Type> types;
  for (const Literal& x : inputs) types.push_back(Type{.dtype = x.dtype(), .shape = x.shape()});
  TracedFunction traced = trace_function(f, types);
  std::vector<Literal> all = inputs;
  for (const Array& x : traced.captures) all.push_back(x.to_host());
  std::vector<Literal> values = evaluate(traced.function, all);
  return {std::move(traced), std::move(values)};
}
inline std::vector<Literal> run_traced(const ArraysFn& f, const std::vector<Literal>& inputs) {
  return trace_and_evaluate(f, inputs).values;
}

inline std::vector<Literal> run_eagerly(const ArraysFn& f, const std::vector<Literal>& inputs) {
  Arrays arrays;
  for (const Literal& x : inputs) arrays.push_back(Array(x));
  std::vector<Literal> out;
  for (const Array& x : f(arrays)) out.push_back(x.to_host());
  return out;
}

// Reads an element of any real dtype.
template <class T>
double as_double(T x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    return static_cast<float>(x);
  } else {
    return static_cast<double>(x);
  }
}

// Expects equal values: exactly for bool and integers, and within `rtol` and `atol` for floats. NaN
// equals NaN.
inline void expect_close(const Literal& got, const Literal& expected, double rtol = 2e-6,
                         double atol = 2e-6) {
  ASSERT_EQ(got.dtype(), expected.dtype());
  ASSERT_EQ(got.shape(), expected.shape());
  visit_dtype(got.dtype(), [&]<class T>(TypeTag<T>) {
    const T *g = got.data<T>(), *e = expected.data<T>();
    const auto near = [&](double a, double b) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
      return a == b || std::abs(a - b) <= atol + rtol * std::abs(b);
    };
    for (int64_t i = 0; i < got.elements(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        ASSERT_EQ(+g[i], +e[i]) << "element " << i;
      } else if constexpr (requires { g[i].real(); }) {
        ASSERT_TRUE(near(g[i].real(), e[i].real()) && near(g[i].imag(), e[i].imag()))
            << "element " << i << ": " << g[i] << ", expected " << e[i];
      } else {
        ASSERT_TRUE(near(as_double(g[i]), as_double(e[i])))
            << "element " << i << ": " << as_double(g[i]) << ", expected " << as_double(e[i]);
      }
    }
  });
}

class X64 {
 public:
  explicit X64(bool enable) : before_(x64_enabled()) { enable_x64(enable); }
  ~X64() { enable_x64(before_); }

 private:
  bool before_;
};

}  // namespace tessera::test
