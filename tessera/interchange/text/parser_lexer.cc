#include "tessera/interchange/text/parser_lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"

namespace tessera::interchange {
namespace {

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }
bool is_name(char c) { return is_word(c) || c == '-'; }

int hex_value(char c) {
  return is_digit(c) ? c - '0' : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
}

}  // namespace

void parse_error(std::string_view file, std::string_view text, size_t offset,
                 const std::string& message) {
  constexpr size_t kWidth = 160;
  offset = std::min(offset, text.size());
  const size_t newline = text.substr(0, offset).rfind('\n');
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<int64_t>(begin), '\n');
  size_t column = offset - begin;
  std::string shown(text.substr(begin, text.find('\n', begin) - begin));
  // For a long line only the part around the error is shown.
  const size_t skipped = column > kWidth / 2 ? column - kWidth / 2 : 0;
  const std::string position = fmt::format("{}:{}:{}", file, line, column + 1);
  if (shown.size() > kWidth) {
    shown = shown.substr(std::min(skipped, shown.size()), kWidth);
    column -= skipped;
  }
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  throw UserError(ErrorKind::kParse, fmt::format("[parse] {}: {}\n  {}\n  {}^", position, message,
                                                 shown, std::string(column, ' ')));
}

std::optional<uint64_t> parse_unsigned(std::string_view text) {
  const bool hex = is_hex(text);
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string Lexer::location(size_t offset) {
  const auto lines = [&](size_t from, size_t to) {
    return std::count(text_.begin() + static_cast<int64_t>(from),
                      text_.begin() + static_cast<int64_t>(to), '\n');
  };
  lines_ += offset >= placed_ ? lines(placed_, offset) : -lines(offset, placed_);
  placed_ = offset;
  return fmt::format("{}:{}", file_, lines_ + 1);
}

size_t Lexer::skip_blanks(size_t i) const {
  while (i < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[i]))) {
      ++i;
    } else if (text_[i] == '/' && peek(i + 1) == '/') {
      while (i < text_.size() && text_[i] != '\n') ++i;
    } else {
      break;
    }
  }
  return i;
}

Token Lexer::at(size_t offset) const {
  const size_t begin = skip_blanks(offset);
  if (begin >= text_.size()) return {TokenKind::kEnd, "", text_.size(), text_.size()};
  const char c = text_[begin];
  auto run = [&](size_t from, auto&& belongs) {
    size_t end = from;
    while (end < text_.size() && belongs(text_[end])) ++end;
    return end;
  };
  auto named = [&](TokenKind kind, auto&& belongs) {
    const size_t end = run(begin + 1, belongs);
    if (end == begin + 1 && kind != TokenKind::kHash)
      error(begin, fmt::format("expected a name after '{}'", c));
    return Token{kind, std::string(text_.substr(begin + 1, end - begin - 1)), begin, end};
  };
  switch (c) {
    case '%':
      return named(TokenKind::kValue, is_name);
    case '^':
      return named(TokenKind::kCaret, is_name);
    case '#':
      return named(TokenKind::kHash, is_word);
    case '!':
      return named(TokenKind::kBang, is_word);
    case '@':
      if (peek(begin + 1) == '"') return quoted(begin, begin + 1, TokenKind::kSymbol);
      return named(TokenKind::kSymbol, is_name);
    case '"':
      return quoted(begin, begin, TokenKind::kString);
    default:
      break;
  }
  if (is_digit(c)) return number(begin);
  if (is_letter(c)) {
    const size_t end = run(begin, is_word);
    return {TokenKind::kWord, std::string(text_.substr(begin, end - begin)), begin, end};
  }
  const size_t length = c == '-' && peek(begin + 1) == '>' ? 2 : 1;
  return {TokenKind::kPunctuation, std::string(text_.substr(begin, length)), begin, begin + length};
}

Token Lexer::number(size_t begin) const {
  size_t end = begin;
  if (text_[begin] == '0' && peek(begin + 1) == 'x' && is_hex(peek(begin + 2))) {
    end = begin + 2;
    while (is_hex(peek(end))) ++end;
    return {TokenKind::kInteger, std::string(text_.substr(begin, end - begin)), begin, end};
  }
  while (is_digit(peek(end))) ++end;
  if (peek(end) != '.')
    return {TokenKind::kInteger, std::string(text_.substr(begin, end - begin)), begin, end};
  ++end;
  while (is_digit(peek(end))) ++end;
  if (peek(end) == 'e' || peek(end) == 'E') {
    size_t exponent = end + 1;
    if (peek(exponent) == '+' || peek(exponent) == '-') ++exponent;
    if (is_digit(peek(exponent))) {
      end = exponent;
      while (is_digit(peek(end))) ++end;
    }
  }
  return {TokenKind::kFloat, std::string(text_.substr(begin, end - begin)), begin, end};
}

Token Lexer::quoted(size_t begin, size_t quote, TokenKind kind) const {
  std::string content;
  size_t i = quote + 1;
  for (; i < text_.size() && text_[i] != '"' && text_[i] != '\n'; ++i) {
    if (text_[i] != '\\') {
      content += text_[i];
      continue;
    }
    const char next = peek(i + 1);
    if (next == '"' || next == '\\') {
      content += next;
      ++i;
    } else if (next == 'n' || next == 't') {
      content += next == 'n' ? '\n' : '\t';
      ++i;
    } else if (is_hex(next) && is_hex(peek(i + 2))) {
      content += static_cast<char>(hex_value(next) * 16 + hex_value(peek(i + 2)));
      i += 2;
    } else {
      error(i, "expected an escape: \\\", \\\\, \\n, \\t or two hexadecimal digits");
    }
  }
  if (i >= text_.size() || text_[i] != '"') error(begin, "expected a closing '\"' on this line");
  return {kind, std::move(content), begin, i + 1};
}

}  // namespace tessera::interchange
