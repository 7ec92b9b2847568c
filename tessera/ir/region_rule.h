// RegionRule: what an op's attributes say of its regions before these are read, where the generic
// form (and bytecode, which is generic) does not: the axes that are manual inside, and how the
// inputs are typed.
#pragma once

#include "tessera/ir/op_format.h"

namespace tessera::ir {

// A region that says what one device does along these axes.
struct ManualScope {
  Mesh mesh;
  AxisNames axes;            // sorted
  std::vector<Type> inputs;  // weak and varying: of the region's first inputs
};
using RegionRule = ManualScope (*)(OpReader& reader);

// By value, once, at start-up.
bool register_region_rule(std::string_view dialect, std::string_view name, RegionRule rule);
// Null: none.
RegionRule find_region_rule(std::string_view dialect, std::string_view name);

}  // namespace tessera::ir
