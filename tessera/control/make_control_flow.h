// Makes loops and branches of callables: the user's, and those that rules transform. What the carry
// varies over along manual axes is found by tracing until it stays.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera::control {

// A scan whose body is a callable: (consts..., carry..., slices...) -> (carry..., y...). It may be
// called several times, and may capture. Results: the last carry..., every y stacked.
struct ScanSpec {
  std::vector<Array> consts, carry, xs;
  int64_t length = 0;
  bool reverse = false;
};
std::vector<Array> make_scan(const ScanSpec& spec, const FlatFn& body);

// A while loop of callables: cond(carry...) -> a bool, body(carry...) -> carry....
std::vector<Array> make_while(std::vector<Array> carry, const FlatFn& cond, const FlatFn& body);

// Branches of callables, all over `operands`; results vary over what any branch's result does.
std::vector<Array> make_case(const Array& index, const std::vector<FlatFn>& branches,
                             const std::vector<Array>& operands);

// x typed as varying over at least `axes`.
Array cast_varying(const Array& x, const AxisNames& axes);
// Zeros of this dtype and shape, typed as varying likewise.
Array zero_of(const Type& type);

}  // namespace tessera::control
