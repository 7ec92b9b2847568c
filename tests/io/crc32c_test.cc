#include "tessera/io/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace tessera::internal::crc32c_test {
namespace {

// The values of RFC 3720, B.4, and the check value of catalogues of checksums.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("", 0), 0u);
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
  std::string ascending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), '\0');
  EXPECT_EQ(crc32c(ascending.data(), 32), 0x46dd794eu);
}

TEST(Crc32c, OfPartsIsThatOfTheWhole) {
  std::string bytes(1000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i);
  const uint32_t whole = crc32c(bytes.data(), bytes.size());
  for (size_t cut : {0, 1, 7, 8, 9, 500, 999})
    EXPECT_EQ(crc32c(bytes.data() + cut, bytes.size() - cut, crc32c(bytes.data(), cut)), whole);
}

}  // namespace
}  // namespace tessera::internal::crc32c_test
