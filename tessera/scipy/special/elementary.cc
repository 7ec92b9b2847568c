// Logarithms, exponentials and entropies whose values at the ends of their domains are limits.
#include <array>
#include <cmath>
#include <limits>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/special/series.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace elementary {
namespace {

Array product_with_log(const Array& x, const Array& y) {
  return where((x != 0) | isnan(y), x * log(y), 0);
}
Array product_with_log1p(const Array& x, const Array& y) {
  return where((x != 0) | isnan(y), x * log1p(y), 0);
}

// Returns log(p / q) for p > 0 and q > 0, without cancellation near 1 and without overflow of p /
// q.
Array log_of_ratio(const Array& p, const Array& q) {
  const Array ratio = p / q;
  const Array near = (ratio > 0.5) & (ratio < 2);
  const Array normal = (ratio > finfo(p.dtype()).tiny) & isfinite(ratio);
  const Array by_difference = log1p(where(near, p - q, 0) / where(near, q, 1));
  return where(near, by_difference, where(normal, log(where(normal, ratio, 1)), log(p) - log(q)));
}

// Returns (1 + u) log(1 + u) - u, for small u by its series sum_k (-1)^k u^(k + 2) / ((k + 1) (k +
// 2)).
Array divergence_of(const Array& u) {
  constexpr int kTerms = 17;
  constexpr double kSmall = 0.1;
  std::array<double, kTerms> c;
  for (int k = 0; k < kTerms; ++k) c[k] = (k % 2 ? -1.0 : 1.0) / ((k + 1) * (k + 2));
  const Array small = abs(u) < kSmall, v = where(small, u, 0);
  return where(small, v * v * ops::special::polynomial(c, v), (1 + u) * log1p(u) - u);
}

// Returns (exp(lmbda u) - 1) / lmbda for a logarithm u. Below is its derivative by lmbda.
Array box_cox(const Array& u, const Array& lmbda) {
  const Array zero = lmbda == 0, power = where(zero, 1, lmbda);
  return where(zero, u, expm1(power * u) / power);
}
Array box_cox_by_power(const Array& u, const Array& lmbda, const Array& y) {
  const Array zero = lmbda == 0, power = where(zero, 1, lmbda);
  return where(zero, 0.5 * u * u, (exp(power * u) * u - y) / power);
}

// Flags for the elements for which the formulas hold (p and q are positive), and for which only p =
// 0 is special; and the operands.
struct Domain {
  Array positive, zero, nan, p, q;  // p and q are 1 unless both are positive
};
Domain domain_of(const Array& p, const Array& q) {
  const Array positive = (p > 0) & (q > 0);
  return {positive, (p == 0) & (q >= 0), isnan(p) | isnan(q), where(positive, p, 1),
          where(positive, q, 1)};
}

Array relative_entropy(const Array& p, const Array& q) {
  const Domain d = domain_of(p, q);
  const Array value =
      where(d.positive, d.p * log_of_ratio(d.p, d.q), where(d.zero, 0, inf_like(p)));
  return where(d.nan, nan_like(p), value);
}

Array divergence(const Array& p, const Array& q) {
  const Domain d = domain_of(p, q);
  const Array near = (d.p > 0.5 * d.q) & (d.p < 2 * d.q);
  const Array u = where(near, d.p - d.q, 0) / where(near, d.q, 1);
  const Array far = d.p * log_of_ratio(d.p, d.q) - (d.p - d.q);
  const Array inside = where(near, d.q * divergence_of(u), far);
  return where(d.nan, nan_like(p), where(d.positive, inside, where(d.zero, q, inf_like(p))));
}

}  // namespace
}  // namespace elementary

using namespace elementary;

Array expit(const Array& x) {
  return pointwise("expit", {x}, [](std::span<const Array> a) {
    return with_slope(a[0], sigmoid,
                      [](const Array& x, const Array& y) { return y * sigmoid(-x); });
  });
}

Array logit(const Array& x) {
  return pointwise("logit", {x}, [](std::span<const Array> a) {
    const auto value = [](const Array& x) {
      // Near 1/2 the difference 2 x - 1 is exact, and the result is twice its inverse hyperbolic
      // tangent.
      const Array middle = (x > 0.25) & (x < 0.75);
      const Array s = where(middle, 2 * x - 1, 0);
      return where(middle, log1p(s) - log1p(-s), log(x / (1 - x)));
    };
    return with_slope(a[0], value, [](const Array& x, const Array&) { return 1 / (x * (1 - x)); });
  });
}

Array xlogy(const Array& x, const Array& y) {
  return pointwise("xlogy", {x, y}, [](std::span<const Array> a) {
    return with_slopes(
        a[0], a[1], product_with_log,
        [](const Array&, const Array& y, const Array&) { return log(y); },
        [](const Array& x, const Array& y, const Array&) { return x / y; });
  });
}

Array xlog1py(const Array& x, const Array& y) {
  return pointwise("xlog1py", {x, y}, [](std::span<const Array> a) {
    return with_slopes(
        a[0], a[1], product_with_log1p,
        [](const Array&, const Array& y, const Array&) { return log1p(y); },
        [](const Array& x, const Array& y, const Array&) { return x / (1 + y); });
  });
}

