// ModuleReader: makes functions of the ops of a container. It names their attributes as their
// dialects do, so that they look as those that the parser reads from text (module_builder.h).
#include <algorithm>

#include "tessera/interchange/bytecode/attributes.h"
#include "tessera/interchange/bytecode/export.h"
#include "tessera/interchange/bytecode/properties.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/bytecode/vhlo.h"
#include "tessera/interchange/module_builder.h"
#include "tessera/interchange/text/parser_internal.h"
#include "tessera/ir/format.h"

namespace tessera::interchange {
namespace {

using namespace bytecode;

using RawAttributes = std::vector<std::pair<std::string, size_t>>;

class ModuleReader final : public ModuleBuilder {
 public:
  ModuleReader(std::string_view bytes, std::string_view filename, const ReadOptions& options)
      : ModuleBuilder(options),
        file_{bytes, std::string(filename)},
        container_(file_),
        decoder_(container_, names(options)) {}

  ParsedModule read() {
    const RawOp& module = find_module();
    for (const auto& [name, index] : raw_attributes(module)) {
      if (name == "sym_name") module_name_ = decoder_.string(index);
      if (name != "mhlo.num_partitions") continue;
      const TextAttr count = attribute(index, module.offset);
      const auto* number = count.get<TextAttr::Integer>();
      partitions_ = number ? number->value : 0;
    }
    for (const RawOp& op : module.regions[0].ops) add_symbol(op);
    scanning_ = false;
    read_functions();
    return finish_module(module.offset);
  }

 private:
  // A value of the enclosing functions and regions that has a number.
  struct Value {
    Scope* scope = nullptr;  // null: not defined yet
    ValueId id = 0;
  };
  // Numbers of values begin at 0 in an isolated region.
  struct Numbers {
    std::vector<Value> values;
    size_t next = 0, end = 0;  // of the region that is being read
  };
  struct OpName {
    std::string dialect, name;
    bool vhlo = false;
  };

  Decoder::Names names(const ReadOptions& options) {
    return {.symbol = [this](const std::string& name, size_t offset) -> TextAttr {
              if (scanning_) return TextAttr::Symbol{name};
              return symbol(name, offset);
            },
            .parse = [this](std::string_view text, size_t offset) -> TextAttr {
              return located(offset, [&] { return parse_attribute_text(text, read_meshes()); });
            },
            .mesh = [this](const DecodedMesh& mesh,
                           size_t offset) { return make_mesh(parts_of(mesh, offset), {}, offset); },
            .inline_mesh = [this](const TextAttr& mesh,
                                  size_t offset) { return inline_mesh(mesh, offset); },
            .on_tensor = options.on_tensor};
  }

  void throw_error(size_t offset, const std::string& message) const override {
    file_.error(offset, op_.empty() ? message : fmt::format("{}: {}", op_, message));
  }

  TextAttr attribute(size_t index, size_t offset) {
    return located(offset, [&] { return decoder_.attribute(index); });
  }

  // --- The module ---

  const RawOp& find_module() {
    const std::vector<RawOp>& ops = container_.top.ops;
    if (ops.size() != 1 || name_of(ops[0]).name != "module" || ops[0].regions.size() != 1)
      error_at(0, "expected one module");
    return ops[0];
  }

  OpName name_of(const RawOp& op) const {
    const Container::OpName& raw = container_.op_names[op.name];
    if (raw.dialect != "vhlo") return {std::string(raw.dialect), std::string(raw.name)};
    const std::string_view name = without_version(raw.name);
    const bool func = name == "func" || name == "call";
    return {func ? "func" : "stablehlo", std::string(name), true};
  }

  void add_symbol(const RawOp& op) {
    const OpName name = name_of(op);
    const bool is_mesh = name.dialect == "sdy" && name.name == "mesh";
    if (!is_mesh && name.dialect != "func")
      error_at(op.offset, fmt::format("expected meshes and functions in the module, got {}.{}",
                                      name.dialect, name.name));
    FunctionEntry entry{.is_public = true};
    std::string symbol;
    for (const auto& [key, index] : raw_attributes(op)) {
      if (key == "sym_name") symbol = decoder_.string(index);
      if (key == "function_type") open_ = open_ || leaves_open(decoder_.type_of(index));
      if (key == "sym_visibility") entry.is_public = decoder_.string(index) != "private";
    }
    if (symbols_.count(symbol))
      error_at(op.offset,
               fmt::format("expected symbols of different names, got a second @{}", symbol));
    symbols_[symbol] = &op;
    if (is_mesh) {
      meshes_[symbol] = std::nullopt;
      return;
    }
    for (const RawRegion& region : op.regions) find_mentions(region, entry);
    functions_[symbol] = std::move(entry);
    function_order_.push_back(symbol);
  }

