#include "tessera/interchange/text/printer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tessera/interchange/op_table.h"
#include "tessera/interchange/print_parts.h"
#include "tessera/ops/core/convert.h"

namespace tessera::interchange {
namespace {

using Signature = OpFormat::Signature;

class FunctionPrinter final : public OpWriter {
 public:
  FunctionPrinter(Symbols& symbols, const PrintOptions& options)
      : symbols_(symbols), options_(options) {}

  std::string print(const Function& f, std::string_view visibility, const std::string& name) {
    out_ = fmt::format("  func.func {} {}(", visibility, mlir_symbol(name));
    enter(f);
    for (size_t k = 0; k < f.inputs.size(); ++k) {
      const Type& type = f.type(f.inputs[k]);
      const std::string arg = fmt::format("%arg{}", next_argument_++);
      scopes_.back().names[f.inputs[k]] = arg;
      write(fmt::format("{}{}: {}", k ? ", " : "", arg, mlir_type(type)));
      write_dictionary(options_.plain ? alias_attribute(k) : argument_attributes(type));
    }
    write(") -> (");
    for (size_t r = 0; r < f.outputs.size(); ++r) {
      const Type& type = f.type(f.outputs[r]);
      write(fmt::format("{}{}", r ? ", " : "", mlir_type(type)));
      TextAttr::Entries entries;
      if (type.sharding && !options_.plain)
        entries.emplace_back("sdy.sharding", TextAttr::Sharding{*type.sharding, type.rank()});
      write_dictionary(entries);
    }
    write(") {\n");
    indent_ = 4;
    write_ops(f, "return");
    scopes_.pop_back();
    return out_ + "  }\n";
  }

  // The functions that custom assembly is printed with.
  void write(std::string_view text) override { out_ += text; }
  void write_attribute(const TextAttr& attribute) override {
    out_ += attribute_text(attribute, true);
  }
  void write_operand(int k) override { out_ += name(op_->operands.at(k)); }
  void write_extra() override {
    write_dictionary(extra_);
    extra_.clear();
  }
  void write_signature() override { write_types(Signature::kFunctional); }
  std::string operand_name(int k) override { return name(op_->operands.at(k)); }
  bool has_extra() const override { return !extra_.empty(); }
  std::vector<std::string> new_arguments(size_t count) override {
    std::vector<std::string> names;
    for (size_t k = 0; k < count; ++k) names.push_back(fmt::format("%arg{}", next_argument_++));
    return names;
  }
  void enter_region(const Function& region, std::span<const std::string> inputs) override {
    enter(region);
    for (size_t k = 0; k < inputs.size(); ++k) scopes_.back().names[region.inputs[k]] = inputs[k];
  }
  void write_region_body(const Function& region) override {
    const Op* op = op_;
    const TextAttr::Entries extra = std::move(extra_);
    const std::string terminator = op->def->dialect == "sdy" ? "sdy.return" : "stablehlo.return";
    indent_ += 2;
    write_ops(region, terminator);
    indent_ -= 2;
    scopes_.pop_back();
    op_ = op;
    extra_ = extra;
    out_.append(indent_, ' ');
  }

 private:
  struct Scope {
    const Function* function;
    std::vector<std::string> names;
  };

  void enter(const Function& f) {
    scopes_.push_back({&f, std::vector<std::string>(f.types.size())});
  }
  const Function& function() const { return *scopes_.back().function; }
  const std::string& name(ValueId v) const { return scopes_.back().names.at(v); }

  TextAttr::Entries alias_attribute(size_t input) const {
    const std::vector<int64_t>& aliases = options_.plain->aliases;
    if (input >= aliases.size() || aliases[input] < 0) return {};
    return {{"tf.aliasing_output", TextAttr::Integer{aliases[input], 32}}};
  }

  void write_ops(const Function& f, const std::string& terminator) {
    for (const Op& op : f.ops) {
      out_.append(indent_, ' ');
      write_op(op);
      if (options_.locations && !op.source.empty())
        write(fmt::format(" loc({})", mlir_string(op.source)));
      write("\n");
    }
    out_.append(indent_, ' ');
    write(terminator);
    std::vector<std::string> names, types;
    for (ValueId v : f.outputs) {
      names.push_back(name(v));
      types.push_back(mlir_type(f.type(v)));
    }
    if (!names.empty())
      write(fmt::format(" {} : {}", fmt::join(names, ", "), fmt::join(types, ", ")));
    write("\n");
  }

