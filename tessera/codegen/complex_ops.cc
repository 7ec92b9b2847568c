#include "tessera/codegen/complex_ops.h"

#include <limits>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"

namespace tessera::codegen {
namespace {

struct Pair {
  Vec re, im;
};

// Returns a / d by Smith's method. Zeros and infinities give the values of C's Annex G.
Pair divide_complex(Pair a, Pair d) {
  const double inf = std::numeric_limits<double>::infinity();
  Vec by_re = abs(d.re) >= abs(d.im);
  Vec big = select(by_re, d.re, d.im), small = select(by_re, d.im, d.re);
  Vec r = small / big;
  Vec q = fma(small, r, big);
  Vec x = select(by_re, a.re, a.im), y = select(by_re, a.im, a.re);
  Vec re = fma(y, r, x) / q;
  Vec im = select(by_re, fma(-a.re, r, a.im), fma(a.im, r, -a.re)) / q;
  auto finite = [&](Pair p) { return (abs(p.re) < inf) & (abs(p.im) < inf); };
  auto infinite = [&](Pair p) { return (abs(p.re) == inf) | (abs(p.im) == inf); };
  auto boxed = [&](Vec v) { return copy_sign(select(abs(v) == inf, v.like(1), v.like(0)), v); };

  Vec zero = (d.re == 0.0) & (d.im == 0.0);
  Vec signed_inf = copy_sign(d.re.like(inf), d.re);
  Vec infinite_result = infinite(a) & finite(d);
  Vec bre = boxed(a.re), bim = boxed(a.im);
  Vec zero_result = finite(a) & infinite(d);
  Vec dre = boxed(d.re), dim = boxed(d.im);
  Vec lost = is_nan(re) & is_nan(im);
  auto fix = [&](Vec value, Vec by_zero, Vec by_inf, Vec to_zero) {
    value = select(lost & zero_result, to_zero, value);
    value = select(lost & infinite_result, by_inf, value);
    return select(zero, by_zero, value);
  };
  return {fix(re, signed_inf * a.re, inf * fma(bre, d.re, bim * d.im),
              0.0 * fma(a.re, dre, a.im * dim)),
          fix(im, signed_inf * a.im, inf * fma(bim, d.re, -(bre * d.im)),
              0.0 * fma(a.im, dre, -(a.re * dim)))};
}

}  // namespace

Val emit_complex_op(Ir& ir, ScalarOp op, std::span<const Val> args) {
  auto pair = [&](const Val& v) { return Pair{{ir, v.re}, {ir, v.im}}; };
  const Pair a = pair(args[0]);
  const Pair c = args.size() > 1 ? pair(args[1]) : a;
  auto val = [](Pair p) { return Val{p.re.v, p.im.v}; };
  switch (op) {
    case ScalarOp::kAdd:
      return val({a.re + c.re, a.im + c.im});
    case ScalarOp::kSub:
      return val({a.re - c.re, a.im - c.im});
    case ScalarOp::kMul:
      return val({fma(a.re, c.re, -(a.im * c.im)), fma(a.re, c.im, a.im * c.re)});
    case ScalarOp::kDiv:
      return val(divide_complex(a, c));
    case ScalarOp::kNeg:
      return val({-a.re, -a.im});
    case ScalarOp::kEq:
      return {((a.re == c.re) & (a.im == c.im)).v};
    case ScalarOp::kNe:
      return {((a.re != c.re) | (a.im != c.im)).v};
    case ScalarOp::kReal:
      return {a.re.v};
    case ScalarOp::kImag:
      return {a.im.v};
    default:
      TESSERA_CHECK(false, "operation {} on complex", static_cast<int>(op));
      return {};
  }
}

}  // namespace tessera::codegen