  // Returns whether the function type has arguments or results with open extents.
  bool leaves_open(size_t type) {
    const DecodedType function = decoder_.type(type);
    for (const auto* list : {&function.inputs, &function.outputs})
      for (const size_t index : *list)
        if (const DecodedType& part = decoder_.type(index);
            part.kind == DecodedType::Kind::kTensor && is_open(part.type))
          return true;
    return false;
  }

  // Finds the functions that are called, so that they are read first.
  void find_mentions(const RawRegion& region, FunctionEntry& entry) {
    for (const RawOp& op : region.ops) {
      for (const RawRegion& inner : op.regions) find_mentions(inner, entry);
      const OpName name = name_of(op);
      if (name.name != "call" && name.name != "composite" && name.name != "custom_call") continue;
      for (const auto& [key, index] : raw_attributes(op)) {
        if (key != "callee" && key != "decomposition") continue;
        const TextAttr callee = attribute(index, op.offset);
        if (const auto* text = callee.get<std::string>()) entry.mentions.push_back(*text);
        if (const auto* one = callee.get<TextAttr::Symbol>()) entry.mentions.push_back(one->name);
      }
    }
  }

  // --- Meshes ---

  MeshParts parts_of(const DecodedMesh& mesh, size_t offset) {
    MeshParts parts;
    for (const auto& [name, size] : mesh.axes) {
      check_axis_size(parts, size, offset);
      parts.names.push_back(name);
      parts.sizes.push_back(size);
    }
    parts.ids = mesh.ids;
    // A mesh without axes is one device, no matter which.
    if (parts.ids.empty() || parts.names.empty())
      for (int64_t i = static_cast<int64_t>(parts.ids.size()); i < parts.sizes.elements(); ++i)
        parts.ids.push_back(i);
    if (static_cast<int64_t>(parts.ids.size()) != parts.sizes.elements())
      error_at(offset, fmt::format("expected a device id for each of the {} positions of the mesh",
                                   parts.sizes.elements()));
    return parts;
  }

  Mesh read_mesh(const std::string& name) override {
    const RawOp& op = *symbols_.at(name);
    std::optional<MeshParts> parts;
    TextAttr::Entries extra;
    for (const auto& [key, index] : raw_attributes(op)) {
      if (key == "mesh") {
        if (!container_.attributes[index].encoded) return parse_mesh_text(index, op.offset);
        parts = parts_of(decoder_.mesh(index), op.offset);
      } else if (key.substr(0, 8) == "tessera." || key == "stablehlo.mesh") {
        extra.emplace_back(key, attribute(index, op.offset));
      }
    }
    if (!parts) {
      if (const std::optional<Mesh> mesh = stablehlo_mesh(extra, op.offset)) return *mesh;
      error_at(op.offset, "expected the attribute 'mesh'");
    }
    return make_mesh(std::move(*parts), extra, op.offset);
  }

  // Returns all meshes by name, for attributes that are text.
  const std::map<std::string, std::optional<Mesh>>& read_meshes() {
    for (const auto& [name, mesh] : meshes_) find_mesh(name, 0);
    return meshes_;
  }

  // --- Functions ---

  void read_function(const std::string& name, FunctionEntry& entry) override {
    const RawOp& op = *symbols_.at(name);
    const DepthGuard guard(*this, op.offset);
    entry.in_progress = true;
    Scope scope;
    scope.function.name = name;
    TextAttr arguments, outputs;
    std::optional<size_t> type;
    for (const auto& [key, index] : raw_attributes(op)) {
      if (key == "function_type") type = decoder_.type_of(index);
      if (key == "arg_attrs") arguments = attribute(index, op.offset);
      if (key == "res_attrs") outputs = attribute(index, op.offset);
    }
    if (op.regions.size() == 1 && op.regions[0].ops.empty()) {
      TextAttr::Entries attributes;
      for (const auto& [key, index] : raw_attributes(op))
        if (key == "stablehlo.mesh") attributes.emplace_back(key, attribute(index, op.offset));
      return finish_declaration(entry, attributes, op.offset);
    }
    if (op.regions.size() != 1 || !type ||
        decoder_.type(*type).kind != DecodedType::Kind::kFunction)
      error_at(op.offset, fmt::format("expected @{} to have a type and a body", name));
    const RawRegion& body = op.regions[0];
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < body.arguments.size(); ++i)
      inputs.push_back(add_argument(scope, entry, type_tree(body.arguments[i], op.offset),
                                    fmt::format("arg{}", i), entries_of(arguments, i), op.offset));
    Numbers numbers;
    read_body(body, scope, inputs, numbers);
    std::vector<Type> results;
    const std::vector<size_t> written = decoder_.type(*type).outputs;
    for (size_t r = 0; r < written.size(); ++r) {
      const size_t first = results.size();
      append_types(type_tree(written[r], op.offset), results);
      for (size_t leaf = first; leaf < results.size(); ++leaf)
        add_result_sharding(entries_of(outputs, r), results[leaf], op.offset, entry);
    }
    finish_function(scope, entry, results, op.offset);
  }

