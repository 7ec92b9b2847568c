// pad: an array surrounded by more elements, as in jax.numpy.
#pragma once

#include <concepts>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

// The elements that pad() adds along a dimension: `value` (kConstant); the element at the edge
// (kEdge); the elements mirrored without the edge itself (kReflect) or with it (kSymmetric); the
// elements repeated (kWrap); numbers between the edge and an end value (kLinearRamp); the maximum,
// mean, median or minimum along the dimension; anything, which is zeros (kEmpty).
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
  Array value = 0;  // for kConstant; the end value of kLinearRamp
  // Different values before and after: one pair for all dimensions, or one for each; none: `value`.
  std::vector<std::pair<Array, Array>> values = {};
  // For kMaximum, kMean, kMedian and kMinimum: the number of elements next to the edge that count;
  // absent: all.
  std::optional<int64_t> stat_length = std::nullopt;
};
// Returns x padded by widths[d] = (before, after) elements; one pair is for all dimensions.
// Dimensions are padded in order, so a later one also pads the elements that an earlier one added.
// Throws UserError for negative widths, for numbers of widths or values other than the number of
// dimensions, and for a dimension without elements if the mode needs some.
Array pad(const Array& x, const std::vector<std::pair<int64_t, int64_t>>& widths,
          const PadOptions& options = {});
template <std::integral I>
Array pad(const Array& x, I width, const PadOptions& options = {}) {
  return pad(x, std::vector<std::pair<int64_t, int64_t>>{{width, width}}, options);
}

}  // namespace tessera
