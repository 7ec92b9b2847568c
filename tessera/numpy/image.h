// Images, with the names of jax.image: resampling by kernels.
//
// Errors, of all: UserError for shapes of another rank and for dimensions that do not exist.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::image {

// What a new element is made of: the nearest old one; a mean by a triangle; by the cubic of Keys with
// a = -0.5 ("Cubic convolution interpolation for digital image processing", 1981); by sinc under the
// lobes of a wider one.
enum class ResizeMethod : uint8_t { kNearest, kLinear, kCubic, kLanczos3, kLanczos5 };

struct ResizeOptions {
  bool antialias = true;  // widens the kernel where the image becomes smaller
};
// The image with another shape. Integers become floating, but for kNearest.
Array resize(const Array& image, const Shape& shape, ResizeMethod method,
             const ResizeOptions& options = {});
// The image as `shape`, along each spatial dimension scaled by scale[i] and then moved by
// translation[i] elements; 0 where it is not. UserError for kNearest.
Array scale_and_translate(const Array& image, const Shape& shape, const Dims& spatial_dims,
                          const Array& scale, const Array& translation, ResizeMethod method,
                          const ResizeOptions& options = {});

}  // namespace tessera::image
