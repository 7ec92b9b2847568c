// What communication costs: bytes by the ring algorithms, seconds on the links of the mesh's
// devices.
#pragma once

#include "tessera/ir/op_def.h"
#include "tessera/spmd/partition.h"

namespace tessera {

// Bytes that each device sends when `kind` runs once over groups of n devices; `operand` is the
// local operand, of b bytes.
//   all_reduce                   2 (n-1)/n b
//   all_gather                   (n-1) b
//   reduce_scatter, all_to_all   (n-1)/n b
//   permute, broadcast           b
int64_t bytes_sent(CollectiveKind kind, int64_t n, const Type& operand);

// Seconds for sending `bytes` from every device of the mesh at once: latency a message and
// bandwidth of the device's links.
double seconds_to_send(const Mesh& mesh, int64_t bytes, int64_t messages);

}  // namespace tessera
