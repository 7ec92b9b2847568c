// Matrices made from vectors, and matrices with a name.
#include <bit>
#include <cmath>

#include "tessera/scipy/linalg/matrices.h"

namespace tessera::scipy::linalg {

using namespace internal;

namespace {

void expect_order(const char* name, int64_t n, int64_t least) {
  if (n < least) value_error(name, "expected n >= {}, got {}", least, n);
}
void expect_vector_of(const char* name, const Array& x, int64_t least) {
  if (x.ndim() == 0 || x.shape().back() < least)
    shape_error(name, "expected at least {} elements along the last dimension, got {}", least,
                describe(x.type()));
}
Array at_least_vector(const Array& x) { return atleast_1d(x); }

// Returns i + sign j + offset for rows i and columns j, as known integers.
Array grid(int64_t rows, int64_t columns, int sign, int64_t offset) {
  return expand_dims(arange(rows), 1) + sign * expand_dims(arange(columns), 0) + offset;
}

// Returns a matrix of known values f(i, j), computed at once, in the default float.
template <class F>
Array tabulated(int64_t rows, int64_t columns, const F& f) {
  std::vector<double> out;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out.push_back(f(static_cast<double>(i), static_cast<double>(j)));
  return reshape(array(out, default_float()), {rows, columns});
}

double binomial(double n, double k) {
  if (k < 0 || k > n) return 0;
  double out = 1;
  for (double i = 1; i <= k; ++i) out = std::round(out * (n - k + i) / i);
  return out;
}

}  // namespace

Array block_diag(const std::vector<Array>& arrays) {
  if (arrays.empty()) return zeros({1, 0});
  Arrays blocks = promote_dtypes(arrays);
  int64_t columns = 0;
  for (Array& block : blocks) {
    if (block.ndim() > 2)
      shape_error("block_diag", "expected at most 2 dimensions, got {}", describe(block.type()));
    block = atleast_2d(block);
    columns += columns_of(block);
  }
  int64_t before = 0;
  for (Array& block : blocks) {
    const int64_t width = columns_of(block);
    block = pad(block, {{0, 0}, {before, columns - before - width}});
    before += width;
  }
  return concatenate(blocks);
}

namespace {

// The matrices rows x columns with elements (i, j) = values[offset + i + sign j], for values in the
// last dimension.
struct DiagonalsParams {
  int64_t rows, columns;
  int sign;
  int64_t offset;
};
Array of_diagonals(const DiagonalsParams& p, Args x) {
  const Arrays same = promote_dtypes(x);
  Shape lead = broadcast_shapes(
      "toeplitz", std::vector<Shape>{Shape(same[0].shape().begin(), same[0].shape().end() - 1),
                                     Shape(same[1].shape().begin(), same[1].shape().end() - 1)});
  const auto widened = [&](const Array& v) {
    Shape shape = lead;
    shape.push_back(v.shape().back());
    return broadcast_to(v, shape);
  };
  const Array c = widened(same[0]), r = widened(same[1]);
  if (p.rows == 0 || p.columns == 0) {
    Shape shape = lead;
    shape.insert(shape.end(), {p.rows, p.columns});
    return zeros(shape, c.dtype());
  }
  const Array rest = slice_in_dim(r, 1, p.columns, -1);
  const Array values = concatenate({p.sign < 0 ? flip(c, -1) : c, rest}, -1);
  const Array places = p.sign < 0 ? grid(p.rows, p.columns, -1, 0) * -1 + (p.rows - 1)
                                  : grid(p.rows, p.columns, 1, 0);
  return take(values, places, {.axis = values.ndim() - 1});
}

}  // namespace

Array toeplitz(const Array& c, const std::optional<Array>& r) {
  const Array column = at_least_vector(c), row = at_least_vector(r.value_or(conj(column)));
  const DiagonalsParams params{column.shape().back(), row.shape().back(), -1, 0};
  return composite("scipy.linalg.toeplitz", params, {column, row}, of_diagonals);
}

Array hankel(const Array& c, const std::optional<Array>& r) {
  expect_vector_of("hankel", c, 0);
  const Array row = r.value_or(zeros_like(c));
  expect_vector_of("hankel", row, 0);
  const DiagonalsParams params{c.shape().back(), row.shape().back(), 1, 0};
  return composite("scipy.linalg.hankel", params, {c, row}, of_diagonals);
}

Array circulant(const Array& c) {
  const Array column = at_least_vector(c);
  const int64_t n = column.shape().back();
  if (n == 0) return toeplitz(column, column);
  // The first row is the column in reverse order, rolled so that its first element stays first.
  return toeplitz(column, roll(flip(column, -1), 1, -1));
}

Array convolution_matrix(const Array& a, int64_t n, MatrixMode mode) {
  const char* name = "convolution_matrix";
  expect_order(name, n, 1);
  expect_vector_of(name, a, 1);
  const int64_t m = a.shape().back(), least = std::min(n, m) - 1, whole = m + n - 1;
  int64_t before = 0, behind = 0;
  switch (mode) {
    case MatrixMode::kFull:
      break;
    case MatrixMode::kSame:
      before = least / 2;
      behind = least - before;
      break;
    case MatrixMode::kValid:
      before = behind = least;
      break;
  }
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(a.ndim() - 1));
  widths.emplace_back(0, n - 1);
  const Array column = slice_in_dim(pad(a, widths), before, whole - behind, -1);
  const Array row = slice_in_dim(pad(flip(a, -1), widths), whole - n - before, whole - before, -1);
  return toeplitz(column, row);
}

