// CRC-32C (Castagnoli; RFC 3720, B.4): the checksum of checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::internal {

// Of the bytes whose first part has checksum `before`: crc32c(b, m, crc32c(a, n)) is that of a and
// b joined.
uint32_t crc32c(const void* data, size_t n, uint32_t before = 0);

}  // namespace tessera::internal
