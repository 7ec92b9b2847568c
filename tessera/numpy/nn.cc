#include "tessera/numpy/nn.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tessera/base/namespaces.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera {

using namespace runtime;

namespace {

using enum Promotion;

using elementwise::unary;

struct ActivationAxes {
  Dims axes;
};

}  // namespace

// The formulas use the promoting operators. Inside of a composite these only record ops.

// The values are those of maximum and minimum, which these choices become
// (fusion/rewrites/simplify.h), so that NaN stays NaN. The derivative is 0 where they are not
// between the bounds: maximum(x, 0) would have 1/2 at 0.

Array relu(const Array& x) {
  return unary("relu", x, kAny,
               [](const Array& a) { return where(a > 0, a, maximum(lax::stop_gradient(a), 0)); });
}

Array relu6(const Array& x) {
  return unary("relu6", x, kAny, [](const Array& a) {
    const Array positive = relu(a);
    return where(positive < 6.0, positive, minimum(lax::stop_gradient(positive), 6.0));
  });
}

Array leaky_relu(const Array& x, const Array& negative_slope) {
  return composite("leaky_relu", {}, {x, negative_slope},
                   [](const NoParams&, std::span<const Array> a) {
                     return where(a[0] >= 0, a[0], a[1] * a[0]);
                   });
}

Array elu(const Array& x, const Array& alpha) {
  return composite("elu", {}, {x, alpha}, [](const NoParams&, std::span<const Array> a) {
    // The argument of expm1 is 0 for elements whose value is not used: an overflow there would make
    // their derivative 0 * inf.
    return where(a[0] > 0, a[0], a[1] * expm1(where(a[0] > 0, 0.0, a[0])));
  });
}

Array celu(const Array& x, const Array& alpha) {
  return composite("celu", {}, {x, alpha}, [](const NoParams&, std::span<const Array> a) {
    return maximum(a[0], 0.0) + a[1] * expm1(minimum(a[0], 0.0) / a[1]);
  });
}

Array selu(const Array& x) {
  return unary("selu", x, kAny, [](const Array& a) {
    return 1.0507009873554804934193349852946 * elu(a, 1.6732632423543772848170429916717);
  });
}

namespace {

Array strong(const Array& x) { return as_dtype(x, x.dtype()); }

}  // namespace

// The result is never weakly typed, as in JAX.
Array gelu(const Array& x, bool approximate) {
  if (approximate) {
    // (1 + tanh(u)) / 2 is logistic(2 u), which keeps its digits where tanh is close to -1.
    return unary("gelu_tanh", x, kInexact, [](const Array& a) {
      const double scale = 2 * std::sqrt(2 / std::numbers::pi);
      return strong(a * lax::logistic(a * (scale + 0.044715 * scale * (a * a))));
    });
  }
  return unary("gelu", x, kInexact,
               [](const Array& a) { return strong(0.5 * a * erfc(-a * std::sqrt(0.5))); });
}

Array sigmoid(const Array& x) { return unary("sigmoid", x, kAny, lax::logistic); }
Array silu(const Array& x) {
  return unary("silu", x, kAny, [](const Array& a) { return lax::mul(a, lax::logistic(a)); });
}
Array softplus(const Array& x) {
  return unary("softplus", x, kAny, [](const Array& a) { return logaddexp(a, 0); });
}
Array soft_sign(const Array& x) {
  return unary("soft_sign", x, kAny, [](const Array& a) { return a / (abs(a) + 1); });
}
Array log_sigmoid(const Array& x) {
  return unary("log_sigmoid", x, kAny, [](const Array& a) { return -softplus(-a); });
}
Array mish(const Array& x) {
  return unary("mish", x, kAny, [](const Array& a) { return a * tanh(softplus(a)); });
}
Array hard_tanh(const Array& x) {
  return unary("hard_tanh", x, kAny,
               [](const Array& a) { return where(a > 1, 1, where(a < -1, -1, a)); });
}
Array hard_sigmoid(const Array& x) {
  return unary("hard_sigmoid", x, kAny, [](const Array& a) { return relu6(a + 3.0) / 6.0; });
}
Array hard_silu(const Array& x) {
  return unary("hard_silu", x, kAny, [](const Array& a) { return a * hard_sigmoid(a); });
}

