#include "tessera/numpy/polynomial.h"

#include <algorithm>

#include "tessera/compile/composite.h"
#include "tessera/numpy/convolve.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"

namespace tessera {

namespace {

void expect_coefficients(const char* name, const Array& p) {
  if (p.ndim() != 1)
    shape_error(name, "expected a vector of coefficients, got {}", describe(p.type()));
}

// Returns x with zeros put before it up to `size` elements.
Array with_leading_zeros(const Array& x, int64_t size) {
  return concatenate({zeros({size - x.size()}, x.dtype()), x});
}

Array added_polynomials(const Array& a1, const Array& a2) {
  const int64_t size = std::max(a1.size(), a2.size());
  return with_leading_zeros(a1, size) + with_leading_zeros(a2, size);
}

}  // namespace

Array polyval(const Array& p, const Array& x) {
  if (p.ndim() == 0)
    shape_error("polyval", "expected a vector of coefficients, got {}", describe(p.type()));
  const Shape rest(p.shape().begin() + 1, p.shape().end());
  broadcast_shapes("polyval", std::vector<Shape>{rest, x.shape()});
  return composite("polyval", {}, {p, x}, [](const NoParams&, std::span<const Array> a) {
    const std::vector<Array> same = promote_dtypes(a);
    const Shape rest(same[0].shape().begin() + 1, same[0].shape().end());
    const Shape shape = broadcast_shapes("polyval", std::vector<Shape>{rest, same[1].shape()});
    const Array at = broadcast_to(same[1], shape);
    Array out = zeros_like(at);
    for (int64_t i = 0; i < same[0].shape()[0]; ++i)
      out = out * at + index_in_dim(same[0], i, 0, false);
    return out;
  });
}

Array polyadd(const Array& a1, const Array& a2) {
  expect_coefficients("polyadd", a1);
  expect_coefficients("polyadd", a2);
  return composite("polyadd", {}, {a1, a2}, [](const NoParams&, std::span<const Array> a) {
    const std::vector<Array> same = promote_dtypes(a);
    return added_polynomials(same[0], same[1]);
  });
}

Array polysub(const Array& a1, const Array& a2) {
  expect_coefficients("polysub", a1);
  expect_coefficients("polysub", a2);
  return composite("polysub", {}, {a1, a2}, [](const NoParams&, std::span<const Array> a) {
    const std::vector<Array> same = promote_dtypes(a);
    return added_polynomials(same[0], -same[1]);
  });
}

Array polymul(const Array& a1, const Array& a2) {
  expect_coefficients("polymul", a1);
  expect_coefficients("polymul", a2);
  const Array left = a1.size() == 0 ? zeros({1}, a1.dtype()) : a1,
              right = a2.size() == 0 ? zeros({1}, a2.dtype()) : a2;
  return convolve(left, right);
}

std::pair<Array, Array> polydiv(const Array& u, const Array& v) {
  expect_coefficients("polydiv", u);
  expect_coefficients("polydiv", v);
  if (v.size() == 0)
    shape_error("polydiv", "expected a divisor with coefficients, got {}", describe(v.type()));
  const std::vector<Array> out =
      composite("polydiv", {}, {u, v}, [](const NoParams&, std::span<const Array> a) {
        const std::vector<Array> same = promote_dtypes(a, Promotion::kInexact);
        Array rest = same[0];
        const Array& divisor = same[1];
        const int64_t n = divisor.size(), steps = rest.size() - n + 1;
        if (steps < 1) return std::vector<Array>{zeros({1}, rest.dtype()), rest};
        const Array scale = 1.0 / index_in_dim(divisor, 0, 0, false);
        std::vector<Array> quotient;
        for (int64_t k = 0; k < steps; ++k) {
          quotient.push_back(scale * index_in_dim(rest, k));
          rest = at(rest)[Slice(k, k + n)].add(-quotient.back() * divisor);
        }
        return std::vector<Array>{concatenate(quotient), rest};
      });
  return {out[0], out[1]};
}

Array polyder(const Array& p, int64_t m) {
  expect_coefficients("polyder", p);
  if (m < 0) value_error("polyder", "expected m >= 0, got {}; polyint integrates", m);
  struct PolyderParams {
    int64_t m;
  };
  return composite("polyder", PolyderParams{m}, {p},
                   [](const PolyderParams& params, std::span<const Array> a) -> Array {
                     const Array p = promote(a[0], Promotion::kInexact);
                     const int64_t left = std::max<int64_t>(0, p.size() - params.m);
                     std::vector<double> factors;  // k (k - 1) ... (k - m + 1) for power k
                     for (int64_t i = 0; i < left; ++i) {
                       double factor = 1;
                       for (int64_t j = 0; j < params.m; ++j)
                         factor *= static_cast<double>(p.size() - 1 - i - j);
                       factors.push_back(factor);
                     }
                     return slice_in_dim(p, 0, left) *
                            astype(array(factors, default_float()), p.dtype());
                   });
}

Array polyint(const Array& p, int64_t m, const std::optional<Array>& k) {
  expect_coefficients("polyint", p);
  if (m < 0) value_error("polyint", "expected m >= 0, got {}; polyder derives", m);
  const Array constants = k.value_or(Array(0));
  if (constants.ndim() > 1 || (constants.size() != 1 && constants.size() != m))
    shape_error("polyint", "expected one constant, or a vector of {}, got {}", m,
                describe(constants.type()));
  struct PolyintParams {
    int64_t m;
  };
  return composite(
      "polyint", PolyintParams{m}, {p, constants},
      [](const PolyintParams& params, std::span<const Array> a) -> Array {
        const std::vector<Array> same = promote_dtypes(a, Promotion::kInexact);
        const Array& p = same[0];
        if (params.m == 0) return p;
        const int64_t n = p.size() + params.m;
        std::vector<double> divisors;  // k (k - 1) ... (k - m + 1) for power k, factors >= 1 only
        for (int64_t i = 0; i < n; ++i) {
          double divisor = 1;
          for (int64_t j = 0; j < params.m; ++j)
            divisor *= static_cast<double>(std::max<int64_t>(1, n - 1 - i - j));
          divisors.push_back(divisor);
        }
        const Array constants =
            same[1].size() == params.m ? ravel(same[1]) : broadcast_to(ravel(same[1]), {params.m});
        return concatenate({p, constants}) / astype(array(divisors, default_float()), p.dtype());
      });
}

Array poly(const Array& seq_of_zeros) {
  const Array& x = seq_of_zeros;
  const bool square = x.ndim() == 2 && x.shape()[0] == x.shape()[1] && x.size() > 0;
  if (x.ndim() > 1 && !square)
    shape_error("poly", "expected a vector or a square matrix, got {}", describe(x.type()));
  const Array of = promote(square ? linalg::eigvals(x) : atleast_1d(x), Promotion::kInexact);
  return composite("poly", {}, {of}, [](const NoParams&, std::span<const Array> a) -> Array {
    if (a[0].size() == 0) return ones(Shape{}, a[0].dtype());
    Array out = ones({1}, a[0].dtype());
    for (int64_t i = 0; i < a[0].size(); ++i) {
      const Array none = zeros({1}, a[0].dtype());
      out = concatenate({out, none}) - concatenate({none, out * index_in_dim(a[0], i)});
    }
    return out;
  });
}

namespace {

DType complex_kin(DType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == float64 ? complex128 : complex64;
}

// Returns the eigenvalues of the companion matrix.
Array companion_roots(const Array& p) {
  const int64_t n = p.size() - 1;
  const Array below = diag(ones({n - 1}, p.dtype()), -1);
  const Array first = -slice_in_dim(p, 1, n + 1) / index_in_dim(p, 0, 0, false);
  return linalg::eigvals(at(below)[0].set(first));
}

}  // namespace

Array roots(const Array& coefficients, const RootsOptions& o) {
  if (coefficients.ndim() > 1) expect_coefficients("roots", coefficients);
  const Array p = promote(atleast_1d(coefficients), Promotion::kInexact);
  const DType dtype = complex_kin(p.dtype());
  if (p.size() < 2) return zeros({0}, dtype);
  if (o.strip_zeros) {
    if (p.is_tracer())
      trace_error("roots",
                  "expected known coefficients, since the number of leading zeros decides how many "
                  "roots there are, got {}; write {{.strip_zeros = false}}",
                  describe(p.type()));
    const Literal values = ops::convert_literal(p.to_host(), complex128);
    int64_t zeros_before = 0;
    while (zeros_before < p.size() && values.data<std::complex<double>>()[zeros_before] == 0.0)
      ++zeros_before;
    if (p.size() - zeros_before < 2) return zeros({0}, dtype);
    return companion_roots(slice_in_dim(p, zeros_before, p.size()));
  }
  return composite("roots", {}, {p}, [](const NoParams&, std::span<const Array> a) -> Array {
    const Array zero = equal(a[0], 0);
    const int64_t n = a[0].size();
    const Array leading = where(all(zero), n, argmin(zero));
    const Array p = where(equal(leading, n), 1, a[0]);
    const Array found = companion_roots(roll(p, -leading));
    // The zeros that `roll` put at the end add roots that are 0. They are sorted behind all others.
    const Array order = argsort(equal(found, 0));
    const Array there = arange(n - 1) < n - 1 - leading;
    const Array nan = full(Shape{}, NAN, real(found).dtype());
    return where(there, take(found, order), lax::complex(nan, nan));
  });
}

Array vander(const Array& x, OrNone<int64_t> N, bool increasing) {
  if (x.ndim() != 1) shape_error("vander", "expected a vector, got {}", describe(x.type()));
  if (N && *N < 0) value_error("vander", "expected N >= 0, got {}", *N);
  struct VanderParams {
    int64_t columns;
    bool increasing;
  };
  return composite("vander", VanderParams{N.value_or(x.size()), increasing}, {x},
                   [](const VanderParams& p, std::span<const Array> a) {
                     const DType dtype =
                         is_complex(a[0].dtype()) ? real(a[0]).dtype() : to_numeric(a[0].dtype());
                     Array powers = astype(arange(p.columns), dtype);
                     if (!p.increasing) powers = flip(powers);
                     return power(expand_dims(a[0], 1), expand_dims(powers, 0));
                   });
}

namespace {

struct PolyfitParams {
  int64_t terms;
  double rcond;
  bool weighted;
};

// Returns coefficients, residuals, rank, singular values, and the inverse of the normal matrix.
std::vector<Array> polyfit_body(const PolyfitParams& p, std::span<const Array> a) {
  const std::vector<Array> same = promote_dtypes(a, Promotion::kInexact);
  Array left = vander(same[0], p.terms), right = same[1];
  if (p.weighted) {
    const Array column = expand_dims(same[2], 1);
    left = left * column;
    right = right.ndim() == 2 ? right * column : right * same[2];
  }
  const Array scale = sqrt(sum(left * left, {.axis = 0}));
  left = left / scale;
  const linalg::Lstsq fit = linalg::lstsq(left, right, p.rcond);
  const Array c = fit.x.ndim() > 1 ? fit.x / expand_dims(scale, 1) : fit.x / scale;
  return {c, fit.residuals, fit.rank, fit.s, left, scale};
}

std::vector<Array> fitted(const Array& x, const Array& y, int64_t deg, const PolyfitOptions& o) {
  const char* name = "polyfit";
  if (deg < 0) value_error(name, "expected a degree >= 0, got {}", deg);
  if (x.ndim() != 1 || x.size() == 0)
    shape_error(name, "expected a vector x with elements, got {}", describe(x.type()));
  if (y.ndim() < 1 || y.ndim() > 2 || y.shape()[0] != x.size())
    shape_error(name, "expected a vector or a matrix y of {} rows, got {}", x.size(),
                describe(y.type()));
  if (o.w && o.w->shape() != x.shape())
    shape_error(name, "expected one weight a point, got {} for {}", describe(o.w->type()),
                describe(x.type()));
  std::vector<Array> args{x, y};
  if (o.w) args.push_back(*o.w);
  const double rcond = o.rcond.value_or(static_cast<double>(x.size()) *
                                        finfo(promote(x, Promotion::kInexact).dtype()).eps);
  return composite(name, PolyfitParams{deg + 1, rcond, o.w.has_value()}, args, polyfit_body);
}

}  // namespace

Array polyfit(const Array& x, const Array& y, int64_t deg, const PolyfitOptions& options) {
  return fitted(x, y, deg, options)[0];
}

PolyfitFull polyfit_full(const Array& x, const Array& y, int64_t deg, const PolyfitOptions& o) {
  const std::vector<Array> parts = fitted(x, y, deg, o);
  const double eps = finfo(promote(x, Promotion::kInexact).dtype()).eps;
  return {parts[0], parts[1], parts[2], parts[3],
          o.rcond.value_or(static_cast<double>(x.size()) * eps)};
}

std::pair<Array, Array> polyfit_cov(const Array& x, const Array& y, int64_t deg, PolyfitCov cov,
                                    const PolyfitOptions& o) {
  const std::vector<Array> parts = fitted(x, y, deg, o);
  if (cov == PolyfitCov::kScaled && x.size() <= deg + 1)
    value_error("polyfit", "expected more than {} points to scale the covariances by, got {}",
                deg + 1, x.size());
  struct PolyfitCovParams {
    bool scaled;
    int64_t spare;  // number of points minus number of terms
    bool columns;
  };
  const PolyfitCovParams params{cov == PolyfitCov::kScaled, x.size() - deg - 1, y.ndim() == 2};
  const Array out =
      composite("polyfit_cov", params, {parts[1], parts[4], parts[5]},
                [](const PolyfitCovParams& p, std::span<const Array> a) {
                  const Array base = linalg::inv(matmul(transpose(a[1]), a[1])) / outer(a[2], a[2]);
                  const Array factor = p.scaled ? atleast_1d(a[0] / static_cast<double>(p.spare))
                                                : ones({1}, base.dtype());
                  return p.columns ? expand_dims(base, 2) * factor : base * factor;
                });
  return {parts[0], out};
}

}  // namespace tessera
