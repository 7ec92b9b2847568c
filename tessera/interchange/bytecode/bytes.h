// ByteReader: reads the primitive values of MLIR bytecode and checks bounds. Every error is a
// UserError kParse that names the byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/namespaces.h"

namespace tessera::interchange::bytecode {

// A file, for messages: `file: byte 12: message`.
struct File {
  std::string_view bytes;
  std::string name;

  [[noreturn]] void error(size_t offset, const std::string& message) const;
};

class ByteReader {
 public:
  ByteReader(const File& file, size_t begin, size_t end)
      : file_(&file), position_(begin), end_(end) {}

  uint8_t byte();
  // It has 1 to 9 bytes; the trailing zeros of the first one are the number of the others.
  uint64_t varint();
  int64_t signed_varint();  // zigzag: 0, -1, 1, -2, ...
  // Returns a varint whose lowest bit is a flag.
  uint64_t flagged(bool& flag);
  // Returns the number of items that follow, each of which has at least one byte.
  size_t count(const char* what);
  // Returns a number below `limit`.
  size_t index(size_t limit, const char* what);
  std::string_view bytes(size_t size);
  std::string_view zero_terminated();
  // Skips the padding up to a multiple of `alignment`.
  void align(uint64_t alignment);

  size_t position() const { return position_; }
  size_t end() const { return end_; }
  size_t remaining() const { return end_ - position_; }
  bool done() const { return position_ == end_; }
  const File& file() const { return *file_; }
  [[noreturn]] void error(const std::string& message) const { file_->error(position_, message); }

 private:
  const File* file_;
  size_t position_, end_;
};

}  // namespace tessera::interchange::bytecode