Array entr(const Array& x) {
  return pointwise("entr", {x}, [](std::span<const Array> a) {
    const Array value = with_slope(
        a[0], [](const Array& x) { return product_with_log(x, x); },
        [](const Array& x, const Array&) { return log(x) + 1; });
    return where(a[0] < 0, -inf_like(a[0]), -value);
  });
}

Array rel_entr(const Array& p, const Array& q) {
  return pointwise("rel_entr", {p, q}, [](std::span<const Array> a) {
    return with_slopes(
        a[0], a[1], relative_entropy,
        [](const Array& p, const Array& q, const Array&) {
          const Domain d = domain_of(p, q);
          return where(d.nan, nan_like(p), where(d.positive, log_of_ratio(d.p, d.q) + 1, 0));
        },
        [](const Array& p, const Array& q, const Array&) {
          const Domain d = domain_of(p, q);
          return where(d.nan, nan_like(p), where(d.positive, -d.p / d.q, 0));
        });
  });
}

Array kl_div(const Array& p, const Array& q) {
  return pointwise("kl_div", {p, q}, [](std::span<const Array> a) {
    return with_slopes(
        a[0], a[1], divergence,
        [](const Array& p, const Array& q, const Array&) {
          const Domain d = domain_of(p, q);
          return where(d.nan, nan_like(p), where(d.positive, log_of_ratio(d.p, d.q), 0));
        },
        [](const Array& p, const Array& q, const Array&) {
          const Domain d = domain_of(p, q);
          // 1 - p / q, exact up to rounding if p is near q. It is 1 for an infinite q.
          const Array finite = isfinite(d.q), divisor = where(finite, d.q, 1);
          const Array slope = where(finite, (d.q - d.p) / divisor, 1);
          return where(d.nan, nan_like(p), where(d.positive, slope, where(d.zero, 1, 0)));
        });
  });
}

Array boxcox(const Array& x, const Array& lmbda) {
  return pointwise("boxcox", {x, lmbda}, [](std::span<const Array> a) {
    const auto by_x = [](const Array& x, const Array& lmbda, const Array&) {
      return lax::pow(x, lmbda - 1);
    };
    const auto by_lmbda = [](const Array& x, const Array& lmbda, const Array& y) {
      return box_cox_by_power(log(x), lmbda, y);
    };
    return with_slopes<1>(
        a[0], a[1], [](const Array& x, const Array& lmbda) { return box_cox(log(x), lmbda); }, by_x,
        by_lmbda);
  });
}

Array boxcox1p(const Array& x, const Array& lmbda) {
  return pointwise("boxcox1p", {x, lmbda}, [](std::span<const Array> a) {
    const auto by_x = [](const Array& x, const Array& lmbda, const Array&) {
      return exp((lmbda - 1) * log1p(x));
    };
    const auto by_lmbda = [](const Array& x, const Array& lmbda, const Array& y) {
      return box_cox_by_power(log1p(x), lmbda, y);
    };
    return with_slopes<1>(
        a[0], a[1], [](const Array& x, const Array& lmbda) { return box_cox(log1p(x), lmbda); },
        by_x, by_lmbda);
  });
}

Array softmax(const Array& x, const SoftmaxOptions& options) {
  return tessera::softmax(x, options.axis);
}

Array log_softmax(const Array& x, const SoftmaxOptions& options) {
  return tessera::log_softmax(x, options.axis);
}

std::pair<Array, Array> logsumexp_with_sign(const Array& x, const LogsumexpOptions& options) {
  struct SignedParams {
    Dims axes;
    bool keepdims, has_b, has_where;
  };
  const char* name = "logsumexp_with_sign";
  std::vector<Array> arguments{x};
  Shape shape = x.shape();
  if (options.b.defined()) {
    arguments.push_back(options.b);
    shape = broadcast_shapes(name, std::vector<Shape>{shape, options.b.shape()});
  }
  if (options.where.defined()) arguments.push_back(options.where);
  const SignedParams params{options.axis.ascending(name, shape.rank()), options.keepdims,
                            options.b.defined(), options.where.defined()};
  const std::vector<Array> out = composite(
      name, params, arguments,
      [](const SignedParams& p, std::span<const Array> a) -> std::vector<Array> {
        const std::vector<Array> terms = promote_and_broadcast(
            "logsumexp_with_sign", a.first(p.has_b ? 2 : 1), Promotion::kInexact);
        const Array& x = terms[0];
        const Array real_part = real(x);
        Array taken = full_like(real_part, true, {.dtype = bool_});
        if (p.has_where) taken = taken & a.back();
        if (p.has_b) taken = taken & (terms[1] != 0);
        const double lowest = -std::numeric_limits<double>::infinity();
        Array largest = max(where(taken, real_part, lowest),
                            {.axis = p.axes, .keepdims = true, .initial = Array(lowest)});
        // An infinite maximum is not subtracted: inf - inf is NaN.
        largest = lax::stop_gradient(where(isfinite(largest), largest, 0));
        Array powers = exp(where(taken, x - largest, 0));
        if (p.has_b) powers = powers * terms[1];
        const Array total = sum(where(taken, powers, 0), {.axis = p.axes, .keepdims = true});
        const Array size = log(abs(total)) + largest, direction = sign(total);
        if (p.keepdims) return {size, direction};
        return {squeeze(size, p.axes), squeeze(direction, p.axes)};
      });
  return {out[0], out[1]};
}

}  // namespace tessera::scipy::special
