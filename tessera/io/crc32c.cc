#include "tessera/io/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace tessera::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes are read as one number");

// kTables[k][b] is the contribution of byte b when k more bytes follow it. With eight tables a step
// processes eight bytes (M. E. Kounavis, F. L. Berry, 2005).
using Tables = std::array<std::array<uint32_t, 256>, 8>;
constexpr Tables make_tables() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // bits reversed
  Tables out{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    out[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b) out[k][b] = (out[k - 1][b] >> 8) ^ out[0][out[k - 1][b] & 255];
  return out;
}
constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32c(const void* data, size_t n, uint32_t before) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t crc = ~before;
  for (; n >= 8; n -= 8, at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 255];
  }
  for (; n > 0; --n, ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 255];
  return ~crc;
}

}  // namespace tessera::internal
