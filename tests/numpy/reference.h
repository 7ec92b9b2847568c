// Compares functions with golden/reference.json, which has JAX's results for functions of the same
// names: values, dtypes, weak types and gradients. Also compares each function with itself under
// vmap and on sharded inputs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../golden/golden.h"
#include "run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/quantile.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"
#include "tessera/numpy/sorting.h"

namespace tessera::test {

using Calls = std::map<std::string, ArraysFn>;

inline Arrays pair(const std::pair<Array, Array>& p) { return {p.first, p.second}; }

#define CALL(name, ...)                   \
  {                                       \
    name, [](const Arrays& a) -> Arrays { \
      (void)a;                            \
      return {__VA_ARGS__};               \
    }                                     \
  }
#define CALL_MANY(name, ...)                                    \
  {                                                             \
    name, [](const Arrays& a) -> Arrays { return __VA_ARGS__; } \
  }

struct Result {
  Literal value;
  bool weak = false;
};

inline const golden::Topic& reference() {
  static const golden::Topic topic("reference");
  return topic;
}

// Reads results from the bytes in `values`, one after the other.
class ResultReader {
 public:
  explicit ResultReader(const golden::Json& values) : bytes_(reference().array(values)) {}
  std::vector<Result> next(const golden::Json& outputs) {
    std::vector<Result> out;
    for (const golden::Json& output : outputs) {
      Shape shape;
      for (int64_t d : output[1]) shape.push_back(d);
      Literal value(dtype_from_name(output[0].get<std::string>()), shape);
      if (value.bytes() > 0)
        std::memcpy(value.mutable_raw(), bytes_.data<uint8_t>() + at_,
                    static_cast<size_t>(value.bytes()));
      at_ += value.bytes();
      out.push_back({std::move(value), output[2]});
    }
    return out;
  }

 private:
  Literal bytes_;
  int64_t at_ = 0;
};

inline Arrays arrays_of(const std::vector<Literal>& values) {
  return Arrays(values.begin(), values.end());
}

inline std::vector<Result> eager_results(const ArraysFn& f, const std::vector<Literal>& inputs) {
  std::vector<Result> out;
  for (const Array& x : f(arrays_of(inputs))) out.push_back({x.to_host(), x.weak_type()});
  return out;
}

inline std::vector<Result> traced_results(const ArraysFn& f, const std::vector<Literal>& inputs) {
  const TracedRun run = trace_and_evaluate(f, inputs);
  std::vector<Result> out;
  for (size_t i = 0; i < run.values.size(); ++i)
    out.push_back({run.values[i], run.traced.function.output_types()[i].weak});
  return out;
}

// Returns the largest finite magnitude in x, at least 1: rounding errors of sums are relative to
// it.
inline double largest(const Literal& x) {
  double out = 1;
  visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) {
    for (int64_t i = 0; i < x.elements(); ++i) {
      const T v = x.data<T>()[i];
      double size = 0;
      if constexpr (requires { v.real(); }) {
        size = std::abs(v);
      } else {
        size = std::abs(as_double(v));
      }
      if (std::isfinite(size)) out = std::max(out, size);
    }
  });
  return out;
}

inline double tolerance(DType dtype) {
  if (dtype == bfloat16) return 2e-2;
  if (dtype == float16) return 2e-3;
  return real_dtype(dtype) == float64 ? 1e-12 : 4e-6;
}

inline void expect_results(const std::vector<Result>& got, const std::vector<Result>& expected,
                           double slack = 1) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const Literal& e = expected[i].value;
    const double t = slack * (is_inexact(e.dtype()) ? tolerance(e.dtype()) : 0);
    expect_close(got[i].value, e, t, t * largest(e));
    EXPECT_EQ(got[i].weak, expected[i].weak) << "weak type of result " << i;
  }
}

