// Draws the next op and its operands.
#include <algorithm>
#include <cmath>

#include "maker.h"

namespace tessera::generate {

using namespace ops;

namespace {

struct Unary {
  const char* name;
  double bound;  // of the result; if negative, a multiple of the operand's
  bool jumps = false;
};
// clang-format off
constexpr Unary kUnary[] = {
    {"tanh", 1}, {"sin", 1}, {"cos", 1}, {"neg", -1}, {"scale", -1.5}, {"gauss", 1}, {"log1p", 3}, {"sqrt", -1.6},
    {"rsqrt", 1.2}, {"cbrt", 4}, {"abs", -1}, {"sigmoid", 1}, {"relu", -1}, {"gelu", -1}, {"silu", -1}, {"softplus", -2},
    {"elu", -1}, {"leaky_relu", -1}, {"selu", -2}, {"mish", -1}, {"hard_tanh", 1}, {"log_sigmoid", -2}, {"soft_sign", 1},
    {"sinc", 1}, {"erf", 1}, {"erfc", 2}, {"arctan", 1.6}, {"arcsinh", 3}, {"arcsin", 1.6}, {"arccos", 3.2},
    {"arccosh", 4}, {"arctanh", 1}, {"sinh", 1.2}, {"cosh", 1.6}, {"tan", 1.3}, {"expm1", 2}, {"exp2", 2}, {"log", 4},
    {"log2", 6}, {"reciprocal", 1.7}, {"sign", 1}, {"clip", 2}, {"where_self", -1}, {"stop_gradient", -1},
    {"checkpoint_name", -1}, {"nan_to_num", -1}, {"barrier", -1}, {"floor", -4, true}, {"round", -4, true}};
// clang-format on

}  // namespace

void Maker::unary() {
  const int x = any_float();
  const double b = bound(x);
  switch (pick(9)) {
    case 0:
      op("exp", {x}, {}, std::exp(b / 2));
      return;
    case 1:
      op(chance(50) ? "square" : "cube", {x}, {}, b * b * std::max(b, 1.0));
      return;
    case 2:
      op("power_f", {x}, {.f = number(-1, 2)}, std::max(3.5, std::pow(b * b + 0.3, 2)));
      return;
    case 3:
      op("power_i", {x}, {.i = pick(4)}, std::max(1.0, b * b * b));
      return;
    case 4:
      if (itemsize(type(x).dtype) < 4) break;
      op(chance(50) ? "lgamma" : "digamma", {x}, {}, 2 + b * b);
      return;
    case 5:
      if (chance(50)) break;
      if (smooth_ || chance(70)) {
        op("shift", {x}, {.f = number(-1, 1)}, b + 1);
      } else {
        op("astype", {x}, {.dtype = chance(50) ? float32 : float64}, b);
      }
      return;
    default:
      break;
  }
  const Unary& u = kUnary[pick(std::size(kUnary))];
  if (u.jumps && smooth_) return;
  op(u.name, {x}, {.f = number(-0.7, 0.7)}, u.bound < 0 ? -u.bound * std::max(b, 1.0) : u.bound);
}

void Maker::binary() {
  const int x = any_float();
  const auto other = find_broadcastable(type(x));
  const int y = other ? *other : zeros_like_float(Shape{});
  const double a = bound(x), b = bound(y), most = std::max(a, b);
  std::vector<int> pair{x, y};
  if (chance(40)) std::swap(pair[0], pair[1]);
  switch (pick(15)) {
    case 0:
    case 1:
      op("add", pair, {}, a + b);
      return;
    case 2:
      op("sub", pair, {}, a + b);
      return;
    case 3:
    case 4:
    case 5:
      op("mul", pair, {}, a * b);
      return;
    case 6:
      op("div", pair, {}, 1.3 * most);
      return;
    case 7:
      op(chance(50) ? "maximum" : "minimum", pair, {}, most);
      return;
    case 8:
      op("arctan2", pair, {}, 1.6);
      return;
    case 9:
      op(chance(50) ? "hypot" : "logaddexp", pair, {}, 2 + a * a + b * b);
      return;
    case 10:
      if (smooth_) return;
      op("where_less", pair, {}, most);
      return;
    case 11:
      if (most > 2) return;
      op("power", pair, {}, 20);
      return;
    case 12:
      if (smooth_) return;
      op("remainder", pair, {}, 1.2 + most * most);
      return;
    default: {
      const auto z = find_broadcastable(type(x));
      if (!z) return;
      op(chance(60) ? "fma" : "lerp", {pair[0], pair[1], *z}, {}, a * b + bound(*z) + 2 * most);
      return;
    }
  }
}

void Maker::shape_op() {
  const auto found = chance(90) ? find_float() : find([](const ValueType&) { return true; });
  if (!found) return;
  const int x = *found;
  const Shape& shape = type(x).shape;
  const double b = bound(x);
  const int64_t rank = shape.rank();
  switch (pick(5)) {
    case 0: {
      Shape wide = shape;
      for (int64_t& e : wide)
        if (e == 1) e = extent();
      while (wide.rank() < 3 && chance(70)) wide.insert(wide.begin(), extent());
      op("broadcast_to", {x}, {.dims = wide}, b);
      return;
    }
    case 1: {
      if (rank < 3) op("expand_dims", {x}, {.i = pick(rank + 1)}, b);
      return;
    }
    case 2: {
      int64_t rest = shape.elements();
      Shape to;
      for (int64_t f : {2, 3, 4}) {
        if (rest > 0 && rest % f == 0 && chance(50) && to.rank() < 3) {
          to.push_back(f);
          rest /= f;
        }
      }
      to.push_back(rest);
      for (int64_t k = to.rank() - 1; k > 0; --k) std::swap(to[k], to[pick(k + 1)]);
      op("reshape", {x}, {.dims = to}, b);
      return;
    }
    default:
      if (rank > 0) shape_op_of_rank(x);
  }
}

void Maker::concatenate_op(int x, int64_t d) {
  const Shape shape = type(x).shape;
  const int64_t rank = shape.rank();
  const double b = bound(x);
  const auto y = find([&](const ValueType& t) {
    if (t.shape.rank() != rank || t.dtype != type(x).dtype) return false;
    for (int64_t k = 0; k < rank; ++k)
      if (k != d && t.shape[k] != shape[k]) return false;
    return true;
  });
  if (y) op(chance(60) ? "concatenate" : "concatenate3", {x, *y}, {.i = d}, std::max(b, bound(*y)));
}

void Maker::stack_op(int x) {
  const Shape shape = type(x).shape;
  const int64_t rank = shape.rank();
  const double b = bound(x);
  const auto y =
      find([&](const ValueType& t) { return t.shape == shape && t.dtype == type(x).dtype; });
  if (y && rank < 3) op("stack", {x, *y}, {.i = pick(rank + 1)}, std::max(b, bound(*y)));
}

void Maker::pad_op(int x, int64_t d) {
  const int64_t rank = type(x).shape.rank();
  if (type(x).dtype == bool_) return;
  Attributes p{.f = 0.25, .dims = Dims(rank, 0), .dims2 = Dims(rank, 0), .dims3 = Dims(rank, 0)};
  p.dims[d] = pick(4) - 1;
  p.dims2[d] = pick(4) - 1;
  if (chance(30)) p.dims3[d] = pick(3);
  op("lax_pad", {x}, p, std::max(bound(x), 1.0));
}

void Maker::slice_op(int x) {
  const Shape shape = type(x).shape;
  const int64_t rank = shape.rank();
  Attributes p{.dims = Dims(rank, 0), .dims2 = shape, .dims3 = Dims(rank, 1)};
  for (int64_t k = 0; k < rank; ++k) {
    if (chance(50)) continue;
    p.dims[k] = pick(shape[k] + 1);
    p.dims2[k] = p.dims[k] + pick(shape[k] - p.dims[k] + 1);
    p.dims3[k] = 1 + pick(2);
  }
  op("slice", {x}, p, bound(x));
}

void Maker::shape_op_of_rank(int x) {
  const Shape shape = type(x).shape;
  const double b = bound(x);
  const int64_t rank = shape.rank(), d = pick(rank), n = shape[d];
  const bool is_bool = type(x).dtype == bool_;
  switch (pick(22)) {
    case 0:
    case 1:
      op("transpose", {x}, {.dims = permutation(rank)}, b);
      return;
    case 2:
      if (n == 1) op("squeeze", {x}, {.i = d}, b);
      return;
    case 3:
      op("flip", {x}, {.i = d}, b);
      return;
    case 4:
      op("roll", {x}, {.i = pick(7) - 3, .j = d}, b);
      return;
    case 5: {
      Dims times(static_cast<size_t>(rank), 1);
      times[d] = 1 + pick(3);
      op("tile", {x}, {.dims = times}, b);
      return;
    }
    case 6:
      op("repeat", {x}, {.i = pick(3), .j = d}, b);
      return;
    case 7:
    case 8:
      return concatenate_op(x, d);
    case 9:
      return stack_op(x);
    case 10:
    case 11:
      return pad_op(x, d);
    case 12:
      if (shape.elements() > 0)
        op(chance(50) ? "pad_edge" : "pad_wrap", {x}, {.i = 1 + pick(2)}, b);
      return;
    case 13:
    case 14:
      return slice_op(x);
    case 15:
      if (n > 0 && n % 2 == 0) op("split", {x}, {.i = 2, .j = d}, b);
      return;
    case 16:
      if (rank >= 2 && !is_bool) op(chance(50) ? "tril" : "triu", {x}, {.i = pick(3) - 1}, b);
      return;
    case 17:
      if (rank >= 2) op(chance(70) ? "diagonal" : "rot90", {x}, {}, b);
      return;
    case 18:
      op("swapaxes", {x}, {.i = d, .j = pick(rank)}, b);
      return;
    case 19:
      if (shape[0] > 0)
        op("index_row", {x}, {.i = pick(shape[0]) - (chance(30) ? shape[0] : 0)}, b);
      return;
    case 20:
      if (shape[rank - 1] > 0) op("index_last", {x}, {.i = pick(shape[rank - 1])}, b);
      return;
    default:
      if (chance(50)) {
        op("index_slice", {x}, {.i = pick(shape[0] + 1), .j = pick(shape[0] + 2), .k = 1 + pick(2)},
           b);
      } else {
        op("index_reverse", {x}, {}, b);
      }
  }
}

void Maker::place() {
  const auto found = find_along_dim();
  if (!found) return;
  const auto& [x, shape, rank, d, n, b] = *found;
  switch (pick(12)) {
    case 0:
    case 1:
      op("dynamic_slice", {x, scalar_int(n + 2)}, {.i = pick(n + 1), .j = d}, b);
      return;
    case 2:
      if (n > 0) op("dynamic_index", {x, scalar_int(n)}, {.j = d}, b);
      return;
    case 3:
    case 4: {
      const auto z = find([&, &shape = shape, rank = rank](const ValueType& t) {
        if (!is_floating(t.dtype) || t.shape.rank() != rank) return false;
        for (int64_t k = 0; k < rank; ++k)
          if (t.shape[k] > shape[k]) return false;
        return true;
      });
      if (z) op("dynamic_update", {x, scalar_int(n + 1), *z}, {.j = d}, std::max(b, bound(*z)));
      return;
    }
    case 5:
      if (n > 0) op(chance(50) ? "take" : "take_clip", {x, indices(n)}, {.i = d}, b);
      return;
    case 6:
      if (shape[0] > 0) op("gather_rows", {x, indices(shape[0])}, {}, b);
      return;
    case 7:
    case 8:
    case 9: {
      const int at = indices(std::max<int64_t>(shape[0], 1) + pick(2));
      Shape rows = shape;
      rows[0] = type(at).shape[0];
      const auto z = find_broadcastable({type(x).dtype, rows, {}});
      if (!z) return;
      // If several set() write one element, any of them may be last, and products have a derivative
      // only if no element is written twice. So these ops get a single index.
      if (rows[0] == 1) {
        op(chance(60) ? "at_set" : "at_mul", {x, at, *z}, {}, (b + 1) * (bound(*z) + 1));
      } else {
        static const char* kinds[] = {"at_add", "at_add", "at_max", "at_min"};
        op(kinds[pick(4)], {x, at, *z}, {}, b + 4 * bound(*z));
      }
      return;
    }
    case 10: {
      const int64_t from = pick(shape[0] + 1), to = from + pick(shape[0] - from + 1);
      Shape rows = shape;
      rows[0] = to - from;
      const auto z = find_broadcastable({type(x).dtype, rows, {}});
      if (z) op("at_slice", {x, *z}, {.i = from, .j = to}, b + bound(*z));
      return;
    }
    default:
      if (n > 0 && !smooth_) op("take_along", {x}, {.i = d}, b);
  }
}

void Maker::integer_op() {
  const int x = integers(0);
  const bool is_signed_32 = type(x).dtype == int32;
  switch (pick(11)) {
    case 0:
      if (is_signed_32) op("int_add", {x}, {.i = pick(5)}, bound(x) + 5);
      return;
    case 1:
      op("int_mod", {x}, {.i = 1 + pick(4)}, 4);
      return;
    case 2: {
      const auto y = find(
          [&](const ValueType& t) { return t.dtype == type(x).dtype && t.shape == type(x).shape; });
      if (y && bound(x) * bound(*y) < 100)
        op(chance(50)   ? "int_mul"
           : chance(50) ? "int_max"
                        : "int_xor",
           {x, *y}, {}, bound(x) * bound(*y) + 8);
      return;
    }
    case 3:
    case 4: {
      const int y = op("one_hot", {x}, {.i = 1 + pick(4), .dtype = real_}, 1).value_or(x);
      if (const auto z = find_shape(type(y)); z && y != x) op("mul", {y, *z}, {}, bound(*z));
      return;
    }
    case 5:
      if (bound(x) < 50) op("astype", {x}, {.dtype = real_}, bound(x));
      return;
    case 6: {
      const auto y = find_float();
      if (!y || smooth_) return;
      const auto mask = op("greater_than", {*y}, {.f = number(-0.5, 0.5)}, 1);
      const auto z = find_shape(type(*y));
      if (mask && z && chance(70))
        op("select", {*mask, *y, *z}, {}, std::max(bound(*y), bound(*z)));
      return;
    }
    case 7: {
      const auto m = find([](const ValueType& t) { return t.dtype == bool_; });
      if (!m) return;
      if (chance(40)) {
        op("not", {*m}, {}, 1);
      } else {
        op(chance(50)   ? "any"
           : chance(50) ? "all"
                        : "count",
           {*m}, {.dims = some_dims(type(*m))}, 8);
      }
      return;
    }
    case 8: {
      const auto y = find_float();
      if (y && !smooth_) op("int_round", {*y}, {}, 3 * bound(*y) + 1);
      return;
    }
    case 9:
      if (type(x).shape.rank() > 0 && bound(x) < 20)
        op(chance(50) ? "int_sum" : "int_cumsum", {x}, {.i = 0, .dims = some_dims(type(x))},
           bound(x) * 16);
      return;
    default: {
      const auto y = find_float(1);
      if (y && type(*y).shape[type(*y).shape.rank() - 1] > 0 && !smooth_) {
        const auto i = op("argsort", {*y}, {.i = type(*y).shape.rank() - 1}, 8);
        if (i) op("astype", {*i}, {.dtype = int32}, 8);
      }
    }
  }
}

void Maker::complex_op() {
  if (smooth_) return;
  const auto z = find([](const ValueType& t) { return is_complex(t.dtype); });
  if (!z || chance(25)) {
    const auto x =
        find([](const ValueType& t) { return is_floating(t.dtype) && itemsize(t.dtype) >= 4; });
    if (!x) return;
    const auto y = find(
        [&](const ValueType& t) { return t.dtype == type(*x).dtype && t.shape == type(*x).shape; });
    op("complex", {*x, *y}, {}, bound(*x) + bound(*y));
    return;
  }
  const double b = bound(*z);
  switch (pick(9)) {
    case 0:
      op("complex_exp", {*z}, {}, std::exp(b / 2));
      return;
    case 1:
      op("complex_sin", {*z}, {}, std::exp(b));
      return;
    case 2:
      op("conj", {*z}, {}, b);
      return;
    case 3:
      op(chance(50) ? "real" : "imag", {*z}, {}, b);
      return;
    case 4:
      op("abs2", {*z}, {}, b * b);
      return;
    case 5:
      op("complex_tanh", {tamed(*z, 2)}, {}, 2);
      return;
    case 6:
      if (type(*z).shape.rank() > 0) op("sum", {*z}, {.dims = some_dims(type(*z))}, 8 * b);
      return;
    default: {
      const auto w = find(
          [&](const ValueType& t) { return is_complex(t.dtype) && t.shape == type(*z).shape; });
      op(chance(60) ? "mul" : chance(50) ? "add" : "complex_div", {*z, *w}, {}, b * bound(*w) + b);
    }
  }
}

void Maker::step() {
  if (axes_.size() > named_from_ && chance(28)) return collective();
  const int kind = pick(100);
  if (kind < 22) return unary();
  if (kind < 38) return binary();
  if (kind < 52) return shape_op();
  if (kind < 60) return place();
  if (kind < 70) return reduction();
  if (kind < 78) return product();
  if (kind < 83) return integer_op();
  if (kind < 87) return complex_op();
  if (kind < 91) return constraint();
  if (depth_ < 3) return control();
  unary();
}

}  // namespace tessera::generate
