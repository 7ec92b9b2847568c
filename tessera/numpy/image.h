// Resampling of images by kernels, with the names of jax.image.
//
// All functions throw UserError for shapes of another rank and for dimensions that do not exist.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::image {

// How a new element is computed from old ones: kNearest takes the nearest; kLinear is a mean
// weighted by a triangle; kCubic uses the cubic of Keys with a = -0.5 ("Cubic convolution
// interpolation for digital image processing", 1981); kLanczos uses a sinc windowed by 3 or 5 lobes
// of a wider one.
enum class ResizeMethod : uint8_t { kNearest, kLinear, kCubic, kLanczos3, kLanczos5 };

struct ResizeOptions {
  bool antialias = true;  // widens the kernel if the image becomes smaller
};
// Returns the image resampled to another shape. Integers become floating, except with kNearest.
Array resize(const Array& image, const Shape& shape, ResizeMethod method,
             const ResizeOptions& options = {});
// Returns an image of `shape`, scaled along each spatial dimension by scale[i] and then moved by
// translation[i] elements. Elements outside of the image are 0. Throws UserError for kNearest.
Array scale_and_translate(const Array& image, const Shape& shape, const Dims& spatial_dims,
                          const Array& scale, const Array& translation, ResizeMethod method,
                          const ResizeOptions& options = {});

}  // namespace tessera::image
