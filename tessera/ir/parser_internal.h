// The parser's own class: one pass over the text, with jumps to called functions. parser.cc holds
// modules and functions, parser_attributes.cc types and attributes, parser_dense.cc constants,
// parser_ops.cc ops and regions.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "tessera/ir/op_def.h"
#include "tessera/ir/parser.h"
#include "tessera/ir/parser_lexer.h"

namespace tessera::ir {

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : lexer_(text, file) {}
  ParsedModule parse();

 private:
  friend class Reader;
  friend class Scanner;

  // A function or region under construction.
  struct Scope {
    Scope* parent = nullptr;
    Function function;
    std::unordered_map<std::string, std::vector<ValueId>> names;
    // Constants and captured values of the parent, by name and result number.
    std::unordered_map<std::string, ValueId> copied;
    std::unordered_map<ValueId, ValueId> constants;  // those among them, by the parent's value
    std::vector<ValueId>* captures = nullptr;  // set: other values of the parent become inputs
  };
  struct FunctionEntry {
    size_t offset = 0;  // of what follows `func.func`
    size_t end = 0;
    bool is_public = false, in_progress = false;
    bool generic = false;  // "func.func"() <{sym_name = ...}> ({...})
    FunctionRef function;
    std::vector<std::string> mentions;  // symbols in its text, those that it calls among them
    std::vector<std::string> names;     // of arguments
    std::vector<std::optional<NamedSharding>> inputs, outputs;
  };
  struct MeshEntry {
    size_t offset = 0;
    bool generic = false;
    std::optional<Mesh> mesh;
  };
  // Guards the C++ stack against text that nests without end.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > 100) parser_.error("expected at most 100 levels of nesting");
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  // Tokens.
  const Token& peek();
  Token next();
  bool is_next(std::string_view text);  // a word or punctuation
  bool accept(std::string_view text);
  void expect(std::string_view text);
  Token expect(TokenKind kind, const char* what);
  void jump(size_t offset);
  size_t position() { return peek().begin; }
  [[noreturn]] void error(const std::string& message) { lexer_.error(position(), message); }
  [[noreturn]] void expected(std::string_view what);
  // What f does; errors of others become errors at `offset`.
  template <class F>
  auto located(size_t offset, F&& f) -> decltype(f());

  // parser.cc
  void scan_symbols();
  void scan_generic_symbol(const Token& op);
  void parse_generic_module();
  void parse_functions();
  // What a function is once all calls are written out, which is how it is compiled.
  struct Extent {
    int64_t ops = 0, levels = 0;
  };
  Extent extent(const FunctionRef& function);
  void check_extent(const FunctionEntry& entry, size_t offset);
  void parse_items(bool in_module);
  void skip_function(const std::string& name);
  FunctionEntry& find_function(const std::string& name);
  void parse_function(const std::string& name, FunctionEntry& entry);
  void parse_arguments(Scope& scope, FunctionEntry& entry);
  void parse_results(FunctionEntry& entry, std::vector<Type>& types);
  void parse_generic_function(Scope& scope, FunctionEntry& entry);
  Type with_argument_attributes(Type type, const TextAttr::Entries& attributes, size_t offset,
                                Scope& scope, FunctionEntry& entry);
  std::optional<NamedSharding> result_sharding(const TextAttr::Entries& attributes,
                                               const Type& type, size_t offset);
  // parser_meshes.cc
  const Mesh& find_mesh(const std::string& name);
  Mesh parse_mesh();
  Mesh parse_generic_mesh();
  struct MeshParts {
    Shape sizes;
    std::vector<std::string> names;
    std::vector<int64_t> ids;
  };
  MeshParts parse_mesh_parts();
  Mesh make_mesh(MeshParts parts, const TextAttr::Entries& extra, size_t offset);
  void parse_mesh_item();

  // parser_attributes.cc
  Type parse_type();
  Type parse_tensor_type();
  DType parse_dtype();
  std::vector<Type> parse_type_list();  // (T, U) or T
  int64_t parse_int();
  TextAttr parse_attribute(bool bare);
  TextAttr parse_number(bool bare);
  TextAttr parse_word_attribute(bool bare);
  TextAttr parse_list(bool bare);
  TextAttr parse_hash_attribute();
  TextAttr parse_array();
  TextAttr parse_record(std::string name);
  TextAttr::Entries parse_dictionary();         // after {
  NamedSharding parse_sharding();               // after <
  std::vector<AxisRef> parse_axes(bool* open);  // after {
  void skip_location(std::string* source);
  void skip_balanced();

