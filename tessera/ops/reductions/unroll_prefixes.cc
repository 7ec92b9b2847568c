#include "tessera/ops/reductions/unroll_prefixes.h"

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/pointwise_body.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

constexpr int64_t kBlock = 16;

class PrefixUnroller {
 public:
  // If `reversed`, elements come from the last one on, and the body gets its two arguments in the
  // other order.
  PrefixUnroller(const Function& body, int64_t d, bool reversed)
      : body_(body), d_(d), reversed_(reversed) {}

  // Returns the prefix folds of x. They begin with `init`, an array of extent 1 along the
  // dimension; if it is undefined, with the first element.
  Array run(const Array& x, const Array& init) const {
    const int64_t n = x.shape()[d_];
    if (n <= kBlock) return after(init, inside(x));
    const int64_t blocks = ceil_div(n, kBlock);
    Dims low(x.shape().size(), 0), high = low;
    high[d_] = blocks * kBlock - n;  // after the last element, where no prefix reads it
    Shape shape = x.shape();
    shape[d_] = blocks;
    shape.insert(shape.begin() + d_ + 1, kBlock);
    const Array zero(Literal(x.dtype(), {}));
    const Array padded = high[d_] > 0 ? lax::pad(x, zero, low, high) : x;
    // The blocks are along dimension d, and the elements of each block along d + 1.
    const PrefixUnroller within(body_, d_ + 1, reversed_);
    const Array folds = within.inside(lax::reshape(padded, shape));
    const Array wholes =
        lax::squeeze(lax::slice_in_dim(folds, kBlock - 1, kBlock, 1, d_ + 1), {d_ + 1});
    const Array earlier = lax::slice_in_dim(run(wholes, init), 0, blocks - 1, 1, d_);
    const Array before = lax::expand_dims(earlier, {d_ + 1});
    const Array rest = within.after(before, lax::slice_in_dim(folds, 1, blocks, 1, d_));
    const Array first = after_first(init, lax::slice_in_dim(folds, 0, 1, 1, d_));
    Shape merged = x.shape();
    merged[d_] = blocks * kBlock;
    const Array all = lax::reshape(lax::concatenate(std::vector<Array>{first, rest}, d_), merged);
    return lax::slice_in_dim(all, 0, n, 1, d_);
  }

 private:
  Array fold(const Array& a, const Array& b) const {
    return apply_body(body_, reversed_ ? std::vector<Array>{b, a} : std::vector<Array>{a, b})[0];
  }

  // Returns the prefix folds of few elements, one after the other.
  Array inside(const Array& x) const {
    std::vector<Array> folds;
    for (int64_t k = 0; k < x.shape()[d_]; ++k) {
      const Array element = lax::slice_in_dim(x, k, k + 1, 1, d_);
      folds.push_back(folds.empty() ? element : fold(folds.back(), element));
    }
    return folds.size() == 1 ? folds[0] : lax::concatenate(folds, d_);
  }

  // Returns `before`, of extent 1 along the dimension, folded with each element of x; x if it is
  // undefined.
  Array after(const Array& before, const Array& x) const {
    if (!before.defined()) return x;
    return fold(lax::broadcast_in_dim(before, x.shape(), iota_dims(x.ndim())), x);
  }
  Array after_first(const Array& init, const Array& blocks) const {
    if (!init.defined()) return blocks;
    return after(lax::expand_dims(init, {d_ + 1}), blocks);
  }

  const Function& body_;
  int64_t d_;
  bool reversed_;
};

}  // namespace

Array unrolled_prefixes(const FunctionRef& body, const Array& x, const Array& init, int64_t d,
                        bool reverse) {
  const PrefixUnroller unroller(*body, d, reverse);
  if (!reverse) {
    Shape one = x.shape();
    one[d] = 1;
    return unroller.run(x, lax::broadcast_in_dim(init, one, {}));
  }
  const Dims along{d};
  const Array folds = lax::rev(unroller.run(lax::rev(x, along), Array()), along);
  const Array start = lax::broadcast_in_dim(init, x.shape(), {});
  return apply_body(*body, std::vector<Array>{start, folds})[0];
}

}  // namespace tessera::ops
