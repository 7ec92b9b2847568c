// Vectors as sets, as in jax.numpy. A function whose result would have a size that depends on
// values takes the size, and fills what is left over.
//
// All functions throw UserError for negative sizes, and for conditions that do not fit the array.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/searching.h"

namespace tessera {

enum class IsinMethod : uint8_t {
  kAuto,          // kCompareAll
  kCompareAll,    // compares each element with each
  kBinarySearch,  // sorts test_elements and searches each element in them
  kSort           // sorts both arrays together
};
struct IsinOptions {
  bool invert = false;  // true for elements that are not in test_elements
  IsinMethod method = IsinMethod::kAuto;
};
// Returns whether each element is one of test_elements: bool, of element's shape.
Array isin(const Array& element, const Array& test_elements, const IsinOptions& options = {});

struct SetOptions {
  bool assume_unique = false;  // no element occurs twice in either operand
  std::optional<Array> fill_value = std::nullopt;
};
// Returns the first `size` distinct elements of both vectors, in ascending order. fill_value is by
// default the smallest of them.
Array union1d(const Array& ar1, const Array& ar2, int64_t size,
              const std::optional<Array>& fill_value = std::nullopt);
// Returns those that are in both. fill_value is by default the smallest element of the result.
Array intersect1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& options = {});
// Returns those that are in only one of both. fill_value is by default as for intersect1d.
Array setxor1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& options = {});
// Returns those of ar1 that are not in ar2 (in ar1's order with assume_unique). fill_value is by
// default 0.
Array setdiff1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& options = {});
// The common elements, and the index of the first occurrence of each in either operand (for filled
// ones the operand's size).
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
// Return the distinct elements of the flattened array, where each NaN counts separately: alone;
// with the number of occurrences of each; with the index among them of every element of x.
Array unique_values(const Array& x, int64_t size,
                    const std::optional<Array>& fill_value = std::nullopt);
UniqueCounts unique_counts(const Array& x, int64_t size,
                           const std::optional<Array>& fill_value = std::nullopt);
UniqueInverse unique_inverse(const Array& x, int64_t size,
                             const std::optional<Array>& fill_value = std::nullopt);

// Returns the indices of the first `size` elements that are not 0, one row for each: [size, rank of
// x].
Array argwhere(const Array& x, int64_t size, int64_t fill_value = 0);
// Returns their indices in the flattened array.
Array flatnonzero(const Array& x, int64_t size, int64_t fill_value = 0);

struct CompressOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of the flattened array
  Array fill_value = 0;
};
// Returns the first `size` elements (or slices) for which the condition, a vector, is not 0,
// followed by fill_value if there are fewer.
Array compress(const Array& condition, const Array& x, int64_t size,
               const CompressOptions& options = {});
// Returns the same for two arrays of one size, both flattened.
Array extract(const Array& condition, const Array& x, int64_t size, const Array& fill_value = 0);

}  // namespace tessera
