// Buffers: each is one array on one device. Their memory is the runtime's and is reference counted,
// so devices that hold the same part of a replicated result share it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "plugin/client.h"
#include "plugin/event.h"
#include "plugin/layouts.h"
#include "tessera/base/buffer.h"
#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"
#include "tessera/runtime/products/packed_weights.h"

struct PJRT_Buffer {
  PJRT_Device* device = nullptr;
  tessera::plugin::Memory* space = nullptr;  // a memory of the device
  tessera::DType dtype{};
  tessera::Shape shape;
  tessera::Buffer memory;
  int64_t offset = 0;  // of the data in `memory`, in bytes
  bool deleted = false;
  bool borrowed = false;  // `memory` is the host's, which is never written
  // The packed forms of its elements, and of other parts of an array in the same memory.
  tessera::runtime::LazyPackedWeights packed{tessera::runtime::KeepPacked::kSecondUse};
  // If set, the data arrives later (async_transfers.cc).
  std::shared_ptr<tessera::plugin::Happening> filled;

  // Returns the data once the buffer is filled. Throws ApiError if it was deleted or donated, or if
  // filling it failed.
  const std::byte* data() const;
  // Deletes the buffer. External references, such as numpy's, keep the memory until they are
  // released.
  void remove();
  void refer();  // throws ApiError as data() does
  void release();
  bool referred();
  int64_t bytes() const;

  std::mutex mutex;  // guards the fields below, and memory with external references
  int references = 0;

  // The API returns pointers to these.
  std::vector<int64_t> dims;
  tessera::plugin::MinorToMajor minor_to_major;  // the order of dimensions in memory
};

namespace tessera::plugin {

PJRT_Buffer_Type to_pjrt(DType dtype);
// Throws ApiError (UNIMPLEMENTED) for types that no dtype of Tessera corresponds to.
DType from_pjrt(PJRT_Buffer_Type type);

// Returns a row-major buffer in the memory space, on the device that it belongs to.
PJRT_Buffer* new_buffer(Memory* space, DType dtype, const Shape& shape, Buffer memory,
                        int64_t offset = 0);

void add_buffers(PJRT_Api& api);

}  // namespace tessera::plugin