  void write_op(const Op& op) {
    op_ = &op;
    OpText text = op_text(op, function());
    extra_ = text.extra;
    if (options_.plain) {
      std::erase_if(text.attributes, [](const auto& entry) {
        return entry.first == "channel_handle" || entry.first == "use_global_device_ids";
      });
      std::erase_if(extra_, [](const auto& entry) { return entry.first.starts_with("tessera."); });
    } else {
      for (auto& entry : type_attributes(op, function())) extra_.push_back(std::move(entry));
    }
    if (!op.results.empty()) {
      const int number = next_value_++;
      for (size_t r = 0; r < op.results.size(); ++r)
        scopes_.back().names[op.results[r]] =
            op.results.size() == 1 ? fmt::format("%{}", number) : fmt::format("%{}#{}", number, r);
      write(op.results.size() == 1 ? fmt::format("%{} = ", number)
                                   : fmt::format("%{}:{} = ", number, op.results.size()));
    }
    const OpFormat& format = format_of(*op.def);
    if (op.def->dialect == "tessera" && text.regions.empty()) {
      write_custom_call(op, text);
    } else if (format.print) {
      if (!format.prints_name) write_name(op);
      format.print(text, op, function(), *this);
    } else if (!format.assembly.empty() || (text.attributes.empty() && text.regions.empty())) {
      write_name(op);
      const std::string_view assembly = format.assembly.empty() ? "{operands}" : format.assembly;
      if (assembly[0] != '(') write(" ");
      write_assembly(assembly, text);
      write_extra();
      write_types(format.signature);
    } else {
      write_generic(op, text);
    }
  }

  void write_name(const Op& op) { write(fmt::format("{}.{}", op.def->dialect, op.def->name)); }

  void write_operands() {
    for (size_t k = 0; k < op_->operands.size(); ++k) {
      if (k) write(", ");
      write_operand(static_cast<int>(k));
    }
  }

  void write_assembly(std::string_view assembly, const OpText& text) {
    for (size_t i = 0; i < assembly.size(); ++i) {
      if (assembly[i] == '<') {
        const size_t end = assembly.find('>', i);
        const std::string_view group = assembly.substr(i + 1, end - i - 1);
        if (is_present(group, text)) write_assembly(group, text);
        i = end;
      } else if (assembly[i] == '{') {
        const size_t end = assembly.find('}', i);
        write_hole(assembly.substr(i + 1, end - i - 1), text);
        i = end;
      } else {
        out_ += assembly[i];
      }
    }
  }

  static bool is_present(std::string_view group, const OpText& text) {
    const size_t open = group.find('{');
    return text.find(group.substr(open + 1, group.find('}', open) - open - 1)) != nullptr;
  }

  void write_hole(std::string_view hole, const OpText& text) {
    if (hole == "operands") return write_operands();
    if (hole == "extra") {
      const size_t before = out_.size();
      write_extra();
      if (out_.size() > before) {  // `{...} ` in front of what follows
        out_.erase(before, 1);
        out_ += ' ';
      }
      return;
    }
    if (hole.find(':') != std::string_view::npos) return write_ranges(hole, text);
    const TextAttr* attribute = text.find(hole);
    TESSERA_CHECK(attribute, "{}: no attribute {}", op_->def->name, hole);
    write_attribute(*attribute);
  }

  // Writes {start:limit:strides} as [0:4, 1:8:2].
  void write_ranges(std::string_view hole, const OpText& text) {
    const std::array<std::string_view, 3> names = range_names(hole);
    std::array<const std::vector<int64_t>*, 3> parts{};
    for (int i = 0; i < 3; ++i)
      parts[i] = &std::get<TextAttr::Array>(text.find(names[i])->value).values;
    std::vector<std::string> ranges;
    for (size_t d = 0; d < parts[0]->size(); ++d) {
      ranges.push_back(fmt::format("{}:{}", (*parts[0])[d], (*parts[1])[d]));
      if ((*parts[2])[d] != 1) ranges.back() += fmt::format(":{}", (*parts[2])[d]);
    }
    write(fmt::format("[{}]", fmt::join(ranges, ", ")));
  }

  static std::array<std::string_view, 3> range_names(std::string_view hole) {
    const size_t a = hole.find(':'), b = hole.find(':', a + 1);
    return {hole.substr(0, a), hole.substr(a + 1, b - a - 1), hole.substr(b + 1)};
  }

  void write_custom_call(const Op& op, const OpText& text) {
    write(fmt::format("stablehlo.custom_call {}(",
                      mlir_symbol(fmt::format("tessera.{}", op.def->name))));
    write_operands();
    write(")");
    extra_.emplace(extra_.begin(), "api_version", TextAttr::Integer{4, 32});
    extra_.emplace(extra_.begin() + 1, "backend_config", TextAttr::Record{"", text.attributes});
    write_extra();
    write_types(Signature::kFunctional);
  }

