// Transfers between the host and devices, and between the memories of devices. The caller's thread
// copies the memory, except that aligned arrays of the host are used in place if the caller allows
// that.
#pragma once

#include "plugin/buffer.h"

struct PJRT_AsyncHostToDeviceTransferManager;

namespace tessera::plugin {

void add_transfers(PJRT_Api& api);

// Sets the functions for buffers that are made before their data arrives, in pieces, from any
// thread.
void add_async_transfers(PJRT_Api& api);

}  // namespace tessera::plugin
