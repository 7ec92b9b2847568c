// ModuleBuilder: makes functions of ops with named attributes (OpText). The text's parser
// (parser_internal.h) and the bytecode's reader (bytecode/module_reader.cc) derive from it: they
// find ops, operands and attributes. ModuleBuilder adds these ops to a Function, closes regions,
// reads functions before those that call them, and makes meshes of devices and shardings of
// arguments.
//
// A module that leaves extents open is read from its main function on. At each call, the called
// function is read again with the shapes and the sizes that the call passes (module_instances.cc).
//
// An offset is a position in the input: in the text, or in the bytes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "tessera/interchange/refine_shapes.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ir/op_def.h"

namespace tessera::interchange {

class Reader;

// A type as it is written: that of a tensor, or a tuple of types.
struct TypeTree {
  Type type;  // if it is a tensor
  std::vector<TypeTree> parts;
  bool is_tuple = false;
};
// Appends the types of the tensors in a tree, in order.
void append_types(const TypeTree& tree, std::vector<Type>& out);

class ModuleBuilder {
 public:
  explicit ModuleBuilder(const ReadOptions& options = {}) : options_(options) {}
  virtual ~ModuleBuilder() = default;

  // Throws UserError kParse with the position; positions differ between text and bytecode.
  [[noreturn]] void error_at(size_t offset, const std::string& message) const {
    throw_error(offset, message);
    TESSERA_CHECK(false, "throw_error() returned");
  }
  // Returns the mesh of that name; calls error_at(offset) if there is none.
  const Mesh& find_mesh(const std::string& name, size_t offset);
  // Returns f(). Errors without a position become errors at `offset`.
  template <class F>
  auto located(size_t offset, F&& f) -> decltype(f());

 protected:
  friend class Reader;

  // A function or region under construction.
  struct Scope {
    Scope* parent = nullptr;
    Function function;
    std::unordered_map<ValueId, ValueId> copied;     // the copies of the parent's values, by value
    std::unordered_map<ValueId, ValueId> constants;  // those of the copies that are copied ops
    std::vector<ValueId>* captures = nullptr;  // if set, other values of the parent become inputs
    // With captures: values that are computed from constants are copied all the same.
    bool computed = false;
  };
  struct FunctionEntry {
    bool is_public = false, in_progress = false;
    FunctionRef function;               // null: not read yet, or only declared
    std::optional<size_t> offset;       // of the declaration, if it has no body
    std::optional<Mesh> mesh;           // of the declaration, if it declares a mesh
    std::vector<std::string> mentions;  // the symbols in it, including those that it calls
    std::vector<std::string> names;     // of the arguments
    std::vector<std::optional<NamedSharding>> inputs, outputs;
    std::vector<AxisNames> unreduced_inputs, unreduced_outputs;
    std::vector<std::string> memory_kinds;  // of the outputs
    std::vector<std::string> input_layout_modes, output_layout_modes;
    std::vector<bool> donated;
  };
  // Limits the depth of the C++ stack.
  class DepthGuard {
   public:
    DepthGuard(ModuleBuilder& builder, size_t offset) : builder_(builder) {
      if (++builder.depth_ > 100)
        builder.error_at(offset, "expected at most 100 levels of nesting");
    }
    ~DepthGuard() { --builder_.depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

   private:
    ModuleBuilder& builder_;
  };

  virtual void throw_error(size_t offset, const std::string& message) const = 0;

  // --- Functions ---

