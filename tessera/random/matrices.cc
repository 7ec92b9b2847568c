// Samplers that factorise matrices: multivariate_normal, orthogonal.
#include <algorithm>

#include "tessera/compile/composite.h"
#include "tessera/numpy/factorize.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/random/random.h"
#include "tessera/random/sampling.h"

namespace tessera::random {

using namespace ir;

Array multivariate_normal(const Key& key, const Array& mean, const Array& cov, OrNone<Shape> shape,
                          OptionalDType dtype) {
  constexpr const char* name = "random::multivariate_normal";
  if (mean.ndim() < 1 || cov.ndim() < 2 || cov.shape(-1) != mean.shape(-1) ||
      cov.shape(-2) != mean.shape(-1))
    shape_error(name, "expected a mean (..., n) and a covariance (..., n, n), got {} and {}",
                describe(mean.type()), describe(cov.type()));
  const DType common = to_inexact(result_type({mean, cov}).dtype);
  const DType result = internal::floating(name, dtype.value_or(common));
  Shape of_mean = mean.shape(), of_cov = cov.shape();
  of_mean.pop_back();
  of_cov.pop_back();
  of_cov.pop_back();
  Shape out = internal::sample_shape(name, shape, {of_mean, of_cov});
  out.push_back(mean.shape(-1));
  return composite(name, internal::SampleParams{out, result}, {key.data, mean, cov},
                   [](const internal::SampleParams& s, std::span<const Array> a) -> Array {
                     const std::vector<Array> p = promote_dtypes(a.subspan(1), Promotion::kInexact);
                     const Array factor = tessera::internal::cholesky(name, p[1]);
                     const Array z = normal({a[0]}, s.shape, s.dtype);
                     return p[0] + einsum("...ij,...j->...i", {factor, z});
                   });
}

Array orthogonal(const Key& key, int64_t n, const Shape& shape, OptionalDType dtype,
                 std::optional<int64_t> m) {
  constexpr const char* name = "random::orthogonal";
  const DType result = internal::floating(name, dtype);
  const int64_t columns = m.value_or(n);
  Shape drawn = shape;
  drawn.push_back(std::max(n, columns));
  drawn.push_back(std::min(n, columns));
  internal::check_shape(name, drawn);
  struct OrthogonalParams {
    Shape drawn;
    DType dtype;
    bool transposed;
  };
  return composite(name, OrthogonalParams{drawn, result, n < columns}, {key.data},
                   [](const OrthogonalParams& p, std::span<const Array> a) -> Array {
                     const auto [q, r] =
                         tessera::internal::qr(name, normal({a[0]}, p.drawn, p.dtype));
                     // Without the signs the distribution would depend on the signs that the
                     // factorisation gives r's diagonal.
                     const Array signs = lax::sign(diagonal(r, {.axis1 = -2, .axis2 = -1}));
                     const Array x = q * expand_dims(signs, -2);
                     return p.transposed ? matrix_transpose(x) : x;
                   });
}

}  // namespace tessera::random
