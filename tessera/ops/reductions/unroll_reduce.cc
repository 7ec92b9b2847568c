#include "tessera/ops/reductions/unroll_reduce.h"

#include <algorithm>
#include <limits>

#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/fold_body.h"
#include "tessera/ops/reductions/fold_parts.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

constexpr int64_t kMostElements = 4;

using Fold = Array (*)(const Array& a, const Array& b);

Fold fold_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return lax::add;
    case ReduceKind::kProduct:
      return lax::mul;
    case ReduceKind::kMin:
      return lax::min;
    case ReduceKind::kMax:
      return lax::max;
    case ReduceKind::kAnd:
      return lax::bitwise_and;
    case ReduceKind::kOr:
      return lax::bitwise_or;
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
    case ReduceKind::kCustom:
      break;
  }
  return nullptr;
}

// Returns the number of elements up to which a fold is unrolled. A longer sum of floating-point
// numbers has an order of its own, and one of half the width is rounded once, at its end.
int64_t most_elements(ReduceKind kind, DType dtype) {
  const bool logical = kind == ReduceKind::kAnd || kind == ReduceKind::kOr;
  const bool arithmetic = kind == ReduceKind::kSum || kind == ReduceKind::kProduct;
  if (is_integer(dtype) || (dtype == bool_ && logical)) return kMostElements;
  return arithmetic && is_inexact(dtype) && itemsize(real_dtype(dtype)) >= 4 ? 1 : 0;
}

}  // namespace

FlatFn unrolled_reduce(const OpParams& params, std::span<const Type> operands, const Type& result) {
  const auto& p = params.as<ReduceParams>();
  if (p.kind == ReduceKind::kCustom && operands[0].elements() > 0 &&
      operands[0].elements() <= std::numeric_limits<int32_t>::max() &&
      !is_narrow(operands[0].dtype) && !is_commutative(*p.body))
    return [p](const std::vector<Array>& x) {
      const auto middle = x.begin() + static_cast<ptrdiff_t>(x.size() / 2);
      return folded_in_parts(*p.body, {x.begin(), middle}, {middle, x.end()}, p.dims);
    };
  if (operands.size() != 2) return nullptr;  // a fold of several arrays at once
  const Type& x = operands[0];
  const Fold fold = fold_of(p.kind);
  int64_t elements = 1;
  for (int64_t d : p.dims) elements *= x.shape[d];
  if (!fold || elements < 1 || elements > most_elements(p.kind, x.dtype) || x.elements() == 0)
    return nullptr;
  return [dims = p.dims, fold, elements, shape = x.shape,
          small = result.shape](const std::vector<Array>& args) {
    Array out = lax::broadcast_in_dim(args[1], small, {});
    for (int64_t i = 0; i < elements; ++i) {
      Dims starts(shape.rank(), 0), limits(shape.begin(), shape.end());
      int64_t rest = i;
      for (size_t k = dims.size(); k-- > 0;) {
        starts[dims[k]] = rest % shape[dims[k]];
        limits[dims[k]] = starts[dims[k]] + 1;
        rest /= shape[dims[k]];
      }
      out = fold(out, lax::reshape(lax::slice(args[0], starts, limits), small));
    }
    return std::vector<Array>{out};
  };
}

}  // namespace tessera::ops
