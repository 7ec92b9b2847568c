// Bessel functions.
#include "tessera/ops/special/bessel.h"

#include <cmath>

#include "tessera/base/format.h"
#include "tessera/compile/control_flow.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace bessel {
namespace {

// Returns I1(x) / x for y = I1(x). It is 1/2 at 0.
Array quotient(const Array& x, const Array& y) {
  const Array tiny = abs(x) < 1e-30, divisor = where(tiny, 1, x);
  return where(tiny, 0.5, y / divisor);
}

// Returns exp(-|x|) I0(x). Its derivative uses exp(-|x|) I1(x) (DLMF 10.29.3).
Array i0e_with_slope(const Array& x) {
  return with_slope<1>(x, ops::special::bessel_i0e, [](const Array& x, const Array& y) {
    return ops::special::bessel_i1e(x) - sign(x) * y;
  });
}

Array i1e_with_slope(const Array& x) {
  return with_slope<1>(x, ops::special::bessel_i1e, [](const Array& x, const Array& y) {
    // I1'(x) = I0(x) - I1(x) / x.
    return ops::special::bessel_i0e(x) - sign(x) * y - quotient(x, y);
  });
}

// Numbers of Miller's recurrence J_k = 2 (k + 1) / z J_{k+1} - J_{k+2} towards lower orders (DLMF
// 3.6(ii)). Each is multiplied by 2^(kExponent scale), because the recurrence would overflow for
// small z.
struct Miller {
  Array above, here, even_sum, scale;
};

double exponent_of(DType dtype) { return dtype == float64 ? 300 : 33; }

// Makes the step to order k, a scalar of z's dtype.
Miller step_down(const Miller& s, const Array& k, const Array& inverse) {
  const double limit = std::exp2(exponent_of(inverse.dtype()));
  const Array value = 2 * (k + 1) * inverse * s.here - s.above;
  const Array even = 2 * floor(0.5 * k) == k;
  const Array sum = s.even_sum + where(even, 2 * value, 0);
  const Array large = abs(value) > limit, factor = where(large, 1 / limit, 1);
  return {s.here * factor, value * factor, sum * factor, s.scale + where(large, 1, 0)};
}

// Returns J_0 to J_v of z by the recurrence from n_iter on, normalised by J_0 + 2 J_2 + 2 J_4 + ...
// = 1.
Array orders(const Array& z, int64_t v, int64_t n_iter) {
  const DType dtype = z.dtype();
  const double least = dtype == float64 ? 1e-150 : 1e-18;
  const Array tiny = abs(z) < least, inverse = 1 / where(tiny, 1, z);
  const auto orders_down = [&](int64_t from, int64_t to) {  // from, ..., to
    return flip(arange(to, from + 1, 1, dtype));
  };
  const Array zero = zeros_like(z);
  Miller state{zero, full_like(z, dtype == float64 ? 1e-16 : 1e-7), zero, zero};
  const auto skip = [&](const Miller& s, const Array& k) {
    return std::pair(step_down(s, k, inverse), None);
  };
  if (n_iter > v) state = scan(skip, state, orders_down(n_iter, v + 1)).first;
  struct Kept {
    Array value, scale;
  };
  const auto keep = [&](const Miller& s, const Array& k) {
    Miller next = step_down(s, k, inverse);
    Kept kept{next.here, next.scale};
    return std::pair(std::move(next), std::move(kept));
  };
  const auto [last, kept] = scan(keep, state, orders_down(v, 0));
  const Array norm = last.even_sum - last.here;
  const Array factor =
      lax::pow(full_like(kept.scale, std::exp2(-exponent_of(dtype))), last.scale - kept.scale);
  const Array values = flip(kept.value * factor / norm, 0);
  // For tiny z the orders >= 2 underflow.
  Shape along_first(static_cast<size_t>(z.ndim() + 1), 1);
  along_first[0] = v + 1;
  const Array order = reshape(arange(0, v + 1, 1, dtype), along_first);
  const Array limit = where(order == 0, 1, where(order == 1, 0.5 * z, 0));
  return where(tiny, limit, where(isnan(z), z, values));
}

// Returns the derivatives by 2 J_k' = J_{k-1} - J_{k+1} (DLMF 10.6.1), with J_{-1} = -J_1.
Array orders_slope(const Array& z, int64_t v, int64_t n_iter) {
  const Array all = orders(z, v + 1, n_iter);
  const Array above = index(all, {Slice(1, None)}), first = index(above, {Slice(None, 1)});
  const Array below = concatenate({-first, index(all, {Slice(None, v)})}, 0);
  return 0.5 * (below - above);
}

struct BesselParams {
  int64_t v, n_iter;
};

}  // namespace
}  // namespace bessel

Array i0e(const Array& x) {
  return pointwise("i0e", {x},
                   [](std::span<const Array> a) { return bessel::i0e_with_slope(a[0]); });
}
Array i1e(const Array& x) {
  return pointwise("i1e", {x},
                   [](std::span<const Array> a) { return bessel::i1e_with_slope(a[0]); });
}
Array i0(const Array& x) {
  return pointwise("i0", {x}, [](std::span<const Array> a) {
    return with_slope<1>(
        a[0], [](const Array& x) { return exp(abs(x)) * ops::special::bessel_i0e(x); },
        [](const Array& x, const Array&) { return exp(abs(x)) * bessel::i1e_with_slope(x); });
  });
}
Array i1(const Array& x) {
  return pointwise("i1", {x}, [](std::span<const Array> a) {
    return with_slope<1>(
        a[0], [](const Array& x) { return exp(abs(x)) * ops::special::bessel_i1e(x); },
        [](const Array& x, const Array& y) {
          return exp(abs(x)) * bessel::i0e_with_slope(x) - bessel::quotient(x, y);
        });
  });
}

Array bessel_jn(const Array& z, const BesselOptions& options) {
  elementwise::expect_real("bessel_jn", z);
  if (options.v < 0 || options.n_iter <= options.v)
    value_error("bessel_jn",
                "expected orders 0 <= v < n_iter, got v = {} and n_iter = {}; a larger n_iter is "
                "more exact",
                options.v, options.n_iter);
  using bessel::BesselParams;
  return composite("bessel_jn", BesselParams{options.v, options.n_iter}, {z},
                   [](const BesselParams& p, std::span<const Array> a) {
                     const DType dtype = to_inexact(a[0].dtype());
                     const Array z = as_dtype(a[0], is_half(dtype) ? float32 : dtype);
                     const auto values = [p](const Array& z) {
                       return bessel::orders(z, p.v, p.n_iter);
                     };
                     const auto slope = [p](const Array& z, const Array&) {
                       return bessel::orders_slope(z, p.v, p.n_iter + 1);
                     };
                     return as_dtype(with_slope<1>(z, values, slope), dtype);
                   });
}

}  // namespace tessera::scipy::special
