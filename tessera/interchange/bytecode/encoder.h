// Encoder: encodes attributes and types as bytecode. It is the inverse of attributes.h.
#pragma once

#include "tessera/interchange/bytecode/tables.h"
#include "tessera/interchange/op_format.h"
#include "tessera/interchange/print_parts.h"

namespace tessera::interchange::bytecode {

class Encoder {
 public:
  Encoder(Tables& tables, Symbols& symbols) : tables_(tables), symbols_(symbols) {}

  // Return numbers of attributes. `name` is the name of the op's attribute, which may determine its
  // type.
  size_t vhlo(const TextAttr& value, std::string_view name = {});
  size_t vhlo_string(std::string_view text);
  size_t vhlo_list(const std::vector<size_t>& items);
  size_t vhlo_dictionary(const TextAttr::Entries& entries);
  size_t vhlo_enum(std::string_view kind, std::string_view value);
  size_t vhlo_type_attribute(size_t type);
  size_t vhlo_version(int64_t version);  // of a custom call
  size_t vhlo_accuracy();                // the default one
  size_t vhlo_tensor(const Literal& value, const Shape& shape);
  size_t builtin(const TextAttr& value);
  size_t builtin_string(std::string_view text);
  size_t builtin_dictionary(std::vector<std::pair<std::string, size_t>> entries);
  size_t location(std::string_view source);
  size_t shardy(const TextAttr& value);
  size_t shardy_axes(const std::vector<std::string>& axes);
  size_t shardy_mesh(const Mesh& mesh);

  // Return numbers of types.
  size_t vhlo_type(const Type& type);
  size_t builtin_type(const Type& type);
  size_t vhlo_function(const std::vector<Type>& inputs, const std::vector<Type>& outputs);
  size_t vhlo_none();

 private:
  size_t vhlo_element(DType dtype);
  size_t builtin_element(DType dtype);
  size_t shardy_axis(const AxisRef& axis);
  size_t shardy_dim(const DimSpec& dim);
  size_t shardy_sharding(const NamedSharding& sharding, int64_t rank);
  size_t shardy_list(const std::vector<std::pair<NamedSharding, int64_t>>& shardings);

  Tables& tables_;
  Symbols& symbols_;
};

}  // namespace tessera::interchange::bytecode
