// Compares functions with a topic of calls (golden.py's Calls): values eagerly and traced, under
// vmap, and gradients, in float32 and in float64.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "../golden/golden.h"
#include "run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::test {

using CallTable = std::map<std::string, ArraysFn>;

inline Arrays leaves_of(const std::pair<Array, Array>& p) { return {p.first, p.second}; }

// Compares `got`, one `what` after the other.
inline void expect_arrays(const std::vector<Literal>& got, const std::vector<Literal>& want,
                          double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(std::string(what) + " " + std::to_string(i));
    const bool wide = got[i].dtype() == float64 || got[i].dtype() == complex128;
    const double bound = tolerance * (wide ? 1e-11 : 1e-5);
    expect_close(got[i], want[i], bound, bound);
  }
}

// Returns the gradients of golden.py's loss by all inexact inputs.
inline Arrays call_gradients(const ArraysFn& f, const Arrays& inputs) {
  Arrays inexact;
  for (const Array& x : inputs)
    if (is_inexact(x.dtype())) inexact.push_back(x);
  const auto loss = [&](const Arrays& by) {
    Arrays all = inputs;
    size_t next = 0;
    for (Array& x : all)
      if (is_inexact(x.dtype())) x = by[next++];
    Array total = 0.0;
    for (const Array& y : f(all)) {
      if (!is_inexact(y.dtype())) continue;
      const Array weights = cos(1.0 + arange(y.size(), default_float()));
      total = total + real(sum(ravel(y) * weights));
    }
    return total;
  };
  return grad(loss)(inexact);
}

inline void check_call(const golden::Topic& topic, const golden::Json& c, const ArraysFn& f) {
  const X64 x64(c["x64"].get<bool>());
  const double tolerance = c.contains("tolerance") ? c["tolerance"].get<double>() : 1.0;
  const std::vector<Literal> inputs = topic.arrays(c["inputs"]), want = topic.arrays(c["outputs"]);
  expect_arrays(run_eagerly(f, inputs), want, tolerance, "output");
  if (c.contains("traced")) return;
  expect_arrays(run_traced(f, inputs), want, tolerance, "traced output");
  Arrays arrays;
  for (const Literal& x : inputs) arrays.push_back(Array(x));
  if (!arrays.empty()) {
    Arrays twice;
    for (const Array& x : arrays) twice.push_back(stack({x, x}));
    std::vector<Literal> second;
    for (const Array& y : vmap(f)(twice)) second.push_back(index_in_dim(y, 1, 0, false).to_host());
    expect_arrays(second, want, tolerance, "output under vmap");
  }
  if (c.contains("gradients")) {
    std::vector<Literal> got;
    for (const Array& g : call_gradients(f, arrays)) got.push_back(g.to_host());
    expect_arrays(got, topic.arrays(c["gradients"]), 4 * tolerance, "gradient");
  }
}

// Compares every call of the section. Expects that the table has exactly these calls.
inline void check_calls(const char* topic_name, const char* section, const CallTable& table) {
  const golden::Topic topic(topic_name);
  std::set<std::string> seen;
  for (const golden::Json& c : topic["sections"][section]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name + (c["x64"].get<bool>() ? ", x64" : ""));
    seen.insert(name);
    const auto at = table.find(name);
    ASSERT_NE(at, table.end()) << "no such call here";
    check_call(topic, c, at->second);
  }
  for (const auto& [name, call] : table) EXPECT_TRUE(seen.contains(name)) << name << " has no data";
}

#define TESSERA_CALL(name, ...)                       \
  {                                                   \
    name, [](const test::Arrays& a) -> test::Arrays { \
      (void)a;                                        \
      return {__VA_ARGS__};                           \
    }                                                 \
  }
// An entry with statements that return a vector of results.
#define TESSERA_CALL_MANY(name, ...)                  \
  {                                                   \
    name, [](const test::Arrays& a) -> test::Arrays { \
      (void)a;                                        \
      __VA_ARGS__                                     \
    }                                                 \
  }

}  // namespace tessera::test
