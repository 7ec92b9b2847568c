// svd: singular values and vectors, a = u diag(s) vh, of m by n matrices.
//
// Results: s, real and descending, [..., k] with k = min(m, n); with `compute_uv` u, [..., m, k],
// and vh, [..., k, n], or [..., m, m] and [..., n, n] with `full_matrices`; LAPACK's info for each
// matrix, int32: 0 unless it did not converge.
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
// Results are NaN where it does not converge.
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