  // Reads the function of that entry, and ends with finish_function().
  virtual void read_function(const std::string& name, FunctionEntry& entry) = 0;
  // Reads every function after those that it mentions.
  void read_functions();
  // Returns the function's entry. The function is read now unless it was before.
  FunctionEntry& find_function(const std::string& name, size_t offset);
  // Returns the type of the next argument of the entry. Its open extents come from the call, or for
  // main from the caller of the reader.
  Type argument_type(const Type& written, const std::string& name, size_t offset,
                     const FunctionEntry& entry);
  // Returns the value of a function's argument inside of it: the input, or a constant that the call
  // passes.
  ValueId argument_value(Scope& scope, ValueId input, size_t argument, size_t offset);
  // Returns the function of that name for these operands of a call.
  FunctionRef function_for(Scope& scope, const std::string& name, std::span<const ValueId> operands,
                           size_t offset);
  // Reads the functions that the op's attributes name, in a module that leaves extents open.
  void resolve_functions(Scope& scope, Reader& reader, const std::string& dialect,
                         const std::string& name);
  void resolve_functions(TextAttr& value, size_t offset);
  // Refines the result types of custom calls that have the shapes of their results as operands.
  void refine_results(Scope& scope, Reader& reader);
  // Returns the type of an input of a region. It is refined by the type of the op's operand in
  // `like`, if there is one.
  Type region_input_type(Type written, size_t input, const std::vector<Type>& like, size_t offset);
  Type with_argument_attributes(Type type, const TextAttr::Entries& attributes, size_t offset,
                                Scope& scope, FunctionEntry& entry);
  // Returns the sharding over the partitions that GSPMD's text describes for an array of that type,
  // or nullopt if the text leaves it open.
  std::optional<NamedSharding> hlo_sharding(const TextAttr& text, const Type& type, size_t offset);
  // Returns the text of mhlo.layout_mode, which is a string.
  std::string layout_mode(const TextAttr& text, size_t offset) const;
  // Appends the sharding of a result to those in the entry.
  void add_result_sharding(const TextAttr::Entries& attributes, const Type& type, size_t offset,
                           FunctionEntry& entry);
  // Completes the entry with the scope's function. It is an error unless the function returns
  // values of these types.
  void finish_function(Scope& scope, FunctionEntry& entry, std::span<const Type> results,
                       size_t offset);
  // Completes the entry of a function without a body. It declares a mesh if its attributes have
  // one.
  void finish_declaration(FunctionEntry& entry, const TextAttr::Entries& attributes, size_t offset);
  // Returns @main, or the only public function, and all meshes.
  ParsedModule finish_module(size_t offset);

  // --- Meshes ---

  struct MeshParts {
    Shape sizes;
    std::vector<std::string> names;
    std::vector<int64_t> ids;
  };
  // Reads the mesh of that name, which exists.
  virtual Mesh read_mesh(const std::string& name) = 0;
  void check_axis_size(const MeshParts& parts, int64_t size, size_t offset) const;
  // Returns the only mesh of the module; for a module without meshes, that of its partitions.
  const Mesh& only_mesh(size_t offset);
  const Mesh& line_of_devices(std::string_view axis, int64_t size, size_t offset);
  Mesh make_mesh(MeshParts parts, const TextAttr::Entries& extra, size_t offset);
  // Returns the mesh of #stablehlo.mesh<axes = [...], device_ids = ...>, or of a dictionary with
  // the same entries.
  Mesh mesh_of(const TextAttr& text, size_t offset);
  // Returns the mesh of that form in an op. It becomes the module's mesh if the module has none.
  Mesh inline_mesh(const TextAttr& text, size_t offset);
  // Returns the mesh of the attribute 'stablehlo.mesh', or of 'mesh'.
  std::optional<Mesh> stablehlo_mesh(const TextAttr::Entries& attributes, size_t offset);
  // Returns the meaning of @name: a mesh, a function, or a Symbol if it is neither.
  TextAttr symbol(const std::string& name, size_t offset);

  // --- Values ---

  // Returns the value in the scope for a value of its parent scope. Error messages call it `name`.
  ValueId import_value(Scope& scope, ValueId outer, const std::string& name, size_t offset);

  // --- Tuples. No op has them: a tuple is only a name for its parts (module_tuples.cc). ---

  bool is_tuple(ValueId value) const { return value <= kFirstTuple; }
  ValueId new_tuple(std::vector<ValueId> parts, size_t offset);
  // Returns a part of a value, which must be a tuple.
  ValueId tuple_part(ValueId tuple, int64_t index, size_t offset) const;
  void append_leaves(ValueId value, std::vector<ValueId>& out) const;
  // Does the same as import_value() for a tensor or a tuple.
  ValueId import_tree(Scope& scope, ValueId outer, const std::string& name, size_t offset);
  // Returns the tensors from `next` on, grouped into tuples like the tree of types.
  ValueId grouped(const TypeTree& tree, std::vector<ValueId>::const_iterator& next, size_t offset);
  // Returns an op's results, grouped in the same manner.
  std::vector<ValueId> grouped(const std::vector<TypeTree>& trees, std::vector<ValueId> leaves,
                               size_t offset);
  // Returns whether the value has these types.
  bool matches(const Scope& scope, ValueId value, const TypeTree& tree) const;
  // Adds an argument; the parts of a tuple %t are arguments t.0, t.1, ...
  ValueId add_argument(Scope& scope, FunctionEntry& entry, const TypeTree& tree,
                       const std::string& name, const TextAttr::Entries& attributes, size_t offset);

