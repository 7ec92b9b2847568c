// DeviceArray: an array in the memory of this process, on emulated devices. Their programs take and
// return DeviceArrays, and users' Arrays hold them.
//
// All instances of one array (array_layout.h) are in one buffer, usually in order without gaps, so
// that a gather of contiguous shards and a collective_permute are views of the same memory. The
// content is immutable, so arrays share buffers freely.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/base/buffer.h"
#include "tessera/runtime/device_data.h"
#include "tessera/runtime/products/packed_weights.h"
#include "tessera/runtime/shard.h"

namespace tessera::runtime {

// The byte offsets within the buffer of the instances that this process holds, by held index:
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
  // `type` must be device_array_type(*layout). `packed` has the packed forms of the same elements
  // in the same memory, and must outlive this array; if it is null, the array has its own.
  DeviceArray(Type type, ArrayLayoutRef layout, Buffer buffer, InstanceOffsets offsets,
              const LazyPackedWeights* packed = nullptr)
      : DeviceData(std::move(type), std::move(layout)),
        buffer_(std::move(buffer)),
        offsets_(std::move(offsets)),
        own_packed_(KeepPacked::kSecondUse),
        packed_(packed ? packed : &own_packed_) {}
  // Makes an array with the elements of `same`, in the same memory.
  DeviceArray(Type type, ArrayLayoutRef layout, const DeviceArray& same, InstanceOffsets offsets)
      : DeviceData(std::move(type), std::move(layout)),
        buffer_(same.buffer_),
        offsets_(std::move(offsets)),
        own_packed_(same.packed_->get()),
        packed_(&own_packed_) {}

  // Returns the whole array on the host. Throws UserError if it was donated, or if parts of it are
  // in other processes (with ClusterOptions::gather_reads, those are gathered).
  Literal to_literal() const override;

  const InstanceOffsets& offsets() const { return offsets_; }
  const Buffer& buffer() const { return buffer_; }
  // Returns the first byte of instance `i` (row-major, shape layout()->local), which this process
  // holds. Throws UserError if the array was donated.
  const std::byte* instance(int64_t i) const {
    check_alive();
    return buffer_.data() + offsets_.at(layout()->held_index(i));
  }
  // Returns the packed forms of the array's elements (packed_weights.h).
  const LazyPackedWeights& packed() const { return *packed_; }
  // Returns whether the instances are in order without gaps.
  bool dense() const {
    return !offsets_.table &&
           (offsets_.stride == layout()->local_bytes || layout()->held_count() <= 1);
  }
  // Returns a shard for each device of this process, in the order of the mesh. Shards that several
  // devices hold share their data.
  std::vector<Shard> addressable_shards() const;

  // Returns whether the array was donated. Then its memory may contain a program's results, and
  // every later use is a UserError.
  bool is_deleted() const override { return (state_.load() & kDeleted) != 0; }
  void check_alive() const override {
    if (is_deleted()) throw_deleted();
  }
  std::unique_ptr<Donation> donate() const override;

 private:
  friend class ArrayUse;
  [[noreturn]] void throw_deleted() const;

  // The number of uses in progress, and the bit kDeleted once the array was donated. The last use
  // of a donated array frees its memory.
  static constexpr uint32_t kDeleted = uint32_t{1} << 31;

  mutable Buffer buffer_;
  InstanceOffsets offsets_;
  LazyPackedWeights own_packed_;
  const LazyPackedWeights* packed_;
  mutable std::atomic<uint32_t> state_{0};
};

// A use of an array's memory, which is not freed while the use lives. Throws UserError if the array
// was donated. Several threads may use one array; if several donate it, one of them succeeds.
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

  // Deletes the array for everybody else: later uses and a second donation are errors. Returns
  // whether this is the only use, so that the memory may be overwritten.
  bool donate();
  // Reverts donate(). Nothing must have been overwritten.
  void keep();

 private:
  void end();
  const DeviceArray* array_;
};

// Returns the type of an array with this layout.
Type device_array_type(const ArrayLayout& layout, bool weak);

// Returns host data as an array on devices (device_put).
DeviceArrayRef device_array(const Literal& literal, const Sharding& sharding, bool weak = false);
// Returns an array made of `data(index)` for each distinct shard that this process holds. Throws
// UserError if the shape or dtype of the returned data is not that of the shard.
DeviceArrayRef device_array_from_callback(DType dtype, const Shape& global,
                                          const Sharding& sharding,
                                          const std::function<Literal(const ShardIndex&)>& data);
// Returns the same array under another sharding, by the cheapest path: a view if the memory need
// not change (other devices for the same parts, or parts that are adjacent anyway), otherwise
// parallel copies of the overlapping regions. Other processes send their parts, so all processes
// that hold a part before or after must call this.
DeviceArrayRef reshard(const DeviceArrayRef& array, const Sharding& sharding);
// Returns the whole array in every process; all processes must call it.
Literal gather_literal(const DeviceArray& array);

}  // namespace tessera::runtime
