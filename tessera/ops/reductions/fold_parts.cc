#include "tessera/ops/reductions/fold_parts.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/contains.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/reductions/fold_body.h"
#include "tessera/ops/reductions/ordered_fold.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

// So many results are computed side by side, if there are enough elements.
constexpr int64_t kSideBySide = 1024;

// Returns the number of parts of n elements that are folded into each of `results` results.
int64_t parts_of(int64_t n, int64_t results) {
  const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  return std::max<int64_t>(1, std::min(ceil_div(kSideBySide, results), root));
}

}  // namespace

std::vector<Array> folded_in_parts(const Function& body, const std::vector<Array>& x,
                                   const std::vector<Array>& inits, const Dims& dims) {
  const Shape& shape = x[0].shape();
  Dims order = dims;
  std::sort(order.begin(), order.end());
  int64_t n = 1;
  for (int64_t d : dims) n *= shape[d];
  Shape kept;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (contains(dims, d)) continue;
    order.push_back(d);
    kept.push_back(shape[d]);
  }
  const int64_t results = kept.elements(), parts = parts_of(n, results),
                length = ceil_div(n, parts);
  std::vector<Array> elements, neutral;
  for (const Array& array : x) {
    const Array zero(Literal(array.dtype(), Shape{}));
    const Array rows = lax::reshape(lax::transpose(array, order), {n, results});
    elements.push_back(lax::reshape(lax::pad(rows, zero, {0, 0}, {parts * length - n, 0}),
                                    {parts, length, results}));
    neutral.push_back(zero);
  }
  const Array no(Literal::scalar(false));
  const Array place =
      lax::reshape(lax::iota(int32, {parts * length, results}, 0), {parts, length, results});
  elements.push_back(lax::lt(
      place,
      lax::broadcast_in_dim(Array(Literal::scalar(static_cast<int32_t>(n))), place.shape(), {})));
  neutral.push_back(no);
  const std::vector<Array> folds = ordered_fold(elements, neutral, from_first_inside(body), {1});
  std::vector<Array> starts = inits;
  starts.push_back(no);
  std::vector<Array> out = ordered_fold(folds, starts, if_inside(body), {0});
  out.pop_back();
  for (Array& array : out) array = lax::reshape(array, kept);
  return out;
}

}  // namespace tessera::ops
