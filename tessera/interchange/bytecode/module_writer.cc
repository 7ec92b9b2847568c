// ModuleWriter: writes ops in bytecode, as op_text() describes them. Regions are closed and number
// their own values. Branches are the exception: they use outer values.
#include <algorithm>
#include <array>
#include <charconv>

#include "tessera/interchange/bytecode/encoder.h"
#include "tessera/interchange/bytecode/properties.h"
#include "tessera/interchange/bytecode/vhlo.h"
#include "tessera/interchange/bytecode/writer.h"
#include "tessera/ir/format.h"
#include "tessera/ir/op_def.h"

namespace tessera::interchange {
namespace {

using namespace bytecode;

// Returns the version of the format for a version of VHLO (StableHLO's Version.cpp).
uint64_t format_of(const Version& version) {
  if (version < Version{0, 10, 0}) return 0;
  if (version < Version{0, 12, 0}) return 1;
  if (version < Version{0, 14, 0}) return 3;
  return version < Version{0, 15, 0} ? 4 : 6;
}

using Attributes = std::vector<std::pair<std::string, size_t>>;

class ModuleWriter {
 public:
  ModuleWriter(const Function& main, const BytecodeOptions& options)
      : main_(main), options_(options), version_(parse_version(options.version)) {
    format_ = format_of(version_);
  }

  std::string write() {
    std::vector<std::string> functions = {write_function(main_, "main", true)};
    for (size_t i = 0; i < symbols_.functions.size(); ++i) {
      const auto [callee, name] = symbols_.functions[i];  // a copy, since writing it may add others
      functions.push_back(write_function(*callee, name, false));
    }
    ByteWriter body;
    body.varint(1);  // one block
    body.varint(0);  // no values
    body.flagged(symbols_.meshes.size() + functions.size(), false);
    int64_t partitions = 1;
    for (const auto& [mesh, name] : symbols_.meshes) {
      body.append(write_mesh(mesh, name));
      partitions = std::max(partitions, mesh.size());
    }
    for (const std::string& function : functions) body.append(function);
    const std::string& name = options_.module_name.empty() ? main_.name : options_.module_name;
    Attributes attributes = {
        {"mhlo.num_partitions", encoder_.builtin(TextAttr::Integer{partitions, 32})},
        {"mhlo.num_replicas", encoder_.builtin(TextAttr::Integer{1, 32})},
        {"sym_name", encoder_.builtin_string(name.empty() ? "main" : name)}};
    ByteWriter top;
    top.flagged(1, false);
    write_head(top, "builtin", "module", "", std::move(attributes), {}, {}, 1);
    write_isolated(top, 1, body.bytes());
    return tables_.file(format_, fmt::format("StableHLO_v{}", options_.version), top.bytes());
  }

 private:
  // A function or region that is being written: the number of each value.
  struct Scope {
    const Function* function = nullptr;
    std::vector<size_t> numbers;
    size_t next = 0;
    // The number after the region's own values, where the numbers of an open region inside it
    // begin.
    size_t end = 0;
    size_t ops = 0;
    bool shardy = false;  // its inputs and results have builtin types
    ByteWriter out;
  };

  // Returns whether an op belongs to another dialect. An artifact contains such ops unchanged, with
  // operands of builtin types.
  static bool is_foreign(const Op& op) {
    return op.def->dialect == "sdy" || op.def->dialect == "chlo";
  }
  static bool is_branch(const Op& op) { return op.def == find_op("stablehlo", "case"); }

  static size_t num_values(const Function& f, bool shardy, bool with_inputs) {
    size_t n = with_inputs ? f.inputs.size() : 0;
    if (shardy) n += f.inputs.size() + f.outputs.size();
    for (const Op& op : f.ops)
      n += is_foreign(op) ? op.operands.size() + 2 * op.results.size() : op.results.size();
    return n;
  }

  // --- Parts of ops ---

  void write_head(ByteWriter& out, std::string_view dialect, std::string_view name,
                  std::string_view source, Attributes attributes,
                  const std::vector<size_t>& results, const std::vector<size_t>& operands,
                  size_t regions) {
    out.varint(tables_.op(dialect, name));
    out.byte(static_cast<uint8_t>((attributes.empty() ? 0 : 1) | (results.empty() ? 0 : 2) |
                                  (operands.empty() ? 0 : 4) | (regions == 0 ? 0 : 16)));
    out.varint(encoder_.location(source));
    if (!attributes.empty()) out.varint(encoder_.builtin_dictionary(std::move(attributes)));
    for (const auto* list : {&results, &operands}) {
      if (list->empty()) continue;
      out.varint(list->size());
      for (const size_t number : *list) out.varint(number);
    }
  }

