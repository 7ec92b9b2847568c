#include "tessera/ir/unreduced.h"

#include <algorithm>

#include "tessera/ir/format.h"

namespace tessera::ir {

AxisNames unreduced_axes(const Mesh& mesh, std::span<const AxisRef> axes) {
  AxisNames out;
  for (const AxisRef& axis : axes) {
    if (!axis.is_whole() || !mesh.has_axis(axis.name))
      fail(ErrorKind::kParse, "sdy.sharding",
           "expected whole axes of {} as unreduced ones, got {}; name an axis of the mesh", mesh,
           axis);
    if (std::find(out.begin(), out.end(), axis.name) != out.end())
      fail(ErrorKind::kParse, "sdy.sharding",
           "expected distinct unreduced axes, got '{}' twice; name it once", axis.name);
    out.push_back(axis.name);
  }
  return out;
}

}  // namespace tessera::ir
