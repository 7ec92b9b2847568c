// Loops and branches from callables: for rules, whose callables transform a region, and for
// functions of the library that bind a loop themselves. Which manual axes a carry varies over is
// found by tracing its body until they stay.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera::control {

// The operands of a scan.
struct ScanSpec {
  std::vector<Array> consts, carry, xs;
  int64_t length = 0;
  bool reverse = false;
};
// Returns the last carry..., then every y stacked, of a scan by `body`: (consts..., carry...,
// slices...) -> (carry..., y...). It may be called several times, and may capture.
std::vector<Array> make_scan(const ScanSpec& spec, const FlatFn& body);

// Returns the carry for which `cond` is false: cond(carry...) -> a bool, body(carry...) ->
// carry....
std::vector<Array> make_while(std::vector<Array> carry, const FlatFn& cond, const FlatFn& body);

// Returns the results of the branch that `index` takes, all over `operands`; they vary over what
// the result of any branch does.
std::vector<Array> make_case(const Array& index, const std::vector<FlatFn>& branches,
                             const std::vector<Array>& operands);

// Returns x typed as varying over at least `axes`.
Array cast_varying(const Array& x, const AxisNames& axes);
// Returns zeros of this dtype and shape, typed as varying likewise.
Array zero_of(const Type& type);

}  // namespace tessera::control
