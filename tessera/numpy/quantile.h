// Quantiles, as in jax.numpy. NaN where any element is; of nan*, as if NaNs were not there.
//
// Errors, of all: UserError for complex numbers, for axes that do not exist or hold nothing, and
// for quantiles that are neither a scalar nor a vector.
#pragma once

#include <array>
#include <string_view>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// What stands for a quantile between two elements: a weighted mean, the lower or the higher one,
// their mean, the nearer one (the lower at the middle), or the first whose share is reached.
enum class QuantileMethod : uint8_t { kLinear, kLower, kHigher, kMidpoint, kNearest, kInvertedCdf };

struct QuantileOptions {
  Axes axis = None;
  bool keepdims = false;
  QuantileMethod method = QuantileMethod::kLinear;
};
// q in [0, 1]: a scalar, or a vector, whose dimension stands first. Of integers in float32.
Array quantile(const Array& x, const Array& q, const QuantileOptions& options = {});
// The same of q / 100.
Array percentile(const Array& x, const Array& q, const QuantileOptions& options = {});
struct MedianOptions {
  Axes axis = None;
  bool keepdims = false;
};
Array median(const Array& x, const MedianOptions& options = {});

// NaN where all elements are.
Array nanquantile(const Array& x, const Array& q, const QuantileOptions& options = {});
Array nanpercentile(const Array& x, const Array& q, const QuantileOptions& options = {});
Array nanmedian(const Array& x, const MedianOptions& options = {});

}  // namespace tessera
