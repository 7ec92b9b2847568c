#include "tessera/ir/parser.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/ir/parser_internal.h"
#include "tessera/mesh/device_mesh.h"

namespace tessera::ir {

namespace {

// Calls are written out before a program is compiled, so a few of them stand for any number of ops.
constexpr int64_t kMaxOps = int64_t{1} << 20, kMaxLevels = 250;

}  // namespace

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

// Where functions, meshes and aliases are, so that they may be used before they come.
void Parser::scan_symbols() {
  for (Token token = next(); token.kind != TokenKind::kEnd; token = next()) {
    if (token.kind == TokenKind::kWord && token.text == "mhlo.num_partitions" && accept("=")) {
      one_partition_ = peek().text == "1";
    } else if (token.kind == TokenKind::kWord && token.text == "sdy.mesh" &&
               peek().kind == TokenKind::kSymbol) {
      const Token name = next();
      if (!meshes_.emplace(name.text, MeshEntry{offset_, false, {}}).second)
        lexer_.error(name.begin, fmt::format("expected one mesh @{}, got a second one", name.text));
    } else if (token.kind == TokenKind::kWord && token.text == "func.func") {
      FunctionEntry entry{.offset = token.end};
      entry.is_public = !accept("private") && (accept("public") || true);
      if (peek().kind != TokenKind::kSymbol) continue;
      const Token name = next();
      if (!functions_.emplace(name.text, entry).second)
        lexer_.error(name.begin,
                     fmt::format("expected one function @{}, got a second one", name.text));
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

// "func.func"() <{..., sym_name = "main"}> ...: the name stands among the attributes.
void Parser::scan_generic_symbol(const Token& op) {
  const size_t resume = offset_;
  std::string name;
  bool is_private = false;
  if (accept("(") && accept(")") && accept("<")) {
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
  const bool is_new =
      op.text == "sdy.mesh"
          ? meshes_.emplace(name, MeshEntry{op.end, true, {}}).second
          : functions_
                .emplace(name,
                         FunctionEntry{.offset = op.end, .is_public = !is_private, .generic = true})
                .second;
  if (!is_new)
    lexer_.error(op.begin,
                 fmt::format("expected symbols of different names, got a second @{}", name));
  if (op.text == "func.func") function_order_.push_back(name);
}

ParsedModule Parser::parse() {
  scan_symbols();
  parse_functions();
  parse_items(false);
  if (functions_.empty()) error("expected a function, as func.func public @main(...), got none");
  std::string main = "main";
  if (!functions_.count(main)) {
    std::vector<std::string> candidates;
    for (const std::string& name : function_order_)
      if (functions_[name].is_public) candidates.push_back(name);
    if (candidates.size() != 1)
      error(fmt::format("expected a function @main or one public function, got {} public ones",
                        candidates.size()));
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

// Every function after those that it calls, so that calls take no stack however long their chain.
// Of functions that call themselves any is the first: it will be told where it does.
void Parser::parse_functions() {
  std::set<std::string> seen;
  std::vector<std::pair<FunctionEntry*, size_t>> path;
  std::vector<std::string> names;
  const auto enter = [&](const std::string& name) {
    const auto it = functions_.find(name);
    if (it == functions_.end() || !seen.insert(name).second) return;
    path.emplace_back(&it->second, 0);
    names.push_back(name);
  };
  for (const std::string& name : function_order_) {
    enter(name);
    while (!path.empty()) {
      auto& [entry, mention] = path.back();
      if (mention < entry->mentions.size()) {
        enter(entry->mentions[mention++]);
        continue;
      }
      if (!entry->function) parse_function(names.back(), *entry);
      path.pop_back();
      names.pop_back();
    }
  }
  jump(0);
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
    } else if (token.kind == TokenKind::kString) {
      next();
      if (token.text == "builtin.module" && !in_module) {
        parse_generic_module();
      } else if (token.text == "func.func") {
        const auto is_here = [&](const auto& entry) { return entry.second.offset == token.end; };
        skip_function(std::find_if(functions_.begin(), functions_.end(), is_here)->first);
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

// Parses it if no call has yet, and goes on after it.
void Parser::skip_function(const std::string& name) { jump(find_function(name).end); }

Parser::FunctionEntry& Parser::find_function(const std::string& name) {
  const auto it = functions_.find(name);
  if (it == functions_.end())
    error(fmt::format("expected the name of a function of this module, got @{}", name));
  FunctionEntry& entry = it->second;
  if (entry.in_progress)
    error(
        fmt::format("expected functions that do not call themselves, got @{} within itself", name));
  if (!entry.function) parse_function(name, entry);
  return entry;
}

void Parser::parse_function(const std::string& name, FunctionEntry& entry) {
  const Nesting nesting(*this);
  const size_t resume = position();
  entry.in_progress = true;
  jump(entry.offset);
  Scope scope;
  scope.function.name = name;
  std::vector<Type> results;
  size_t body = position();
  if (entry.generic) {
    parse_generic_function(scope, entry);
    results = scope.function.output_types();
  } else {
    if (!accept("public") && !accept("private")) accept("nested");
    expect(TokenKind::kSymbol, "the name of the function");
    parse_arguments(scope, entry);
    if (accept("->")) parse_results(entry, results);
    if (accept("attributes")) {
      expect("{");
      parse_dictionary();
    }
    body = position();
    expect("{");
    while (parse_op(scope)) {
    }
    expect("}");
  }
  skip_location(nullptr);
  if (scope.function.outputs.size() != results.size())
    lexer_.error(body, fmt::format("expected @{} to return {} values, got {}", name, results.size(),
                                   scope.function.outputs.size()));
  for (size_t r = 0; r < results.size(); ++r) {
    const Type& type = scope.function.type(scope.function.outputs[r]);
    if (!type.same_array(results[r]))
      lexer_.error(body, fmt::format("expected result {} of @{} to be {}, got {}", r, name,
                                     results[r], type));
  }
  entry.end = position();
  entry.in_progress = false;
  entry.function = std::make_shared<const Function>(std::move(scope.function));
  check_extent(entry, body);
  jump(resume);
}

Parser::Extent Parser::extent(const FunctionRef& function) {
  if (const auto it = extents_.find(function); it != extents_.end()) return it->second;
  Extent out{.levels = 1};
  const auto add = [&](const FunctionRef& inner) {
    if (!inner) return;
    const Extent e = extent(inner);
    out.ops += e.ops;
    out.levels = std::max(out.levels, e.levels + 1);
  };
  for (const Op& op : function->ops) {
    ++out.ops;
    for (const Attribute& field : op.params.fields()) {
      if (const auto* one = std::get_if<FunctionRef>(&field)) add(*one);
      if (const auto* many = std::get_if<std::vector<FunctionRef>>(&field))
        for (const FunctionRef& inner : *many) add(inner);
    }
  }
  return extents_[function] = out;
}

void Parser::check_extent(const FunctionEntry& entry, size_t offset) {
  const Extent e = extent(entry.function);
  if (e.ops > kMaxOps)
    lexer_.error(offset, fmt::format("expected at most {} ops once every call is written out, got "
                                     "{} in @{}; call functions in loops, or less often",
                                     kMaxOps, e.ops, entry.function->name));
  if (e.levels > kMaxLevels)
    lexer_.error(offset, fmt::format("expected at most {} levels of calls and regions, got {} in "
                                     "@{}; call functions one after the other",
                                     kMaxLevels, e.levels, entry.function->name));
}

void Parser::parse_arguments(Scope& scope, FunctionEntry& entry) {
  expect("(");
  while (!is_next(")")) {
    if (!entry.inputs.empty()) expect(",");
    const Token name = expect(TokenKind::kValue, "an argument, as %arg0");
    expect(":");
    const Type type = parse_type();
    TextAttr::Entries attributes;
    const size_t offset = position();
    if (accept("{")) attributes = parse_dictionary();
    entry.names.push_back(name.text);
    const Type full = with_argument_attributes(type, attributes, offset, scope, entry);
    skip_location(nullptr);
    if (!scope.names.emplace(name.text, std::vector<ValueId>{scope.function.add_input(full)})
             .second)
      lexer_.error(name.begin,
                   fmt::format("expected arguments of different names, got %{} twice", name.text));
  }
  expect(")");
}

// Appends the sharding to the entry's.
Type Parser::with_argument_attributes(Type type, const TextAttr::Entries& attributes, size_t offset,
                                      Scope& scope, FunctionEntry& entry) {
  entry.inputs.emplace_back();
  for (const auto& [key, value] : attributes) {
    if (key == "sdy.sharding") {
      const auto* sharding = value.get<TextAttr::Sharding>();
      if (!sharding) lexer_.error(offset, "expected sdy.sharding to be a sharding");
      located(offset, [&] { check_rank("sdy.sharding", sharding->value, type.shape); });
      if (sharding->value.mesh().rank() == 0) continue;  // JAX's @empty_mesh: one device
      entry.inputs.back() = sharding->value;
      type.sharding = std::make_shared<const NamedSharding>(sharding->value);
    } else if (key == "mhlo.sharding") {
      lexer_.error(offset,
                   "expected Shardy's sdy.sharding, got GSPMD's mhlo.sharding; export the program "
                   "with Shardy, JAX's default");
    } else if (key == "tessera.weak") {
      type.weak = true;
    } else if (key == "tessera.varying") {
      const Reader reader(*this, scope, offset);
      type.varying =
          std::get<std::vector<std::string>>(from_text(value, Attribute(AxisNames()), key, reader));
      std::sort(type.varying.begin(), type.varying.end());
      type.varying.erase(std::unique(type.varying.begin(), type.varying.end()), type.varying.end());
    }
  }
  return type;
}

std::optional<NamedSharding> Parser::result_sharding(const TextAttr::Entries& attributes,
                                                     const Type& type, size_t offset) {
  for (const auto& [key, value] : attributes)
    if (const auto* sharding = value.get<TextAttr::Sharding>(); sharding && key == "sdy.sharding") {
      located(offset, [&] { check_rank("sdy.sharding", sharding->value, type.shape); });
      if (sharding->value.mesh().rank() > 0) return sharding->value;
    }
  return std::nullopt;
}

void Parser::parse_results(FunctionEntry& entry, std::vector<Type>& types) {
  if (!accept("(")) {
    types.push_back(parse_type());
    entry.outputs.emplace_back();
    return;
  }
  while (!accept(")")) {
    if (!types.empty()) expect(",");
    types.push_back(parse_type());
    const size_t offset = position();
    const TextAttr::Entries attributes = accept("{") ? parse_dictionary() : TextAttr::Entries();
    entry.outputs.push_back(result_sharding(attributes, types.back(), offset));
  }
}

// () <{arg_attrs = [...], function_type = ..., sym_name = "main"}> ({ ^bb0(...): ... }) : () -> ()
void Parser::parse_generic_function(Scope& scope, FunctionEntry& entry) {
  const size_t offset = position();
  expect("(");
  expect(")");
  expect("<");
  expect("{");
  const TextAttr::Entries attributes = parse_dictionary();
  expect(">");
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
        const Type type = with_argument_attributes(
            input.type, entries_of("arg_attrs", entry.inputs.size()), offset, scope, entry);
        entry.names.push_back(input.name);
        if (!scope.names.emplace(input.name, std::vector<ValueId>{scope.function.add_input(type)})
                 .second)
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
    entry.outputs.push_back(result_sharding(entries_of("res_attrs", entry.outputs.size()),
                                            scope.function.type(v), offset));
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

ParsedModule parse_module(std::string_view text, std::string_view filename) {
  return Parser(text, filename).parse();
}

Function parse_mlir(std::string_view text, std::string_view filename) {
  return parse_module(text, filename).main;
}

}  // namespace tessera::ir
