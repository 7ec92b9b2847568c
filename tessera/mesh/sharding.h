// Sharding: where the data of an array is: whole on one device, or distributed over a mesh.
// Array::sharding() returns one.
#pragma once

#include <iosfwd>
#include <variant>
#include <vector>

#include "tessera/mesh/named_sharding.h"

namespace tessera {

// The sharding of a whole array on one device.
class SingleDeviceSharding {
 public:
  explicit SingleDeviceSharding(const Device& device) : device_(device) {}
  const Device& device() const { return device_; }

  friend bool operator==(const SingleDeviceSharding&, const SingleDeviceSharding&) = default;

 private:
  Device device_;
};
// Prints `SingleDeviceSharding(device=CpuDevice(id=0))`.
std::ostream& operator<<(std::ostream& out, const SingleDeviceSharding& sharding);
size_t hash_value(const SingleDeviceSharding& sharding);

class Sharding {
 public:
  Sharding(SingleDeviceSharding sharding);
  Sharding(NamedSharding sharding);
  Sharding(const Sharding&);
  Sharding(Sharding&&) noexcept;
  Sharding& operator=(const Sharding&);
  Sharding& operator=(Sharding&&) noexcept;
  ~Sharding();

  bool is_named() const;
  // Returns the NamedSharding. Throws UserError if this is a SingleDeviceSharding.
  const NamedSharding& named() const;
  const SingleDeviceSharding& single() const;
  const std::variant<SingleDeviceSharding, NamedSharding>& value() const { return value_; }

  // Returns the devices, row-major over the mesh. Throws UserError if the mesh is abstract.
  std::vector<Device> devices() const;
  std::vector<int64_t> device_ids() const;
  int64_t num_devices() const;

  // These are as in NamedSharding.
  int64_t num_shards(int64_t d) const;
  bool is_fully_replicated() const;
  Shape shard_shape(const Shape& global) const;
  std::vector<DeviceIndex> devices_indices_map(const Shape& global) const;
  // Returns whether both put the same parts on the same devices. The kinds may differ: a mesh of
  // one device is equivalent to that device.
  bool is_equivalent_to(const Sharding& other, int64_t rank) const;

  friend bool operator==(const Sharding& a, const Sharding& b);
  size_t hash() const;

 private:
  std::variant<SingleDeviceSharding, NamedSharding> value_;
};
std::ostream& operator<<(std::ostream& out, const Sharding& sharding);
inline size_t hash_value(const Sharding& sharding) { return sharding.hash(); }

}  // namespace tessera
