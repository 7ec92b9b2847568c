#include "plugin/buffer.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "plugin/error.h"
#include "plugin/event.h"

const std::byte* PJRT_Buffer::data() const {
  if (deleted)
    tessera::plugin::invalid(
        "[tessera] expected an array that is there, got one that was deleted or donated");
  return memory.data() + offset;
}
int64_t PJRT_Buffer::bytes() const { return shape.elements() * tessera::itemsize(dtype); }

namespace tessera::plugin {
namespace {

constexpr std::pair<PJRT_Buffer_Type, DType> kTypes[] = {
    {PJRT_Buffer_Type_PRED, bool_},      {PJRT_Buffer_Type_S8, int8},
    {PJRT_Buffer_Type_S16, int16},       {PJRT_Buffer_Type_S32, int32},
    {PJRT_Buffer_Type_S64, int64},       {PJRT_Buffer_Type_U8, uint8},
    {PJRT_Buffer_Type_U16, uint16},      {PJRT_Buffer_Type_U32, uint32},
    {PJRT_Buffer_Type_U64, uint64},      {PJRT_Buffer_Type_F16, float16},
    {PJRT_Buffer_Type_BF16, bfloat16},   {PJRT_Buffer_Type_F32, float32},
    {PJRT_Buffer_Type_F64, float64},     {PJRT_Buffer_Type_C64, complex64},
    {PJRT_Buffer_Type_C128, complex128},
};

// Copies between arrays of these byte strides; the innermost dimension in one piece where it lies so.
void copy_strided(const Shape& shape, int64_t item, const std::byte* from,
                  std::span<const int64_t> from_strides, std::byte* to,
                  std::span<const int64_t> to_strides, int64_t dim) {
  if (dim == shape.rank()) {
    std::memcpy(to, from, static_cast<size_t>(item));
    return;
  }
  const int64_t n = shape[dim], a = from_strides[static_cast<size_t>(dim)],
                b = to_strides[static_cast<size_t>(dim)];
  if (dim + 1 == shape.rank() && a == item && b == item) {
    std::memcpy(to, from, static_cast<size_t>(n * item));
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    copy_strided(shape, item, from + i * a, from_strides, to + i * b, to_strides, dim + 1);
}

std::vector<int64_t> dense_strides(const Shape& shape, int64_t item) {
  std::vector<int64_t> out(static_cast<size_t>(shape.rank()));
  for (int64_t d = shape.rank(); d-- > 0; item *= shape[d]) out[static_cast<size_t>(d)] = item;
  return out;
}

// The byte strides of a dense array of this layout.
std::vector<int64_t> strides_of(const Shape& shape, int64_t item,
                                const PJRT_Buffer_MemoryLayout* layout) {
  if (!layout) return dense_strides(shape, item);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides)
    return {layout->strides.byte_strides,
            layout->strides.byte_strides + layout->strides.num_byte_strides};
  if (layout->tiled.num_tiles > 0) unimplemented("[tessera] tiled layouts are not supported");
  std::vector<int64_t> out(static_cast<size_t>(shape.rank()));
  for (size_t k = 0; k < layout->tiled.minor_to_major_size; ++k) {
    const int64_t d = layout->tiled.minor_to_major[k];
    out[static_cast<size_t>(d)] = item;
    item *= shape[d];
  }
  return out;
}

PJRT_Buffer* from_host(const PJRT_Client_BufferFromHostBuffer_Args& a) {
  const DType dtype = from_pjrt(a.type);
  const Shape shape(a.dims, a.dims + a.num_dims);
  PJRT_Device* device = a.device ? a.device : a.memory->devices[0];
  const int64_t item = itemsize(dtype), bytes = shape.elements() * item;
  runtime::Buffer memory = runtime::Buffer::allocate(std::max<int64_t>(1, bytes));
  const auto* data = static_cast<const std::byte*>(a.data);
  const std::vector<int64_t> dense = dense_strides(shape, item);
  const std::vector<int64_t> strides =
      a.num_byte_strides == 0
          ? dense
          : std::vector<int64_t>(a.byte_strides, a.byte_strides + a.num_byte_strides);
  if (strides == dense) {
    std::memcpy(memory.data(), data, static_cast<size_t>(bytes));
  } else if (bytes > 0) {
    copy_strided(shape, item, data, strides, memory.data(), dense, 0);
  }
  return new_buffer(device, dtype, shape, std::move(memory));
}

void to_host(PJRT_Buffer_ToHostBuffer_Args& a) {
  const PJRT_Buffer& src = *a.src;
  const int64_t item = itemsize(src.dtype);
  if (!a.dst) {
    a.dst_size = static_cast<size_t>(src.bytes());
    return;
  }
  if (a.dst_size < static_cast<size_t>(src.bytes()))
    invalid(fmt::format("[tessera] expected room for {} bytes, got {}", src.bytes(), a.dst_size));
  const std::vector<int64_t> dense = dense_strides(src.shape, item),
                             strides = strides_of(src.shape, item, a.host_layout);
  auto* to = static_cast<std::byte*>(a.dst);
  if (strides == dense) {
    std::memcpy(to, src.data(), static_cast<size_t>(src.bytes()));
  } else if (src.bytes() > 0) {
    copy_strided(src.shape, item, src.data(), dense, to, strides, 0);
  }
  a.event = ready_event();
}

void add_transfers(PJRT_Api& api) {
  api.PJRT_Client_BufferFromHostBuffer = [](PJRT_Client_BufferFromHostBuffer_Args* a) {
    return guarded([&] {
      a->buffer = from_host(*a);
      a->done_with_host_buffer = ready_event();
    });
  };
  api.PJRT_Buffer_ToHostBuffer = [](PJRT_Buffer_ToHostBuffer_Args* a) {
    return guarded([&] { to_host(*a); });
  };
  api.PJRT_Buffer_CopyToDevice = [](PJRT_Buffer_CopyToDevice_Args* a) {
    return guarded([&] {
      static_cast<void>(a->buffer->data());
      a->dst_buffer = new_buffer(a->dst_device, a->buffer->dtype, a->buffer->shape,
                                 a->buffer->memory, a->buffer->offset);
    });
  };
  api.PJRT_Buffer_CopyToMemory = [](PJRT_Buffer_CopyToMemory_Args* a) {
    return guarded([&] {
      static_cast<void>(a->buffer->data());
      a->dst_buffer = new_buffer(a->dst_memory->devices[0], a->buffer->dtype, a->buffer->shape,
                                 a->buffer->memory, a->buffer->offset);
    });
  };
  api.PJRT_Buffer_CopyRawToHost = [](PJRT_Buffer_CopyRawToHost_Args* a) {
    return guarded([&] {
      if (a->offset < 0 || a->transfer_size < 0 ||
          a->offset + a->transfer_size > a->buffer->bytes())
        invalid(fmt::format("[tessera] expected a part of {} bytes, got {} from {} on",
                            a->buffer->bytes(), a->transfer_size, a->offset));
      std::memcpy(a->dst, a->buffer->data() + a->offset, static_cast<size_t>(a->transfer_size));
      a->event = ready_event();
    });
  };
}

}  // namespace

PJRT_Buffer_Type to_pjrt(DType dtype) {
  for (const auto& [type, mine] : kTypes)
    if (mine == dtype) return type;
  return PJRT_Buffer_Type_INVALID;
}

DType from_pjrt(PJRT_Buffer_Type type) {
  for (const auto& [theirs, dtype] : kTypes)
    if (theirs == type) return dtype;
  unimplemented(
      fmt::format("[tessera] expected an array of bool, an integer of 8 to 64 bits, "
                  "float16, bfloat16, float32, float64 or complex numbers, got PJRT's "
                  "element type {}",
                  static_cast<int>(type)));
}

PJRT_Buffer* new_buffer(PJRT_Device* device, DType dtype, const Shape& shape,
                        runtime::Buffer memory, int64_t offset) {
  auto* out = new PJRT_Buffer{.device = device,
                              .dtype = dtype,
                              .shape = shape,
                              .memory = std::move(memory),
                              .offset = offset};
  out->dims.assign(shape.begin(), shape.end());
  for (int64_t d = shape.rank(); d-- > 0;) out->minor_to_major.push_back(d);
  return out;
}

void add_buffers(PJRT_Api& api) {
  add_transfers(api);
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
    a->memory = &a->buffer->device->memory;
    return nullptr;
  };
  api.PJRT_Buffer_Delete = [](auto* a) -> PJRT_Error* {
    a->buffer->deleted = true;
    a->buffer->memory = {};
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
    a->event = ready_event();
    return nullptr;
  };
  api.PJRT_Buffer_UnsafePointer = [](PJRT_Buffer_UnsafePointer_Args* a) {
    return guarded([&] { a->buffer_pointer = reinterpret_cast<uintptr_t>(a->buffer->data()); });
  };
  api.PJRT_Buffer_OpaqueDeviceMemoryDataPointer =
      [](PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* a) {
        return guarded([&] { a->device_memory_ptr = const_cast<std::byte*>(a->buffer->data()); });
      };
  api.PJRT_Buffer_IncreaseExternalReferenceCount = [](auto*) -> PJRT_Error* { return nullptr; };
  api.PJRT_Buffer_DecreaseExternalReferenceCount = [](auto*) -> PJRT_Error* { return nullptr; };
}

}  // namespace tessera::plugin
