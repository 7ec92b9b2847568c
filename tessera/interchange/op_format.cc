#include "tessera/interchange/op_format.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/narrow.h"
#include "tessera/base/overloaded.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/interchange/op_table.h"
#include "tessera/interchange/refine_shapes.h"
#include "tessera/interchange/unreduced.h"

namespace tessera::interchange {
namespace {

const Mesh* mesh_field(const std::vector<Attribute>& fields) {
  for (const Attribute& field : fields)
    if (const auto* mesh = std::get_if<Mesh>(&field)) return mesh;
  return nullptr;
}

TextAttr sharding_text(const Mesh* mesh, const PartitionSpec& spec) {
  TESSERA_CHECK(mesh, "a spec in params without a mesh");
  return TextAttr::Sharding{NamedSharding(*mesh, spec), spec.rank()};
}

// Returns the integers of array<i64: ...>, or of [1, 2] in assembly, or null for anything else.
const std::vector<int64_t>* integers(const TextAttr& attribute) {
  const auto* array = attribute.get<TextAttr::Array>();
  return array ? &array->values : nullptr;
}

// Returns the numbers of a dense tensor of integers of rank 0 or 1, which older StableHLO text uses
// for dimensions.
std::optional<Dims> tensor_dims(const TextAttr::Tensor& tensor) {
  if (!is_integer(tensor.value.dtype()) || tensor.shape.rank() > 1 ||
      (tensor.value.shape().empty() && tensor.shape.elements() > 64))
    return std::nullopt;
  Dims out;
  const Literal value = widened(tensor.value);
  visit_dtype(value.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>)
      for (int64_t i = 0; i < tensor.shape.elements(); ++i)
        out.push_back(static_cast<int64_t>(value.data<T>()[value.shape().empty() ? 0 : i]));
  });
  return out;
}

std::optional<Dims> as_dims(const TextAttr& attribute) {
  if (const auto* values = integers(attribute)) return Dims(values->begin(), values->end());
  if (const auto* tensor = attribute.get<TextAttr::Tensor>()) return tensor_dims(*tensor);
  const auto* list = attribute.get<TextAttr::List>();
  if (list && list->items.empty()) return Dims{};
  return std::nullopt;
}

std::optional<std::vector<std::string>> as_strings(const TextAttr& attribute) {
  if (const auto* values = integers(attribute); values && values->empty())
    return std::vector<std::string>{};
  const auto* list = attribute.get<TextAttr::List>();
  if (!list) return std::nullopt;
  std::vector<std::string> out;
  for (const TextAttr& item : list->items) {
    const auto* text = item.get<std::string>();
    if (!text) return std::nullopt;
    out.push_back(*text);
  }
  return out;
}

std::optional<std::vector<Dims>> as_dims_list(const TextAttr& attribute) {
  if (const auto* values = integers(attribute); values && values->empty())
    return std::vector<Dims>{};
  const auto* list = attribute.get<TextAttr::List>();
  if (!list) return std::nullopt;
  std::vector<Dims> out;
  for (const TextAttr& item : list->items) {
    const std::optional<Dims> dims = as_dims(item);
    if (!dims) return std::nullopt;
    out.push_back(*dims);
  }
  return out;
}

std::optional<Literal> as_literal(const TextAttr& attribute) {
  const auto* tensor = attribute.get<TextAttr::Tensor>();
  if (!tensor) return std::nullopt;
  if (tensor->value.shape() == tensor->shape) return tensor->value;
  if (tensor->shape.elements() > (int64_t{1} << 24)) return std::nullopt;
  Literal out(tensor->value.dtype(), tensor->shape);
  const auto item = static_cast<size_t>(itemsize(out.dtype()));
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i)
    std::memcpy(to + i * item, tensor->value.raw(), item);
  return out;
}

}  // namespace

const TextAttr* OpText::find(std::string_view name) const {
  for (const auto* entries : {&attributes, &extra})
    for (const auto& [key, value] : *entries)
      if (key == name) return &value;
  return nullptr;
}

const TextAttr* OpText::take(std::string_view name) {
  for (auto* entries : {&attributes, &extra})
    for (auto& [key, value] : *entries) {
      if (key != name) continue;
      key.insert(0, "\x01");  // marks the attribute as used
      return &value;
    }
  for (auto* entries : {&attributes, &extra})
    for (auto& [key, value] : *entries)
      if (key.size() == name.size() + 1 && key[0] == '\x01' &&
          std::string_view(key).substr(1) == name)
        return &value;
  return nullptr;
}

std::vector<Type> OpReader::operand_types() const {
  std::vector<Type> out;
  for (ValueId v : operands) out.push_back(type(v));
  return out;
}

const TextAttr& OpReader::require(std::string_view name) {
  const TextAttr* attribute = text.take(name);
  if (!attribute) error(fmt::format("expected attribute '{}', got none of that name", name));
  return *attribute;
}

