// Vectors as sets, as in jax.numpy. A result whose size depends on values takes its size; what is
// left over is filled.
//
// Errors, of all: UserError for negative sizes, and for conditions that do not fit the array.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/searching.h"

namespace tessera {

enum class IsinMethod : uint8_t {
  kAuto,          // kCompareAll
  kCompareAll,    // compares each with each
  kBinarySearch,  // sorts test_elements and halves them
  kSort           // sorts both together
};
struct IsinOptions {
  bool invert = false;  // whether it is not
  IsinMethod method = IsinMethod::kAuto;
};
// Whether each element is one of test_elements: bool, of element's shape.
Array isin(const Array& element, const Array& test_elements, const IsinOptions& options = {});

struct SetOptions {
  bool assume_unique = false;  // no element occurs twice in either operand
  std::optional<Array> fill_value = std::nullopt;
};
// The first `size` elements that are in either, ascending, once. Absent, fill_value is the smallest.
Array union1d(const Array& ar1, const Array& ar2, int64_t size,
              const std::optional<Array>& fill_value = std::nullopt);
// Those that are in both. Absent, fill_value is the smallest of the result's elements.
Array intersect1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& options = {});
// Those that are in one of both. Absent, fill_value is as for intersect1d.
Array setxor1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& options = {});
// Those of ar1 that are not in ar2 (in ar1's order with assume_unique). Absent, fill_value is 0.
Array setdiff1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& options = {});
// The common elements, and where each first stood in either operand (its size behind them).
struct Intersect1d {
  Array values, indices1, indices2;
};
Intersect1d intersect1d_indices(const Array& ar1, const Array& ar2, int64_t size,
                                const SetOptions& options = {});

struct UniqueCounts {
  Array values, counts;
};
struct UniqueInverse {
  Array values, inverse_indices;
};
// unique of the flattened array, where NaNs do not count as one; with how often each occurs; with
// which of them every element is.
Array unique_values(const Array& x, int64_t size,
                    const std::optional<Array>& fill_value = std::nullopt);
UniqueCounts unique_counts(const Array& x, int64_t size,
                           const std::optional<Array>& fill_value = std::nullopt);
UniqueInverse unique_inverse(const Array& x, int64_t size,
                             const std::optional<Array>& fill_value = std::nullopt);

// The indices of the first `size` elements that are not 0, one row an element: [size, dimensions].
Array argwhere(const Array& x, int64_t size, int64_t fill_value = 0);
// The same in the flattened array.
Array flatnonzero(const Array& x, int64_t size, int64_t fill_value = 0);

struct CompressOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of the flattened array
  Array fill_value = 0;
};
// The first `size` elements (or slices) where the condition, a vector, is not 0; fill_value behind.
Array compress(const Array& condition, const Array& x, int64_t size,
               const CompressOptions& options = {});
// The same of two arrays of one size, both flattened.
Array extract(const Array& condition, const Array& x, int64_t size, const Array& fill_value = 0);

}  // namespace tessera
