#include "tessera/mesh/sharding.h"

#include <ostream>

#include "tessera/base/error.h"
#include "tessera/mesh/format.h"

namespace tessera {
namespace {

// Returns the sharding as a NamedSharding, in which a single device is a mesh without axes, so that
// one implementation serves both kinds.
NamedSharding as_named(const Sharding& sharding) {
  if (sharding.is_named()) return sharding.named();
  return NamedSharding(Mesh(DeviceMesh{{}, {sharding.single().device()}}, {}), PartitionSpec());
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const SingleDeviceSharding& sharding) {
  return out << "SingleDeviceSharding(device=" << sharding.device() << ')';
}

size_t hash_value(const SingleDeviceSharding& sharding) { return hash_value(sharding.device()); }

Sharding::Sharding(SingleDeviceSharding sharding) : value_(std::move(sharding)) {}
Sharding::Sharding(NamedSharding sharding) : value_(std::move(sharding)) {}
Sharding::Sharding(const Sharding&) = default;
Sharding::Sharding(Sharding&&) noexcept = default;
Sharding& Sharding::operator=(const Sharding&) = default;
Sharding& Sharding::operator=(Sharding&&) noexcept = default;
Sharding::~Sharding() = default;

bool Sharding::is_named() const { return std::holds_alternative<NamedSharding>(value_); }
bool operator==(const Sharding& a, const Sharding& b) { return a.value_ == b.value_; }

const NamedSharding& Sharding::named() const {
  if (!is_named())
    sharding_error("Sharding", "expected a NamedSharding, got {}; device_put it on a mesh", *this);
  return std::get<NamedSharding>(value_);
}

const SingleDeviceSharding& Sharding::single() const {
  if (is_named())
    sharding_error("Sharding",
                   "expected a SingleDeviceSharding, got {}; device_put it on one device", *this);
  return std::get<SingleDeviceSharding>(value_);
}

std::vector<Device> Sharding::devices() const {
  if (is_named()) return named().mesh().devices();
  return {single().device()};
}

std::vector<int64_t> Sharding::device_ids() const {
  if (is_named()) return named().mesh().device_ids();
  return {single().device().id};
}

int64_t Sharding::num_devices() const { return is_named() ? named().mesh().size() : 1; }
int64_t Sharding::num_shards(int64_t d) const { return is_named() ? named().num_shards(d) : 1; }
bool Sharding::is_fully_replicated() const { return !is_named() || named().is_fully_replicated(); }

Shape Sharding::shard_shape(const Shape& global) const {
  return is_named() ? named().shard_shape(global) : global;
}

std::vector<DeviceIndex> Sharding::devices_indices_map(const Shape& global) const {
  return as_named(*this).devices_indices_map(global);
}

bool Sharding::is_equivalent_to(const Sharding& other, int64_t rank) const {
  return as_named(*this).is_equivalent_to(as_named(other), rank);
}

size_t Sharding::hash() const {
  return std::visit([](const auto& sharding) { return hash_value(sharding); }, value_);
}

std::ostream& operator<<(std::ostream& out, const Sharding& sharding) {
  std::visit([&](const auto& value) { out << value; }, sharding.value());
  return out;
}

}  // namespace tessera
