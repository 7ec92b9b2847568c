// Differences of neighbours and what is made of them, as in jax.numpy: diff, gradient, trapezoid,
// unwrap, and linear interpolation.
//
// Errors, of all: UserError for axes that do not exist and shapes that do not fit each other.
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
  std::optional<Array> prepend = std::nullopt;  // stand before x and behind it along the axis; a
  std::optional<Array> append = std::nullopt;   // scalar for one element
};
// The differences of neighbours along the axis, which is n elements shorter; of bool whether they
// differ. UserError for a scalar and a negative n.
Array diff(const Array& x, const DiffOptions& options = {});

struct Ediff1dOptions {
  std::optional<Array> to_end = std::nullopt, to_begin = std::nullopt;  // of any shape
};
// The differences of neighbours of the flattened array.
Array ediff1d(const Array& x, const Ediff1dOptions& options = {});

struct GradientOptions {
  // Distances of neighbours, one number for all axes or one an axis; or the coordinates along an
  // axis, as a vector. Absent: 1.
  std::vector<Array> spacing = {};
  Axes axis = None;
};
// The derivative along each axis, by central differences of second order inside and differences of
// neighbours at both ends, each of f's shape. UserError for less than two elements along an axis.
std::vector<Array> gradient(const Array& f, const GradientOptions& options = {});

struct TrapezoidOptions {
  std::optional<Array> x = std::nullopt;  // where y is known, as a vector or of y's shape
  Array dx = 1.0;                         // their distance where x is absent
  int64_t axis = -1;
};
// The integral of y along an axis by the trapezoidal rule.
Array trapezoid(const Array& y, const TrapezoidOptions& options = {});

struct UnwrapOptions {
  std::optional<Array> discont = std::nullopt;  // jumps from which on; absent: half of the period
  int64_t axis = -1;
  std::optional<Array> period = std::nullopt;  // absent: 2 pi
};
// p with multiples of the period added so that neighbours differ by at most half of it. Complex
// numbers: UserError.
Array unwrap(const Array& p, const UnwrapOptions& options = {});

// As the value left or right of all points: the line goes on there.
struct ExtrapolateType {};
inline constexpr ExtrapolateType kExtrapolate{};
// What stands outside of the points: a value, the line, or None: the value at the nearest point.
using InterpOutside = std::variant<NoneType, Array, ExtrapolateType>;
struct InterpOptions {
  InterpOutside left = None, right = None;
  std::optional<Array> period = std::nullopt;  // of x; left and right then do not count
};
// The piecewise linear function through (xp[i], fp[i]) at x; xp ascending, or in any order with a
// period. fp may be complex. UserError unless xp and fp are vectors of one size.
Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& options = {});

}  // namespace tessera