  void write_isolated(ByteWriter& out, size_t count, std::string_view regions) {
    out.flagged(count, true);
    if (format_ >= 2) {
      out.section(4, regions);
    } else {
      out.append(regions);
    }
  }

  // Writes one block with the scope's ops.
  std::string write_region(const Scope& scope, const std::vector<size_t>& arguments,
                           size_t values) {
    ByteWriter out;
    out.varint(1);
    out.varint(values);
    out.flagged(scope.ops, !arguments.empty());
    if (!arguments.empty()) {
      out.varint(arguments.size());
      const size_t unknown = encoder_.location("");
      for (const size_t type : arguments) {
        if (format_ >= 4) {
          out.flagged(type, false);
        } else {
          out.varint(type);
          out.varint(unknown);
        }
      }
      if (format_ >= 3) out.byte(0);
    }
    out.append(scope.out.bytes());
    return out.bytes();
  }

  // --- Functions and meshes ---

  std::string write_mesh(const Mesh& mesh, const std::string& name) {
    Attributes attributes = {{"mesh", encoder_.shardy_mesh(mesh)},
                             {"sym_name", encoder_.builtin_string(name)}};
    for (const auto& [key, value] : mesh_attributes(mesh))
      attributes.emplace_back(key, encoder_.builtin(value));
    ByteWriter out;
    write_head(out, "sdy", "mesh", "", std::move(attributes), {}, {}, 0);
    return out.bytes();
  }

  // Writes a dictionary for each, or nothing if all are empty.
  size_t dictionaries(const std::vector<TextAttr::Entries>& all) {
    std::vector<size_t> items;
    const bool none = std::all_of(all.begin(), all.end(), [](const auto& e) { return e.empty(); });
    if (!none)
      for (const TextAttr::Entries& entries : all)
        items.push_back(encoder_.vhlo_dictionary(entries));
    return encoder_.vhlo_list(items);
  }

  std::string write_function(const Function& f, const std::string& name, bool is_public) {
    std::vector<TextAttr::Entries> inputs, outputs;
    std::vector<size_t> types;
    for (const Type& type : f.input_types()) {
      inputs.push_back(argument_attributes(type));
      types.push_back(encoder_.vhlo_type(type));
    }
    for (const Type& type : f.output_types()) {
      outputs.emplace_back();
      if (type.sharding)
        outputs.back().emplace_back("sdy.sharding",
                                    TextAttr::Sharding{*type.sharding, type.rank()});
    }
    const size_t type = encoder_.vhlo_function(f.input_types(), f.output_types());
    Attributes attributes = {
        {"arg_attrs", dictionaries(inputs)},
        {"function_type", encoder_.vhlo_type_attribute(type)},
        {"res_attrs", dictionaries(outputs)},
        {"sym_name", encoder_.vhlo_string(name)},
        {"sym_visibility", encoder_.vhlo_string(is_public ? "public" : "private")}};
    const std::string body = write_closed(f, types, false);
    ByteWriter out;
    write_head(out, "vhlo", "func_v1", "", std::move(attributes), {}, {}, 1);
    write_isolated(out, 1, body);
    return out.bytes();
  }

  // Writes a function or region that numbers its values from 0 on.
  std::string write_closed(const Function& f, const std::vector<size_t>& types, bool shardy) {
    Scope scope{.function = &f, .numbers = std::vector<size_t>(f.types.size())};
    scope.end = num_values(f, shardy, true);
    scope.shardy = shardy;
    for (const ValueId v : f.inputs) scope.numbers[static_cast<size_t>(v)] = scope.next++;
    if (shardy)
      for (const ValueId v : f.inputs)
        scope.numbers[static_cast<size_t>(v)] =
            write_cast(scope, scope.numbers[static_cast<size_t>(v)], encoder_.vhlo_type(f.type(v)));
    write_ops(scope);
    return write_region(scope, types, scope.end);
  }

  // Writes a branch, whose inputs are these values of `outer`.
  std::string write_open(const Function& f, const Scope& outer, std::span<const size_t> inputs) {
    Scope scope{.function = &f, .numbers = std::vector<size_t>(f.types.size())};
    scope.next = outer.end;
    const size_t values = num_values(f, false, false);
    scope.end = outer.end + values;
    for (size_t i = 0; i < f.inputs.size(); ++i)
      scope.numbers[static_cast<size_t>(f.inputs[i])] = inputs[i];
    write_ops(scope);
    return write_region(scope, {}, values);
  }

