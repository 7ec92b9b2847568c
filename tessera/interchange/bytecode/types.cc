// Types of a container.
#include <algorithm>
#include <array>
#include <limits>

#include "tessera/interchange/bytecode/attributes.h"
#include "tessera/interchange/refine_shapes.h"
#include "tessera/ir/format.h"
#include "tessera/ir/token_type.h"

namespace tessera::interchange::bytecode {
namespace {

using Kind = DecodedType::Kind;

constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();

DecodedType other(std::string name) {
  DecodedType out;
  out.name = std::move(name);
  return out;
}

DecodedType element(DType dtype) {
  DecodedType out{.kind = Kind::kElement, .type = {.dtype = dtype}};
  out.name = mlir_name(dtype);
  out.is_integer = is_integer(dtype) || dtype == bool_;
  out.bits = is_complex(dtype) ? 0 : bit_width(dtype);
  return out;
}

// Returns int64, as which text reads numbers and tensors of indices.
DecodedType index_type() {
  DecodedType out = element(int64);
  out.name = "index";
  out.is_index = true;
  return out;
}

DecodedType token() {
  return {.kind = DecodedType::Kind::kTensor, .type = token_type(), .name = "!stablehlo.token"};
}

DecodedType named_element(std::string_view name) {
  for (int d = 0; d < kNumAllDTypes; ++d)
    if (mlir_name(static_cast<DType>(d)) == name) return element(static_cast<DType>(d));
  return other(std::string(name));
}

// The element types by VHLO's codes; empty: no element type.
constexpr std::array<std::string_view, 41> kVhloElements = {
    "i1",       "",         "bf16",     "f16",        "f32",        "f64",
    "f8E4M3FN", "f8E5M2",   "",         "index",      "i4",         "i8",
    "i16",      "i32",      "i64",      "ui4",        "ui8",        "ui16",
    "ui32",     "ui64",     "",         "",           "",           "",
    "",         "",         "",         "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ",
    "",         "i2",       "ui2",      "",           "tf32",       "f8E4M3",
    "f8E3M4",   "f4E2M1FN", "f6E2M3FN", "f6E3M2FN",   "f8E8M0FNU"};

}  // namespace

const DecodedType& Decoder::type(size_t index) {
  if (const auto it = types_.find(index); it != types_.end()) return it->second;
  return types_[index] = read_type(index);
}

Type Decoder::tensor_type(size_t index, size_t offset) {
  const Type type = written_type(index, offset);
  if (is_open(type))
    container_.file().error(offset, fmt::format("expected a tensor type of static extents, got {}",
                                                this->type(index).name));
  return type;
}

Type Decoder::written_type(size_t index, size_t offset) {
  const DecodedType& t = type(index);
  if (t.kind != Kind::kTensor)
    container_.file().error(offset, fmt::format("expected a tensor type, got {}", t.name));
  return t.type;
}

DecodedType Decoder::read_type(size_t index) {
  const Container::Entry& entry = container_.types[index];
  const DepthGuard depth(*this, entry.begin);
  ByteReader in = container_.reader(entry);
  if (!entry.encoded) return other(std::string(in.zero_terminated()));
  if (entry.dialect == "builtin") return read_builtin_type(in);
  if (entry.dialect == "vhlo") return read_vhlo_type(in);
  if (entry.dialect == "stablehlo") {
    const uint64_t code = in.varint();
    if (code == 0) return token();
    if (code == 1) return future_type(in);
  }
  return other(fmt::format("a type of {}", entry.dialect));
}

DecodedType Decoder::read_builtin_type(ByteReader& in) {
  const size_t offset = in.position();
  const uint64_t code = in.varint();
  switch (code) {
    case 0: {
      const uint64_t value = in.varint();
      const char* kind = (value & 3) == 2 ? "ui" : "i";
      return named_element(fmt::format("{}{}", kind, value >> 2));
    }
    case 1:
      return index_type();
    case 2:
      return function_type(in);
    case 3:
      return element(bfloat16);
    case 4:
      return element(float16);
    case 5:
      return element(float32);
    case 6:
      return element(float64);
    case 9:
      return complex_type(in);
    case 12:
      return other("none");
    case 13:
      return ranked_type(in, false);
    case 14:
      return ranked_type(in, true);
    case 15:
      return tuple_type(in);
    case 18:
      return other("a tensor of unknown rank");
    default:
      container_.file().error(offset,
                              fmt::format("expected a tensor type, got type {} of MLIR", code));
  }
}

DecodedType Decoder::read_vhlo_type(ByteReader& in) {
  const size_t offset = in.position();
  const uint64_t code = in.varint();
  switch (code) {
    case 1:
      return complex_type(in);
    case 8:
      return function_type(in);
    case 9:
      return index_type();
    case 20:
      return ranked_type(in, false);
    case 21:
      return ranked_type(in, true);
    case 22:
      return token();
    case 23:
      return tuple_type(in);
    case 24:
    case 30:
      return other("a quantized type");
    case 25:
      return other("a tensor of unknown rank");
    case 33:
      return other("none");
    case 42:
      return future_type(in);
    default:
      break;
  }
  if (code < kVhloElements.size() && !kVhloElements[code].empty())
    return named_element(kVhloElements[code]);
  container_.file().error(offset, fmt::format("expected a tensor type, got type {} of VHLO", code));
}

DecodedType Decoder::element_type(ByteReader& in) { return type(type_index(in)); }

DecodedType Decoder::complex_type(ByteReader& in) {
  const DecodedType part = element_type(in);
  return named_element(fmt::format("complex<{}>", part.name));
}

DecodedType Decoder::function_type(ByteReader& in) {
  DecodedType out{.kind = Kind::kFunction};
  out.name = "the type of a function";
  for (auto* list : {&out.inputs, &out.outputs})
    for (size_t left = in.count("types"); left > 0; --left) list->push_back(type_index(in));
  return out;
}

DecodedType Decoder::tuple_type(ByteReader& in) {
  DecodedType out{.kind = Kind::kTuple};
  out.name = "a tuple";
  for (size_t left = in.count("types"); left > 0; --left) out.inputs.push_back(type_index(in));
  return out;
}

// A future has the type of its result (foreign::async_start).
DecodedType Decoder::future_type(ByteReader& in) {
  const size_t count = in.count("types");
  if (count == 1) return type(type_index(in));
  for (size_t left = count; left > 0; --left) type_index(in);
  return other(fmt::format("a future of {} tensors", count));
}

DecodedType Decoder::ranked_type(ByteReader& in, bool encoding) {
  const size_t offset = in.position();
  const auto error = [&](const std::string& message) { container_.file().error(offset, message); };
  if (encoding) attribute_index(in);
  const Dims extents = signed_list(in);
  const DecodedType part = element_type(in);
  __int128 elements = 1;
  std::string name;
  for (const int64_t extent : extents) {
    name += extent == kDynamic ? "?x" : fmt::format("{}x", extent);
    if (extent != kDynamic && extent < 0) error("expected an extent from 0 on");
    elements *= extent > 0 ? extent : 1;
    if (elements > kMaxElements) error("expected at most 2^46 elements");
  }
  if (extents.size() > 32) error("expected at most 32 dimensions");
  DecodedType out = other(fmt::format("tensor<{}{}>", name, part.name));
  if (encoding) out.name += " with an encoding";
  if (encoding) return out;
  if (part.kind != Kind::kElement) {
    out.name +=
        ", whose element type Tessera does not have (i1, i2 to i64, ui2 to ui64, f8E4M3FN and its "
        "kin, f16, bf16, f32, f64, complex<f32>, complex<f64>)";
    return out;
  }
  out.kind = Kind::kTensor;
  out.type = {.dtype = part.type.dtype, .shape = Shape(extents.begin(), extents.end())};
  std::replace(out.type.shape.begin(), out.type.shape.end(), kDynamic, kOpenExtent);
  return out;
}

}  // namespace tessera::interchange::bytecode
