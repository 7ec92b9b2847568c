#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "plugin/error.h"
#include "plugin/event.h"
#include "plugin/transfers.h"

// Buffers of one memory space. Each is retrieved once, before or after its data arrives.
struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_Device* device = nullptr;
  std::vector<std::unique_ptr<PJRT_Buffer>> buffers;  // null once retrieved
  std::vector<tessera::Buffer> memory;                // the memory of each buffer's data
  std::vector<int64_t> bytes;
  std::vector<std::shared_ptr<tessera::plugin::Happening>> filled;
};

namespace tessera::plugin {
namespace {

using Manager = PJRT_AsyncHostToDeviceTransferManager;

size_t checked(const Manager& manager, int index) {
  if (index < 0 || static_cast<size_t>(index) >= manager.buffers.size())
    invalid(fmt::format("[transfer] expected the number of one of {} buffers, got {}; count from 0",
                        manager.buffers.size(), index));
  return static_cast<size_t>(index);
}

Manager* make_manager(const PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& a) {
  auto out = std::make_unique<Manager>();
  Memory& memory = memory_of(a.memory);
  out->device = memory.devices[0];
  for (size_t i = 0; i < a.num_shape_specs; ++i) {
    const PJRT_ShapeSpec& spec = a.shape_specs[i];
    const DType dtype = from_pjrt(spec.element_type);
    const Shape shape(spec.dims, spec.dims + spec.num_dims);
    const int64_t bytes = shape.elements() * itemsize(dtype);
    if (i < a.num_device_layouts &&
        order_of(shape.rank(), a.device_layouts[i]) != row_major(shape.rank()))
      unimplemented(
          "[transfer] expected a row-major layout for data that comes in pieces, got another "
          "order; "
          "transfer the array as a whole");
    out->memory.push_back(Buffer::allocate(std::max<int64_t>(1, bytes)));
    out->bytes.push_back(bytes);
    out->filled.push_back(std::make_shared<Happening>());
    out->buffers.emplace_back(new_buffer(&memory, dtype, shape, out->memory.back()));
    out->buffers.back()->filled = out->filled.back();
  }
  return out.release();
}

void transfer(const Manager& manager, size_t i, const void* data, int64_t offset, int64_t size,
              bool last) {
  if (offset < 0 || size < 0 || offset > manager.bytes[i] || size > manager.bytes[i] - offset)
    invalid(fmt::format("[transfer] expected a part of {} bytes, got {} from {} on; send less",
                        manager.bytes[i], size, offset));
  std::memcpy(manager.memory[i].data() + offset, data, static_cast<size_t>(size));
  if (last) manager.filled[i]->set();
}

}  // namespace

void add_async_transfers(PJRT_Api& api) {
  api.PJRT_Client_CreateBuffersForAsyncHostToDevice =
      [](PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* a) {
        return guarded([&] { a->transfer_manager = make_manager(*a); });
      };
  api.PJRT_AsyncHostToDeviceTransferManager_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->transfer_manager;
    return nullptr;
  };
  api.PJRT_AsyncHostToDeviceTransferManager_TransferData =
      [](PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* a) {
        return guarded([&] {
          transfer(*a->transfer_manager, checked(*a->transfer_manager, a->buffer_index), a->data,
                   a->offset, a->transfer_size, a->is_last_transfer);
          a->done_with_h2d_transfer = ready_event();
        });
      };
  api.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral =
      [](PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* a) {
        return guarded([&] {
          const size_t i = checked(*a->transfer_manager, a->buffer_index);
          transfer(*a->transfer_manager, i, a->data, 0, a->transfer_manager->bytes[i], true);
          a->done_with_h2d_transfer = ready_event();
        });
      };
  api.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer = [](auto* a) {
    return guarded([&] {
      const size_t i = checked(*a->transfer_manager, a->buffer_index);
      if (!a->transfer_manager->buffers[i])
        invalid(
            fmt::format("[transfer] expected a buffer to be retrieved once, got number {} a "
                        "second time; keep the first",
                        i));
      a->buffer_out = a->transfer_manager->buffers[i].release();
    });
  };
  api.PJRT_AsyncHostToDeviceTransferManager_Device = [](auto* a) -> PJRT_Error* {
    a->device_out = a->transfer_manager->device;
    return nullptr;
  };
  api.PJRT_AsyncHostToDeviceTransferManager_BufferCount = [](auto* a) -> PJRT_Error* {
    a->buffer_count = a->transfer_manager->bytes.size();
    return nullptr;
  };
  api.PJRT_AsyncHostToDeviceTransferManager_BufferSize = [](auto* a) {
    return guarded([&] {
      a->buffer_size = static_cast<size_t>(
          a->transfer_manager->bytes[checked(*a->transfer_manager, a->buffer_index)]);
    });
  };
  api.PJRT_AsyncHostToDeviceTransferManager_SetBufferError =
      [](PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* a) {
        return guarded([&] {
          a->transfer_manager->filled[checked(*a->transfer_manager, a->buffer_index)]->set(
              Failure{a->error_code, {a->error_message, a->error_message_size}});
        });
      };
  api.PJRT_AsyncHostToDeviceTransferManager_AddMetadata = [](auto*) -> PJRT_Error* {
    return nullptr;  // metadata is only for profiles
  };
}

}  // namespace tessera::plugin
