// Update steps: they replace a box of an array in place.
#include <algorithm>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

// Returns the integer scalar clamped to [0, largest].
int64_t clamped_index(DType dtype, const std::byte* data, int64_t largest) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> int64_t {
    if constexpr (std::is_integral_v<T>) {
      T value;
      std::memcpy(&value, data, sizeof value);
      if constexpr (std::is_signed_v<T>) {
        return std::clamp<int64_t>(static_cast<int64_t>(value), 0, largest);
      } else {
        return static_cast<int64_t>(
            std::min(static_cast<uint64_t>(value), static_cast<uint64_t>(largest)));
      }
    }
    TESSERA_CHECK(false, "a start of an update is an integer");
    return 0;
  });
}

class UpdateStepCode final : public StepCode {
 public:
  UpdateStepCode(const UpdateStep& step, const Schedule& schedule)
      : in_(step.in),
        update_(step.update),
        out_(step.out),
        instances_(instance_count(schedule, step.axes)) {
    const auto slot = [&](int i) -> const Slot& { return schedule.slots[static_cast<size_t>(i)]; };
    const auto map = [&](int i) { return InstanceMap(schedule, step.axes, slot(i).axes); };
    in_map_ = map(step.in);
    update_map_ = map(step.update);
    out_map_ = map(step.out);
    const Slot &out = slot(step.out), &update = slot(step.update);
    const int64_t item = itemsize(out.dtype);
    const Dims strides = byte_strides(out.shape, item);
    box_ = make_copy_pattern(update.shape, strides, byte_strides(update.shape, item), item);
    whole_ = make_copy_pattern({out.bytes()}, {1}, {1}, 1);
    for (size_t d = 0; d < step.starts.size(); ++d) {
      const int64_t largest = out.shape[d] - update.shape[d];
      if (largest == 0) continue;
      starts_.push_back(
          {step.starts[d], slot(step.starts[d]).dtype, largest, strides[d], map(step.starts[d])});
    }
  }

  void run(const SlotRef* slots, std::byte*) const override {
    std::vector<RegionCopy> moves;
    for (int64_t i = 0; i < instances_; ++i) {
      const std::byte* in = slots[in_].at(in_map_(i));
      std::byte* out = slots[out_].at(out_map_(i));
      if (in != out) moves.push_back({whole_, out, in});
    }
    if (!moves.empty()) run_copies(moves);
    if (box_.bytes() <= kInPlaceHere) {
      for (int64_t i = 0; i < instances_; ++i) {
        const RegionCopy box = box_of(slots, i);
        copy_all(box.pattern, box.dst, box.src);
      }
      return;
    }
    moves.clear();
    for (int64_t i = 0; i < instances_; ++i) moves.push_back(box_of(slots, i));
    run_copies(moves);
  }

 private:
  // The calling thread does copies of at most this many bytes itself.
  static constexpr int64_t kInPlaceHere = int64_t{64} << 10;

  struct Start {
    int slot;
    DType dtype;
    int64_t largest, stride;  // stride in bytes
    InstanceMap map;
  };

  RegionCopy box_of(const SlotRef* slots, int64_t i) const {
    std::byte* out = slots[out_].at(out_map_(i));
    for (const Start& start : starts_)
      out += clamped_index(start.dtype, slots[start.slot].at(start.map(i)), start.largest) *
             start.stride;
    return {box_, out, slots[update_].at(update_map_(i))};
  }

  int in_, update_, out_;
  int64_t instances_;
  InstanceMap in_map_, update_map_, out_map_;
  CopyPattern box_, whole_;
  std::vector<Start> starts_;
};

}  // namespace

std::unique_ptr<StepCode> make_update_code(const UpdateStep& step, const Schedule& schedule) {
  return std::make_unique<UpdateStepCode>(step, schedule);
}

}  // namespace tessera::runtime
