#include "tessera/fusion/kernels/index_expr.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/hash.h"
#include "tessera/ir/format.h"

namespace tessera::fusion {

IndexExpr IndexExpr::constant(int64_t offset, size_t dims) {
  IndexExpr out;
  out.offset = offset;
  out.coefficients.resize(dims, 0);
  return out;
}

void IndexExpr::add(const IndexExpr& other, int64_t times) {
  offset += times * other.offset;
  for (size_t d = 0; d < coefficients.size(); ++d) coefficients[d] += times * other.coefficients[d];
  for (const auto& [node, coefficient] : other.dynamic) {
    const auto term = std::ranges::find(dynamic, node, &std::pair<int, int64_t>::first);
    if (term != dynamic.end()) {
      term->second += times * coefficient;
    } else {
      dynamic.emplace_back(node, times * coefficient);
    }
  }
}

bool IndexExpr::is_constant() const {
  return dynamic.empty() && std::ranges::all_of(coefficients, [](int64_t c) { return c == 0; });
}

size_t hash_value(const Index& index) {
  size_t seed = hash_value(index.shape);
  for (const IndexExpr& expr : index.dims) {
    seed = hash_combine(seed, static_cast<size_t>(expr.offset));
    for (int64_t c : expr.coefficients) seed = hash_combine(seed, static_cast<size_t>(c));
    for (const auto& [node, c] : expr.dynamic)
      seed = hash_combine(seed, static_cast<size_t>(node) * 31 + static_cast<size_t>(c));
  }
  return seed;
}

namespace {

// Returns the linear index of dimensions [first, last) of `index`.
IndexExpr linear_part(const Index& index, size_t first, size_t last, size_t loop_dims) {
  IndexExpr out = IndexExpr::constant(0, loop_dims);
  int64_t stride = 1;
  for (size_t d = last; d-- > first;) {
    out.add(index.dims[d], stride);
    stride *= index.shape[d];
  }
  return out;
}

// value = quotient * divisor + remainder, with 0 <= remainder < divisor at every index.
struct Division {
  IndexExpr quotient, remainder;
};

std::optional<Division> divide(const IndexExpr& value, int64_t divisor, const Dims& extents,
                               DimSplit* split) {
  const size_t dims = value.coefficients.size();
  Division out{IndexExpr::constant(0, dims), IndexExpr::constant(0, dims)};
  const int64_t floor =
      value.offset >= 0 ? value.offset / divisor : -ceil_div(-value.offset, divisor);
  out.quotient.offset = floor;
  out.remainder.offset = value.offset - floor * divisor;
  int64_t low = out.remainder.offset, high = low;
  for (size_t d = 0; d < dims; ++d) {
    const int64_t c = value.coefficients[d];
    if (c % divisor == 0) {
      out.quotient.coefficients[d] = c / divisor;
      continue;
    }
    out.remainder.coefficients[d] = c;
    (c > 0 ? high : low) += c * (extents[d] - 1);
  }
  for (const auto& [node, c] : value.dynamic) {
    if (c % divisor != 0) return std::nullopt;
    out.quotient.dynamic.emplace_back(node, c / divisor);
  }
  if (low >= 0 && high < divisor) return out;
  for (size_t d = 0; d < dims; ++d) {
    const int64_t c = out.remainder.coefficients[d];
    if (c <= 0 || divisor % c != 0) continue;
    const int64_t minor = divisor / c;
    if (minor < extents[d] && extents[d] % minor == 0) {
      *split = {static_cast<int>(d), minor};
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

IndexExpr linear_index(const Index& index, size_t loop_dims) {
  return linear_part(index, 0, index.dims.size(), loop_dims);
}

std::optional<Index> reshape_index(const Index& index, const Shape& shape, const Dims& extents,
                                   DimSplit* split) {
  *split = {-1, 0};
  if (index.shape == shape) return index;
  const size_t loop_dims = extents.size();
  Index out{shape, IndexExprs(shape.size(), IndexExpr::constant(0, loop_dims))};
  if (shape.elements() == 0) return out;
  // Groups of dimensions with the same number of elements in both shapes are independent of each
  // other.
  size_t from = 0, to = 0;
  while (from < index.shape.size() || to < shape.size()) {
    const size_t from_start = from, to_start = to;
    int64_t have = 1, want = 1;
    do {
      if (have <= want && from < index.shape.size()) {
        have *= index.shape[from++];
      } else {
        TESSERA_CHECK(to < shape.size(), "a view of {} as {}", index.shape, shape);
        want *= shape[to++];
      }
    } while (have != want || (from == from_start && from < index.shape.size()) ||
             (to == to_start && to < shape.size()));
    if (from - from_start == 1 && to - to_start == 1) {
      out.dims[to_start] = index.dims[from_start];
      continue;
    }
    IndexExpr rest = linear_part(index, from_start, from, loop_dims);
    int64_t stride = have;
    for (size_t d = to; d-- > to_start;) {
      if (shape[d] == 1) continue;
      stride /= shape[d];
      if (stride == 1) {
        out.dims[d] = rest;
        break;
      }
      std::optional<Division> division = divide(rest, shape[d], extents, split);
      if (!division) return std::nullopt;
      out.dims[d] = division->remainder;
      rest = division->quotient;
    }
  }
  return out;
}

}  // namespace tessera::fusion
