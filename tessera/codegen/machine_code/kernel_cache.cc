#include "tessera/codegen/machine_code/kernel_cache.h"

#include <algorithm>
#include <functional>

namespace tessera::codegen {

KernelCode KernelCache::use(const Entry& entry, std::shared_ptr<const void> memory) {
  latest_.insert(std::hash<const Entry*>()(&entry), &entry, memory);
  return {entry.fn, std::move(memory), entry.bytes};
}

KernelCode KernelCache::find(const std::string& text) {
  const auto it = known_.find(text);
  if (it == known_.end()) return {};
  std::shared_ptr<const void> memory = it->second.memory.lock();
  if (memory) return use(it->second, std::move(memory));
  known_.erase(it);
  return {};
}

KernelCode KernelCache::add(const std::string& text, KernelCode code) {
  if (KernelCode known = find(text); known.fn) return known;
  if (known_.size() >= next_sweep_) sweep();
  const Entry& entry = known_.emplace(text, Entry{code.fn, code.bytes, code.memory}).first->second;
  return use(entry, std::move(code.memory));
}

// Removes the entries of code that has been freed.
void KernelCache::sweep() {
  std::erase_if(known_, [](const auto& entry) { return entry.second.memory.expired(); });
  next_sweep_ = std::max<size_t>(256, 2 * known_.size());
}

void KernelCache::clear() {
  latest_.clear();
  sweep();
}

}  // namespace tessera::codegen
