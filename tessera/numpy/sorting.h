// Sorting and running totals, as in jax.numpy. NaN is the largest number.
//
// All functions throw UserError for an axis that does not exist.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

struct SortOptions {
  OrNone<int64_t> axis = -1;  // None: of the flattened array
  // sort reverses the ascending order, also of equal elements; argsort keeps the order of equal
  // ones.
  bool descending = false;
};
Array sort(const Array& x, const SortOptions& options = {});
Array argsort(const Array& x, const SortOptions& options = {});  // in the default integer dtype
// Returns the order by several keys of one shape, in the default integer dtype. The last key is the
// primary one. Throws UserError for no keys, and for keys of different shapes.
Array lexsort(const std::vector<Array>& keys, int64_t axis = -1);
// Returns the k largest elements along the axis in descending order, and their positions (int32).
// Throws UserError for a k that is negative or larger than the extent.
std::pair<Array, Array> top_k(const Array& x, int64_t k, int64_t axis = -1);

struct CumulativeOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of the flattened array
  std::optional<DType> dtype = std::nullopt;
};
Array cumsum(const Array& x, const CumulativeOptions& options = {});
Array cumprod(const Array& x, const CumulativeOptions& options = {});
// The same functions, leaving NaNs out.
Array nancumsum(const Array& x, const CumulativeOptions& options = {});
Array nancumprod(const Array& x, const CumulativeOptions& options = {});
struct RunningOptions {
  int64_t axis = 0;
  bool reverse = false;
};
// Complex numbers are ordered by their real, then by their imaginary parts. After a NaN all results
// are NaN.
Array cummax(const Array& x, const RunningOptions& options = {});
Array cummin(const Array& x, const RunningOptions& options = {});
Array cumlogsumexp(const Array& x, const RunningOptions& options = {});

}  // namespace tessera
