#include "tessera/ops/control/region_transforms.h"

namespace tessera::ops {
namespace {
RegionTransforms installed{};
}  // namespace

Type traced_type(const Array& x) {
  Type type = x.type();
  type.sharding = nullptr;
  return type;
}

std::vector<Type> traced_types(std::span<const Array> arrays) {
  std::vector<Type> out;
  for (const Array& x : arrays) out.push_back(traced_type(x));
  return out;
}

const RegionTransforms& regions() {
  TESSERA_CHECK(installed.trace, "the transforms are not linked");
  return installed;
}

Use identity_use(size_t input, const Array& cotangent) {
  return {.inputs = {input},
          .apply = regions()
                       .trace([](const std::vector<Array>& x) { return x; },
                              std::vector<Type>{traced_type(cotangent)}, "use")
                       .function,
          .operands = {},
          .cotangents = {cotangent}};
}

void install_region_transforms(const RegionTransforms& transforms) { installed = transforms; }

}  // namespace tessera::ops
