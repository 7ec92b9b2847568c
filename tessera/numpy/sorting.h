// Sorting and running totals, as in jax.numpy. NaN is the largest number.
//
// Errors, of all: UserError for an axis that does not exist.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

struct SortOptions {
  OrNone<int64_t> axis = -1;  // None: of the flattened array
  // sort turns the ascending order over, equal elements with it; argsort keeps the order of these.
  bool descending = false;
};
Array sort(const Array& x, const SortOptions& options = {});
Array argsort(const Array& x, const SortOptions& options = {});  // default integers
// The order by several keys of one shape, of which the last counts first: default integers.
// UserError for no keys, and for keys of different shapes.
Array lexsort(const std::vector<Array>& keys, int64_t axis = -1);
// The k largest along the axis, descending, and their places (int32). UserError for a k that is
// negative or larger than the extent.
std::pair<Array, Array> top_k(const Array& x, int64_t k, int64_t axis = -1);

struct CumulativeOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of the flattened array
  std::optional<DType> dtype = std::nullopt;
};
Array cumsum(const Array& x, const CumulativeOptions& options = {});
Array cumprod(const Array& x, const CumulativeOptions& options = {});
// As if NaNs were not there.
Array nancumsum(const Array& x, const CumulativeOptions& options = {});
Array nancumprod(const Array& x, const CumulativeOptions& options = {});
struct RunningOptions {
  int64_t axis = 0;
  bool reverse = false;
};
// Complex numbers by their real, then their imaginary parts; NaN stays.
Array cummax(const Array& x, const RunningOptions& options = {});
Array cummin(const Array& x, const RunningOptions& options = {});
Array cumlogsumexp(const Array& x, const RunningOptions& options = {});

}  // namespace tessera
