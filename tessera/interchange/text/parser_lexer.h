// Tokens of MLIR text. They are made on demand, so the parser can continue from any position.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/namespaces.h"

namespace tessera::interchange {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,        // stablehlo.add, x
  kValue,       // %0, %arg0; without the %
  kSymbol,      // @main, @"<lambda>"; without the @ and the quotes
  kHash,        // #sdy.sharding, #1; without the #
  kBang,        // !stablehlo.token; without the !
  kCaret,       // ^bb0; without the ^
  kString,      // the content, with escapes resolved
  kInteger,     // 12, 0x7F
  kFloat,       // 1.5, 1.0e-3
  kPunctuation  // one character, or ->
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  size_t begin = 0, end = 0;  // offsets in the text
};

// Throws UserError kParse: `file:line:column: message`, the line, and a caret below it.
[[noreturn]] void parse_error(std::string_view file, std::string_view text, size_t offset,
                              const std::string& message);

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the value of an integer's text, decimal or 0x..., or nullopt if it needs more than 64
// bits.
std::optional<uint64_t> parse_unsigned(std::string_view text);
inline bool is_hex(std::string_view number) {
  return number.size() > 2 && number[0] == '0' && number[1] == 'x';
}
// Returns the T nearest to a decimal number, in any locale; infinity or 0 if it is outside of T's
// range.
template <class T>
T parse_real(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return text.find("e-") == std::string_view::npos && text.find("E-") == std::string_view::npos
               ? std::numeric_limits<T>::infinity()
               : T(0);
  return value;
}

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  // Returns the token that begins at or after `offset`; comments are skipped.
  Token at(size_t offset) const;
  std::string_view text() const { return text_; }
  [[noreturn]] void error(size_t offset, const std::string& message) const {
    parse_error(file_, text_, offset, message);
  }
  // Returns "file:line". It counts lines from the offset of the last call.
  std::string location(size_t offset);

 private:
  size_t skip_blanks(size_t offset) const;
  Token quoted(size_t begin, size_t quote, TokenKind kind) const;
  Token number(size_t begin) const;
  char peek(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  std::string_view text_, file_;
  size_t placed_ = 0;  // offset of the last call of location(), and the number of lines before it
  int64_t lines_ = 0;
};

}  // namespace tessera::interchange
