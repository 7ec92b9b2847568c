// chlo.bessel_i1e: exp(-|x|) I1(x), by Chebyshev series.
//
// With T_k the Chebyshev polynomials, and the first term of each sum halved,
//   exp(-x) I1(x) / x       = sum a_k T_k(x / 4 - 1)    of 0 <= x <= 8
//   exp(-x) I1(x) sqrt(x)   = sum b_k T_k(16 / x - 1)   of x > 8
// The coefficients are (2/n) sum_j f(cos t_j) cos(k t_j) over t_j = pi (j + 1/2) / n, n = 80, of
// these functions f with 60 digits (the power series, and the asymptotic one of large x).
#include <array>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"

namespace tessera::interchange::foreign {
namespace {

using namespace array_math;

constexpr std::array kSmall = {
    2.52587186443633649e-01,  -1.76416518357834062e-01, 1.02643658689847095e-01,
    -5.29459812080949888e-02, 2.47264490306265163e-02,  -1.05640848946261974e-02,
    4.15642294431288820e-03,  -1.51357245063125315e-03, 5.12285956168575759e-04,
    -1.61760815825896743e-04, 4.78156510755005422e-05,  -1.32731636560394359e-05,
    3.47025130813767845e-06,  -8.56872026469545475e-07, 2.00329475355213533e-07,
    -4.44505912879632805e-08, 9.38153738649577259e-09,  -1.88724975172282944e-09,
    3.62559028155211725e-10,  -6.66348972350202712e-11, 1.17361862988909012e-11,
    -1.98397439776494364e-12, 3.22379336594557476e-13,  -5.04218550472791179e-14,
    7.60068429473540767e-15,  -1.10559694773538625e-15, 1.55363195773620054e-16,
    -2.11142121435816596e-17, 2.77791411276104637e-18};
constexpr std::array kLarge = {
    7.78576235018280105e-01,  -9.76109749136146870e-03, -1.10588938762623713e-04,
    -3.88256480887769059e-06, -2.51223623787020884e-07, -2.63146884688951959e-08,
    -3.83538038596423700e-09, -5.58974346219658378e-10, -1.89749581235054126e-11,
    3.25260358301548844e-11,  1.41258074366137819e-11,  2.03562854414708956e-12,
    -7.19855177624590836e-13, -4.08355111109219740e-13, -2.10154184277266430e-14,
    4.27244001671195105e-14,  1.04202769841288021e-14,  -3.81440307243700754e-15,
    -1.88035477551078251e-15, 3.30820231092092852e-16,  2.96262899764595008e-16,
    -3.20952592199342376e-17, -4.65030536848935863e-17, 4.41434832307170765e-18,
    7.51729631084210521e-18,  -9.31417886732688422e-19, -1.24219327519489097e-18};

// Returns the sum of the series by Clenshaw's algorithm.
Array series(std::span<const double> coefficients, const Array& t) {
  Array b = lax::full_like(t, 0), next = b;
  for (size_t k = coefficients.size(); k-- > 1;) {
    const Array sum = 2 * t * b - next + coefficients[k];
    next = b;
    b = sum;
  }
  return t * b - next + coefficients[0] / 2;
}

Array scaled_bessel(const Array& x) {
  if (is_half(x.dtype()))
    return lax::convert_element_type(scaled_bessel(lax::convert_element_type(x, float32)),
                                     x.dtype());
  const Array size = lax::abs(x), is_small = size <= 8;
  // Each series gets x where it converges, and some harmless number elsewhere.
  const Array some = lax::full_like(x, 8);
  const Array small = lax::select(is_small, size, some), large = lax::select(is_small, some, size);
  const Array near = small * series(kSmall, small * 0.25 - 1);
  const Array far = series(kLarge, 16 / large - 1) * lax::rsqrt(large);
  return lax::sign(x) * lax::select(is_small, near, far);
}

}  // namespace

Values bessel_i1e(OpReader& reader) {
  if (reader.operands.size() != 1 || !is_floating(reader.type(reader.operands[0]).dtype))
    reader.error("expected one operand of a floating-point type");
  return insert_traced(
      reader, [](const std::vector<Array>& x) { return std::vector{scaled_bessel(x[0])}; },
      "bessel_i1e");
}

}  // namespace tessera::interchange::foreign
