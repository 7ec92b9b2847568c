// stablehlo.rng_bit_generator: the bits of Philox 4x32-10 and Threefry 2x32-20 (Salmon et al.,
// "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011), expressed by integer ops. Keys, counters
// and words are ordered as on XLA's CPU platform, where DEFAULT is Philox, so the numbers are
// JAX's.
#include <array>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/interchange/foreign/rng_bits.h"
#include "tessera/interchange/refine_shapes.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::interchange::foreign {
namespace {

using namespace array_math;
using Arrays = std::vector<Array>;

// Two words of 32 bits, the lower one first.
using Words = std::array<Array, 2>;

Array number(uint64_t value, const Array& like) {
  return lax::full(like.shape(), convert_literal(Literal::scalar(value), like.dtype()));
}
Array low(const Array& x) { return lax::convert_element_type(x, uint32); }
Array high(const Array& x) {
  return lax::convert_element_type(lax::shift_right_logical(x, number(32, x)), uint32);
}
Array join_words(const Array& low, const Array& high) {
  const Array upper = lax::convert_element_type(high, uint64);
  return lax::bitwise_or(lax::convert_element_type(low, uint64),
                         lax::shift_left(upper, number(32, upper)));
}
Array element(const Array& state, int64_t i) {
  return lax::reshape(lax::slice(state, {i}, {i + 1}), {});
}
Array spread(const Array& scalar, const Shape& shape) {
  return lax::broadcast_in_dim(scalar, shape, {});
}
// Returns the state with `by` added to state[1]. state[0] does not change.
Array advance_counter(const Array& state, uint64_t by) {
  const Array counter = lax::slice(state, {1}, {2});
  Arrays parts{lax::slice(state, {0}, {1}), counter + number(by, counter)};
  if (state.size() == 3) parts.push_back(lax::slice(state, {2}, {3}));
  return lax::concatenate(parts, 0);
}

// --- Philox ---

std::array<Array, 4> philox(std::array<Array, 4> x, Words key) {
  const auto product = [](const Array& word, uint64_t by) {
    const Array wide = lax::convert_element_type(word, uint64);
    return wide * number(by, wide);
  };
  for (int round = 0; round < 10; ++round) {
    const Array a = product(x[0], 0xD2511F53), b = product(x[2], 0xCD9E8D57);
    x = {lax::bitwise_xor(lax::bitwise_xor(high(b), x[1]), key[0]), low(b),
         lax::bitwise_xor(lax::bitwise_xor(high(a), x[3]), key[1]), low(a)};
    key = {key[0] + number(0x9E3779B9, key[0]), key[1] + number(0xBB67AE85, key[1])};
  }
  return x;
}

// Returns columns of words: row i comes from block i of the counter. A state of two words is the
// key, which is also the counter's upper half, and the counter's lower half. A state of three is
// the key and both halves.
std::array<Array, 4> philox_blocks(const Array& state, int64_t blocks) {
  const Shape shape{blocks};
  const Array first = spread(element(state, 1), shape);
  const Array lower = first + lax::iota(uint64, shape);
  const Array upper = spread(element(state, state.size() == 3 ? 2 : 0), shape);
  const Array carried = lax::select(lax::lt(lower, first), upper + number(1, upper), upper);
  const Array key = spread(element(state, 0), shape);
  return philox({low(lower), high(lower), low(carried), high(carried)}, {low(key), high(key)});
}

Array leading(const Arrays& columns, int64_t count) {
  Arrays parts;
  for (const Array& column : columns)
    parts.push_back(lax::reshape(column, {column.size(), int64_t{1}}));
  const Array rows = lax::concatenate(parts, 1);
  return lax::slice(lax::reshape(rows, {rows.size()}), {0}, {count});
}

Arrays philox_bits(const Array& state, const Shape& shape, bool wide) {
  const int64_t count = shape.elements(), blocks = wide ? (count + 1) / 2 : (count + 3) / 4;
  const auto x = philox_blocks(state, blocks);
  const Array bits = wide ? leading({join_words(x[0], x[1]), join_words(x[2], x[3])}, count)
                          : leading({x[0], x[1], x[2], x[3]}, count);
  return {advance_counter(state, static_cast<uint64_t>(blocks)), lax::reshape(bits, shape)};
}

// --- Threefry ---

Words threefry(Words x, const Words& key) {
  constexpr int kTurns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Array parity =
      lax::bitwise_xor(lax::bitwise_xor(key[0], key[1]), number(0x1BD11BDA, key[0]));
  const std::array<Array, 3> keys{key[0], key[1], parity};
  x = {x[0] + keys[0], x[1] + keys[1]};
  for (int group = 0; group < 5; ++group) {
    for (const int turn : kTurns[group % 2]) {
      x[0] = x[0] + x[1];
      x[1] = lax::bitwise_or(
          lax::shift_left(x[1], number(static_cast<uint64_t>(turn), x[1])),
          lax::shift_right_logical(x[1], number(static_cast<uint64_t>(32 - turn), x[1])));
      x[1] = lax::bitwise_xor(x[0], x[1]);
    }
    x[0] = x[0] + keys[static_cast<size_t>((group + 1) % 3)];
    x[1] = x[1] + keys[static_cast<size_t>((group + 2) % 3)] +
           number(static_cast<uint64_t>(group + 1), x[1]);
  }
  return x;
}

// Returns the words of counters state[1], state[1] + 1, ... in row-major order of `shape`.
Words threefry_blocks(const Array& state, const Shape& shape) {
  const Shape flat{shape.elements()};
  const Array counter =
      lax::reshape(spread(element(state, 1), flat) + lax::iota(uint64, flat), shape);
  const Array key = spread(element(state, 0), shape);
  return threefry({low(counter), high(counter)}, {low(key), high(key)});
}

// Returns the dimension along which both words of a counter are placed: the first even one, or else
// the largest.
int64_t paired_dimension(const Shape& shape) {
  int64_t largest = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] % 2 == 0) return d;
    if (shape[d] > shape[largest]) largest = d;
  }
  return largest;
}

