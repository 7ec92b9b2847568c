#include "plugin/buffer.h"

#include <fmt/format.h>

#include <utility>

#include "plugin/error.h"

const std::byte* PJRT_Buffer::data() const {
  if (deleted)
    tessera::plugin::invalid(
        "[tessera] expected an existing array, got one that was deleted or donated");
  if (filled) {
    filled->wait();
    if (const auto failure = filled->error()) throw tessera::plugin::ApiError(*failure);
  }
  return memory.data() + offset;
}
void PJRT_Buffer::remove() {
  const std::lock_guard lock(mutex);
  deleted = true;
  packed.clear();
  if (references == 0) memory = {};
}
void PJRT_Buffer::refer() {
  const std::lock_guard lock(mutex);
  static_cast<void>(data());
  ++references;
}
void PJRT_Buffer::release() {
  const std::lock_guard lock(mutex);
  if (--references == 0 && deleted) memory = {};
}
bool PJRT_Buffer::referred() {
  const std::lock_guard lock(mutex);
  return references > 0;
}
int64_t PJRT_Buffer::bytes() const { return shape.elements() * tessera::itemsize(dtype); }

namespace tessera::plugin {
namespace {

constexpr std::pair<PJRT_Buffer_Type, DType> kTypes[] = {
    {PJRT_Buffer_Type_PRED, bool_},
    {PJRT_Buffer_Type_S8, int8},
    {PJRT_Buffer_Type_S16, int16},
    {PJRT_Buffer_Type_S32, int32},
    {PJRT_Buffer_Type_S64, int64},
    {PJRT_Buffer_Type_U8, uint8},
    {PJRT_Buffer_Type_U16, uint16},
    {PJRT_Buffer_Type_U32, uint32},
    {PJRT_Buffer_Type_U64, uint64},
    {PJRT_Buffer_Type_F16, float16},
    {PJRT_Buffer_Type_BF16, bfloat16},
    {PJRT_Buffer_Type_F32, float32},
    {PJRT_Buffer_Type_F64, float64},
    {PJRT_Buffer_Type_C64, complex64},
    {PJRT_Buffer_Type_C128, complex128},
    // An element of these types is one byte, here and in the caller's memory.
    {PJRT_Buffer_Type_S2, int2},
    {PJRT_Buffer_Type_S4, int4},
    {PJRT_Buffer_Type_U2, uint2},
    {PJRT_Buffer_Type_U4, uint4},
    {PJRT_Buffer_Type_F8E3M4, float8_e3m4},
    {PJRT_Buffer_Type_F8E4M3, float8_e4m3},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, float8_e4m3b11fnuz},
    {PJRT_Buffer_Type_F8E4M3FN, float8_e4m3fn},
    {PJRT_Buffer_Type_F8E4M3FNUZ, float8_e4m3fnuz},
    {PJRT_Buffer_Type_F8E5M2, float8_e5m2},
    {PJRT_Buffer_Type_F8E5M2FNUZ, float8_e5m2fnuz},
    {PJRT_Buffer_Type_F8E8M0FNU, float8_e8m0fnu},
    {PJRT_Buffer_Type_F4E2M1FN, float4_e2m1fn},
};

}  // namespace

PJRT_Buffer_Type to_pjrt(DType dtype) {
  for (const auto& [type, mine] : kTypes)
    if (mine == dtype) return type;
  return PJRT_Buffer_Type_INVALID;
}

DType from_pjrt(PJRT_Buffer_Type type) {
  for (const auto& [theirs, dtype] : kTypes)
    if (theirs == type) return dtype;
  unimplemented(fmt::format(
      "[tessera] expected an array of bool, an integer of 2 to 64 bits, "
      "a float of 4 or 8 bits, float16, bfloat16, float32, float64 or complex numbers, got PJRT's "
      "element type {}",
      static_cast<int>(type)));
}

