#include "tessera/numpy/placement.h"

#include <iostream>

#include "tessera/compile/place.h"
#include "tessera/ir/format.h"
#include "tessera/ops/control/control.h"

namespace tessera {

using namespace compile;

Array device_put(const Array& x, const Sharding& sharding) {
  if (x.is_tracer()) {
    if (!sharding.is_named())
      trace_error("device_put",
                  "expected a NamedSharding for the traced {}, got {}; place the function's "
                  "arguments instead",
                  describe(x.type()), sharding);
    return lax::sharding_constraint(x, sharding.named());
  }
  if (sharding.is_named()) check_rank("device_put", sharding.named(), x.shape());
  if (layout_of(*x.data()) && x.sharding() == sharding) return x;
  return Array(placed_data(x, sharding));
}

Array device_put(const Array& x, const Device& device) {
  return device_put(x, Sharding(SingleDeviceSharding(device)));
}

Array with_sharding_constraint(const Array& x, const NamedSharding& sharding) {
  if (Trace::current()) return lax::sharding_constraint(x, sharding);
  check_rank("with_sharding_constraint", sharding, x.shape());
  return device_put(x, Sharding(sharding));
}

std::vector<Shard> addressable_shards(const Array& x) {
  if (x.is_tracer())
    trace_error("addressable_shards",
                "expected a concrete array, got the traced {}: it has no data yet",
                describe(x.type()));
  return in_memory(x)->addressable_shards();
}

Array make_array_from_callback(const Shape& shape, const Sharding& sharding, DType dtype,
                               const std::function<Literal(const ShardIndex&)>& data) {
  return Array(placed_from_callback(dtype, shape, sharding, data));
}

void visualize_array_sharding(const Array& x, const VisualizeOptions& options) {
  std::cout << sharding_table(x.shape(), x.sharding(), options);
  if (!x.is_tracer()) std::cout.flush();
}

}  // namespace tessera
