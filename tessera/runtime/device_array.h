// DeviceArray: an array in the memory of this process, where the emulated devices have theirs. What
// their programs take and return, behind the user's Array.
//
// All instances of one array (array_layout.h) lie in one buffer, usually one after the other, so
// that a gather of contiguous shards and a collective_permute are other views of the same memory.
// Immutable: buffers are shared freely between arrays.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/base/buffer.h"
#include "tessera/runtime/device_data.h"
#include "tessera/runtime/shard.h"

namespace tessera::runtime {

// Byte offsets of the instances of an array that this process holds, by place, within its buffer:
// `offset + i * stride`, or `offset + (*table)[i]`.
struct InstanceOffsets {
  int64_t offset = 0;
  int64_t stride = 0;
  std::shared_ptr<const std::vector<int64_t>> table;
  int64_t at(int64_t i) const {
    return offset + (table ? (*table)[static_cast<size_t>(i)] : i * stride);
  }
};

class DeviceArray final : public DeviceData {
 public:
  // `type` must be that of the layout (device_array_type).
  DeviceArray(Type type, ArrayLayoutRef layout, Buffer buffer, InstanceOffsets offsets)
      : DeviceData(std::move(type), std::move(layout)),
        buffer_(std::move(buffer)),
        offsets_(std::move(offsets)) {}

  // The whole array on the host; UserError if it was donated, or if parts of it are in other
  // processes (ClusterOptions::gather_reads: these are gathered).
  Literal to_literal() const override;

  const InstanceOffsets& offsets() const { return offsets_; }
  const Buffer& buffer() const { return buffer_; }
  // First byte of instance `i` (row-major, shape layout()->local), which this process holds.
  // UserError if the array was donated.
  const std::byte* instance(int64_t i) const {
    check_alive();
    return buffer_.data() + offsets_.at(layout()->held_index(i));
  }
  // Instances lie one after the other from the start on.
  bool dense() const {
    return !offsets_.table &&
           (offsets_.stride == layout()->local_bytes || layout()->held_count() <= 1);
  }
  // One a device of this process, in the order of the mesh; shards that several devices hold share
  // their data.
  std::vector<Shard> addressable_shards() const;

  // A donated array gives its memory to the program's results; every later use is a UserError.
  bool is_deleted() const override { return (state_.load() & kDeleted) != 0; }
  void check_alive() const override {
    if (is_deleted()) throw_deleted();
  }
  std::unique_ptr<Donation> donate() const override;

 private:
  friend class ArrayUse;
  [[noreturn]] void throw_deleted() const;

  // Uses in progress; kDeleted once donated. The memory of a donated array goes with its last use.
  static constexpr uint32_t kDeleted = uint32_t{1} << 31;

  mutable Buffer buffer_;
  InstanceOffsets offsets_;
  mutable std::atomic<uint32_t> state_{0};
};

// A use of an array's memory: as long as it lasts, nobody takes the memory away. UserError if the
// array was donated. Several threads may use one array; of several that donate it one succeeds.
class ArrayUse {
 public:
  explicit ArrayUse(const DeviceArray& array) : array_(&array) {
    uint32_t uses = array.state_.load();
    do {
      if ((uses & DeviceArray::kDeleted) != 0) array.throw_deleted();
    } while (!array.state_.compare_exchange_weak(uses, uses + 1));
  }
  ArrayUse(ArrayUse&& other) noexcept : array_(std::exchange(other.array_, nullptr)) {}
  ~ArrayUse() {
    if (array_) end();
  }
  ArrayUse& operator=(ArrayUse&&) = delete;

  // Deletes the array for everybody else: every use that begins from now on is an error, and so is
  // a second donation, here. Whether this is the only use: then the memory may be overwritten.
  bool donate();
  // Takes that back: nothing was overwritten.
  void keep();

 private:
  void end();
  const DeviceArray* array_;
};

// The type of an array with this layout.
Type device_array_type(const ArrayLayout& layout, bool weak);

// device_put of host data.
DeviceArrayRef device_array(const Literal& literal, const Sharding& sharding, bool weak = false);
// Each distinct shard that this process holds from `data(index)`; UserError where it returns another shape or dtype than
// the shard's.
DeviceArrayRef device_array_from_callback(DType dtype, const Shape& global,
                                          const Sharding& sharding,
                                          const std::function<Literal(const ShardIndex&)>& data);
// The same array under another sharding, by the cheapest path: a view where the memory need not
// change (other devices for the same parts, or parts that lie one after the other anyway), else
// copies of the overlapping regions in parallel. What lies in other processes is sent by them: all
// that hold a part, or shall, call this.
DeviceArrayRef reshard(const DeviceArrayRef& array, const Sharding& sharding);
// The whole array in every process, which all call this.
Literal gather_literal(const DeviceArray& array);

}  // namespace tessera::runtime
