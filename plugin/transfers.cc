#include "plugin/transfers.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "plugin/error.h"
#include "plugin/event.h"
#include "tessera/ir/format.h"

namespace tessera::plugin {
namespace {

constexpr uintptr_t kHostAlignment = 64;

// Copies between arrays with these byte strides. The innermost dimension is copied in one piece if
// it is contiguous.
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

// Returns the byte strides of a dense array with its dimensions in this order.
std::vector<int64_t> strides_of(const Shape& shape, int64_t item, const MinorToMajor& order) {
  std::vector<int64_t> out(static_cast<size_t>(shape.rank()));
  for (int64_t d : order) {
    out[static_cast<size_t>(d)] = item;
    item *= shape[d];
  }
  return out;
}

// Returns the byte strides of a dense array of this layout on the host.
std::vector<int64_t> strides_of(const Shape& shape, int64_t item,
                                const PJRT_Buffer_MemoryLayout* layout) {
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides)
    return {layout->strides.byte_strides,
            layout->strides.byte_strides + layout->strides.num_byte_strides};
  if (layout->tiled.num_tiles > 0)
    unimplemented(
        fmt::format("[transfer] expected a layout without tiles on the host, got one with {}; ask "
                    "for dimensions in an order",
                    layout->tiled.num_tiles));
  return strides_of(shape, item, order_of(shape.rank(), layout));
}

Memory* space_of(PJRT_Device* device, PJRT_Memory* memory) {
  return memory ? &memory_of(memory) : device->default_memory();
}

// Returns whether the buffer may use these bytes: they do not change while it lives, and kernels
// can load them.
bool may_borrow(const PJRT_Client_BufferFromHostBuffer_Args& a) {
  return (a.host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy ||
          a.host_buffer_semantics == PJRT_HostBufferSemantics_kMutableZeroCopy) &&
         reinterpret_cast<uintptr_t>(a.data) % kHostAlignment == 0;
}

void from_host(PJRT_Client_BufferFromHostBuffer_Args& a) {
  const DType dtype = from_pjrt(a.type);
  const Shape shape(a.dims, a.dims + a.num_dims);
  Memory* space = space_of(a.device, a.memory);
  const int64_t item = itemsize(dtype), bytes = shape.elements() * item;
  const auto* data = static_cast<const std::byte*>(a.data);
  const MinorToMajor order = order_of(shape.rank(), a.device_layout);
  const std::vector<int64_t> device = strides_of(shape, item, order);
  const std::vector<int64_t> strides =
      a.num_byte_strides == 0
          ? dense_strides(shape, item)
          : std::vector<int64_t>(a.byte_strides, a.byte_strides + a.num_byte_strides);
  if (bytes > 0 && strides == device && may_borrow(a)) {
    const auto done = std::make_shared<Happening>();
    a.done_with_host_buffer = new_event(done);
    a.buffer =
        new_buffer(space, dtype, shape, Buffer::borrow(data, bytes, [done] { done->set(); }));
    a.buffer->borrowed = true;
    a.buffer->minor_to_major = order;
    return;
  }
  Buffer memory = Buffer::allocate(std::max<int64_t>(1, bytes));
  if (strides == device) {
    std::memcpy(memory.data(), data, static_cast<size_t>(bytes));
  } else if (bytes > 0) {
    copy_strided(shape, item, data, strides, memory.data(), device, 0);
  }
  a.buffer = new_buffer(space, dtype, shape, std::move(memory));
  a.buffer->minor_to_major = order;
  a.done_with_host_buffer = ready_event();
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
  // If no layout is given, the host gets the bytes as they are.
  const std::vector<int64_t> device = strides_of(src.shape, item, src.minor_to_major),
                             strides = a.host_layout ? strides_of(src.shape, item, a.host_layout)
                                                     : device;
  auto* to = static_cast<std::byte*>(a.dst);
  if (strides == device) {
    std::memcpy(to, src.data(), static_cast<size_t>(src.bytes()));
  } else if (src.bytes() > 0) {
    copy_strided(src.shape, item, src.data(), device, to, strides, 0);
  }
  a.event = ready_event();
}

// Returns a buffer with the same memory, which is never written while two buffers share it.
PJRT_Buffer* alias(const PJRT_Buffer& buffer, Memory* space) {
  static_cast<void>(buffer.data());
  PJRT_Buffer* out = new_buffer(space, buffer.dtype, buffer.shape, buffer.memory, buffer.offset);
  out->borrowed = buffer.borrowed;
  out->minor_to_major = buffer.minor_to_major;
  return out;
}

// Returns a buffer with the same memory, seen as elements of another type and shape, in order.
PJRT_Buffer* bitcast(const PJRT_Buffer_Bitcast_Args& a) {
  const PJRT_Buffer& from = *a.buffer;
  const DType dtype = from_pjrt(a.element_type);
  const Shape shape(a.dims, a.dims + a.num_dims);
  const int64_t item = itemsize(dtype);
  // XLA packs elements of these dtypes; here each is a byte.
  const auto packed = [](DType d) { return is_narrow(d) && bit_width(d) % 8 != 0; };
  if (dtype != from.dtype && (packed(dtype) || packed(from.dtype)))
    unimplemented(
        fmt::format("[bitcast] expected elements of whole bytes, got {} as {}; convert them in a "
                    "program",
                    from.dtype, dtype));
  if (shape.elements() * item != from.bytes())
    invalid(fmt::format("[bitcast] expected a type and shape of {} bytes, got {}", from.bytes(),
                        shape.elements() * item));
  if (order_of(shape.rank(), a.device_layout) != row_major(shape.rank()) ||
      from.minor_to_major != row_major(from.shape.rank()))
    unimplemented(
        "[bitcast] expected a layout with the last dimension innermost, got another order; "
        "transpose in a program");
  static_cast<void>(from.data());
  PJRT_Buffer* out = new_buffer(from.space, dtype, shape, from.memory, from.offset);
  out->borrowed = from.borrowed;
  return out;
}

}  // namespace

