// Derivatives, transpose and batching of reduce.
#include <algorithm>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/ops/reductions/pointwise_body.h"
#include "tessera/ops/reductions/reduce_internal.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

using namespace array_math;

// Returns the dimensions that are not reduced.
Dims kept_dims(int64_t rank, const Dims& reduced) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) out.push_back(d);
  return out;
}

// Returns a result of the reduction, repeated along the reduced dimensions.
Array spread(const Array& result, const Shape& shape, const Dims& reduced) {
  return lax::broadcast_in_dim(result, shape, kept_dims(shape.rank(), reduced));
}

Array sum(const Array& x, const Dims& dims) { return lax::reduce_sum(x, dims); }

// Returns whether the initial value is known to be the identity.
bool starts_from_identity(ReduceKind kind, const Array& init) {
  const Literal* known = known_value(init);
  return known && *known == reduce_identity(kind, init.dtype());
}

Array plus(const Array& a, const Array& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

// Returns the mean of the tangents of all elements that equal the extremum, and of the initial
// value if it does.
Array extremum_tangent(std::span<const Array> x, std::span<const Array> t, const Array& result,
                       const ReduceParams& p) {
  // If there are no elements, the result is the initial value; the formula below would divide 0 by
  // 0.
  if (x[0].size() == 0)
    return t[1].defined() ? lax::broadcast_in_dim(t[1], result.shape(), {}) : Array();
  auto mask = [](const Array& a, const Array& b) {
    return lax::convert_element_type(lax::eq(a, b), a.dtype());
  };
  const Array is_it = mask(x[0], spread(result, x[0].shape(), p.dims));
  Array count = sum(is_it, p.dims), tangent;
  if (t[0].defined()) tangent = sum(t[0] * is_it, p.dims);
  if (!starts_from_identity(p.kind, x[1])) {
    const Array is_init = mask(lax::broadcast_in_dim(x[1], result.shape(), {}), result);
    count = count + is_init;
    if (t[1].defined())
      tangent = plus(tangent, lax::broadcast_in_dim(t[1], result.shape(), {}) * is_init);
  }
  return tangent.defined() ? tangent / count : tangent;
}

// Returns the tangent of prod x, by multiplying halves: (a b)' = a' b + a b'. It is linear in the
// tangents, and also right if elements are 0.
Array product_tangent(Array x, Array t, const Dims& dims) {
  Dims order = dims;
  for (int64_t d : kept_dims(x.ndim(), dims)) order.push_back(d);
  Shape shape{1};
  for (int64_t d : dims) shape[0] *= x.shape()[d];
  for (int64_t d : kept_dims(x.ndim(), dims)) shape.push_back(x.shape()[d]);
  x = lax::reshape(lax::transpose(x, order), shape);
  t = lax::reshape(lax::transpose(t, order), shape);
  if (shape[0] == 0) return sum(t, {0});
  auto part = [](const Array& a, int64_t from, int64_t to) {
    return lax::slice_in_dim(a, from, to);
  };
  while (x.shape()[0] > 1) {
    const int64_t n = x.shape()[0], half = n / 2;
    const Array a = part(x, 0, half), b = part(x, half, 2 * half);
    Array tangent = part(t, 0, half) * b + a * part(t, half, 2 * half);
    Array product = a * b;
    if (n % 2 != 0) {
      // If n is odd, one element is left, which is multiplied into the first pair.
      const Array c = part(x, n - 1, n), tc = part(t, n - 1, n);
      const Array first = part(product, 0, 1), tfirst = part(tangent, 0, 1);
      const Array with = tfirst * c + first * tc;
      if (half == 1) {
        x = first * c;
        t = with;
        continue;
      }
      const Array start(Literal(int32, {}));
      tangent = lax::dynamic_update_slice_in_dim(tangent, with, start);
      product = lax::dynamic_update_slice_in_dim(product, first * c, start);
    }
    x = product;
    t = tangent;
  }
  return sum(t, {0});
}

}  // namespace

