// What a training step keeps between its forward and its backward pass.
#include "tests/compile/devices.h"

namespace tessera::memory_test {
namespace {

class Memory : public DevicesTest {};

// Temporaries of the gradient of sum(after(before(x))), in arrays of x's size.
template <class Between>
double kept(const Between& between) {
  constexpr int64_t kRows = 512, kCols = 256;
  const auto f = [&](const Array& w, const Array& x) {
    return sum(square(matmul(between(matmul(x, w)), w)));
  };
  const Array w = abstract_array({kCols, kCols}, float32),
              x = abstract_array({kRows, kCols}, float32);
  const Cost cost =
      jit([&](const Array& a, const Array& b) { return grad(f)(a, b); }).lower(w, x).cost();
  return static_cast<double>(cost.arena_bytes) / (kRows * kCols * 4);
}

// Elementwise functions keep their operand, not what their derivative is made of.
TEST_F(Memory, ElementwiseFunctionsAreComputedAgain) {
  const double plain = kept([](const Array& h) { return h + 1; });
  EXPECT_LT(kept([](const Array& h) { return gelu(h); }), plain + 1.3);
  EXPECT_LT(kept([](const Array& h) { return tanh(h) * 2; }), plain + 1.3);
}

// Sums of rows are kept as rows, not spread out.
TEST_F(Memory, ReductionsAreKeptSmall) {
  const double plain = kept([](const Array& h) { return h + 1; });
  EXPECT_LT(kept([](const Array& h) { return softmax(h, -1); }), plain + 2.3);
  EXPECT_LT(kept([](const Array& h) {
              const Array m = mean(h, {.axis = -1, .keepdims = true});
              const Array v = mean(square(h - m), {.axis = -1, .keepdims = true});
              return (h - m) / sqrt(v + 1e-5f);
            }),
            plain + 2.3);
}

// --- Moving rows along a cut dimension ---

// Temporaries, in arrays of x's size; and the bytes that all devices send, likewise.
struct Moved {
  double arena, sent;
};
template <class F>
Moved moved(const F& f, Shape shape = {1 << 14, 64}) {
  const Lowered lowered = jit(f).lower(abstract_array(shape, float32, on8(P("x"))));
  const double bytes = static_cast<double>(shape.elements()) * 4;
  int64_t sent = 0;
  for (const Collective& c : lowered.collectives()) sent += 8 * c.bytes_per_device;
  return {static_cast<double>(lowered.cost().arena_bytes) / bytes,
          static_cast<double>(sent) / bytes};
}

TEST_F(Memory, AFewRowsAreMovedAlone) {
  for (const Moved& m :
       {moved([](const Array& x) { return index(x, {Slice(std::nullopt, 5)}); }),
        moved([](const Array& x) { return index(x, {Slice(-5, std::nullopt)}); }),
        moved([](const Array& x) { return index(x, {Slice(std::nullopt, std::nullopt, 4000)}); }),
        moved([](const Array& x) { return index(x, {7}); })}) {
    EXPECT_LT(m.arena, 0.02);
    EXPECT_LT(m.sent, 0.02);
  }
}

TEST_F(Memory, PartsOfAnArray) {
  const Moved half = moved([](const Array& x) { return index(x, {Slice(std::nullopt, 1 << 13)}); });
  EXPECT_LT(half.arena, 1.1);
  EXPECT_LE(half.sent, 1.01);
  const Moved strided =
      moved([](const Array& x) { return index(x, {Slice(std::nullopt, std::nullopt, 2)}); });
  EXPECT_LT(strided.arena, 1.1);
  EXPECT_LE(strided.sent, 1.01);
  const Moved pieces = moved([](const Array& x) { return split(x, 4); });
  EXPECT_LT(pieces.arena, 3.3);  // parcels for four results at once
  EXPECT_LE(pieces.sent, 4.01);
}

TEST_F(Memory, RollsAndReversals) {
  for (const int64_t by : {1, 1000, 1 << 13, -5000}) {
    SCOPED_TRACE(by);
    const Moved m = moved([by](const Array& x) { return roll(x, by, 0); });
    EXPECT_LT(m.arena, 1.1);
    EXPECT_LE(m.sent, 1.01);
  }
  const Moved reversed = moved([](const Array& x) { return flip(x, 0); });
  EXPECT_LT(reversed.arena, 1.1);
  EXPECT_LE(reversed.sent, 1.01);
}

TEST_F(Memory, ConcatenationsAndPads) {
  const Moved twice = moved([](const Array& x) {
    return concatenate(std::vector<Array>{x, x * 2}, 0);
  });
  // A device puts its shards of both one behind the other, and sends of that.
  EXPECT_LT(twice.arena, 2.1);
  EXPECT_LE(twice.sent, 2.01);
  const Moved padded = moved([](const Array& x) { return pad(x, {{3, 5}, {0, 0}}); });
  EXPECT_LT(padded.arena, 0.1);
  EXPECT_LT(padded.sent, 0.1);
}

}  // namespace
}  // namespace tessera::memory_test
