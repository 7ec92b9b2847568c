// OpFormat: the text of an op, if it does not follow from the op's params alone. Printer and parser
// find the format in the op's row of the table (op_table.h).
//
// The default rule makes the text of an op from its params: each field is the attribute that
// OpDef::attributes names for it, and a nested function is a region:
//   "stablehlo.op"(%0) <{dimension = 1 : i64}> ({...}) : (tensor<4xf32>) -> tensor<4xf32>
// Fields called `shape`, `dtype`, `result_dtype` and `weak_type` repeat the type of the first
// result and are not written. An op without attributes and regions is written as
//   stablehlo.op %0, %1 : tensor<4xf32>
// Ops of dialect "tessera" without regions are custom calls:
//   stablehlo.custom_call @tessera.op(%0) {api_version = 4 : i32, backend_config = {axes = ["x"]}}
//       : (...) -> ...
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

// An attribute in text.
struct TextAttr {
  using Entries = std::vector<std::pair<std::string, TextAttr>>;
  struct Unit {};  // a name alone
  struct Integer {
    int64_t value = 0;  // the bits of an unsigned one
    int width = 64;
    bool is_unsigned = false;
  };  // 1 : i64, 1 : ui8
  struct Float {
    double value = 0;
    DType dtype = float64;
  };  // 1.0 : f64
  struct Symbol {
    std::string name;
  };  // @name
  struct Tensor {
    Literal value;
    Shape shape;
  };  // dense<...> : tensor<...>; a rank-0 value is a splat
  struct Array {
    std::vector<int64_t> values;
    DType dtype = int64;
  };  // array<i64: 0, 1>; written [0, 1] in assembly
  struct List {
    std::vector<TextAttr> items;
  };  // [a, b]
  struct Keyword {
    std::string kind, name;
  };  // #stablehlo<kind NAME>
  struct Record {
    std::string name;
    Entries entries;
  };  // {a = 1}, #stablehlo.dot<a = [0]>
  struct Shardings {
    std::vector<NamedSharding> values;
  };  // #sdy.sharding_per_value<[...]>
  // `rank` is the tensor's; entries of the spec that are not written are {}.
  struct Sharding {
    NamedSharding value;
    int64_t rank = 0;
  };
  using Value = std::variant<Unit, bool, Integer, Float, std::string, Symbol, DType, Tensor, Array,
                             List, Keyword, Record, Sharding, Shardings, Mesh, FunctionRef>;
  Value value;

  TextAttr() = default;
  template <class T>
  requires std::constructible_from<Value, T> TextAttr(T&& v) : value(std::forward<T>(v)) {}
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
};

// The text of one op: its attributes and regions.
struct OpText {
  TextAttr::Entries attributes;  // its own, between <{ and }>
  TextAttr::Entries extra;       // of other dialects, between { and }
  std::vector<FunctionRef> regions;

  // Returns the entry of that name in either list, or null if there is none.
  const TextAttr* find(std::string_view name) const;
  // Does the same and marks the attribute as used. It is an error if attributes are unused when the
  // op is made.
  const TextAttr* take(std::string_view name);
};

// The input of OpFormat::read. Errors are UserErrors kParse at the position of the op.
class OpReader {
 public:
  virtual ~OpReader() = default;
  OpText text;
  std::vector<ValueId> operands;   // a hook may replace them
  std::vector<Type> result_types;  // dtype and shape as written; empty if the text has none
  // For each region of an op with OpFormat::captures: the values of the outer scope that became its
  // last inputs.
  std::vector<std::vector<ValueId>> captures;
  size_t hidden_results = 0;  // number of the op's last results that the text does not name

  virtual const Type& type(ValueId value) const = 0;
  std::vector<Type> operand_types() const;
  // Adds an op before this one and returns its results. Their types follow from the op's `infer`.
  virtual std::vector<ValueId> insert(const OpDef& def, OpParams params,
                                      std::span<const ValueId> operands) = 0;
  // Returns the mesh of the enclosing manual computation; without one, the only one of the module.
  virtual const Mesh& mesh() const = 0;
  // Returns whether the program's collectives are among replicas, not among partitions.
  virtual bool has_replicas() const = 0;
  virtual Mesh find_mesh(std::string_view symbol) const = 0;
  [[noreturn]] virtual void error(const std::string& message) const = 0;

  // Return attributes of a kind. If the attribute is missing or of another kind, they throw an
  // error that names it.
  const TextAttr& require(std::string_view name);
  int64_t require_int(std::string_view name);
  Dims require_dims(std::string_view name);
  // Returns params whose fields are attributes of the same names.
  OpParams read_fields(const OpDef& def);
};