  static TextAttr::Entries entries_of(const TextAttr& attribute, size_t i) {
    const auto* list = attribute.get<TextAttr::List>();
    const auto* record =
        list && i < list->items.size() ? list->items[i].get<TextAttr::Record>() : nullptr;
    return record ? record->entries : TextAttr::Entries();
  }

  // Returns the type of a tensor, or a tuple. Types may refer to each other many times.
  TypeTree type_tree(size_t index, size_t offset) {
    size_t left = 1 << 16;
    return type_tree(index, offset, left);
  }
  TypeTree type_tree(size_t index, size_t offset, size_t& left) {
    const DepthGuard guard(*this, offset);
    if (left-- == 0) error_at(offset, "expected tuples of fewer parts");
    if (decoder_.type(index).kind != DecodedType::Kind::kTuple)
      return {.type = decoder_.written_type(index, offset)};
    TypeTree tuple{.is_tuple = true};
    for (const size_t part : std::vector(decoder_.type(index).inputs))
      tuple.parts.push_back(type_tree(part, offset, left));
    return tuple;
  }

  // Reads the ops of a region whose arguments are `inputs` of the scope's function; the last op
  // returns.
  void read_body(const RawRegion& region, Scope& scope, std::span<const ValueId> inputs,
                 Numbers& numbers) {
    const size_t begin = numbers.values.size(), next = numbers.next, end = numbers.end;
    numbers.values.resize(begin + region.num_values);
    numbers.next = begin;
    numbers.end = numbers.values.size();
    for (const ValueId input : inputs) define(numbers, {&scope, input}, region.offset);
    for (size_t i = 0; i < region.ops.size(); ++i)
      if (read_op(region.ops[i], scope, numbers) != (i + 1 < region.ops.size()))
        error_at(region.ops[i].offset, "expected an op that returns at the end of the region");
    numbers.values.resize(begin);
    numbers.next = next;
    numbers.end = end;
  }

  void define(Numbers& numbers, Value value, size_t offset) {
    if (numbers.next == numbers.end)
      error_at(offset, "expected as many values as the region says it defines");
    numbers.values[numbers.next++] = value;
  }

  // --- Ops ---

  // Returns an op's attributes by name, with the number of each. Sizes of segments are put into
  // `sizes`.
  RawAttributes raw_attributes(const RawOp& op, TextAttr::Entries* sizes = nullptr) {
    RawAttributes out;
    if (op.attributes) out = decoder_.entries(*op.attributes);
    if (!op.properties) return out;
    const auto [begin, end] = container_.properties[*op.properties];
    const Container::OpName& name = container_.op_names[op.name];
    size_t count = 0;
    for (ByteReader in(file_, begin, end); !in.done(); ++count) in.varint();
    const std::vector<Property> properties = properties_of(name.dialect, name.name, count);
    if (properties.empty() && count > 0)
      error_at(op.offset, fmt::format("expected an op that Tessera has, got '{}.{}'", name.dialect,
                                      name.name));
    ByteReader in(file_, begin, end);
    for (const Property& property : properties) {
      if (property.sizes) {
        TextAttr::Array array = read_sizes(in);
        if (sizes) sizes->emplace_back(property.name, std::move(array));
        continue;
      }
      bool is_there = true;
      const uint64_t index = property.optional ? in.flagged(is_there) : in.varint();
      if (!is_there) continue;
      if (index >= container_.attributes.size()) in.error("expected the number of an attribute");
      out.emplace_back(property.name, static_cast<size_t>(index));
    }
    return out;
  }

