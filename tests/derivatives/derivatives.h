// Compares functions with the topics "derivatives_..." (golden/make_derivatives.py): values,
// tangents, gradients, tangents of gradients, and gradients under vmap. A test file is a table with
// one line for each function.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../golden/golden.h"
#include "../numpy/run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::derivatives_test {

using test::Arrays;

struct Row {
  const char* name;
  Arrays (*function)(const Arrays& x);
};

inline Arrays results(const Array& y) { return {y}; }
inline Arrays results(const Arrays& y) { return y; }
inline Arrays results(const std::pair<Array, Array>& y) { return {y.first, y.second}; }

// A row: the name in JAX, with what is special about the case after a slash, and the call of it.
#define CALL(name, ...)                                                                   \
  Row {                                                                                   \
    name, []([[maybe_unused]] const Arrays& x) -> Arrays { return results(__VA_ARGS__); } \
  }

// The data of one file of this folder.
class Section {
 public:
  explicit Section(const char* file) : topic_(std::string("derivatives_") + file) {
    floats_ = pool("floats", "float64");
    integers_ = pool("integers", "int64");
  }

  const golden::Json& cases() const { return topic_["cases"]; }

  Literal literal(const golden::Json& reference) const {
    Literal out(dtype_from_name(reference[0].get<std::string>()), golden::dims(reference[1]));
    const int64_t place = reference[2].get<int64_t>();
    visit_dtype(out.dtype(), [&]<class T>(TypeTag<T>) {
      for (int64_t i = 0; i < out.elements(); ++i) out.mutable_data<T>()[i] = element<T>(place, i);
    });
    return out;
  }
  std::vector<Literal> literals(const golden::Json& references) const {
    std::vector<Literal> out;
    for (const golden::Json& r : references) out.push_back(literal(r));
    return out;
  }

 private:
  Literal pool(const char* key, const char* dtype) {
    const golden::Json& size = topic_["sizes"][key];
    return topic_.array({{"key", key}, {"dtype", dtype}, {"shape", {size}}});
  }
  template <class T>
  T element(int64_t place, int64_t i) const {
    if constexpr (requires(T t) { t.real(); }) {
      const double* at = floats_.data<double>() + place + 2 * i;
      return T(at[0], at[1]);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(floats_.data<double>()[place + i]);
    } else {
      return static_cast<T>(integers_.data<int64_t>()[place + i]);
    }
  }

  golden::Topic topic_;
  Literal floats_, integers_;
};

// The tangent that the data is made with.
inline Array direction(const Array& x, double start) {
  const Array t = reshape(cos(start + arange(x.size(), float64)), x.shape());
  return is_complex(x.dtype()) ? t * Array(std::complex<double>(1, 0.5)) : astype(t, x.dtype());
}

inline Array loss(const Arrays& outputs) {
  Array total = 0.0;
  for (const Array& y : outputs) {
    if (!is_inexact(y.dtype())) continue;
    Array weights = cos(1.0 + arange(y.size(), float64));
    if (is_complex(y.dtype())) weights = weights * Array(std::complex<double>(1, -0.5));
    total = total + real(sum(ravel(y) * weights));
  }
  return total;
}

// Compares elements with a tolerance relative to the largest finite one. NaN equals NaN.
inline void expect_near(const Literal& got, const Literal& want, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  visit_dtype(got.dtype(), [&]<class T>(TypeTag<T>) {
    const auto parts = [](const T& x) -> std::complex<double> {
      if constexpr (requires { x.real(); }) {
        return {x.real(), x.imag()};
      } else {
        return {test::as_double(x), 0};
      }
    };
    double scale = 1e-3;
    for (int64_t i = 0; i < want.elements(); ++i) {
      const double size = std::abs(parts(want.data<T>()[i]));
      if (std::isfinite(size)) scale = std::max(scale, size);
    }
    const bool single = got.dtype() == float32 || got.dtype() == complex64;
    const double bound = is_inexact(got.dtype()) ? tolerance * scale * (single ? 1e-6 : 1e-11) : 0;
    const auto near = [&](double a, double b) {
      return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= bound;
    };
    for (int64_t i = 0; i < want.elements(); ++i) {
      const std::complex<double> g = parts(got.data<T>()[i]), w = parts(want.data<T>()[i]);
      EXPECT_TRUE(near(g.real(), w.real()) && near(g.imag(), w.imag()))
          << what << ", element " << i << ": " << g << " instead of " << w;
    }
  });
}

inline void expect_all(const Arrays& got, const std::vector<Literal>& want, double tolerance,
                       const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    expect_near(got[i].to_host(), want[i], tolerance, what + " " + std::to_string(i));
}

// Compares the derivatives of one case.
inline void check_derivatives(const Section& data, const golden::Json& c, const Row& row,
                              const Arrays& inputs, double tolerance) {
  const auto of = [&](const Arrays& at) {
    Arrays all = inputs;
    for (size_t k = 0; k < at.size(); ++k) all[c["by"][k].get<size_t>()] = at[k];
    Arrays inexact;
    for (const Array& y : row.function(all))
      if (is_inexact(y.dtype())) inexact.push_back(y);
    return inexact;
  };
  Arrays at, along;
  for (const golden::Json& i : c["by"]) {
    at.push_back(inputs[i.get<size_t>()]);
    along.push_back(direction(at.back(), 1.0 + static_cast<double>(at.size())));
  }
  if (c.contains("tangents"))
    expect_all(jvp(of, std::tuple(at), std::tuple(along)).second, data.literals(c["tangents"]),
               tolerance, "tangent");
  if (!c.contains("gradients")) return;
  const auto gradient = grad([&](const Arrays& by) { return loss(of(by)); });
  const std::vector<Literal> want = data.literals(c["gradients"]);
  expect_all(gradient(at), want, tolerance, "gradient");
  Arrays pairs, second;
  for (const Array& x : at) pairs.push_back(stack({x * 0.5, x}));
  for (const Array& g : vmap(gradient)(pairs)) second.push_back(index_in_dim(g, 1, 0, false));
  expect_all(second, want, tolerance, "gradient under vmap");
  if (!c.contains("second")) return;
  expect_all(jvp(gradient, std::tuple(at), std::tuple(along)).second, data.literals(c["second"]),
             tolerance, "tangent of the gradient");
}

// The tables of these files, which extremes_test.cc and extreme_values_test.cc read too.
const std::vector<Row>& elementwise_rows();
const std::vector<Row>& lax_rows();
const std::vector<Row>& nn_rows();
const std::vector<Row>& scipy_rows();
const std::vector<Row>& stats_rows();

// Compares every case of a file. Expects that the rows are exactly these cases.
inline void check_section(const char* file, const std::vector<Row>& rows) {
  const test::X64 x64(true);
  const Section data(file);
  std::set<std::string> seen;
  for (const golden::Json& c : data.cases()) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    seen.insert(name);
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
    if (row == rows.end()) {
      ADD_FAILURE() << "no such row";
      continue;
    }
    const double tolerance = c.contains("tolerance") ? c["tolerance"].get<double>() : 1;
    Arrays inputs;
    for (const Literal& x : data.literals(c["inputs"])) inputs.push_back(Array(x));
    try {
      expect_all(row->function(inputs), data.literals(c["outputs"]), tolerance, "value");
      if (!c.contains("no")) check_derivatives(data, c, *row, inputs, tolerance);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  for (const Row& row : rows) EXPECT_TRUE(seen.contains(row.name)) << row.name << " has no data";
}

}  // namespace tessera::derivatives_test
