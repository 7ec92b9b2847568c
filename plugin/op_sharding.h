// Shardings as XLA's message OpSharding (xla/xla_data.proto), in which JAX's callbacks take and
// return them. It lists the devices that hold each tile of an array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::plugin {

// The field `type` of the message.
enum OpShardingType : uint8_t { kReplicated = 0, kMaximal = 1, kTuple = 2, kOther = 3 };

// Returns the message for an array of rank `rank`.
std::string to_op_sharding(const NamedSharding& sharding, int64_t rank);
// Returns the message for a tuple of arrays.
std::string tuple_op_sharding(const std::vector<std::string>& parts);

// Returns the sharding on `mesh` that the message describes, for an array of rank `rank`. Throws
// ApiError for a sharding that axes of the mesh, or parts of them, cannot express.
NamedSharding from_op_sharding(std::string_view message, const Mesh& mesh, int64_t rank);
// Returns the messages of a tuple's parts; for any other message, the message itself.
std::vector<std::string> op_sharding_parts(std::string_view message);

}  // namespace tessera::plugin
