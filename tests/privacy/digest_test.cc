// Digests: they have the standard's values, and different lists of parts have different digests.
#include "tessera/privacy/digest.h"

#include <gtest/gtest.h>

#include <set>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"

namespace tessera::privacy::internal::digest_test {
namespace {

std::string of(const std::vector<std::string>& parts) {
  Digest digest;
  for (const std::string& part : parts) digest.add(part);
  return digest.hex();
}
std::string of(const Array& array) {
  Digest digest;
  digest.add(array);
  return digest.hex();
}

// Python: hashlib.blake2b(struct.pack("<q", 3) + b"abc", digest_size=32).hexdigest().
TEST(DigestTest, IsBlake2b) {
  EXPECT_EQ(digest_of("abc"), "3bdc62cfd65e3b78e3d90e32e0a91ebfbc229c30abe54e6abd16c5d4def0db7b");
  EXPECT_EQ(of(std::vector<std::string>{}),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

TEST(DigestTest, PartsDoNotRunTogether) {
  const std::set<std::string> digests{of({"ab", "c"}), of({"a", "bc"}), of({"abc"}),
                                      of({"abc", ""}), of({"", "abc"})};
  EXPECT_EQ(digests.size(), 5);
}

TEST(DigestTest, OfArraysDtypeShapeAndEveryElement) {
  const Array x = arange(6);
  EXPECT_EQ(of(x), of(arange(6)));
  EXPECT_EQ(of(x), of(x + 0));  // the same on a device and on the host
  const std::set<std::string> digests{
      of(x),         of(reshape(x, {2, 3})),       of(astype(x, float32)), of(astype(x, uint32)),
      of(arange(7)), of(array({0, 1, 2, 3, 4, 6}))};
  EXPECT_EQ(digests.size(), 6);
}

// An array that is larger than the parts that are copied to the host has the digest of the whole.
TEST(DigestTest, OfLargeArraysInParts) {
  const int64_t rows = 5, columns = int64_t{4} << 20;  // 16 MiB in each row; parts have four rows
  std::vector<float> values(static_cast<size_t>(rows * columns), 1);
  const Array whole = from_host(values, {rows, columns});
  const std::string before = of(whole);
  values.back() = 2;
  EXPECT_NE(of(from_host(values, {rows, columns})), before);
  values.back() = 1;
  EXPECT_EQ(of(from_host(values, {rows, columns}) + 0), before);
}

}  // namespace
}  // namespace tessera::privacy::internal::digest_test