// The output of custom assembly.
class OpWriter {
 public:
  virtual ~OpWriter() = default;
  virtual void write(std::string_view text) = 0;
  // Writes an attribute as in assembly: [0, 1], EQ, <@mesh, [{"x"}]>.
  virtual void write_attribute(const TextAttr& attribute) = 0;
  virtual void write_operand(int k) = 0;
  // Writes ` {sdy.sharding = ...}`, or nothing if there are no such attributes.
  virtual void write_extra() = 0;
  virtual void write_signature() = 0;  // ` : (tensor<4xf32>) -> tensor<4xf32>`
  virtual std::string operand_name(int k) = 0;
  virtual bool has_extra() const = 0;
  // Return names for a region's inputs, or take given ones; then write its ops and the line that
  // returns, indented, up to the closing brace.
  virtual std::vector<std::string> new_arguments(size_t count) = 0;
  virtual void enter_region(const Function& region, std::span<const std::string> inputs) = 0;
  std::vector<std::string> region_inputs(const Function& region) {
    std::vector<std::string> names = new_arguments(region.inputs.size());
    enter_region(region, names);
    return names;
  }
  virtual void write_region_body(const Function& region) = 0;
};

// An input of a region as the text declares it.
struct RegionInput {
  std::string name;
  Type type;
};

// The input of a custom assembly parser.
class OpScanner {
 public:
  virtual ~OpScanner() = default;
  // If a word or a punctuation mark is next, reads it and returns true; otherwise returns false.
  virtual bool accept(std::string_view token) = 0;
  virtual void expect(std::string_view token) = 0;
  virtual ValueId operand() = 0;                 // %0
  virtual std::string word() = 0;                // an identifier
  virtual TextAttr attribute() = 0;              // any; [0, 1] is an Array
  virtual void extra(OpText& text) = 0;          // optional {name = value, ...}
  virtual void signature(OpReader& reader) = 0;  // : (types) -> types
  virtual RegionInput region_input() = 0;        // %arg0: tensor<f32>
  virtual std::string new_value() = 0;           // %name that is defined here
  // Returns the region that follows, from after its { to its }, with these inputs. If `captures` is
  // given, it may use values of the outer scope, which are appended to `captures` and become its
  // last inputs.
  virtual FunctionRef region_body(std::span<const RegionInput> inputs,
                                  std::vector<ValueId>* captures = nullptr) = 0;
  virtual const Type& type(ValueId value) const = 0;
  [[noreturn]] virtual void error(const std::string& message) const = 0;
};

// The axes of a region that describes one device along these axes.
struct ManualScope {
  Mesh mesh;
  AxisNames axes;  // sorted
  // The types of the region's first inputs, which tell whether they are weak and over which axes
  // they vary.
  std::vector<Type> inputs;
};

struct OpFormat {
  // The pretty form after the op's name, up to its types. It is text with names of parts:
  //   {operands}   %0, %1
  //   {name}       an attribute: [0, 1]   3   EQ   @callee   <@mesh, [{"x"}]>
  //   {a:b:c}      three Arrays as ranges: [0:4, 1:8:2]
  //   <...>        optional: written if one of its attributes is present
  //   {extra}      other dialects' attributes, if these are not at the end
  std::string_view assembly = {};
  // The types after the assembly. kDerived: `: T` for an op without attributes if all operands and
  // results have type T, otherwise kFunctional.
  enum class Signature : uint8_t {
    kDerived,
    kFunctional,      // : (T, U) -> V
    kSame,            // : T if operands and result have that type
    kFirstAndResult,  // : T, V of select: its first operand and its result
    kNone,            // nothing, since the assembly contains the types (constant)
  } signature = Signature::kDerived;

  // Convert params to text and back, if the fields are not the attributes.
  OpText (*write)(const Op& op, const Function& function) = nullptr;
  OpParams (*read)(const OpDef& def, OpReader& reader) = nullptr;
  // Print and parse assembly for which there is no template: everything after the op's name.
  void (*print)(const OpText& text, const Op& op, const Function& function,
                OpWriter& writer) = nullptr;
  void (*parse)(OpScanner& scanner, OpReader& reader) = nullptr;
  bool prints_name = false;   // `print` writes the op's name, too
  bool captures = false;      // regions in generic form may use values of the outer scope
  bool typed_inputs = false;  // a region's input k is weak, and varies, like operand k
  // Returns what the op's attributes tell about its regions: the axes that are manual inside, and
  // types of inputs. It is called before the regions are read, and set if the generic form (and
  // bytecode, which is generic) does not contain these facts.
  ManualScope (*region_rule)(OpReader& reader) = nullptr;
  // Makes operands of reader.captures, the values that became the region's last inputs. It is set
  // if regions of scalars may use values of the outer scope and the op can take these as operands.
  void (*capture_rule)(OpReader& reader) = nullptr;
};

// Convert a field of params to text and back. `like` is a value of the field's kind; `mesh` is the
// op's mesh.
TextAttr to_text(const Attribute& field, const Mesh* mesh);
Attribute from_text(const TextAttr& attribute, const Attribute& like, std::string_view name,
                    const OpReader& reader);
// Returns the dtype of an integer attribute. Throws UserError kParse if no dtype has its width.
DType integer_dtype(const TextAttr::Integer& number);
// Returns whether a field of that name repeats the first result's type.
bool is_result_field(std::string_view name);
// Returns device ids as StableHLO counts them, 0 to n-1, in the order of the mesh: the smallest id
// of its devices becomes 0.
std::vector<int64_t> logical_device_ids(const Mesh& mesh);
// Returns the op in the text of its format, or of the default rule.
OpText op_text(const Op& op, const Function& function);

}  // namespace tessera::interchange
