// ModuleBuilder: from ops with attributes by name (OpText) to functions, whatever they are read
// from. The text's parser (parser_internal.h) and the bytecode's reader (bytecode/module_reader.cc)
// derive from it: they find ops, operands and attributes; here these become ops of a Function, with
// regions closed, functions before those that call them, meshes of devices, shardings of arguments.
//
// A module that leaves extents open is read from its main function on, and its other functions at
// the calls, anew for the shapes and the sizes that a call gives them (module_instances.cc).
//
// A place is where something stands in what is read: an offset in the text, or in the bytes.
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

// A type as it is written: a tensor's, or a tuple of others.
struct TypeTree {
  Type type;  // of a tensor
  std::vector<TypeTree> parts;
  bool is_tuple = false;
};
// The types of the tensors in a tree, in order.
void append_types(const TypeTree& tree, std::vector<Type>& out);

class ModuleBuilder {
 public:
  explicit ModuleBuilder(const ReadOptions& options = {}) : options_(options) {}
  virtual ~ModuleBuilder() = default;

  // UserError kParse that says where; places differ between text and bytecode.
  [[noreturn]] void error_at(size_t offset, const std::string& message) const {
    throw_error(offset, message);
    TESSERA_CHECK(false, "throw_error() returned");
  }
  // The mesh of that name; error_at(place) if there is none.
  const Mesh& find_mesh(const std::string& name, size_t offset);
  // What f does; errors of others become errors at `place`.
  template <class F>
  auto located(size_t offset, F&& f) -> decltype(f());

 protected:
  friend class Reader;

  // A function or region under construction.
  struct Scope {
    Scope* parent = nullptr;
    Function function;
    std::unordered_map<ValueId, ValueId> copied;     // by the parent's value: what stands for it
    std::unordered_map<ValueId, ValueId> constants;  // those among them that are copies of ops
    std::vector<ValueId>* captures = nullptr;  // set: other values of the parent become inputs
    bool computed = false;  // with captures: what is computed from constants is copied all the same
  };
  struct FunctionEntry {
    bool is_public = false, in_progress = false;
    FunctionRef function;               // null: not read, or declared only
    std::optional<size_t> offset;       // where it is declared, if it has no body
    std::optional<Mesh> mesh;           // that a declaration stands for
    std::vector<std::string> mentions;  // symbols in it, those that it calls among them
    std::vector<std::string> names;     // of arguments
    std::vector<std::optional<NamedSharding>> inputs, outputs;
    std::vector<AxisNames> unreduced_inputs, unreduced_outputs;
    std::vector<std::string> memory_kinds;  // of outputs
    std::vector<bool> donated;
  };
  // Guards the C++ stack against what nests without end.
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
  // Read now if it is not yet.
  FunctionEntry& find_function(const std::string& name, size_t offset);
  // The type of the next argument of the entry, whose open extents the call, or the caller of the
  // reader, knows.
  Type argument_type(const Type& written, const std::string& name, size_t offset,
                     const FunctionEntry& entry);
  // What a function's text calls its argument: the input, or a constant that the call gives it.
  ValueId argument_value(Scope& scope, ValueId input, size_t argument, size_t offset);
  // The function of that name for these operands of a call.
  FunctionRef function_for(Scope& scope, const std::string& name, std::span<const ValueId> operands,
                           size_t offset);
  // Functions among the op's attributes, in a module that leaves extents open.
  void resolve_functions(Scope& scope, Reader& reader, const std::string& dialect,
                         const std::string& name);
  void resolve_functions(TextAttr& value, size_t offset);
  // Custom calls say which operands hold the shapes of their results.
  void refine_results(Scope& scope, Reader& reader);
  // An input of a region, as the op's operand `like` is, where there is one.
  Type region_input_type(Type written, size_t input, const std::vector<Type>& like, size_t offset);
  Type with_argument_attributes(Type type, const TextAttr::Entries& attributes, size_t offset,
                                Scope& scope, FunctionEntry& entry);
  // What GSPMD's text says of an array of that type, over the partitions; null if it leaves it open.
  std::optional<NamedSharding> hlo_sharding(const TextAttr& text, const Type& type, size_t offset);
  // Appends the sharding to the entry's.
  void add_result_sharding(const TextAttr::Entries& attributes, const Type& type, size_t offset,
                           FunctionEntry& entry);
  // The scope's function is the entry's, if it returns values of these types.
  void finish_function(Scope& scope, FunctionEntry& entry, std::span<const Type> results,
                       size_t offset);
  // A function without a body: the name of a mesh, if its attributes hold one.
  void finish_declaration(FunctionEntry& entry, const TextAttr::Entries& attributes, size_t offset);
  // @main, or the only public function, and all meshes.
  ParsedModule finish_module(size_t offset);

  // --- Meshes ---

