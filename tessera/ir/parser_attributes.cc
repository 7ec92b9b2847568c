#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "tessera/ir/parser_internal.h"

namespace tessera::internal {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 46;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex(std::string_view number) { return number.size() > 2 && number[0] == '0' && number[1] == 'x'; }

std::optional<uint64_t> parse_unsigned(std::string_view text) {
  const bool hex = is_hex(text);
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

double parse_double(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

template <class T>
void store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(T));
}

bool is_element_type(std::string_view word) {
  return word == "complex" || word == "index" || word == "bf16" || word == "tf32" ||
         (word.size() >= 2 && (word[0] == 'i' || word[0] == 'f') && is_digit(word[1])) ||
         (word.size() >= 3 && (word.substr(0, 2) == "ui" || word.substr(0, 2) == "si") && is_digit(word[2]));
}

}  // namespace

Type Parser::parse_type() {
  const Nesting nesting(*this);
  const Token token = peek();
  if (token.kind == TokenKind::kBang) {
    const auto alias = aliases_.find("!" + token.text);
    if (alias == aliases_.end())
      error(fmt::format("expected a tensor type, got !{}, which Tessera has no arrays of", token.text));
    next();
    const size_t resume = offset_;
    jump(alias->second);
    const Type type = parse_type();
    jump(resume);
    return type;
  }
  if (!is_next("tensor")) expected("a type, as tensor<4x8xf32>");
  return parse_tensor_type();
}

// Extents are read by character: to a tokenizer 4x8xf32 would be a number and a name, 0x8 a hexadecimal number.
Type Parser::parse_tensor_type() {
  next();
  expect("<");
  Type type;
  __int128 elements = 1;
  const std::string_view text = lexer_.text();
  size_t at = position();
  while (at < text.size() && (is_digit(text[at]) || text[at] == '?' || text[at] == '*')) {
    if (!is_digit(text[at])) lexer_.error(at, "expected a static extent; export the program with concrete shapes");
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    int64_t extent = 0;
    const auto result = std::from_chars(text.data() + at, text.data() + end, extent);
    if (end >= text.size() || text[end] != 'x') lexer_.error(end, "expected 'x' after an extent");
    if (result.ec != std::errc() || extent > kMaxElements || elements * extent > kMaxElements)
      lexer_.error(at, "expected at most 2^46 elements");
    elements *= std::max<int64_t>(extent, 1);
    if (elements > kMaxElements) lexer_.error(at, "expected at most 2^46 elements");
    type.shape.push_back(extent);
    if (type.shape.size() > 32) lexer_.error(at, "expected at most 32 dimensions");
    at = end + 1;
  }
  jump(at);
  type.dtype = parse_dtype();
  if (is_next(",")) error("expected a plain tensor type, got one with an encoding");
  expect(">");
  return type;
}

DType Parser::parse_dtype() {
  const size_t offset = position();
  std::string name = expect(TokenKind::kWord, "an element type, as f32").text;
  if (name == "complex") {
    expect("<");
    name += "<" + expect(TokenKind::kWord, "f32 or f64").text + ">";
    expect(">");
  }
  for (int d = 0; d < kNumDTypes; ++d)
    if (mlir_name(static_cast<DType>(d)) == name) return static_cast<DType>(d);
  lexer_.error(offset, fmt::format("expected an element type that Tessera has (i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64, "
                                   "complex<f32>, complex<f64>), got '{}'", name));
}

std::vector<Type> Parser::parse_type_list() {
  std::vector<Type> types;
  if (!accept("(")) {
    types.push_back(parse_type());
    return types;
  }
  while (!accept(")")) {
    if (!types.empty()) expect(",");
    types.push_back(parse_type());
  }
  return types;
}

