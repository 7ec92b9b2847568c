// Searching and counting, as in jax.numpy. Functions whose result's shape would depend on values
// take a `size`.
//
// Errors, of all: UserError for ranks and dtypes that a function does not take, and for negative
// sizes.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

enum class Side : uint8_t { kLeft, kRight };  // of elements that are equal
enum class SearchMethod : uint8_t {
  kScan,          // halves the range: log2(n) steps for each value
  kScanUnrolled,  // the same without a loop
  kSort,          // sorts both together
  kCompareAll     // n comparisons for each value
};
struct SearchsortedOptions {
  Side side = Side::kLeft;
  Array sorter = {};  // sorted[sorter] is sorted; absent: sorted itself is
  SearchMethod method = SearchMethod::kScan;
};
// Where to insert `values` into the sorted vector so that it stays sorted: int32. NaN is the
// largest number.
Array searchsorted(const Array& sorted, const Array& values,
                   const SearchsortedOptions& options = {});
// Which bin each element is in: bins[i-1] <= x < bins[i] (`right`: < and <=) for ascending bins,
// bins[i-1] > x >= bins[i] (`right`: >= and >) for descending ones.
Array digitize(const Array& x, const Array& bins, bool right = false);

// How often each of 0, ..., length - 1 occurs in the integer vector, or the sum of its weights.
// Negative numbers count as 0; what is beyond the length does not count.
Array bincount(const Array& x, int64_t length, const Array& weights = {});

struct HistogramOptions {
  std::variant<int64_t, Array> bins = int64_t{10};                // how many, or their edges
  std::optional<std::pair<double, double>> range = std::nullopt;  // absent: of the elements
  Array weights = {};                                             // of x's shape; absent: 1
  bool density = false;  // shares of the whole, per unit of x
};
// Counts and the edges of the bins, the last of which is closed.
std::pair<Array, Array> histogram(const Array& x, const HistogramOptions& options = {});

// The indices of the first `size` elements that are not 0, one array a dimension; `fill` behind.
std::vector<Array> nonzero(const Array& x, int64_t size, int64_t fill = 0);

struct UniqueOptions {
  OrNone<int64_t> axis = std::nullopt;             // whole slices are compared; None: elements
  std::optional<Array> fill_value = std::nullopt;  // behind them; absent: the smallest
  bool equal_nan = true;                           // NaNs count as one
};
// The first `size` distinct elements, ascending.
Array unique(const Array& x, int64_t size, const UniqueOptions& options = {});
// And where each first stood, which of them every element (or slice) is, and how often it occurs (0
// behind them).
struct UniqueAll {
  Array values, indices, inverse_indices, counts;
};
UniqueAll unique_all(const Array& x, int64_t size, const UniqueOptions& options = {});

}  // namespace tessera
