#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "tessera/interchange/text/parser_internal.h"
#include "tessera/interchange/unreduced.h"
#include "tessera/ir/token_type.h"
#include "tessera/ops/core/convert.h"

namespace tessera::interchange {
namespace {

bool is_element_type(std::string_view word) {
  return word == "complex" || word == "index" || word == "bf16" ||
         (word.size() >= 2 && (word[0] == 'i' || word[0] == 'f') && is_digit(word[1])) ||
         (word.size() >= 3 && (word.substr(0, 2) == "ui" || word.substr(0, 2) == "si") &&
          is_digit(word[2]));
}

bool is_priority(std::string_view word) {
  return word.size() > 1 && word[0] == 'p' &&
         std::all_of(word.begin() + 1, word.end(), [](char c) { return is_digit(c); });
}

// Returns the dtype of that name, or float64 if no floating dtype has it.
DType float_type(std::string_view name) {
  for (int d = 0; d < kNumAllDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is_floating(dtype) && mlir_name(dtype) == name)
      return dtype;
  return float64;
}

double float_of_bits(uint64_t bits, DType dtype) {
  Literal number(dtype, Shape{});
  std::memcpy(number.mutable_raw(), &bits, static_cast<size_t>(number.bytes()));
  return convert_literal(number, float64).data<double>()[0];
}

}  // namespace

Type Parser::parse_type() {
  const DepthGuard guard(*this, position());
  const Token token = peek();
  if (token.kind == TokenKind::kBang) {
    if (token.text == "stablehlo.token") {
      next();
      return token_type();
    }
    if (token.text == "stablehlo.future") {  // it has the type of its result
      next();
      expect("<");
      const Type result = parse_type();
      expect(">");
      return result;
    }
    const auto alias = aliases_.find("!" + token.text);
    if (alias == aliases_.end())
      error(fmt::format("expected a tensor type, got !{}, which Tessera has no arrays of",
                        token.text));
    next();
    const size_t resume = offset_;
    jump(alias->second);
    const Type type = parse_type();
    jump(resume);
    return type;
  }
  if (!is_next("tensor")) expected("a type, as tensor<4x8xf32>");
  return parse_tensor_type(false, true);
}

// Extents are read character by character, because a tokenizer would read 4x8xf32 as a number and a
// name, and 0x8 as a hexadecimal number.
Type Parser::parse_tensor_type(bool index, bool open) {
  next();
  expect("<");
  Type type;
  __int128 elements = 1;
  const std::string_view text = lexer_.text();
  size_t at = position();
  while (at < text.size() && (is_digit(text[at]) || text[at] == '?' || text[at] == '*')) {
    if (text[at] == '?' && open && at + 1 < text.size() && text[at + 1] == 'x') {
      type.shape.push_back(kOpenExtent);
      if (type.shape.size() > 32) lexer_.error(at, "expected at most 32 dimensions");
      at += 2;
      continue;
    }
    if (!is_digit(text[at]))
      lexer_.error(at, "expected a static extent; export the program with concrete shapes");
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
  type.dtype = parse_dtype(index);
  if (is_next(",")) error("expected a plain tensor type, got one with an encoding");
  expect(">");
  return type;
}

DType Parser::parse_dtype(bool index) {
  const size_t offset = position();
  std::string name = expect(TokenKind::kWord, "an element type, as f32").text;
  if (name == "complex") {
    expect("<");
    name += "<" + expect(TokenKind::kWord, "f32 or f64").text + ">";
    expect(">");
  }
  if (index && name == "index") return int64;
  for (int d = 0; d < kNumAllDTypes; ++d)
    if (mlir_name(static_cast<DType>(d)) == name) return static_cast<DType>(d);
  lexer_.error(offset, fmt::format("expected an element type that Tessera has (i1, i2 to i64, ui2 "
                                   "to ui64, f8E4M3FN and its kin, f16, bf16, f32, f64, "
                                   "complex<f32>, complex<f64>), got '{}'",
                                   name));
}

std::vector<Type> Parser::parse_type_list() {
  std::vector<Type> types;
  for (const TypeTree& tree : parse_type_tree_list()) append_types(tree, types);
  return types;
}

TypeTree Parser::parse_type_tree() {
  const DepthGuard guard(*this, position());
  if (!accept("tuple")) return {.type = parse_type()};
  TypeTree tuple{.is_tuple = true};
  expect("<");
  while (!accept(">")) {
    if (!tuple.parts.empty()) expect(",");
    tuple.parts.push_back(parse_type_tree());
  }
  return tuple;
}

std::vector<TypeTree> Parser::parse_type_tree_list() {
  std::vector<TypeTree> types;
  if (!accept("(")) {
    types.push_back(parse_type_tree());
    return types;
  }
  while (!accept(")")) {
    if (!types.empty()) expect(",");
    types.push_back(parse_type_tree());
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
  const DepthGuard guard(*this, position());
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
      if (is_next(":") && lexer_.at(offset_ + 1).text == ":")
        error("expected a plain name, got a nested one");
      return symbol(token.text, token.begin);
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
  // (1)2: a part of an axis
  if (is_next("(") && lexer_.at(token.end).kind == TokenKind::kInteger) {
    next();
    TextAttr::Record part{"stablehlo.sub_axis_info", {}};
    part.entries.emplace_back("pre_size", TextAttr::Integer{parse_int()});
    expect(")");
    part.entries.emplace_back("size", TextAttr::Integer{parse_int()});
    return part;
  }
  if (is_next("(")) {  // the type of a function
    parse_type_list();
    expect("->");
    parse_type_list();
    return TextAttr::Record{"function_type", {}};
  }
  if (is_next("<") && bare) {
    const Token first = lexer_.at(token.end);
    if (first.kind == TokenKind::kWord && first.text != "mesh") return parse_record("");
    next();
    AxisNames unreduced;
    const NamedSharding sharding = parse_sharding(unreduced);
    return sharding_attribute({sharding, std::move(unreduced)});
  }
  expected("an attribute");
}

// In assembly (`bare`) no type follows a number; elsewhere one may.
TextAttr Parser::parse_number(bool bare) {
  const size_t offset = position();
  const bool negative = accept("-");
  if (peek().kind != TokenKind::kInteger && peek().kind != TokenKind::kFloat) expected("a number");
  const Token token = next();
  std::string type;
  if (!bare && accept(":")) type = expect(TokenKind::kWord, "the type of the number").text;
  const bool floating =
      token.kind == TokenKind::kFloat || (!type.empty() && (type[0] == 'f' || type[0] == 'b'));
  // A number without a type is an f64, and so is one with a type that arrays do not have.
  const DType dtype = float_type(type);
  if (floating && token.kind == TokenKind::kInteger && is_hex(token.text)) {
    const std::optional<uint64_t> bits = parse_unsigned(token.text);
    if (!bits) lexer_.error(offset, "expected at most 64 bits");
    return TextAttr::Float{float_of_bits(*bits, type.empty() ? float32 : dtype), dtype};
  }
  if (floating) return TextAttr::Float{(negative ? -1 : 1) * parse_real<double>(token.text), dtype};
  const std::optional<uint64_t> value = parse_unsigned(token.text);
  if (!value) lexer_.error(offset, "expected an integer of 64 bits");
  const uint64_t bits = negative ? uint64_t{0} - *value : *value;
  if (type == "i1") return bits != 0;
  int width = 64;
  bool is_unsigned = false;
  for (int d = 0; d < kNumAllDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is_integer(dtype) && mlir_name(dtype) == type) {
      width = bit_width(dtype);
      is_unsigned = tessera::is_unsigned(dtype);
    }
  return TextAttr::Integer{static_cast<int64_t>(bits), width, is_unsigned};
}

TextAttr Parser::parse_word_attribute(bool bare) {
  const Token token = peek();
  if (accept("true")) return true;
  if (accept("false")) return false;
  if (accept("unit")) return TextAttr::Unit{};
  if (accept("dense")) return parse_dense();
  if (accept("array")) return parse_array();
  if (is_next("dense_resource"))
    error("expected the constant's values in the text, got a reference to a resource");
  if (is_next("tensor")) {
    const Type type = parse_type();
    return TextAttr::Record{"tensor", {{"dtype", TextAttr(type.dtype)}}};
  }
  // tf32 is a keyword in a dot's algorithm; no arrays have this type.
  if (accept("tf32")) return TextAttr::Keyword{"", "tf32"};
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
  for (const TextAttr& item : list.items)
    array.values.push_back(item.get<TextAttr::Integer>()->value);
  return array;
}

// array<i64: 0, 1>, array<i1: true>
TextAttr Parser::parse_array() {
  expect("<");
  const size_t offset = position();
  const DType dtype = parse_dtype();
  TextAttr::Array array{{}, dtype};
  if (accept(":")) {
    do {
      if (dtype == bool_ && (is_next("true") || is_next("false"))) {
        array.values.push_back(next().text == "true");
      } else {
        if (!is_integer(dtype) && dtype != bool_)
          lexer_.error(offset, "expected an array of integers");
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
    if (key.kind != TokenKind::kWord && key.kind != TokenKind::kString)
      expected("the name of an attribute");
    next();
    entries.emplace_back(key.text,
                         accept("=") ? parse_attribute(false) : TextAttr(TextAttr::Unit{}));
  }
  return entries;
}

TextAttr Parser::parse_hash_attribute() {
  const Token token = next();
  if (token.text == "sdy.sharding") {
    expect("<");
    AxisNames unreduced;
    const NamedSharding sharding = parse_sharding(unreduced);
    return sharding_attribute({sharding, std::move(unreduced)});
  }
  if (token.text == "sdy.sharding_per_value") {
    std::vector<WrittenSharding> shardings;
    expect("<");
    expect("[");
    while (!accept("]")) {
      if (!shardings.empty()) expect(",");
      expect("<");
      AxisNames unreduced;
      const NamedSharding sharding = parse_sharding(unreduced);
      shardings.push_back({sharding, std::move(unreduced)});
    }
    expect(">");
    return shardings_attribute(std::move(shardings));
  }
  if (token.text == "sdy.op_sharding_rule") return parse_sharding_rule();
  if (token.text == "sdy" && is_next("<")) {  // #sdy<manual_axes{"x", "y"}>
    expect("<");
    expect("manual_axes");
    expect("{");
    TextAttr::List axes;
    while (!accept("}")) {
      if (!axes.items.empty()) expect(",");
      axes.items.emplace_back(expect(TokenKind::kString, "the name of an axis, as \"x\"").text);
    }
    expect(">");
    return axes;
  }
  if (is_next("<")) {
    TextAttr record = parse_record(token.text);
    if (token.text == "stablehlo.mesh") return inline_mesh(record, token.begin);
    return record;
  }
  const auto alias = aliases_.find("#" + token.text);
  if (alias == aliases_.end())
    lexer_.error(token.begin,
                 fmt::format("expected an attribute, got the unknown #{}", token.text));
  if (!aliases_in_progress_.insert(token.text).second)
    lexer_.error(token.begin, "expected an alias that does not name itself");
  const size_t resume = offset_;
  jump(alias->second);
  TextAttr out = is_next("loc") ? (skip_location(nullptr), TextAttr()) : parse_attribute(false);
  jump(resume);
  aliases_in_progress_.erase(token.text);
  return out;
}

// Parses #stablehlo<kind NAME> and #stablehlo.dot<a = [0], ...>. Any other form is kept as text.
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
        record.entries.emplace_back(
            key.text, accept("=") ? parse_attribute(true) : TextAttr(TextAttr::Unit{}));
      }
      return record;
    }
  }
  jump(begin);
  skip_balanced();
  return TextAttr::Record{std::move(name),
                          {{"text", std::string(lexer_.text().substr(begin, offset_ - begin))}}};
}

// Skips from an opening bracket to after the one that closes it.
void Parser::skip_balanced() {
  std::string open;
  do {
    const Token token = next();
    if (token.kind == TokenKind::kEnd)
      lexer_.error(token.begin, "expected a closing bracket, got the end of the text");
    if (token.kind != TokenKind::kPunctuation) continue;
    const char c = token.text[0];
    if (token.text == "->") continue;
    if (c == '<' || c == '(' || c == '[' || c == '{')
      open += c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) lexer_.error(token.begin, "expected brackets in pairs");
      open.pop_back();
    }
  } while (!open.empty());
}

