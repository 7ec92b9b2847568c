// Loops and branches made of callables, for rules, whose callables transform a region, and for
// functions of the library that bind a loop themselves. The manual axes that a carry varies over
// are found by tracing the body until they no longer change.
#pragma once

#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/array.h"

namespace tessera::control {

// The operands of a scan.
struct ScanSpec {
  std::vector<Array> consts, carry, xs;
  int64_t length = 0;
  bool reverse = false;
};
// Returns the last carry..., then every stacked y, of a scan over `body`: (consts..., carry...,
// slices...) -> (carry..., y...). `body` may be called several times, and may capture.
std::vector<Array> make_scan(const ScanSpec& spec, const FlatFn& body);

// Returns the carry for which `cond` is false: cond(carry...) -> a bool, body(carry...) ->
// carry....
std::vector<Array> make_while(std::vector<Array> carry, const FlatFn& cond, const FlatFn& body);

// Returns the results of the branch that `index` selects; all branches get `operands`. The results
// vary over all axes that the result of any branch varies over.
std::vector<Array> make_case(const Array& index, const std::vector<FlatFn>& branches,
                             const std::vector<Array>& operands);

// Returns x typed as varying over at least `axes`.
Array cast_varying(const Array& x, const AxisNames& axes);
// Returns zeros of this type, which vary over the same axes.
Array zero_of(const Type& type);

}  // namespace tessera::control
