// Searching and counting, as in jax.numpy. Functions whose result would have a shape that depends
// on values take a `size`.
//
// All functions throw UserError for ranks and dtypes that they do not take, and for negative sizes.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

enum class Side : uint8_t { kLeft, kRight };  // before or after equal elements
enum class SearchMethod : uint8_t {
  kScan,          // binary search: log2(n) steps for each value
  kScanUnrolled,  // the same without a loop
  kSort,          // sorts both arrays together
  kCompareAll     // n comparisons for each value
};
struct SearchsortedOptions {
  Side side = Side::kLeft;
  Array sorter = {};  // indices that sort `sorted`; absent: it is sorted already
  SearchMethod method = SearchMethod::kScan;
};
// Returns the positions (int32) where to insert `values` into the sorted vector so that it stays
// sorted. NaN is the largest number.
Array searchsorted(const Array& sorted, const Array& values,
                   const SearchsortedOptions& options = {});
// Returns the bin i of each element: bins[i-1] <= x < bins[i] for ascending bins (`right`: < and
// <=), bins[i-1] > x >= bins[i] for descending ones (`right`: >= and >).
Array digitize(const Array& x, const Array& bins, bool right = false);

// Returns how often each of 0, ..., length - 1 occurs in the integer vector, or the sum of its
// weights. Negative numbers count as 0; numbers >= length are not counted.
Array bincount(const Array& x, int64_t length, const Array& weights = {});

struct HistogramOptions {
  std::variant<int64_t, Array> bins = int64_t{10};         // number of bins, or their edges
  OrNone<std::pair<double, double>> range = std::nullopt;  // absent: of the elements
  Array weights = {};                                      // of x's shape; absent: 1
  bool density = false;                                    // shares of the whole, per unit of x
};
// Returns counts, and the edges of the bins. The last bin includes its upper edge.
std::pair<Array, Array> histogram(const Array& x, const HistogramOptions& options = {});

// Returns the indices of the first `size` elements that are not 0, one array for each dimension,
// followed by `fill` if there are fewer.
std::vector<Array> nonzero(const Array& x, int64_t size, int64_t fill = 0);

struct UniqueOptions {
  OrNone<int64_t> axis = std::nullopt;             // whole slices are compared; None: elements
  std::optional<Array> fill_value = std::nullopt;  // if there are fewer; absent: the smallest
  bool equal_nan = true;                           // all NaNs are one element
};
// Returns the first `size` distinct elements, in ascending order.
Array unique(const Array& x, int64_t size, const UniqueOptions& options = {});
// The result of unique_all: the distinct elements (or slices); for each the index of its first
// occurrence and the number of its occurrences (0 for filled ones); and for every element of x the
// index of the distinct one that it equals.
struct UniqueAll {
  Array values, indices, inverse_indices, counts;
};
UniqueAll unique_all(const Array& x, int64_t size, const UniqueOptions& options = {});

}  // namespace tessera
