#include "allocations.h"

#include <cstdlib>
#include <new>

namespace tessera::costs {
namespace {
// The counts have no destructor and no lock, so that all allocations of a thread are counted, from
// the first to the last.
constinit thread_local Allocations of_thread;
}  // namespace

Allocations allocations() { return of_thread; }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool counts_allocations() { return false; }
#else
bool counts_allocations() { return true; }

namespace {
void* counted(std::size_t size) {
  ++of_thread.count;
  of_thread.bytes += static_cast<int64_t>(size);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* counted(std::size_t size, std::align_val_t alignment) {
  ++of_thread.count;
  of_thread.bytes += static_cast<int64_t>(size);
  const auto unit = static_cast<std::size_t>(alignment);
  void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  if (!memory) throw std::bad_alloc();
  return memory;
}
}  // namespace
#endif

}  // namespace tessera::costs

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The standard library's other forms of operator new call these.
void* operator new(std::size_t size) { return tessera::costs::counted(size); }
void* operator new[](std::size_t size) { return tessera::costs::counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return tessera::costs::counted(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return tessera::costs::counted(size, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
