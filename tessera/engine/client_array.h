// ClientArray: an array in the memories of a plugin's devices. Programs on these devices take and
// return ClientArrays, which users' Arrays hold.
//
// Every device of the sharding has a buffer of the local shape, including padding, even if several
// devices hold the same part (an emulated DeviceArray has one instance for all of these).
#pragma once

#include <mutex>

#include "tessera/engine/client.h"
#include "tessera/runtime/device_array.h"

namespace tessera::engine {

class ClientArray final : public DeviceData {
 public:
  using Buffers = std::vector<ClientBufferRef>;  // in the order of the sharding's devices

  // `type` must be that which device_array_type returns for the layout.
  ClientArray(Type type, ArrayLayoutRef layout, Buffers buffers)
      : DeviceData(std::move(type), std::move(layout)),
        buffers_(std::make_shared<const Buffers>(std::move(buffers))) {}

  Literal to_literal() const override;

  // Returns the buffers, which exist as long as the caller holds them. Throws UserError if the
  // array was donated.
  std::shared_ptr<const Buffers> buffers() const;
  bool is_deleted() const override;
  void check_alive() const override { (void)buffers(); }
  // Returns a donation of the buffers. Committing it releases those that no result uses, even if
  // they are still held.
  std::unique_ptr<Donation> donate() const override;

 private:
  class BufferDonation;
  [[noreturn]] void throw_deleted() const;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Buffers> buffers_;  // null once donated
};
using ClientArrayRef = std::shared_ptr<const ClientArray>;

// Returns a copy of the array, which is in the host's memory, on the devices of its sharding, which
// are a plugin's.
ClientArrayRef to_client(const DeviceArray& staged);
// Returns a copy of the array in the host's memory, with one copy of each instance.
DeviceArrayRef to_host_memory(const ClientArray& array);

}  // namespace tessera::engine
