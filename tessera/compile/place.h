// Where arrays are, and how they move between the host, emulated devices and devices of plugins.
#pragma once

#include <memory>

#include "tessera/ir/array.h"
#include "tessera/runtime/device_array.h"

namespace tessera::compile {

// Returns the layout of an array on devices; null for any other array.
const ArrayLayoutRef& layout_of(const ArrayData& data);

// Returns whether the array was deleted, since its memory was donated.
bool is_deleted(const Array& x);

// Returns x under `sharding`, moved by the cheapest path: by a program if its devices have a
// network, otherwise through the memory of this process. If x has that sharding already, returns
// the data of x. Throws UserError for a traced or abstract array.
std::shared_ptr<const ArrayData> placed_data(const Array& x, const Sharding& sharding);

// Returns the array in the memory of this process, for reading, with the same shards and layout. An
// array that is on no device is first put on the device that a program would use.
DeviceArrayRef in_memory(const Array& x);

// Returns what make_array_from_callback (runtime/device_array.h) returns, on the devices of the
// sharding.
std::shared_ptr<const ArrayData> placed_from_callback(
    DType dtype, const Shape& global, const Sharding& sharding,
    const std::function<Literal(const ShardIndex&)>& data, bool weak = false);

}  // namespace tessera::compile