Arrays threefry_bits(const Array& state, const Shape& shape, bool wide) {
  if (wide) {
    const Words x = threefry_blocks(state, shape);
    return {advance_counter(state, static_cast<uint64_t>(shape.elements())),
            join_words(x[0], x[1])};
  }
  if (shape.rank() == 0) {
    const Words x = threefry_blocks(state, {int64_t{1}});
    return {advance_counter(state, 1), lax::reshape(x[0], {})};
  }
  // [2, 7] is made of [2, 4, 1] and [2, 4, 1] side by side, which is [2, 8], without the last
  // column.
  const int64_t d = paired_dimension(shape);
  Shape half = shape, whole = shape;
  half[d] = (shape[d] + 1) / 2;
  whole[d] = 2 * half[d];
  Shape column = half;
  column.insert(column.begin() + d + 1, int64_t{1});
  const Words x = threefry_blocks(state, half);
  const Array pairs =
      lax::concatenate(Arrays{lax::reshape(x[0], column), lax::reshape(x[1], column)}, d + 1);
  const Dims start(static_cast<size_t>(shape.rank()), 0);
  return {advance_counter(state, static_cast<uint64_t>(half.elements())),
          lax::slice(lax::reshape(pairs, whole), start, shape)};
}

}  // namespace

bool takes_state(RngAlgorithm algorithm, const Type& state) {
  const bool sized =
      state.rank() == 1 &&
      (state.shape[0] == 2 || (state.shape[0] == 3 && algorithm != RngAlgorithm::kThreeFry));
  return state.dtype == uint64 && sized;
}

std::vector<Array> rng_bits(RngAlgorithm algorithm, const Array& state, const Shape& shape,
                            DType dtype) {
  const bool wide = itemsize(dtype) == 8;
  Arrays out = algorithm == RngAlgorithm::kThreeFry ? threefry_bits(state, shape, wide)
                                                    : philox_bits(state, shape, wide);
  // Narrower dtypes get the lowest bits.
  out[1] = lax::convert_element_type(out[1], dtype);
  return out;
}

// --- The op of programs ---

namespace {

RngAlgorithm read_algorithm(OpReader& reader) {
  const auto name = std::get<std::string>(from_text(
      reader.require("rng_algorithm"), Attribute(std::string("DEFAULT")), "rng_algorithm", reader));
  const auto names = enum_names(RngAlgorithm{});
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<RngAlgorithm>(i);
  reader.error(fmt::format("expected the algorithm DEFAULT, PHILOX or THREE_FRY, got {}", name));
  return RngAlgorithm::kDefault;
}

}  // namespace

Values rng_bit_generator(OpReader& reader) {
  const RngAlgorithm algorithm = read_algorithm(reader);
  if (reader.operands.size() != 1 || reader.result_types.size() != 2)
    reader.error("expected a state, and the types of two results");
  const Type state = reader.operand_types()[0], bits = static_result(reader, 1);
  if (!takes_state(algorithm, state))
    reader.error(
        fmt::format("expected a state of uint64[2], or uint64[3] for Philox, got {}; bitcast "
                    "it",
                    describe(state)));
  if (!is_integer(bits.dtype))
    reader.error(
        fmt::format("expected bits as integers, got {}; bitcast them", dtype_name(bits.dtype)));
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        return rng_bits(algorithm, x[0], bits.shape, bits.dtype);
      },
      "rng_bit_generator");
}

}  // namespace tessera::interchange::foreign
