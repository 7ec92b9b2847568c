// Differences of neighbours and functions that use them, as in jax.numpy: diff, gradient,
// trapezoid, unwrap, and linear interpolation.
//
// All functions throw UserError for axes that do not exist and shapes that do not fit each other.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

struct DiffOptions {
  int64_t n = 1;  // how often differences are taken
  int64_t axis = -1;
  std::optional<Array> prepend = std::nullopt;  // put before or behind x along the axis; a
  std::optional<Array> append = std::nullopt;   // scalar makes one slice
};
// Returns the differences of neighbours along the axis, n elements fewer. For bool arrays it
// returns whether neighbours differ. Throws UserError for a scalar and for a negative n.
Array diff(const Array& x, const DiffOptions& options = {});

struct Ediff1dOptions {
  std::optional<Array> to_end = std::nullopt, to_begin = std::nullopt;  // of any shape
};
// Returns the differences of neighbours of the flattened array, with `to_begin` before and `to_end`
// behind them.
Array ediff1d(const Array& x, const Ediff1dOptions& options = {});

struct GradientOptions {
  // The distance of neighbours, one for all axes or one for each axis; or for an axis the
  // coordinates of its elements, as a vector. Absent: 1.
  std::vector<Array> spacing = {};
  Axes axis = None;
};
// Returns for each axis the derivative along it, of f's shape: central differences of second order
// inside and differences of neighbours at both ends. Throws UserError for fewer than two elements
// along an axis.
std::vector<Array> gradient(const Array& f, const GradientOptions& options = {});

struct TrapezoidOptions {
  std::optional<Array> x = std::nullopt;  // coordinates of y, as a vector or of y's shape
  Array dx = 1.0;                         // distance of neighbours if x is absent
  int64_t axis = -1;
};
// Returns the integral of y along an axis by the trapezoidal rule.
Array trapezoid(const Array& y, const TrapezoidOptions& options = {});

struct UnwrapOptions {
  std::optional<Array> discont = std::nullopt;  // least jump to correct; absent: half of the period
  int64_t axis = -1;
  std::optional<Array> period = std::nullopt;  // absent: 2 pi
};
// Returns p plus multiples of the period, so that neighbours differ by at most half of it. Throws
// UserError for complex numbers.
Array unwrap(const Array& p, const UnwrapOptions& options = {});

// As InterpOptions::left or right: the line through the two nearest points continues.
struct ExtrapolateType {};
inline constexpr ExtrapolateType kExtrapolate{};
// The result outside of the points: a value; kExtrapolate; or None, the value at the nearest point.
using InterpOutside = std::variant<NoneType, Array, ExtrapolateType>;
struct InterpOptions {
  InterpOutside left = None, right = None;
  std::optional<Array> period = std::nullopt;  // period of x; left and right are then ignored
};
// Returns at x the piecewise linear function through the points (xp[i], fp[i]). xp ascends, or has
// any order if there is a period. fp may be complex. Throws UserError unless xp and fp are vectors
// of one size.
Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& options = {});

}  // namespace tessera
