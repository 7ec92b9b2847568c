#include "tessera/ops/core/traced_function.h"

namespace tessera::ops {

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

}  // namespace tessera::ops
