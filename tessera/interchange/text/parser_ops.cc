#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/interchange/op_table.h"
#include "tessera/interchange/text/parser_internal.h"
#include "tessera/ir/axis_env.h"

namespace tessera::interchange {
namespace {

using Signature = OpFormat::Signature;

bool is_terminator(std::string_view name) {
  return name == "return" || name == "func.return" || name == "stablehlo.return" ||
         name == "sdy.return";
}

}  // namespace

void Scanner::extra(OpText& text) {
  if (!parser_.accept("{")) return;
  for (auto& entry : parser_.parse_dictionary()) text.extra.push_back(std::move(entry));
}

void Scanner::signature(OpReader& reader) {
  auto& mine = static_cast<Reader&>(reader);
  parser_.parse_signature(mine, mine.result_count, true);
}

RegionInput Scanner::region_input() {
  const Token name = parser_.expect(TokenKind::kValue, "an argument, as %arg0");
  parser_.expect(":");
  RegionInput input{name.text, parser_.parse_type()};
  parser_.skip_location(nullptr);
  return input;
}

// --- Values ---

ValueId Parser::parse_operand(Scope& scope) {
  const size_t offset = position();
  const ValueId value = parse_value(scope);
  if (is_tuple(value)) lexer_.error(offset, "expected a tensor, got a tuple");
  return value;
}

ValueId Parser::parse_value(Scope& scope) {
  const Token name = expect(TokenKind::kValue, "a value, as %0");
  int64_t result = 0;
  if (peek().kind == TokenKind::kHash && peek().begin == name.end) {
    const Token index = next();
    if (index.text.empty() || index.text.size() > 6 ||
        !std::all_of(index.text.begin(), index.text.end(),
                     [](char c) { return c >= '0' && c <= '9'; }))
      lexer_.error(index.begin, "expected the number of a result, as %0#1");
    result = std::stoll(index.text);
  }
  return lookup(scope, name.text, result, name.begin);
}

ValueId Parser::lookup(Scope& scope, const std::string& name, int64_t result, size_t offset) {
  if (const auto it = scope.names.find(name); it != scope.names.end()) {
    if (result >= static_cast<int64_t>(it->second.size()))
      lexer_.error(offset, fmt::format("expected a result below {} of %{}, got {}",
                                       it->second.size(), name, result));
    return it->second[result];
  }
  if (!scope.parent)
    lexer_.error(offset, fmt::format("expected a value that is defined above, got %{}", name));
  const ValueId outer = lookup(static_cast<Scope&>(*scope.parent), name, result, offset);
  return import_tree(scope, outer, "%" + name, offset);
}

std::vector<ValueId> Parser::parse_operands(Scope& scope) {
  std::vector<ValueId> operands;
  while (peek().kind == TokenKind::kValue) {
    append_leaves(parse_value(scope), operands);
    if (!is_next(",")) break;
    const Token after = lexer_.at(peek().end);
    if (after.kind == TokenKind::kPunctuation && after.text == ",")
      next();  // MLIR's `%0, , sizes = []`
    if (after.kind != TokenKind::kValue) break;
    next();
  }
  return operands;
}

// Reads stablehlo.tuple %0, %1 : tuple<T, U> and stablehlo.get_tuple_element %t[1] : (tuple<T, U>)
// -> U, also in generic form. For any other op it returns false and reads nothing.
bool Parser::parse_tuple_op(Scope& scope, const Token& name, std::vector<ValueId>& results) {
  const bool makes = name.text == "stablehlo.tuple";
  if (!makes && name.text != "stablehlo.get_tuple_element") return false;
  next();
  const bool generic = name.kind == TokenKind::kString;
  if (generic) expect("(");
  std::vector<ValueId> operands;
  while (peek().kind == TokenKind::kValue) {
    operands.push_back(parse_value(scope));
    if (!accept(",")) break;
  }
  if (generic) expect(")");
  OpText text;
  int64_t index = -1;
  if (!makes && !generic) {
    expect("[");
    index = parse_int();
    expect("]");
  } else if (generic && accept("<")) {
    expect("{");
    text.attributes = parse_dictionary();
    expect(">");
  }
  Scanner(*this, scope).extra(text);
  if (const TextAttr* written = text.find("index"))
    if (const auto* number = written->get<TextAttr::Integer>()) index = number->value;
  expect(":");
  const size_t offset = position();
  TypeTree type;
  if (makes && !generic) {
    type = parse_type_tree();
  } else {
    parse_type_list();
    expect("->");
    const std::vector<TypeTree> types = parse_type_tree_list();
    if (types.size() != 1) lexer_.error(offset, "expected one result");
    type = types[0];
  }
  skip_location(nullptr);
  ValueId result = 0;
  if (makes) {
    result = new_tuple(std::move(operands), name.begin);
  } else {
    if (operands.size() != 1) lexer_.error(name.begin, "expected a tuple, got another value");
    result = tuple_part(operands[0], index, name.begin);
  }
  if (!matches(scope, result, type))
    lexer_.error(offset, "expected the type of what the op gives, got another");
  results = {result};
  return true;
}

// --- Ops ---

bool Parser::parse_op(Scope& scope) {
  const DepthGuard guard(*this, position());
  // %0, %1:2 =, where a number follows a name with several results
  std::vector<std::pair<Token, int64_t>> names;
  int64_t count = 0;
  while (peek().kind == TokenKind::kValue) {
    names.emplace_back(next(), 1);
    if (accept(":")) names.back().second = parse_int();
    if (names.back().second < 1 || names.back().second > 100000)
      error("expected a number of results");
    count += names.back().second;
    if (!accept(",")) break;
  }
  if (!names.empty()) expect("=");
  const Token name = peek();
  if (name.kind != TokenKind::kWord && name.kind != TokenKind::kString)
    expected("an op, as stablehlo.add");
  if (is_terminator(name.text)) {
    if (!names.empty()) expected("an op with results");
    next();
    parse_terminator(scope, name.kind == TokenKind::kString);
    return false;
  }
  std::vector<ValueId> results;
  const auto name_results = [&] {
    if (count != 0 && static_cast<int64_t>(results.size()) != count)
      lexer_.error(name.begin,
                   fmt::format("expected {} name{} for the results of {}, got {}", results.size(),
                               results.size() == 1 ? "" : "s", name.text, count));
    auto at = results.begin();
    for (const auto& [value, n] : names) {
      if (!scope.names.emplace(value.text, std::vector<ValueId>(at, at + n)).second)
        lexer_.error(value.begin,
                     fmt::format("expected a new name, got %{} a second time", value.text));
      at += n;
    }
    return true;
  };
  if (parse_tuple_op(scope, name, results)) return name_results();
  Reader reader(*this, scope, name.begin);
  reader.result_count = static_cast<size_t>(count);
  next();
  const size_t first_op = scope.function.ops.size();
  std::string op_name = name.text;
  if (name.kind == TokenKind::kString) {
    parse_generic_op(scope, reader, op_name);
  } else {
    if (op_name == "call") op_name = "func.call";
    parse_pretty_op(scope, reader, {name.kind, op_name, name.begin, name.end});
  }
  skip_location(&reader.source);
  if (reader.source.empty()) reader.source = lexer_.location(name.begin);
  const size_t dot = op_name.find('.');
  results = finish_op(scope, reader, op_name.substr(0, dot),
                      dot == std::string::npos ? "" : op_name.substr(dot + 1));
  for (size_t i = first_op; i < scope.function.ops.size(); ++i)
    scope.function.ops[i].source = reader.source;
  results = grouped(reader.result_trees, std::move(results), name.begin);
  return name_results();
}

// %0, %1 : T, U, or in generic form (%0, %1) : (T, U) -> ().
void Parser::parse_terminator(Scope& scope, bool generic) {
  if (generic) expect("(");
  for (ValueId v : parse_operands(scope)) scope.function.outputs.push_back(v);
  if (generic) expect(")");
  if (accept("{")) parse_dictionary();
  const size_t offset = position();
  if (accept(":")) {
    std::vector<Type> types;
    if (generic || is_next("(")) {
      types = parse_type_list();
      if (accept("->")) parse_type_list();
    } else {
      do append_types(parse_type_tree(), types);
      while (accept(","));
    }
    if (types.size() != scope.function.outputs.size())
      lexer_.error(offset, fmt::format("expected {} types, got {}", scope.function.outputs.size(),
                                       types.size()));
    for (size_t i = 0; i < types.size(); ++i)
      if (!fits(types[i], scope.function.type(scope.function.outputs[i])))
        lexer_.error(offset, fmt::format("expected type {} to be {}, got {}", i,
                                         scope.function.type(scope.function.outputs[i]), types[i]));
  }
  skip_location(nullptr);
}

void Parser::parse_pretty_op(Scope& scope, Reader& reader, const Token& name) {
  const size_t dot = name.text.find('.');
  if (dot == std::string::npos)
    lexer_.error(name.begin, fmt::format("expected an op, as stablehlo.add, got '{}'", name.text));
  const std::string dialect = name.text.substr(0, dot), op = name.text.substr(dot + 1);
  if (name.text == "stablehlo.custom_call") return parse_custom_call(scope, reader);
  if (name.text == "chlo.scan") return parse_scan(scope, reader);
  const ReadAs read = read_as(dialect, op);
  const OpFormat& format = read.row.format;
  if (!read.is_known())
    lexer_.error(name.begin, fmt::format("expected an op that Tessera has, got '{}'", name.text));
  if (format.parse) {
    Scanner scanner(*this, scope, format.capture_rule != nullptr);
    return located(name.begin, [&] { format.parse(scanner, reader); });
  }
  if (!format.assembly.empty()) {
    parse_assembly(format.assembly, scope, reader);
  } else if (!read.def || std::all_of(read.def->attributes.begin(), read.def->attributes.end(),
                                      is_result_field)) {
    parse_assembly("{operands}", scope, reader);
  } else {
    lexer_.error(
        name.begin,
        fmt::format("expected the generic form of this op, \"{}\"(...) <{{...}}> : (...) -> ...",
                    name.text));
  }
  Scanner(*this, scope).extra(reader.text);
  if (format.signature != Signature::kNone) parse_signature(reader, reader.result_count);
}

void Parser::parse_generic_op(Scope& scope, Reader& reader, const std::string& name) {
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string dialect = name.substr(0, dot),
                    op = dot < name.size() ? name.substr(dot + 1) : std::string();
  expect("(");
  reader.operands = parse_operands(scope);
  expect(")");
  if (is_next("<")) {
    next();
    expect("{");
    reader.text.attributes = parse_dictionary();
    expect(">");
  }
  if (is_next("(")) {
    next();
    const RegionRules rules = region_rules(scope, reader, dialect, op);
    std::optional<AxisEnv::Scope> manual;
    if (rules.manual) manual.emplace(rules.manual->mesh, rules.manual->axes, false);
    do {
      expect("{");
      reader.captures.emplace_back();
      reader.text.regions.push_back(parse_region(
          scope, rules, rules.captures || rules.scalars ? &reader.captures.back() : nullptr));
    } while (accept(","));
    expect(")");
  }
  Scanner(*this, scope).extra(reader.text);
  parse_signature(reader, reader.result_count);
}

// ^bb0(%arg0: T): ops }, or ops } without arguments.
FunctionRef Parser::parse_region(Scope& scope, const RegionRules& rules,
                                 std::vector<ValueId>* captures) {
  std::vector<RegionInput> inputs;
  if (peek().kind == TokenKind::kCaret) {
    next();
    if (accept("(")) {
      Scanner scanner(*this, scope);
      while (!accept(")")) {
        if (!inputs.empty()) expect(",");
        const size_t at = position();
        inputs.push_back(scanner.region_input());
        inputs.back().type =
            region_input_type(inputs.back().type, inputs.size() - 1, rules.like, at);
        if (inputs.size() > rules.inputs.size()) continue;
        const Type& outer = rules.inputs[inputs.size() - 1];
        inputs.back().type.weak = outer.weak;
        inputs.back().type.varying = outer.varying;
      }
    }
    expect(":");
  }
  return parse_region_body(&scope, inputs, captures, rules.scalars);
}

FunctionRef Parser::parse_region_body(Scope* parent, std::span<const RegionInput> inputs,
                                      std::vector<ValueId>* captures, bool computed) {
  const DepthGuard guard(*this, position());
  Scope scope;
  scope.parent = parent;
  scope.computed = computed;
  scope.captures = captures;
  scope.function.name = "body";
  for (const RegionInput& input : inputs)
    if (!scope.names.emplace(input.name, std::vector<ValueId>{scope.function.add_input(input.type)})
             .second)
      error(fmt::format("expected arguments of different names, got %{} twice", input.name));
  while (parse_op(scope)) {
  }
  expect("}");
  return std::make_shared<const Function>(std::move(scope.function));
}

// @name(%0, %1) {attributes} : types
void Parser::parse_custom_call(Scope& scope, Reader& reader) {
  const Token target = expect(TokenKind::kSymbol, "the name of what is called, as @Sharding");
  reader.text.attributes.emplace_back("call_target_name", target.text);
  expect("(");
  reader.operands = parse_operands(scope);
  expect(")");
  Scanner(*this, scope).extra(reader.text);
  parse_signature(reader, reader.result_count);
}

// (%inputs) inits(%carries) dimension=0 attributes {...} {^bb0(...): ...} : (types) -> (types)
void Parser::parse_scan(Scope& scope, Reader& reader) {
  expect("(");
  reader.operands = parse_operands(scope);
  expect(")");
  const auto inputs = static_cast<int64_t>(reader.operands.size());
  expect("inits");
  expect("(");
  for (const ValueId v : parse_operands(scope)) reader.operands.push_back(v);
  expect(")");
  expect("dimension");
  expect("=");
  reader.text.attributes.emplace_back("dimension", TextAttr::Integer{parse_int()});
  reader.text.attributes.emplace_back(
      "operandSegmentSizes",
      TextAttr::Array{{inputs, static_cast<int64_t>(reader.operands.size()) - inputs}});
  if (accept("attributes")) Scanner(*this, scope).extra(reader.text);
  const RegionRules rules = region_rules(scope, reader, "chlo", "scan");
  expect("{");
  reader.captures.emplace_back();
  reader.text.regions.push_back(parse_region(scope, rules, nullptr));
  parse_signature(reader, reader.result_count);
}

// Reads these tokens if all of them are next; otherwise reads nothing and returns false.
bool Parser::accept_literal(std::string_view literal) {
  const Lexer own(literal, "assembly");
  const size_t begin = offset_;
  for (Token want = own.at(0); want.kind != TokenKind::kEnd; want = own.at(want.end)) {
    if (accept(want.text)) continue;
    jump(begin);
    return false;
  }
  return true;
}

void Parser::parse_assembly(std::string_view assembly, Scope& scope, Reader& reader) {
  size_t i = 0;
  while (i < assembly.size()) {
    if (assembly[i] == '{') {
      const size_t end = assembly.find('}', i);
      parse_hole(assembly.substr(i + 1, end - i - 1), scope, reader);
      i = end + 1;
    } else if (assembly[i] == '<') {
      const size_t end = assembly.find('>', i);
      const std::string_view group = assembly.substr(i + 1, end - i - 1);
      const size_t hole = std::min(group.find('{'), group.size());
      if (accept_literal(group.substr(0, hole))) parse_assembly(group.substr(hole), scope, reader);
      i = end + 1;
    } else {
      const size_t end = std::min(assembly.find_first_of("{<", i), assembly.size());
      const std::string_view literal = assembly.substr(i, end - i);
      if (!accept_literal(literal)) {
        const Lexer own(literal, "assembly");
        for (Token want = own.at(0); want.kind != TokenKind::kEnd; want = own.at(want.end))
          expect(want.text);
      }
      i = end;
    }
  }
}

void Parser::parse_hole(std::string_view hole, Scope& scope, Reader& reader) {
  if (hole == "operands") {
    reader.operands = parse_operands(scope);
  } else if (hole == "extra") {
    Scanner(*this, scope).extra(reader.text);
  } else if (hole.find(':') != std::string_view::npos) {
    parse_ranges(hole, reader);
  } else {
    reader.text.attributes.emplace_back(std::string(hole), parse_attribute(true));
  }
}

// [0:4, 1:8:2]
void Parser::parse_ranges(std::string_view hole, Reader& reader) {
  std::array<TextAttr::Array, 3> parts;
  expect("[");
  while (!accept("]")) {
    if (!parts[0].values.empty()) expect(",");
    parts[0].values.push_back(parse_int());
    expect(":");
    parts[1].values.push_back(parse_int());
    parts[2].values.push_back(accept(":") ? parse_int() : 1);
  }
  for (TextAttr::Array& part : parts) {
    const size_t end = std::min(hole.find(':'), hole.size());
    reader.text.attributes.emplace_back(std::string(hole.substr(0, end)), std::move(part));
    hole.remove_prefix(std::min(end + 1, hole.size()));
  }
}

// : (T, U) -> V, or : T, U -> V (chlo), or : T, U, in which the last types, or all, are those of
// the results.
void Parser::parse_signature(Reader& reader, size_t results, bool only_results) {
  expect(":");
  const size_t offset = position();
  std::vector<Type> types;
  const bool functional = is_next("(");
  if (functional) {
    types = parse_type_list();
  } else {
    do types.push_back(parse_type());
    while (accept(","));
  }
  if (functional ? (expect("->"), true) : accept("->")) {
    const std::vector<Type> operands = reader.operand_types();
    if (types.size() != operands.size())
      lexer_.error(offset, fmt::format("expected the types of {} operands, got {}", operands.size(),
                                       types.size()));
    for (size_t k = 0; k < types.size(); ++k)
      if (!fits(types[k], operands[k]))
        lexer_.error(offset, fmt::format("expected operand {} to be {}, as it is defined, got {}",
                                         k, operands[k], types[k]));
    types.clear();
    reader.result_trees = parse_type_tree_list();
    for (const TypeTree& tree : reader.result_trees) append_types(tree, types);
  } else {
    // If the results have no names, the types determine their number.
    const size_t n = results ? results : only_results ? types.size() : 1;
    if (only_results ? types.size() != n : types.size() < n)
      lexer_.error(offset,
                   fmt::format("expected the types of {} results, got {}", n, types.size()));
    types.erase(types.begin(), types.end() - static_cast<int64_t>(n));
  }
  reader.result_types = std::move(types);
}

}  // namespace tessera::interchange
