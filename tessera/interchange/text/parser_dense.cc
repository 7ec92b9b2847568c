// Dense constants: lists of numbers, splats and hexadecimal blobs.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "tessera/base/narrow.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/interchange/text/parser_internal.h"

namespace tessera::interchange {
namespace {

template <class T>
void store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace

TextAttr Parser::parse_dense() {
  const size_t offset = position();
  expect("<");
  std::string blob;
  Elements elements;
  const bool is_blob = peek().kind == TokenKind::kString;
  if (is_blob) {
    blob = next().text;
  } else if (!is_next(">")) {
    parse_elements(elements, 0);
  }
  const bool empty = !is_blob && elements.offsets.empty();
  expect(">");
  expect(":");
  const Type type = is_next("tensor") ? parse_tensor_type(true, false) : parse_type();
  if (is_blob) {
    bool splat = false;
    Literal value = parse_blob(blob, type, offset, &splat);
    return TextAttr::Tensor{std::move(value), type.shape};
  }
  if (empty) {
    if (type.elements() != 0)
      lexer_.error(offset, fmt::format("expected {} elements, got none", type.elements()));
    return TextAttr::Tensor{Literal(type.dtype, type.shape), type.shape};
  }
  const bool splat = elements.shape.empty();
  if (!splat && elements.shape != type.shape)
    lexer_.error(offset,
                 fmt::format("expected elements of shape {}, got {}", type.shape, elements.shape));
  if (elements.is_complex != is_complex(type.dtype))
    lexer_.error(offset, fmt::format("expected {} elements of {}",
                                     is_complex(type.dtype) ? "pairs (re,im) as" : "plain", type));
  Literal value(type.dtype, splat ? Shape{} : type.shape);
  const DType part = real_dtype(type.dtype);
  std::byte* to = value.mutable_raw();
  for (size_t i = 0; i < elements.offsets.size(); ++i)
    convert_element(elements.offsets[i], part, to + static_cast<int64_t>(i) * itemsize(part));
  return TextAttr::Tensor{std::move(value), type.shape};
}

void Parser::parse_elements(Elements& elements, int64_t depth) {
  const DepthGuard guard(*this, position());
  if (!accept("[")) return parse_element(elements);
  int64_t count = 0;
  // The first list of each depth determines the length of all lists.
  const bool first = static_cast<int64_t>(elements.shape.size()) == depth;
  if (first) elements.shape.push_back(0);
  while (!accept("]")) {
    if (count++) expect(",");
    const bool list = is_next("[");
    const bool deeper = static_cast<int64_t>(elements.shape.size()) > depth + 1;
    if (!(first && count == 1) && list != deeper) error("expected lists of one depth");
    parse_elements(elements, depth + 1);
  }
  if (first) elements.shape[depth] = count;
  if (elements.shape[depth] != count)
    error(fmt::format("expected lists of one length, got {} and {} elements", elements.shape[depth],
                      count));
}

void Parser::parse_element(Elements& elements) {
  auto number = [&] {
    elements.offsets.push_back(position());
    accept("-");
    const Token token = next();
    if (token.kind != TokenKind::kInteger && token.kind != TokenKind::kFloat &&
        token.text != "true" && token.text != "false")
      lexer_.error(token.begin, "expected a number, true or false");
  };
  const bool pair = accept("(");
  if (!elements.offsets.empty() && pair != elements.is_complex)
    error("expected all elements to be complex, or none");
  elements.is_complex = pair;
  number();
  if (!pair) return;
  expect(",");
  number();
  expect(")");
}

void Parser::convert_element(size_t offset, DType dtype, std::byte* to) {
  Token token = lexer_.at(offset);
  const bool negative = token.text == "-";
  if (negative) token = lexer_.at(token.end);
  if (is_narrow(dtype)) return convert_narrow_element(offset, dtype, to);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      TESSERA_CHECK(false, "a complex part");
    } else if constexpr (std::is_integral_v<T>) {
      if (token.text == "true" || token.text == "false") {
        if (dtype != bool_ || negative)
          lexer_.error(offset, fmt::format("expected a number of {}", mlir_name(dtype)));
        return store(static_cast<T>(token.text == "true"), to);
      }
      const std::optional<uint64_t> value =
          token.kind == TokenKind::kInteger ? parse_unsigned(token.text) : std::nullopt;
      const int bits = std::is_same_v<T, bool> ? 1 : 8 * static_cast<int>(sizeof(T));
      const uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      const bool fits = value && (negative ? !std::is_unsigned_v<T> && *value <= (most >> 1) + 1
                                           : *value <= most);
      if (!fits || (negative && dtype == bool_))
        lexer_.error(offset, fmt::format("expected an integer that fits {}", mlir_name(dtype)));
      store(static_cast<T>(negative ? uint64_t{0} - *value : *value), to);
    } else {
      if (token.kind == TokenKind::kWord) lexer_.error(offset, "expected a number");
      if (is_hex(token.text)) {
        const std::optional<uint64_t> bits = parse_unsigned(token.text);
        if (negative || !bits || *bits > (~uint64_t{0} >> (64 - 8 * sizeof(T))))
          lexer_.error(offset, fmt::format("expected the {} bits of one {}", 8 * sizeof(T),
                                           mlir_name(dtype)));
        std::memcpy(to, &*bits, sizeof(T));
        return;
      }
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
        const float magnitude = parse_real<float>(token.text);
        store(T(negative ? -magnitude : magnitude), to);
      } else {
        // Numbers are parsed in their own type, because parsing them as double would round twice.
        const T magnitude = parse_real<T>(token.text);
        store(negative ? -magnitude : magnitude, to);
      }
    }
  });
}

