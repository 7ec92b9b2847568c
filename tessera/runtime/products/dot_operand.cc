#include "tessera/runtime/products/dot_operand.h"

#include <algorithm>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/base/thread_pool.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/products/deinterleave.h"

namespace tessera::runtime {
namespace {

// Copies from an array with these strides to elements [begin, end) of a dense copy of it, which are
// numbered in row-major order of `extents`.
template <class T>
void pack_range(const T* src, T* dst, const Shape& extents, const Dims& strides, int64_t begin,
                int64_t end) {
  const int64_t row = extents.back(), rank = extents.rank(),
                rows = rank < 2 ? 1 : extents[rank - 2];
  // Whether the last two dimensions are exchanged, and the last one in memory is short.
  const bool interleaved = rank >= 2 && strides[static_cast<size_t>(rank - 2)] == 1 &&
                           strides.back() == rows && can_deinterleave(rows);
  for (int64_t at = begin; at < end;) {
    int64_t rest = at / row, offset = 0;
    for (int64_t d = extents.rank() - 2; d >= 0; --d) {
      offset += rest % extents[d] * strides[d];
      rest /= extents[d];
    }
    if constexpr (std::is_integral_v<T>)
      if (interleaved && at % (rows * row) == 0 && end - at >= rows * row) {
        deinterleave(src + offset, dst + at, rows, row);
        at += rows * row;
        continue;
      }
    const int64_t first = at % row, count = std::min(row - first, end - at);
    for (int64_t i = 0; i < count; ++i) dst[at + i] = src[offset + (first + i) * strides.back()];
    at += count;
  }
}

}  // namespace

DotOperandCode::DotOperandCode(const Slot& v, int slot, DotOperand shape, InstanceMap map)
    : slot_(slot),
      shape_(std::move(shape)),
      map_(std::move(map)),
      instances_(v.instances),
      elements_(v.shape.elements()),
      itemsize_(tessera::itemsize(v.dtype)) {}

bool DotOperandCode::can_join(const JoinedSum& sum) const {
  if (shape_.packed() || elements_ != sum.rows * sum.k) return false;
  if (!sum.k_slow) return true;
  for (int64_t i = 0; i < sum.outer * sum.summed; ++i)
    if (map_(i) != map_(i / sum.summed * sum.summed) + i % sum.summed) return false;
  return true;
}

void DotOperandCode::join(const JoinedSum& sum) {
  TESSERA_CHECK(can_join(sum), "instances of {} elements as {} x {}", elements_, sum.rows, sum.k);
  joined_ = sum;
}

int64_t DotOperandCode::joined_bytes() const {
  return joined_.outer * joined_.summed * elements_ * itemsize_;
}

int64_t DotOperandCode::workspace_bytes() const {
  if (joined_.summed > 0) return joined_.k_slow ? 0 : ceil_div(joined_bytes(), 64) * 64;
  return shape_.packed() ? ceil_div(instances_ * elements_ * itemsize_, 64) * 64 : 0;
}

void DotOperandCode::pack(const SlotRef* slots, std::byte* work) const {
  constexpr int64_t kGrain = 1 << 15;
  const int64_t chunks = ceil_div(elements_, kGrain);
  auto task = [&](int64_t t) {
    const int64_t instance = t / chunks, begin = t % chunks * kGrain;
    visit_size(itemsize_, [&]<class T>(TypeTag<T>) {
      pack_range(reinterpret_cast<const T*>(slots[slot_].at(instance)),
                 reinterpret_cast<T*>(work) + instance * elements_, shape_.pack_extents,
                 shape_.pack_strides, begin, std::min(elements_, begin + kGrain));
    });
  };
  if (instances_ * elements_ <= 4096) {
    for (int64_t t = 0; t < instances_ * chunks; ++t) task(t);
  } else {
    parallel_for(instances_ * chunks, task);
  }
}

void DotOperandCode::copy_joined(const SlotRef* slots, std::byte* to) const {
  const JoinedSum& s = joined_;
  const int64_t row = s.k * itemsize_;
  const CopyPattern pattern =
      s.k_slow ? make_copy_pattern({elements_}, {itemsize_}, {itemsize_}, itemsize_)
               : make_copy_pattern({s.rows, s.k}, {s.summed * row, itemsize_}, {row, itemsize_},
                                   itemsize_);
  std::vector<RegionCopy> copies;
  for (int64_t i = 0; i < s.outer * s.summed; ++i) {
    const int64_t at = i / s.summed * s.summed * elements_ * itemsize_,
                  within = i % s.summed * (s.k_slow ? elements_ * itemsize_ : row);
    copies.push_back({pattern, to + at + within, slots[slot_].at(map_(i))});
  }
  run_copies(copies);
}

// Returns whether instances that are one matrix if in order are also in this order in memory.
bool DotOperandCode::in_order(const SlotRef* slots) const {
  return joined_.k_slow && !slots[slot_].table && slots[slot_].stride == elements_ * itemsize_;
}

void DotOperandCode::prepare(const SlotRef* slots, std::byte* work, Buffer& spare) const {
  if (elements_ == 0) return;
  if (joined_.summed > 0) {
    if (in_order(slots)) return;
    if (joined_.k_slow) {
      spare = Buffer::allocate(joined_bytes());
      work = spare.data();
    }
    copy_joined(slots, work);
  } else if (shape_.packed()) {
    pack(slots, work);
  }
}

MatrixRef DotOperandCode::joined_matrix(const SlotRef* slots, std::byte* work, const Buffer& spare,
                                        int64_t i) const {
  const std::byte* copies = joined_.k_slow ? spare.data() : work;
  const std::byte* base = in_order(slots) ? slots[slot_].at(map_(i * joined_.summed))
                                          : copies + i * joined_.summed * elements_ * itemsize_;
  const int64_t slow = joined_.k_slow ? joined_.rows : joined_.summed * joined_.k;
  const bool k_is_row = joined_.k_is_row;
  return k_is_row == joined_.k_slow ? MatrixRef{base, slow, 1} : MatrixRef{base, 1, slow};
}

}  // namespace tessera::runtime
