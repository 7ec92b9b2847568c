// RegionRule: what an op's attributes say of its regions before these are read, where the generic
// form (and bytecode, which is generic) does not: the axes that are manual inside, and how the
// inputs are typed. CaptureRule: what becomes of the values of outside that they use.
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

// Regions of scalars may use values around the op where the op can take them as operands: makes
// operands of reader.captures, which the region's last inputs stand for.
using CaptureRule = void (*)(OpReader& reader);
bool register_capture_rule(std::string_view dialect, std::string_view name, CaptureRule rule);
// Null: none.
CaptureRule find_capture_rule(std::string_view dialect, std::string_view name);

}  // namespace tessera::ir