namespace {

// Returns -a[1:] / a[0], for vectors along the last dimension.
Array monic(const Array& a) {
  const int64_t n = a.shape().back();
  return -slice_in_dim(a, 1, n, -1) / slice_in_dim(a, 0, 1, -1);
}
// Returns matrices [..., n, n] whose element (i, j) is element rule(i, j, columns) of x [...,
// columns].
template <class Rule>
Array arranged(const Array& values, int64_t n, const Rule& rule) {
  // Two further elements, 0 and 1, are for constant elements of the matrices.
  const int64_t count = values.shape().back();
  Shape one = values.shape();
  one.back() = 1;
  const Array all =
      concatenate({values, zeros(one, values.dtype()), ones(one, values.dtype())}, -1);
  std::vector<int32_t> places;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) places.push_back(static_cast<int32_t>(rule(i, j, count)));
  return take(all, from_host(std::span<const int32_t>(places), {n, n}), {.axis = all.ndim() - 1});
}

}  // namespace

Array companion(const Array& a) {
  const Array x = at_least_vector(a);
  expect_vector_of("companion", x, 2);
  return composite("scipy.linalg.companion", {}, {x}, [](const NoParams&, Args args) {
    const Array first = monic(in_floats(args[0]));
    return arranged(first, first.shape().back(), [](int64_t i, int64_t j, int64_t n) {
      return i == 0 ? j : i == j + 1 ? n + 1 : n;
    });
  });
}

Array fiedler_companion(const Array& a) {
  const Array x = at_least_vector(a);
  expect_vector_of("fiedler_companion", x, 1);
  return composite("scipy.linalg.fiedler_companion", {}, {x},
                   [](const NoParams&, Args args) -> Array {
                     const Array values = in_floats(args[0]);
                     const int64_t n = values.shape().back() - 1;
                     if (n == 0) {
                       Shape shape = values.shape();
                       shape.back() = 0;
                       shape.push_back(0);
                       return zeros(shape, values.dtype());
                     }
                     return arranged(monic(values), n, [n](int64_t i, int64_t j, int64_t count) {
                       const int64_t zero = count, one = count + 1;
                       if (i == 0 && j == 0) return int64_t{0};
                       if (i == 1 && j == 0) return one;
                       if (i % 2 == 0) {
                         if (j == i + 1) return std::min(i + 1, n - 1);
                         if (j == i + 2) return one;
                         if (j == i - 1) return std::min(i, n - 1);
                         return zero;
                       }
                       return j == i - 2 ? one : zero;
                     });
                   });
}

Array fiedler(const Array& a) {
  const Array x = at_least_vector(a);
  return abs(expand_dims(x, -1) - expand_dims(x, -2));
}

