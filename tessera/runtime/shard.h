// Shard: the part of an array that one device holds, for users.
#pragma once

#include "tessera/base/literal.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera {

// A part of an array, and the device that holds it.
struct Shard {
  Device device;
  ShardIndex index;  // the part's ranges in the global array, without padding
  Literal data;
};

}  // namespace tessera
