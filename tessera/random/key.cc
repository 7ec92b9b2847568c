#include "tessera/random/key.h"

#include <fmt/ostream.h>

#include <ostream>

#include "tessera/base/format_array.h"
#include "tessera/compile/composite.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/printing.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/random/threefry.h"

namespace tessera::random {

using namespace ir;

namespace {

// Returns words as the data of keys.
Array join_words(const internal::Words& words) {
  const int64_t last = words.high.ndim();
  return lax::concatenate(
      std::vector<Array>{lax::expand_dims(words.high, {last}), lax::expand_dims(words.low, {last})},
      last);
}

}  // namespace

Shape Key::shape() const { return Shape(data.shape().begin(), data.shape().end() - 1); }

Key Key::operator[](int64_t i) const {
  if (ndim() == 0)
    shape_error("key", "expected an array of keys, got a single key; split makes several of it");
  return {index_in_dim(data, i, 0, /*keepdims=*/false)};
}

std::ostream& operator<<(std::ostream& out, const Key& key) {
  if (key.data.is_tracer()) return out << fmt::format("Traced<key<fry>{}>", key.shape());
  return out << fmt::format("Array({}, dtype=key<fry>) overlaying:\n{}", key.shape(), key.data);
}

namespace internal {

Key key_of_words(uint32_t high, uint32_t low) {
  const uint32_t words[] = {high, low};
  return {Array(Literal::from<uint32_t>(words, {2}))};
}

Key key_of_seed(uint64_t bits, bool beyond_int64) {
  if (beyond_int64)
    value_error("random::key", "expected a seed below 2^63, got {}; reduce it", bits);
  // For a seed of 32 bits JAX fills the high word with the sign in 64-bit mode only.
  const auto seed = static_cast<int64_t>(bits);
  const bool narrow = seed >= -(int64_t{1} << 31) && seed < int64_t{1} << 32;
  return key_of_words(narrow && !x64_enabled() ? 0 : static_cast<uint32_t>(bits >> 32),
                      static_cast<uint32_t>(bits));
}

Key fold_in_word(const Key& key, uint64_t word, bool negative) {
  if (negative || word > 0xffffffff)
    value_error("random::fold_in", "expected a number in [0, 2^32), got {}; reduce it",
                static_cast<int64_t>(word));
  return fold_in(key, Array(Literal::scalar(static_cast<uint32_t>(word))));
}

}  // namespace internal

Key key(const Array& seed) {
  if (seed.ndim() != 0 || !is_integer(seed.dtype()))
    type_error("random::key",
               "expected an integer scalar as the seed, got {}; convert it with astype",
               describe(seed.type()));
  return {
      composite("random_key", {}, {seed}, [](const NoParams&, std::span<const Array> a) -> Array {
        const Array low = lax::convert_element_type(a[0], uint32);
        Array high = lax::full({}, 0, uint32);
        if (itemsize(a[0].dtype()) == 8) {
          const Array shift = lax::full({}, 32, a[0].dtype());
          high = lax::convert_element_type(lax::shift_right_logical(a[0], shift), uint32);
        }
        return join_words({high, low});
      })};
}

Key split(const Key& key, const Shape& shape) {
  struct SplitParams {
    Shape shape;
  };
  return {composite("random_split", SplitParams{shape}, {key.data},
                    [](const SplitParams& p, std::span<const Array> a) {
                      return join_words(internal::hash_of_index(
                          internal::key_words("random::split", {a[0]}), p.shape));
                    })};
}

Key fold_in(const Key& key, const Array& data) {
  if (data.ndim() != 0 || !is_integer(data.dtype()))
    type_error("random::fold_in", "expected an integer scalar, got {}; convert it with astype",
               describe(data.type()));
  return {composite(
      "random_fold_in", {}, {key.data, data}, [](const NoParams&, std::span<const Array> a) {
        const internal::Words words = internal::key_words("random::fold_in", {a[0]});
        return join_words(
            internal::threefry2x32(words, {lax::full({}, 0, uint32), as_dtype(a[1], uint32)}));
      })};
}

Key wrap_key_data(const Array& data) {
  if (data.dtype() != uint32 || data.ndim() == 0 || data.shape(-1) != 2)
    type_error("random::wrap_key_data", "expected uint32 words with a last dimension of 2, got {}",
               describe(data.type()));
  return {data};
}

}  // namespace tessera::random
