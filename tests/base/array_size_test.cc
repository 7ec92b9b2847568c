#include "tessera/base/array_size.h"

#include <gtest/gtest.h>

#include "../errors.h"
#include "tessera/base/error.h"
#include "tessera/base/literal.h"

namespace tessera::array_size_test {
namespace {

using test::expect_error;

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(ArraySize, BytesThatFit) {
  EXPECT_EQ(checked_bytes("op", float32, {}), 4);
  EXPECT_EQ(checked_bytes("op", complex128, {3, 5}), 240);
  EXPECT_EQ(checked_bytes("op", float32, {kMaxArrayBytes / 4}), kMaxArrayBytes);
  EXPECT_EQ(checked_bytes("op", float32, {0, 1000}), 0);
}

TEST(ArraySize, RefusesBytesThatDoNotFit) {
  const char* expected = "[op] expected an array of at most 2^60 bytes, got float32 of shape ";
  expect_error([] { checked_bytes("op", float32, {kMaxArrayBytes / 4 + 1}); }, expected);
  expect_error([] { checked_bytes("op", float32, {kHuge}); }, expected);
  // A product of extents that wraps to 0, and a shape without elements whose strides overflow.
  expect_error(
      [] {
        checked_bytes("op", float32, {int64_t{1} << 40, int64_t{1} << 40});
      },
      expected);
  expect_error(
      [] {
        checked_bytes("op", float32, {int64_t{1} << 40, 0, int64_t{1} << 40});
      },
      expected);
}

TEST(ArraySize, SumsAndProducts) {
  EXPECT_EQ(checked_sum("op", -3, 5), 2);
  EXPECT_EQ(checked_product("op", 7, 6), 42);
  expect_error([] { checked_sum("op", kHuge, kHuge); }, "[op] expected an extent of at most 2^60");
  expect_error([] { checked_sum("op", kMaxArrayBytes, 1); }, "[op] expected an extent");
  expect_error([] { checked_product("op", kHuge, 4); }, "[op] expected an extent");
  expect_error([] { checked_product("op", int64_t{1} << 31, int64_t{1} << 31); },
               "[op] expected an extent");
}

TEST(ArraySize, LiteralsAreChecked) {
  expect_error([] { Literal(float64, {kHuge}); },
               "[array] expected an array of at most 2^60 bytes");
  EXPECT_THROW(Literal(uint8, {int64_t{1} << 50}), RuntimeError);
}

}  // namespace
}  // namespace tessera::array_size_test