int64_t OpReader::require_int(std::string_view name) {
  return std::get<int64_t>(from_text(require(name), Attribute(int64_t{0}), name, *this));
}

Dims OpReader::require_dims(std::string_view name) {
  return std::get<Dims>(from_text(require(name), Attribute(Dims()), name, *this));
}

const Type& static_result(const OpReader& reader, size_t result) {
  if (result >= reader.result_types.size()) reader.error("expected the type of a result");
  if (is_open(reader.result_types[result]))
    reader.error(
        "expected the shape of the result, which nothing else here gives, got an open extent; "
        "export the program with concrete shapes");
  return reader.result_types[result];
}

OpParams OpReader::read_fields(const OpDef& def) {
  std::vector<Attribute> fields = def.params.fields();
  size_t region = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = def.attributes[i];
    if (is_result_field(name)) {
      if (result_types.empty()) error("expected the type of a result");
      const Type& result = result_types[0];
      if (std::holds_alternative<DType>(fields[i])) {
        fields[i] = result.dtype;
      } else if (std::holds_alternative<Dims>(fields[i])) {
        fields[i] = Dims(static_result(*this, 0).shape);
      } else {
        fields[i] = result.weak;
      }
      continue;
    }
    if (std::holds_alternative<FunctionRef>(fields[i]) && !text.find(name)) {
      if (region == text.regions.size())
        error(fmt::format("expected region {} ('{}'), got {} of them", region, name,
                          text.regions.size()));
      fields[i] = text.regions[region++];
      continue;
    }
    if (std::holds_alternative<std::vector<FunctionRef>>(fields[i])) {
      fields[i] = std::vector<FunctionRef>(text.regions.begin() + static_cast<int64_t>(region),
                                           text.regions.end());
      region = text.regions.size();
      continue;
    }
    fields[i] = from_text(require(name), fields[i], name, *this);
  }
  if (region != text.regions.size())
    error(fmt::format("expected {} regions, got {}", region, text.regions.size()));
  return def.params.with_fields(fields);
}

DType integer_dtype(const TextAttr::Integer& number) {
  for (int d = 0; d < kNumAllDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is_integer(dtype) &&
                                                  bit_width(dtype) == number.width &&
                                                  is_unsigned(dtype) == number.is_unsigned)
      return dtype;
  throw_user_error(ErrorKind::kParse, "parse",
                   fmt::format("expected an integer of 2, 4, 8, 16, 32 or 64 bits, got one of {}",
                               number.width));
}

bool is_result_field(std::string_view name) {
  return name == "shape" || name == "dtype" || name == "result_dtype" || name == "weak_type";
}

TextAttr to_text(const Attribute& field, const Mesh* mesh) {
  return std::visit(Overloaded{
                        [](bool v) { return TextAttr(v); },
                        [](int64_t v) { return TextAttr(TextAttr::Integer{v}); },
                        [](double v) { return TextAttr(TextAttr::Float{v}); },
                        [](const std::string& v) { return TextAttr(v); },
                        [](DType v) { return TextAttr(v); },
                        [](const Dims& v) {
                          return TextAttr(TextAttr::Array{{v.begin(), v.end()}});
                        },
                        [](const std::vector<std::string>& v) {
                          TextAttr::List list;
                          for (const std::string& text : v) list.items.emplace_back(text);
                          return TextAttr(std::move(list));
                        },
                        [](const std::vector<Dims>& v) {
                          TextAttr::List list;
                          for (const Dims& dims : v)
                            list.items.emplace_back(TextAttr::Array{{dims.begin(), dims.end()}});
                          return TextAttr(std::move(list));
                        },
                        [](const Literal& v) {
                          return TextAttr(TextAttr::Tensor{v, v.shape()});
                        },
                        [](const FunctionRef& v) { return TextAttr(v); },
                        [](const std::vector<FunctionRef>& v) {
                          TextAttr::List list;
                          for (const FunctionRef& f : v) list.items.emplace_back(f);
                          return TextAttr(std::move(list));
                        },
                        [](const Mesh& v) { return TextAttr(v); },
                        [](const NamedSharding& v) {
                          return TextAttr(TextAttr::Sharding{v, v.spec().rank()});
                        },
                        [&](const PartitionSpec& v) { return sharding_text(mesh, v); },
                        [&](const std::vector<PartitionSpec>& v) {
                          TextAttr::List list;
                          for (const PartitionSpec& spec : v)
                            list.items.push_back(sharding_text(mesh, spec));
                          return TextAttr(std::move(list));
                        },
                    },
                    field);
}

