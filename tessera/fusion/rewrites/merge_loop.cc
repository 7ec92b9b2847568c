#include "tessera/fusion/rewrites/merge_loop.h"

#include <algorithm>
#include <limits>

#include "tessera/control/make_control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/pointwise_body.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion {

using namespace ops;
using namespace control;

namespace {

using Arrays = std::vector<Array>;

constexpr int64_t kChunk = 7;
// Arrays of fewer bytes are computed whole instead of being updated (fusion/updates.cc).
constexpr int64_t kLeastBytes = 257;

// The loops that sort lines of n elements. Arrays of a line have more elements than the line: the
// first of these may be written when the second half has no more elements, and the others make an
// array of few bytes large enough to be updated in memory.
class MergeLoop {
 public:
  MergeLoop(const Function& before, int64_t n, size_t arrays)
      : before_(before),
        arrays_(arrays),
        n_(n),
        half_(ceil_div(n, 2)),
        dtype_(2 * n <= std::numeric_limits<int32_t>::max() ? int32 : int64) {}

  Arrays run(const Arrays& line) const {
    Arrays x;
    for (const Array& array : line) x.push_back(widened(array));
    x = with_sorted_chunks(x);
    if (half_ > kChunk) x = with_sorted_halves(x);
    x = n_ % 2 == 0 ? merged_forwards(x) : merged_backwards(x);
    for (Array& array : x) array = lax::slice_in_dim(array, 0, n_, 1, 0);
    return x;
  }

 private:
  Array number(int64_t value) const {
    return Array(convert_literal(Literal::scalar(value), dtype_));
  }
  Array plus(const Array& x, int64_t value) const { return lax::add(x, number(value)); }

  Array widened(const Array& x) const {
    const int64_t least = ceil_div(kLeastBytes, itemsize(x.dtype()));
    return lax::pad(x, Array(Literal(x.dtype(), Shape{})), Dims{0},
                    Dims{std::max(least, n_ + 1) - n_});
  }

  Arrays load(const Arrays& x, const Array& at) const {
    Arrays out;
    for (const Array& array : x)
      out.push_back(lax::reshape(lax::dynamic_slice(array, std::span(&at, 1), Shape{1}), Shape{}));
    return out;
  }
  Arrays store(const Arrays& x, const Arrays& element, const Array& at) const {
    Arrays out;
    for (size_t k = 0; k < x.size(); ++k)
      out.push_back(
          lax::dynamic_update_slice(x[k], lax::reshape(element[k], Shape{1}), std::span(&at, 1)));
    return out;
  }
  Arrays chosen(const Array& first, const Arrays& a, const Arrays& b) const {
    Arrays out;
    for (size_t k = 0; k < a.size(); ++k) out.push_back(lax::select(first, a[k], b[k]));
    return out;
  }
  Array is_before(const Arrays& a, const Arrays& b) const {
    Arrays args;
    for (size_t k = 0; k < a.size(); ++k) {
      args.push_back(a[k]);
      args.push_back(b[k]);
    }
    return apply_body(before_, args)[0];
  }

  // Returns the carry after `trips` trips, which count from 0.
  Arrays counted(Arrays carry, const Array& trips,
                 const std::function<Arrays(const Array& i, const Arrays&)>& body) const {
    carry.push_back(number(0));
    Arrays out = make_while(
        carry, [&](const Arrays& c) { return Arrays{lax::lt(c.back(), trips)}; },
        [&](const Arrays& c) {
          Arrays next = body(c.back(), Arrays(c.begin(), c.end() - 1));
          next.push_back(plus(c.back(), 1));
          return next;
        });
    out.pop_back();
    return out;
  }

  Arrays with_sorted_chunks(const Arrays& x) const {
    return counted(x, number(n_), [&](const Array& i, const Arrays& line) {
      const Array in_second = lax::ge(i, number(half_));
      const Array begin = lax::select(in_second, number(half_), number(0));
      const Array place = lax::sub(i, begin);
      return with_inserted(line, i, lax::sub(i, lax::rem(place, number(kChunk))));
    });
  }