Array leslie(const Array& f, const Array& s) {
  const Array first = at_least_vector(f), below = at_least_vector(s);
  expect_vector_of("leslie", first, 2);
  if (below.shape().back() != first.shape().back() - 1 || first.ndim() != 1 || below.ndim() != 1)
    shape_error("leslie", "expected a vector f of n and s of n - 1 elements, got {} and {}",
                describe(f.type()), describe(s.type()));
  const std::vector<Array> same = promote_dtypes(std::vector<Array>{first, below});
  return at(diag(same[1], -1))[0].set(same[0]);
}

Array dft(int64_t n, DftScale scale) {
  expect_order("dft", n, 0);
  const double over = scale == DftScale::kNone    ? 1
                      : scale == DftScale::kSqrtN ? std::sqrt(static_cast<double>(n))
                                                  : static_cast<double>(n);
  const auto angle = [&](double i, double j) {
    return -2 * M_PI * std::fmod(i * j, static_cast<double>(n)) / static_cast<double>(n);
  };
  const Array re =
      tabulated(n, n, [&](double i, double j) { return std::cos(angle(i, j)) / over; });
  const Array im =
      tabulated(n, n, [&](double i, double j) { return std::sin(angle(i, j)) / over; });
  return lax::complex(re, im);
}

Array hadamard(int64_t n, OptionalDType dtype) {
  if (n < 1 || (n & (n - 1)) != 0) value_error("hadamard", "expected a power of 2, got {}", n);
  const Array signs = tabulated(n, n, [](double i, double j) {
    const auto common = static_cast<uint64_t>(i) & static_cast<uint64_t>(j);
    return std::popcount(common) % 2 == 0 ? 1.0 : -1.0;
  });
  return astype(signs, dtype.value_or(default_int()));
}

Array helmert(int64_t n, bool full) {
  expect_order("helmert", n, 1);
  const double size = static_cast<double>(n);
  return tabulated(full ? n : n - 1, n, [&](double row, double j) {
    if (full && row == 0) return 1 / std::sqrt(size);
    const double k = full ? row : row + 1, norm = std::sqrt(k * (k + 1));
    return j < k ? 1 / norm : j == k ? -k / norm : 0;
  });
}

Array hilbert(int64_t n) {
  expect_order("hilbert", n, 0);
  return tabulated(n, n, [](double i, double j) { return 1 / (i + j + 1); });
}

Array invhilbert(int64_t n) {
  expect_order("invhilbert", n, 0);
  const double size = static_cast<double>(n);
  return tabulated(n, n, [&](double i, double j) {
    const double s = i + j, b = binomial(s, i);
    const double sign = std::fmod(s, 2) == 0 ? 1 : -1;
    return sign * (s + 1) * binomial(size + i, size - j - 1) * binomial(size + j, size - i - 1) *
           b * b;
  });
}

// The result is float32 whatever the default dtype, as in JAX.
Array pascal(int64_t n, PascalKind kind) {
  expect_order("pascal", n, 0);
  const Array numbers = tabulated(n, n, [&](double i, double j) {
    switch (kind) {
      case PascalKind::kSymmetric:
        return binomial(i + j, i);
      case PascalKind::kLower:
        return binomial(i, j);
      case PascalKind::kUpper:
        return binomial(j, i);
    }
    __builtin_unreachable();
  });
  return astype(numbers, float32);
}

Array invpascal(int64_t n, PascalKind kind) {
  expect_order("invpascal", n, 0);
  const auto inverse = [](double i, double j) {  // of the lower one
    return (std::fmod(i + j, 2) == 0 ? 1 : -1) * binomial(i, j);
  };
  return tabulated(n, n, [&](double i, double j) {
    switch (kind) {
      case PascalKind::kLower:
        return inverse(i, j);
      case PascalKind::kUpper:
        return inverse(j, i);
      case PascalKind::kSymmetric:
        break;
    }
    double sum = 0;
    for (double k = 0; k < static_cast<double>(n); ++k) sum += inverse(k, i) * inverse(k, j);
    return sum;
  });
}

}  // namespace tessera::scipy::linalg
