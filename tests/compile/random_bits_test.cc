// Compares stablehlo.rng_bit_generator and reduce_precision with JAX's numbers
// (golden/make_random_bits.py).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "../errors.h"
#include "../golden/golden.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/reduce_precision.h"
#include "tessera/tessera.h"

namespace tessera::random_bits_test {
namespace {

using golden::Json;
using test::expect_error;

const golden::Topic& topic() {
  static const golden::Topic& topic = *new golden::Topic("random_bits");
  return topic;
}

std::string program(const std::string& state, const std::string& algorithm,
                    const std::string& bits) {
  return fmt::format(
      "func.func public @main(%arg0: {0}) -> ({0}, {2}) {{\n"
      "  %state, %bits = stablehlo.rng_bit_generator %arg0, algorithm = {1} : ({0}) -> ({0}, {2})\n"
      "  return %state, %bits : {0}, {2}\n}}\n",
      state, algorithm, bits);
}

std::vector<uint64_t> numbers(const Literal& x) {
  const Literal wide = ops::convert_literal(x, uint64);
  return {wide.data<uint64_t>(), wide.data<uint64_t>() + wide.elements()};
}

TEST(RngBitGenerator, GivesJaxsBits) {
  int count = 0;
  for (const Json& c : topic()["bits"]) {
    const Shape shape = golden::dims(c["shape"]);
    const DType dtype = dtype_from_name(c["dtype"].get<std::string>());
    const auto key = c["words"].get<std::vector<uint64_t>>();
    const std::vector<uint64_t> state{key[0] | key[1] << 32, key[2] | key[3] << 32};
    const std::string text = program("tensor<2xui64>", c["algorithm"].get<std::string>(),
                                     fmt::format("{}", ir::Type{.dtype = dtype, .shape = shape}));
    const auto out = ops::evaluate_function(interchange::parse_mlir(text),
                                            std::vector{Literal::from<uint64_t>(state, {2})});
    const auto after = c["state"].get<std::vector<uint64_t>>();
    EXPECT_EQ(numbers(out[0]),
              (std::vector<uint64_t>{after[0] | after[1] << 32, after[2] | after[3] << 32}))
        << c;
    EXPECT_EQ(out[1].shape(), shape);
    EXPECT_EQ(out[1].dtype(), dtype);
    EXPECT_EQ(numbers(out[1]), c["bits"].get<std::vector<uint64_t>>()) << c;
    ++count;
  }
  EXPECT_GE(count, 100);
}

TEST(RngBitGenerator, Errors) {
  const auto parse = [](const char* state, const char* algorithm, const char* bits) {
    return [=] { interchange::parse_mlir(program(state, algorithm, bits)); };
  };
  expect_error(parse("tensor<2xui64>", "MERSENNE", "tensor<4xui32>"),
               "expected the algorithm DEFAULT, PHILOX or THREE_FRY, got MERSENNE");
  expect_error(parse("tensor<4xui64>", "DEFAULT", "tensor<4xui32>"),
               "expected a state of uint64[2], or uint64[3] for Philox, got uint64[4]");
  expect_error(parse("tensor<3xui64>", "THREE_FRY", "tensor<4xui32>"), "got uint64[3]");
  expect_error(parse("tensor<2xui64>", "DEFAULT", "tensor<4xf32>"),
               "expected bits as integers, got float32; bitcast them");
}

template <class T, class Bits>
void expect_rounded(const Json& c, DType dtype) {
  const auto values = topic()["values"].get<std::vector<double>>();
  const std::vector<T> x(values.begin(), values.end());
  const Array given(Literal::from<T>(x, {static_cast<int64_t>(x.size())}));
  ASSERT_EQ(given.dtype(), dtype);
  const int64_t exponent = c["exponent"], mantissa = c["mantissa"];
  const auto expected = c["bits"].get<std::vector<uint64_t>>();
  const auto round = [&](const Array& y) { return lax::reduce_precision(y, exponent, mantissa); };
  for (const Array& y : {round(given), jit(round)(given)}) {
    const Literal out = y.to_host();
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(std::bit_cast<Bits>(out.data<T>()[i]), static_cast<Bits>(expected[i]))
          << x[i] << " as e" << exponent << "m" << mantissa;
  }
}

TEST(ReducePrecision, RoundsAsJax) {
  for (const Json& c : topic()["rounded"]) {
    if (c["dtype"] == "float32") expect_rounded<float, uint32_t>(c, float32);
    if (c["dtype"] == "float64") expect_rounded<double, uint64_t>(c, float64);
  }
}

// As in JAX, its derivative is the op itself: the tangent is rounded too.
TEST(ReducePrecision, RoundsItsDerivative) {
  const auto f = [](const Array& x) { return sum(lax::reduce_precision(x, 5, 2) * 1.3); };
  EXPECT_EQ(grad(f)(full({1}, 3.0F)).to_host().data<float>()[0], 1.25F);
}

TEST(ReducePrecision, Errors) {
  expect_error([] { lax::reduce_precision(arange(3), 5, 2); },
               "[reduce_precision] expected a floating dtype, got int32[3]");
  expect_error([] { lax::reduce_precision(ones({3}), 0, 2); },
               "[reduce_precision] expected 1 or more exponent_bits (C2), got 0");
  expect_error([] { lax::reduce_precision(ones({3}), 5, -1); },
               "[reduce_precision] expected 0 or more mantissa_bits (C3), got -1");
}

}  // namespace
}  // namespace tessera::random_bits_test
