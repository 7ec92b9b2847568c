// What a training step keeps between its forward and its backward pass.
#include "tests/compile/devices.h"

namespace tessera {
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

}  // namespace
}  // namespace tessera
