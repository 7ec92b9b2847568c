#include "tessera/numpy/activations.h"

#include <numbers>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"

namespace tessera {

Array squareplus(const Array& x, const Array& b) {
  return composite("squareplus", {}, {x, b}, [](const NoParams&, std::span<const Array> a) {
    const Array x = promote(a[0], Promotion::kInexact);
    return (x + sqrt(square(x) + a[1])) / 2;
  });
}

Array sparse_plus(const Array& x) {
  return composite("sparse_plus", {}, {x}, [](const NoParams&, std::span<const Array> a) {
    const Array& x = a[0];
    return where(x <= -1.0, 0.0, where(x >= 1.0, x, square(x + 1.0) / 4));
  });
}

Array sparse_sigmoid(const Array& x) {
  return composite("sparse_sigmoid", {}, {x}, [](const NoParams&, std::span<const Array> a) {
    return 0.5 * clip(a[0] + 1.0, 0, 2);
  });
}

Array log1mexp(const Array& x) {
  if (is_complex(x.dtype()))
    type_error("log1mexp", "expected real numbers, got {}", describe(x.type()));
  return composite("log1mexp", {}, {x}, [](const NoParams&, std::span<const Array> a) {
    const Array x = promote(a[0], Promotion::kInexact);
    // Each branch gets only arguments for which it is precise, so that the gradients are precise
    // too.
    const Array small = x < std::numbers::ln2;
    const Array near_zero = log(-expm1(-where(small, x, 1)));
    return where(small, near_zero, log1p(-exp(-where(small, 1, x))));
  });
}

Array logmeanexp(const Array& x, const LogmeanexpOptions& o) {
  const Array count =
      sum(o.where.defined() ? broadcast_to(o.where, x.shape()) : ones(x.shape(), bool_),
          {.axis = o.axis, .keepdims = o.keepdims});
  const Array total = logsumexp(x, {.axis = o.axis, .keepdims = o.keepdims, .where = o.where});
  return total - log(as_dtype(count, real(total).dtype()));
}

}  // namespace tessera
