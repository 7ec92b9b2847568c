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

Array unary(const char* name, const Array& x, Promotion promotion, Unary f) {
  return composite(name, UnaryParams{promotion, f}, {x},
                   [](const UnaryParams& p, std::span<const Array> a) {
                     return p.f(promote(a[0], p.promotion));
                   });
}

Array binary(const char* name, const Array& x, const Array& y, Promotion promotion, Binary f) {
  return composite(name, BinaryParams{name, promotion, f}, {x, y},
                   [](const BinaryParams& p, std::span<const Array> a) {
                     const std::vector<Array> both = promote_and_broadcast(p.name, a, p.promotion);
                     return p.f(both[0], both[1]);
                   });
}

Array is_nan(const Array& x) {
  return is_inexact(x.dtype()) ? lax::ne(x, x) : lax::full(x.shape(), 0, bool_);
}

}  // namespace elementwise

namespace {

using enum Promotion;
constexpr double kInf = std::numeric_limits<double>::infinity();

// Compares complex numbers by their real parts, then by their imaginary parts.
template <elementwise::Binary compare>
Array ordered(const char* name, const Array& x, const Array& y) {
  return binary(name, x, y, kAny, [](const Array& a, const Array& b) {
    if (!is_complex(a.dtype())) return compare(a, b);
    const Array ar = lax::real(a), br = lax::real(b);
    return lax::select(lax::eq(ar, br), compare(lax::imag(a), lax::imag(b)), compare(ar, br));
  });
}

// Returns whether x is not 0.
Array truth(const Array& x) { return x.dtype() == bool_ ? x : lax::ne(x, like(x, 0)); }

Array logical(const char* name, const Array& x, const Array& y, elementwise::Binary function) {
  struct LogicalParams {
    std::string name;
    elementwise::Binary function;
  };
  return composite(name, LogicalParams{name, function}, {x, y},
                   [](const LogicalParams& p, std::span<const Array> a) {
                     const std::vector<Array> both = promote_and_broadcast(
                         p.name, std::vector<Array>{truth(a[0]), truth(a[1])});
                     return p.function(both[0], both[1]);
                   });
}

// Returns f(x) for a real x. For a complex x it joins f of both parts by `join`. For a bool or
// integer x it returns `discrete`.
Array classify(const char* name, const Array& x, bool discrete, elementwise::Binary join,
               elementwise::Unary f) {
  struct ClassifyParams {
    bool discrete;
    elementwise::Binary join;
    elementwise::Unary f;
  };
  return composite(name, ClassifyParams{discrete, join, f}, {x},
                   [](const ClassifyParams& p, std::span<const Array> a) {
                     const Array& z = a[0];
                     if (!is_inexact(z.dtype())) return lax::full(z.shape(), p.discrete, bool_);
                     if (is_complex(z.dtype())) return p.join(p.f(lax::real(z)), p.f(lax::imag(z)));
                     return p.f(z);
                   });
}

Array close(const char* name, const Array& x, const Array& y, const CloseOptions& options,
            bool all_of_them) {
  struct CloseParams {
    std::string name;
    bool equal_nan, all_of_them;
  };
  return composite(
      name, CloseParams{name, options.equal_nan, all_of_them}, {x, y, options.rtol, options.atol},
      [](const CloseParams& p, std::span<const Array> args) {
        const std::vector<Array> both = promote_and_broadcast(p.name, args.first(2), kInexact);
        const Array &a = both[0], &b = both[1];
        const Array difference = lax::abs(lax::sub(a, b)), size = lax::abs(b);
        const auto tolerance = [&](const Array& t) {
          return broadcast_array(p.name, as_dtype(t, size.dtype()), size.shape());
        };
        const Array bound = lax::add(tolerance(args[3]), lax::mul(tolerance(args[2]), size));
        // If b is infinite, so is the bound, and it must not make everything close.
        Array out = lax::bitwise_or(lax::eq(a, b),
                                    lax::bitwise_and(isfinite(b), lax::le(difference, bound)));
        if (p.equal_nan)
          out = lax::bitwise_or(out,
                                lax::bitwise_and(elementwise::is_nan(a), elementwise::is_nan(b)));
        return p.all_of_them ? all(out) : out;
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
Array less(const Array& x, const Array& y) { return ordered<lax::lt>("less", x, y); }
Array less_equal(const Array& x, const Array& y) { return ordered<lax::le>("less_equal", x, y); }
Array greater(const Array& x, const Array& y) { return ordered<lax::gt>("greater", x, y); }
Array greater_equal(const Array& x, const Array& y) {
  return ordered<lax::ge>("greater_equal", x, y);
}

Array isclose(const Array& x, const Array& y, const CloseOptions& options) {
  return close("isclose", x, y, options, false);
}
Array allclose(const Array& x, const Array& y, const CloseOptions& options) {
  return close("allclose", x, y, options, true);
}

Array array_equal(const Array& x, const Array& y, bool equal_nan) {
  if (x.shape() != y.shape()) return Array(false);
  struct EqualParams {
    bool equal_nan;
  };
  return composite("array_equal", EqualParams{equal_nan}, {x, y},
                   [](const EqualParams& p, std::span<const Array> args) {
                     const std::vector<Array> both = promote_dtypes(args);
                     Array same = lax::eq(both[0], both[1]);
                     if (p.equal_nan)
                       same = lax::bitwise_or(same, lax::bitwise_and(elementwise::is_nan(both[0]),
                                                                     elementwise::is_nan(both[1])));
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
  return composite("where", {}, {condition, x, y},
                   [](const NoParams&, std::span<const Array> a) -> Array {
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
  return composite("select", {}, args, [](const NoParams&, std::span<const Array> a) -> Array {
    const size_t n = a.size() / 2;
    const std::vector<Array> p = promote_dtypes(a.subspan(n));
    Array out = p[n];
    for (size_t i = n; i-- > 0;) out = where(a[i], p[i], out);
    return out;
  });
}

}  // namespace tessera