int64_t Parser::parse_int() {
  const bool negative = accept("-");
  const Token token = expect(TokenKind::kInteger, "an integer");
  const std::optional<uint64_t> value = parse_unsigned(token.text);
  if (!value || *value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    lexer_.error(token.begin, "expected an integer of 64 bits");
  return negative ? -static_cast<int64_t>(*value) : static_cast<int64_t>(*value);
}

TextAttr Parser::parse_attribute(bool bare) {
  const Nesting nesting(*this);
  const Token token = peek();
  switch (token.kind) {
    case TokenKind::kString:
      next();
      return token.text;
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return parse_number(bare);
    case TokenKind::kSymbol: {
      next();
      if (is_next(":") && lexer_.at(offset_ + 1).text == ":") error("expected a plain name, got a nested one");
      if (meshes_.count(token.text)) return find_mesh(token.text);
      if (functions_.count(token.text)) return find_function(token.text).function;
      return TextAttr::Symbol{token.text};
    }
    case TokenKind::kHash:
      return parse_hash_attribute();
    case TokenKind::kWord:
      return parse_word_attribute(bare);
    default:
      break;
  }
  if (is_next("-")) return parse_number(bare);
  if (is_next("[")) return parse_list(bare);
  if (accept("{")) return TextAttr::Record{"", parse_dictionary()};
  if (is_next("(")) {  // the type of a function
    parse_type_list();
    expect("->");
    parse_type_list();
    return TextAttr::Record{"function_type", {}};
  }
  if (is_next("<") && bare) {
    next();
    const NamedSharding sharding = parse_sharding();
    return TextAttr::Sharding{sharding, sharding.spec().rank()};
  }
  expected("an attribute");
}

// In assembly no type follows; elsewhere one may.
TextAttr Parser::parse_number(bool bare) {
  const size_t offset = position();
  const bool negative = accept("-");
  if (peek().kind != TokenKind::kInteger && peek().kind != TokenKind::kFloat) expected("a number");
  const Token token = next();
  std::string type;
  if (!bare && accept(":")) type = expect(TokenKind::kWord, "the type of the number").text;
  const bool floating = token.kind == TokenKind::kFloat || (!type.empty() && (type[0] == 'f' || type[0] == 'b'));
  if (floating && token.kind == TokenKind::kInteger && is_hex(token.text)) {
    const std::optional<uint64_t> bits = parse_unsigned(token.text);
    if (!bits) lexer_.error(offset, "expected at most 64 bits");
    if (type == "f64") return TextAttr::Float{std::bit_cast<double>(*bits)};
    return TextAttr::Float{static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(*bits)))};
  }
  if (floating) return TextAttr::Float{(negative ? -1 : 1) * parse_double(token.text)};
  const std::optional<uint64_t> value = parse_unsigned(token.text);
  if (!value) lexer_.error(offset, "expected an integer of 64 bits");
  const uint64_t bits = negative ? uint64_t{0} - *value : *value;
  if (type == "i1") return bits != 0;
  return TextAttr::Integer{static_cast<int64_t>(bits), type == "i32" ? 32 : 64};
}

TextAttr Parser::parse_word_attribute(bool bare) {
  const Token token = peek();
  if (accept("true")) return true;
  if (accept("false")) return false;
  if (accept("unit")) return TextAttr::Unit{};
  if (accept("dense")) return parse_dense();
  if (accept("array")) return parse_array();
  if (is_next("dense_resource")) error("expected the constant's values in the text, got a reference to a resource");
  if (is_next("tensor")) {
    const Type type = parse_type();
    return TextAttr::Record{"tensor", {{"dtype", TextAttr(type.dtype)}}};
  }
  if (is_element_type(token.text)) return parse_dtype();
  if (!bare) expected("an attribute");
  next();
  return TextAttr::Keyword{"", token.text};
}

TextAttr Parser::parse_list(bool bare) {
  expect("[");
  TextAttr::List list;
  bool integers = true;
  while (!accept("]")) {
    if (!list.items.empty()) expect(",");
    list.items.push_back(parse_attribute(bare));
    integers = integers && list.items.back().get<TextAttr::Integer>();
  }
  if (!integers) return list;
  TextAttr::Array array;
  for (const TextAttr& item : list.items) array.values.push_back(item.get<TextAttr::Integer>()->value);
  return array;
}

