// Cosine transforms of type 2 and their inverses, with the names of jax.scipy.fft.
//
// Integers become floating. Both parts of complex numbers are transformed. All functions throw
// UserError for axes that do not exist and for lengths below 1.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera::scipy::fft {

enum class DctNorm : uint8_t { kBackward, kOrtho };
struct DctOptions {
  std::optional<int64_t> n = std::nullopt;  // length to which the axis is cut, or padded with zeros
  int64_t axis = -1;
  DctNorm norm = DctNorm::kBackward;  // kOrtho: an orthogonal transform
};
// dct returns 2 sum over j of x[j] cos(pi k (2 j + 1) / (2 n)) along an axis; idct is its inverse.
Array dct(const Array& x, const DctOptions& options = {});
Array idct(const Array& x, const DctOptions& options = {});
struct DctnOptions {
  OrNone<Dims> s = std::nullopt;  // lengths of the axes; without `axes`, of the last ones
  Axes axes = None;
  DctNorm norm = DctNorm::kBackward;
};
// Return the same along several axes.
Array dctn(const Array& x, const DctnOptions& options = {});
Array idctn(const Array& x, const DctnOptions& options = {});

}  // namespace tessera::scipy::fft
