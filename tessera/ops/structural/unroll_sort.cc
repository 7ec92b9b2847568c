#include "tessera/ops/structural/unroll_sort.h"

#include <limits>
#include <utility>
#include <vector>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/ops/structural/sort_order.h"

namespace tessera::ops {
namespace {

constexpr int64_t kLeastLines = 256;  // fewer are sorted sooner than a kernel is compiled
constexpr int64_t kMostWork = 420;    // ops of all exchanges together

bool is_by_bits(const SortKey& key, DType dtype) {
  return is_floating(dtype) && key.nans == NanOrder::kByBits;
}

// Returns the order of a sort if the exchanges can compare by it.
std::optional<SortOrder> comparable_order(const SortParams& p, std::span<const DType> dtypes) {
  const std::optional<SortOrder> order =
      p.comparator ? order_of(*p.comparator)
                   : default_order(p.num_keys, p.descending, p.total_order, dtypes);
  if (!order || order->size() > 2) return std::nullopt;
  for (const SortKey& key : *order) {
    const DType dtype = dtypes[static_cast<size_t>(key.operand)];
    if (is_complex(dtype) || dtype == bool_ || (is_floating(dtype) && itemsize(dtype) < 2))
      return std::nullopt;
    // Zeros are equal if and only if floats are compared as numbers.
    if (is_floating(dtype) && key.equal_zeros == is_by_bits(key, dtype)) return std::nullopt;
  }
  return order;
}

// Returns how many ops an exchange takes.
int64_t work_of(const SortOrder& order, std::span<const DType> dtypes) {
  int64_t work = 2 * static_cast<int64_t>(dtypes.size());
  for (const SortKey& key : order) {
    const DType dtype = dtypes[static_cast<size_t>(key.operand)];
    work += is_floating(dtype) && !is_by_bits(key, dtype) ? 5 : 1;
  }
  return work + 3 * (static_cast<int64_t>(order.size()) - 1);
}

// Maps the bits of floats to integers of the same order, -NaN first, and back.
Array in_order_of_bits(const Array& bits) {
  const DType dtype = bits.dtype();
  const auto number = [&](int64_t value) {
    return lax::full(bits.shape(), convert_literal(Literal::scalar(value), dtype));
  };
  const int64_t width = 8 * itemsize(dtype);
  const Array sign = lax::shift_right_arithmetic(bits, number(width - 1));
  return lax::bitwise_xor(
      bits, lax::bitwise_and(sign, number(std::numeric_limits<int64_t>::max() >> (64 - width))));
}
DType bits_of(DType dtype) {
  return itemsize(dtype) == 2 ? int16 : itemsize(dtype) == 4 ? int32 : int64;
}

Array is_nan(const Array& x) { return lax::ne(x, x); }

// Returns where a is before b by one key.
Array is_before(const SortKey& key, const Array& a, const Array& b) {
  const Array &low = key.descending ? b : a, &high = key.descending ? a : b;
  const Array less = lax::lt(low, high);
  if (!is_floating(a.dtype())) return less;
  return lax::bitwise_or(less, lax::bitwise_and(is_nan(high), lax::eq(low, low)));
}
Array is_equal(const Array& a, const Array& b) {
  const Array equal = lax::eq(a, b);
  if (!is_floating(a.dtype())) return equal;
  return lax::bitwise_or(equal, lax::bitwise_and(is_nan(a), is_nan(b)));
}

class ColumnSorter {
 public:
  ColumnSorter(SortOrder order, int64_t dimension)
      : order_(std::move(order)), dimension_(dimension) {}

  std::vector<Array> run(const std::vector<Array>& operands) {
    std::vector<DType> dtypes;
    for (const Array& x : operands) {
      dtypes.push_back(x.dtype());
      columns_.emplace_back();
      const Array keys = has_bits(columns_.size() - 1, x.dtype())
                             ? in_order_of_bits(lax::bitcast_convert_type(x, bits_of(x.dtype())))
                             : x;
      for (int64_t c = 0; c < x.shape()[dimension_]; ++c)
        columns_.back().push_back(lax::slice_in_dim(keys, c, c + 1, 1, dimension_));
    }
    const size_t length = columns_[0].size();
    for (size_t first = 0; first + 1 < length; ++first)
      for (size_t c = length - 1; c > first; --c) exchange(c - 1, c);
    std::vector<Array> out;
    for (size_t k = 0; k < columns_.size(); ++k) {
      const Array sorted = lax::concatenate(columns_[k], dimension_);
      out.push_back(has_bits(k, dtypes[k])
                        ? lax::bitcast_convert_type(in_order_of_bits(sorted), dtypes[k])
                        : sorted);
    }
    return out;
  }

 private:
  // Returns whether the operand is a key that is compared as an integer.
  bool has_bits(size_t operand, DType dtype) const {
    for (const SortKey& key : order_)
      if (static_cast<size_t>(key.operand) == operand && is_by_bits(key, dtype)) return true;
    return false;
  }

  // Exchanges the elements of two columns wherever that of the second is before that of the first.
  void exchange(size_t first, size_t second) {
    std::optional<Array> before;
    for (size_t k = order_.size(); k-- > 0;) {
      const auto& column = columns_[static_cast<size_t>(order_[k].operand)];
      const Array here = is_before(order_[k], column[second], column[first]);
      before = before ? lax::bitwise_or(here, lax::bitwise_and(
                                                  is_equal(column[second], column[first]), *before))
                      : here;
    }
    for (std::vector<Array>& column : columns_) {
      const Array a = column[first], b = column[second];
      column[first] = lax::select(*before, b, a);
      column[second] = lax::select(*before, a, b);
    }
  }

  SortOrder order_;
  int64_t dimension_;
  std::vector<std::vector<Array>> columns_;  // of each operand
};

}  // namespace

FlatFn unrolled_sort(const OpParams& params, std::span<const Type> operands, const Type& result) {
  const auto& p = params.as<SortParams>();
  const int64_t dimension = p.dimension + (p.dimension < 0 ? result.rank() : 0),
                length = result.shape[dimension];
  if (length < 2 || result.elements() / length < kLeastLines) return nullptr;
  std::vector<DType> dtypes;
  for (const Type& type : operands) dtypes.push_back(type.dtype);
  const std::optional<SortOrder> order = comparable_order(p, dtypes);
  if (!order || length * (length - 1) / 2 * work_of(*order, dtypes) > kMostWork) return nullptr;
  return [order = *order, dimension](const std::vector<Array>& x) {
    return ColumnSorter(order, dimension).run(x);
  };
}

}  // namespace tessera::ops
