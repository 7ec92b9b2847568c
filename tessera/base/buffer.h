// Buffer: memory for device arrays, temporaries and scratch. Reference counted, from a pool that
// keeps what is released.
//
// Every buffer is aligned to 64 bytes; from 2 MiB on to 2 MiB, on huge pages where the system has
// them. Tiny buffers come from caches of the thread, so that a program of one small kernel does not
// pay for its output's memory. What the pool keeps is bounded (set_buffer_cache_limit); beyond the
// limit memory goes back to the system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace tessera {

// One allocation. The same block is handed out again and again.
struct BufferBlock {
  std::atomic<int32_t> owners{0};
  int32_t size_class = 0;  // small blocks; -1 for large ones, -2 for borrowed memory
  int64_t capacity = 0;
  std::byte* data = nullptr;
  BufferBlock* next = nullptr;  // in a cache
};
BufferBlock* allocate_block(int64_t bytes);
BufferBlock* borrow_block(std::byte* data, int64_t bytes, std::function<void()> release);
void release_block(BufferBlock* block);

class Buffer {
 public:
  Buffer() = default;  // no memory
  // Uninitialised. Throws RuntimeError if the system has no more memory.
  static Buffer allocate(int64_t bytes) { return Buffer(allocate_block(bytes)); }
  // Somebody else's memory, aligned to 64 bytes and not written to: the last handle calls
  // release().
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
  // At least what was asked for.
  int64_t capacity() const { return block_ ? block_->capacity : 0; }
  // Whether this handle is the only one.
  bool unique() const { return block_ && block_->owners.load(std::memory_order_acquire) == 1; }
  friend bool operator==(const Buffer& a, const Buffer& b) { return a.block_ == b.block_; }

 private:
  explicit Buffer(BufferBlock* block) : block_(block) {}
  BufferBlock* block_ = nullptr;
};

struct MemoryStats {
  int64_t live_bytes = 0;    // in buffers that somebody holds
  int64_t cached_bytes = 0;  // kept for reuse
  int64_t peak_bytes = 0;    // the most that was ever live, to within 64 KiB a thread
};
MemoryStats memory_stats();
// Starts peak_bytes anew from what is live.
void reset_peak_memory();
// How much the pool may keep; by default a quarter of the machine's memory. Frees what is above.
void set_buffer_cache_limit(int64_t bytes);
int64_t buffer_cache_limit();

}  // namespace tessera
