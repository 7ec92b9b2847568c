// KernelCache: machine code by canonical text, as long as somebody holds it.
//
// The cache itself holds the kernels that were asked for last, up to a number; older ones are found
// while a program holds them. Not thread-safe.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tessera/fusion/kernel.h"

namespace tessera::codegen {

class KernelCache {
 public:
  explicit KernelCache(size_t max_kernels) : max_kernels_(max_kernels) {}

  // fn is null if there is none.
  KernelCode find(const std::string& text);
  // Of two for one text the first stays; returns it.
  KernelCode add(const std::string& text, KernelCode code);
  void clear();
  size_t size() const { return known_.size(); }

 private:
  struct Entry {
    KernelFn fn;
    int64_t bytes;
    std::weak_ptr<const void> memory;
    std::shared_ptr<const void> held;  // null where it is none of the latest
    std::list<Entry*>::iterator place = {};
  };
  KernelCode use(Entry& entry, std::shared_ptr<const void> memory);
  void sweep();

  size_t max_kernels_;
  std::unordered_map<std::string, Entry> known_;
  std::list<Entry*> latest_;  // first: the one asked for last
  size_t next_sweep_ = 256;
};

}  // namespace tessera::codegen
