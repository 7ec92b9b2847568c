// Evaluates each op when it is bound, with the naive evaluator: lax functions and the rules of ops
// (jvp, transpose, batch, localize) can be tested on host arrays without a trace or a compiler.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

#include "tessera/base/format_array.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"

namespace tessera {

using namespace ops;

// Prints a literal in the message of a failure.
inline void PrintTo(const Literal& literal, std::ostream* out) { *out << repr(literal); }

}  // namespace tessera

namespace tessera::testing_ops {

inline Array host_array(const Literal& literal, bool weak = false) {
  return Array(std::make_shared<HostData>(
      literal, Type{.dtype = literal.dtype(), .shape = literal.shape(), .weak = weak}));
}

// Evaluates an op. Every result must have the type that infer gives.
inline std::vector<Array> execute_on_host(const OpDef& def, const OpParams& params,
                                          std::span<const Array> operands) {
  std::vector<Type> types;
  std::vector<Literal> literals;
  for (const Array& x : operands) {
    types.push_back(x.type());
    literals.push_back(x.to_host());
  }
  const std::vector<Type> results = def.infer(types, params);
  const std::vector<Literal> values = def.evaluate(literals, params);
  TESSERA_CHECK(values.size() == results.size(), "{}: {} results", def.name, values.size());
  std::vector<Array> out;
  for (size_t r = 0; r < values.size(); ++r) {
    TESSERA_CHECK(values[r].dtype() == results[r].dtype && values[r].shape() == results[r].shape,
                  "{} infers {} and gives {} of {}", def.name, describe(results[r]),
                  values[r].dtype(), values[r].shape());
    out.push_back(Array(std::make_shared<HostData>(values[r], results[r])));
  }
  return out;
}

class HostTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { set_eager_executor(execute_on_host); }
};

// Returns random values of a type: floats in [low, high], small integers (of both signs if the
// dtype is signed), any bool.
inline Literal random_literal(const Type& type, std::mt19937& rng, double low = -2,
                              double high = 2) {
  std::uniform_real_distribution<double> real(low, high);
  std::uniform_int_distribution<int> integer(is_signed(type.dtype) ? -9 : 0, 9), coin(0, 1);
  Literal out(is_complex(type.dtype) ? complex128 : float64, type.shape);
  for (int64_t i = 0; i < out.elements(); ++i) {
    if (is_complex(type.dtype)) {
      out.mutable_data<std::complex<double>>()[i] = {real(rng), real(rng)};
    } else if (type.dtype == bool_) {
      out.mutable_data<double>()[i] = coin(rng);
    } else {
      out.mutable_data<double>()[i] = is_floating(type.dtype) ? real(rng) : integer(rng);
    }
  }
  return convert_literal(out, type.dtype);
}

inline std::vector<Literal> sample_operands(const Sample& sample, std::mt19937& rng) {
  if (!sample.literals.empty()) return sample.literals;
  std::vector<Literal> out;
  for (const Type& type : sample.operands)
    out.push_back(random_literal(type, rng, sample.low, sample.high));
  return out;
}

template <class T = float>
Literal literal(const Shape& shape, std::initializer_list<T> values) {
  return Literal::from<T>(std::span<const T>(values.begin(), values.size()), shape);
}

// Returns the error of `a`, relative to the larger of 1e-300 and |b|. NaNs agree with NaNs, and
// infinities with themselves.
inline double relative_error(std::complex<double> a, std::complex<double> b) {
  auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  if (same(a.real(), b.real()) && same(a.imag(), b.imag())) return 0;
  const double error = std::abs(a - b) / std::max(std::abs(b), 1e-300);
  return std::isnan(error) ? INFINITY : error;
}
// Returns the largest such error over all elements.
inline double largest_error(const Literal& a, const Literal& b) {
  if (a.shape() != b.shape()) return INFINITY;
  const Literal x = convert_literal(a, complex128), y = convert_literal(b, complex128);
  double worst = 0;
  for (int64_t i = 0; i < x.elements(); ++i)
    worst = std::max(worst, relative_error(x.data<std::complex<double>>()[i],
                                           y.data<std::complex<double>>()[i]));
  return worst;
}
// Returns the spacing of numbers of a dtype around 1; 0 for exact dtypes.
inline double epsilon(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBfloat16:
      return 0x1p-7;
    case DType::kFloat32:
      return 0x1p-23;
    case DType::kFloat64:
      return 0x1p-52;
    default:
      return 0;
  }
}

}  // namespace tessera::testing_ops

// Expects that the statement throws a UserError whose message contains `text`.
#define EXPECT_USER_ERROR(statement, text) \
  EXPECT_THAT([&] { statement; },          \
              ::testing::ThrowsMessage<::tessera::UserError>(::testing::HasSubstr(text)))