  // Inserts element i into the sorted elements before it, which begin at `first`. One that is
  // before the first goes there without being compared with the others.
  Arrays with_inserted(const Arrays& line, const Array& i, const Array& first) const {
    const Arrays element = load(line, i);
    const Array foremost = is_before(element, load(line, first));
    Arrays carry = line;
    carry.push_back(i);
    carry = make_while(
        carry,
        [&](const Arrays& c) {
          const Array& at = c.back();
          const Arrays array(c.begin(), c.end() - 1);
          const Array passes = is_before(element, load(array, plus(at, -1)));
          return Arrays{lax::bitwise_and(lax::gt(at, first), lax::bitwise_or(foremost, passes))};
        },
        [&](const Arrays& c) {
          const Array& at = c.back();
          const Arrays array(c.begin(), c.end() - 1);
          const Array previous = plus(at, -1);
          Arrays next = store(array, load(array, previous), at);
          next.push_back(previous);
          return next;
        });
    const Array at = carry.back();
    carry.pop_back();
    return store(carry, element, at);
  }

  // Merges parts of `length` elements, from x to y and back, until each half is one part.
  Arrays with_sorted_halves(const Arrays& x) const {
    Arrays carry = x;
    for (const Array& array : x)
      carry.push_back(
          lax::broadcast_in_dim(Array(Literal(array.dtype(), Shape{})), array.shape(), {}));
    carry.push_back(number(kChunk));
    Arrays out = make_while(
        carry, [&](const Arrays& c) { return Arrays{lax::lt(c.back(), number(half_))}; },
        [&](const Arrays& c) {
          const auto middle = c.begin() + static_cast<ptrdiff_t>(arrays_);
          const Arrays from(c.begin(), middle), to(middle, c.end() - 1);
          const Array twice = lax::add(c.back(), c.back());
          const Arrays once = with_merged_parts(from, to, c.back());
          Arrays next = with_merged_parts(once, from, twice);
          next.insert(next.end(), once.begin(), once.end());
          next.push_back(lax::add(twice, twice));
          return next;
        });
    out.resize(arrays_);
    return out;
  }

  // Writes x to y, with pairs of neighbouring parts merged. Trip o writes element o of both halves.
  // The carry: y, the start of the pair, and for each half the next elements of its two parts.
  Arrays with_merged_parts(const Arrays& x, const Arrays& y, const Array& length) const {
    const Array pair = lax::add(length, length);
    Arrays carry = y;
    carry.push_back(lax::neg(pair));
    for (int k = 0; k < 4; ++k) carry.push_back(number(0));
    Arrays out = counted(carry, number(half_), [&](const Array& o, const Arrays& c) {
      Arrays to(c.begin(), c.begin() + static_cast<ptrdiff_t>(arrays_));
      const Array begins = lax::eq(lax::sub(o, c[arrays_]), pair);
      const Array begin = lax::select(begins, o, c[arrays_]);
      Arrays next{begin};
      for (int side = 0; side < 2; ++side) {
        const int64_t start = side * half_, size = side == 0 ? half_ : n_ - half_;
        const Array middle = lax::min(lax::add(begin, length), number(size)),
                    end = lax::min(lax::add(begin, pair), number(size));
        const size_t at = arrays_ + 1 + 2 * static_cast<size_t>(side);
        const Array i = lax::select(begins, begin, c[at]),
                    j = lax::select(begins, middle, c[at + 1]);
        const auto [element, second] = smaller(load(x, plus(i, start)), load(x, plus(j, start)),
                                               lax::lt(i, middle), lax::lt(j, end));
        to = store(to, element, plus(o, start));
        const Array step = lax::convert_element_type(second, dtype_);
        next.push_back(lax::sub(plus(i, 1), step));
        next.push_back(lax::add(j, step));
      }
      to.insert(to.end(), next.begin(), next.end());
      return to;
    });
    out.resize(arrays_);
    return out;
  }