JvpResult jvp_reduce(std::span<const Array> x, std::span<const Array> t, const ReduceParams& p) {
  JvpResult out{.primals = bind_op(reduce_op, p, x)};
  out.tangents.resize(out.primals.size());
  if (!is_inexact(x[0].dtype())) return out;
  const Array& result = out.primals[0];
  const size_t n = x.size() / 2;
  if ((p.kind == ReduceKind::kCustom || n == 2) && t[n].defined())
    type_error("reduce",
               "expected an initial value without a tangent; apply it after the reduction");
  if (!t[0].defined() && !t[n].defined()) return out;
  auto spread_init = [&](const Array& init) {
    return lax::broadcast_in_dim(init, result.shape(), {});
  };
  switch (p.kind) {
    case ReduceKind::kSum:
      if (t[0].defined()) out.tangents[0] = sum(t[0], p.dims);
      if (t[1].defined()) out.tangents[0] = plus(out.tangents[0], spread_init(t[1]));
      return out;
    case ReduceKind::kProduct:
      if (t[0].defined()) out.tangents[0] = product_tangent(x[0], t[0], p.dims) * spread_init(x[1]);
      if (t[1].defined())
        out.tangents[0] = plus(out.tangents[0], spread_init(t[1]) * lax::reduce_prod(x[0], p.dims));
      return out;
    case ReduceKind::kMin:
    case ReduceKind::kMax:
      out.tangents[0] = extremum_tangent(x, t, result, p);
      return out;
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax: {
      Array is_it = lax::eq(x[1], spread(out.primals[1], x[1].shape(), p.dims));
      // If the initial value wins, its index may equal that of an element.
      const std::vector<Type> types{x[0].type(), x[1].type()};
      const Literal* start = known_value(x[2]);
      if (!start || !(*start == reduce_identities(p.kind, types)[0]))
        is_it = lax::bitwise_and(is_it, lax::eq(x[0], spread(result, x[0].shape(), p.dims)));
      out.tangents[0] = sum(t[0] * lax::convert_element_type(is_it, x[0].dtype()), p.dims);
      return out;
    }
    case ReduceKind::kAnd:
    case ReduceKind::kOr:
      return out;
    case ReduceKind::kCustom:
      type_error("reduce",
                 "expected a sum, product, min or max to differentiate, got a fold with a body of "
                 "its own; write it "
                 "as a loop over slices");
  }
  TESSERA_CHECK(false, "reduce kind");
  __builtin_unreachable();
}

std::vector<Array> transpose_reduce(std::span<const Array> cts, std::span<const Array> x,
                                    const std::vector<bool>& linear, const ReduceParams& p) {
  TESSERA_CHECK(p.kind == ReduceKind::kSum, "the fold is not linear");
  std::vector<Array> out(2);
  if (!cts[0].defined()) return out;
  if (linear[0]) out[0] = spread(cts[0], x[0].shape(), p.dims);
  if (linear[1]) out[1] = sum(cts[0], iota_dims(cts[0].ndim()));
  return out;
}

BatchResult batch_reduce(std::span<const Array> x, std::span<const int> dims,
                         const ReduceParams& p) {
  const size_t n = x.size() / 2;
  int64_t size = -1;
  for (size_t k = 0; k < 2 * n; ++k)
    if (dims[k] >= 0) size = x[k].shape()[dims[k]];
  const bool mapped_inits = std::any_of(dims.begin() + n, dims.end(), [](int d) { return d >= 0; });
  std::vector<Array> operands;
  for (size_t k = 0; k < n; ++k) operands.push_back(lax::with_batch_first(x[k], dims[k], size));
  ReduceParams q = p;
  for (int64_t& d : q.dims) ++d;
  if (!mapped_inits) {
    operands.insert(operands.end(), x.begin() + n, x.end());
    return {bind_op(reduce_op, q, operands), std::vector<int>(n, 0)};
  }
  // If initial values are mapped, the elements are folded from the identity, then the initial
  // values are folded in.
  if (p.kind == ReduceKind::kCustom)
    type_error("reduce",
               "expected initial values that are not mapped for a fold with a body of its own; "
               "apply them after it");
  std::vector<Type> types;
  for (const Array& a : operands) types.push_back(a.type());
  for (const Literal& identity : reduce_identities(p.kind, types))
    operands.push_back(Array(identity));
  const std::vector<Array> folded = bind_op(reduce_op, q, operands);
  std::vector<Array> args;
  for (size_t k = 0; k < n; ++k)
    args.push_back(dims[n + k] >= 0 ? lax::broadcast_in_dim(x[n + k], folded[k].shape(), {0})
                                    : lax::broadcast_in_dim(x[n + k], folded[k].shape(), {}));
  args.insert(args.end(), folded.begin(), folded.end());
  const FunctionRef body = reduce_body(p.kind, x[0].dtype(), n == 2 ? x[1].dtype() : int32);
  return {apply_body(*body, args), std::vector<int>(n, 0)};
}

}  // namespace tessera::ops
