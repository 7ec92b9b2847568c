// Sorting and what follows from it, running totals, counting and searching, as in jax.numpy.
//
// NaN is the largest number. Functions whose result's shape would depend on values take a `size`.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

struct SortOptions {
  std::optional<int64_t> axis = -1;  // nullopt: of the flattened array
  bool descending = false;           // equal elements keep their order all the same
};
Array sort(const Array& x, const SortOptions& options = {});
Array argsort(const Array& x, const SortOptions& options = {});  // default integers
// The k largest along the last axis, descending, and their places (int32).
std::pair<Array, Array> top_k(const Array& x, int64_t k);

struct CumulativeOptions {
  std::optional<int64_t> axis = std::nullopt;  // absent: of the flattened array
  std::optional<DType> dtype = std::nullopt;
};
Array cumsum(const Array& x, const CumulativeOptions& options = {});
Array cumprod(const Array& x, const CumulativeOptions& options = {});
struct RunningOptions {
  int64_t axis = 0;
  bool reverse = false;
};
Array cummax(const Array& x, const RunningOptions& options = {});
Array cummin(const Array& x, const RunningOptions& options = {});
Array cumlogsumexp(const Array& x, const RunningOptions& options = {});

struct QuantileOptions {
  std::optional<int64_t> axis = std::nullopt;  // absent: of the flattened array
  bool keepdims = false;
};
// Interpolated linearly between the two nearest; NaN where any element is. q: a scalar or a vector,
// whose dimension stands first.
Array quantile(const Array& x, const Array& q, const QuantileOptions& options = {});
Array percentile(const Array& x, const Array& q, const QuantileOptions& options = {});
Array median(const Array& x, const QuantileOptions& options = {});

// Where to insert `values` into the sorted vector so that it stays sorted; `right`: behind equal
// ones.
Array searchsorted(const Array& sorted, const Array& values, bool right = false);
// Which bin each element is in: bins[i-1] <= x < bins[i] (`right`: < and <=) for ascending bins.
Array digitize(const Array& x, const Array& bins, bool right = false);

// How often each of 0, ..., length - 1 occurs, or the sum of its weights; what is outside does not
// count.
Array bincount(const Array& x, int64_t length, const Array& weights = {});
struct HistogramOptions {
  int64_t bins = 10;
  std::optional<std::pair<double, double>> range = std::nullopt;  // absent: of the elements
};
// Counts and the edges of the bins, the last of which is closed.
std::pair<Array, Array> histogram(const Array& x, const HistogramOptions& options = {});

// The indices of the first `size` elements that are not 0, one array a dimension; `fill` behind.
std::vector<Array> nonzero(const Array& x, int64_t size, int64_t fill = 0);
// The first `size` distinct elements, ascending; behind them `fill`, or else the smallest.
Array unique(const Array& x, int64_t size, std::optional<Array> fill = std::nullopt);

}  // namespace tessera
