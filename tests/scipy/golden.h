// Compares functions of scipy/ with golden data: float64 values and derivatives, in a file for each
// module (tests/golden/make_scipy_*.py).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "../golden/golden.h"
#include "../numpy/run.h"
#include "tessera/compile/grad.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::test {

// A function of float64 arrays, and the tolerances of its values and derivatives.
struct Compared {
  std::function<Arrays(const Arrays&)> f;
  double value = 1e-14;  // relative to the size of the value, and to `scale` where that is larger
  double slope = 1e-12;  // the same for derivatives
  double scale = 0;
};
using ComparedFunctions = std::map<std::string, Compared>;

// The largest error |got - expected| / max(|expected|, scale); infinite if one is finite and the
// other is not.
struct Worst {
  double error = 0;
  int64_t at = -1;
};
template <class T>
Worst worst_error(const Literal& got, const Literal& expected, double scale) {
  Worst out;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const T g = got.data<T>()[i], e = expected.data<T>()[i];
    double error;
    if (g == e || (g != g && e != e)) {
      error = 0;
    } else {
      const double size = std::max(static_cast<double>(std::abs(e)), scale);
      error = static_cast<double>(std::abs(g - e)) / size;
      if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
    }
    if (error > out.error) out = {error, i};
  }
  return out;
}

inline void expect_near(const Literal& got, const Literal& expected, double tolerance, double scale,
                        const std::string& what, const std::vector<Literal>& arguments) {
  ASSERT_EQ(got.dtype(), expected.dtype()) << what;
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  const bool complex = is_complex(expected.dtype());
  const Worst worst = complex ? worst_error<std::complex<double>>(got, expected, scale)
                              : worst_error<double>(got, expected, scale);
  if (std::getenv("TESSERA_SHOW_ERRORS"))
    std::cout << what << ": " << worst.error << " (" << tolerance << ")\n";
  if (worst.error <= tolerance) return;
  std::string at;
  for (const Literal& x : arguments)
    at += " " + (is_complex(x.dtype())
                     ? fmt::format("{}+{}i", x.data<std::complex<double>>()[worst.at].real(),
                                   x.data<std::complex<double>>()[worst.at].imag())
                     : fmt::format("{}", x.data<double>()[worst.at]));
  const auto text = [&](const Literal& y) {
    return complex ? fmt::format("{}+{}i", y.data<std::complex<double>>()[worst.at].real(),
                                 y.data<std::complex<double>>()[worst.at].imag())
                   : fmt::format("{}", y.data<double>()[worst.at]);
  };
  ADD_FAILURE() << what << ": relative error " << worst.error << " beyond " << tolerance << " at"
                << at << ": " << text(got) << " instead of " << text(expected);
}

inline Arrays as_arrays(const std::vector<Literal>& values) {
  return Arrays(values.begin(), values.end());
}

// Returns the derivative of result k at every element by argument i. Elements do not depend on one
// another.
inline Array slope_of(const Compared& compared, const Arrays& arguments, size_t i, size_t k) {
  const auto loss = [&](const Array& x) {
    Arrays all = arguments;
    all[i] = x;
    const Array y = compared.f(all)[k];
    return is_complex(y.dtype()) ? sum(real(y)) : sum(y);
  };
  // As in JAX, the gradient of the real part of an analytic function is its derivative.
  return grad(loss)(arguments[i]);
}

inline void expect_points(const golden::Topic& topic, const ComparedFunctions& functions) {
  for (const golden::Json& p : topic["points"]) {
    const std::string name = p["name"];
    ASSERT_TRUE(functions.contains(name)) << name;
    const Compared& compared = functions.at(name);
    const std::vector<Literal> arguments = topic.arrays(p["arguments"]);
    const Arrays inputs = as_arrays(arguments), values = compared.f(inputs);
    ASSERT_EQ(values.size(), p["values"].size()) << name;
    for (size_t k = 0; k < values.size(); ++k) {
      expect_near(values[k].to_host(), topic.array(p["values"][k]), compared.value, compared.scale,
                  fmt::format("{}[{}]", name, k), arguments);
      for (size_t i = 0; i < inputs.size(); ++i)
        if (!p["by"][i].is_null())
          expect_near(slope_of(compared, inputs, i, k).to_host(), topic.array(p["by"][i][k]),
                      compared.slope, compared.scale, fmt::format("{}[{}] by {}", name, k, i),
                      arguments);
    }
  }
}

inline void expect_edges(const golden::Topic& topic, const ComparedFunctions& functions) {
  for (const golden::Json& p : topic["edges"]) {
    const std::string name = p["name"];
    ASSERT_TRUE(functions.contains(name)) << name;
    const std::vector<Literal> arguments = topic.arrays(p["arguments"]);
    const Arrays values = functions.at(name).f(as_arrays(arguments));
    ASSERT_EQ(values.size(), p["values"].size()) << name;
    for (size_t k = 0; k < values.size(); ++k)
      expect_near(values[k].to_host(), topic.array(p["values"][k]), 1e-12, 1,
                  fmt::format("edges of {}[{}]", name, k), arguments);
  }
}

}  // namespace tessera::test