  // --- Ops ---

  size_t write_cast(Scope& scope, size_t value, size_t type) {
    write_head(scope.out, "builtin", "unrealized_conversion_cast", "", {}, {type}, {value}, 0);
    ++scope.ops;
    return scope.next++;
  }

  void write_ops(Scope& scope) {
    const Function& f = *scope.function;
    for (const Op& op : f.ops) {
      if (op.def->dialect == "sdy") {
        write_shardy(scope, op);
      } else if (op.def->dialect == "chlo") {
        write_chlo(scope, op);
      } else {
        write_vhlo(scope, op);
      }
    }
    std::vector<size_t> values;
    for (const ValueId v : f.outputs) {
      const size_t number = scope.numbers[static_cast<size_t>(v)];
      values.push_back(scope.shardy ? write_cast(scope, number, encoder_.builtin_type(f.type(v)))
                                    : number);
    }
    write_head(scope.out, scope.shardy ? "sdy" : "vhlo", scope.shardy ? "return" : "return_v1", "",
               {}, {}, values, 0);
    ++scope.ops;
  }

  std::vector<size_t> operands(const Scope& scope, const Op& op) const {
    std::vector<size_t> out;
    for (const ValueId v : op.operands) out.push_back(scope.numbers[static_cast<size_t>(v)]);
    return out;
  }

  void define(Scope& scope, const Op& op) {
    for (const ValueId v : op.results) scope.numbers[static_cast<size_t>(v)] = scope.next++;
    ++scope.ops;
  }

  // Writes an op on values of builtin types, with casts before and after.
  void write_foreign(Scope& scope, const Op& op, Attributes attributes, size_t regions,
                     std::string_view content) {
    const Function& f = *scope.function;
    std::vector<size_t> values, types;
    for (const ValueId v : op.operands)
      values.push_back(write_cast(scope, scope.numbers[static_cast<size_t>(v)],
                                  encoder_.builtin_type(f.type(v))));
    for (const ValueId v : op.results) types.push_back(encoder_.builtin_type(f.type(v)));
    for (const auto& [key, value] : type_attributes(op, f))
      attributes.emplace_back(
          key, key == "sdy.sharding" ? encoder_.shardy(value) : encoder_.vhlo(value));
    write_head(scope.out, op.def->dialect, op.def->name, op.source, std::move(attributes), types,
               values, regions);
    if (regions > 0) write_isolated(scope.out, regions, content);
    define(scope, op);
    for (const ValueId v : op.results)
      scope.numbers[static_cast<size_t>(v)] =
          write_cast(scope, scope.numbers[static_cast<size_t>(v)], encoder_.vhlo_type(f.type(v)));
  }

  void write_chlo(Scope& scope, const Op& op) {
    const OpText text = op_text(op, *scope.function);
    Attributes attributes;
    for (const auto& [key, value] : text.attributes)
      attributes.emplace_back(key, encoder_.builtin(value));
    write_foreign(scope, op, std::move(attributes), 0, {});
  }

  void write_shardy(Scope& scope, const Op& op) {
    const OpText text = op_text(op, *scope.function);
    Attributes attributes;
    std::vector<std::string> axes;
    for (const auto& [key, value] : text.attributes) {
      if (key != "manual_axes") {
        attributes.emplace_back(key, encoder_.shardy(value));
        continue;
      }
      for (const TextAttr& axis : value.get<TextAttr::List>()->items)
        axes.push_back(*axis.get<std::string>());
      attributes.emplace_back(key, encoder_.shardy_axes(axes));
    }
    for (const auto& [key, value] : text.extra) attributes.emplace_back(key, encoder_.vhlo(value));
    std::string content;
    for (const FunctionRef& region : text.regions) {
      std::vector<size_t> types;
      for (const Type& type : region->input_types()) types.push_back(encoder_.builtin_type(type));
      content += write_closed(*region, types, true);
    }
    write_foreign(scope, op, std::move(attributes), text.regions.size(), content);
  }