// array<i64: 0, 1>, array<i1: true>
TextAttr Parser::parse_array() {
  expect("<");
  const size_t offset = position();
  const DType dtype = parse_dtype();
  TextAttr::Array array;
  if (accept(":")) {
    do {
      if (dtype == bool_ && (is_next("true") || is_next("false"))) {
        array.values.push_back(next().text == "true");
      } else {
        if (!is_integer(dtype) && dtype != bool_) lexer_.error(offset, "expected an array of integers");
        array.values.push_back(parse_int());
      }
    } while (accept(","));
  }
  expect(">");
  return array;
}

TextAttr::Entries Parser::parse_dictionary() {
  TextAttr::Entries entries;
  while (!accept("}")) {
    if (!entries.empty()) expect(",");
    const Token key = peek();
    if (key.kind != TokenKind::kWord && key.kind != TokenKind::kString) expected("the name of an attribute");
    next();
    entries.emplace_back(key.text, accept("=") ? parse_attribute(false) : TextAttr(TextAttr::Unit{}));
  }
  return entries;
}

TextAttr Parser::parse_hash_attribute() {
  const Token token = next();
  if (token.text == "sdy.sharding") {
    expect("<");
    const NamedSharding sharding = parse_sharding();
    return TextAttr::Sharding{sharding, sharding.spec().rank()};
  }
  if (token.text == "sdy.sharding_per_value") {
    TextAttr::Shardings shardings;
    expect("<");
    expect("[");
    while (!accept("]")) {
      if (!shardings.values.empty()) expect(",");
      expect("<");
      shardings.values.push_back(parse_sharding());
    }
    expect(">");
    return shardings;
  }
  if (is_next("<")) return parse_record(token.text);
  const auto alias = aliases_.find("#" + token.text);
  if (alias == aliases_.end()) lexer_.error(token.begin, fmt::format("expected an attribute, got the unknown #{}", token.text));
  if (!aliases_in_progress_.insert(token.text).second) lexer_.error(token.begin, "expected an alias that does not name itself");
  const size_t resume = offset_;
  jump(alias->second);
  TextAttr out = is_next("loc") ? (skip_location(nullptr), TextAttr()) : parse_attribute(false);
  jump(resume);
  aliases_in_progress_.erase(token.text);
  return out;
}

// #stablehlo<kind NAME>, #stablehlo.dot<a = [0], ...>; of another form its text.
TextAttr Parser::parse_record(std::string name) {
  const size_t begin = position();
  expect("<");
  const Token first = peek();
  if (first.kind == TokenKind::kWord) {
    next();
    if (peek().kind == TokenKind::kWord) {
      const Token second = next();
      expect(">");
      return TextAttr::Keyword{first.text, second.text};
    }
    if (is_next("=") || is_next(",") || is_next(">")) {
      jump(first.begin);
      TextAttr::Record record{std::move(name), {}};
      while (!accept(">")) {
        if (!record.entries.empty()) expect(",");
        const Token key = expect(TokenKind::kWord, "the name of a field");
        record.entries.emplace_back(key.text, accept("=") ? parse_attribute(true) : TextAttr(TextAttr::Unit{}));
      }
      return record;
    }
  }
  jump(begin);
  skip_balanced();
  return TextAttr::Record{std::move(name), {{"text", std::string(lexer_.text().substr(begin, offset_ - begin))}}};
}

// From an opening bracket to after the one that closes it.
void Parser::skip_balanced() {
  std::string open;
  do {
    const Token token = next();
    if (token.kind == TokenKind::kEnd) lexer_.error(token.begin, "expected a closing bracket, got the end of the text");
    if (token.kind != TokenKind::kPunctuation) continue;
    const char c = token.text[0];
    if (token.text == "->") continue;
    if (c == '<' || c == '(' || c == '[' || c == '{') open += c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) lexer_.error(token.begin, "expected brackets in pairs");
      open.pop_back();
    }
  } while (!open.empty());
}

