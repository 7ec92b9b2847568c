#include "tessera/privacy/secret_key.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "tests/sanitizers.h"

namespace tessera::privacy::internal::secret_key_test {
namespace {

SecretKey key_of_zeros() { return SecretKey(std::array<std::byte, SecretKey::kBytes>{}); }

std::vector<std::byte> stream(const SecretKey& key, uint64_t nonce, uint64_t block, size_t size) {
  std::vector<std::byte> out(size, std::byte{1});
  key.fill(nonce, block, out);
  return out;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return out;
}

// RFC 8439, appendix A.1, test vectors 1 and 2, which also have a nonce of 0.
TEST(SecretKey, StreamsAreThoseOfChaCha20) {
  EXPECT_EQ(hex(stream(key_of_zeros(), 0, 0, 16)), "76b8e0ada0f13d90405d6ae55386bd28");
  EXPECT_EQ(hex(stream(key_of_zeros(), 0, 1, 16)), "9f07e7be5551387a98ba977c732d080d");
}

TEST(SecretKey, ABlockDoesNotNeedThoseBefore) {
  const SecretKey key = SecretKey::of_system();
  const std::vector<std::byte> whole = stream(key, 7, 0, 40 * SecretKey::kBlock);
  for (const uint64_t block : {1, 2, 7, 8, 9, 33}) {
    for (const size_t size : {1, 63, 64, 65, 448}) {
      const auto first = whole.begin() + static_cast<int64_t>(block * SecretKey::kBlock);
      EXPECT_EQ(stream(key, 7, block, size), std::vector(first, first + static_cast<int64_t>(size)))
          << block << " " << size;
    }
  }
  // The number of a block has 64 bits.
  const uint64_t far = uint64_t{1} << 32;
  EXPECT_NE(stream(key, 7, far, 64), stream(key, 7, 0, 64));
  const std::vector<std::byte> over = stream(key, 7, far - 1, 128);
  EXPECT_EQ(std::vector(over.begin() + 64, over.end()), stream(key, 7, far, 64));
  key.fill(7, 0, {});
}

TEST(SecretKey, KeysAndNoncesShareNothing) {
  const SecretKey a = SecretKey::of_system(), b = SecretKey::of_system();
  EXPECT_NE(hex(a.bytes()), hex(b.bytes()));
  EXPECT_NE(stream(a, 0, 0, 64), stream(b, 0, 0, 64));
  EXPECT_NE(stream(a, 0, 0, 64), stream(a, 1, 0, 64));
  EXPECT_NE(stream(a, 0, 0, 64), stream(a, uint64_t{1} << 63, 0, 64));
  const SecretKey copy = a;
  EXPECT_EQ(stream(a, 5, 3, 64), stream(copy, 5, 3, 64));
  // A process without a cluster has its own key.
  EXPECT_NE(hex(SecretKey::of_cluster("a key").bytes()),
            hex(SecretKey::of_cluster("a key").bytes()));
}

// Keys of the system and their streams: counts of bits and bytes are within five and six standard
// deviations.
TEST(SecretKey, BytesAreUniform) {
  std::vector<std::byte> keys;
  for (int i = 0; i < 1 << 13; ++i) {
    const SecretKey key = SecretKey::of_system();
    keys.insert(keys.end(), key.bytes().begin(), key.bytes().end());
  }
  for (const auto& bytes : {keys, stream(SecretKey::of_system(), 1, 1, 1 << 18)}) {
    ASSERT_EQ(bytes.size(), size_t{1} << 18);
    int64_t ones = 0;
    std::vector<int64_t> counts(256);
    for (const std::byte b : bytes) {
      ones += std::popcount(std::to_integer<unsigned>(b));
      ++counts[std::to_integer<size_t>(b)];
    }
    EXPECT_NEAR(static_cast<double>(ones), 4.0 * (1 << 18), 5 * std::sqrt(2.0 * (1 << 18)));
    for (const int64_t count : counts)
      EXPECT_NEAR(static_cast<double>(count), 1024, 6 * std::sqrt(1024.0));
  }
}

// Returns the line of /proc/self/smaps that begins with `begin`, for the mapping with this address.
std::string mapping_line(const void* address, const std::string& begin) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
      inside = from <= wanted && wanted < to;
    if (inside && line.starts_with(begin)) return line;
  }
  return "";
}

// The address and thread sanitizers replace mlock with a function that does nothing.
bool locks() { return !has_sanitizer(); }

// The mapping has the flags "lo" (locked) and "dd" (not dumped) as long as the key or a copy
// exists; then the memory is gone.
TEST(SecretKey, MemoryIsLockedAndEndsWithTheLastCopy) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  if (limit.rlim_cur < (1 << 16)) GTEST_SKIP() << "this process may lock no memory";
  std::optional<SecretKey> key = SecretKey::of_system(), copy = key;
  const void* address = key->bytes().data();
  EXPECT_EQ(copy->bytes().data(), address);
  key.reset();
  const std::string flags = mapping_line(address, "VmFlags:");
  EXPECT_EQ(flags.find(" lo") != std::string::npos, locks()) << flags;
  EXPECT_NE(flags.find(" dd"), std::string::npos) << flags;
  copy.reset();
  EXPECT_EQ(mapping_line(address, "VmFlags:"), "");
}

// If no memory may be locked, keys work nevertheless, and there is one warning.
TEST(SecretKey, GoesOnWithoutLockedMemory) {
  if (!locks()) GTEST_SKIP() << "the sanitizers let mlock succeed always";
  const auto child = [] {
    const rlimit none{0, 0};
    // The limit does not apply to a user who may lock everything.
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0 || ::seteuid(65534) != 0) std::_Exit(77);
    const SecretKey a = SecretKey::of_system(), b = SecretKey::of_system();
    std::_Exit(hex(a.bytes()) != hex(b.bytes()) && stream(a, 0, 0, 64) == stream(a, 0, 0, 64) ? 0
                                                                                              : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "the memory of a key cannot be locked");
}

}  // namespace
}  // namespace tessera::privacy::internal::secret_key_test
