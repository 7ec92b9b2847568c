// One operand of a dot step: the addresses of its matrices, and the copies that are needed to get
// them.
#pragma once

#include "tessera/base/buffer.h"
#include "tessera/base/dtype.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/runtime/products/dot_shape.h"
#include "tessera/runtime/products/gemm.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {

// Calls f with an integer type of the element's size, for code that only moves elements.
template <class F>
void visit_size(int64_t itemsize, F&& f) {
  struct Sixteen {
    uint64_t words[2];
  };
  switch (itemsize) {
    case 1:
      return f(TypeTag<uint8_t>{});
    case 2:
      return f(TypeTag<uint16_t>{});
    case 4:
      return f(TypeTag<uint32_t>{});
    case 8:
      return f(TypeTag<uint64_t>{});
    default:
      return f(TypeTag<Sixteen>{});
  }
}

// The instances that a step sums over, joined into one matrix with `summed` times as many elements
// in k.
struct JoinedSum {
  int64_t outer = 0, summed = 0;
  int64_t rows = 0, k = 0;  // of one instance
  bool k_slow = false;      // neighbours along k are `rows` elements apart; otherwise adjacent
  bool k_is_row = false;    // true for the right operand
};

class DotOperandCode {
 public:
  DotOperandCode(const Slot& v, int slot, DotOperand shape, InstanceMap map);

  bool can_join(const JoinedSum& sum) const;
  // Makes matrix(i) the i-th joined sum. Instances that are not in the order of k in memory are
  // copied in every run.
  void join(const JoinedSum& sum);

  const DotOperand& shape() const { return shape_; }
  const InstanceMap& map() const { return map_; }
  int64_t itemsize() const { return itemsize_; }
  // Returns the bytes of the copies that every run makes.
  int64_t workspace_bytes() const;

  // Makes the copies that this run needs: in `work` those that workspace_bytes() counts, in `spare`
  // the others.
  void prepare(const SlotRef* slots, std::byte* work, Buffer& spare) const;
  // Returns the b-th matrix of the operand at coordinate `i` of the step. It is inline for batches
  // of small matrices: if a result in memory were read as a vector before its parts had reached the
  // cache, it would wait for all elements of the last product to reach it, too.
  MatrixRef matrix(const SlotRef* slots, std::byte* work, const Buffer& spare, int64_t i,
                   int64_t b) const {
    if (joined_.summed > 0) return joined_matrix(slots, work, spare, i);
    const int64_t instance = map_(i);
    const std::byte* base =
        shape_.packed() ? work + instance * elements_ * itemsize_ : slots[slot_].at(instance);
    return {base + shape_.batch_offsets[static_cast<size_t>(b)] * itemsize_, shape_.row_stride,
            shape_.col_stride};
  }

 private:
  MatrixRef joined_matrix(const SlotRef* slots, std::byte* work, const Buffer& spare,
                          int64_t i) const;
  void pack(const SlotRef* slots, std::byte* work) const;
  void copy_joined(const SlotRef* slots, std::byte* to) const;
  bool in_order(const SlotRef* slots) const;
  int64_t joined_bytes() const;

  int slot_;
  DotOperand shape_;
  InstanceMap map_;
  int64_t instances_, elements_, itemsize_;  // elements_ counts those of one instance
  JoinedSum joined_;                         // not joined if summed == 0
};

}  // namespace tessera::runtime
