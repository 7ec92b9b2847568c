// What the machine itself does, without Tessera: the figures a workload is held against.
#pragma once

#include <cstdint>
#include <functional>

namespace tessera::bench {

// y = x copied by two plain threads, `bytes` each way.
std::function<void()> plain_copy(int64_t bytes);
// c = a . b of n x n float32 by oneDNN called alone.
std::function<void()> onednn_gemm(int64_t n);

}  // namespace tessera::bench
