// Spherical harmonics by the recurrence of orthonormal associated Legendre functions in the degree
// (DLMF 14.10.3 and 14.30.1, with the norms' factors included in the recurrence). Every element has
// its own degree and order: its recurrence starts at l = |m| and ends at l = n.
#include <cmath>
#include <numbers>

#include "tessera/base/format.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/compile/control_flow.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/scipy/special.h"

namespace tessera::scipy::special {

namespace spherical_harmonics {
namespace {

struct Degrees {
  Array value, before;  // of degrees l and l - 1
};

// Returns the orthonormal function of degree n and order m >= 0 at cos(theta), with the sign
// (-1)^m.
Array legendre(const Array& n, const Array& m, const Array& theta, int64_t n_max) {
  const Array x = cos(theta), s = sin(theta);
  const Degrees start{full_like(x, 0.5 * std::sqrt(std::numbers::inv_pi)), zeros_like(x)};
  const auto next = [&](const Array& index, const Degrees& p) {
    const Array l = as_dtype(index, x.dtype());
    const Array on_diagonal = l <= m, active = ~on_diagonal & (l <= n);
    const Array diagonal = -sqrt(1 + 0.5 / l) * s * p.value;
    const Array squares = where(active, l * l - m * m, 1), b = l - 1;
    const Array below = where(active, b * b - m * m, 0);
    const Array higher = sqrt((4 * l * l - 1) / squares) *
                         (x * p.value - sqrt(below / where(b == 0, 3, 4 * b * b - 1)) * p.before);
    return Degrees{where(on_diagonal, diagonal, where(active, higher, p.value)),
                   where(active, p.value, p.before)};
  };
  const Array value = fori_loop(1, n_max + 1, next, start).value;
  return where(m <= n, value, 0);
}

struct HarmonicParams {
  int64_t n_max;
};

Array harmonics(const HarmonicParams& params, std::span<const Array> arguments) {
  const std::vector<Array> angles =
      promote_and_broadcast("sph_harm_y", arguments.subspan(2), Promotion::kInexact);
  elementwise::expect_real("sph_harm_y", angles[0]);
  const DType dtype = is_half(angles[0].dtype()) ? float32 : angles[0].dtype();
  std::vector<Array> all{as_dtype(arguments[0], dtype), as_dtype(arguments[1], dtype),
                         as_dtype(angles[0], dtype), as_dtype(angles[1], dtype)};
  all = promote_and_broadcast("sph_harm_y", all);
  const double n_max = static_cast<double>(params.n_max);
  const Array n = minimum(all[0], n_max), m = abs(all[1]);
  const Array size = legendre(n, m, all[2], params.n_max), angle = m * all[3];
  const Array re = size * cos(angle), im = size * sin(angle);
  // Y_n^{-m} = (-1)^m conj(Y_n^m).
  const Array negative = all[1] < 0, odd = 2 * floor(0.5 * m) != m;
  const Array sign = where(negative & odd, -1, 1);
  return lax::complex(sign * re, where(negative, -(sign * im), im));
}

}  // namespace
}  // namespace spherical_harmonics

Array sph_harm_y(const Array& n, const Array& m, const Array& theta, const Array& phi,
                 const SphHarmOptions& options) {
  for (const Array* x : {&n, &m})
    if (!is_integer(x->dtype()))
      type_error("sph_harm_y", "expected integers n and m, got {} and {}; convert them with astype",
                 describe(n.type()), describe(m.type()));
  if (!options.n_max && n.is_tracer())
    value_error("sph_harm_y",
                "expected n_max, since n is traced and its largest element is not "
                "known; pass {{.n_max = ...}}");
  int64_t n_max = options.n_max.value_or(0);
  if (!options.n_max) {
    const Literal degrees = n.to_host();
    visit_dtype(degrees.dtype(), [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T>)
        for (int64_t i = 0; i < degrees.elements(); ++i)
          n_max = std::max(n_max, static_cast<int64_t>(degrees.data<T>()[i]));
    });
  }
  using spherical_harmonics::HarmonicParams;
  return composite("sph_harm_y", HarmonicParams{n_max}, {n, m, theta, phi},
                   [](const HarmonicParams& p, std::span<const Array> a) {
                     return spherical_harmonics::harmonics(p, a);
                   });
}

}  // namespace tessera::scipy::special
