#include "tessera/compile/place.h"

#include "tessera/compile/program_cache.h"
#include "tessera/engine/client_array.h"
#include "tessera/engine/clients.h"
#include "tessera/sharding/atoms.h"

namespace tessera::compile {
namespace {

using engine::ClientArray;

// Arrays of a plugin's devices change their sharding by a program that does nothing else, so that
// its network moves them; those on other devices, or in another order of them, go through the host.
bool moves_by_program(const ArrayLayout& from, const Sharding& to) {
  return from.sharding.is_named() && to.is_named() &&
         same_device_order(from.sharding.named().mesh(), to.named().mesh()) &&
         from.sharding.named().mesh().devices() == to.named().mesh().devices();
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
  switch (data.kind) {
    case ArrayData::Kind::kDevice:
      return static_cast<const DeviceArray&>(data).layout();
    case ArrayData::Kind::kClient:
      return static_cast<const ClientArray&>(data).layout();
    case ArrayData::Kind::kTracer:
    case ArrayData::Kind::kHost:
    case ArrayData::Kind::kAbstract:
      break;
  }
  return none;
}

bool is_deleted(const Array& x) {
  const ArrayData& data = *x.data();
  if (data.kind == ArrayData::Kind::kDevice)
    return static_cast<const DeviceArray&>(data).is_deleted();
  return data.kind == ArrayData::Kind::kClient &&
         static_cast<const ClientArray&>(data).is_deleted();
}

DeviceArrayRef in_memory(const Array& x) {
  const std::shared_ptr<const ArrayData>& data = x.data();
  if (data->kind == ArrayData::Kind::kDevice)
    return std::static_pointer_cast<const DeviceArray>(data);
  if (data->kind == ArrayData::Kind::kClient)
    return engine::to_host_memory(static_cast<const ClientArray&>(*data));
  return device_array(data->to_literal(), data->sharding(), data->type.weak);
}

std::shared_ptr<const ArrayData> placed_data(const Array& x, const Sharding& sharding) {
  const std::shared_ptr<const ArrayData>& data = x.data();
  const ArrayLayoutRef& from = layout_of(*data);
  const bool to_client = engine::client_of("device_put", sharding) != 0;
  if (!from) {
    DeviceArrayRef staged = device_array(data->to_literal(), sharding, data->type.weak);
    if (!to_client) return staged;
    return engine::to_client(*staged);
  }
  const ArrayLayoutRef to = array_layout(from->dtype, from->global, sharding);
  if (from == to) return data;
  if (data->kind == ArrayData::Kind::kClient && moves_by_program(*from, sharding))
    return moved_by_program(x, sharding).data();
  const DeviceArrayRef staged = reshard(in_memory(x), sharding);
  if (!to_client) return staged;
  return engine::to_client(*staged);
}

std::shared_ptr<const ArrayData> placed_from_callback(
    DType dtype, const Shape& global, const Sharding& sharding,
    const std::function<Literal(const ShardIndex&)>& data, bool weak) {
  DeviceArrayRef staged = device_array_from_callback(dtype, global, sharding, data);
  if (weak)
    staged = std::make_shared<DeviceArray>(device_array_type(*staged->layout(), true),
                                           staged->layout(), staged->buffer(), staged->offsets());
  if (engine::client_of("device_put", sharding) == 0) return staged;
  return engine::to_client(*staged);
}

}  // namespace tessera::compile
