#include "tessera/engine/client_array.h"

#include <utility>

#include "tessera/engine/clients.h"
#include "tessera/ir/format.h"

namespace tessera::engine {
namespace {

// Throws the error that users get for a failed transfer.
[[noreturn]] void transfer_failed(const Failure& failure, const ArrayLayout& layout,
                                  std::string_view direction) {
  const std::string what = describe(Type{.dtype = layout.dtype, .shape = layout.global});
  const int64_t client = client_of("device_put", layout.sharding);
  switch (failure.kind()) {
    case FailureKind::kOutOfMemory:
      throw RuntimeError(fmt::format(
          "[device_put] the devices of '{}' have no memory for {}, {} bytes on each: {}; use "
          "smaller arrays, more devices, or donate inputs that are not needed again",
          plugin_path(client), what, layout.local_bytes, failure.what()));
    case FailureKind::kRefused:
      type_error("device_put",
                 "expected an array that '{}' takes, got {}: {}; convert it, or compute it on "
                 "other devices",
                 plugin_path(client), what, failure.what());
    case FailureKind::kOther:
      break;
  }
  throw RuntimeError(fmt::format("[device_put] {} {} {} the devices of '{}' failed: {}",
                                 direction == "to" ? "moving" : "reading", what, direction,
                                 plugin_path(client), failure.what()));
}

}  // namespace

void ClientArray::throw_deleted() const {
  value_error(
      "array",
      "expected a live array, got {}, whose memory was donated; keep a copy, or do not donate it",
      describe(type));
}

std::shared_ptr<const ClientArray::Buffers> ClientArray::buffers() const {
  const std::lock_guard lock(mutex_);
  if (!buffers_) throw_deleted();
  return buffers_;
}
bool ClientArray::is_deleted() const {
  const std::lock_guard lock(mutex_);
  return !buffers_;
}

// The donation of an array's buffers.
class ClientArray::BufferDonation final : public Donation {
 public:
  explicit BufferDonation(const ClientArray& array) : array_(array) {
    const std::lock_guard lock(array_.mutex_);
    if (!array_.buffers_) array_.throw_deleted();
    buffers_ = std::exchange(array_.buffers_, nullptr);
  }
  ~BufferDonation() override {
    if (!buffers_) return;
    const std::lock_guard lock(array_.mutex_);
    array_.buffers_ = std::move(buffers_);
  }
  void commit() override {
    for (const ClientBufferRef& buffer : *buffers_) buffer->release();
    buffers_ = nullptr;
  }

 private:
  const ClientArray& array_;
  std::shared_ptr<const Buffers> buffers_;
};

std::unique_ptr<Donation> ClientArray::donate() const {
  return std::make_unique<BufferDonation>(*this);
}

Literal ClientArray::to_literal() const { return to_host_memory(*this)->to_literal(); }

ClientArrayRef to_client(const DeviceArray& staged) {
  const ArrayUse use(staged);
  const ArrayLayout& layout = *staged.layout();
  const std::vector<Device> devices = layout.sharding.devices();
  const Client& to = client(client_of("device_put", devices));
  ClientArray::Buffers buffers;
  try {
    for (size_t p = 0; p < devices.size(); ++p)
      buffers.push_back(to.put(staged.instance(layout.device_instances[p]), layout.dtype,
                               layout.local, devices[p].id));
  } catch (const Failure& failure) {
    transfer_failed(failure, layout, "to");
  }
  return std::make_shared<ClientArray>(staged.type, staged.layout(), std::move(buffers));
}

DeviceArrayRef to_host_memory(const ClientArray& array) {
  const std::shared_ptr<const ClientArray::Buffers> from = array.buffers();
  const ArrayLayout& layout = *array.layout();
  (void)client(client_of("device_put", layout.sharding));  // throws in a child of a fork
  Buffer buffer = Buffer::allocate(layout.instances * layout.local_bytes);
  std::vector<bool> have(static_cast<size_t>(layout.instances));
  try {
    for (size_t p = 0; p < from->size(); ++p) {
      const auto i = static_cast<size_t>(layout.device_instances[p]);
      if (have[i]) continue;
      have[i] = true;
      (*from)[p]->copy_to_host(buffer.data() + static_cast<int64_t>(i) * layout.local_bytes,
                               layout.local_bytes);
    }
  } catch (const Failure& failure) {
    transfer_failed(failure, layout, "from");
  }
  return std::make_shared<DeviceArray>(array.type, array.layout(), std::move(buffer),
                                       InstanceOffsets{.stride = layout.local_bytes});
}

}  // namespace tessera::engine