void add_transfers(PJRT_Api& api) {
  api.PJRT_Client_BufferFromHostBuffer = [](PJRT_Client_BufferFromHostBuffer_Args* a) {
    return guarded([&] { from_host(*a); });
  };
  api.PJRT_Buffer_ToHostBuffer = [](PJRT_Buffer_ToHostBuffer_Args* a) {
    return guarded([&] { to_host(*a); });
  };
  api.PJRT_Buffer_CopyToDevice = [](PJRT_Buffer_CopyToDevice_Args* a) {
    return guarded(
        [&] { a->dst_buffer = alias(*a->buffer, a->dst_device->memory(a->buffer->space->kind)); });
  };
  api.PJRT_Buffer_CopyToMemory = [](PJRT_Buffer_CopyToMemory_Args* a) {
    return guarded([&] { a->dst_buffer = alias(*a->buffer, &memory_of(a->dst_memory)); });
  };
  api.PJRT_Buffer_CopyRawToHost = [](PJRT_Buffer_CopyRawToHost_Args* a) {
    return guarded([&] {
      const int64_t room = a->buffer->bytes();
      if (a->offset < 0 || a->transfer_size < 0 || a->offset > room ||
          a->transfer_size > room - a->offset)
        invalid(
            fmt::format("[transfer] expected a part of {} bytes, got {} from {} on; ask for "
                        "less",
                        room, a->transfer_size, a->offset));
      std::memcpy(a->dst, a->buffer->data() + a->offset, static_cast<size_t>(a->transfer_size));
      a->event = ready_event();
    });
  };
  api.PJRT_Buffer_Bitcast = [](PJRT_Buffer_Bitcast_Args* a) {
    return guarded([&] { a->out_buffer = bitcast(*a); });
  };
  add_async_transfers(api);
}

}  // namespace tessera::plugin