  // --- Ops ---

  // Facts about an op's regions that are known before they are read.
  struct RegionRules {
    bool captures = false;  // they may use values of the scope around the op
    bool scalars = false;   // the same, but only scalars, by a capture_rule (op_format.h)
    // The types of the op's operands, which refine open extents of inputs.
    std::vector<Type> like;
    std::vector<Type> inputs;           // the first inputs are weak, and vary, like these
    std::optional<ManualScope> manual;  // set: the regions describe one device along these axes
  };
  RegionRules region_rules(Scope& scope, Reader& reader, std::string_view dialect,
                           std::string_view name);
  // Adds the op that the reader holds. Returns its results, except those that the text or bytecode
  // does not name.
  std::vector<ValueId> finish_op(Scope& scope, Reader& reader, const std::string& dialect,
                                 const std::string& name);

  std::map<std::string, FunctionEntry> functions_;
  std::vector<std::string> function_order_;
  std::map<std::string, std::optional<Mesh>> meshes_;
  std::string module_name_;
  bool open_ = false;       // some extents are open
  int64_t partitions_ = 0;  // the number in the module's attribute; 0: it has none

 private:
  // The facts that a call knows about a function's arguments.
  struct Instance {
    std::vector<Type> types;
    std::vector<std::optional<Dims>> values;  // of integers of rank 0
  };
  // The size of a function with all calls inlined, which is the form that is compiled.
  struct Extent {
    int64_t ops = 0, levels = 0;
  };
  Extent extent(const FunctionRef& function);
  void check_extent(const FunctionEntry& entry, size_t offset);
  std::optional<ValueId> copy_constant(Scope& scope, const Function& f, ValueId value,
                                       bool computed, size_t offset);
  std::vector<ValueId> add_op(Scope& scope, Reader& reader, const OpDef& def);
  void widen(Reader& reader, NarrowOperands rule);
  void apply_type_attributes(Scope& scope, Reader& reader, std::span<const ValueId> results);
  void check_results(Scope& scope, Reader& reader, std::span<const ValueId> results);

  // Tuples have numbers from this one downwards. tuples_ has their parts.
  static constexpr ValueId kFirstTuple = -2;

  std::vector<std::vector<ValueId>> tuples_;
  std::map<FunctionRef, Extent> extents_;
  const ReadOptions options_;
  // The instance that is being read; null for a function that nobody calls.
  const Instance* instance_ = nullptr;
  std::map<std::string, FunctionRef> instances_;  // by name, shapes and values
  int depth_ = 0;
};

template <class F>
auto ModuleBuilder::located(size_t offset, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const UserError& e) {
    if (e.kind() == ErrorKind::kParse && std::string_view(e.what()).substr(0, 8) == "[parse] ")
      throw;
    error_at(offset, e.what());
  }
}

// The input of the read hooks of formats. Tuples are taken apart: an op has their tensors as
// operands and results.
class Reader final : public OpReader {
 public:
  Reader(ModuleBuilder& builder, ModuleBuilder::Scope& scope, size_t offset)
      : builder_(builder), scope_(scope), place_(offset) {}

  const Type& type(ValueId value) const override { return scope_.function.type(value); }
  // Returns the function that contains the op, as far as it has been read.
  const Function& function() const { return scope_.function; }
  std::vector<ValueId> insert(const OpDef& def, OpParams params,
                              std::span<const ValueId> operands) override;
  const Mesh& mesh() const override;
  bool has_replicas() const override { return builder_.options_.replicas > 1; }
  Mesh find_mesh(std::string_view symbol) const override {
    return builder_.find_mesh(std::string(symbol), place_);
  }
  [[noreturn]] void error(const std::string& message) const override {
    builder_.error_at(place_, message);
  }

  size_t offset() const { return place_; }
  std::string source;
  size_t result_count = 1;             // number of results with names; a tuple counts as one
  std::vector<TypeTree> result_trees;  // result_types, grouped into tuples

 private:
  ModuleBuilder& builder_;
  ModuleBuilder::Scope& scope_;
  size_t place_;
};

}  // namespace tessera::interchange