  // The name of the op in VHLO, and its attributes there.
  struct Versioned {
    std::string name;
    Attributes attributes;
  };
  Versioned versioned(const Op& op, OpText& text, std::string_view name) {
    TextAttr::Entries own, extra;
    for (auto* entries : {&text.attributes, &text.extra})
      for (auto& entry : *entries)
        (entry.first.find('.') == std::string::npos ? own : extra).push_back(std::move(entry));
    to_vhlo(name, own);
    const std::optional<VhloOp> row = find_vhlo(name, version_);
    if (!row)
      value_error("bytecode", "expected ops that VHLO {} has, got {}.{}; write a later version",
                  options_.version, op.def->dialect, op.def->name);
    Versioned out{row->name, {}};
    for (const Property& property : row->attributes) {
      const auto it = std::find_if(own.begin(), own.end(),
                                   [&](const auto& e) { return e.first == property.name; });
      out.attributes.emplace_back(property.name,
                                  it == own.end() ? default_value(property.name) : value_of(*it));
      if (it != own.end()) own.erase(it);
    }
    for (const auto& [key, value] : own)
      if (!is_empty(value))
        value_error("bytecode",
                    "expected attributes of {} that VHLO {} has, got '{}'; write a "
                    "later version",
                    name, options_.version, key);
    for (const auto& [key, value] : extra) out.attributes.emplace_back(key, encoder_.vhlo(value));
    return out;
  }

  size_t value_of(const std::pair<std::string, TextAttr>& entry) {
    if (entry.first == "api_version")
      return encoder_.vhlo_version(entry.second.get<TextAttr::Integer>()->value);
    return encoder_.vhlo(entry.second, entry.first);
  }

  // Returns the value of an attribute that StableHLO leaves out.
  size_t default_value(std::string_view name) {
    if (name == "result_accuracy") return encoder_.vhlo_accuracy();
    if (name == "compare_type") return encoder_.vhlo_enum("comparison_type", "NOTYPE");
    if (name == "api_version") return encoder_.vhlo_version(1);
    if (name == "backend_config") return encoder_.vhlo_string("");
    if (name == "channel_id" || name == "index_vector_dim" || name == "version")
      return encoder_.vhlo(TextAttr::Integer{0}, name);
    for (const char* flag : {"has_side_effect", "use_global_device_ids", "has_dynamic_root",
                             "indices_are_sorted", "unique_indices", "is_stable", "lower"})
      if (name == flag) return encoder_.vhlo(false);
    for (const char* list : {"precision_config", "called_computations", "operand_layouts",
                             "result_layouts", "output_operand_aliases", "result_tilings"})
      if (name == list) return encoder_.vhlo_list({});
    if (is_algorithm(name)) return encoder_.vhlo_type_attribute(encoder_.vhlo_none());
    return encoder_.vhlo(TextAttr::Array{}, name);  // dimensions
  }

  void write_vhlo(Scope& scope, const Op& op) {
    const Function& f = *scope.function;
    OpText text = op_text(op, f);
    std::string name(op.def->name);
    if (op.def->dialect == "tessera") {
      text.attributes = {{"call_target_name", TextAttr("tessera." + name)},
                         {"api_version", TextAttr::Integer{4, 32}},
                         {"backend_config", TextAttr::Record{"", std::move(text.attributes)}}};
      name = "custom_call";
    }
    std::vector<size_t> values = operands(scope, op);
    const bool branch = is_branch(op);
    if (branch && f.type(op.operands[0]).dtype == bool_) name = "if";
    for (auto& entry : type_attributes(op, f)) text.extra.push_back(std::move(entry));
    Versioned out = versioned(op, text, name);
    std::vector<size_t> types;
    for (const ValueId v : op.results) types.push_back(encoder_.vhlo_type(f.type(v)));
    std::string content;
    for (const FunctionRef& region : text.regions) {
      if (branch) {
        content += write_open(*region, scope, std::span(values).subspan(1));
      } else {
        std::vector<size_t> inputs;
        for (const Type& type : region->input_types()) inputs.push_back(encoder_.vhlo_type(type));
        content += write_closed(*region, inputs, false);
      }
    }
    if (branch) values.resize(1);
    write_head(scope.out, "vhlo", out.name, op.source, std::move(out.attributes), types, values,
               text.regions.size());
    if (branch) {
      scope.out.flagged(text.regions.size(), false);
      scope.out.append(content);
    } else if (!text.regions.empty()) {
      write_isolated(scope.out, text.regions.size(), content);
    }
    define(scope, op);
  }

  const Function& main_;
  const BytecodeOptions& options_;
  Version version_;
  uint64_t format_ = 0;
  Tables tables_;
  Symbols symbols_{"main"};
  Encoder encoder_{tables_, symbols_};
};

}  // namespace

std::string to_bytecode(const Function& function, const BytecodeOptions& options) {
  return ModuleWriter(function, options).write();
}

}  // namespace tessera::interchange
