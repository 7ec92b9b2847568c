// The attributes of ops in bytecode. They are properties, which have positions instead of names;
// the table of ops (op_table.h) has their order.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/namespaces.h"

namespace tessera::interchange::bytecode {

// An attribute among an op's properties. If it is optional, a flag tells whether it is present. The
// sizes of segments of operands or results are numbers instead of attributes.
struct Property {
  std::string_view name;
  bool optional = false, sizes = false;
};
// Returns the properties of the op if it has `count` numbers. The count depends on the version of
// the dialect.
std::vector<Property> properties_of(std::string_view dialect, std::string_view op, size_t count);

using Version = std::array<int, 3>;
// Parses 1.17.0. Throws UserError kValue for other text, and for versions before VHLO's first.
Version parse_version(std::string_view text);

// An op of one version of VHLO, such as add_v1, and its attributes.
struct VhloOp {
  std::string name;
  std::vector<Property> attributes;
};
// Returns the op of that name, or nullopt if that version has no such op.
std::optional<VhloOp> find_vhlo(std::string_view op, const Version& version);

// Returns add for add_v1.
std::string_view without_version(std::string_view name);

}  // namespace tessera::interchange::bytecode