// loc(...), if it is there; the first name in it.
void Parser::skip_location(std::string* source) {
  if (!is_next("loc")) return;
  next();
  const size_t begin = position();
  if (!is_next("(")) expected("'('");
  const Token name = lexer_.at(begin + 1);
  if (source && name.kind == TokenKind::kString) *source = name.text;
  skip_balanced();
}

NamedSharding Parser::parse_sharding() {
  const size_t offset = position();
  Mesh mesh;
  if (accept("mesh")) {
    mesh = parse_mesh();
  } else {
    mesh = find_mesh(expect(TokenKind::kSymbol, "the name of a mesh").text);
  }
  expect(",");
  expect("[");
  std::vector<DimSpec> dims;
  while (!accept("]")) {
    if (!dims.empty()) expect(",");
    expect("{");
    bool open = false;
    std::vector<AxisRef> axes = parse_axes(&open);
    dims.emplace_back(std::move(axes), open);
    if (peek().kind == TokenKind::kWord && peek().text[0] == 'p')
      error("expected no priorities of propagation, which Tessera does not have; export the program without them");
  }
  std::vector<AxisRef> replicated;
  while (accept(",")) {
    if (accept("unreduced")) error("expected no unreduced axes, which Tessera does not have");
    expect("replicated");
    expect("=");
    expect("{");
    replicated = parse_axes(nullptr);
  }
  expect(">");
  return located(offset, [&] { return NamedSharding(mesh, PartitionSpec(std::move(dims), std::move(replicated))); });
}

