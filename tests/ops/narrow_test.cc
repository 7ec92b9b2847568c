// Compares ops on narrow dtypes, evaluated naively, with JAX's (tests/golden/make_narrow.py).
#include "tessera/base/narrow.h"

#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/slice.h"
#include "tests/golden/golden.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::narrow_test {
namespace {

using NarrowArithmetic = HostTest;

const golden::Topic& topic() {
  static const golden::Topic instance("narrow");
  return instance;
}

Literal codes(DType dtype, const std::vector<uint8_t>& bits, const Shape& shape) {
  Literal out(dtype, shape);
  std::memcpy(out.mutable_raw(), bits.data(), bits.size());
  return out;
}

// Returns the bits of each element. All NaNs become the same one, as in the data.
std::vector<int> codes_of(const Literal& literal) {
  std::vector<int> out;
  for (int64_t i = 0; i < literal.elements(); ++i) {
    const auto code = static_cast<uint8_t>(literal.raw()[i]);
    const bool nan = is_narrow(literal.dtype()) && std::isnan(narrow_value(literal.dtype(), code));
    out.push_back(nan ? narrow_bits(literal.dtype(), NAN) : code);
  }
  return out;
}

TEST_F(NarrowArithmetic, ArithmeticOfPairsIsThatOfJax) {
  const std::map<std::string, Array (*)(const Array&, const Array&)> functions = {
      {"add", lax::add},
      {"sub", lax::sub},
      {"mul", lax::mul},
      {"div", lax::div},
      {"max", lax::max},
      {"min", lax::min},
      {"rem", lax::rem},
      {"shift_left", lax::shift_left},
      {"shift_right_arithmetic", lax::shift_right_arithmetic},
      {"shift_right_logical", lax::shift_right_logical},
      {"bitwise_and", lax::bitwise_and},
      {"bitwise_xor", lax::bitwise_xor},
      {"lt", lax::lt},
      {"eq", lax::eq}};
  for (const auto& [name, cases] : topic()["pairs"].items()) {
    const DType dtype = dtype_from_name(name);
    const auto of = cases["of"].get<std::vector<uint8_t>>();
    std::vector<uint8_t> x, y;
    for (uint8_t a : of)
      for (uint8_t b : of) {
        x.push_back(a);
        y.push_back(b);
      }
    const Shape shape{static_cast<int64_t>(x.size())};
    for (const auto& [op, expected] : cases.items()) {
      if (op == "of") continue;
      const Array z =
          functions.at(op)(host_array(codes(dtype, x, shape)), host_array(codes(dtype, y, shape)));
      EXPECT_EQ(z.dtype(), op == "lt" || op == "eq" ? bool_ : dtype);
      EXPECT_EQ(codes_of(z.to_host()), expected.get<std::vector<int>>()) << op << " of " << name;
    }
  }
}

TEST_F(NarrowArithmetic, FunctionsOfOneOperandAreThoseOfJax) {
  const std::map<std::string, Array (*)(const Array&)> functions = {
      {"neg", lax::neg},
      {"sign", lax::sign},
      {"abs", lax::abs},
      {"sin", lax::sin},
      {"floor", lax::floor},
      {"log", lax::log},
      {"clz", lax::clz},
      {"population_count", lax::population_count},
      {"bitwise_not", lax::bitwise_not}};
  for (const auto& [name, cases] : topic()["one"].items()) {
    const DType dtype = dtype_from_name(name);
    std::vector<uint8_t> x(size_t{1} << bit_width(dtype));
    std::iota(x.begin(), x.end(), uint8_t{0});
    const Array all = host_array(codes(dtype, x, {static_cast<int64_t>(x.size())}));
    for (const auto& [op, expected] : cases.items())
      EXPECT_EQ(codes_of(functions.at(op)(all).to_host()), expected.get<std::vector<int>>())
          << op << " of " << name;
  }
}

TEST_F(NarrowArithmetic, BitsOfNegativeIntegersAreCountedInTheirWidth) {
  const Array x = host_array(codes(int4, {0x8, 0xf, 1}, {3}));
  EXPECT_EQ(codes_of(lax::population_count(x).to_host()), (std::vector<int>{1, 4, 1}));
  EXPECT_EQ(codes_of(lax::clz(x).to_host()), (std::vector<int>{0, 0, 3}));
}

TEST_F(NarrowArithmetic, ConversionsAreThoseOfJax) {
  const auto check = [&](const char* inputs, const Literal& x) {
    for (const auto& [name, expected] : topic()[inputs]["codes"].items())
      EXPECT_EQ(codes_of(convert_literal(x, dtype_from_name(name))),
                expected.get<std::vector<int>>())
          << name << " of " << inputs;
  };
  std::vector<float> floats;
  for (uint32_t bits : topic()["floats"]["bits"]) floats.push_back(std::bit_cast<float>(bits));
  check("floats", Literal::from<float>(floats, {static_cast<int64_t>(floats.size())}));
  const auto integers = topic()["integers"]["values"].get<std::vector<int32_t>>();
  check("integers", Literal::from<int32_t>(integers, {static_cast<int64_t>(integers.size())}));
}

TEST_F(NarrowArithmetic, SumsAreRoundedOnce) {
  // 16 + 24 * 0.125 is 19. If each step were rounded to float8_e5m2, whose next number is 20, it
  // would stay 16.
  std::vector<uint8_t> bits(25, narrow_bits(float8_e5m2, 0.125));
  bits[0] = narrow_bits(float8_e5m2, 16);
  const Array sum = lax::reduce_sum(host_array(codes(float8_e5m2, bits, {25})), {0});
  EXPECT_EQ(sum.dtype(), float8_e5m2);
  EXPECT_EQ(narrow_value(float8_e5m2, static_cast<uint8_t>(sum.to_host().raw()[0])), 20);
}

TEST_F(NarrowArithmetic, ExtremaStartFromWhatTheDtypeHas) {
  for (int d = kNumDTypes; d < kNumAllDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const uint8_t code : {narrow_lowest(dtype), narrow_highest(dtype)}) {
      const Array x = host_array(codes(dtype, {code}, {1}));
      EXPECT_EQ(codes_of(lax::reduce_max(x, {0}).to_host()), std::vector<int>{code}) << dtype;
      EXPECT_EQ(codes_of(lax::reduce_min(x, {0}).to_host()), std::vector<int>{code}) << dtype;
    }
  }
}

