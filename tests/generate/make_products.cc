// Reductions, products and einsums of random letters.
#include <algorithm>
#include <cmath>

#include "maker.h"

namespace tessera::generate {

void Maker::reduction() {
  const auto found = find_along_dim();
  if (!found) return;
  const auto& [x, shape, rank, d, n, b] = *found;
  const Attributes p{.i = d, .flag = chance(40), .dims = some_dims(type(x))};
  int64_t count = 1;
  for (int64_t k : p.dims) count *= shape[k];
  const double many = static_cast<double>(std::max<int64_t>(count, 1));
  switch (pick(20)) {
    case 0:
    case 1:
    case 2:
      op(chance(80) ? "sum" : "sum_all", {x}, p, many * b);
      return;
    case 3:
      if (many <= 8) op("prod", {x}, p, std::pow(std::max(b, 1.0), many));
      return;
    case 4:
      if (count > 0) op("mean", {x}, p, b);
      return;
    case 5:
      if (count > 0) op(chance(50) ? "max" : "min", {x}, p, b);
      return;
    case 6: {
      Attributes q = p;
      q.f = number(-1, 0);
      op("max_initial", {x}, q, std::max(b, 1.0));
      return;
    }
    case 7:
      if (count > 1) op(chance(50) ? "var" : "std", {x}, p, b * b + 1);
      return;
    case 8:
      if (count > 0) op("logsumexp", {x}, p, b + 4);
      return;
    case 9:
      op(chance(50) ? "softmax" : "log_softmax", {x}, p, 2 * b + 4);
      return;
    case 10:
      if (n > 1) op("standardize", {x}, p, 8);
      return;
    case 11:
      if (n > 0 && !smooth_) {
        const auto i = op(chance(50) ? "argmax" : "argmin", {x}, p, static_cast<double>(n));
        if (i) op("astype", {*i}, {.dtype = int32}, static_cast<double>(n));
      }
      return;
    case 12:
      op(chance(50) ? "cumsum" : "lax_cumsum", {x}, p,
         static_cast<double>(std::max<int64_t>(n, 1)) * b);
      return;
    case 13:
      if (n <= 8) op("cumprod", {x}, p, std::pow(std::max(b, 1.0), static_cast<double>(n)));
      return;
    case 14:
      op(chance(50) ? "cummax" : "cummin", {x}, p, b);
      return;
    case 15:
      if (n > 0) op("cumlogsumexp", {x}, p, b + 4);
      return;
    case 16:
      if (!smooth_) op("sort", {x}, p, b);
      return;
    case 17:
      if (!smooth_ && n > 0)
        op(chance(70) ? "top_k" : "median", {x}, {.i = d, .j = 1 + pick(n)}, b);
      return;
    case 18: {
      const auto mask = find(
          [&shape = shape](const ValueType& t) { return t.dtype == bool_ && t.shape == shape; });
      if (mask) op("sum_where", {x, *mask}, p, many * b);
      return;
    }
    default:
      op("norm", {x}, p, std::sqrt(many) * b + 1);
  }
}

void Maker::product() {
  const auto found = find_float(1);
  if (!found) return;
  const int x = *found;
  const Shape shape = type(x).shape;
  const int64_t k = shape[shape.rank() - 1];
  const double b = bound(x), terms = static_cast<double>(std::max<int64_t>(k, 1));
  switch (pick(9)) {
    case 0:
    case 1: {
      const auto y = find([&](const ValueType& t) {
        const int64_t r = t.shape.rank();
        return is_floating(t.dtype) &&
               ((r == 1 && t.shape[0] == k) || (r >= 2 && t.shape[r - 2] == k));
      });
      if (!y) return;
      const auto out = op("matmul", {x, *y}, {}, terms * b * bound(*y));
      if (!out || !chance(30)) return;
      const auto z = find_broadcastable(type(*out));
      if (z) op("matmul_bias", {x, *y, *z}, {}, terms * b * bound(*y) + bound(*z));
      return;
    }
    case 2:
      if (shape.rank() >= 2) op("matmul_self", {x}, {}, terms * b * b);
      return;
    case 3:
      if (const auto y = find_float(1))
        op(chance(80) ? "outer" : "kron", {x, *y}, {}, b * bound(*y));
      return;
    case 4:
      if (const auto y = find_shape(type(x)))
        op("vdot", {x, *y}, {}, static_cast<double>(shape.elements()) * b * bound(*y));
      return;
    case 5: {
      const auto y = find_shape(type(x));
      if (!y || type(*y).dtype != type(x).dtype) return;
      Attributes p;
      for (int64_t d = 0; d < shape.rank(); ++d) {
        const int role = pick(3);
        if (role == 0) {
          p.dims.push_back(d);
          p.dims2.push_back(d);
        } else if (role == 1) {
          p.dims3.push_back(d);
          p.dims4.push_back(d);
        }
      }
      op("dot_general", {x, *y}, p, static_cast<double>(shape.elements() + 1) * b * bound(*y));
      return;
    }
    default:
      random_einsum();
  }
}

// Draws an einsum: the dimensions of x get labels from the left, and labels of y are chosen so that
// extents agree.
void Maker::random_einsum() {
  const auto a = find_float(1), b = find_float(1);
  if (!a || !b) return;
  std::string left, right, out;
  std::vector<int64_t> extent_of;
  for (int64_t e : type(*a).shape) {
    left += static_cast<char>('a' + extent_of.size());
    extent_of.push_back(e);
  }
  for (int64_t e : type(*b).shape) {
    std::vector<char> fits;
    for (size_t k = 0; k < extent_of.size(); ++k) {
      const char label = static_cast<char>('a' + k);
      if (extent_of[k] == e && right.find(label) == std::string::npos) fits.push_back(label);
    }
    if (!fits.empty() && chance(75)) {
      right += fits[pick(static_cast<int64_t>(fits.size()))];
    } else {
      right += static_cast<char>('a' + extent_of.size());
      extent_of.push_back(e);
    }
  }
  double terms = 1;
  Shape result;
  for (size_t k = 0; k < extent_of.size(); ++k) {
    if (chance(45)) {
      out += static_cast<char>('a' + k);
      result.push_back(extent_of[k]);
    } else {
      terms *= static_cast<double>(std::max<int64_t>(extent_of[k], 1));
    }
  }
  const Attributes p{.text = left + "," + right + "->" + out};
  const double most = terms * bound(*a) * bound(*b);
  const auto bias = chance(30) ? find_broadcastable({real_, result, {}}) : std::nullopt;
  if (bias) {
    op("einsum_bias", {*a, *b, *bias}, p, most + bound(*bias));
  } else {
    op("einsum", {*a, *b}, p, most);
  }
}

}  // namespace tessera::generate
