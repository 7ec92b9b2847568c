#include "tessera/base/workspace.h"

#include <utility>
#include <vector>

#include "tessera/base/per_thread.h"

namespace tessera {
namespace {

// Smaller workspaces are not kept: they come from the thread's cache of buffers.
constexpr int64_t kLeastKept = (int64_t{64} << 10) + 1;
constexpr int64_t kKeptBytes = int64_t{64} << 20;

struct Kept {
  std::vector<Buffer> buffers;  // most recently released one last
  int64_t bytes = 0;

  // Returns the smallest buffer that is large enough, unless it is much larger than needed; an
  // empty one if there is none.
  Buffer take(int64_t least) {
    auto best = buffers.end();
    for (auto b = buffers.begin(); b != buffers.end(); ++b)
      if (b->capacity() >= least && b->capacity() / 4 <= least &&
          (best == buffers.end() || b->capacity() < best->capacity()))
        best = b;
    if (best == buffers.end()) return {};
    Buffer out = std::move(*best);
    buffers.erase(best);
    bytes -= out.capacity();
    return out;
  }

  // Keeps the buffer. If there is no room, the oldest ones are freed.
  void keep(Buffer buffer) {
    while (!buffers.empty() && bytes + buffer.capacity() > kKeptBytes) {
      bytes -= buffers.front().capacity();
      buffers.erase(buffers.begin());
    }
    bytes += buffer.capacity();
    buffers.push_back(std::move(buffer));
  }
};
Kept& kept() { return per_thread<Kept, RawWorkspace>(); }

}  // namespace

RawWorkspace::RawWorkspace(int64_t bytes) {
  if (bytes >= kLeastKept) buffer_ = kept().take(bytes);
  if (!buffer_) buffer_ = Buffer::allocate(bytes);
}

RawWorkspace::~RawWorkspace() {
  if (buffer_.capacity() >= kLeastKept && buffer_.capacity() <= kKeptBytes)
    kept().keep(std::move(buffer_));
}

}  // namespace tessera