  // parser_dense.cc
  TextAttr parse_dense();
  struct Elements {
    std::vector<size_t> offsets;  // of numbers, two for a complex one
    Shape shape;
    bool is_complex = false;
  };
  void parse_elements(Elements& elements, int64_t depth);
  void parse_element(Elements& elements);
  void convert_element(size_t offset, DType dtype, std::byte* to);
  Literal parse_blob(const std::string& hex, const Type& type, size_t offset, bool* splat);

  // parser_ops.cc

  // False after the op that ends the region; its operands are then the function's outputs.
  bool parse_op(Scope& scope);
  void parse_pretty_op(Scope& scope, class Reader& reader, const Token& name);
  void parse_generic_op(Scope& scope, class Reader& reader, const std::string& name);
  void parse_terminator(Scope& scope, bool generic);
  void parse_custom_call(Scope& scope, class Reader& reader);
  void parse_assembly(std::string_view assembly, Scope& scope, class Reader& reader);
  bool accept_literal(std::string_view literal);
  void parse_hole(std::string_view hole, Scope& scope, class Reader& reader);
  void parse_ranges(std::string_view hole, class Reader& reader);
  void parse_signature(class Reader& reader, size_t results, bool only_results = false);
  std::vector<ValueId> finish_op(Scope& scope, class Reader& reader, const std::string& dialect,
                                 const std::string& name);
  std::vector<ValueId> add_op(Scope& scope, class Reader& reader, const OpDef& def);
  void apply_type_attributes(Scope& scope, class Reader& reader, std::span<const ValueId> results);
  void check_results(Scope& scope, class Reader& reader, std::span<const ValueId> results);
  std::vector<ValueId> parse_operands(Scope& scope);
  ValueId parse_operand(Scope& scope);
  std::optional<ValueId> copy_constant(Scope& scope, const Function& f, ValueId value,
                                       bool computed);
  ValueId lookup(Scope& scope, const std::string& name, int64_t result, size_t offset);
  // Generic: after {, to its }. Inputs are as weak as those of `like`, and vary as they do.
  FunctionRef parse_region(Scope& scope, std::span<const ValueId> like,
                           std::vector<ValueId>* captures);
  FunctionRef parse_region_body(Scope* parent, std::span<const RegionInput> inputs,
                                std::vector<ValueId>* captures = nullptr);

  Lexer lexer_;
  size_t offset_ = 0;
  std::optional<Token> peeked_;
  int depth_ = 0;
  std::string module_name_;
  std::map<std::string, FunctionEntry> functions_;
  std::vector<std::string> function_order_;
  std::map<std::string, MeshEntry> meshes_;
  std::map<std::string, size_t> aliases_;  // #name and !name, with the mark
  std::set<std::string> aliases_in_progress_;
  std::map<FunctionRef, Extent> extents_;
  bool one_partition_ = false;  // what the module says of itself
};

template <class F>
auto Parser::located(size_t offset, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const UserError& e) {
    if (e.kind() == ErrorKind::kParse && std::string_view(e.what()).substr(0, 8) == "[parse] ")
      throw;
    lexer_.error(offset, e.what());
  }
}

// What a format's read sees.
class Reader final : public OpReader {
 public:
  Reader(Parser& parser, Parser::Scope& scope, size_t offset)
      : parser_(parser), scope_(scope), offset_(offset) {}

  const Type& type(ValueId value) const override { return scope_.function.type(value); }
  std::vector<ValueId> insert(const OpDef& def, OpParams params,
                              std::span<const ValueId> operands) override;
  const Mesh& mesh() const override;
  Mesh find_mesh(std::string_view symbol) const override {
    return parser_.find_mesh(std::string(symbol));
  }
  [[noreturn]] void error(const std::string& message) const override {
    parser_.lexer_.error(offset_, message);
  }

  size_t offset() const { return offset_; }
  std::string source;
  size_t result_count = 1;  // names on the left of the op

 private:
  Parser& parser_;
  Parser::Scope& scope_;
  size_t offset_;
};

// What a format's parse sees.
class Scanner final : public OpScanner {
 public:
  Scanner(Parser& parser, Parser::Scope& scope) : parser_(parser), scope_(scope) {}
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
    return parser_.parse_region_body(&scope_, inputs, captures);
  }
  const Type& type(ValueId value) const override { return scope_.function.type(value); }
  [[noreturn]] void error(const std::string& message) const override { parser_.error(message); }

 private:
  Parser& parser_;
  Parser::Scope& scope_;
};

}  // namespace tessera::ir
