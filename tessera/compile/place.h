// Where arrays are, and moving them: between the host, emulated devices and those of plugins.
#pragma once

#include <memory>

#include "tessera/ir/array.h"
#include "tessera/runtime/device_array.h"

namespace tessera::compile {

// Returns the layout of an array on devices; null for others.
const ArrayLayoutRef& layout_of(const ArrayData& data);

// Returns whether the array was deleted, since its memory was donated.
bool is_deleted(const Array& x);

// Returns x under `sharding`, moved by the cheapest path: by a program among devices that have a
// network, otherwise through the memory of this process. If it has that sharding already, its own
// data is returned. Throws UserError for a traced or abstract array.
std::shared_ptr<const ArrayData> placed_data(const Array& x, const Sharding& sharding);

// Returns the array in memory of this process, for reading, with the same shards and layout. An
// array that is on no device is put where a program would take it.
DeviceArrayRef in_memory(const Array& x);

// Returns the result of make_array_from_callback (runtime/device_array.h) on the devices of the
// sharding.
std::shared_ptr<const ArrayData> placed_from_callback(
    DType dtype, const Shape& global, const Sharding& sharding,
    const std::function<Literal(const ShardIndex&)>& data, bool weak = false);

}  // namespace tessera::compile
