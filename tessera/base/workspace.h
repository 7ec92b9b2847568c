// Workspace: uninitialised memory for the duration of a call, aligned to 64 bytes.
//
// It comes from the pool of buffers (buffer.h). A thread keeps released large workspaces for its
// next calls, up to a bound, because they are in its core's caches, and new pages would cost as
// much time as the work itself. memory_stats() counts what threads keep as live.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/buffer.h"

namespace tessera {

class RawWorkspace {
 public:
  // Throws RuntimeError if the system has no more memory.
  explicit RawWorkspace(int64_t bytes);
  ~RawWorkspace();
  RawWorkspace(const RawWorkspace&) = delete;
  RawWorkspace& operator=(const RawWorkspace&) = delete;
  std::byte* data() const { return buffer_.data(); }

 private:
  Buffer buffer_;
};

// Memory for `count` objects of a type that needs no constructor.
template <class T>
class Workspace : RawWorkspace {
 public:
  explicit Workspace(int64_t count) : RawWorkspace(count * static_cast<int64_t>(sizeof(T))) {}
  T* data() const { return reinterpret_cast<T*>(RawWorkspace::data()); }
};

}  // namespace tessera
