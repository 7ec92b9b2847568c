// ConvProduct: a convolution of few pixels by windows of one place is a matrix product of the
// pixels and the kernel. The kernel is larger than the image, so most of the time goes into reading
// it: it is read once and as it is, each thread a part of it, instead of being packed.
//
// The bits of a pixel do not depend on the number of images (gemm_panels.h).
#pragma once

#include <optional>

#include "tessera/runtime/convolutions/conv_shape.h"

namespace tessera::runtime {

class ConvProduct {
 public:
  // Returns nullopt unless the convolution is such a one, its images are stored with the features
  // last, and the CPU has the code. The elements are float32.
  static std::optional<ConvProduct> make(const ConvShape& shape);
  void run(const float* lhs, const float* rhs, float* out) const;

 private:
  int64_t rows_ = 0, columns_ = 0, terms_ = 0;
};

}  // namespace tessera::runtime