  // Reads the sizes of two segments: both sizes; or, if one is 0, the other one, shifted left by
  // bits that tell which one it is.
  static TextAttr::Array read_sizes(ByteReader& in) {
    TextAttr::Array out{{0, 0}};
    bool sparse = false;
    const uint64_t count = in.flagged(sparse);
    if (count > 2 || (sparse && count > 1)) in.error("expected the sizes of two segments");
    const uint64_t bits = sparse && count > 0 ? in.varint() : 0;
    if (bits > 1) in.error("expected one bit to say which segment it is");
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t number = in.varint(), segment = sparse ? number & bits : i;
      out.values[segment] = static_cast<int64_t>(number >> bits);
    }
    return out;
  }

  ValueId operand(Scope& scope, const Value& value, size_t number, size_t offset) {
    if (value.scope == &scope) return value.id;
    if (!scope.parent)
      error_at(offset,
               fmt::format("expected a value that is defined above, got number {}", number));
    const ValueId outer = operand(*scope.parent, value, number, offset);
    return import_tree(scope, outer, fmt::format("value {}", number), offset);
  }

  ValueId operand(Scope& scope, const Numbers& numbers, size_t number, size_t offset) {
    if (number >= numbers.values.size() || !numbers.values[number].scope)
      error_at(offset,
               fmt::format("expected a value that is defined above, got number {}", number));
    return operand(scope, numbers.values[number], number, offset);
  }

  // Returns false after an op that returns.
  bool read_op(const RawOp& op, Scope& scope, Numbers& numbers) {
    const DepthGuard guard(*this, op.offset);
    const OpName name = name_of(op);
    const Container::OpName& raw = container_.op_names[op.name];
    op_ = fmt::format("{}.{}", raw.dialect, raw.name);
    Reader reader(*this, scope, op.offset);
    std::vector<ValueId> operands;
    for (const size_t number : op.operands)
      operands.push_back(operand(scope, numbers, number, op.offset));
    for (const ValueId v : operands) append_leaves(v, reader.operands);
    if (name.name == "return") {
      scope.function.outputs = reader.operands;
      return false;
    }
    if (name.dialect == "builtin" && name.name == "unrealized_conversion_cast") {
      if (op.operands.size() != op.results.size())
        error_at(op.offset, "expected as many results as operands");
      for (const ValueId v : operands) define(numbers, {&scope, v}, op.offset);
      return true;
    }
    read_attributes(op, name, reader);
    if (name.dialect == "stablehlo" && (name.name == "tuple" || name.name == "get_tuple_element")) {
      read_tuple_op(op, scope, std::move(operands), reader, numbers);
      return true;
    }
    read_regions(op, name, scope, reader, numbers);
    op_ = fmt::format("{}.{}", raw.dialect, raw.name);
    for (const size_t type : op.results) {
      reader.result_trees.push_back(type_tree(type, op.offset));
      append_types(reader.result_trees.back(), reader.result_types);
    }
    reader.result_count = op.results.size();
    reader.source = decoder_.location(op.location);
    if (reader.source.empty()) reader.source = fmt::format("{}:{}", file_.name, op.offset);
    finish(op, name, scope, reader, numbers);
    return true;
  }

  void finish(const RawOp& op, const OpName& name, Scope& scope, Reader& reader, Numbers& numbers) {
    const size_t first = scope.function.ops.size();
    const std::vector<ValueId> results = finish_op(scope, reader, name.dialect, name.name);
    for (size_t i = first; i < scope.function.ops.size(); ++i)
      scope.function.ops[i].source = reader.source;
    if (results.size() != reader.result_types.size())
      error_at(op.offset, fmt::format("expected {} results, got {}", results.size(),
                                      reader.result_types.size()));
    for (const ValueId v : grouped(reader.result_trees, results, op.offset))
      define(numbers, {&scope, v}, op.offset);
  }

  void read_tuple_op(const RawOp& op, Scope& scope, std::vector<ValueId> operands, Reader& reader,
                     Numbers& numbers) {
    if (op.results.size() != 1) error_at(op.offset, "expected one result");
    ValueId result = 0;
    if (const TextAttr* index = reader.text.find("index")) {
      const auto* number = index->get<TextAttr::Integer>();
      if (operands.size() != 1 || !number) error_at(op.offset, "expected a tuple and a number");
      result = tuple_part(operands[0], number->value, op.offset);
    } else {
      result = new_tuple(std::move(operands), op.offset);
    }
    if (!matches(scope, result, type_tree(op.results[0], op.offset)))
      error_at(op.offset, "expected the type of what the op gives, got another");
    define(numbers, {&scope, result}, op.offset);
  }