  // Returns the next element of two parts, whose next ones are a and b if they have any left, and
  // whether it is b.
  std::pair<Arrays, Array> smaller(const Arrays& a, const Arrays& b, const Array& a_left,
                                   const Array& b_left) const {
    const Array second =
        lax::bitwise_and(b_left, lax::bitwise_or(lax::bitwise_not(a_left), is_before(b, a)));
    return {chosen(second, b, a), second};
  }

  Arrays merged_forwards(const Arrays& x) const {
    Arrays carry = x;
    carry.push_back(number(0));
    carry.push_back(number(half_));
    Arrays out = counted(carry, number(n_), [&](const Array& o, const Arrays& c) {
      const Array &i = c[arrays_], &j = c[arrays_ + 1];
      const auto [element, second] =
          smaller(load(x, i), load(x, j), lax::lt(i, number(half_)), lax::lt(j, number(n_)));
      Arrays next =
          store(Arrays(c.begin(), c.begin() + static_cast<ptrdiff_t>(arrays_)), element, o);
      const Array step = lax::convert_element_type(second, dtype_);
      next.push_back(lax::sub(plus(i, 1), step));
      next.push_back(lax::add(j, step));
      return next;
    });
    out.resize(arrays_);
    return out;
  }

  // Takes the last elements first. Of the first half, an element is taken if the other half's is
  // before it.
  Arrays merged_backwards(const Arrays& x) const {
    Arrays carry = x;
    carry.push_back(number(half_ - 1));
    carry.push_back(number(n_ - 1));
    Arrays out = counted(carry, number(n_), [&](const Array& o, const Arrays& c) {
      const Array &i = c[arrays_], &j = c[arrays_ + 1];
      const Arrays a = load(x, i), b = load(x, j);
      const Array first = lax::bitwise_and(
          lax::ge(i, number(0)), lax::bitwise_or(lax::lt(j, number(half_)), is_before(b, a)));
      Arrays next = store(Arrays(c.begin(), c.begin() + static_cast<ptrdiff_t>(arrays_)),
                          chosen(first, a, b), lax::sub(number(n_ - 1), o));
      const Array step = lax::convert_element_type(first, dtype_);
      next.push_back(lax::sub(i, step));
      next.push_back(lax::add(plus(j, -1), step));
      return next;
    });
    out.resize(arrays_);
    return out;
  }

  const Function& before_;
  size_t arrays_;
  int64_t n_, half_;
  DType dtype_;  // of positions
};

}  // namespace

std::vector<Array> sorted_by_merging(const Function& comparator, const std::vector<Array>& arrays,
                                     int64_t dimension) {
  const Shape shape = arrays[0].shape();
  const int64_t n = shape[dimension];
  if (n <= 1 || shape.elements() == 0) return arrays;
  const int64_t lines = shape.elements() / n;
  Dims order = iota_dims(shape.rank());
  order.erase(order.begin() + dimension);
  order.push_back(dimension);
  Shape moved;
  for (int64_t d : order) moved.push_back(shape[d]);
  const MergeLoop loop(comparator, n, arrays.size());
  Arrays out;
  for (const Array& array : arrays) {
    const Array last = dimension + 1 == shape.rank() ? array : lax::transpose(array, order);
    out.push_back(lax::reshape(last, lines == 1 ? Shape{n} : Shape{lines, n}));
  }
  out = lines == 1 ? loop.run(out)
                   : make_scan({.consts = {}, .carry = {}, .xs = out, .length = lines},
                               [&](const Arrays& line) { return loop.run(line); });
  Dims back = iota_dims(shape.rank() - 1);
  back.insert(back.begin() + dimension, shape.rank() - 1);
  for (Array& array : out) {
    array = lax::reshape(array, moved);
    if (dimension + 1 != shape.rank()) array = lax::transpose(array, back);
  }
  return out;
}

}  // namespace tessera::fusion
