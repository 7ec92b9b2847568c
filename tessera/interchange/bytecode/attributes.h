// Decoder: decodes the attributes and types of a container into those of text (OpText, Type). Its
// dialects are builtin, vhlo, stablehlo, chlo and sdy. VHLO's attributes get StableHLO's names.
#pragma once

#include <functional>
#include <unordered_map>

#include "tessera/interchange/bytecode/blob.h"
#include "tessera/interchange/bytecode/container.h"
#include "tessera/interchange/bytecode/enums.h"
#include "tessera/interchange/op_format.h"

namespace tessera::interchange::bytecode {

struct DecodedType {
  enum class Kind : uint8_t { kElement, kTensor, kFunction, kTuple, kOther };
  Kind kind = Kind::kOther;
  Type type;                            // of a tensor; an element type has only a dtype
  std::vector<size_t> inputs, outputs;  // of a function; a tuple has its parts as inputs
  std::string name;                     // for messages: f8E4M3FN, a tuple
  // For an element type: whether its numbers are integers, and their number of bits.
  bool is_integer = false, is_index = false;
  int bits = 0;
};

// The parts of a mesh attribute.
struct DecodedMesh {
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<int64_t> ids;  // empty: 0, 1, ...
};

class Decoder {
 public:
  // Functions that resolve names to a mesh, a function or a Symbol, and that parse attributes that
  // are text.
  struct Names {
    std::function<TextAttr(const std::string& name, size_t offset)> symbol;
    std::function<TextAttr(std::string_view text, size_t offset)> parse;
    std::function<Mesh(const DecodedMesh& mesh, size_t offset)> mesh;
    std::function<Mesh(const TextAttr& mesh, size_t offset)> inline_mesh;         // StableHLO's
    std::function<void(std::string_view bytes, const Literal& value)> on_tensor;  // may be empty
  };
  Decoder(const Container& container, Names names);

  TextAttr attribute(size_t index);
  // Returns the names of a dictionary's entries and the numbers of their attributes.
  std::vector<std::pair<std::string, size_t>> entries(size_t index);
  size_t type_of(size_t index);  // the type in a type attribute
  std::string string(size_t index);
  DecodedMesh mesh(size_t index);
  // Returns the name in a location of the program: a name, or file:line; empty if it has neither.
  std::string location(size_t index);
  const DecodedType& type(size_t index);
  // Returns the type of a tensor. Throws UserError at `offset` for others.
  Type tensor_type(size_t index, size_t offset);
  // Returns the same, with extents that may be open (refine_shapes.h).
  Type written_type(size_t index, size_t offset);

 private:
  // Limits the depth of the C++ stack, and the time for attributes that refer to each other many
  // times.
  class DepthGuard {
   public:
    DepthGuard(Decoder& decoder, size_t offset);
    ~DepthGuard() { --decoder_.depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

   private:
    Decoder& decoder_;
  };
  ByteReader open(size_t index, std::string_view dialect, std::initializer_list<uint64_t> codes);
  TextAttr read_builtin(ByteReader& in, size_t index);
  TextAttr read_vhlo(ByteReader& in);
  TextAttr read_stablehlo(ByteReader& in);
  TextAttr read_chlo(ByteReader& in);
  TextAttr read_sdy(ByteReader& in, size_t index);
  TextAttr read_list(ByteReader& in);
  TextAttr read_number(ByteReader& in);
  TextAttr read_tensor(ByteReader& in);
  TextAttr read_resource(ByteReader& in);
  TextAttr read_array(ByteReader& in);
  TextAttr read_enum(ByteReader& in, const EnumKind& kind);
  TextAttr make_tensor(std::string_view bytes, const Type& type, size_t offset);
  TextAttr type_attribute(size_t type);
  NamedSharding sharding(size_t index, AxisNames& unreduced);
  AxisRef axis(size_t index);
  DimSpec dim(size_t index);
  std::vector<AxisRef> axes(ByteReader& in);
  size_t attribute_index(ByteReader& in) {
    return in.index(container_.attributes.size(), "an attribute");
  }
  size_t type_index(ByteReader& in) { return in.index(container_.types.size(), "a type"); }
  Dims signed_list(ByteReader& in);
  ConvolutionNumbers read_convolution_numbers(ByteReader& in);
  TextAttr sharding_rule(ByteReader& in);
  TextAttr tensor_mapping(size_t index);
  TextAttr operand_alias(ByteReader& in);  // the result that a custom call writes over an operand
  DecodedType read_type(size_t index);
  DecodedType read_builtin_type(ByteReader& in);
  DecodedType read_vhlo_type(ByteReader& in);
  DecodedType element_type(ByteReader& in);
  DecodedType complex_type(ByteReader& in);
  DecodedType ranked_type(ByteReader& in, bool encoding);
  DecodedType function_type(ByteReader& in);
  DecodedType tuple_type(ByteReader& in);
  DecodedType future_type(ByteReader& in);

  const Container& container_;
  Names names_;
  std::unordered_map<size_t, TextAttr> tensors_;
  std::unordered_map<size_t, DecodedType> types_;
  int depth_ = 0;
  // The number of attributes that may still be read, since they can refer to each other many times.
  int64_t left_;
};

}  // namespace tessera::interchange::bytecode
