// The parser's own class. It goes through the text once, with jumps to called functions. parser.cc
// implements modules and functions, parser_attributes.cc types and attributes, parser_dense.cc
// constants, parser_ops.cc ops and regions.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "tessera/interchange/module_builder.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/parser_lexer.h"

namespace tessera::interchange {

class Parser final : public ModuleBuilder {
 public:
  Parser(std::string_view text, std::string_view file, const ReadOptions& options = {})
      : ModuleBuilder(options), lexer_(text, file) {}
  ParsedModule parse();
  // Parses the text as one attribute. Its symbols are those of another module, with these meshes.
  TextAttr parse_one_attribute(const std::map<std::string, std::optional<Mesh>>& meshes);
  Mesh parse_one_mesh();  // #sdy.mesh<...>

 private:
  friend class Scanner;

  // A function or region under construction, with the names of values in its text.
  struct Scope : ModuleBuilder::Scope {
    std::unordered_map<std::string, std::vector<ValueId>> names;
  };
  // The position of a function or a mesh.
  struct SymbolText {
    size_t offset = 0;     // after `func.func` or `sdy.mesh @name`
    size_t end = 0;        // the end of a function that has been parsed
    bool generic = false;  // "func.func"() <{sym_name = ...}> ({...})
  };

  // Tokens.
  const Token& peek();
  Token next();
  bool is_next(std::string_view text);  // a word or a punctuation mark
  bool accept(std::string_view text);
  void expect(std::string_view text);
  Token expect(TokenKind kind, const char* what);
  void jump(size_t offset);
  size_t position() { return peek().begin; }
  [[noreturn]] void error(const std::string& message) { lexer_.error(position(), message); }
  void throw_error(size_t offset, const std::string& message) const override {
    lexer_.error(offset, message);
  }
  [[noreturn]] void expected(std::string_view what);
  // parser.cc
  void scan_symbols();
  int64_t parse_number_of_partitions();
  void scan_generic_symbol(const Token& op);
  void parse_generic_module();
  void parse_items(bool in_module);
  void skip_function(const std::string& name);
  void skip_unread_function();
  void read_function(const std::string& name, FunctionEntry& entry) override;
  void parse_arguments(Scope& scope, FunctionEntry& entry);
  void parse_results(FunctionEntry& entry, std::vector<Type>& types);
  void parse_generic_function(Scope& scope, FunctionEntry& entry);
  // parser_meshes.cc
  Mesh read_mesh(const std::string& name) override;
  Mesh parse_mesh();
  Mesh parse_generic_mesh();
  MeshParts parse_mesh_parts();
  void parse_mesh_item();

  // parser_attributes.cc
  Type parse_type();
  // With `index`, elements may have that type (in a layout), which is read as int64. With `open`,
  // extents may be open (refine_shapes.h).
  Type parse_tensor_type(bool index, bool open);
  DType parse_dtype(bool index = false);
  TypeTree parse_type_tree();                    // of a tensor or a tuple
  std::vector<TypeTree> parse_type_tree_list();  // (T, U) or T
  std::vector<Type> parse_type_list();           // the same, as the tensors in the tuples
  int64_t parse_int();
  TextAttr parse_attribute(bool bare);
  TextAttr parse_number(bool bare);
  TextAttr parse_word_attribute(bool bare);
  TextAttr parse_list(bool bare);
  TextAttr parse_hash_attribute();
  TextAttr parse_sharding_rule();
  TextAttr parse_array();
  TextAttr parse_record(std::string name);
  TextAttr::Entries parse_dictionary();                // after {
  NamedSharding parse_sharding(AxisNames& unreduced);  // after <
  std::vector<AxisRef> parse_axes(bool* open);         // after {
  void skip_location(std::string* source);
  void skip_balanced();

