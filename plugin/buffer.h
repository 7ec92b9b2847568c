// Buffers: one array on one device. Memory is the runtime's, reference counted: what several devices
// hold of a replicated result is one piece of memory.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "plugin/client.h"
#include "plugin/event.h"
#include "tessera/base/buffer.h"
#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

struct PJRT_Buffer {
  PJRT_Device* device = nullptr;
  tessera::plugin::Memory* space = nullptr;  // a memory of the device
  tessera::DType dtype{};
  tessera::Shape shape;
  tessera::Buffer memory;
  int64_t offset = 0;  // in it, bytes
  bool deleted = false;
  bool borrowed = false;  // the host's memory, which nothing is written to
  // Set: its data comes later (async_transfers.cc).
  std::shared_ptr<tessera::plugin::Happening> filled;

  // Once it is filled. ApiError where it was deleted or donated, and where it could not be filled.
  const std::byte* data() const;
  // Deleted. What somebody outside refers to, numpy say, keeps its memory until that is released.
  void remove();
  void refer();  // ApiError as data()
  void release();
  bool referred();
  int64_t bytes() const;

  std::mutex mutex;  // of what follows, and of memory while somebody refers to it
  int references = 0;

  // What the API hands out of it.
  std::vector<int64_t> dims, minor_to_major;
};

namespace tessera::plugin {

PJRT_Buffer_Type to_pjrt(DType dtype);
// ApiError (UNIMPLEMENTED) for types that Tessera has no arrays of.
DType from_pjrt(PJRT_Buffer_Type type);

// Of the device that the memory space belongs to.
PJRT_Buffer* new_buffer(Memory* space, DType dtype, const Shape& shape, Buffer memory,
                        int64_t offset = 0);

void add_buffers(PJRT_Api& api);

}  // namespace tessera::plugin
