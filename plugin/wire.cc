#include "plugin/wire.h"

#include <fmt/format.h>

#include "plugin/error.h"

namespace tessera::plugin {
namespace {

enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, int number, WireType type) {
  put_varint(out, static_cast<uint64_t>(number) << 3 | type);
}

}  // namespace

std::optional<MessageReader::Field> MessageReader::next() {
  if (bytes_.empty()) return std::nullopt;
  const uint64_t key = varint();
  Field out{.number = key >> 3};
  switch (key & 7) {
    case kVarint:
      out.value = varint();
      break;
    case kFixed64:
      take(8);
      break;
    case kBytes:
      out.bytes = take(varint());
      break;
    case kFixed32:
      take(4);
      break;
    default:
      throw_damaged();
  }
  return out;
}

uint64_t MessageReader::varint() {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    out |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return out;
  }
  throw_damaged();
}

std::string_view MessageReader::take(uint64_t n) {
  if (n > bytes_.size()) throw_damaged();
  const std::string_view out = bytes_.substr(0, n);
  bytes_.remove_prefix(n);
  return out;
}

void MessageReader::throw_damaged() const {
  invalid(fmt::format("[tessera] expected a {}, got bytes that are none", what_));
}

void MessageWriter::add(int number, uint64_t value) {
  put_key(bytes_, number, kVarint);
  put_varint(bytes_, value);
}

void MessageWriter::add(int number, std::string_view bytes) {
  put_key(bytes_, number, kBytes);
  put_varint(bytes_, bytes.size());
  bytes_ += bytes;
}

void MessageWriter::add_packed(int number, std::span<const int64_t> values) {
  if (values.empty()) return;
  std::string packed;
  for (int64_t value : values) put_varint(packed, static_cast<uint64_t>(value));
  add(number, packed);
}

}  // namespace tessera::plugin
