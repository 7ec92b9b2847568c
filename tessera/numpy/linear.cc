#include "tessera/numpy/linear.h"

#include <algorithm>

#include "tessera/compile/composite.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera {

using namespace ir;

namespace {

OptionalDType canonical(OptionalDType preferred) {
  return preferred ? OptionalDType(canonical_dtype(*preferred)) : std::nullopt;
}

void check_contraction(std::string_view op, const Array& x, int64_t dx, const Array& y,
                       int64_t dy) {
  if (x.shape()[dx] != y.shape()[dy])
    shape_error(op,
                "expected dimension {} of the first operand as long as dimension {} of the second, "
                "got {} and {}; transpose "
                "or reshape one of them",
                dx, dy, describe(x.type()), describe(y.type()));
}

// Returns x with all dimensions except the last `kept` broadcast to `leading`.
Array broadcast_leading(std::string_view op, const Array& x, const Shape& leading, int64_t kept) {
  Shape shape = leading;
  shape.insert(shape.end(), x.shape().end() - kept, x.shape().end());
  return broadcast_array(op, x, shape);
}

Shape leading_shape(const Array& x, int64_t kept) {
  return Shape(x.shape().begin(), x.shape().end() - kept);
}

Array matmul_body(const Array& x, const Array& y, OptionalDType preferred) {
  // Vectors are treated as matrices of one row or one column.
  const bool row = x.ndim() == 1, column = y.ndim() == 1;
  const int64_t kept_x = row ? 1 : 2, kept_y = column ? 1 : 2;
  const Shape batch_x = leading_shape(x, kept_x), batch_y = leading_shape(y, kept_y);
  // Without a batch on the right (a layer's weights), its matrix multiplies all rows of the left in
  // one large product.
  if (batch_y.empty())
    return lax::dot_general(x, y, {.lhs_contract = {x.ndim() - 1}, .rhs_contract = {0}}, preferred);
  if (batch_x.empty()) {  // likewise; the rows of x then come before the batch of y
    const Array out = lax::dot_general(
        x, y, {.lhs_contract = {x.ndim() - 1}, .rhs_contract = {batch_y.rank()}}, preferred);
    return row ? out : lax::move_dim(out, 0, batch_y.rank());
  }
  const Shape batch = broadcast_shapes("matmul", std::vector<Shape>{batch_x, batch_y});
  const Array right = broadcast_leading("matmul", y, batch, kept_y);
  const Array left = broadcast_leading("matmul", x, batch, kept_x);
  const Dims batch_dims = iota_dims(batch.rank());
  return lax::dot_general(left, right,
                          {.lhs_contract = {left.ndim() - 1},
                           .rhs_contract = {batch.rank()},
                           .lhs_batch = batch_dims,
                           .rhs_batch = batch_dims},
                          preferred);
}

}  // namespace

Array matmul(const Array& x, const Array& y, OptionalDType preferred) {
  if (x.ndim() == 0 || y.ndim() == 0)
    shape_error(
        "matmul",
        "expected at least 1 dimension in both operands, got {} and {}; * multiplies by a scalar",
        describe(x.type()), describe(y.type()));
  check_contraction("matmul", x, x.ndim() - 1, y, std::max<int64_t>(0, y.ndim() - 2));
  struct MatmulParams {
    OptionalDType preferred;
  };
  return composite("matmul", MatmulParams{canonical(preferred)}, {x, y},
                   [](const MatmulParams& p, std::span<const Array> a) {
                     const std::vector<Array> operands = promote_dtypes(a);
                     return matmul_body(operands[0], operands[1], p.preferred);
                   });
}

Array dot(const Array& x, const Array& y, OptionalDType preferred) {
  if (x.ndim() == 0 || y.ndim() == 0) {
    const Array out = multiply(x, y);
    return preferred ? astype(out, *preferred) : out;
  }
  const int64_t dx = x.ndim() - 1, dy = std::max<int64_t>(0, y.ndim() - 2);
  check_contraction("dot", x, dx, y, dy);
  struct DotParams {
    int64_t dx, dy;
    OptionalDType preferred;
  };
  return composite("dot", DotParams{dx, dy, canonical(preferred)}, {x, y},
                   [](const DotParams& p, std::span<const Array> a) {
                     const std::vector<Array> operands = promote_dtypes(a);
                     return lax::dot_general(operands[0], operands[1],
                                             {.lhs_contract = {p.dx}, .rhs_contract = {p.dy}},
                                             p.preferred);
                   });
}