std::vector<AxisRef> Parser::parse_axes(bool* open) {
  std::vector<AxisRef> axes;
  bool first = true;
  while (!accept("}")) {
    if (!first) expect(",");
    first = false;
    if (open && accept("?")) {
      *open = true;
      expect("}");
      break;
    }
    AxisRef axis{expect(TokenKind::kString, "the name of an axis, as \"x\"").text};
    if (accept(":")) {
      expect("(");
      axis.pre_size = parse_int();
      expect(")");
      axis.size = parse_int();
      if (axis.pre_size < 1 || axis.size < 1) error("expected the part of an axis to be positive, as \"x\":(1)2");
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

// --- Dense constants ---

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
  const Type type = parse_type();
  if (is_blob) {
    bool splat = false;
    Literal value = parse_blob(blob, type, offset, &splat);
    return TextAttr::Tensor{std::move(value), type.shape};
  }
  if (empty) {
    if (type.elements() != 0) lexer_.error(offset, fmt::format("expected {} elements, got none", type.elements()));
    return TextAttr::Tensor{Literal(type.dtype, type.shape), type.shape};
  }
  const bool splat = elements.shape.empty();
  if (!splat && elements.shape != type.shape)
    lexer_.error(offset, fmt::format("expected elements of shape {}, got {}", type.shape, elements.shape));
  if (elements.is_complex != is_complex(type.dtype))
    lexer_.error(offset, fmt::format("expected {} elements of {}", is_complex(type.dtype) ? "pairs (re,im) as" : "plain", type));
  Literal value(type.dtype, splat ? Shape{} : type.shape);
  const DType part = real_dtype(type.dtype);
  std::byte* to = value.mutable_raw();
  for (size_t i = 0; i < elements.offsets.size(); ++i)
    convert_element(elements.offsets[i], part, to + static_cast<int64_t>(i) * itemsize(part));
  return TextAttr::Tensor{std::move(value), type.shape};
}

void Parser::parse_elements(Elements& elements, int64_t depth) {
  const Nesting nesting(*this);
  if (!accept("[")) return parse_element(elements);
  int64_t count = 0;
  const bool first = static_cast<int64_t>(elements.shape.size()) == depth;  // the first list of this depth says how long all are
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
    error(fmt::format("expected lists of one length, got {} and {} elements", elements.shape[depth], count));
}

void Parser::parse_element(Elements& elements) {
  auto number = [&] {
    elements.offsets.push_back(position());
    accept("-");
    const Token token = next();
    if (token.kind != TokenKind::kInteger && token.kind != TokenKind::kFloat && token.text != "true" && token.text != "false")
      lexer_.error(token.begin, "expected a number, true or false");
  };
  const bool pair = accept("(");
  if (!elements.offsets.empty() && pair != elements.is_complex) error("expected all elements to be complex, or none");
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
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      TESSERA_CHECK(false, "a complex part");
    } else if constexpr (std::is_integral_v<T>) {
      if (token.text == "true" || token.text == "false") {
        if (dtype != bool_ || negative) lexer_.error(offset, fmt::format("expected a number of {}", mlir_name(dtype)));
        return store(static_cast<T>(token.text == "true"), to);
      }
      const std::optional<uint64_t> value = token.kind == TokenKind::kInteger ? parse_unsigned(token.text) : std::nullopt;
      const int bits = std::is_same_v<T, bool> ? 1 : 8 * static_cast<int>(sizeof(T));
      const uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      const bool fits = value && (negative ? !std::is_unsigned_v<T> && *value <= (most >> 1) + 1 : *value <= most);
      if (!fits || (negative && dtype == bool_))
        lexer_.error(offset, fmt::format("expected an integer that fits {}", mlir_name(dtype)));
      store(static_cast<T>(negative ? uint64_t{0} - *value : *value), to);
    } else {
      if (token.kind == TokenKind::kWord) lexer_.error(offset, "expected a number");
      if (is_hex(token.text)) {
        const std::optional<uint64_t> bits = parse_unsigned(token.text);
        if (negative || !bits || *bits > (~uint64_t{0} >> (64 - 8 * sizeof(T))))
          lexer_.error(offset, fmt::format("expected the {} bits of one {}", 8 * sizeof(T), mlir_name(dtype)));
        std::memcpy(to, &*bits, sizeof(T));
        return;
      }
      const double value = (negative ? -1 : 1) * parse_double(token.text);
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
        store(T(static_cast<float>(value)), to);
      } else {
        store(std::is_same_v<T, float> ? static_cast<T>(negative ? -std::strtof(token.text.c_str(), nullptr)
                                                                 : std::strtof(token.text.c_str(), nullptr))
                                       : static_cast<T>(value),
              to);
      }
    }
  });
}

// "0x3F80...": all bytes, little endian; those of one element for a splat. bool is a byte or a bit an element.
Literal Parser::parse_blob(const std::string& hex, const Type& type, size_t offset, bool* splat) {
  auto digit = [](char c) { return is_digit(c) ? c - '0' : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10; };
  const bool valid = hex.size() >= 2 && hex[0] == '0' && hex[1] == 'x' && hex.size() % 2 == 0 &&
                     std::all_of(hex.begin() + 2, hex.end(), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)); });
  if (!valid) lexer_.error(offset, "expected a string of hexadecimal bytes, as \"0x0000803F\"");
  std::vector<std::byte> bytes;
  for (size_t i = 2; i < hex.size(); i += 2) bytes.push_back(static_cast<std::byte>(digit(hex[i]) * 16 + digit(hex[i + 1])));
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
    lexer_.error(offset, fmt::format("expected {} bytes for {}, got {}", elements * itemsize(type.dtype), type, count));
  Literal out(type.dtype, shape);
  if (type.dtype == bool_) {
    for (int64_t i = 0; i < elements; ++i) out.mutable_data<bool>()[i] = bytes[i] != std::byte{0};
  } else if (count > 0) {
    std::memcpy(out.mutable_raw(), bytes.data(), bytes.size());
  }
  return out;
}

}  // namespace tessera::internal
