// TaskQueue: threads for the tasks that handlers schedule (XLA_FFI_ThreadPool). A handler may wait
// for its tasks while it is itself a task of the pool of Tessera's own work (base/thread_pool.h),
// so these threads are separate from that pool.
#pragma once

#include <cstdint>

namespace tessera::ffi {

// Runs task(data) on one of the threads. There are as many as in thread_pool(). The first call
// starts them; after fork() the child starts its own. They end with the process.
void schedule(void (*task)(void*), void* data);

}  // namespace tessera::ffi
