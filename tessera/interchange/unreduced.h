// Shardy's unreduced axes: along them devices hold parts that a value is the sum of. To the ops of a
// program a value is the sum; what a device holds matters where it comes in or goes out, at main's
// arguments and results (ParsedModule) and at a manual computation's.
#pragma once

#include <optional>

#include "tessera/interchange/op_format.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::interchange {

// What a sharding attribute says.
struct WrittenSharding {
  NamedSharding value;
  AxisNames unreduced;
};
// As an attribute: TextAttr::Sharding where no axis is unreduced, else a record of both.
TextAttr sharding_attribute(WrittenSharding sharding);
// None for other attributes.
std::optional<WrittenSharding> read_sharding(const TextAttr& attribute);
// As an attribute: TextAttr::Shardings where no axis is unreduced, else a list.
TextAttr shardings_attribute(std::vector<WrittenSharding> shardings);
// None for other attributes.
std::optional<std::vector<WrittenSharding>> read_shardings(const TextAttr& attribute);

// Their names. UserError for parts of axes, and for names that the mesh does not have.
AxisNames unreduced_axes(const Mesh& mesh, std::span<const AxisRef> axes);

}  // namespace tessera::interchange
