// TaskQueue: threads for the tasks that handlers schedule (XLA_FFI_ThreadPool). A handler may wait
// for its tasks, so they have threads apart from the pool of Tessera's own work, in which the waiting
// handler itself may be a task (base/thread_pool.h).
#pragma once

#include <cstdint>

namespace tessera::ffi {

// Runs task(data) on one of the threads, of which there are as many as in thread_pool(). The first
// call starts them; after fork() the child starts its own. They end with the process.
void schedule(void (*task)(void*), void* data);

}  // namespace tessera::ffi
