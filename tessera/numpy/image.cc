#include "tessera/numpy/image.h"

#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"

namespace tessera::image {

namespace {

Array lanczos(const Array& x, double radius) {
  const Array lobes = radius * sin(M_PI * x) * sin(M_PI / radius * x);
  const Array near_zero =
      where(x > 0.001, lobes / where(not_equal(x, 0), M_PI * M_PI * square(x), 1), 1);
  return where(x > radius, 0, near_zero);
}

// Returns the weight of an element at distance x >= 0.
Array kernel(ResizeMethod method, const Array& x) {
  switch (method) {
    case ResizeMethod::kNearest:
      break;
    case ResizeMethod::kLinear:
      return maximum(0, 1 - x);
    case ResizeMethod::kCubic: {
      const Array inner = (1.5 * x - 2.5) * x * x + 1, outer = ((-0.5 * x + 2.5) * x - 4) * x + 2;
      return where(x >= 2, 0, where(x >= 1, outer, inner));
    }
    case ResizeMethod::kLanczos3:
      return lanczos(x, 3);
    case ResizeMethod::kLanczos5:
      return lanczos(x, 5);
  }
  __builtin_unreachable();
}

// Returns the weight [old, new] of each old element in each new one. New element i is at position
// (i + 0.5 - translation) / scale - 0.5 among the old ones.
Array weights(ResizeMethod method, bool antialias, int64_t old_size, int64_t new_size,
              const Array& scale, const Array& translation) {
  const Array step = 1.0 / scale;
  const Array at = (arange(new_size, scale.dtype()) + 0.5) * step - translation * step - 0.5;
  const Array distance = abs(expand_dims(at, 0) - expand_dims(arange(old_size, scale.dtype()), 1));
  Array out = kernel(method, antialias ? distance / maximum(step, 1.0) : distance);
  const Array total = sum(out, {.axis = 0, .keepdims = true});
  constexpr double kNothing = 1000 * 1.1920928955078125e-07;  // as in JAX, for every dtype
  out = where(abs(total) > kNothing, out / where(not_equal(total, 0), total, 1), 0);
  const Array inside = (at >= -0.5) & (at <= static_cast<double>(old_size) - 0.5);
  return where(expand_dims(inside, 0), out, 0);
}

struct ScaleParams {
  Shape shape;
  Dims dims;
  ResizeMethod method;
  bool antialias;
};

// The arguments `a` are the image, the scales and the translations.
Array resampled(const ScaleParams& p, std::span<const Array> a) {
  Array image = promote(a[0], Promotion::kInexact);
  const std::vector<Array> same = promote_dtypes(a.subspan(1), Promotion::kInexact);
  for (int64_t i = 0; i < p.dims.rank(); ++i) {
    const int64_t d = p.dims[i];
    const Array w = weights(p.method, p.antialias, image.shape()[d], p.shape[d],
                            index_in_dim(same[0], i, 0, false), index_in_dim(same[1], i, 0, false));
    image = moveaxis(tensordot(image, as_dtype(w, image.dtype()), {Dims{d}, Dims{0}}), -1, d);
  }
  return image;
}

void check_shape(const char* name, const Array& image, const Shape& shape) {
  if (shape.rank() != image.ndim())
    shape_error(name, "expected a shape of {} extents for {}, got {}", image.ndim(),
                describe(image.type()), shape);
  for (int64_t extent : shape)
    if (extent < 0) shape_error(name, "expected extents of at least 0, got {}", shape);
}

Array nearest(const Array& image, const Shape& shape) {
  Array out = image;
  for (int64_t d = 0; d < image.ndim(); ++d) {
    if (shape[d] == image.shape()[d]) continue;
    const Array at = (arange(shape[d], float32) + 0.5) * static_cast<double>(image.shape()[d]) /
                     static_cast<double>(shape[d]);
    out = take(out, astype(floor(at), int32), {.axis = d});
  }
  return out;
}

}  // namespace

Array resize(const Array& image, const Shape& shape, ResizeMethod method, const ResizeOptions& o) {
  check_shape("image::resize", image, shape);
  if (method == ResizeMethod::kNearest) return nearest(image, shape);
  Dims dims;
  std::vector<double> scales;
  for (int64_t d = 0; d < image.ndim(); ++d) {
    if (shape[d] == image.shape()[d]) continue;
    dims.push_back(d);
    scales.push_back(
        shape[d] == 0 ? 1 : static_cast<double>(shape[d]) / static_cast<double>(image.shape()[d]));
  }
  if (dims.empty()) return promote(image, Promotion::kInexact);
  const Array scale = array(scales, default_float());
  return composite("image::resize", ScaleParams{shape, dims, method, o.antialias},
                   {image, scale, zeros_like(scale)}, resampled);
}

Array scale_and_translate(const Array& image, const Shape& shape, const Dims& spatial_dims,
                          const Array& scale, const Array& translation, ResizeMethod method,
                          const ResizeOptions& o) {
  const char* name = "image::scale_and_translate";
  check_shape(name, image, shape);
  const Dims dims = Axes(spatial_dims).in_order(name, image.ndim());
  if (method == ResizeMethod::kNearest)
    value_error(name, "expected a method other than kNearest; resize takes it");
  for (const Array* x : {&scale, &translation})
    if (x->shape() != Shape{dims.rank()})
      shape_error(name, "expected one scale and translation for each of {} dimensions, got {}",
                  dims.rank(), describe(x->type()));
  for (int64_t d = 0; d < image.ndim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end() && shape[d] != image.shape()[d])
      shape_error(name, "expected the extent {} of dimension {}, which is not spatial, got {}",
                  image.shape()[d], d, shape);
  return composite(name, ScaleParams{shape, dims, method, o.antialias}, {image, scale, translation},
                   resampled);
}

}  // namespace tessera::image
