#include "tessera/ops/fourier/workspace.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::ops::fourier {
namespace {

// Large blocks lie in large pages: lanes go through them in strides.
constexpr int64_t kLargePage = int64_t{2} << 20;
constexpr int64_t kKeptBytes = int64_t{64} << 20;

struct Block {
  void* data;
  int64_t bytes;
};

std::align_val_t alignment_of(int64_t bytes) {
  return std::align_val_t{static_cast<size_t>(bytes >= kLargePage ? kLargePage : 64)};
}
Block allocate(int64_t bytes) {
  if (bytes >= kLargePage) bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  const Block block{::operator new(static_cast<size_t>(bytes), alignment_of(bytes)), bytes};
  if (bytes >= kLargePage) (void)madvise(block.data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return block;
}
void free_block(const Block& b) { ::operator delete(b.data, alignment_of(b.bytes)); }

struct Kept {
  std::vector<Block> blocks;
  int64_t bytes = 0;
  ~Kept() {
    for (const Block& b : blocks) free_block(b);
  }
};
thread_local Kept kept;

}  // namespace

// The smallest kept block that is large enough, unless it is much larger than that.
RawWorkspace::RawWorkspace(int64_t bytes) : bytes_(std::max<int64_t>(bytes, 64)) {
  auto best = kept.blocks.end();
  for (auto b = kept.blocks.begin(); b != kept.blocks.end(); ++b)
    if (b->bytes >= bytes_ && b->bytes / 4 <= bytes_ &&
        (best == kept.blocks.end() || b->bytes < best->bytes))
      best = b;
  if (best == kept.blocks.end()) {
    const Block block = allocate(bytes_);
    data_ = block.data;
    bytes_ = block.bytes;
    return;
  }
  data_ = best->data;
  bytes_ = best->bytes;
  kept.bytes -= bytes_;
  kept.blocks.erase(best);
}

RawWorkspace::~RawWorkspace() {
  // The oldest go first.
  while (!kept.blocks.empty() && kept.bytes + bytes_ > kKeptBytes) {
    kept.bytes -= kept.blocks.front().bytes;
    free_block(kept.blocks.front());
    kept.blocks.erase(kept.blocks.begin());
  }
  if (bytes_ > kKeptBytes) {
    free_block({data_, bytes_});
    return;
  }
  kept.blocks.push_back({data_, bytes_});
  kept.bytes += bytes_;
}

}  // namespace tessera::ops::fourier
