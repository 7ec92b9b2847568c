// CRC-32C (Castagnoli; RFC 3720, B.4): the checksum of checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::internal {

// Returns the checksum of bytes that follow others with the checksum `before`. So crc32c(b, m,
// crc32c(a, n)) is the checksum of a followed by b.
uint32_t crc32c(const void* data, size_t n, uint32_t before = 0);

}  // namespace tessera::internal
