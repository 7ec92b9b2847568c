#include "tessera/random/threefry.h"

#include "tessera/ir/format.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::random::internal {

namespace {

Array word(const Array& like, uint32_t value) {
  return lax::full(like.shape(), Literal::scalar(value));
}

Array rotated_left(const Array& x, uint32_t bits) {
  return lax::bitwise_or(lax::shift_left(x, word(x, bits)),
                         lax::shift_right_logical(x, word(x, 32 - bits)));
}

// Returns x + y. One of them may be a scalar.
Array plus(const Array& x, const Array& y) {
  const Shape& shape = x.ndim() > 0 ? x.shape() : y.shape();
  return lax::add(broadcast_array("threefry2x32", x, shape),
                  broadcast_array("threefry2x32", y, shape));
}

}  // namespace

Words key_words(std::string_view op, const Key& key) {
  if (key.ndim() != 0)
    shape_error(op,
                "expected a single key, got an array of keys of shape {}; index it, or map over it "
                "with vmap",
                key.shape());
  const auto part = [&](int64_t i) { return lax::reshape(lax::slice(key.data, {i}, {i + 1}), {}); };
  return {part(0), part(1)};
}

Words threefry2x32(const Words& key, const Words& x) {
  constexpr uint32_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  constexpr uint32_t kParity = 0x1BD11BDA;
  const Array schedule[3] = {
      key.high, key.low,
      lax::bitwise_xor(lax::bitwise_xor(key.high, key.low), word(key.high, kParity))};
  Array a = plus(x.high, schedule[0]), b = plus(x.low, schedule[1]);
  for (uint32_t group = 1; group <= 5; ++group) {
    for (uint32_t bits : kRotations[(group - 1) % 2]) {
      a = plus(a, b);
      b = rotated_left(b, bits);
      b = lax::bitwise_xor(broadcast_array("threefry2x32", a, b.shape()), b);
    }
    const Array& next = schedule[(group + 1) % 3];
    a = plus(a, schedule[group % 3]);
    b = plus(b, lax::add(next, word(next, group)));
  }
  return {a, b};
}

Words hash_of_index(const Words& key, const Shape& shape) {
  const double size = [&] {
    double n = 1;
    for (int64_t d : shape) n *= static_cast<double>(d);
    return n;
  }();
  // The row-major position of each element, in 32 bits if they suffice.
  const bool wide = size > 0x1p32;
  const DType dtype = wide ? uint64 : uint32;
  Array index;
  uint64_t stride = 1;
  for (int64_t d = shape.rank() - 1; d >= 0; --d) {
    if (shape[d] != 1) {
      Array term = lax::iota(dtype, shape, d);
      if (stride != 1) {
        const Literal factor =
            wide ? Literal::scalar(stride) : Literal::scalar(static_cast<uint32_t>(stride));
        term = lax::mul(term, lax::full(shape, factor));
      }
      index = index.defined() ? lax::add(term, index) : term;
    }
    stride *= static_cast<uint64_t>(shape[d]);
  }
  if (!index.defined()) index = lax::full(shape, 0, dtype);
  if (!wide) return threefry2x32(key, {lax::full(shape, 0, uint32), index});
  const Array high =
      lax::shift_right_logical(index, lax::full(shape, Literal::scalar(uint64_t{32})));
  return threefry2x32(
      key, {lax::convert_element_type(high, uint32), lax::convert_element_type(index, uint32)});
}

Array random_bits(const Words& key, const Shape& shape, DType dtype) {
  const Words hash = hash_of_index(key, shape);
  if (dtype == uint64) {
    const Array high = lax::convert_element_type(hash.high, uint64);
    const Array shift = lax::full(high.shape(), Literal::scalar(uint64_t{32}));
    return lax::bitwise_or(lax::shift_left(high, shift),
                           lax::convert_element_type(hash.low, uint64));
  }
  return lax::convert_element_type(lax::bitwise_xor(hash.high, hash.low), dtype);
}

std::vector<Words> split_words(const Words& key, int64_t num) {
  std::vector<Words> out;
  const Array zero = word(key.high, 0);
  for (int64_t i = 0; i < num; ++i)
    out.push_back(threefry2x32(key, {zero, word(key.high, static_cast<uint32_t>(i))}));
  return out;
}

}  // namespace tessera::random::internal
