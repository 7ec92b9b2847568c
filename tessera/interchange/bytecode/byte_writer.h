// ByteWriter: writes the primitive values of MLIR bytecode, which bytes.h reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/namespaces.h"

namespace tessera::interchange::bytecode {

class ByteWriter {
 public:
  void byte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void varint(uint64_t value);
  void signed_varint(int64_t value);
  void flagged(uint64_t value, bool flag) { varint(value << 1 | (flag ? 1 : 0)); }
  void append(std::string_view bytes) { bytes_ += bytes; }
  void section(uint8_t id, std::string_view content);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace tessera::interchange::bytecode