  void read_attributes(const RawOp& op, const OpName& name, Reader& reader) {
    for (const auto& [key, index] : raw_attributes(op, &reader.text.attributes))
      reader.text.attributes.emplace_back(key, attribute(index, op.offset));
    if (!name.vhlo) return;
    const std::string problem =
        from_vhlo(name.name, reader.text.attributes,
                  [&](const std::string& callee) { return symbol(callee, op.offset); });
    if (!problem.empty()) error_at(op.offset, problem);
    if (name.name == "custom_call") name_functions(reader.text, op.offset);
  }

  // VHLO has strings in place of symbols in the config of Tessera's own ops; this makes them names
  // of functions again.
  void name_functions(OpText& text, size_t offset) {
    const TextAttr* target = text.find("call_target_name");
    const auto* called = target ? target->get<std::string>() : nullptr;
    const OpDef* def = called && called->substr(0, 8) == "tessera."
                           ? find_op("tessera", called->substr(8))
                           : nullptr;
    for (auto& [key, value] : text.attributes) {
      auto* config = std::get_if<TextAttr::Record>(&value.value);
      if (!def || !config || key != "backend_config") continue;
      const std::vector<Attribute> fields = def->params.fields();
      for (size_t i = 0; i < fields.size(); ++i)
        for (auto& [field, function] : config->entries)
          if (const auto* symbol_name = function.get<std::string>();
              symbol_name && field == def->attributes[i] &&
              std::holds_alternative<FunctionRef>(fields[i]))
            function = symbol(std::string(*symbol_name), offset);
    }
  }

  void read_regions(const RawOp& op, const OpName& name, Scope& scope, Reader& reader,
                    Numbers& numbers) {
    if (op.regions.empty()) return;
    const RegionRules rules = region_rules(scope, reader, name.dialect, name.name);
    std::optional<AxisEnv::Scope> manual;
    if (rules.manual) manual.emplace(rules.manual->mesh, rules.manual->axes, false);
    for (const RawRegion& region : op.regions) {
      reader.captures.emplace_back();
      Scope inner;
      inner.parent = &scope;
      inner.captures = rules.captures || rules.scalars ? &reader.captures.back() : nullptr;
      inner.computed = rules.scalars;
      inner.function.name = "body";
      for (size_t i = 0; i < region.arguments.size(); ++i) {
        Type type = region_input_type(decoder_.written_type(region.arguments[i], op.offset), i,
                                      rules.like, op.offset);
        if (i < rules.inputs.size()) {
          type.weak = rules.inputs[i].weak;
          type.varying = rules.inputs[i].varying;
        }
        inner.function.add_input(std::move(type));
      }
      if (region.ops.empty()) error_at(op.offset, "expected regions that return");
      Numbers own;
      const std::vector<ValueId> inputs(inner.function.inputs.begin(), inner.function.inputs.end());
      read_body(region, inner, inputs, region.isolated ? own : numbers);
      reader.text.regions.push_back(std::make_shared<const Function>(std::move(inner.function)));
    }
  }

  Mesh parse_mesh_text(size_t index, size_t offset) {
    const std::string_view text = container_.reader(container_.attributes[index]).zero_terminated();
    return located(offset, [&] { return interchange::parse_mesh_text(text); });
  }

  const File file_;
  const Container container_;
  Decoder decoder_;
  bool scanning_ = true;  // functions are not read yet, so symbols stay names
  std::map<std::string, const RawOp*> symbols_;
  std::string op_;  // the op that is being read, for messages
};

}  // namespace

bool is_bytecode(std::string_view bytes) {
  return has_magic(bytes) || !artifact_of_export(bytes).empty();
}

ParsedModule read_bytecode(std::string_view bytes, std::string_view filename,
                           const ReadOptions& options) {
  const std::string_view exported = artifact_of_export(bytes);
  return ModuleReader(exported.empty() ? bytes : exported, filename, options).read();
}

ParsedModule read_module(std::string_view program, std::string_view filename,
                         const ReadOptions& options) {
  if (is_bytecode(program)) return read_bytecode(program, filename, options);
  if (program.substr(0, 64).find('\0') != std::string_view::npos)
    fail(
        ErrorKind::kParse, "parse",
        "{}: expected StableHLO as text or MLIR bytecode, or what jax.export serialises, got other "
        "bytes",
        filename);
  return parse_module(program, filename, options);
}

}  // namespace tessera::interchange
