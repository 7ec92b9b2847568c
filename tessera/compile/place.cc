#include "tessera/compile/place.h"

#include "tessera/compile/program_cache.h"
#include "tessera/engine/engine.h"
#include "tessera/sharding/atoms.h"

namespace tessera::compile {
namespace {

// Returns whether the array is moved by a program that does nothing else: it is if it stays on the
// same devices and these have a network. Arrays that go to other devices, or to the devices in
// another order, move through the memory of this process.
bool moves_by_program(const ArrayLayout& from, const Sharding& to) {
  return from.sharding.is_named() && to.is_named() &&
         same_device_order(from.sharding.named().mesh(), to.named().mesh()) &&
         from.sharding.named().mesh().devices() == to.named().mesh().devices() &&
         engine::engine_of("device_put", from.sharding).has_network();
}

Array moved_by_program(const Array& x, const Sharding& to) {
  Function identity;
  identity.name = "device_put";
  Type type = x.type();
  type.sharding = nullptr;
  identity.outputs = {identity.add_input(type)};
  const Sharding from = x.sharding();
  ShardingRequest request;
  request.inputs = {from.named()};
  request.outputs = {to.named()};
  return compile_cached(identity, request, to.devices()[0])->run({&x, 1})[0];
}

}  // namespace

const ArrayLayoutRef& layout_of(const ArrayData& data) {
  static const ArrayLayoutRef& none = *new ArrayLayoutRef;
  const DeviceData* placed = device_data(data);
  return placed ? placed->layout() : none;
}

bool is_deleted(const Array& x) {
  const DeviceData* data = device_data(*x.data());
  return data && data->is_deleted();
}

DeviceArrayRef in_memory(const Array& x) {
  const std::shared_ptr<const ArrayData>& data = x.data();
  if (!device_data(*data))
    return device_array(data->to_literal(), data->sharding(), data->type.weak);
  return engine::engine_of("device_put", data->sharding())
      .to_memory(std::static_pointer_cast<const DeviceData>(data));
}

std::shared_ptr<const ArrayData> placed_data(const Array& x, const Sharding& sharding) {
  const std::shared_ptr<const ArrayData>& data = x.data();
  const ArrayLayoutRef& from = layout_of(*data);
  const engine::Engine& engine = engine::engine_of("device_put", sharding);
  if (!from) return engine.to_devices(device_array(data->to_literal(), sharding, data->type.weak));
  const ArrayLayoutRef to = array_layout(from->dtype, from->global, sharding);
  if (from == to) return data;
  if (moves_by_program(*from, sharding)) return moved_by_program(x, sharding).data();
  return engine.to_devices(reshard(in_memory(x), sharding));
}

std::shared_ptr<const ArrayData> placed_from_callback(
    DType dtype, const Shape& global, const Sharding& sharding,
    const std::function<Literal(const ShardIndex&)>& data, bool weak) {
  DeviceArrayRef staged = device_array_from_callback(dtype, global, sharding, data);
  if (weak)
    staged = std::make_shared<DeviceArray>(device_array_type(*staged->layout(), true),
                                           staged->layout(), staged->buffer(), staged->offsets());
  return engine::engine_of("device_put", sharding).to_devices(std::move(staged));
}

}  // namespace tessera::compile
