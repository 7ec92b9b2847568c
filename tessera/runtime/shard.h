// Shard: the part of an array that one device holds, for users.
#pragma once

#include "tessera/base/literal.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera {

// The part that one device holds.
struct Shard {
  Device device;
  ShardIndex index;  // its part of the global array, without padding
  Literal data;
};

}  // namespace tessera
