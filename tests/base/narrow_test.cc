// The values of narrow dtypes against real JAX's (tests/golden/make_narrow.py).
#include "tessera/base/narrow.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "tessera/base/format_array.h"
#include "tests/golden/golden.h"

namespace tessera::narrow_test {
namespace {

const golden::Topic& topic() {
  static const golden::Topic instance("narrow");
  return instance;
}

TEST(Narrow, EveryCodeHasTheValueThatJaxGives) {
  for (const auto& [name, bits] : topic()["values"].items()) {
    const DType dtype = dtype_from_name(name);
    ASSERT_EQ(bits.size(), size_t{1} << bit_width(dtype)) << name;
    for (size_t code = 0; code < bits.size(); ++code) {
      const auto expected = std::bit_cast<float>(bits[code].get<uint32_t>());
      const auto value = static_cast<float>(narrow_value(dtype, static_cast<uint8_t>(code)));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(value)) << name << " " << code;
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected))
            << name << " " << code;
      }
    }
  }
}

TEST(Narrow, FloatsBecomeTheCodesThatJaxGives) {
  for (const auto& [name, codes] : topic()["doubles"]["codes"].items()) {
    const auto& bits = topic()["doubles"]["bits"];
    for (size_t i = 0; i < codes.size(); ++i) {
      const auto value = std::bit_cast<double>(bits[i].get<uint64_t>());
      const DType dtype = dtype_from_name(name);
      uint8_t code = narrow_bits(dtype, value);
      // The data have one NaN.
      if (std::isnan(narrow_value(dtype, code))) code = narrow_bits(dtype, NAN);
      EXPECT_EQ(code, codes[i].get<int>()) << name << " of " << value;
    }
  }
}

TEST(Narrow, IntegersWrap) {
  EXPECT_EQ(narrow_bits(int4, -1), 0xf);
  EXPECT_EQ(narrow_bits(int4, 8), 0x8);
  EXPECT_EQ(narrow_value(int4, 0x8), -8);
  EXPECT_EQ(narrow_bits(uint2, 7), 3);
  EXPECT_EQ(narrow_value(int2, 0xfe), -2) << "the bits above an element's are not read";
}

TEST(Narrow, FormatsWithoutNansOrInfinities) {
  EXPECT_EQ(narrow_bits(float8_e4m3fn, INFINITY), 0x7f);
  EXPECT_EQ(narrow_bits(float8_e5m2, INFINITY), 0x7c);
  EXPECT_EQ(narrow_bits(float8_e4m3fnuz, -0.0), 0);
  EXPECT_EQ(narrow_bits(float8_e4m3fnuz, 1e9), 0x80);
  EXPECT_EQ(narrow_bits(float6_e2m3fn, 1e9), 0x1f);
  EXPECT_EQ(narrow_bits(float6_e3m2fn, -1e9), 0x3f);
  EXPECT_EQ(narrow_value(float6_e2m3fn, 0x1f), 7.5);
  EXPECT_EQ(narrow_bits(float8_e8m0fnu, -1), 0xff);
}

TEST(Narrow, LiteralsWidenAndAreMadeNarrow) {
  const Literal wide = Literal::from<float>(std::vector<float>{1, -0.3F, 1000, 0}, {2, 2});
  const Literal narrow = narrowed(wide, float8_e4m3fn);
  EXPECT_EQ(narrow.dtype(), float8_e4m3fn);
  EXPECT_EQ(narrow.bytes(), 4);
  const Literal back = widened(narrow);
  EXPECT_EQ(back.dtype(), float32);
  EXPECT_EQ(back.data<float>()[1], -0.3125F);
  EXPECT_TRUE(std::isnan(back.data<float>()[2]));
  Literal dirty(int4, {1});
  dirty.mutable_raw()[0] = std::byte{0xf7};
  EXPECT_EQ(canonical_bits(dirty).raw()[0], std::byte{7});
}

TEST(Narrow, ArraysPrintAsNumPyPrintsThem) {
  Literal f(float8_e5m2, {4});
  for (int i = 0; const double x : {0.1, 1000.0, -2.0, static_cast<double>(NAN)})
    f.mutable_raw()[i++] = static_cast<std::byte>(narrow_bits(float8_e5m2, x));
  EXPECT_EQ(str(f), "[0.09375 1024 -2 nan]");
  Literal i(int4, {2});
  i.mutable_raw()[0] = static_cast<std::byte>(narrow_bits(int4, -1));
  i.mutable_raw()[1] = std::byte{7};
  EXPECT_EQ(str(i), "[-1  7]");
  EXPECT_EQ(repr(i), "Array([-1,  7], dtype=int4)");
  EXPECT_EQ(item_to_string(i, 0), "-1");
}

TEST(Narrow, NamesRoundTrip) {
  for (int d = kNumDTypes; d < kNumAllDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    EXPECT_TRUE(is_narrow(dtype));
    EXPECT_EQ(itemsize(dtype), 1);
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    EXPECT_EQ(dtype_from_mlir_name(mlir_name(dtype)), dtype);
    EXPECT_FALSE(is_narrow(wide_dtype(dtype)));
  }
}

}  // namespace
}  // namespace tessera::narrow_test
