// Makes loops and branches from callables. Rules use it with callables that transform a region; so
// do functions of the library that bind a loop. The manual axes that a carry varies over are found
// by tracing the body until they no longer change.
#pragma once

#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/array.h"

namespace tessera::control {

// The operands of a scan, by part.
struct ScanSpec {
  std::vector<Array> consts, carry, xs;
  int64_t length = 0;
  bool reverse = false;
};
// Returns the last carry..., then every stacked y, of a scan over `body`: (consts..., carry...,
// slices...) -> (carry..., y...). `body` may be called several times, and may capture.
std::vector<Array> make_scan(const ScanSpec& spec, const FlatFn& body);

// Returns the carry for which `cond` is false. cond(carry...) returns a bool scalar, and
// body(carry...) the next carry.
std::vector<Array> make_while(std::vector<Array> carry, const FlatFn& cond, const FlatFn& body);

// Returns the results of the branch that `index` selects; all branches get `operands`. A result
// varies over all axes over which it varies in any branch.
std::vector<Array> make_case(const Array& index, const std::vector<FlatFn>& branches,
                             const std::vector<Array>& operands);

// Returns x with a type that varies at least over `axes`.
Array cast_varying(const Array& x, const AxisNames& axes);
// Returns zeros of this type, which vary over the same axes.
Array zero_of(const Type& type);

}  // namespace tessera::control
