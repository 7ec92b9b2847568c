#include "tessera/ops/reductions/neutral.h"

#include <complex>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"

namespace tessera::ops {

Array neutral_to_sum(DType dtype, const Shape& shape) {
  return lax::full(
      shape,
      is_inexact(dtype)
          ? convert_literal(is_complex(dtype) ? Literal::scalar(std::complex<double>(-0., -0.))
                                              : Literal::scalar(-0.),
                            dtype)
          : Literal(dtype, Shape{}));
}

bool has_neutral_to_sum(DType dtype) { return !is_floating(dtype) || itemsize(dtype) > 1; }

}  // namespace tessera::ops
