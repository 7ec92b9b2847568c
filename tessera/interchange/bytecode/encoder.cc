#include "tessera/interchange/bytecode/encoder.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/overloaded.h"
#include "tessera/interchange/bytecode/enums.h"
#include "tessera/ir/format.h"
#include "tessera/ops/core/convert.h"

namespace tessera::interchange::bytecode {
namespace {

// Returns an attribute in a dialect's own encoding: its code, followed by what `write` appends.
template <class F>
ByteWriter coded(uint64_t code, F&& write) {
  ByteWriter out;
  out.varint(code);
  write(out);
  return out;
}
ByteWriter coded(uint64_t code) {
  return coded(code, [](ByteWriter&) {});
}

void write_list(ByteWriter& out, const std::vector<size_t>& numbers) {
  out.varint(numbers.size());
  for (const size_t number : numbers) out.varint(number);
}

void write_signed(ByteWriter& out, std::span<const int64_t> numbers) {
  out.varint(numbers.size());
  for (const int64_t number : numbers) out.signed_varint(number);
}

// Returns the bytes of all elements, or of one element for a splat. Bools are bits, which are all
// equal for a splat.
std::string tensor_bytes(const Literal& value, const Shape& shape) {
  const bool splat = value.shape().empty() && shape.elements() != 1;
  const char* raw = reinterpret_cast<const char*>(value.raw());
  if (value.dtype() != bool_) return {raw, static_cast<size_t>(value.bytes())};
  if (splat) return std::string(1, *value.data<bool>() ? '\xff' : '\0');
  std::string bits(static_cast<size_t>(ceil_div(value.elements(), 8)), '\0');
  for (int64_t i = 0; i < value.elements(); ++i)
    if (value.data<bool>()[i]) bits[static_cast<size_t>(i / 8)] |= static_cast<char>(1 << (i % 8));
  return bits;
}

bool is_i32(std::string_view name) {
  return name == "exponent_bits" || name == "mantissa_bits" || name == "index" || name == "version";
}

[[noreturn]] void fail_unencodable(std::string_view name) {
  value_error("bytecode", "expected attributes that StableHLO has, got '{}'; write it as text",
              name);
}

}  // namespace

// --- vhlo ---

size_t Encoder::vhlo_string(std::string_view text) {
  return tables_.attribute("vhlo",
                           coded(14, [&](ByteWriter& out) { out.varint(tables_.string(text)); }));
}

size_t Encoder::vhlo_list(const std::vector<size_t>& items) {
  return tables_.attribute("vhlo", coded(1, [&](ByteWriter& out) { write_list(out, items); }));
}

size_t Encoder::vhlo_dictionary(const TextAttr::Entries& entries) {
  std::vector<std::pair<std::string, size_t>> sorted;
  for (const auto& [key, value] : entries) sorted.emplace_back(key, vhlo(value));
  std::sort(sorted.begin(), sorted.end());
  return tables_.attribute("vhlo", coded(6, [&](ByteWriter& out) {
                             out.varint(sorted.size());
                             for (const auto& [key, value] : sorted) {
                               out.varint(vhlo_string(key));
                               out.varint(value);
                             }
                           }));
}

size_t Encoder::vhlo_enum(std::string_view kind, std::string_view value) {
  for (const EnumKind& e : kEnums) {
    if (e.name != kind) continue;
    const auto* at = std::find(e.values.begin(), e.values.end(), value);
    if (at == e.values.end()) break;
    return tables_.attribute("vhlo", coded(e.vhlo, [&](ByteWriter& out) {
                               out.varint(static_cast<uint64_t>(at - e.values.begin()));
                             }));
  }
  fail_unencodable(value);
}

size_t Encoder::vhlo_type_attribute(size_t type) {
  return tables_.attribute("vhlo", coded(17, [&](ByteWriter& out) { out.varint(type); }));
}

size_t Encoder::vhlo_version(int64_t version) {
  return tables_.attribute(
      "vhlo", coded(5, [&](ByteWriter& out) { out.varint(static_cast<uint64_t>(version)); }));
}

size_t Encoder::vhlo_accuracy() {
  const size_t mode = tables_.attribute("vhlo", coded(19, [](ByteWriter& out) { out.varint(0); }));
  return tables_.attribute("vhlo", coded(20, [&](ByteWriter& out) {
                             for (int i = 0; i < 3; ++i) out.signed_varint(0);
                             out.varint(mode);
                           }));
}

size_t Encoder::vhlo_tensor(const Literal& value, const Shape& shape) {
  const std::string bytes = tensor_bytes(value, shape);
  const size_t type = vhlo_type({.dtype = value.dtype(), .shape = shape});
  return tables_.attribute("vhlo", coded(15, [&](ByteWriter& out) {
                             out.varint(type);
                             out.varint(bytes.size());
                             out.append(bytes);
                           }));
}

size_t Encoder::vhlo(const TextAttr& attribute, std::string_view name) {
  // A number is written as its bits, with 0 beyond its width: one byte, or a varint.
  const auto number = [&](uint64_t code, DType dtype, uint64_t bits) {
    const size_t type = vhlo_element(dtype);
    const int width = bit_width(dtype);
    if (width < 64) bits &= (uint64_t{1} << width) - 1;
    return tables_.attribute("vhlo", coded(code, [&](ByteWriter& out) {
                               out.varint(type);
                               if (width <= 8) {
                                 const auto byte = static_cast<char>(bits);
                                 out.append(std::string_view(&byte, 1));
                               } else {
                                 out.signed_varint(static_cast<int64_t>(bits));
                               }
                             }));
  };
  return std::visit(
      Overloaded{
          [&](const TextAttr::Unit&) { return builtin(attribute); },
          [&](bool v) {
            return tables_.attribute("vhlo", coded(2, [&](ByteWriter& out) { out.varint(v); }));
          },
          [&](const TextAttr::Integer& v) {
            return number(9, is_i32(name) ? int32 : integer_dtype(v),
                          static_cast<uint64_t>(v.value));
          },
          [&](const TextAttr::Float& v) {
            const DType dtype = name == "epsilon" ? float32 : v.dtype;
            const Literal value = convert_literal(Literal::scalar(v.value), dtype);
            uint64_t bits = 0;
            std::memcpy(&bits, value.raw(), static_cast<size_t>(value.bytes()));
            return number(8, dtype, bits);
          },
          [&](const std::string& v) { return vhlo_string(v); },
          [&](const TextAttr::Symbol& v) { return vhlo_string(v.name); },
          [&](DType v) { return vhlo_type_attribute(vhlo_element(v)); },
          [&](const TextAttr::Tensor& v) { return vhlo_tensor(v.value, v.shape); },
          [&](const TextAttr::Array& v) {
            const Shape shape{static_cast<int64_t>(v.values.size())};
            if (name != "window_reversal")
              return vhlo_tensor(convert_literal(Literal::from<int64_t>(v.values, shape), v.dtype),
                                 shape);
            Literal flags(bool_, shape);
            for (size_t i = 0; i < v.values.size(); ++i)
              flags.mutable_data<bool>()[i] = v.values[i] != 0;
            return vhlo_tensor(flags, shape);
          },
          [&](const TextAttr::List& v) {
            std::vector<size_t> items;
            for (const TextAttr& item : v.items) items.push_back(vhlo(item));
            return vhlo_list(items);
          },
          [&](const TextAttr::Keyword& v) { return vhlo_enum(v.kind, v.name); },
          [&](const TextAttr::Record& v) {
            if (!v.name.empty()) fail_unencodable(v.name);
            return vhlo_dictionary(v.entries);
          },
          [&](const TextAttr::Sharding&) { return shardy(attribute); },
          [&](const TextAttr::Shardings&) { return shardy(attribute); },
          [&](const Mesh& v) { return vhlo_string(symbols_.mesh(v)); },
          [&](const FunctionRef& v) { return vhlo_string(symbols_.function(v)); },
      },
      attribute.value);
}

// --- builtin ---

size_t Encoder::builtin_string(std::string_view text) {
  return tables_.attribute("builtin",
                           coded(2, [&](ByteWriter& out) { out.varint(tables_.string(text)); }));
}

size_t Encoder::builtin_dictionary(std::vector<std::pair<std::string, size_t>> entries) {
  std::sort(entries.begin(), entries.end());
  ByteWriter out = coded(1);
  out.varint(entries.size());
  for (const auto& [key, value] : entries) {
    out.varint(builtin_string(key));
    out.varint(value);
  }
  return tables_.attribute("builtin", out);
}

size_t Encoder::builtin(const TextAttr& attribute) {
  if (attribute.get<TextAttr::Unit>()) return tables_.attribute("builtin", coded(7));
  if (const auto* text = attribute.get<std::string>()) return builtin_string(*text);
  if (const auto* v = attribute.get<TextAttr::Integer>()) {
    TESSERA_CHECK(v->width == 32 || v->width == 64, "a builtin integer of {} bits", v->width);
    const size_t type = builtin_element(integer_dtype(*v));
    return tables_.attribute("builtin", coded(8, [&](ByteWriter& out) {
                               out.varint(type);
                               out.signed_varint(v->value);
                             }));
  }
  if (const auto* v = attribute.get<TextAttr::Array>()) {
    const size_t type = builtin_element(int64);
    const Shape shape{static_cast<int64_t>(v->values.size())};
    const std::string bytes =
        v->values.empty() ? "" : tensor_bytes(Literal::from<int64_t>(v->values, shape), shape);
    return tables_.attribute("builtin", coded(17, [&](ByteWriter& out) {
                               out.varint(type);
                               out.varint(v->values.size());
                               out.varint(bytes.size());
                               out.append(bytes);
                             }));
  }
  return vhlo(attribute);
}

size_t Encoder::location(std::string_view source) {
  const size_t unknown = tables_.attribute("builtin", coded(15));
  if (source.empty()) return unknown;
  const size_t name = builtin_string(source);
  return tables_.attribute("builtin", coded(14, [&](ByteWriter& out) {
                             out.varint(name);
                             out.varint(unknown);
                           }));
}

// --- types ---

size_t Encoder::vhlo_element(DType dtype) {
  static constexpr std::array<uint64_t, kNumAllDTypes> kCodes = {
      0,  11, 12, 13, 14, 16, 17, 18, 19, 3, 2,  4,  5,  1,  1,
      31, 10, 32, 15, 36, 35, 29, 6,  27, 7, 28, 40, 37, 38, 39};
  ByteWriter out = coded(kCodes[static_cast<size_t>(dtype)]);
  if (is_complex(dtype)) out.varint(vhlo_element(real_dtype(dtype)));
  return tables_.type("vhlo", out);
}

size_t Encoder::builtin_element(DType dtype) {
  if (is_complex(dtype)) {
    const size_t part = builtin_element(real_dtype(dtype));
    return tables_.type("builtin", coded(9, [&](ByteWriter& out) { out.varint(part); }));
  }
  if (dtype == float64) return tables_.type("builtin", coded(6));
  if (dtype == float32) return tables_.type("builtin", coded(5));
  if (dtype == float16) return tables_.type("builtin", coded(4));
  if (dtype == bfloat16) return tables_.type("builtin", coded(3));
  const auto bits = static_cast<uint64_t>(dtype == bool_ ? 1 : 8 * itemsize(dtype));
  return tables_.type("builtin", coded(0, [&](ByteWriter& out) {
                        out.varint(bits << 2 | (is_unsigned(dtype) ? 2 : 0));
                      }));
}

size_t Encoder::vhlo_type(const Type& type) {
  const size_t element = vhlo_element(type.dtype);
  return tables_.type("vhlo", coded(20, [&](ByteWriter& out) {
                        write_signed(out, {type.shape.data(), type.shape.size()});
                        out.varint(element);
                      }));
}

size_t Encoder::builtin_type(const Type& type) {
  const size_t element = builtin_element(type.dtype);
  return tables_.type("builtin", coded(13, [&](ByteWriter& out) {
                        write_signed(out, {type.shape.data(), type.shape.size()});
                        out.varint(element);
                      }));
}

size_t Encoder::vhlo_function(const std::vector<Type>& inputs, const std::vector<Type>& outputs) {
  ByteWriter out = coded(8);
  for (const auto* list : {&inputs, &outputs}) {
    std::vector<size_t> types;
    for (const Type& type : *list) types.push_back(vhlo_type(type));
    write_list(out, types);
  }
  return tables_.type("vhlo", out);
}

size_t Encoder::vhlo_none() { return tables_.type("vhlo", coded(33)); }

// --- sdy ---

size_t Encoder::shardy_axis(const AxisRef& axis) {
  ByteWriter out = coded(4);
  out.varint(tables_.string(axis.name));
  if (axis.size == 0) {
    out.varint(0);
  } else {
    const size_t part = tables_.attribute("sdy", coded(3, [&](ByteWriter& sizes) {
                                            sizes.signed_varint(axis.pre_size);
                                            sizes.signed_varint(axis.size);
                                          }));
    out.flagged(part, true);
  }
  return tables_.attribute("sdy", out);
}

size_t Encoder::shardy_dim(const DimSpec& dim) {
  std::vector<size_t> axes;
  for (const AxisRef& axis : dim.axes) axes.push_back(shardy_axis(axis));
  return tables_.attribute("sdy", coded(5, [&](ByteWriter& out) {
                             write_list(out, axes);
                             out.byte(dim.open ? 0 : 1);
                             out.varint(0);
                           }));
}

size_t Encoder::shardy_sharding(const NamedSharding& sharding, int64_t rank) {
  const size_t name = builtin_string(symbols_.mesh(sharding.mesh()));
  const size_t mesh =
      tables_.attribute("builtin", coded(4, [&](ByteWriter& out) { out.varint(name); }));
  const PartitionSpec& spec = sharding.spec();
  std::vector<size_t> dims, replicated;
  for (int64_t d = 0; d < std::max(rank, spec.rank()); ++d) dims.push_back(shardy_dim(spec.dim(d)));
  for (const AxisRef& axis : spec.replicated()) replicated.push_back(shardy_axis(axis));
  return tables_.attribute("sdy", coded(6, [&](ByteWriter& out) {
                             out.varint(mesh);
                             write_list(out, dims);
                             write_list(out, replicated);
                           }));
}

size_t Encoder::shardy_list(const std::vector<std::pair<NamedSharding, int64_t>>& shardings) {
  std::vector<size_t> items;
  for (const auto& [sharding, rank] : shardings) items.push_back(shardy_sharding(sharding, rank));
  return tables_.attribute("sdy", coded(7, [&](ByteWriter& out) { write_list(out, items); }));
}

size_t Encoder::shardy(const TextAttr& attribute) {
  if (const auto* one = attribute.get<TextAttr::Sharding>())
    return shardy_sharding(one->value, one->rank);
  std::vector<std::pair<NamedSharding, int64_t>> list;
  if (const auto* all = attribute.get<TextAttr::Shardings>())
    for (const NamedSharding& s : all->values) list.emplace_back(s, s.spec().rank());
  if (const auto* items = attribute.get<TextAttr::List>())
    for (const TextAttr& item : items->items)
      if (const auto* one = item.get<TextAttr::Sharding>())
        list.emplace_back(one->value, one->rank);
  return shardy_list(list);
}

size_t Encoder::shardy_axes(const std::vector<std::string>& axes) {
  std::vector<size_t> names;
  for (const std::string& axis : axes) names.push_back(builtin_string(axis));
  return tables_.attribute("sdy", coded(0, [&](ByteWriter& out) { write_list(out, names); }));
}

size_t Encoder::shardy_mesh(const Mesh& mesh) {
  std::vector<size_t> axes;
  for (int64_t d = 0; d < mesh.rank(); ++d)
    axes.push_back(tables_.attribute("sdy", coded(1, [&](ByteWriter& out) {
                                       out.varint(tables_.string(mesh.axis_names()[d]));
                                       out.signed_varint(mesh.axis_sizes()[d]);
                                     })));
  std::vector<int64_t> ids;
  if (!mesh.is_abstract()) ids = logical_device_ids(mesh);
  if (std::is_sorted(ids.begin(), ids.end())) ids.clear();
  return tables_.attribute("sdy", coded(2, [&](ByteWriter& out) {
                             write_list(out, axes);
                             write_signed(out, ids);
                           }));
}

}  // namespace tessera::interchange::bytecode
