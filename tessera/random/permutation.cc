// permutation: several rounds of sorting by random keys, as in JAX.
#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/random/random.h"
#include "tessera/random/threefry.h"

namespace tessera::random {

using namespace ir;

namespace {

// Returns x with each vector along the axis in a random order of its own.
Array shuffled(internal::Words words, Array x, int64_t axis) {
  // Keys of 32 bits collide. This many rounds make every order equally likely.
  const double drawn = static_cast<double>(std::max<int64_t>(1, x.size()));
  const int rounds = static_cast<int>(std::ceil(3 * std::log(drawn) / std::log(4294967295.0)));
  for (int round = 0; round < rounds; ++round) {
    const std::vector<internal::Words> next = internal::split_words(words, 2);
    words = next[0];
    const std::vector<Array> operands{internal::random_bits(next[1], x.shape(), uint32), x};
    x = lax::sort(operands, axis)[1];
  }
  return x;
}

struct PermutationParams {
  int64_t axis = 0;
  bool independent = false;
};

}  // namespace

Array permutation(const Key& key, const Array& x, const PermutationOptions& o) {
  constexpr const char* name = "random::permutation";
  if (x.ndim() == 0)
    shape_error(name, "expected at least 1 dimension, or a C++ integer n for 0 ... n - 1, got {}",
                describe(x.type()));
  const int64_t axis = normalize_axis(name, o.axis, x.ndim());
  if (x.shape()[axis] > 0xffffffff)
    shape_error(name, "expected at most 2^32 elements along the axis, got {}", describe(x.type()));
  return composite(name, PermutationParams{axis, o.independent}, {key.data, x},
                   [](const PermutationParams& p, std::span<const Array> a) -> Array {
                     const internal::Words words = internal::key_words(name, {a[0]});
                     const Array y = as_dtype(a[1], a[1].dtype());
                     if (p.independent || y.ndim() == 1) return shuffled(words, y, p.axis);
                     const int64_t n = y.shape()[p.axis];
                     const DType index = n > 0x7fffffff ? int64 : int32;
                     const Array places = shuffled(words, lax::iota(index, {n}), 0);
                     return take(y, places, {.axis = p.axis, .mode = IndexMode::kPromiseInBounds});
                   });
}

}  // namespace tessera::random
