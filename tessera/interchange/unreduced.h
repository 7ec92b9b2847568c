// Shardy's unreduced axes: devices along them hold parts whose sum is the value. The ops of a
// program use the sum. The parts matter only at main's arguments and results (ParsedModule) and at
// those of a manual computation.
#pragma once

#include <optional>

#include "tessera/interchange/op_format.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::interchange {

// The content of a sharding attribute.
struct WrittenSharding {
  NamedSharding value;
  AxisNames unreduced;
};
// Returns the attribute: TextAttr::Sharding if no axis is unreduced, otherwise a record of both.
TextAttr sharding_attribute(WrittenSharding sharding);
// Reads such an attribute. Returns nullopt for other attributes.
std::optional<WrittenSharding> read_sharding(const TextAttr& attribute);
// Returns the attribute: TextAttr::Shardings if no axis is unreduced, otherwise a list.
TextAttr shardings_attribute(std::vector<WrittenSharding> shardings);
// Reads such an attribute. Returns nullopt for other attributes.
std::optional<std::vector<WrittenSharding>> read_shardings(const TextAttr& attribute);

// Returns the names of these axes. Throws UserError for parts of axes, and for names that the mesh
// does not have.
// have.
AxisNames unreduced_axes(const Mesh& mesh, std::span<const AxisRef> axes);

}  // namespace tessera::interchange