namespace {

// Converts an attribute from text to a field of each kind.
class FromText {
  // Returns the content of a pointer or an optional. Throws UserError if it is empty.
  template <class Maybe>
  const auto& found(const Maybe& value, const char* what) const {
    if (!value) reader_.error(fmt::format("expected '{}' to be {}", name_, what));
    return *value;
  }

 public:
  FromText(const TextAttr& text, std::string_view name, const OpReader& reader)
      : text_(text), name_(name), reader_(reader) {}

  Attribute operator()(bool) const {
    if (text_.get<TextAttr::Unit>()) return true;
    return found(text_.get<bool>(), "true or false");
  }
  Attribute operator()(int64_t) const {
    return found(text_.get<TextAttr::Integer>(), "an integer").value;
  }
  Attribute operator()(double) const {
    return found(text_.get<TextAttr::Float>(), "a number").value;
  }
  Attribute operator()(const std::string&) const {
    if (const auto* v = text_.get<std::string>()) return *v;
    return found(text_.get<TextAttr::Keyword>(), "a string or a keyword").name;
  }
  Attribute operator()(DType) const { return found(text_.get<DType>(), "an element type"); }
  Attribute operator()(const Dims&) const {
    return found(as_dims(text_), "a list of integers, as array<i64: 0, 1>");
  }
  Attribute operator()(const std::vector<std::string>&) const {
    return found(as_strings(text_), "a list of strings");
  }
  Attribute operator()(const std::vector<Dims>&) const {
    return found(as_dims_list(text_), "a list of lists of integers");
  }
  Attribute operator()(const Literal&) const { return found(as_literal(text_), "a dense tensor"); }
  Attribute operator()(const FunctionRef&) const {
    if (const auto* v = text_.get<TextAttr::Symbol>())
      reader_.error(
          fmt::format("expected the name of a function of this module, got @{}", v->name));
    return found(text_.get<FunctionRef>(), "a function");
  }
  Attribute operator()(const std::vector<FunctionRef>&) const {
    std::vector<FunctionRef> out;
    if (const auto* list = text_.get<TextAttr::List>())
      for (const TextAttr& item : list->items)
        out.push_back(found(item.get<FunctionRef>(), "a list of functions"));
    return out;
  }
  Attribute operator()(const Mesh&) const {
    if (const auto* v = text_.get<TextAttr::Symbol>()) return reader_.find_mesh(v->name);
    if (const auto* v = text_.get<std::string>()) return reader_.find_mesh(*v);  // as in VHLO
    return found(text_.get<Mesh>(), "the name of a mesh");
  }
  Attribute operator()(const NamedSharding&) const {
    const std::optional<WrittenSharding> sharding = read_sharding(text_);
    return found(sharding, "a sharding").value;
  }
  Attribute operator()(const PartitionSpec&) const {
    const std::optional<WrittenSharding> sharding = read_sharding(text_);
    return found(sharding, "a sharding").value.spec();
  }
  Attribute operator()(const std::vector<PartitionSpec>&) const {
    std::vector<PartitionSpec> out;
    if (const auto* values = integers(text_); values && values->empty()) return out;
    const std::optional<std::vector<WrittenSharding>> shardings = read_shardings(text_);
    for (const WrittenSharding& one : found(shardings, "a list of shardings"))
      out.push_back(one.value.spec());
    return out;
  }

 private:
  const TextAttr& text_;
  const std::string_view name_;
  const OpReader& reader_;
};

}  // namespace

Attribute from_text(const TextAttr& attribute, const Attribute& like, std::string_view name,
                    const OpReader& reader) {
  return std::visit(FromText(attribute, name, reader), like);
}

std::vector<int64_t> logical_device_ids(const Mesh& mesh) {
  const std::vector<int64_t>& ids = mesh.device_ids();
  std::vector<int64_t> sorted = ids, logical;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t id : ids)
    logical.push_back(std::lower_bound(sorted.begin(), sorted.end(), id) - sorted.begin());
  return logical;
}

OpText op_text(const Op& op, const Function& function) {
  if (const auto write = format_of(*op.def).write) return write(op, function);
  OpText out;
  const std::vector<Attribute> fields = op.params.fields();
  const Mesh* mesh = mesh_field(fields);
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = op.def->attributes[i];
    if (is_result_field(name)) continue;
    const auto* region = std::get_if<FunctionRef>(&fields[i]);
    const auto* regions = std::get_if<std::vector<FunctionRef>>(&fields[i]);
    const bool by_name = op.def->dialect == "tessera" ||
                         op.def->dialect == "func";  // a custom call has no such attributes
    if (region && !by_name) {
      if (*region) out.regions.push_back(*region);
    } else if (regions && !by_name) {
      out.regions.insert(out.regions.end(), regions->begin(), regions->end());
    } else if (!region || *region) {
      out.attributes.emplace_back(std::string(name), to_text(fields[i], mesh));
    }
  }
  return out;
}

}  // namespace tessera::interchange