Array vdot(const Array& x, const Array& y, OptionalDType preferred) {
  if (x.size() != y.size())
    shape_error("vdot", "expected arrays of one size, got {} and {}", describe(x.type()),
                describe(y.type()));
  return dot(ravel(conj(x)), ravel(y), preferred);
}

Array vecdot(const Array& x, const Array& y, int64_t axis) {
  for (const Array* a : {&x, &y})
    if (a->ndim() == 0)
      shape_error("vecdot", "expected at least 1 dimension in both operands, got {} and {}",
                  describe(x.type()), describe(y.type()));
  const Array left = moveaxis(x, axis, -1), right = moveaxis(y, axis, -1);
  check_contraction("vecdot", left, left.ndim() - 1, right, right.ndim() - 1);
  return composite(
      "vecdot", {}, {left, right}, [](const NoParams&, std::span<const Array> a) -> Array {
        const std::vector<Array> p = promote_and_broadcast("vecdot", a);
        const Dims batch = iota_dims(p[0].ndim() - 1);
        const int64_t last = p[0].ndim() - 1;
        return lax::dot_general(is_complex(p[0].dtype()) ? lax::conj(p[0]) : p[0], p[1],
                                {.lhs_contract = {last},
                                 .rhs_contract = {last},
                                 .lhs_batch = batch,
                                 .rhs_batch = batch});
      });
}

Array inner(const Array& x, const Array& y) {
  if (x.ndim() == 0 || y.ndim() == 0) return multiply(x, y);
  check_contraction("inner", x, x.ndim() - 1, y, y.ndim() - 1);
  return tensordot(x, y, {Dims{-1}, Dims{-1}});
}

Array outer(const Array& x, const Array& y) {
  return composite("outer", {}, {x, y}, [](const NoParams&, std::span<const Array> a) {
    return multiply(lax::reshape(a[0], {a[0].size(), 1}), lax::reshape(a[1], {1, a[1].size()}));
  });
}

Array tensordot(const Array& x, const Array& y, int64_t axes, OptionalDType preferred) {
  if (axes < 0 || axes > std::min(x.ndim(), y.ndim()))
    value_error(
        "tensordot",
        "expected a number of axes between 0 and that of either operand, got {} for {} and {}",
        axes, describe(x.type()), describe(y.type()));
  Dims left, right = iota_dims(axes);
  for (int64_t i = 0; i < axes; ++i) left.push_back(x.ndim() - axes + i);
  return tensordot(x, y, {left, right}, preferred);
}

Array tensordot(const Array& x, const Array& y, const std::pair<Dims, Dims>& axes,
                OptionalDType preferred) {
  const Dims left = Axes(axes.first).in_order("tensordot", x.ndim()),
             right = Axes(axes.second).in_order("tensordot", y.ndim());
  if (left.rank() != right.rank())
    value_error("tensordot", "expected as many axes of one operand as of the other, got {} and {}",
                axes.first, axes.second);
  for (int64_t i = 0; i < left.rank(); ++i) check_contraction("tensordot", x, left[i], y, right[i]);
  struct TensordotParams {
    Dims left, right;
    OptionalDType preferred;
  };
  return composite("tensordot", TensordotParams{left, right, canonical(preferred)}, {x, y},
                   [](const TensordotParams& p, std::span<const Array> a) {
                     const std::vector<Array> operands = promote_dtypes(a);
                     return lax::dot_general(operands[0], operands[1],
                                             {.lhs_contract = p.left, .rhs_contract = p.right},
                                             p.preferred);
                   });
}

Array kron(const Array& x, const Array& y) {
  return composite("kron", {}, {x, y}, [](const NoParams&, std::span<const Array> args) -> Array {
    std::vector<Array> p = promote_dtypes(args);
    const int64_t rank = std::max(p[0].ndim(), p[1].ndim());
    Shape left, right, out;  // (x0, 1, x1, 1, ...) times (1, y0, 1, y1, ...)
    for (int64_t d = 0; d < rank; ++d) {
      const auto extent = [&](const Array& a) {
        return d < rank - a.ndim() ? 1 : a.shape()[d - (rank - a.ndim())];
      };
      left.insert(left.end(), {extent(p[0]), 1});
      right.insert(right.end(), {1, extent(p[1])});
      out.push_back(extent(p[0]) * extent(p[1]));
    }
    p = promote_and_broadcast(
        "kron", std::vector<Array>{lax::reshape(p[0], left), lax::reshape(p[1], right)});
    return lax::reshape(lax::mul(p[0], p[1]), out);
  });
}

