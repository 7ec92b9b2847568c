// KernelCache: machine code by canonical text, found as long as something holds the code.
//
// The cache itself holds the kernels that were requested last, up to a number. Older ones are found
// as long as a program holds them. It is not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tessera/base/bounded_cache.h"
#include "tessera/fusion/kernel.h"

namespace tessera::codegen {

class KernelCache {
 public:
  explicit KernelCache(size_t max_kernels)
      : latest_(max_kernels, ForkParticipant::Level::kLeaves) {}

  // Returns the code of this text; its fn is null if there is none.
  KernelCode find(const std::string& text);
  // Adds the code, unless there is code for the text already, and returns the one that stays.
  KernelCode add(const std::string& text, KernelCode code);
  void clear();
  size_t size() const { return known_.size(); }

 private:
  struct Entry {
    KernelFn fn;
    int64_t bytes;
    std::weak_ptr<const void> memory;
  };
  KernelCode use(const Entry& entry, std::shared_ptr<const void> memory);
  void sweep();

  std::unordered_map<std::string, Entry> known_;
  // The memory of the kernels that were requested last, by entry; an entry lives as long as its
  // memory.
  BoundedCache<const Entry*, std::shared_ptr<const void>> latest_;
  size_t next_sweep_ = 256;
};

}  // namespace tessera::codegen