TEST_F(NarrowArithmetic, ProductsHaveTheDtypeThatIsAskedFor) {
  const Array x = host_array(codes(int4, {0x7, 0xf, 0x2, 0x3}, {2, 2}));
  const Array wide = lax::dot_general(x, x, {{1}, {0}}, int32);
  EXPECT_EQ(wide.dtype(), int32);
  EXPECT_EQ(wide.to_host().data<int32_t>()[0], 7 * 7 - 2);
  EXPECT_EQ(lax::dot_general(x, x, {{1}, {0}}).dtype(), int4);
}

TEST_F(NarrowArithmetic, BitcastsSplitAndJoinBytes) {
  const Array bytes = host_array(Literal::from<uint8_t>(std::vector<uint8_t>{0xa5, 0x3c}, {2}));
  const Array nibbles = lax::bitcast_convert_type(bytes, uint4);
  EXPECT_EQ(nibbles.shape(), (Shape{2, 2}));
  EXPECT_EQ(codes_of(nibbles.to_host()), (std::vector<int>{5, 10, 12, 3}));
  EXPECT_EQ(codes_of(lax::bitcast_convert_type(nibbles, int8).to_host()),
            (std::vector<int>{0xa5, 0x3c}));
  EXPECT_EQ(codes_of(lax::bitcast_convert_type(bytes, float8_e5m2).to_host()),
            (std::vector<int>{0xa5, 0x3c}));
}

TEST_F(NarrowArithmetic, BitcastsAreBetweenMultiples) {
  const Array x = host_array(codes(float6_e2m3fn, {1, 2}, {2}));
  try {
    lax::bitcast_convert_type(x, int8);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a width that is a multiple of the other"));
  }
}

TEST_F(NarrowArithmetic, FunctionsOfTheUserAreOfWideDtypes) {
  Function body;
  const ValueId a = body.add_input({float8_e5m2, {}}), b = body.add_input({float8_e5m2, {}});
  body.outputs = {body.add_op(sub_op, NoParams{}, {a, b}, std::vector{Type{float8_e5m2, {}}})[0]};
  const Array x = host_array(codes(float8_e5m2, {1, 2}, {2})),
              zero = host_array(codes(float8_e5m2, {0}, {}));
  try {
    lax::reduce(std::vector{x}, std::vector{zero},
                std::make_shared<const Function>(std::move(body)), {0});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("convert them to float32 or int8 first"));
  }
}

TEST_F(NarrowArithmetic, IndicesAreOfWideDtypes) {
  const Array x = host_array(Literal::from<float>(std::vector<float>{1, 2}, {2})),
              i = host_array(codes(int4, {1}, {}));
  EXPECT_THROW(lax::dynamic_slice(x, std::vector{i}, {1}), UserError);
}

}  // namespace
}  // namespace tessera::testing_ops::narrow_test
