// select_and_scatter: selects one element of every window of an array, and folds the window's value
// of `source` into that position; all other elements have the initial value. It is the transpose of
// max pooling's derivative.
#pragma once

#include "tessera/ops/reductions/reduce_window.h"

namespace tessera {

enum class SelectKind : uint8_t { kGe, kLe, kCustom };
inline std::array<std::string_view, 3> enum_names(SelectKind) { return {"GE", "LE", "custom"}; }

}  // namespace tessera

namespace tessera::ops {
struct SelectAndScatterParams {
  Dims size, strides, low, high;
  SelectKind kind = SelectKind::kGe;
  FunctionRef select = {};   // kCustom only: (a, b) -> bool, whether a is kept
  FunctionRef scatter = {};  // (old, value) -> new; null stands for their sum
  Windows windows() const;
};
// The operands are the array, the source (with one element for each window) and the initial scalar.
extern const OpDef& select_and_scatter_op;
// Returns the params of a select_and_scatter, or null for other ops.
const SelectAndScatterParams* as_select_and_scatter(const Op& op);
FunctionRef select_body(SelectKind kind, DType dtype);

}  // namespace tessera::ops

namespace tessera::lax {

// Returns an array of x's shape in which each element of source is added at the largest (kGe) or
// smallest (kLe) element of its window, the first of equal ones.
Array select_and_scatter_add(const Array& source, const Array& x, SelectKind kind,
                             const Dims& window, const Dims& strides, const Dims& low,
                             const Dims& high);

}  // namespace tessera::lax
