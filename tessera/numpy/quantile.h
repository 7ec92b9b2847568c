// Quantiles, as in jax.numpy. A result is NaN if one of its elements is; the functions nan* leave
// NaNs out. All of them throw UserError for complex numbers, for axes that do not exist or have no
// elements, and for quantiles that are neither a scalar nor a vector.
#pragma once

#include <array>
#include <string_view>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// The value of a quantile between two elements: a weighted mean (kLinear), the lower or the higher
// element, their mean (kMidpoint), the nearer one (the lower one in the middle), or the first
// element whose share of the row is at least q (kInvertedCdf).
enum class QuantileMethod : uint8_t { kLinear, kLower, kHigher, kMidpoint, kNearest, kInvertedCdf };

struct QuantileOptions {
  Axes axis = None;
  bool keepdims = false;
  QuantileMethod method = QuantileMethod::kLinear;
};
// Returns the quantiles q, in [0, 1]: a scalar, or a vector, whose dimension comes first in the
// result. Integers are converted to floating first.
Array quantile(const Array& x, const Array& q, const QuantileOptions& options = {});
// Returns the quantiles q / 100.
Array percentile(const Array& x, const Array& q, const QuantileOptions& options = {});
struct MedianOptions {
  Axes axis = None;
  bool keepdims = false;
};
Array median(const Array& x, const MedianOptions& options = {});

// A result is NaN if all of its elements are.
Array nanquantile(const Array& x, const Array& q, const QuantileOptions& options = {});
Array nanpercentile(const Array& x, const Array& q, const QuantileOptions& options = {});
Array nanmedian(const Array& x, const MedianOptions& options = {});

}  // namespace tessera