Array glu(const Array& x, int64_t axis) {
  const int64_t d = normalize_axis("glu", axis, x.ndim());
  if (x.shape()[d] % 2 != 0)
    shape_error("glu", "expected an even extent along axis {}, got {}; pad it", d,
                describe(x.type()));
  return composite("glu", ActivationAxes{{d}}, {x},
                   [](const ActivationAxes& p, std::span<const Array> a) {
                     const std::vector<Array> halves = split(a[0], 2, p.axes[0]);
                     return halves[0] * sigmoid(halves[1]);
                   });
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x, with -inf for the elements that `where` leaves out, and the largest elements along the axes.
struct Logits {
  Array x, largest;
};
Logits logits_of(std::span<const Array> args, const Dims& axes) {
  const Array x = args.size() == 1 ? args[0] : tessera::where(args[1], args[0], -kInfinity);
  ExtremumOptions options{.axis = axes, .keepdims = true};
  if (x.size() == 0) options.initial = -kInfinity;  // the largest of no elements
  return {x, max(x, options)};
}

std::vector<Array> with_mask(const char* name, const Array& x, const Array& where) {
  if (!where.defined()) return {x};
  if (where.dtype() != bool_)
    type_error(name, "expected a bool array for `where`, got {}; compare it with 0 first",
               describe(where.type()));
  return {x, where};
}

}  // namespace

Array softmax(const Array& x, const Axes& axis, const Array& where) {
  const Dims axes = axis.ascending("softmax", x.ndim());
  return composite("softmax", ActivationAxes{axes}, with_mask("softmax", x, where),
                   [](const ActivationAxes& p, std::span<const Array> a) {
                     const Logits logits = logits_of(a, p.axes);
                     const Array powers = exp(logits.x - logits.largest);
                     if (a.size() == 1)
                       return powers / sum(powers, {.axis = p.axes, .keepdims = true});
                     const Array total =
                         sum(powers, {.axis = p.axes, .keepdims = true, .where = a[1]});
                     return tessera::where(a[1], powers / total, 0);
                   });
}

Array log_softmax(const Array& x, const Axes& axis, const Array& where) {
  const Dims axes = axis.ascending("log_softmax", x.ndim());
  return composite("log_softmax", ActivationAxes{axes}, with_mask("log_softmax", x, where),
                   [](const ActivationAxes& p, std::span<const Array> a) {
                     const Logits logits = logits_of(a, p.axes);
                     const Array shifted = logits.x - logits.largest;
                     if (a.size() == 1)
                       return shifted - log(sum(exp(shifted), {.axis = p.axes, .keepdims = true}));
                     const Array total =
                         sum(exp(shifted), {.axis = p.axes, .keepdims = true, .where = a[1]});
                     return tessera::where(a[1], shifted - log(total), -kInfinity);
                   });
}

Array standardize(const Array& x, const StandardizeOptions& o) {
  const Dims axes = o.axis.ascending("standardize", x.ndim());
  std::vector<Array> args = with_mask("standardize", x, o.where);
  struct StandardizeParams {
    Dims axes;
    double epsilon;
    bool where, mean, variance;
  };
  for (const Array* moment : {&o.mean, &o.variance})
    if (moment->defined()) args.push_back(*moment);
  return composite(
      "standardize",
      StandardizeParams{axes, o.epsilon, o.where.defined(), o.mean.defined(), o.variance.defined()},
      args, [](const StandardizeParams& p, std::span<const Array> a) {
        size_t next = 1;
        MeanOptions of{.axis = p.axes, .keepdims = true};
        if (p.where) of.where = a[next++];
        const Array average = p.mean ? a[next++] : mean(a[0], of);
        // E[x^2] - E[x]^2 needs one pass; rounding can make it negative.
        const Array variance =
            p.variance ? a[next] : maximum(mean(square(a[0]), of) - square(average), 0);
        return (a[0] - average) * rsqrt(variance + p.epsilon);
      });
}

Array one_hot(const Array& x, int64_t classes, const OneHotOptions& o) {
  if (classes < 0) value_error("one_hot", "expected at least 0 classes, got {}", classes);
  const int64_t axis = normalize_axis("one_hot", o.axis, x.ndim() + 1);
  const DType dtype = canonical_dtype(o.dtype.value_or(float64));
  struct OneHotParams {
    int64_t classes, axis;
    DType dtype;
  };
  return composite("one_hot", OneHotParams{classes, axis, dtype}, {x},
                   [](const OneHotParams& p, std::span<const Array> a) {
                     const Array index = lax::expand_dims(
                         a[0].dtype() == bool_ ? as_dtype(a[0], int32) : a[0], {p.axis});
                     Shape shape = index.shape();
                     shape[p.axis] = p.classes;
                     // Integers are compared in at least 32 bits: the number of a class may not fit
                     // an int8.
                     const bool narrow = is_integer(index.dtype()) && itemsize(index.dtype()) < 4;
                     const DType wide = narrow ? int32 : index.dtype();
                     const Array wanted = broadcast_array("one_hot", as_dtype(index, wide), shape);
                     return as_dtype(lax::eq(wanted, lax::iota(wide, shape, p.axis)), p.dtype);
                   });
}

}  // namespace tessera
