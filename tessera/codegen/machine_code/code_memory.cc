#include "tessera/codegen/machine_code/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"

namespace tessera::codegen {
namespace {

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

[[noreturn]] void no_memory(size_t bytes) {
  throw RuntimeError(fmt::format(
      "[codegen] expected {} bytes of executable memory, the system says: {}; raise the "
      "limits on memory and mappings, or clear_caches()",
      bytes, std::strerror(errno)));
}

void protect(CodeMemory::Block block, int protection) {
  if (::mprotect(block.data, block.bytes, protection) != 0) no_memory(block.bytes);
}

}  // namespace

CodeMemory::CodeMemory() : page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))) {}

CodeMemory::~CodeMemory() {
  for (const auto& [data, slab] : slabs_) ::munmap(data, slab.bytes);
}

CodeMemory::Block CodeMemory::take(size_t bytes) {
  for (auto& [data, slab] : slabs_) {
    for (auto it = slab.free.begin(); it != slab.free.end(); ++it) {
      if (it->second < bytes) continue;
      const Block block{it->first, bytes};
      const size_t rest = it->second - bytes;
      slab.free.erase(it);
      if (rest > 0) slab.free.emplace(block.data + bytes, rest);
      return block;
    }
  }
  const size_t size = round_up(bytes, kSlabBytes);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) no_memory(size);
  auto* data = static_cast<std::byte*>(memory);
  // The system can merge parts of a mapping again only if their pages have the same origin. The
  // first write creates it, so it is done here, while the mapping is whole.
  data[0] = std::byte{0};
  if (::mprotect(data, size, PROT_READ | PROT_EXEC) != 0) {
    const int error = errno;
    ::munmap(data, size);
    errno = error;
    no_memory(size);
  }
  Slab& slab = slabs_[data];
  slab.bytes = size;
  if (size > bytes) slab.free.emplace(data + bytes, size - bytes);
  return {data, bytes};
}

void CodeMemory::give_back(Block block) {
  const auto owner = std::prev(slabs_.upper_bound(block.data));
  auto& free = owner->second.free;
  auto it = free.emplace(block.data, block.bytes).first;
  if (const auto next = std::next(it);
      next != free.end() && it->first + it->second == next->first) {
    it->second += next->second;
    free.erase(next);
  }
  if (it != free.begin()) {
    const auto before = std::prev(it);
    if (before->first + before->second == it->first) {
      before->second += it->second;
      free.erase(it);
      it = before;
    }
  }
  // The only slab that is left is kept for the next compilation, even if it is empty.
  if (it->second < owner->second.bytes || slabs_.size() == 1) return;
  ::munmap(owner->first, owner->second.bytes);
  slabs_.erase(owner);
}

CodeMemory::Block CodeMemory::allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const Block block = take(round_up(std::max<size_t>(bytes, 1), page_));
  try {
    protect(block, PROT_READ | PROT_WRITE);
  } catch (...) {
    give_back(block);
    throw;
  }
  used_ += block.bytes;
  std::memset(block.data, 0, block.bytes);
  return block;
}

void CodeMemory::seal(Block block) {
  auto* begin = reinterpret_cast<char*>(block.data);
  __builtin___clear_cache(begin, begin + block.bytes);
  const std::lock_guard lock(mutex_);
  protect(block, PROT_READ | PROT_EXEC);
}

void CodeMemory::free(Block block) {
  const std::lock_guard lock(mutex_);
  // Gives the pages the protection of the other pages, so that the system merges them again (a
  // block that was never sealed is writable). If this fails, nothing is lost: the next user of the
  // block makes the pages writable and then executable anyway.
  (void)::mprotect(block.data, block.bytes, PROT_READ | PROT_EXEC);
  (void)::madvise(block.data, block.bytes, MADV_DONTNEED);
  used_ -= block.bytes;
  give_back(block);
}

size_t CodeMemory::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}
size_t CodeMemory::slabs() const {
  const std::lock_guard lock(mutex_);
  return slabs_.size();
}

}  // namespace tessera::codegen
