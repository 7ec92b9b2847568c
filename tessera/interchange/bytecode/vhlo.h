// What VHLO says of ops otherwise than StableHLO: all attributes are written out, dimension numbers
// one by one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::bytecode {

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