  // parser_dense.cc
  TextAttr parse_dense();
  struct Elements {
    std::vector<size_t> offsets;  // of numbers; a complex one has two
    Shape shape;
    bool is_complex = false;
  };
  void parse_elements(Elements& elements, int64_t depth);
  void parse_element(Elements& elements);
  void convert_narrow_element(size_t offset, DType dtype, std::byte* to);
  void convert_element(size_t offset, DType dtype, std::byte* to);
  Literal parse_blob(const std::string& hex, const Type& type, size_t offset, bool* splat);

  // parser_ops.cc

  // Returns false after the op that ends the region. Its operands become the function's outputs.
  bool parse_op(Scope& scope);
  void parse_pretty_op(Scope& scope, class Reader& reader, const Token& name);
  void parse_generic_op(Scope& scope, class Reader& reader, const std::string& name);
  void parse_terminator(Scope& scope, bool generic);
  void parse_custom_call(Scope& scope, class Reader& reader);
  void parse_scan(Scope& scope, class Reader& reader);
  void parse_assembly(std::string_view assembly, Scope& scope, class Reader& reader);
  bool accept_literal(std::string_view literal);
  void parse_hole(std::string_view hole, Scope& scope, class Reader& reader);
  void parse_ranges(std::string_view hole, class Reader& reader);
  void parse_signature(class Reader& reader, size_t results, bool only_results = false);
  // Returns the operands. A tuple is replaced by its tensors.
  std::vector<ValueId> parse_operands(Scope& scope);
  ValueId parse_operand(Scope& scope);
  // Returns a value, or the number of a tuple.
  ValueId parse_value(Scope& scope);
  bool parse_tuple_op(Scope& scope, const Token& name, std::vector<ValueId>& results);
  ValueId lookup(Scope& scope, const std::string& name, int64_t result, size_t offset);
  // Parses the generic form, from after { to its }.
  FunctionRef parse_region(Scope& scope, const RegionRules& rules, std::vector<ValueId>* captures);
  FunctionRef parse_region_body(Scope* parent, std::span<const RegionInput> inputs,
                                std::vector<ValueId>* captures = nullptr, bool computed = false);

  Lexer lexer_;
  size_t offset_ = 0;
  std::optional<Token> peeked_;
  std::map<std::string, SymbolText> function_texts_, mesh_texts_;
  std::map<std::string, size_t> aliases_;  // #name and !name
  std::set<std::string> aliases_in_progress_;
};

// Parses an attribute that is given as text. Its symbols may name `meshes`.
TextAttr parse_attribute_text(std::string_view text,
                              const std::map<std::string, std::optional<Mesh>>& meshes);
Mesh parse_mesh_text(std::string_view text);

// The input of a format's parse hook.
class Scanner final : public OpScanner {
 public:
  // `scalars`: the op has a capture_rule for its regions.
  Scanner(Parser& parser, Parser::Scope& scope, bool scalars = false)
      : parser_(parser), scope_(scope), scalars_(scalars) {}
  bool accept(std::string_view token) override { return parser_.accept(token); }
  void expect(std::string_view token) override { parser_.expect(token); }
  ValueId operand() override { return parser_.parse_operand(scope_); }
  std::string word() override { return parser_.expect(TokenKind::kWord, "a word").text; }
  TextAttr attribute() override { return parser_.parse_attribute(true); }
  void extra(OpText& text) override;
  void signature(OpReader& reader) override;
  RegionInput region_input() override;
  std::string new_value() override {
    return parser_.expect(TokenKind::kValue, "a new value, as %iterArg").text;
  }
  FunctionRef region_body(std::span<const RegionInput> inputs,
                          std::vector<ValueId>* captures) override {
    return parser_.parse_region_body(&scope_, inputs, captures, scalars_);
  }
  const Type& type(ValueId value) const override { return scope_.function.type(value); }
  [[noreturn]] void error(const std::string& message) const override { parser_.error(message); }

 private:
  Parser& parser_;
  Parser::Scope& scope_;
  const bool scalars_;
};

}  // namespace tessera::interchange
