#include "tessera/interchange/bytecode/bytes.h"

#include <bit>

#include "tessera/ir/format.h"

namespace tessera::interchange::bytecode {

void File::error(size_t offset, const std::string& message) const {
  fail(ErrorKind::kParse, "parse", "{}: byte {}: {}", name, offset, message);
}

uint8_t ByteReader::byte() {
  if (done()) error("expected more bytes, got the end of the section");
  return static_cast<uint8_t>(file_->bytes[position_++]);
}

uint64_t ByteReader::varint() {
  const uint8_t first = byte();
  if (first & 1) return first >> 1;
  const int more = first == 0 ? 8 : std::countr_zero(first);
  if (remaining() < static_cast<size_t>(more))
    error("expected more bytes of a number, got the end of the section");
  uint64_t value = 0;
  for (int i = 0; i < more; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(file_->bytes[position_ + i])) << (8 * i);
  position_ += static_cast<size_t>(more);
  if (first == 0) return value;
  return (value << (7 - more)) | static_cast<uint64_t>(first >> (more + 1));
}

int64_t ByteReader::signed_varint() {
  const uint64_t value = varint();
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

uint64_t ByteReader::flagged(bool& flag) {
  const uint64_t value = varint();
  flag = (value & 1) != 0;
  return value >> 1;
}

size_t ByteReader::count(const char* what) {
  const size_t at = position_;
  const uint64_t value = varint();
  if (value > remaining())
    file_->error(at, fmt::format("expected at most {} {} in what is left, got {}", remaining(),
                                 what, value));
  return static_cast<size_t>(value);
}

size_t ByteReader::index(size_t limit, const char* what) {
  const size_t at = position_;
  const uint64_t value = varint();
  if (value >= limit)
    file_->error(at, fmt::format("expected the number of {} below {}, got {}", what, limit, value));
  return static_cast<size_t>(value);
}

std::string_view ByteReader::bytes(size_t size) {
  if (size > remaining())
    error(
        fmt::format("expected {} more bytes, got {} to the end of the section", size, remaining()));
  const std::string_view out = file_->bytes.substr(position_, size);
  position_ += size;
  return out;
}

std::string_view ByteReader::zero_terminated() {
  const size_t at = file_->bytes.find('\0', position_);
  if (at == std::string_view::npos || at >= end_)
    error("expected a string that ends in a zero byte");
  const std::string_view out = bytes(at - position_);
  ++position_;
  return out;
}

void ByteReader::align(uint64_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > (uint64_t{1} << 20))
    error(fmt::format("expected an alignment that is a power of two, got {}", alignment));
  while (position_ % alignment != 0)
    if (byte() != 0xCB) file_->error(position_ - 1, "expected bytes 0xCB up to the alignment");
}

}  // namespace tessera::interchange::bytecode
