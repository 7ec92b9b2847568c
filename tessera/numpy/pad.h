// pad: an array with more elements around it, as in jax.numpy.
#pragma once

#include <concepts>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

// What stands around: a value; the edge; the elements mirrored without or with the edge itself, or
// over again; a line from the edge to an end value; the maximum, mean, median or minimum along the
// dimension; anything (zeros).
enum class PadMode : uint8_t {
  kConstant,
  kEdge,
  kReflect,
  kSymmetric,
  kWrap,
  kLinearRamp,
  kMaximum,
  kMean,
  kMedian,
  kMinimum,
  kEmpty
};
struct PadOptions {
  PadMode mode = PadMode::kConstant;
  Array value = 0;  // of kConstant; the end of kLinearRamp
  // Other ones before and after: one pair for all dimensions, or one for each; none: `value`.
  std::vector<std::pair<Array, Array>> values = {};
  // Of kMaximum, kMean, kMedian and kMinimum: how many elements next to the edge they are of;
  // absent: all.
  std::optional<int64_t> stat_length = std::nullopt;
};
// widths[d] = (before, after); one pair is for all dimensions. Dimension by dimension: what stands
// around an earlier one is padded along with the later ones. UserError for negative widths, for
// numbers of widths or values that are not those of the dimensions, and for a dimension without
// elements where these are needed.
Array pad(const Array& x, const std::vector<std::pair<int64_t, int64_t>>& widths,
          const PadOptions& options = {});
template <std::integral I>
Array pad(const Array& x, I width, const PadOptions& options = {}) {
  return pad(x, std::vector<std::pair<int64_t, int64_t>>{{width, width}}, options);
}

}  // namespace tessera
