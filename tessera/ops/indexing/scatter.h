// scatter: an array with updates folded into windows at positions that are known at run time, with
// StableHLO's dimension numbers. A window that is not inside is dropped whole, as in XLA. Updates
// are folded in row-major order of the windows, so if several set one element, the last one counts.
// One body may update several arrays of one shape at the same positions; it reads an element and an
// update of each array.
#pragma once

#include "tessera/ops/indexing/gather.h"

namespace tessera {

enum class ScatterKind : uint8_t { kSet, kAdd, kMul, kMin, kMax, kCustom };
inline std::array<std::string_view, 6> enum_names(ScatterKind) {
  return {"set", "add", "mul", "min", "max", "custom"};
}

}  // namespace tessera

namespace tessera::ops {
struct ScatterParams {
  Dims update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
      scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  ScatterKind kind = ScatterKind::kSet;
  FunctionRef body = {};  // kCustom only: (old..., update...) -> new..., pointwise on scalars
  bool indices_are_sorted = false;
  bool unique_indices = false;  // no two windows have an element in common
  IndexDims numbers() const {
    return {update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims,
            input_batching_dims, scatter_indices_batching_dims};
  }
};
// The operands are the arrays, the start indices, and the updates of each array.
extern const OpDef& scatter_op;
// Returns the number of arrays of a scatter with this many operands. It is also the position of the
// start indices among the operands; the updates follow.
inline size_t scatter_arrays(size_t operands) { return operands / 2; }

IndexedWindows scatter_windows(const ScatterParams& params, const Shape& operand,
                               const Shape& indices, const Shape& updates);
// scatter_body() returns the body of a kind except kCustom, on scalars of `dtype`.
// classify_scatter_body() returns the kind of a body.
FunctionRef scatter_body(ScatterKind kind, DType dtype);
ScatterKind classify_scatter_body(const Function& body);

}  // namespace tessera::ops

namespace tessera::lax {

struct ScatterOptions {
  IndexMode mode = IndexMode::kFill;
  bool indices_are_sorted = false;
  bool unique_indices = false;
};
// Returns x with `updates` folded into windows that start at `indices`. Index vectors are along the
// last dimension of `indices`, as in jax.lax.
Array scatter(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
              ScatterKind kind, const ScatterOptions& options = {});
// Does the same with `body`, (old, update) -> new on scalars.
Array scatter(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
              ir::FunctionRef body, const ScatterOptions& options = {});

}  // namespace tessera::lax
