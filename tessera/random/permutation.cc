// permutation: sorting by random keys, several rounds of it, as in JAX; the sort is a network of
// compare-and-exchange steps made of elementwise ops.
#include <bit>
#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/concatenate.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reshape.h"
#include "tessera/ops/slice.h"
#include "tessera/random/random.h"
#include "tessera/random/threefry.h"

namespace tessera::random {

namespace {

// Elements with their places in the order; all arrays [n, m], sorted along the first dimension.
struct Sorting {
  Array order;  // uint64, distinct along the dimension
  Array values;
};

// The halves of dimension 1 of [blocks, 2, half, m].
std::pair<Array, Array> halves(const Array& x, int64_t blocks, int64_t half, int64_t m) {
  const Array cut = lax::reshape(x, {blocks, 2, half, m});
  return {lax::slice_in_dim(cut, 0, 1, 1, 1), lax::slice_in_dim(cut, 1, 2, 1, 1)};
}

// Compares element i of each block's first half with element i of its second (with mirror: the last
// but i) and exchanges them where they are out of order.
Sorting compare_exchange(const Sorting& s, int64_t half, bool mirror) {
  const int64_t n = s.order.shape()[0], m = s.order.shape()[1], blocks = n / (2 * half);
  const auto split = [&](const Array& x) {
    auto [a, b] = halves(x, blocks, half, m);
    return std::pair(a, mirror ? lax::rev(b, {2}) : b);
  };
  const auto [order_a, order_b] = split(s.order);
  const auto [a, b] = split(s.values);
  const Array swap = lax::gt(order_a, order_b);
  const auto join = [&](const Array& low, const Array& high) {
    const Array second = mirror ? lax::rev(high, {2}) : high;
    return lax::reshape(lax::concatenate(std::vector<Array>{low, second}, 1), {n, m});
  };
  return {join(lax::select(swap, order_b, order_a), lax::select(swap, order_a, order_b)),
          join(lax::select(swap, b, a), lax::select(swap, a, b))};
}

// Batcher's bitonic sort: sorted runs of length 1, 2, 4, ... are merged in pairs. Merging runs (1 4
// | 2 3) compares them mirrored, 1-3 4-2, which leaves halves (1 2 | 4 3) of which none has an
// element for the other, and those likewise with half the distance.
Sorting sorted(Sorting s) {
  const int64_t n = s.order.shape()[0];
  for (int64_t run = 1; run < n; run *= 2) {
    s = compare_exchange(s, run, true);
    for (int64_t half = run / 2; half >= 1; half /= 2) s = compare_exchange(s, half, false);
  }
  return s;
}

// values [n, m] in the stable order of keys: uint32 [n, m], or [n, 1] for one order of all columns.
Array sorted_by(const Array& keys, const Array& values) {
  const int64_t n = values.shape()[0], m = values.shape()[1];
  const int64_t padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
  // The place breaks ties, so that the network, which is not stable, has none to break.
  const Array wide =
      lax::convert_element_type(broadcast_array("permutation", keys, {n, m}), uint64);
  const Array high = lax::shift_left(wide, lax::full(wide.shape(), Literal::scalar(uint64_t{32})));
  Sorting s{lax::bitwise_or(high, lax::iota(uint64, wide.shape(), 0)), values};
  if (padded > n) {
    const Array last = lax::full({padded - n, m}, Literal::scalar(~uint64_t{0}));  // behind all
    s.order = lax::concatenate(std::vector<Array>{s.order, last}, 0);
    s.values = lax::concatenate(
        std::vector<Array>{values, lax::full({padded - n, m}, 0, values.dtype())}, 0);
  }
  return lax::slice_in_dim(sorted(s).values, 0, n, 1, 0);
}

struct PermutationParams {
  int64_t axis = 0;
  bool independent = false;
};

}  // namespace

Array permutation(const Key& key, const Array& x, const PermutationOptions& o) {
  const char* name = "random::permutation";
  if (x.ndim() == 0)
    shape_error(name, "expected at least 1 dimension, or a C++ integer n for 0 ... n - 1, got {}",
                describe(x.type()));
  const int64_t axis = normalize_axis(name, o.axis, x.ndim());
  const bool independent = o.independent || x.ndim() == 1;
  if (x.shape()[axis] > 0xffffffff)
    shape_error(name, "expected at most 2^32 elements along the axis, got {}", describe(x.type()));
  return composite(
      name, PermutationParams{axis, independent}, {key.data, x},
      [&](std::span<const Array> a) -> Array {
        internal::Words words = internal::key_words(name, {a[0]});
        const Array moved = lax::move_to_front(as_dtype(a[1], a[1].dtype()), axis);
        const int64_t n = moved.shape()[0], m = n == 0 ? 0 : moved.size() / n;
        // Keys of 32 bits collide; this many rounds of them make every order likely as any other.
        const double drawn = static_cast<double>(independent ? a[1].size() : n);
        const int rounds = static_cast<int>(
            std::ceil(3 * std::log(std::max(1.0, drawn)) / std::log(4294967295.0)));
        if (m == 0) return a[1];
        Array values = lax::reshape(moved, {n, m});
        for (int round = 0; round < rounds; ++round) {
          const std::vector<internal::Words> next = internal::split_words(words, 2);
          words = next[0];
          // Drawn in x's own shape, as each element's key is a function of its place there.
          const Array keys =
              independent
                  ? lax::reshape(lax::move_to_front(
                                     internal::random_bits(next[1], a[1].shape(), uint32), axis),
                                 {n, m})
                  : internal::random_bits(next[1], {n, 1}, uint32);
          values = sorted_by(keys, values);
        }
        return lax::move_dim(lax::reshape(values, moved.shape()), 0, axis);
      });
}

}  // namespace tessera::random
