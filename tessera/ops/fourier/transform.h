// Transform: a discrete Fourier transform over some adjacent dimensions, prepared for arrays of one
// shape. It computes stablehlo.fft.
#pragma once

#include <memory>

#include "tessera/ir/type.h"
#include "tessera/ops/fourier/fft.h"

namespace tessera::ops::fourier {

class Transform {
 public:
  virtual ~Transform() = default;
  virtual void run(const void* in, void* out) const = 0;
};

// A transform over the dimensions first, first + 1, ..., of these lengths; for kRfft and kIrfft
// these include the last dimension.
struct TransformSpec {
  FftType type;
  int64_t first;
  Dims lengths;
  bool operator==(const TransformSpec&) const = default;
};
// Returns the transform. `shape` is the operand's; `real` is the dtype of real parts, float32 or
// float64. Recent transforms are cached.
std::shared_ptr<const Transform> find_transform(const TransformSpec& spec, DType real,
                                                const Shape& shape);

}  // namespace tessera::ops::fourier
