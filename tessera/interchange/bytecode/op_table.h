// What bytecode says of ops otherwise than text does: attributes as properties, by position, and
// VHLO's ops, which are StableHLO's with a version and all attributes written out.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/interchange/op_format.h"

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
struct VhloVersion {
  std::string name;
  std::vector<Property> attributes;
};
// Null where that version has no such op.
const VhloVersion* find_vhlo(std::string_view op, const Version& version);

// add_v1: add.
std::string_view without_version(std::string_view name);
// Attributes of VHLO's op as StableHLO's has them: dimension numbers as one attribute, none that is
// the default. `symbol`: what a name stands for. Empty, or what is wrong.
std::string from_vhlo(std::string_view op, TextAttr::Entries& attributes,
                      const std::function<TextAttr(const std::string&)>& symbol);
// The other way round; defaults stay left out.
void to_vhlo(std::string_view op, TextAttr::Entries& attributes);
// Whether the value says nothing: false, or without elements.
bool is_empty(const TextAttr& value);
// Whether the attribute says how a dot may be less exact: nothing that Tessera reads.
bool is_algorithm(std::string_view attribute);

}  // namespace tessera::interchange::bytecode