  void write_generic(const Op& op, const OpText& text) {
    write(fmt::format("\"{}.{}\"(", op.def->dialect, op.def->name));
    write_operands();
    write(")");
    if (!text.attributes.empty()) write(fmt::format(" <{{{}}}>", entries_text(text.attributes)));
    for (size_t i = 0; i < text.regions.size(); ++i) {
      write(i ? ", {\n" : " ({\n");
      write_block(*text.regions[i]);
      write("}");
    }
    if (!text.regions.empty()) write(")");
    write_extra();
    write_types(Signature::kFunctional);
  }

  void write_block(const Function& region) {
    const std::vector<std::string> names = region_inputs(region);
    std::vector<std::string> inputs;
    for (size_t k = 0; k < names.size(); ++k)
      inputs.push_back(fmt::format("{}: {}", names[k], mlir_type(region.type(region.inputs[k]))));
    if (!inputs.empty()) {
      out_.append(indent_, ' ');
      write(fmt::format("^bb0({}):\n", fmt::join(inputs, ", ")));
    }
    write_region_body(region);
  }

  void write_types(Signature signature) {
    const std::vector<Type> operands = function().types_of(op_->operands),
                            results = function().types_of(op_->results);
    auto all_same = [&] {
      return results.size() == 1 &&
             std::all_of(operands.begin(), operands.end(),
                         [&](const Type& t) { return t.same_array(results[0]); });
    };
    switch (signature) {
      case Signature::kNone:
        return;
      case Signature::kFirstAndResult:
        return write(fmt::format(" : {}, {}", mlir_type(operands[0]), mlir_type(results[0])));
      case Signature::kSame:
        if (all_same()) return write(fmt::format(" : {}", mlir_type(results[0])));
        break;
      case Signature::kDerived:
        if (op_->def->attributes.empty() && op_->def->dialect != "chlo" && all_same())
          return write(fmt::format(" : {}", mlir_type(results[0])));
        break;
      case Signature::kFunctional:
        break;
    }
    std::vector<std::string> from, to;
    for (const Type& t : operands) from.push_back(mlir_type(t));
    for (const Type& t : results) to.push_back(mlir_type(t));
    const std::string result = to.size() == 1 ? to[0] : fmt::format("({})", fmt::join(to, ", "));
    if (op_->def->dialect == "chlo" && signature != Signature::kFunctional)
      return write(fmt::format(" : {} -> {}", fmt::join(from, ", "), result));
    write(fmt::format(" : ({}) -> {}", fmt::join(from, ", "), result));
  }

  void write_dictionary(const TextAttr::Entries& entries) {
    if (!entries.empty()) write(fmt::format(" {{{}}}", entries_text(entries)));
  }

  std::string entries_text(const TextAttr::Entries& entries) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : entries)
      parts.push_back(value.get<TextAttr::Unit>()
                          ? mlir_key(key)
                          : fmt::format("{} = {}", mlir_key(key), attribute_text(value, false)));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  // In assembly (`bare`) the op's grammar determines the kind of an attribute, so its type is not
  // printed.
  std::string attribute_text(const TextAttr& attribute, bool bare) {
    return std::visit(
        [&]<class T>(const T& v) -> std::string {
          if constexpr (std::is_same_v<T, TextAttr::Unit>) {
            return "unit";
          } else if constexpr (std::is_same_v<T, bool>) {
            return v ? "true" : "false";
          } else if constexpr (std::is_same_v<T, TextAttr::Integer>) {
            const std::string number = v.is_unsigned
                                           ? fmt::format("{}", static_cast<uint64_t>(v.value))
                                           : fmt::format("{}", v.value);
            return bare ? number
                        : fmt::format("{} : {}i{}", number, v.is_unsigned ? "u" : "", v.width);
          } else if constexpr (std::is_same_v<T, TextAttr::Float>) {
            return float_text(v);
          } else if constexpr (std::is_same_v<T, std::string>) {
            return mlir_string(v);
          } else if constexpr (std::is_same_v<T, TextAttr::Symbol>) {
            return mlir_symbol(v.name);
          } else if constexpr (std::is_same_v<T, DType>) {
            return std::string(mlir_name(v));
          } else if constexpr (std::is_same_v<T, TextAttr::Tensor>) {
            return fmt::format("{} : {}", mlir_literal(v.value, v.shape),
                               mlir_type({v.value.dtype(), v.shape}));
          } else if constexpr (std::is_same_v<T, TextAttr::Array>) {
            if (bare) return fmt::format("[{}]", fmt::join(v.values, ", "));
            return array_text(v);
          } else if constexpr (std::is_same_v<T, TextAttr::List>) {
            std::vector<std::string> items;
            for (const TextAttr& item : v.items) items.push_back(attribute_text(item, bare));
            return fmt::format("[{}]", fmt::join(items, ", "));
          } else if constexpr (std::is_same_v<T, TextAttr::Keyword>) {
            return bare ? v.name : fmt::format("#stablehlo<{} {}>", v.kind, v.name);
          } else if constexpr (std::is_same_v<T, TextAttr::Record>) {
            return v.name.empty() ? fmt::format("{{{}}}", entries_text(v.entries))
                                  : fmt::format("#{}<{}>", v.name, record_text(v.entries));
          } else if constexpr (std::is_same_v<T, TextAttr::Sharding>) {
            return fmt::format("{}<{}>", bare ? "" : "#sdy.sharding",
                               sharding_text(v.value, v.rank));
          } else if constexpr (std::is_same_v<T, TextAttr::Shardings>) {
            std::vector<std::string> items;
            for (const NamedSharding& s : v.values)
              items.push_back(fmt::format("<{}>", sharding_text(s, s.spec().rank())));
            return fmt::format("{}[{}]{}", bare ? "" : "#sdy.sharding_per_value<",
                               fmt::join(items, ", "), bare ? "" : ">");
          } else if constexpr (std::is_same_v<T, Mesh>) {
            return mlir_symbol(symbols_.mesh(v));
          } else {
            return mlir_symbol(symbols_.function(v));
          }
        },
        attribute.value);
  }

