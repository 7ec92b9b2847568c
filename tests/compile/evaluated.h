// Compares compiled programs with the naive evaluation of the traced function.
#pragma once

#include <cmath>

#include "tessera/compile/pipeline.h"
#include "tessera/ops/core/convert.h"
#include "tests/compile/devices.h"
#include "tests/evaluate/evaluate.h"

namespace tessera {

using namespace tracing;

using ArraysFn = std::function<std::vector<Array>(const std::vector<Array>&)>;

// Returns numbers of both signs, a few of them equal. They are a function of the seed.
inline Literal test_values(DType dtype, const Shape& shape, int64_t seed) {
  Literal out(float64, shape);
  const int64_t least = is_unsigned(dtype) ? 0 : 3;
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<double>()[i] = static_cast<double>((i * 37 + seed * 11) % 29) / 4 - least;
  return convert_literal(out, dtype);
}

// Returns a text about the first difference above `tolerance` (relative for numbers above 1); empty
// if there is none.
inline std::string difference(const Literal& got, const Literal& want, double tolerance) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return fmt::format("{}{} for {}{}", got.dtype(), got.shape(), want.dtype(), want.shape());
  const DType wide = is_complex(want.dtype()) ? complex128 : float64;
  const Literal a = convert_literal(got, wide), b = convert_literal(want, wide);
  const int64_t n = a.elements() * (is_complex(wide) ? 2 : 1);
  const auto *p = reinterpret_cast<const double*>(a.raw()),
             *q = reinterpret_cast<const double*>(b.raw());
  for (int64_t i = 0; i < n; ++i) {
    if (p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i]))) continue;
    if (!(std::abs(p[i] - q[i]) <= tolerance * (1 + std::abs(q[i]))))
      return fmt::format("element {}: {} for {}", i, p[i], q[i]);
  }
  return {};
}

inline double float_tolerance(DType dtype) {
  return dtype == bfloat16 ? 3e-2 : dtype == float16 ? 4e-3 : is_inexact(dtype) ? 3e-5 : 0;
}

// Compares f under jit, on these arrays with their shardings, with its evaluation. Returns a text
// about the difference, or an empty one.
inline std::string check_evaluated(const ArraysFn& f, const std::vector<Array>& arrays) {
  try {
    const auto jitted = jit(f);
    std::vector<Literal> inputs;
    for (const Array& x : arrays) inputs.push_back(x.to_host());
    const std::vector<Literal> want = evaluate(jitted.lower(arrays).stages().traced, inputs);
    const std::vector<Array> got = jitted(arrays);
    for (size_t r = 0; r < want.size(); ++r) {
      const std::string wrong =
          difference(got[r].to_host(), want[r], float_tolerance(want[r].dtype()));
      if (!wrong.empty()) return fmt::format("result {}: {}", r, wrong);
    }
  } catch (const InternalError& e) {
    return e.what();
  }
  return {};
}

}  // namespace tessera