PJRT_Buffer* new_buffer(Memory* space, DType dtype, const Shape& shape, Buffer memory,
                        int64_t offset) {
  auto* out = new PJRT_Buffer;
  out->device = space->devices[0];
  out->space = space;
  out->dtype = dtype;
  out->shape = shape;
  out->memory = std::move(memory);
  out->offset = offset;
  out->dims.assign(shape.begin(), shape.end());
  out->minor_to_major = row_major(shape.rank());
  return out;
}

void add_buffers(PJRT_Api& api) {
  api.PJRT_Buffer_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->buffer;
    return nullptr;
  };
  api.PJRT_Buffer_ElementType = [](auto* a) -> PJRT_Error* {
    a->type = to_pjrt(a->buffer->dtype);
    return nullptr;
  };
  api.PJRT_Buffer_Dimensions = [](auto* a) -> PJRT_Error* {
    a->dims = a->buffer->dims.data();
    a->num_dims = a->buffer->dims.size();
    return nullptr;
  };
  api.PJRT_Buffer_UnpaddedDimensions = [](auto* a) -> PJRT_Error* {
    a->unpadded_dims = a->buffer->dims.data();
    a->num_dims = a->buffer->dims.size();
    return nullptr;
  };
  api.PJRT_Buffer_DynamicDimensionIndices = [](auto* a) -> PJRT_Error* {
    a->dynamic_dim_indices = nullptr;
    a->num_dynamic_dims = 0;
    return nullptr;
  };
  api.PJRT_Buffer_GetMemoryLayout = [](PJRT_Buffer_GetMemoryLayout_Args* a) -> PJRT_Error* {
    a->layout = {};
    a->layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
    a->layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    a->layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    a->layout.tiled.minor_to_major = a->buffer->minor_to_major.data();
    a->layout.tiled.minor_to_major_size = a->buffer->minor_to_major.size();
    return nullptr;
  };
  api.PJRT_Buffer_OnDeviceSizeInBytes = [](auto* a) -> PJRT_Error* {
    a->on_device_size_in_bytes = static_cast<size_t>(a->buffer->bytes());
    return nullptr;
  };
  api.PJRT_Buffer_Device = [](auto* a) -> PJRT_Error* {
    a->device = a->buffer->device;
    return nullptr;
  };
  api.PJRT_Buffer_Memory = [](auto* a) -> PJRT_Error* {
    a->memory = a->buffer->space;
    return nullptr;
  };
  api.PJRT_Buffer_Delete = [](auto* a) -> PJRT_Error* {
    a->buffer->remove();
    return nullptr;
  };
  api.PJRT_Buffer_IsDeleted = [](auto* a) -> PJRT_Error* {
    a->is_deleted = a->buffer->deleted;
    return nullptr;
  };
  api.PJRT_Buffer_IsOnCpu = [](auto* a) -> PJRT_Error* {
    a->is_on_cpu = true;
    return nullptr;
  };
  api.PJRT_Buffer_ReadyEvent = [](auto* a) -> PJRT_Error* {
    a->event = a->buffer->filled ? new_event(a->buffer->filled) : ready_event();
    return nullptr;
  };
  api.PJRT_Buffer_UnsafePointer = [](PJRT_Buffer_UnsafePointer_Args* a) {
    return guarded([&] { a->buffer_pointer = reinterpret_cast<uintptr_t>(a->buffer->data()); });
  };
  api.PJRT_Buffer_OpaqueDeviceMemoryDataPointer =
      [](PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* a) {
        return guarded([&] { a->device_memory_ptr = const_cast<std::byte*>(a->buffer->data()); });
      };
  api.PJRT_Buffer_IncreaseExternalReferenceCount = [](auto* a) {
    return guarded([&] { a->buffer->refer(); });
  };
  api.PJRT_Buffer_DecreaseExternalReferenceCount = [](auto* a) -> PJRT_Error* {
    a->buffer->release();
    return nullptr;
  };
}

}  // namespace tessera::plugin
