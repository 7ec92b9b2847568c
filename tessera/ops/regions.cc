#include "tessera/ops/regions.h"

namespace tessera {
namespace {
RegionTransforms installed{};
}  // namespace

const RegionTransforms& regions() {
  TESSERA_CHECK(installed.trace, "the transforms are not linked");
  return installed;
}

void install_region_transforms(const RegionTransforms& transforms) { installed = transforms; }

}  // namespace tessera