  std::string record_text(const TextAttr::Entries& entries) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : entries)
      parts.push_back(fmt::format("{} = {}", key, attribute_text(value, true)));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  static std::string float_text(const TextAttr::Float& number) {
    const Literal value = convert_literal(Literal::scalar(number.value), number.dtype);
    const std::string dense = mlir_literal(value, {});
    return fmt::format("{} : {}", dense.substr(6, dense.size() - 7), mlir_name(number.dtype));
  }

  static std::string array_text(const TextAttr::Array& array) {
    std::vector<std::string> values;
    for (int64_t v : array.values)
      values.push_back(array.dtype == bool_ ? (v != 0 ? "true" : "false") : fmt::format("{}", v));
    return fmt::format("array<{}{}{}>", mlir_name(array.dtype), values.empty() ? "" : ": ",
                       fmt::join(values, ", "));
  }

  std::string sharding_text(const NamedSharding& sharding, int64_t rank) {
    return fmt::format("{}, {}", mlir_symbol(symbols_.mesh(sharding.mesh())),
                       mlir_spec(sharding.spec(), std::max(rank, sharding.spec().rank())));
  }

  Symbols& symbols_;
  const PrintOptions& options_;
  std::string out_;
  std::vector<Scope> scopes_;
  size_t indent_ = 2;
  int next_argument_ = 0, next_value_ = 0;
  const Op* op_ = nullptr;
  TextAttr::Entries extra_;
};

std::string mesh_text(const Mesh& mesh, const std::string& name) {
  std::vector<std::string> axes;
  for (int64_t i = 0; i < mesh.rank(); ++i)
    axes.push_back(fmt::format("{}={}", mlir_string(mesh.axis_names()[i]), mesh.axis_sizes()[i]));
  std::string out = fmt::format("  sdy.mesh {} = <[{}]", mlir_symbol(name), fmt::join(axes, ", "));
  if (mesh.is_abstract()) return out + "> {tessera.abstract}\n";
  const std::vector<int64_t> logical = logical_device_ids(mesh);
  if (!std::is_sorted(logical.begin(), logical.end()))
    out += fmt::format(", device_ids=[{}]", fmt::join(logical, ", "));
  out += ">";
  for (const auto& [key, value] : mesh_attributes(mesh))
    out += fmt::format(" {{{} = array<i64: {}>}}", key,
                       fmt::join(value.get<TextAttr::Array>()->values, ", "));
  return out + "\n";
}

}  // namespace

std::string to_mlir(const Function& function, const PrintOptions& options) {
  Symbols symbols("main");
  std::string functions = FunctionPrinter(symbols, options).print(function, "public", "main");
  for (size_t i = 0; i < symbols.functions.size(); ++i) {
    const auto [callee, name] = symbols.functions[i];  // a copy: printing it may add others
    functions += FunctionPrinter(symbols, options).print(*callee, "private", name);
  }
  std::string meshes;
  int64_t partitions = 1;
  for (const auto& [mesh, name] : symbols.meshes) {
    meshes += mesh_text(mesh, name);
    partitions = std::max(partitions, mesh.size());
  }
  const std::string& name = options.module_name.empty() ? function.name : options.module_name;
  return fmt::format(
      "module {} attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = {} : i32}} "
      "{{\n{}{}}}\n",
      mlir_symbol(name.empty() ? "main" : name), partitions,
      options.plain ? options.plain->num_replicas : 1, meshes, functions);
}

}  // namespace tessera::interchange
