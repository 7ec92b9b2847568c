#include "tessera/nn/pooling.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::nn {

using namespace ops;

namespace {

Windows windows_of(const char* op, const Shape& x, const Dims& window, const Dims& strides,
                   const Padding& padding) {
  const int64_t rank = x.rank(), spatial = window.rank();
  if (rank < spatial + 1)
    shape_error(op, "expected inputs of {} spatial dimensions and features, got shape {}", spatial,
                x);
  if (!strides.empty() && strides.rank() != spatial)
    value_error(op, "expected strides of {} dimensions, as the window {}, got {}", spatial, window,
                strides);
  Windows out = Windows::of_size(Dims(x.size(), 1));
  const int64_t first = rank - 1 - spatial;
  for (int64_t d = 0; d < spatial; ++d) {
    out.size[first + d] = window[d];
    if (!strides.empty()) out.strides[first + d] = strides[d];
    if (out.size[first + d] < 1 || out.strides[first + d] < 1)
      value_error(op, "expected a positive window and strides, got {} and {}", window, strides);
  }
  switch (padding.mode()) {
    case Padding::kValid:
      break;
    case Padding::kSame:
      std::tie(out.low, out.high) = same_padding(x, out);
      break;
    case Padding::kExplicit:
      if (static_cast<int64_t>(padding.widths().size()) != spatial)
        value_error(op, "expected padding of {} dimensions, as the window {}, got {}", spatial,
                    window, padding.widths().size());
      for (int64_t d = 0; d < spatial; ++d)
        std::tie(out.low[first + d], out.high[first + d]) =
            padding.widths()[static_cast<size_t>(d)];
      break;
    case Padding::kCircular:
    case Padding::kReflect:
    case Padding::kCausal:
      value_error(op,
                  "expected padding kSame, kValid or widths, got one for convolutions; pad the "
                  "input first");
  }
  return out;
}

Array extremum(const char* op, ReduceKind kind, const Array& x, const Dims& window,
               const PoolOptions& o) {
  if (is_complex(x.dtype()) || x.dtype() == bool_)
    type_error(op, "expected real numbers, got {}; convert them", describe(x.type()));
  const Windows windows = windows_of(op, x.shape(), window, o.strides, o.padding);
  struct PoolParams {
    ReduceKind kind;
    Windows windows;
  };
  return composite(op, PoolParams{kind, windows}, std::span<const Array>(&x, 1),
                   [](const PoolParams& p, std::span<const Array> a) {
                     return lax::reduce_window_of(p.kind, a[0], p.windows);
                   });
}

}  // namespace

Array max_pool(const Array& x, const Dims& window_shape, const PoolOptions& options) {
  return extremum("max_pool", ReduceKind::kMax, x, window_shape, options);
}
Array min_pool(const Array& x, const Dims& window_shape, const PoolOptions& options) {
  return extremum("min_pool", ReduceKind::kMin, x, window_shape, options);
}

Array avg_pool(const Array& x, const Dims& window_shape, const AvgPoolOptions& o) {
  if (!is_inexact(x.dtype()))
    type_error("avg_pool", "expected a floating-point or complex array, got {}; convert it",
               describe(x.type()));
  const Windows windows = windows_of("avg_pool", x.shape(), window_shape, o.strides, o.padding);
  const std::span<const Array> args(&x, 1);
  if (o.count_include_pad)
    return composite("avg_pool", windows, args, [](const Windows& p, std::span<const Array> a) {
      return lax::reduce_window_of(ReduceKind::kSum, a[0], p) /
             static_cast<double>(p.size.elements());
    });
  return composite("avg_pool_of_elements", windows, args,
                   [](const Windows& p, std::span<const Array> a) {
                     // The number of elements of each window is the same for all examples and
                     // features.
                     Shape shape = a[0].shape();
                     for (int64_t d = 0; d < shape.rank(); ++d)
                       if (p.trivial(d)) shape[d] = 1;
                     return lax::reduce_window_of(ReduceKind::kSum, a[0], p) /
                            lax::reduce_window_of(ReduceKind::kSum, ones(shape, a[0].dtype()), p);
                   });
}

}  // namespace tessera::nn
