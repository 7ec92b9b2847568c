// Transform: a discrete Fourier transform of arrays of one shape over some neighbouring dimensions,
// prepared: the computation of stablehlo.fft.
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

// A transform over the dimensions first, first + 1, ..., of these lengths; if real arrays take
// part, the last of all dimensions is one of them.
struct TransformSpec {
  FftType type;
  int64_t first;
  Dims lengths;
  bool operator==(const TransformSpec&) const = default;
};
// Returns the transform. `shape` is the operand's; `real` is float32 or float64, the dtype of real
// parts. Recent transforms are kept.
std::shared_ptr<const Transform> find_transform(const TransformSpec& spec, DType real,
                                                const Shape& shape);

}  // namespace tessera::ops::fourier
