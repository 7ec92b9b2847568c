// DeviceData: an array on devices of any engine (engine/engine.h). It is a DeviceArray, in the
// memory of this process, or an engine::ClientArray, in the memory of a plugin's devices.
#pragma once

#include <memory>
#include <utility>

#include "tessera/ir/array.h"
#include "tessera/runtime/array_layout.h"

namespace tessera::runtime {

class DeviceArray;
using DeviceArrayRef = std::shared_ptr<const DeviceArray>;

// The donation of an array, which is deleted for everybody else meanwhile. Unless commit() was
// called, the destructor reverts the donation.
class Donation {
 public:
  virtual ~Donation() = default;
  virtual void commit() = 0;
};

class DeviceData : public ArrayData {
 public:
  const ArrayLayoutRef& layout() const { return layout_; }
  Sharding sharding() const final { return layout_->sharding; }

  // Returns whether the array was donated; then every use of it is a UserError.
  virtual bool is_deleted() const = 0;
  // Throws the UserError of a use if the array was donated.
  virtual void check_alive() const = 0;
  // Donates the array, which must outlive the result. Throws UserError if it was donated already.
  virtual std::unique_ptr<Donation> donate() const = 0;

 protected:
  // `type` must be device_array_type(*layout).
  DeviceData(Type type, ArrayLayoutRef layout)
      : ArrayData(Kind::kDevice, std::move(type)), layout_(std::move(layout)) {}

 private:
  ArrayLayoutRef layout_;
};
using DeviceDataRef = std::shared_ptr<const DeviceData>;

// Returns the data as DeviceData; null if it is not on devices.
inline const DeviceData* device_data(const ArrayData& data) {
  return data.kind == ArrayData::Kind::kDevice ? static_cast<const DeviceData*>(&data) : nullptr;
}

}  // namespace tessera::runtime
