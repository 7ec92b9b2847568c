// Functions of ModuleBuilder for calls with known shapes, in modules that leave extents open.
#include <fmt/ranges.h>

#include "tessera/base/visit_dtype.h"
#include "tessera/interchange/module_builder.h"
#include "tessera/interchange/op_table.h"
#include "tessera/ir/format.h"

namespace tessera::interchange {
namespace {

// Restores a variable when the scope ends, also by an exception.
template <class T>
class Setting {
 public:
  Setting(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~Setting() { variable_ = before_; }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace

Type ModuleBuilder::argument_type(const Type& written, const std::string& name, size_t offset,
                                  const FunctionEntry& entry) {
  const size_t argument = entry.names.size();
  if (instance_) {
    // If a type does not fit, the op that calls the function reports it, for all operands together.
    if (argument >= instance_->types.size() || !fits(written, instance_->types[argument]))
      return written;
    return refined(written, instance_->types[argument].shape);
  }
  if (!is_open(written)) return written;
  const std::optional<Shape> shape =
      options_.argument_shape ? options_.argument_shape(argument, name, written) : std::nullopt;
  if (!shape)
    error_at(offset, fmt::format("expected static extents of %{}, or its shape, got {}; give "
                                 "arguments of these shapes, or export the program with concrete "
                                 "ones",
                                 name, written));
  Type actual = written;
  actual.shape = *shape;
  if (!fits(written, actual) || !is_readable(*shape))
    error_at(offset,
             fmt::format("expected %{} to be {}, of at most 2^46 elements, got the shape {} for it",
                         name, written, *shape));
  return actual;
}

ValueId ModuleBuilder::argument_value(Scope& scope, ValueId input, size_t argument, size_t offset) {
  if (!instance_ || argument >= instance_->values.size() || !instance_->values[argument])
    return input;
  const OpDef* def = find_op("stablehlo", "constant");
  TESSERA_CHECK(def, "no op is called constant");
  const DType dtype = scope.function.type(input).dtype;
  Reader reader(*this, scope, offset);
  reader.result_types = {{.dtype = dtype}};
  Literal literal(dtype, {});
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>)
      *reinterpret_cast<T*>(literal.mutable_raw()) =
          static_cast<T>(instance_->values[argument]->at(0));
  });
  reader.text.attributes.emplace_back("value", TextAttr::Tensor{std::move(literal), {}});
  OpParams params = read_params(*def, reader);
  return reader.insert(*def, std::move(params), {})[0];
}

FunctionRef ModuleBuilder::function_for(Scope& scope, const std::string& name,
                                        std::span<const ValueId> operands, size_t offset) {
  const auto it = functions_.find(name);
  if (it == functions_.end() || it->second.in_progress) return find_function(name, offset).function;
  Instance instance;
  std::string key = name;
  for (const ValueId v : operands) {
    const Type& type = scope.function.type(v);
    instance.types.push_back(type);
    instance.values.push_back(type.rank() == 0 ? constant_dims(scope.function, v) : std::nullopt);
    key += fmt::format(" {}", type);
    if (instance.values.back()) key += fmt::format("={}", instance.values.back()->at(0));
  }
  if (const auto known = instances_.find(key); known != instances_.end()) return known->second;
  const DepthGuard guard(*this, offset);
  const Setting<const Instance*> with(instance_, &instance);
  const Setting<bool> in_progress(it->second.in_progress, true);
  FunctionEntry entry;
  read_function(name, entry);
  return instances_[key] = entry.function;
}

void ModuleBuilder::resolve_functions(Scope& scope, Reader& reader, const std::string& dialect,
                                      const std::string& name) {
  const bool calls = dialect == "func" || name == "composite";
  for (auto* entries : {&reader.text.attributes, &reader.text.extra})
    for (auto& [key, value] : *entries) {
      const auto* symbol = value.get<TextAttr::Symbol>();
      if (!symbol || !calls) {
        resolve_functions(value, reader.offset());
      } else if (functions_.contains(symbol->name)) {
        const std::string called = symbol->name;
        if (const FunctionRef function =
                function_for(scope, called, reader.operands, reader.offset()))
          value = function;
      }
    }
}

void ModuleBuilder::resolve_functions(TextAttr& value, size_t offset) {
  if (auto* list = std::get_if<TextAttr::List>(&value.value)) {
    for (TextAttr& item : list->items) resolve_functions(item, offset);
  } else if (auto* record = std::get_if<TextAttr::Record>(&value.value)) {
    for (auto& [key, item] : record->entries) resolve_functions(item, offset);
  } else if (const auto* symbol = value.get<TextAttr::Symbol>();
             symbol && functions_.contains(symbol->name)) {
    const Setting<const Instance*> none(instance_, nullptr);
    const FunctionEntry& entry = find_function(symbol->name, offset);
    if (entry.function) value = entry.function;
    if (entry.mesh) value = *entry.mesh;
  }
}

void ModuleBuilder::refine_results(Scope& scope, Reader& reader) {
  const TextAttr* which = reader.text.take("indices_of_shape_operands");
  if (!which) return;
  const Dims operands =
      std::get<Dims>(from_text(*which, Attribute(Dims()), "indices_of_shape_operands", reader));
  if (operands.size() != reader.result_types.size() || operands.size() > reader.operands.size())
    reader.error(fmt::format("expected an operand for the shape of each of {} results, got {}",
                             reader.result_types.size(), operands));
  const size_t first = reader.operands.size() - operands.size();
  for (size_t r = 0; r < operands.size(); ++r) {
    Type& written = reader.result_types[r];
    if (operands[r] != static_cast<int64_t>(first + r))
      reader.error(
          fmt::format("expected the last {} operands to be the shapes of the results, got "
                      "{}",
                      operands.size(), operands));
    const std::optional<Dims> shape = constant_dims(scope.function, reader.operands[first + r]);
    if (!shape || shape->rank() != written.rank() || !is_readable(Shape(*shape)))
      reader.error(
          fmt::format("expected constants to give the shape of result {}, {}", r, written));
    written = refined(written, *shape);
  }
  reader.operands.resize(first);
}

Type ModuleBuilder::region_input_type(Type written, size_t input, const std::vector<Type>& like,
                                      size_t offset) {
  if (!is_open(written)) return written;
  if (input >= like.size() || !fits(written, like[input]))
    error_at(offset,
             fmt::format("expected a region's input as the op's operand is, got {}", written));
  return refined(written, like[input].shape);
}

}  // namespace tessera::interchange
