// Messages in protobuf's wire format, field by field
// (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::plugin {

class MessageReader {
 public:
  // Error messages call the message `what`.
  MessageReader(std::string_view bytes, const char* what) : bytes_(bytes), what_(what) {}

  struct Field {
    uint64_t number = 0, value = 0;  // `value` is that of a varint
    std::string_view bytes;          // the content of a field with a length
  };
  // Returns the next field; nullopt at the end. Throws ApiError for bytes that are not a message.
  std::optional<Field> next();
  uint64_t varint();
  bool done() const { return bytes_.empty(); }
  MessageReader inner(const Field& field) const { return {field.bytes, what_}; }

 private:
  std::string_view take(uint64_t n);
  [[noreturn]] void throw_damaged() const;

  std::string_view bytes_;
  const char* what_;
};

class MessageWriter {
 public:
  void add(int number, uint64_t value);
  void add(int number, std::string_view bytes);
  void add(int number, const MessageWriter& message) { add(number, message.bytes()); }
  void add_packed(int number, std::span<const int64_t> values);  // adds nothing if there are none

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace tessera::plugin