  struct MeshParts {
    Shape sizes;
    std::vector<std::string> names;
    std::vector<int64_t> ids;
  };
  // Reads the mesh of that name, which is known to be there.
  virtual Mesh read_mesh(const std::string& name) = 0;
  void check_axis_size(const MeshParts& parts, int64_t size, size_t offset) const;
  // The only mesh of the module; of one without any, that of its partitions.
  const Mesh& only_mesh(size_t offset);
  Mesh make_mesh(MeshParts parts, const TextAttr::Entries& extra, size_t offset);
  // #stablehlo.mesh<axes = [...], device_ids = ...>, or a dictionary of the same.
  Mesh mesh_of(const TextAttr& text, size_t offset);
  // The same, where it stands in an op; it is the module's if that has none.
  Mesh inline_mesh(const TextAttr& text, size_t offset);
  // That of the attribute 'stablehlo.mesh', or of 'mesh'.
  std::optional<Mesh> stablehlo_mesh(const TextAttr::Entries& attributes, size_t offset);
  // @name: a mesh, a function, or a name of neither.
  TextAttr symbol(const std::string& name, size_t offset);

  // --- Values ---

  // What stands in the scope for a value of its parent. `name`: as messages call it.
  ValueId import_value(Scope& scope, ValueId outer, const std::string& name, size_t offset);

  // --- Tuples: no op has them, so that they are only names for their parts (module_tuples.cc) ---

  bool is_tuple(ValueId value) const { return value <= kFirstTuple; }
  ValueId new_tuple(std::vector<ValueId> parts, size_t offset);
  // A part of what should be a tuple.
  ValueId tuple_part(ValueId tuple, int64_t index, size_t offset) const;
  void append_leaves(ValueId value, std::vector<ValueId>& out) const;
  // import_value() of a tensor or a tuple.
  ValueId import_tree(Scope& scope, ValueId outer, const std::string& name, size_t offset);
  // A value as the tree of types groups tensors, taken from `next` on.
  ValueId grouped(const TypeTree& tree, std::vector<ValueId>::const_iterator& next, size_t offset);
  // The same of an op's results.
  std::vector<ValueId> grouped(const std::vector<TypeTree>& trees, std::vector<ValueId> leaves,
                               size_t offset);
  // Whether the value is of these types.
  bool matches(const Scope& scope, ValueId value, const TypeTree& tree) const;
  // An argument; the parts of a tuple %t are arguments t.0, t.1, ...
  ValueId add_argument(Scope& scope, FunctionEntry& entry, const TypeTree& tree,
                       const std::string& name, const TextAttr::Entries& attributes, size_t offset);

  // --- Ops ---

  // What is known of an op's regions before they are read.
  struct RegionRules {
    bool captures = false;     // they may use values around the op
    bool scalars = false;      // the same, by a capture_rule (op_format.h)
    std::vector<Type> like;    // the op's operands, whose shapes open extents of inputs are
    std::vector<Type> inputs;  // the first inputs are as weak as these, and vary as they do
    std::optional<ManualScope> manual;  // they are what a device does along these axes
  };
  RegionRules region_rules(Scope& scope, Reader& reader, std::string_view dialect,
                           std::string_view name);
  // Adds the op that the reader holds; its results, as far as what is read names them.
  std::vector<ValueId> finish_op(Scope& scope, Reader& reader, const std::string& dialect,
                                 const std::string& name);

  std::map<std::string, FunctionEntry> functions_;
  std::vector<std::string> function_order_;
  std::map<std::string, std::optional<Mesh>> meshes_;
  std::string module_name_;
  bool open_ = false;       // some extents are not written
  int64_t partitions_ = 0;  // as the module says of itself; 0: it does not

 private:
  // What a call knows of a function's arguments.
  struct Instance {
    std::vector<Type> types;
    std::vector<std::optional<Dims>> values;  // of integers of rank 0
  };
  // What a function is once all calls are written out, which is how it is compiled.
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

  // A tuple is a number from here downwards, of which tuples_ knows the parts.
  static constexpr ValueId kFirstTuple = -2;

  std::vector<std::vector<ValueId>> tuples_;
  std::map<FunctionRef, Extent> extents_;
  const ReadOptions options_;
  const Instance* instance_ = nullptr;            // that is being read; null: of what nobody calls
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

// What a format's read sees. Tuples are written out: an op has their tensors as operands and
// results.
class Reader final : public OpReader {
 public:
  Reader(ModuleBuilder& builder, ModuleBuilder::Scope& scope, size_t offset)
      : builder_(builder), scope_(scope), place_(offset) {}

  const Type& type(ValueId value) const override { return scope_.function.type(value); }
  // What is read so far of the function that the op stands in.
  const Function& function() const { return scope_.function; }
  std::vector<ValueId> insert(const OpDef& def, OpParams params,
                              std::span<const ValueId> operands) override;
  const Mesh& mesh() const override;
  Mesh find_mesh(std::string_view symbol) const override {
    return builder_.find_mesh(std::string(symbol), place_);
  }
  [[noreturn]] void error(const std::string& message) const override {
    builder_.error_at(place_, message);
  }

  size_t offset() const { return place_; }
  std::string source;
  size_t result_count = 1;             // results that are named, a tuple as one
  std::vector<TypeTree> result_trees;  // as result_types, with the tuples that there are

 private:
  ModuleBuilder& builder_;
  ModuleBuilder::Scope& scope_;
  size_t place_;
};

}  // namespace tessera::interchange
