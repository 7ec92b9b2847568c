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

using Arrays = std::vector<Array>;

template <class F>
Arrays of_each(const Arrays& x, const F& f) {
  Arrays out;
  for (const Array& array : x) out.push_back(f(array));
  return out;
}

class PrefixUnroller {
 public:
  // If `reversed`, elements come from the last one on, and the body gets its arguments in the other
  // order.
  PrefixUnroller(const Function& body, int64_t d, bool reversed)
      : body_(body), d_(d), reversed_(reversed) {}

  // Returns the prefix folds of x. They begin with `init`, arrays of extent 1 along the dimension;
  // if it is empty, with the first element.
  Arrays run(const Arrays& x, const Arrays& init) const {
    const int64_t n = x[0].shape()[d_];
    if (n <= kBlock) return after(init, inside(x));
    const int64_t blocks = ceil_div(n, kBlock);
    Dims low(x[0].shape().size(), 0), high = low;
    high[d_] = blocks * kBlock - n;  // after the last element, where no prefix reads it
    Shape shape = x[0].shape();
    shape[d_] = blocks;
    shape.insert(shape.begin() + d_ + 1, kBlock);
    const Arrays divided = of_each(x, [&](const Array& array) {
      const Array zero(Literal(array.dtype(), {}));
      return lax::reshape(high[d_] > 0 ? lax::pad(array, zero, low, high) : array, shape);
    });
    // The blocks are along dimension d, and the elements of each block along d + 1.
    const PrefixUnroller within(body_, d_ + 1, reversed_);
    const Arrays folds = within.inside(divided);
    const Arrays wholes = of_each(folds, [&](const Array& fold) {
      return lax::squeeze(lax::slice_in_dim(fold, kBlock - 1, kBlock, 1, d_ + 1), {d_ + 1});
    });
    const Arrays before = of_each(run(wholes, init), [&](const Array& fold) {
      return lax::expand_dims(lax::slice_in_dim(fold, 0, blocks - 1, 1, d_), {d_ + 1});
    });
    const auto blocks_of = [&](int64_t begin, int64_t end) {
      return of_each(folds,
                     [&](const Array& fold) { return lax::slice_in_dim(fold, begin, end, 1, d_); });
    };
    const Arrays rest = within.after(before, blocks_of(1, blocks)),
                 first = after_first(init, blocks_of(0, 1));
    Shape merged = x[0].shape();
    merged[d_] = blocks * kBlock;
    Arrays out;
    for (size_t k = 0; k < x.size(); ++k) {
      const Array all = lax::concatenate(std::vector<Array>{first[k], rest[k]}, d_);
      out.push_back(lax::slice_in_dim(lax::reshape(all, merged), 0, n, 1, d_));
    }
    return out;
  }

 private:
  Arrays fold(const Arrays& a, const Arrays& b) const {
    Arrays args = reversed_ ? b : a;
    const Arrays& second = reversed_ ? a : b;
    args.insert(args.end(), second.begin(), second.end());
    return apply_body(body_, args);
  }

  // Returns the prefix folds of few elements, one after the other.
  Arrays inside(const Arrays& x) const {
    std::vector<Arrays> folds;
    for (int64_t k = 0; k < x[0].shape()[d_]; ++k) {
      const Arrays element =
          of_each(x, [&](const Array& array) { return lax::slice_in_dim(array, k, k + 1, 1, d_); });
      folds.push_back(folds.empty() ? element : fold(folds.back(), element));
    }
    if (folds.size() == 1) return folds[0];
    Arrays out;
    for (size_t r = 0; r < x.size(); ++r) {
      Arrays parts;
      for (const Arrays& prefix : folds) parts.push_back(prefix[r]);
      out.push_back(lax::concatenate(parts, d_));
    }
    return out;
  }

  // Returns `before`, of extent 1 along the dimension, folded with each element of x; x if it is
  // empty.
  Arrays after(const Arrays& before, const Arrays& x) const {
    if (before.empty()) return x;
    return fold(of_each(before,
                        [&](const Array& array) {
                          return lax::broadcast_in_dim(array, x[0].shape(), iota_dims(x[0].ndim()));
                        }),
                x);
  }
  Arrays after_first(const Arrays& init, const Arrays& blocks) const {
    if (init.empty()) return blocks;
    return after(
        of_each(init, [&](const Array& array) { return lax::expand_dims(array, {d_ + 1}); }),
        blocks);
  }

  const Function& body_;
  int64_t d_;
  bool reversed_;
};

}  // namespace

std::vector<Array> unrolled_prefixes(const FunctionRef& body, const std::vector<Array>& x,
                                     const std::vector<Array>& inits, int64_t d, bool reverse) {
  const PrefixUnroller unroller(*body, d, reverse);
  const auto filled = [&](const Shape& shape) {
    return of_each(inits,
                   [&](const Array& init) { return lax::broadcast_in_dim(init, shape, {}); });
  };
  if (!reverse) {
    Shape one = x[0].shape();
    one[d] = 1;
    return unroller.run(x, filled(one));
  }
  const auto turned = [&](const Array& array) { return lax::rev(array, Dims{d}); };
  const Arrays folds = of_each(unroller.run(of_each(x, turned), {}), turned);
  Arrays args = filled(x[0].shape());
  args.insert(args.end(), folds.begin(), folds.end());
  return apply_body(*body, args);
}

}  // namespace tessera::ops
