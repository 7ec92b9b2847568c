#include "tessera/fusion/rewrites/simplify_slices.h"

#include <algorithm>

#include "tessera/base/shape.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion {
namespace {

// Returns the index of the last element that the slice reads in dimension d.
int64_t last_of(const SliceParams& p, int64_t d) {
  const int64_t count = ceil_div(p.limit[d] - p.start[d], p.strides[d]);
  return p.start[d] + (count - 1) * p.strides[d];
}

bool has_no_elements(const SliceParams& p) {
  for (int64_t d = 0; d < p.start.rank(); ++d)
    if (p.limit[d] <= p.start[d]) return true;
  return false;
}

// Returns the bounds of a slice of a slice. Example: the elements 2, 4, 6 and 8 of 3, 8, 13, ...
// (3:46:5) are 13, 23, 33 and 43, that is 13:44:10.
SliceParams both(const SliceParams& inner, const SliceParams& outer) {
  SliceParams out = outer;
  for (int64_t d = 0; d < outer.start.rank(); ++d) {
    out.start[d] = inner.start[d] + outer.start[d] * inner.strides[d];
    out.limit[d] = inner.start[d] + last_of(outer, d) * inner.strides[d] + 1;
    out.strides[d] = inner.strides[d] * outer.strides[d];
  }
  return out;
}

std::optional<Op> slice_of_operand(const Function& function, const Op& concatenation, Op slice) {
  const int64_t d = concatenation.params.as<ConcatenateParams>().dimension;
  auto params = slice.params.as<SliceParams>();
  const int64_t first = params.start[d], last = last_of(params, d);
  int64_t begin = 0;
  for (const ValueId v : concatenation.operands) {
    const int64_t end = begin + function.type(v).shape[d];
    if (begin <= first && last < end) {
      params.start[d] = first - begin;
      params.limit[d] = last + 1 - begin;
      slice.operands = {v};
      slice.params = std::move(params);
      return slice;
    }
    begin = end;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Op> slice_of_origin(const Function& function, const MakerOf& maker, const Op& slice) {
  const SliceParams* params = as_slice(slice);
  if (!params || has_no_elements(*params)) return std::nullopt;
  const Op* origin = maker(slice.operands[0]);
  if (!origin) return std::nullopt;
  if (const SliceParams* inner = as_slice(*origin)) {
    Op out = slice;
    out.operands = origin->operands;
    out.params = both(*inner, *params);
    return out;
  }
  if (origin->def == &concatenate_op) return slice_of_operand(function, *origin, slice);
  return std::nullopt;
}

void remove_empty_operands(const Function& function, Op& op) {
  if (op.def != &concatenate_op) return;
  const auto end = std::remove_if(op.operands.begin(), op.operands.end(),
                                  [&](ValueId v) { return function.type(v).elements() == 0; });
  op.operands.erase(end, op.operands.end());
}

}  // namespace tessera::fusion