namespace {

struct DiagonalParams {
  int64_t offset = 0;
};

// Returns x[..., i, i + offset]. After cutting x to the rows and columns of the diagonal, its
// elements are (columns + 1) apart.
Array diagonal_of_last(const Array& x, int64_t offset) {
  const int64_t rank = x.ndim(), rows = x.shape()[rank - 2], columns = x.shape()[rank - 1];
  const int64_t row = std::max<int64_t>(0, -offset), column = std::max<int64_t>(0, offset);
  const int64_t n = std::max<int64_t>(0, std::min(rows - row, columns - column));
  Shape shape = leading_shape(x, 2);
  if (n == 0) {
    shape.push_back(0);
    return lax::full(shape, 0, x.dtype());
  }
  Array square = lax::slice_in_dim(lax::slice_in_dim(x, row, row + n, 1, rank - 2), column,
                                   column + n, 1, rank - 1);
  shape.push_back(n * n);
  return lax::slice_in_dim(lax::reshape(square, shape), 0, n * n, n + 1, rank - 2);
}

Array checked_diagonal_operand(const char* name, const Array& x, int64_t axis1, int64_t axis2) {
  if (x.ndim() < 2)
    shape_error(name, "expected at least 2 dimensions, got {}; diag makes a matrix of a vector",
                describe(x.type()));
  return moveaxis(x, {axis1, axis2}, {-2, -1});
}

// Returns x with zeros for the elements for which compare(column - row, k) is false.
Array triangle(const char* name, const Array& x, int64_t k,
               Array (*compare)(const Array&, const Array&)) {
  if (x.ndim() < 2)
    shape_error(name, "expected at least 2 dimensions, got {}; reshape it", describe(x.type()));
  struct TriangleParams {
    int64_t k;
    Array (*compare)(const Array&, const Array&);
  };
  return composite(
      name, TriangleParams{k, compare}, {x}, [](const TriangleParams& p, std::span<const Array> a) {
        const Shape& shape = a[0].shape();
        const Array row = lax::iota(int32, shape, shape.rank() - 2),
                    column = lax::iota(int32, shape, shape.rank() - 1);
        const Array keep =
            p.compare(lax::add(row, lax::full_like(row, static_cast<double>(p.k))), column);
        return lax::select(keep, a[0], lax::full_like(a[0], 0));
      });
}

}  // namespace

Array diagonal(const Array& x, const DiagonalOptions& o) {
  const Array moved = checked_diagonal_operand("diagonal", x, o.axis1, o.axis2);
  return composite("diagonal", DiagonalParams{o.offset}, {moved},
                   [](const DiagonalParams& p, std::span<const Array> a) {
                     return diagonal_of_last(a[0], p.offset);
                   });
}

Array trace(const Array& x, const TraceOptions& o) {
  checked_diagonal_operand("trace", x, o.axis1, o.axis2);
  return sum(diagonal(x, {.offset = o.offset, .axis1 = o.axis1, .axis2 = o.axis2}),
             {.axis = -1, .dtype = o.dtype});
}

Array diag(const Array& x, int64_t k) {
  if (x.ndim() == 2) return diagonal(x, {.offset = k});
  if (x.ndim() != 1)
    shape_error("diag", "expected a vector or a matrix, got {}; diagonal takes more dimensions",
                describe(x.type()));
  return composite(
      "diag", DiagonalParams{k}, {x}, [](const DiagonalParams& p, std::span<const Array> a) {
        const int64_t k = p.offset;
        const int64_t before = std::max<int64_t>(0, k), after = std::max<int64_t>(0, -k);
        // Column j of the matrix holds x[j - before] in row j - k.
        const Array line = lax::pad(a[0], lax::full({}, 0, a[0].dtype()), {before}, {after});
        const Shape shape{line.size(), line.size()};
        const Array row = lax::iota(int32, shape, 0), column = lax::iota(int32, shape, 1);
        const Array on =
            lax::eq(lax::add(row, lax::full_like(row, static_cast<double>(k))), column);
        const Array all = broadcast_array("diag", line, shape);
        return lax::select(on, all, lax::full_like(all, 0));
      });
}

Array tril(const Array& x, int64_t k) { return triangle("tril", x, k, lax::ge); }
Array triu(const Array& x, int64_t k) { return triangle("triu", x, k, lax::le); }

}  // namespace tessera
