// Buffer is memory for device arrays, temporaries and scratch. It is reference counted and comes
// from a pool that keeps released memory for reuse.
//
// Memory of the pool is aligned to 64 bytes, of 2 MiB or more to 2 MiB, and then it uses huge pages
// if the system has them. A buffer may also refer to memory of another owner, which is never
// written to (borrow). Tiny buffers come from a cache of the thread, so that a program of one small
// kernel does not pay for the allocation of its output. The memory in the pool is bounded
// (set_buffer_cache_limit); the pool returns what exceeds the limit to the system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "tessera/base/memory_stats.h"

namespace tessera {

// One allocation, which the pool uses again and again.
struct BufferBlock {
  static constexpr int32_t kLarge = -1, kBorrowed = -2;
  std::atomic<int32_t> owners{0};
  int32_t size_class = 0;  // the class of a small block, or one of the constants above
  int64_t capacity = 0;
  std::byte* data = nullptr;
  BufferBlock* next = nullptr;  // the next block in a cache
};
BufferBlock* allocate_block(int64_t bytes);
BufferBlock* borrow_block(std::byte* data, int64_t bytes, std::function<void()> release);
void release_block(BufferBlock* block);

class Buffer {
 public:
  Buffer() = default;  // a buffer without memory
  // Returns uninitialised memory. Throws RuntimeError if the system has no more memory.
  static Buffer allocate(int64_t bytes) { return Buffer(allocate_block(bytes)); }
  // Returns a buffer over memory of another owner, which is not written to. The last handle calls
  // release(), which must not throw.
  static Buffer borrow(const std::byte* data, int64_t bytes, std::function<void()> release) {
    return Buffer(borrow_block(const_cast<std::byte*>(data), bytes, std::move(release)));
  }

  Buffer(const Buffer& other) : block_(other.block_) {
    if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer() {
    if (block_ && (block_->owners.load(std::memory_order_acquire) == 1 ||
                   block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1))
      release_block(block_);
  }

  explicit operator bool() const { return block_ != nullptr; }
  std::byte* data() const { return block_ ? block_->data : nullptr; }
  // Returns the size of the memory, which is at least the size that was requested.
  int64_t capacity() const { return block_ ? block_->capacity : 0; }
  // Returns whether the memory belongs to another owner.
  bool borrowed() const { return block_ && block_->size_class == BufferBlock::kBorrowed; }
  // Returns whether the memory may be written to: this is its only handle, and it is not borrowed.
  bool unique() const {
    return block_ && block_->owners.load(std::memory_order_acquire) == 1 && !borrowed();
  }
  friend bool operator==(const Buffer& a, const Buffer& b) { return a.block_ == b.block_; }

 private:
  explicit Buffer(BufferBlock* block) : block_(block) {}
  BufferBlock* block_ = nullptr;
};

}  // namespace tessera