// A narrow float is written as its bits or as a number; an integer as a number that must fit.
void Parser::convert_narrow_element(size_t offset, DType dtype, std::byte* to) {
  Token token = lexer_.at(offset);
  const bool negative = token.text == "-";
  if (negative) token = lexer_.at(token.end);
  const uint64_t codes = uint64_t{1} << bit_width(dtype);
  const bool is_bits = is_floating(dtype) && is_hex(token.text);
  const std::optional<uint64_t> whole =
      token.kind == TokenKind::kInteger ? parse_unsigned(token.text) : std::nullopt;
  if (is_bits || is_integer(dtype)) {
    const uint64_t most = !negative ? codes - 1 : is_bits || is_unsigned(dtype) ? 0 : codes / 2;
    if (!whole || *whole > most)
      lexer_.error(offset, is_bits
                               ? fmt::format("expected the {} bits of one {}", bit_width(dtype),
                                             mlir_name(dtype))
                               : fmt::format("expected an integer that fits {}", mlir_name(dtype)));
    return store(static_cast<uint8_t>((negative ? codes - *whole : *whole) % codes), to);
  }
  if (token.kind == TokenKind::kWord) lexer_.error(offset, "expected a number");
  const auto magnitude = parse_real<double>(token.text);
  store(narrow_bits(dtype, negative ? -magnitude : magnitude), to);
}

// "0x3F80...": the bytes of all elements, little endian, or of one element for a splat. A bool
// takes a byte or a bit.
Literal Parser::parse_blob(const std::string& hex, const Type& type, size_t offset, bool* splat) {
  auto digit = [](char c) {
    return c <= '9' ? c - '0' : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
  };
  const bool valid = hex.size() >= 2 && hex[0] == '0' && hex[1] == 'x' && hex.size() % 2 == 0 &&
                     std::all_of(hex.begin() + 2, hex.end(), [](char c) {
                       return std::isxdigit(static_cast<unsigned char>(c));
                     });
  if (!valid) lexer_.error(offset, "expected a string of hexadecimal bytes, as \"0x0000803F\"");
  std::vector<std::byte> bytes;
  for (size_t i = 2; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  const auto count = static_cast<int64_t>(bytes.size());
  *splat = count == itemsize(type.dtype) && type.elements() != 1;
  const Shape shape = *splat ? Shape{} : type.shape;
  const int64_t elements = shape.elements();
  if (type.dtype == bool_ && count == ceil_div(elements, 8) && count != elements) {
    Literal out(bool_, shape);
    for (int64_t i = 0; i < elements; ++i)
      out.mutable_data<bool>()[i] = (static_cast<int>(bytes[i / 8]) >> (i % 8) & 1) != 0;
    return out;
  }
  if (count != elements * itemsize(type.dtype))
    lexer_.error(offset, fmt::format("expected {} bytes for {}, got {}",
                                     elements * itemsize(type.dtype), type, count));
  Literal out(type.dtype, shape);
  if (type.dtype == bool_) {
    for (int64_t i = 0; i < elements; ++i) out.mutable_data<bool>()[i] = bytes[i] != std::byte{0};
  } else if (count > 0) {
    std::memcpy(out.mutable_raw(), bytes.data(), bytes.size());
  }
  return canonical_bits(std::move(out));
}

}  // namespace tessera::interchange
