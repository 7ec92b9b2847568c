// Buffers: one array on one device. Memory is the runtime's, reference counted: what several devices
// hold of a replicated result is one piece of memory.
#pragma once

#include <vector>

#include "plugin/client.h"
#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"
#include "tessera/runtime/buffer.h"

struct PJRT_Buffer {
  PJRT_Device* device = nullptr;
  tessera::DType dtype{};
  tessera::Shape shape;
  tessera::runtime::Buffer memory;
  int64_t offset = 0;  // in it, bytes
  bool deleted = false;

  // ApiError where it was deleted or donated.
  const std::byte* data() const;
  int64_t bytes() const;

  // What the API hands out of it.
  std::vector<int64_t> dims, minor_to_major;
};

namespace tessera::plugin {

PJRT_Buffer_Type to_pjrt(DType dtype);
// ApiError (UNIMPLEMENTED) for types that Tessera has no arrays of.
DType from_pjrt(PJRT_Buffer_Type type);

PJRT_Buffer* new_buffer(PJRT_Device* device, DType dtype, const Shape& shape,
                        runtime::Buffer memory, int64_t offset = 0);

void add_buffers(PJRT_Api& api);

}  // namespace tessera::plugin
