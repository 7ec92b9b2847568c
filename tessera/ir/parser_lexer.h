// Tokens of MLIR text, on demand: the parser may look at any position again.
#pragma once

#include <string>
#include <string_view>

namespace tessera::internal {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,        // stablehlo.add, x
  kValue,       // %0, %arg0; without the %
  kSymbol,      // @main, @"<lambda>"; without the @ and the quotes
  kHash,        // #sdy.sharding, #1; without the #
  kBang,        // !stablehlo.token; without the !
  kCaret,       // ^bb0; without the ^
  kString,      // its content, escapes resolved
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
[[noreturn]] void parse_error(std::string_view file, std::string_view text, size_t offset, const std::string& message);

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  // The token that begins at or after `offset`, comments skipped.
  Token at(size_t offset) const;
  std::string_view text() const { return text_; }
  [[noreturn]] void error(size_t offset, const std::string& message) const { parse_error(file_, text_, offset, message); }

 private:
  size_t skip_blanks(size_t offset) const;
  Token quoted(size_t begin, size_t quote, TokenKind kind) const;
  Token number(size_t begin) const;
  char peek(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  std::string_view text_, file_;
};

}  // namespace tessera::internal
