// CodeMemory: executable memory in a few large mappings, which is freed piece by piece.
//
// A process may have some 65,000 mappings, and adjacent pages with the same protection are one
// mapping. With a mapping for each kernel, a process could hold only 32,700 kernels. Here a slab of
// 4 MiB is one mapping, readable and executable; only pages that are being written are, during that
// time, writable and not executable. No page is ever both.
#pragma once

#include <cstddef>
#include <map>

#include "tessera/base/fork.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen {

class CodeMemory {
 public:
  static constexpr size_t kSlabBytes = size_t{4} << 20;

  CodeMemory();
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  // A block of whole pages.
  struct Block {
    std::byte* data = nullptr;
    size_t bytes = 0;
  };
  // Returns a writable block of zeros. Throws RuntimeError if the system has no memory.
  Block allocate(size_t bytes);
  // Makes the block executable, and no longer writable.
  void seal(Block block);
  // Frees a block, which must not be executed any more.
  void free(Block block);

  size_t used_bytes() const;  // of the blocks in use
  size_t slabs() const;

 private:
  struct Slab {
    size_t bytes;
    std::map<std::byte*, size_t> free;  // the free blocks, by address; adjacent ones are merged
  };
  Block take(size_t bytes);
  void give_back(Block block);

  const size_t page_;
  mutable ForkSafeMutex mutex_;
  std::map<std::byte*, Slab> slabs_;
  size_t used_ = 0;
};

}  // namespace tessera::codegen
