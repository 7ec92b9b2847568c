// Attributes of ops in bytecode: properties, by position. The table of ops (op_table.h) has their
// order.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::interchange::bytecode {

// An attribute among an op's properties. An optional one that is there has a flag; the sizes of
// segments of operands, or results, are numbers and no attribute.
struct Property {
  std::string_view name;
  bool optional = false, sizes = false;
};
// Those of the op, if these are `count` numbers; dialects say how many in their own versions.
std::vector<Property> properties_of(std::string_view dialect, std::string_view op, size_t count);

using Version = std::array<int, 3>;
// 1.17.0; UserError kValue for other text, and for versions before VHLO's first.
Version parse_version(std::string_view text);

// An op of one version of VHLO: add_v1, and its attributes.
struct VhloOp {
  std::string name;
  std::vector<Property> attributes;
};
// The op of that name; nothing if that version has no such op.
std::optional<VhloOp> find_vhlo(std::string_view op, const Version& version);

// add_v1: add.
std::string_view without_version(std::string_view name);

}  // namespace tessera::interchange::bytecode
