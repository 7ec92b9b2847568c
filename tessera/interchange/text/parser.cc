#include "tessera/interchange/text/parser.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "tessera/interchange/text/parser_internal.h"
#include "tessera/mesh/device_mesh.h"

namespace tessera::interchange {

const Token& Parser::peek() {
  if (!peeked_) peeked_ = lexer_.at(offset_);
  return *peeked_;
}

Token Parser::next() {
  Token token = peek();
  jump(token.end);
  return token;
}

void Parser::jump(size_t offset) {
  offset_ = offset;
  peeked_.reset();
}

bool Parser::is_next(std::string_view text) {
  const Token& token = peek();
  return (token.kind == TokenKind::kWord || token.kind == TokenKind::kPunctuation) &&
         token.text == text;
}

bool Parser::accept(std::string_view text) {
  if (!is_next(text)) return false;
  next();
  return true;
}

void Parser::expect(std::string_view text) {
  if (!accept(text)) expected(fmt::format("'{}'", text));
}

Token Parser::expect(TokenKind kind, const char* what) {
  if (peek().kind != kind) expected(what);
  return next();
}

void Parser::expected(std::string_view what) {
  const Token token = peek();
  if (token.kind == TokenKind::kEnd)
    error(fmt::format("expected {}, got the end of the text", what));
  error(fmt::format(
      "expected {}, got '{}'", what,
      lexer_.text().substr(token.begin, std::min<size_t>(token.end - token.begin, 40))));
}

// Returns the number in the attribute, or 0 if it is no number.
int64_t Parser::parse_number_of_partitions() {
  int64_t count = 0;
  const std::string text = peek().text;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

// Finds the functions, meshes and aliases, because they may be used before they are defined.
void Parser::scan_symbols() {
  std::string before;
  for (Token token = next(); token.kind != TokenKind::kEnd; before = token.text, token = next()) {
    if (token.kind == TokenKind::kPunctuation && token.text == "?")
      open_ = open_ || (before != "{" && before != ",");  // not those of shardings
    if (token.kind == TokenKind::kWord && token.text == "mhlo.num_partitions" && accept("=")) {
      partitions_ = parse_number_of_partitions();
    } else if (token.kind == TokenKind::kWord && token.text == "sdy.mesh" &&
               peek().kind == TokenKind::kSymbol) {
      const Token name = next();
      mesh_texts_[name.text] = {.offset = offset_};
      if (!meshes_.emplace(name.text, std::nullopt).second)
        lexer_.error(name.begin, fmt::format("expected one mesh @{}, got a second one", name.text));
    } else if (token.kind == TokenKind::kWord && token.text == "func.func") {
      FunctionEntry entry;
      entry.is_public = !accept("private") && (accept("public") || true);
      if (peek().kind != TokenKind::kSymbol) continue;
      const Token name = next();
      if (!functions_.emplace(name.text, entry).second)
        lexer_.error(name.begin,
                     fmt::format("expected one function @{}, got a second one", name.text));
      function_texts_[name.text] = {.offset = token.end};
      function_order_.push_back(name.text);
    } else if (token.kind == TokenKind::kSymbol && !function_order_.empty() &&
               !meshes_.contains(token.text)) {
      functions_[function_order_.back()].mentions.push_back(token.text);
    } else if ((token.kind == TokenKind::kHash || token.kind == TokenKind::kBang) && is_next("=")) {
      next();
      aliases_.emplace((token.kind == TokenKind::kHash ? "#" : "!") + token.text, offset_);
    } else if (token.kind == TokenKind::kString &&
               (token.text == "func.func" || token.text == "sdy.mesh") && is_next("(")) {
      scan_generic_symbol(token);
    }
  }
  jump(0);
}

// Reads "func.func"() <{..., sym_name = "main"}> ..., where the name is one of the attributes.
void Parser::scan_generic_symbol(const Token& op) {
  const size_t resume = offset_;
  std::string name;
  bool is_private = false;
  if (accept("(") && accept(")") && (accept("<") || is_next("{"))) {
    for (int depth = 0; peek().kind != TokenKind::kEnd;) {
      const Token token = next();
      if (token.text == "{" && token.kind == TokenKind::kPunctuation) ++depth;
      if (token.text == "}" && token.kind == TokenKind::kPunctuation && --depth == 0) break;
      if (depth != 1 || token.kind != TokenKind::kWord || !is_next("=")) continue;
      next();
      if (token.text == "sym_name" && peek().kind == TokenKind::kString) name = peek().text;
      if (token.text == "sym_visibility" && peek().kind == TokenKind::kString)
        is_private = peek().text == "private";
    }
  }
  jump(resume);
  const bool is_mesh = op.text == "sdy.mesh";
  const bool is_new =
      is_mesh ? meshes_.emplace(name, std::nullopt).second
              : functions_.emplace(name, FunctionEntry{.is_public = !is_private}).second;
  (is_mesh ? mesh_texts_ : function_texts_)[name] = {.offset = op.end, .generic = true};
  if (!is_new)
    lexer_.error(op.begin,
                 fmt::format("expected symbols of different names, got a second @{}", name));
  if (op.text == "func.func") function_order_.push_back(name);
}

ParsedModule Parser::parse() {
  scan_symbols();
  read_functions();
  jump(0);
  parse_items(false);
  return finish_module(position());
}

// Parses aliases, a module, or the content of a module.
void Parser::parse_items(bool in_module) {
  while (true) {
    const Token token = peek();
    if (token.kind == TokenKind::kEnd) {
      if (in_module) expected("'}' at the end of the module");
      return;
    }
    if (in_module && accept("}")) return;
    if (token.kind == TokenKind::kHash || token.kind == TokenKind::kBang) {
      next();
      expect("=");
      if (token.kind == TokenKind::kBang) {
        parse_type();
      } else if (is_next("loc")) {
        skip_location(nullptr);
      } else {
        parse_attribute(false);
      }
    } else if (!in_module && (accept("module") || accept("builtin.module"))) {
      if (peek().kind == TokenKind::kSymbol) module_name_ = next().text;
      if (accept("attributes")) {
        expect("{");
        parse_dictionary();
      }
      expect("{");
      parse_items(true);
      skip_location(nullptr);
    } else if (token.kind == TokenKind::kString) {
      next();
      if (token.text == "builtin.module" && !in_module) {
        parse_generic_module();
      } else if (token.text == "func.func") {
        const auto is_here = [&](const auto& entry) { return entry.second.offset == token.end; };
        skip_function(std::find_if(function_texts_.begin(), function_texts_.end(), is_here)->first);
      } else if (token.text == "sdy.mesh") {
        parse_generic_mesh();
      } else {
        jump(token.begin);
        expected("a module, a mesh or a function");
      }
    } else if (accept("sdy.mesh")) {
      parse_mesh_item();
    } else if (accept("func.func")) {
      if (!accept("public") && !accept("private")) accept("nested");
      skip_function(expect(TokenKind::kSymbol, "the name of the function, as @main").text);
    } else {
      expected(in_module ? "sdy.mesh, func.func or '}'" : "a module or a function");
    }
  }
}

// Parses the function if no call has done so, and continues after it.
void Parser::skip_function(const std::string& name) {
  if (!open_) find_function(name, position());
  SymbolText& text = function_texts_[name];
  jump(text.end > 0 ? text.end : text.offset);
  if (text.end == 0) skip_unread_function();
}

// Skips a function that nothing calls with known shapes.
void Parser::skip_unread_function() {
  if (is_next("(")) {  // generic
    skip_balanced();
    if (is_next("<")) skip_balanced();
    skip_balanced();
    if (is_next("{")) skip_balanced();
    expect(":");
    parse_type_list();
    expect("->");
    parse_type_list();
    return skip_location(nullptr);
  }
  if (!accept("public") && !accept("private")) accept("nested");
  expect(TokenKind::kSymbol, "the name of the function");
  if (!is_next("(")) expected("'('");
  skip_balanced();
  if (accept("->")) {
    if (is_next("(")) {
      skip_balanced();
    } else {
      parse_type_tree();
    }
  }
  if (accept("attributes")) {
    if (!is_next("{")) expected("'{'");
    skip_balanced();
  }
  if (is_next("{")) skip_balanced();
  skip_location(nullptr);
}

void Parser::read_function(const std::string& name, FunctionEntry& entry) {
  SymbolText& text = function_texts_[name];
  const DepthGuard guard(*this, position());
  const size_t resume = position();
  entry.in_progress = true;
  jump(text.offset);
  Scope scope;
  scope.function.name = name;
  std::vector<Type> results;
  size_t body = position();
  if (text.generic) {
    parse_generic_function(scope, entry);
    results = scope.function.output_types();
  } else {
    if (!accept("public") && !accept("private")) accept("nested");
    expect(TokenKind::kSymbol, "the name of the function");
    parse_arguments(scope, entry);
    if (accept("->")) parse_results(entry, results);
    body = position();
    TextAttr::Entries attributes;
    if (accept("attributes")) {
      expect("{");
      attributes = parse_dictionary();
      body = position();
    }
    if (!is_next("{")) {
      skip_location(nullptr);
      text.end = position();
      finish_declaration(entry, attributes, body);
      jump(resume);
      return;
    }
    expect("{");
    while (parse_op(scope)) {
    }
    expect("}");
  }
  skip_location(nullptr);
  text.end = position();
  finish_function(scope, entry, results, body);
  jump(resume);
}

void Parser::parse_arguments(Scope& scope, FunctionEntry& entry) {
  expect("(");
  while (!is_next(")")) {
    if (!entry.inputs.empty()) expect(",");
    const Token name = expect(TokenKind::kValue, "an argument, as %arg0");
    expect(":");
    const TypeTree type = parse_type_tree();
    TextAttr::Entries attributes;
    const size_t offset = position();
    if (accept("{")) attributes = parse_dictionary();
    const ValueId value = add_argument(scope, entry, type, name.text, attributes, offset);
    skip_location(nullptr);
    if (!scope.names.emplace(name.text, std::vector<ValueId>{value}).second)
      lexer_.error(name.begin,
                   fmt::format("expected arguments of different names, got %{} twice", name.text));
  }
  expect(")");
}

void Parser::parse_results(FunctionEntry& entry, std::vector<Type>& types) {
  const auto add = [&](const TypeTree& tree, const TextAttr::Entries& attributes, size_t offset) {
    std::vector<Type> leaves;
    append_types(tree, leaves);
    for (const Type& type : leaves) {
      types.push_back(type);
      add_result_sharding(attributes, type, offset, entry);
    }
  };
  if (!accept("(")) return add(parse_type_tree(), {}, position());
  for (bool first = true; !accept(")"); first = false) {
    if (!first) expect(",");
    const TypeTree tree = parse_type_tree();
    const size_t offset = position();
    add(tree, accept("{") ? parse_dictionary() : TextAttr::Entries(), offset);
  }
}

// () <{arg_attrs = [...], function_type = ..., sym_name = "main"}> ({ ^bb0(...): ... }) : () -> ()
void Parser::parse_generic_function(Scope& scope, FunctionEntry& entry) {
  const size_t offset = position();
  expect("(");
  expect(")");
  TextAttr::Entries attributes;
  if (accept("<")) {
    expect("{");
    attributes = parse_dictionary();
    expect(">");
  }
  auto entries_of = [&](std::string_view name, size_t i) {
    for (const auto& [key, value] : attributes) {
      const auto* list = value.get<TextAttr::List>();
      if (key != name || !list || i >= list->items.size()) continue;
      if (const auto* record = list->items[i].get<TextAttr::Record>()) return record->entries;
    }
    return TextAttr::Entries();
  };
  expect("(");
  expect("{");
  if (peek().kind == TokenKind::kCaret) {
    next();
    if (accept("(")) {
      Scanner scanner(*this, scope);
      while (!accept(")")) {
        if (!entry.inputs.empty()) expect(",");
        const size_t at = position();
        const RegionInput input = scanner.region_input();
        const ValueId value = add_argument(scope, entry, {.type = input.type}, input.name,
                                           entries_of("arg_attrs", entry.inputs.size()), offset);
        if (!scope.names.emplace(input.name, std::vector<ValueId>{value}).second)
          lexer_.error(
              at, fmt::format("expected arguments of different names, got %{} twice", input.name));
      }
    }
    expect(":");
  }
  while (parse_op(scope)) {
  }
  expect("}");
  expect(")");
  for (ValueId v : scope.function.outputs)
    add_result_sharding(entries_of("res_attrs", entry.outputs.size()), scope.function.type(v),
                        offset, entry);
  if (accept("{")) parse_dictionary();
  expect(":");
  parse_type_list();
  expect("->");
  parse_type_list();
}

// () <{sym_name = "m"}> ({ ... }) {...} : () -> ()
void Parser::parse_generic_module() {
  expect("(");
  expect(")");
  if (accept("<")) {
    expect("{");
    for (const auto& [key, value] : parse_dictionary())
      if (const auto* name = value.get<std::string>(); name && key == "sym_name")
        module_name_ = *name;
    expect(">");
  }
  expect("(");
  expect("{");
  if (peek().kind == TokenKind::kCaret) {
    next();
    expect(":");
  }
  parse_items(true);
  expect(")");
  if (accept("{")) parse_dictionary();
  expect(":");
  parse_type_list();
  expect("->");
  parse_type_list();
  skip_location(nullptr);
}

TextAttr Parser::parse_one_attribute(const std::map<std::string, std::optional<Mesh>>& meshes) {
  meshes_ = meshes;
  TextAttr out = parse_attribute(false);
  if (peek().kind != TokenKind::kEnd) expected("the end of the attribute");
  return out;
}

Mesh Parser::parse_one_mesh() {
  if (peek().kind != TokenKind::kHash || peek().text != "sdy.mesh") expected("#sdy.mesh<...>");
  next();
  return make_mesh(parse_mesh_parts(), {}, 0);
}

TextAttr parse_attribute_text(std::string_view text,
                              const std::map<std::string, std::optional<Mesh>>& meshes) {
  return Parser(text, "attribute").parse_one_attribute(meshes);
}

Mesh parse_mesh_text(std::string_view text) { return Parser(text, "mesh").parse_one_mesh(); }

ParsedModule parse_module(std::string_view text, std::string_view filename,
                          const ReadOptions& options) {
  return Parser(text, filename, options).parse();
}

Function parse_mlir(std::string_view text, std::string_view filename) {
  return parse_module(text, filename).main;
}

}  // namespace tessera::interchange