// Skips loc(...) if there is one, and stores the first name in it.
void Parser::skip_location(std::string* source) {
  if (!is_next("loc")) return;
  next();
  const size_t begin = position();
  if (!is_next("(")) expected("'('");
  const Token name = lexer_.at(begin + 1);
  if (source && name.kind == TokenKind::kString) *source = name.text;
  skip_balanced();
}

NamedSharding Parser::parse_sharding(AxisNames& unreduced) {
  const size_t offset = position();
  Mesh mesh;
  if (accept("mesh")) {
    mesh = parse_mesh();
  } else {
    const Token name = expect(TokenKind::kSymbol, "the name of a mesh");
    mesh = find_mesh(name.text, name.begin);
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
    // A priority of propagation, p0, is ignored: Tessera's propagation is ordered by sharded
    // dimensions and bytes.
    if (peek().kind == TokenKind::kWord && is_priority(peek().text)) next();
  }
  std::vector<AxisRef> replicated;
  while (accept(",")) {
    const bool sums = accept("unreduced");
    if (!sums) expect("replicated");
    expect("=");
    const size_t offset = position();
    expect("{");
    std::vector<AxisRef> axes = parse_axes(nullptr);
    if (sums) {
      unreduced = located(offset, [&] { return unreduced_axes(mesh, axes); });
    } else {
      replicated = std::move(axes);
    }
  }
  expect(">");
  return located(offset, [&] {
    return NamedSharding(mesh, PartitionSpec(std::move(dims), std::move(replicated)));
  });
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
      if (axis.pre_size < 1 || axis.size < 1)
        error("expected the part of an axis to be positive, as \"x\":(1)2");
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace tessera::interchange
