// Where arrays lie, and moving them: between the host, emulated devices and those of plugins.
#pragma once

#include <memory>

#include "tessera/ir/array.h"
#include "tessera/runtime/device_array.h"

namespace tessera::compile {

// Of an array on devices; null for others.
const ArrayLayoutRef& layout_of(const ArrayData& data);

// Whether its memory was donated.
bool is_deleted(const Array& x);

// x under `sharding`, by the cheapest path: by a program among devices that have a network, otherwise
// through the memory of this process. The data itself where it lies so already. UserError for a
// traced or abstract array.
std::shared_ptr<const ArrayData> placed_data(const Array& x, const Sharding& sharding);

// The array in memory of this process, for reading: its shards are there, and its layout is the
// same. Of one that lies nowhere, on the device that a program would take it to.
DeviceArrayRef in_memory(const Array& x);

// What make_array_from_callback makes (runtime/device_array.h), on the devices of the sharding.
std::shared_ptr<const ArrayData> placed_from_callback(
    DType dtype, const Shape& global, const Sharding& sharding,
    const std::function<Literal(const ShardIndex&)>& data, bool weak = false);

}  // namespace tessera::compile
