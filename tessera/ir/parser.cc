#include "tessera/ir/parser.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "tessera/ir/parser_internal.h"
#include "tessera/mesh/device_mesh.h"

namespace tessera {
namespace internal {

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
  return (token.kind == TokenKind::kWord || token.kind == TokenKind::kPunctuation) && token.text == text;
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
  if (token.kind == TokenKind::kEnd) error(fmt::format("expected {}, got the end of the text", what));
  error(fmt::format("expected {}, got '{}'", what, lexer_.text().substr(token.begin, std::min<size_t>(token.end - token.begin, 40))));
}

// Where functions, meshes and aliases are, so that they may be used before they come.
void Parser::scan_symbols() {
  for (Token token = next(); token.kind != TokenKind::kEnd; token = next()) {
    if (token.kind == TokenKind::kWord && token.text == "sdy.mesh" && peek().kind == TokenKind::kSymbol) {
      const Token name = next();
      if (!meshes_.emplace(name.text, MeshEntry{offset_, {}}).second)
        lexer_.error(name.begin, fmt::format("expected one mesh @{}, got a second one", name.text));
    } else if (token.kind == TokenKind::kWord && token.text == "func.func") {
      FunctionEntry entry{.offset = token.end};
      entry.is_public = !accept("private") && (accept("public") || true);
      if (peek().kind != TokenKind::kSymbol) continue;
      const Token name = next();
      if (!functions_.emplace(name.text, entry).second)
        lexer_.error(name.begin, fmt::format("expected one function @{}, got a second one", name.text));
      function_order_.push_back(name.text);
    } else if ((token.kind == TokenKind::kHash || token.kind == TokenKind::kBang) && is_next("=")) {
      next();
      aliases_.emplace((token.kind == TokenKind::kHash ? "#" : "!") + token.text, offset_);
    }
  }
  jump(0);
}

ParsedModule Parser::parse() {
  scan_symbols();
  parse_items(false);
  if (functions_.empty()) error("expected a function, as func.func public @main(...), got none");
  std::string main = "main";
  if (!functions_.count(main)) {
    std::vector<std::string> candidates;
    for (const std::string& name : function_order_)
      if (functions_[name].is_public) candidates.push_back(name);
    if (candidates.size() != 1)
      error(fmt::format("expected a function @main or one public function, got {} public ones", candidates.size()));
    main = candidates[0];
  }
  FunctionEntry& entry = functions_[main];
  ParsedModule out{.name = module_name_.empty() ? main : module_name_, .main = *entry.function};
  out.input_names = entry.names;
  out.input_shardings = entry.inputs;
  out.output_shardings = entry.outputs;
  for (auto& [name, mesh] : meshes_) out.meshes.push_back(find_mesh(name));
  return out;
}

// Aliases, a module, or what stands in a module.
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

// Parses it if no call has yet, and goes on after it.
void Parser::skip_function(const std::string& name) {
  jump(find_function(name).end);
}

Parser::FunctionEntry& Parser::find_function(const std::string& name) {
  const auto it = functions_.find(name);
  if (it == functions_.end()) error(fmt::format("expected the name of a function of this module, got @{}", name));
  FunctionEntry& entry = it->second;
  if (entry.in_progress) error(fmt::format("expected functions that do not call themselves, got @{} within itself", name));
  if (!entry.function) parse_function(name, entry);
  return entry;
}

void Parser::parse_function(const std::string& name, FunctionEntry& entry) {
  const Nesting nesting(*this);
  const size_t resume = position();
  entry.in_progress = true;
  jump(entry.offset);
  if (!accept("public") && !accept("private")) accept("nested");
  expect(TokenKind::kSymbol, "the name of the function");
  Scope scope;
  scope.function.name = name;
  parse_arguments(scope, entry);
  std::vector<Type> results;
  if (accept("->")) parse_results(entry, results);
  if (accept("attributes")) {
    expect("{");
    parse_dictionary();
  }
  const size_t body = position();
  expect("{");
  while (parse_op(scope)) {
  }
  expect("}");
  skip_location(nullptr);
  if (scope.function.outputs.size() != results.size())
    lexer_.error(body, fmt::format("expected @{} to return {} values, got {}", name, results.size(),
                                   scope.function.outputs.size()));
  for (size_t r = 0; r < results.size(); ++r) {
    const Type& type = scope.function.type(scope.function.outputs[r]);
    if (!type.same_array(results[r]))
      lexer_.error(body, fmt::format("expected result {} of @{} to be {}, got {}", r, name, results[r], type));
  }
  entry.end = position();
  entry.in_progress = false;
  entry.function = std::make_shared<const Function>(std::move(scope.function));
  jump(resume);
}

void Parser::parse_arguments(Scope& scope, FunctionEntry& entry) {
  expect("(");
  while (!is_next(")")) {
    if (!entry.inputs.empty()) expect(",");
    const Token name = expect(TokenKind::kValue, "an argument, as %arg0");
    expect(":");
    Type type = parse_type();
    entry.inputs.emplace_back();
    entry.names.push_back(name.text);
    if (accept("{")) {
      const size_t offset = position();
      for (const auto& [key, value] : parse_dictionary()) {
        if (key == "sdy.sharding") {
          const auto* sharding = value.get<TextAttr::Sharding>();
          if (!sharding) lexer_.error(offset, "expected sdy.sharding to be a sharding");
          located(offset, [&] { check_rank("sdy.sharding", sharding->value, type.shape); });
          entry.inputs.back() = sharding->value;
          type.sharding = std::make_shared<const NamedSharding>(sharding->value);
        } else if (key == "tessera.weak") {
          type.weak = true;
        } else if (key == "tessera.varying") {
          const Reader reader(*this, scope, offset);
          type.varying = std::get<std::vector<std::string>>(from_text(value, Attribute(AxisNames()), key, reader));
          std::sort(type.varying.begin(), type.varying.end());
          type.varying.erase(std::unique(type.varying.begin(), type.varying.end()), type.varying.end());
        }
      }
    }
    skip_location(nullptr);
    if (!scope.names.emplace(name.text, std::vector<ValueId>{scope.function.add_input(type)}).second)
      lexer_.error(name.begin, fmt::format("expected arguments of different names, got %{} twice", name.text));
  }
  expect(")");
}

void Parser::parse_results(FunctionEntry& entry, std::vector<Type>& types) {
  auto parse_result = [&] {
    types.push_back(parse_type());
    entry.outputs.emplace_back();
    if (!accept("{")) return;
    const size_t offset = position();
    for (const auto& [key, value] : parse_dictionary())
      if (const auto* sharding = value.get<TextAttr::Sharding>(); sharding && key == "sdy.sharding") {
        located(offset, [&] { check_rank("sdy.sharding", sharding->value, types.back().shape); });
        entry.outputs.back() = sharding->value;
      }
  };
  if (!accept("(")) {
    types.push_back(parse_type());
    entry.outputs.emplace_back();
    return;
  }
  while (!accept(")")) {
    if (!types.empty()) expect(",");
    parse_result();
  }
}

const Mesh& Parser::find_mesh(const std::string& name) {
  const auto it = meshes_.find(name);
  if (it == meshes_.end()) error(fmt::format("expected the name of a mesh of this module, got @{}", name));
  if (!it->second.mesh) {
    const size_t resume = position();
    jump(it->second.offset);
    it->second.mesh = parse_mesh();
    jump(resume);
  }
  return *it->second.mesh;
}

void Parser::parse_mesh_item() {
  expect(TokenKind::kSymbol, "the name of the mesh");
  parse_mesh();
  skip_location(nullptr);
}

// = <["x"=2, "y"=4], device_ids=[...]> {...}
Mesh Parser::parse_mesh() {
  const size_t offset = position();
  accept("=");
  expect("<");
  expect("[");
  std::vector<std::string> names;
  Shape sizes;
  while (!accept("]")) {
    if (!names.empty()) expect(",");
    names.push_back(expect(TokenKind::kString, "the name of an axis, as \"x\"").text);
    expect("=");
    sizes.push_back(parse_int());
    if (sizes.back() < 1 || sizes.elements() > (1 << 20)) error("expected axes of sizes from 1 on, 2^20 devices at most");
  }
  std::vector<int64_t> ids(static_cast<size_t>(sizes.elements()));
  std::iota(ids.begin(), ids.end(), 0);
  bool ordered = true;
  if (accept(",")) {
    expect("device_ids");
    expect("=");
    const TextAttr list = parse_attribute(true);
    const auto* array = list.get<TextAttr::Array>();
    if (!array || array->values.size() != ids.size())
      lexer_.error(offset, fmt::format("expected a device id for each of the {} positions of the mesh", ids.size()));
    ids = array->values;
    ordered = std::is_sorted(ids.begin(), ids.end());
  }
  expect(">");
  bool abstract = false;
  if (accept("{")) {
    for (const auto& [key, value] : parse_dictionary()) {
      if (key == "tessera.abstract") abstract = true;
      if (const auto* array = value.get<TextAttr::Array>(); array && key == "tessera.device_ids") {
        if (array->values.size() != ids.size())
          lexer_.error(offset, fmt::format("expected a device id for each of the {} positions of the mesh", ids.size()));
        ids = array->values;
      }
    }
  }
  if (names.empty()) return Mesh();
  std::vector<Device> found;
  for (int64_t id : ids) {
    const auto& all = devices();
    const auto it = std::find_if(all.begin(), all.end(), [&](const Device& d) { return d.id == id; });
    if (it != all.end() && !abstract) found.push_back(*it);
  }
  return located(offset, [&] {
    if (found.size() == ids.size()) return Mesh(DeviceMesh{sizes, std::move(found)}, names);
    if (!ordered && !abstract)
      lexer_.error(offset, fmt::format("expected the devices that this mesh puts in an order of its own to be there, got {} of {}; "
                                       "start with devices cpu:{}, say", found.size(), ids.size(), ids.size()));
    return Mesh::abstract(sizes, names);
  });
}

}  // namespace internal

ParsedModule parse_module(std::string_view text, std::string_view filename) {
  return internal::Parser(text, filename).parse();
}

Function parse_mlir(std::string_view text, std::string_view filename) { return parse_module(text, filename).main; }

}  // namespace tessera
