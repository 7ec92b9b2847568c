// svd: the singular value decomposition a = u diag(s) vh of m by n matrices.
//
// The results are s, real and descending, [..., k] with k = min(m, n); with `compute_uv` also u,
// [..., m, k], and vh, [..., k, n] (with `full_matrices` [..., m, m] and [..., n, n]); and LAPACK's
// info for each matrix, int32: 0 unless the iteration did not converge.
#pragma once

#include <array>
#include <string_view>

#include "tessera/ir/array.h"

namespace tessera::lax::linalg {

enum class SvdAlgorithm : uint8_t { kDivideAndConquer, kQr };
inline std::array<std::string_view, 2> enum_names(SvdAlgorithm) {
  return {"DIVIDE_AND_CONQUER", "QR"};
}

struct Svd {
  Array u, s, vh;
};
// Returns the decomposition of x [..., m, n]. It is NaN for matrices for which the iteration does
// not converge.
Svd svd(const Array& x, bool full_matrices = true,
        SvdAlgorithm algorithm = SvdAlgorithm::kDivideAndConquer);
Array svdvals(const Array& x);

}  // namespace tessera::lax::linalg

namespace tessera::ops {

struct SvdParams {
  bool full_matrices = true;
  bool compute_uv = true;
  lax::linalg::SvdAlgorithm algorithm = lax::linalg::SvdAlgorithm::kDivideAndConquer;
};
extern const OpDef& svd_op;

}  // namespace tessera::ops
