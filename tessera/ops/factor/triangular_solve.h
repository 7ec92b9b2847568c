// triangular_solve: StableHLO's op that solves equations with triangular matrices.
//
// It solves op(a) x = b, or x op(a) = b if `left_side` is false, for a [..., m, m]. One triangle of
// a is read, without its diagonal if `unit_diagonal`, which then counts as ones. The batch
// dimensions of a and b are equal. A singular matrix leads to infinities and NaN.
#pragma once

#include <array>
#include <string_view>

#include "tessera/ir/array.h"

namespace tessera::lax::linalg {

enum class Transpose : uint8_t { kNoTranspose, kTranspose, kAdjoint };
inline std::array<std::string_view, 3> enum_names(Transpose) {
  return {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
}

struct TriangularSolveOptions {
  bool left_side = false;
  bool lower = false;
  bool transpose_a = false;
  bool conjugate_a = false;
  bool unit_diagonal = false;
};
// Returns the solution x, which has b's shape. b is [..., m, n] with `left_side`, else [..., n, m];
// or it has one dimension less, and holds vectors.
Array triangular_solve(const Array& a, const Array& b, const TriangularSolveOptions& options = {});

}  // namespace tessera::lax::linalg

namespace tessera::ops {

struct TriangularSolveParams {
  bool left_side = false;
  bool lower = false;
  bool unit_diagonal = false;
  lax::linalg::Transpose transpose_a = lax::linalg::Transpose::kNoTranspose;
};
extern const OpDef& triangular_solve_op;

}  // namespace tessera::ops
