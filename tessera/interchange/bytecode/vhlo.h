// The differences between VHLO's and StableHLO's attributes: VHLO writes all attributes, and
// dimension numbers as separate attributes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::bytecode {

// Converts attributes of VHLO's op to StableHLO's: dimension numbers become one attribute, and
// defaults are left out. `symbol` returns the meaning of a name. Returns a description of the
// error, or an empty text.
std::string from_vhlo(std::string_view op, TextAttr::Entries& attributes,
                      const std::function<TextAttr(const std::string&)>& symbol);
// Converts attributes of StableHLO's op to VHLO's. Defaults are not added.
void to_vhlo(std::string_view op, TextAttr::Entries& attributes);
// Returns whether the value is false, or has no elements.
bool is_empty(const TextAttr& value);
// Returns whether the attribute is about how inexact a dot may be. Tessera ignores such attributes.
bool is_algorithm(std::string_view attribute);

}  // namespace tessera::interchange::bytecode
