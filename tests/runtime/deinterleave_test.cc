#include "tessera/runtime/products/deinterleave.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::deinterleave_test {

using namespace runtime;

namespace {

template <class T>
void expect_lines() {
  for (int64_t lines : {2, 3, 4, 8})
    for (int64_t n : {0, 1, 2, 7, 16, 31, 32, 33, 64, 100}) {
      std::vector<T> from(static_cast<size_t>(lines * n)), to(from.size() + 1, T{7}), want = to;
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i * 37 + 11);
      for (int64_t l = 0; l < lines; ++l)
        for (int64_t i = 0; i < n; ++i)
          want[static_cast<size_t>(l * n + i)] = from[static_cast<size_t>(i * lines + l)];
      deinterleave(from.data(), to.data(), lines, n);
      EXPECT_TRUE(to == want) << lines << " lines of " << n << ", " << sizeof(T) << " bytes";
    }
}

TEST(Deinterleave, CopiesLines) {
  expect_lines<uint8_t>();
  expect_lines<uint16_t>();
  expect_lines<uint32_t>();
  expect_lines<uint64_t>();
}

TEST(Deinterleave, IsForAFewLines) {
  for (int64_t lines : {0, 1, 5, 6, 7, 9, 16}) EXPECT_FALSE(can_deinterleave(lines)) << lines;
}

}  // namespace
}  // namespace tessera::deinterleave_test
