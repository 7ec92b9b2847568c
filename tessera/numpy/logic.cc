#include "tessera/numpy/logic.h"

#include <limits>

#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/reduce.h"

namespace tessera {

using elementwise::binary;
using elementwise::expect_real;
using elementwise::like;
using elementwise::unary;

namespace elementwise {

Array is_nan(const Array& x) {
  return is_inexact(x.dtype()) ? lax::ne(x, x) : lax::full(x.shape(), 0, bool_);
}

}  // namespace elementwise

namespace {

constexpr Promotion kAny = Promotion::kAny, kNumeric = Promotion::kNumeric,
                    kInexact = Promotion::kInexact;
constexpr double kInf = std::numeric_limits<double>::infinity();

Array ordered(const char* name, const Array& x, const Array& y,
              Array (*compare)(const Array&, const Array&)) {
  return binary(name, x, y, kAny, [&](const Array& a, const Array& b) {
    if (!is_complex(a.dtype())) return compare(a, b);
    const Array ar = lax::real(a), br = lax::real(b);
    return lax::select(lax::eq(ar, br), compare(lax::imag(a), lax::imag(b)), compare(ar, br));
  });
}

// Whether x is not 0.
Array truth(const Array& x) { return x.dtype() == bool_ ? x : lax::ne(x, like(x, 0)); }

Array logical(const char* name, const Array& x, const Array& y,
              Array (*function)(const Array&, const Array&)) {
  return composite(name, {}, {x, y}, [&](std::span<const Array> a) -> Array {
    const std::vector<Array> p =
        promote_and_broadcast(name, std::vector<Array>{truth(a[0]), truth(a[1])});
    return function(p[0], p[1]);
  });
}

// f(x) of a real x, of the parts of a complex x joined by `join`; `discrete` of a bool or integer
// x.
template <class F>
Array classify(const char* name, const Array& x, bool discrete,
               Array (*join)(const Array&, const Array&), const F& f) {
  return composite(name, {}, {x}, [&](std::span<const Array> a) -> Array {
    if (!is_inexact(a[0].dtype())) return lax::full(a[0].shape(), discrete, bool_);
    if (is_complex(a[0].dtype())) return join(f(lax::real(a[0])), f(lax::imag(a[0])));
    return f(a[0]);
  });
}

struct CloseParams {
  bool equal_nan = false;
};

Array close(const char* name, const Array& x, const Array& y, const CloseOptions& options,
            bool all_of_them) {
  return composite(
      name, CloseParams{options.equal_nan}, {x, y, options.rtol, options.atol},
      [&](std::span<const Array> args) -> Array {
        const std::vector<Array> p = promote_and_broadcast(name, args.first(2), kInexact);
        const Array &a = p[0], &b = p[1];
        const Array difference = lax::abs(lax::sub(a, b)), size = lax::abs(b);
        const auto tolerance = [&](const Array& t) {
          return broadcast_array(name, as_dtype(t, size.dtype()), size.shape());
        };
        const Array bound = lax::add(tolerance(args[3]), lax::mul(tolerance(args[2]), size));
        // An infinite bound must not make everything close.
        Array out = lax::bitwise_or(lax::eq(a, b),
                                    lax::bitwise_and(isfinite(b), lax::le(difference, bound)));
        if (options.equal_nan)
          out = lax::bitwise_or(out,
                                lax::bitwise_and(elementwise::is_nan(a), elementwise::is_nan(b)));
        return all_of_them ? all(out) : out;
      });
}

}  // namespace

Array equal(const Array& x, const Array& y) {
  return binary("equal", x, y, kAny, [](const Array& a, const Array& b) { return lax::eq(a, b); });
}
Array not_equal(const Array& x, const Array& y) {
  return binary("not_equal", x, y, kAny,
                [](const Array& a, const Array& b) { return lax::ne(a, b); });
}
Array less(const Array& x, const Array& y) { return ordered("less", x, y, lax::lt); }
Array less_equal(const Array& x, const Array& y) { return ordered("less_equal", x, y, lax::le); }
Array greater(const Array& x, const Array& y) { return ordered("greater", x, y, lax::gt); }
Array greater_equal(const Array& x, const Array& y) {
  return ordered("greater_equal", x, y, lax::ge);
}

Array isclose(const Array& x, const Array& y, const CloseOptions& options) {
  return close("isclose", x, y, options, false);
}
Array allclose(const Array& x, const Array& y, const CloseOptions& options) {
  return close("allclose", x, y, options, true);
}

Array array_equal(const Array& x, const Array& y, bool equal_nan) {
  if (x.shape() != y.shape()) return Array(false);
  return composite(
      "array_equal", CloseParams{equal_nan}, {x, y}, [&](std::span<const Array> args) -> Array {
        const std::vector<Array> p = promote_dtypes(args);
        Array same = lax::eq(p[0], p[1]);
        if (equal_nan)
          same = lax::bitwise_or(
              same, lax::bitwise_and(elementwise::is_nan(p[0]), elementwise::is_nan(p[1])));
        return all(same);
      });
}

Array logical_and(const Array& x, const Array& y) {
  return logical("logical_and", x, y, lax::bitwise_and);
}
Array logical_or(const Array& x, const Array& y) {
  return logical("logical_or", x, y, lax::bitwise_or);
}
Array logical_xor(const Array& x, const Array& y) {
  return logical("logical_xor", x, y, lax::bitwise_xor);
}
Array logical_not(const Array& x) {
  return unary("logical_not", x, kAny, [](const Array& a) { return lax::bitwise_not(truth(a)); });
}

Array bitwise_and(const Array& x, const Array& y) {
  return binary("bitwise_and", x, y, kAny, lax::bitwise_and);
}
Array bitwise_or(const Array& x, const Array& y) {
  return binary("bitwise_or", x, y, kAny, lax::bitwise_or);
}
Array bitwise_xor(const Array& x, const Array& y) {
  return binary("bitwise_xor", x, y, kAny, lax::bitwise_xor);
}
Array bitwise_not(const Array& x) { return unary("bitwise_not", x, kAny, lax::bitwise_not); }
Array left_shift(const Array& x, const Array& y) {
  return binary("left_shift", x, y, kNumeric, lax::shift_left);
}

Array right_shift(const Array& x, const Array& y) {
  return binary("right_shift", x, y, kNumeric, [](const Array& a, const Array& b) {
    return is_unsigned(a.dtype()) ? lax::shift_right_logical(a, b)
                                  : lax::shift_right_arithmetic(a, b);
  });
}

Array bitwise_count(const Array& x) {
  return unary("bitwise_count", x, kNumeric, [](const Array& a) {
    const Array bits = is_signed(a.dtype()) ? lax::abs(a) : a;
    return lax::convert_element_type(lax::population_count(bits), uint8);
  });
}

Array isnan(const Array& x) { return unary("isnan", x, kAny, elementwise::is_nan); }

Array isinf(const Array& x) {
  return classify("isinf", x, false, lax::bitwise_or,
                  [](const Array& a) { return lax::eq(lax::abs(a), like(a, kInf)); });
}

Array isfinite(const Array& x) {
  return classify("isfinite", x, true, lax::bitwise_and, lax::is_finite);
}

Array isposinf(const Array& x) {
  expect_real("isposinf", x);
  return classify("isposinf", x, false, lax::bitwise_or,
                  [](const Array& a) { return lax::eq(a, like(a, kInf)); });
}

Array isneginf(const Array& x) {
  expect_real("isneginf", x);
  return classify("isneginf", x, false, lax::bitwise_or,
                  [](const Array& a) { return lax::eq(a, like(a, -kInf)); });
}

Array signbit(const Array& x) {
  return unary("signbit", x, kAny, [](const Array& a) {
    expect_real("signbit", a);
    if (a.dtype() == bool_ || is_unsigned(a.dtype())) return lax::full(a.shape(), 0, bool_);
    const DType ints[] = {int8, int16, int32, int64};
    Array bits = a;
    for (DType i : ints)
      if (itemsize(i) == itemsize(a.dtype())) bits = lax::bitcast_convert_type(a, i);
    return lax::lt(bits, like(bits, 0));
  });
}

Array where(const Array& condition, const Array& x, const Array& y) {
  return composite("where", {}, {condition, x, y}, [](std::span<const Array> a) -> Array {
    std::vector<Shape> shapes{a[0].shape(), a[1].shape(), a[2].shape()};
    const Shape shape = broadcast_shapes("where", shapes);
    const std::vector<Array> p = promote_dtypes(a.subspan(1));
    Array holds = truth(a[0]);
    if (holds.ndim() > 0) holds = broadcast_array("where", holds, shape);
    return lax::select(holds, broadcast_array("where", p[0], shape),
                       broadcast_array("where", p[1], shape));
  });
}

Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices,
             const Array& otherwise) {
  if (conditions.size() != choices.size() || choices.empty())
    value_error(
        "select",
        "expected as many choices as conditions, at least one, got {} conditions and {} choices",
        conditions.size(), choices.size());
  std::vector<Array> args(conditions);
  args.insert(args.end(), choices.begin(), choices.end());
  args.push_back(otherwise);
  return composite("select", {}, args, [&](std::span<const Array> a) -> Array {
    const size_t n = conditions.size();
    const std::vector<Array> p = promote_dtypes(a.subspan(n));
    Array out = p[n];
    for (size_t i = n; i-- > 0;) out = where(a[i], p[i], out);
    return out;
  });
}

}  // namespace tessera
