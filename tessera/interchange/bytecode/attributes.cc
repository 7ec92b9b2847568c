#include "tessera/interchange/bytecode/attributes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/base/narrow.h"
#include "tessera/interchange/bytecode/blob.h"
#include "tessera/ir/format.h"

namespace tessera::interchange::bytecode {
namespace {

enum Builtin : uint64_t {
  kArray,
  kDictionary,
  kString,
  kStringWithType,
  kFlatSymbol,
  kSymbol,
  kType,
  kUnit,
  kInteger,
  kFloat,
  kCallSite,
  kFileLine,
  kFused,
  kFusedWithMetadata,
  kName,
  kUnknown,
  kDenseResource,
  kDenseArray,
  kDense,
  kFileRange = 22,
};

// Returns a list of integers as one Array, as text does, and any other list as it is.
TextAttr list_of(TextAttr::List list) {
  TextAttr::Array array;
  for (const TextAttr& item : list.items) {
    const auto* integer = item.get<TextAttr::Integer>();
    if (!integer) return list;
    array.values.push_back(integer->value);
  }
  return array;
}

TextAttr array_of(const Dims& dims) { return TextAttr::Array{{dims.begin(), dims.end()}}; }

}  // namespace

Decoder::DepthGuard::DepthGuard(Decoder& decoder, size_t offset) : decoder_(decoder) {
  if (decoder.depth_ >= 100)
    decoder.container_.file().error(offset, "expected at most 100 levels of attributes");
  if (--decoder.left_ < 0)
    decoder.container_.file().error(offset, "expected attributes that say less many times over");
  ++decoder.depth_;
}

Decoder::Decoder(const Container& container, Names names)
    : container_(container),
      names_(std::move(names)),
      left_(100000 + 64 * static_cast<int64_t>(container.file().bytes.size())) {}

TextAttr Decoder::attribute(size_t index) {
  const Container::Entry& entry = container_.attributes[index];
  const DepthGuard depth(*this, entry.begin);
  ByteReader in = container_.reader(entry);
  if (!entry.encoded) return names_.parse(in.zero_terminated(), entry.begin);
  if (entry.dialect == "builtin") return read_builtin(in, index);
  if (entry.dialect == "vhlo") {
    if (const auto it = tensors_.find(index); it != tensors_.end()) return it->second;
    TextAttr out = read_vhlo(in);
    if (out.get<TextAttr::Tensor>()) tensors_[index] = out;
    return out;
  }
  if (entry.dialect == "stablehlo") return read_stablehlo(in);
  if (entry.dialect == "chlo") return read_chlo(in);
  if (entry.dialect == "sdy") return read_sdy(in, index);
  return TextAttr::Record{std::string(entry.dialect), {}};  // an error where it is used
}

std::vector<std::pair<std::string, size_t>> Decoder::entries(size_t index) {
  ByteReader in = open(index, "builtin", {kDictionary});
  std::vector<std::pair<std::string, size_t>> out;
  for (size_t left = in.count("entries"); left > 0; --left) {
    std::string name = string(attribute_index(in));
    out.emplace_back(std::move(name), attribute_index(in));
  }
  return out;
}

size_t Decoder::type_of(size_t index) {
  const bool vhlo = container_.attributes[index].dialect == "vhlo";
  ByteReader in = open(index, vhlo ? "vhlo" : "builtin", {vhlo ? uint64_t{17} : uint64_t{kType}});
  return type_index(in);
}

std::string Decoder::string(size_t index) {
  const TextAttr attribute = this->attribute(index);
  if (const auto* text = attribute.get<std::string>()) return *text;
  container_.file().error(container_.attributes[index].begin, "expected a string");
}

// Opens the content of an attribute of that dialect after its code. The code must be one of these.
ByteReader Decoder::open(size_t index, std::string_view dialect,
                         std::initializer_list<uint64_t> codes) {
  const Container::Entry& entry = container_.attributes[index];
  ByteReader in = container_.reader(entry);
  if (!entry.encoded || entry.dialect != dialect ||
      std::find(codes.begin(), codes.end(), in.varint()) == codes.end())
    container_.file().error(entry.begin, fmt::format("expected another attribute of {}", dialect));
  return in;
}

// --- builtin ---

TextAttr Decoder::read_builtin(ByteReader& in, size_t index) {
  const uint64_t code = in.varint();
  switch (code) {
    case kArray:
      return read_list(in);
    case kDictionary: {
      TextAttr::Record record;
      for (size_t left = in.count("entries"); left > 0; --left) {
        std::string name = string(attribute_index(in));
        record.entries.emplace_back(std::move(name), attribute(attribute_index(in)));
      }
      return record;
    }
    case kString:
    case kStringWithType:
      return std::string(container_.strings[in.index(container_.strings.size(), "a string")]);
    case kFlatSymbol: {
      const size_t offset = in.position();
      return names_.symbol(string(attribute_index(in)), offset);
    }
    case kSymbol:
      in.error("expected a plain name, got a nested one");
    case kType:
      return type_attribute(type_index(in));
    case kUnit:
      return TextAttr::Unit{};
    case kInteger:
    case kFloat:
      return read_number(in);
    case kDenseResource:
    case kDense: {
      if (const auto it = tensors_.find(index); it != tensors_.end()) return it->second;
      return tensors_[index] = code == kDense ? read_tensor(in) : read_resource(in);
    }
    case kDenseArray:
      return read_array(in);
    default:  // locations, and kinds that no op here has
      return TextAttr::Record{"builtin", {}};
  }
}

TextAttr Decoder::read_list(ByteReader& in) {
  TextAttr::List list;
  for (size_t left = in.count("elements"); left > 0; --left)
    list.items.push_back(attribute(attribute_index(in)));
  return list_of(std::move(list));
}

TextAttr Decoder::type_attribute(size_t index) {
  const DecodedType& t = type(index);
  switch (t.kind) {
    case DecodedType::Kind::kElement:
      return t.type.dtype;
    case DecodedType::Kind::kTensor:
      return TextAttr::Record{"tensor", {{"dtype", TextAttr(t.type.dtype)}}};
    case DecodedType::Kind::kFunction:
      return TextAttr::Record{"function_type", {}};
    case DecodedType::Kind::kTuple:
    case DecodedType::Kind::kOther:
      break;
  }
  return TextAttr::Record{"type", {{"name", t.name}}};
}

// A number is a type, followed by its bits: one byte for up to 8 bits, otherwise a signed varint.
TextAttr Decoder::read_number(ByteReader& in) {
  const DecodedType t = type(type_index(in));
  if (t.kind != DecodedType::Kind::kElement || t.bits == 0)
    in.error(fmt::format("expected a number of 1 to 64 bits, got one of type {}", t.name));
  const uint64_t bits = t.bits <= 8 ? in.byte() : static_cast<uint64_t>(in.signed_varint());
  if (!t.is_integer) {
    switch (t.type.dtype) {
      case float64:
        return TextAttr::Float{std::bit_cast<double>(bits)};
      case float32:
        return TextAttr::Float{std::bit_cast<float>(static_cast<uint32_t>(bits)), float32};
      case float16:
      case bfloat16: {
        const auto half = static_cast<uint16_t>(bits);
        const float value = t.type.dtype == float16
                                ? static_cast<float>(std::bit_cast<Float16>(half))
                                : static_cast<float>(std::bit_cast<Bfloat16>(half));
        return TextAttr::Float{value, t.type.dtype};
      }
      default:
        if (is_narrow(t.type.dtype))
          return TextAttr::Float{narrow_value(t.type.dtype, static_cast<uint8_t>(bits)),
                                 t.type.dtype};
        in.error(fmt::format("expected a number, got one of type {}", t.name));
    }
  }
  if (t.bits == 1) return (bits & 1) != 0;
  const int unused = 64 - t.bits;
  const auto value = is_unsigned(t.type.dtype) ? static_cast<int64_t>(bits << unused >> unused)
                                               : static_cast<int64_t>(bits << unused) >> unused;
  return TextAttr::Integer{value, t.bits, is_unsigned(t.type.dtype)};
}

TextAttr Decoder::make_tensor(std::string_view bytes, const Type& type, size_t offset) {
  std::string problem;
  std::optional<Literal> value = literal_of_bytes(bytes, type, problem);
  if (!value) container_.file().error(offset, problem);
  if (names_.on_tensor) names_.on_tensor(bytes, *value);
  return TextAttr::Tensor{std::move(*value), type.shape};
}

TextAttr Decoder::read_tensor(ByteReader& in) {
  const size_t offset = in.position();
  const Type type = tensor_type(type_index(in), offset);
  const size_t size = in.count("bytes");
  return make_tensor(in.bytes(size), type, offset);
}

TextAttr Decoder::read_resource(ByteReader& in) {
  const size_t offset = in.position();
  const Type type = tensor_type(type_index(in), offset);
  const Container::Resource& resource =
      container_.resources[in.index(container_.resources.size(), "a resource")];
  if (!resource.blob)
    in.error(fmt::format("expected the resource '{}' to hold bytes", resource.key));
  return make_tensor(*resource.blob, type, offset);
}

// array<i64: ...>: a type, the number of elements, and the bytes of the elements.
TextAttr Decoder::read_array(ByteReader& in) {
  const size_t offset = in.position();
  const DecodedType element = type(type_index(in));
  if (element.kind != DecodedType::Kind::kElement) in.error("expected an array of numbers");
  const auto n = static_cast<int64_t>(in.count("elements"));
  const size_t size = in.count("bytes");
  const std::string_view bytes = in.bytes(size);
  if (n * itemsize(element.type.dtype) != static_cast<int64_t>(size))
    in.error(fmt::format("expected {} elements of {}, got {} bytes", n, element.name, size));
  if (n == 0) return TextAttr::Array{{}, element.type.dtype};
  const TextAttr tensor = make_tensor(bytes, Type{element.type.dtype, {n}}, offset);
  const std::optional<Dims> values = integers_of(std::get<TextAttr::Tensor>(tensor.value));
  return values ? TextAttr(TextAttr::Array{{values->begin(), values->end()}, element.type.dtype})
                : tensor;
}

TextAttr Decoder::read_enum(ByteReader& in, const EnumKind& kind) {
  const size_t code = in.index(kind.values.size(), "a value of an enumeration");
  if (kind.values[code].empty()) in.error(fmt::format("expected a value of {}", kind.name));
  return TextAttr::Keyword{std::string(kind.name), std::string(kind.values[code])};
}

std::string Decoder::location(size_t index) {
  for (int steps = 0; steps < 16; ++steps) {
    const Container::Entry& entry = container_.attributes[index];
    if (!entry.encoded || entry.dialect != "builtin") return {};
    ByteReader in = container_.reader(entry);
    switch (in.varint()) {
      case kName:
        return string(attribute_index(in));
      case kFileLine: {
        const std::string file = string(attribute_index(in));
        return fmt::format("{}:{}", file, in.varint());
      }
      case kFileRange: {  // the file, the number of fields, the line, ...
        const std::string file = string(attribute_index(in));
        in.varint();
        return fmt::format("{}:{}", file, in.varint());
      }
      case kCallSite:
        index = attribute_index(in);
        break;
      case kFused:
        if (in.count("locations") == 0) return {};
        index = attribute_index(in);
        break;
      default:
        return {};
    }
  }
  return {};
}

// --- vhlo ---

TextAttr Decoder::read_vhlo(ByteReader& in) {
  const uint64_t code = in.varint();
  for (const EnumKind& kind : kEnums)
    if (kind.vhlo == code) return read_enum(in, kind);
  switch (code) {
    case 1:
      return read_list(in);
    case 2:
      return in.index(2, "a bool") == 1;
    case 5:  // a custom call's version
      return TextAttr::Integer{static_cast<int64_t>(in.index(5, "a version")), 32};
    case 6: {
      TextAttr::Record record;
      for (size_t left = in.count("entries"); left > 0; --left) {
        std::string name = string(attribute_index(in));
        record.entries.emplace_back(std::move(name), attribute(attribute_index(in)));
      }
      return record;
    }
    case 8:
    case 9:
      return read_number(in);
    case 14:
      return std::string(container_.strings[in.index(container_.strings.size(), "a string")]);
    case 15:
      return read_tensor(in);
    case 17:
      return type_attribute(type_index(in));
    case 10:
      return operand_alias(in);
    case 21: {
      const int64_t before = in.signed_varint();
      return TextAttr::Record{"stablehlo.sub_axis_info",
                              {{"pre_size", TextAttr::Integer{before}},
                               {"size", TextAttr::Integer{in.signed_varint()}}}};
    }
    case 22: {
      TextAttr::Record axis{"stablehlo.axis_ref", {{"name", attribute(attribute_index(in))}}};
      if (in.varint() != 0)
        axis.entries.emplace_back("sub_axis_info", attribute(attribute_index(in)));
      return axis;
    }
    case 23: {
      const size_t offset = in.position();
      TextAttr mesh = attribute(attribute_index(in));
      if (const auto* name = mesh.get<std::string>())
        mesh = names_.symbol(std::string(*name), offset);
      return TextAttr::Record{"stablehlo.replica_group_mesh_axes",
                              {{"mesh", mesh}, {"axes", attribute(attribute_index(in))}}};
    }
    case 24: {
      const TextAttr name = attribute(attribute_index(in));
      return TextAttr::Record{"stablehlo.mesh_axis",
                              {{"name", name}, {"size", TextAttr::Integer{in.signed_varint()}}}};
    }
    case 25: {
      const size_t offset = in.position();
      TextAttr::Record mesh{"stablehlo.mesh", {{"axes", attribute(attribute_index(in))}}};
      bool has_ids = false;
      const uint64_t ids = in.flagged(has_ids);
      if (has_ids && ids >= container_.attributes.size())
        in.error("expected the number of an attribute");
      if (has_ids) mesh.entries.emplace_back("device_ids", attribute(static_cast<size_t>(ids)));
      return names_.inline_mesh(mesh, offset);
    }
    default:  // precision, and kinds that no op here has
      return TextAttr::Record{"vhlo", {}};
  }
}

// --- stablehlo, chlo ---

namespace {

// Returns `[b, 0, 1, f]`: the names of dimensions by position; empty if these are no permutation.
std::string spec_text(const char* first, int64_t a, const char* second, int64_t b,
                      const Dims& spatial) {
  std::vector<std::string> names(spatial.size() + 2);
  const auto set = [&](int64_t dim, std::string name) {
    if (dim < 0 || dim >= static_cast<int64_t>(names.size()) || !names[dim].empty()) return false;
    names[dim] = std::move(name);
    return true;
  };
  bool valid = set(a, first) && set(b, second);
  for (size_t d = 0; d < spatial.size(); ++d)
    valid = valid && set(spatial[d], fmt::format("{}", d));
  return valid ? fmt::format("[{}]", fmt::join(names, ", ")) : std::string();
}

}  // namespace

std::string convolution_numbers(const ConvolutionNumbers& n) {
  const std::string lhs = spec_text("b", n.input_batch, "f", n.input_feature, n.input_spatial),
                    rhs = spec_text("i", n.kernel_input, "o", n.kernel_output, n.kernel_spatial),
                    out = spec_text("b", n.output_batch, "f", n.output_feature, n.output_spatial);
  if (lhs.empty() || rhs.empty() || out.empty()) return {};
  return fmt::format("{}x{}->{}", lhs, rhs, out);
}

TextAttr Decoder::operand_alias(ByteReader& in) {
  const Dims outputs = signed_list(in);
  const int64_t operand = in.signed_varint();
  return TextAttr::Record{"stablehlo.output_operand_alias",
                          {{"output_tuple_indices", array_of(outputs)},
                           {"operand_index", TextAttr::Integer{operand}},
                           {"operand_tuple_indices", array_of(signed_list(in))}}};
}

Dims Decoder::signed_list(ByteReader& in) {
  Dims out;
  for (size_t left = in.count("numbers"); left > 0; --left) out.push_back(in.signed_varint());
  return out;
}

ConvolutionNumbers Decoder::read_convolution_numbers(ByteReader& in) {
  ConvolutionNumbers n;
  n.input_batch = in.signed_varint();
  n.input_feature = in.signed_varint();
  n.input_spatial = signed_list(in);
  n.kernel_input = in.signed_varint();
  n.kernel_output = in.signed_varint();
  n.kernel_spatial = signed_list(in);
  n.output_batch = in.signed_varint();
  n.output_feature = in.signed_varint();
  n.output_spatial = signed_list(in);
  return n;
}

TextAttr Decoder::read_stablehlo(ByteReader& in) {
  const size_t offset = in.position();
  const auto lists = [&](const char* name, std::initializer_list<const char*> keys,
                         const char* last) {
    TextAttr::Record record{name, {}};
    for (const char* key : keys) record.entries.emplace_back(key, array_of(signed_list(in)));
    if (last) record.entries.emplace_back(last, TextAttr::Integer{in.signed_varint()});
    return TextAttr(std::move(record));
  };
  const uint64_t code = in.varint();
  for (const EnumKind& kind : kEnums)
    if (kind.stablehlo == code) return read_enum(in, kind);
  switch (code) {
    case 1: {
      const int64_t handle = in.signed_varint();
      return TextAttr::Record{
          "stablehlo.channel_handle",
          {{"handle", TextAttr::Integer{handle}}, {"type", TextAttr::Integer{in.signed_varint()}}}};
    }
    case 4: {
      std::string text = convolution_numbers(read_convolution_numbers(in));
      if (text.empty())
        container_.file().error(offset, "expected dimension numbers that name each dimension once");
      return TextAttr::Record{"stablehlo.conv", {{"text", std::move(text)}}};
    }
    case 5:
      return lists("stablehlo.dot",
                   {"lhs_batching_dimensions", "rhs_batching_dimensions",
                    "lhs_contracting_dimensions", "rhs_contracting_dimensions"},
                   nullptr);
    case 7:
      return lists("stablehlo.gather",
                   {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                    "start_indices_batching_dims", "start_index_map"},
                   "index_vector_dim");
    case 11:
      return lists("stablehlo.scatter",
                   {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                    "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"},
                   "index_vector_dim");
    case 14:
      return operand_alias(in);
    case 18: {
      const TextAttr mesh = attribute(attribute_index(in));
      return TextAttr::Record{"stablehlo.replica_group_mesh_axes",
                              {{"mesh", mesh}, {"axes", read_list(in)}}};
    }
    case 19: {
      const int64_t before = in.signed_varint();
      return TextAttr::Record{"stablehlo.sub_axis_info",
                              {{"pre_size", TextAttr::Integer{before}},
                               {"size", TextAttr::Integer{in.signed_varint()}}}};
    }
    case 20: {
      const size_t name = in.index(container_.strings.size(), "a string");
      TextAttr::Record axis{"stablehlo.axis_ref",
                            {{"name", std::string(container_.strings[name])}}};
      if (in.byte() != 0)
        axis.entries.emplace_back("sub_axis_info", attribute(attribute_index(in)));
      return axis;
    }
    case 21: {
      const size_t name = in.index(container_.strings.size(), "a string");
      return TextAttr::Record{"stablehlo.mesh_axis",
                              {{"name", std::string(container_.strings[name])},
                               {"size", TextAttr::Integer{in.signed_varint()}}}};
    }
    case 22: {
      const size_t offset = in.position();
      TextAttr::Record mesh{"stablehlo.mesh", {{"axes", attribute(attribute_index(in))}}};
      if (in.byte() != 0) mesh.entries.emplace_back("device_ids", attribute(attribute_index(in)));
      return names_.inline_mesh(mesh, offset);
    }
    default:  // precision, and kinds that no op here has
      return TextAttr::Record{"stablehlo", {}};
  }
}

TextAttr Decoder::read_chlo(ByteReader& in) {
  const uint64_t code = in.varint();
  return code < 2 ? read_enum(in, kEnums[code]) : TextAttr(TextAttr::Record{"chlo", {}});
}

}  // namespace tessera::interchange::bytecode
