#include "tessera/ops/reductions/associative_scan.h"

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::lax {

using namespace ops;

namespace {

using Arrays = std::vector<Array>;

Arrays every_other(const Arrays& x, int64_t axis, int64_t start, int64_t limit, int64_t stride) {
  Arrays out;
  for (const Array& a : x) out.push_back(slice_in_dim(a, start, limit, stride, axis));
  return out;
}

// Returns first, odd[0], even[0], odd[1], even[1], ... along the axis.
Array interleave(const Array& first, const Array& even, const Array& odd, int64_t axis, int64_t n) {
  const Array nothing = full({}, 0, odd.dtype(), odd.weak_type());
  auto spread = [&](const Array& a, int64_t start) {
    Dims low(a.shape().size(), 0), high = low, interior = low;
    low[axis] = start;
    interior[axis] = 1;
    high[axis] = a.shape()[axis] == 0 ? n - start : n - start - (2 * a.shape()[axis] - 1);
    return pad(a, nothing, low, high, interior);
  };
  const Array at = iota(int32, spread(odd, 1).shape(), axis);
  Array out = select(eq(bitwise_and(at, full_like(at, 1)), full_like(at, 0)), spread(even, 2),
                     spread(odd, 1));
  return select(eq(at, full_like(at, 0)), spread(first, 0), out);
}

Arrays scan(const FoldArrays& fold, const Arrays& x, int64_t axis) {
  const int64_t n = x[0].shape()[axis];
  if (n < 2) return x;
  const Arrays pairs = fold(every_other(x, axis, 0, n - 1, 2), every_other(x, axis, 1, n, 2));
  const Arrays odd = scan(fold, pairs, axis);
  // The folds at positions 2, 4, ...; the fold at position 0 is x's first element.
  const int64_t evens = ceil_div(n, 2) - 1;
  const Arrays even =
      evens == 0 ? every_other(x, axis, 0, 0, 1)
                 : fold(every_other(odd, axis, 0, evens, 1), every_other(x, axis, 2, n, 2));
  Arrays out;
  for (size_t k = 0; k < x.size(); ++k)
    out.push_back(interleave(slice_in_dim(x[k], 0, 1, 1, axis), even[k], odd[k], axis, n));
  return out;
}

}  // namespace

std::vector<Array> associative_scan(const FoldArrays& fold, std::vector<Array> x, int64_t axis,
                                    bool reverse) {
  const Dims along{axis};
  if (reverse)
    for (Array& a : x) a = rev(a, along);
  x = scan(fold, x, axis);
  if (reverse)
    for (Array& a : x) a = rev(a, along);
  return x;
}

}  // namespace tessera::lax
