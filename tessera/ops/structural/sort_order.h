// SortOrder: an order of elements as a list of keys, and the recognition of comparators that are
// such an order.
//
// A key is a part of one operand. Elements are ordered by the first key in which they differ, so
// the order is a strict weak order (except among NaNs, see NanOrder). Elements are then sorted by
// unsigned numbers that are made from their keys (sort_lines.h), without calls of the comparator.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/ir/forward.h"

namespace tessera::ops {

enum class KeyPart : uint8_t { kWhole, kReal, kImaginary };

enum class NanOrder : uint8_t {
  kByBits,     // -NaN before everything, NaN after everything, each by its bits
  kLargest,    // all NaNs are equal and after everything
  kUnordered,  // IEEE's comparison, which is no order if there is a NaN
};

struct SortKey {
  int operand = 0;
  KeyPart part = KeyPart::kWhole;
  bool descending = false;
  // These are for floating-point keys; keys of other dtypes have the default values.
  bool equal_zeros = false;
  NanOrder nans = NanOrder::kByBits;
  friend bool operator==(const SortKey&, const SortKey&) = default;
};

// Keys, the most significant first. There is at least one.
using SortOrder = std::vector<SortKey>;

// Returns the order by the first `num_keys` operands (sort.h).
SortOrder default_order(int64_t num_keys, bool descending, bool total_order,
                        std::span<const DType> dtypes);

// Returns the order of a comparator (a0, b0, a1, b1, ...) -> bool, or nullopt if it is not
// recognised as a SortOrder. Recognition does not depend on how the operations are numbered or
// shared: it finds compares of the same part of both elements, with selects that make the zeros or
// the NaNs equal, joined by `lt(x) or (eq(x) and later)` or `select(eq(x), later, lt(x))`.
//
// For example: `lt(real(a), real(b)) or (eq(real(a), real(b)) and gt(imag(a), imag(b)))` is the
// order {real ascending, imaginary descending}.
std::optional<SortOrder> order_of(const Function& comparator);

// Returns a comparator of this order on scalars of these dtypes. NaNs for which the order is
// NanOrder::kUnordered are the largest.
FunctionRef comparator_of(const SortOrder& order, std::span<const DType> dtypes);

// Returns the comparator with < in place of <=, and > in place of >=, if it is one comparison of
// two inputs; nullopt for others.
std::optional<Function> strict_comparison(const Function& comparator);

}  // namespace tessera::ops
