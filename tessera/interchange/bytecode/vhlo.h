// The differences between VHLO's and StableHLO's attributes: VHLO writes all attributes, and
// dimension numbers one by one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::bytecode {

// Converts attributes of VHLO's op to StableHLO's: dimension numbers become one attribute, defaults
// are left out. `symbol` returns the meaning of a name. Returns what is wrong; empty if nothing is.
std::string from_vhlo(std::string_view op, TextAttr::Entries& attributes,
                      const std::function<TextAttr(const std::string&)>& symbol);
// Converts attributes of StableHLO's op to VHLO's. Defaults stay left out.
void to_vhlo(std::string_view op, TextAttr::Entries& attributes);
// Returns whether the value is false, or has no elements.
bool is_empty(const TextAttr& value);
// Returns whether the attribute says how inexact a dot may be, which Tessera does not read.
bool is_algorithm(std::string_view attribute);

}  // namespace tessera::interchange::bytecode