// Returns the gradients by all float32 inputs of the loss that golden/make_reference.py defines.
inline std::vector<Result> gradients_of(const ArraysFn& f, const std::vector<Literal>& inputs) {
  Arrays by;
  for (const Literal& x : inputs)
    if (x.dtype() == float32) by.push_back(Array(x));
  const auto loss = [&](const Arrays& differentiated) {
    Arrays all;
    size_t next = 0;
    for (const Literal& x : inputs)
      all.push_back(x.dtype() == float32 ? differentiated[next++] : Array(x));
    Array total = zeros(Shape{}, float32);
    for (const Array& y : f(all)) {
      if (!is_inexact(y.dtype())) continue;
      std::vector<float> weights;
      for (int64_t i = 0; i < y.size(); ++i) weights.push_back(1 + static_cast<float>(i % 5) / 4);
      total = total + sum(astype(real(y), float32) * from_host(weights, y.shape()));
    }
    return total;
  };
  std::vector<Result> out;
  for (const Array& x : grad(loss)(by)) out.push_back({x.to_host(), x.weak_type()});
  return out;
}

// Returns three examples of x: itself, and its elements in two other orders.
inline Array examples(const Array& x) {
  const auto turned = [&](int64_t k) { return reshape(roll(ravel(x), k), x.shape()); };
  return stack({x, turned(1), turned(5)});
}

// Expects that vmap over examples of the inputs in `mapped` equals f of each example.
inline void expect_vmap(const ArraysFn& f, const Arrays& inputs, const std::set<size_t>& mapped) {
  Arrays batches;
  for (size_t i : mapped) batches.push_back(examples(inputs[i]));
  const auto of_example = [&](const Arrays& example) {
    Arrays all = inputs;
    size_t next = 0;
    for (size_t i : mapped) all[i] = example[next++];
    return f(all);
  };
  const Arrays got = vmap(of_example)(batches);
  for (int64_t b = 0; b < 3; ++b) {
    Arrays example;
    for (const Array& x : batches) example.push_back(index_in_dim(x, b, 0, false));
    const Arrays expected = of_example(example);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const Literal e = expected[i].to_host();
      const double t = is_inexact(e.dtype()) ? tolerance(e.dtype()) : 0;
      SCOPED_TRACE("example " + std::to_string(b));
      expect_close(index_in_dim(got[i], b, 0, false).to_host(), e, t, t * largest(e));
      EXPECT_EQ(got[i].weak_type(), expected[i].weak_type());
    }
  }
}

// The same with all inputs mapped, and with each one alone.
inline void expect_vmap(const ArraysFn& f, const Arrays& inputs) {
  std::set<size_t> all;
  for (size_t i = 0; i < inputs.size(); ++i) all.insert(i);
  if (!all.empty()) expect_vmap(f, inputs, all);
  for (size_t i = 0; i < inputs.size() && inputs.size() > 1; ++i) expect_vmap(f, inputs, {i});
}

// Expects that jit on inputs sharded along each dimension equals f on whole inputs, for a mesh of 8
// devices with axes x and y.
inline void expect_sharded(const ArraysFn& f, const Arrays& inputs, const Mesh& mesh) {
  Arrays sharded;
  for (const Array& x : inputs) {
    const PartitionSpec spec = x.ndim() == 0   ? P()
                               : x.ndim() == 1 ? P(joint("x", "y"))
                                               : P("x", "y");
    sharded.push_back(device_put(x, NamedSharding(mesh, spec)));
  }
  const Arrays expected = f(inputs), got = jit(f)(sharded);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const Literal e = expected[i].to_host();
    const double t = is_inexact(e.dtype()) ? tolerance(e.dtype()) : 0;
    expect_close(got[i].to_host(), e, t, t * largest(e));
    EXPECT_EQ(got[i].weak_type(), expected[i].weak_type());
  }
}

// Runs a check. A UserError is a failure of the check.
template <class Check>
void guarded(const Check& check) {
  try {
    check();
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

}  // namespace tessera::test
