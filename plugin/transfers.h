// Transfers between host and devices, and between the memories of devices. The caller's thread
// copies the memory; aligned arrays of the host that may be used in place are.
#pragma once

#include "plugin/buffer.h"

struct PJRT_AsyncHostToDeviceTransferManager;

namespace tessera::plugin {

void add_transfers(PJRT_Api& api);

// Buffers that are made before their data comes, piece by piece, from any thread.
void add_async_transfers(PJRT_Api& api);

}  // namespace tessera::plugin
