// Cosine transforms, with the names of jax.scipy.fft: of type 2, and their inverse.
//
// Integers become floating; of complex numbers both parts are transformed. Errors, of all: UserError
// for axes that do not exist and for lengths below 1.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera::scipy::fft {

enum class DctNorm : uint8_t { kBackward, kOrtho };
struct DctOptions {
  std::optional<int64_t> n = std::nullopt;  // as if cut, or with zeros behind, to this length
  int64_t axis = -1;
  DctNorm norm = DctNorm::kBackward;  // kOrtho: an orthogonal transform
};
// 2 sum over j of x[j] cos(pi k (2 j + 1) / (2 n)) along an axis, and its inverse.
Array dct(const Array& x, const DctOptions& options = {});
Array idct(const Array& x, const DctOptions& options = {});
struct DctnOptions {
  std::optional<Dims> s = std::nullopt;  // n of each axis; the last axes where there are no `axes`
  Axes axes = None;
  DctNorm norm = DctNorm::kBackward;
};
// The same along several axes.
Array dctn(const Array& x, const DctnOptions& options = {});
Array idctn(const Array& x, const DctnOptions& options = {});

}  // namespace tessera::scipy::fft
