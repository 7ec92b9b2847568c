#include "tessera/interchange/bytecode/byte_writer.h"

#include <bit>

namespace tessera::interchange::bytecode {

void ByteWriter::varint(uint64_t value) {
  const int bits = std::max(1, static_cast<int>(std::bit_width(value)));
  const int size = (bits + 6) / 7;
  if (size > 8) {
    byte(0);
    for (int i = 0; i < 8; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
    return;
  }
  const uint64_t coded = (value << 1 | 1) << (size - 1);
  for (int i = 0; i < size; ++i) byte(static_cast<uint8_t>(coded >> (8 * i)));
}

void ByteWriter::signed_varint(int64_t value) {
  varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

void ByteWriter::section(uint8_t id, std::string_view content) {
  byte(id);
  varint(content.size());
  append(content);
}

}  // namespace tessera::interchange::bytecode
