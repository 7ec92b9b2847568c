// Tests the memory that a training step keeps between its forward and its backward pass.
#include "tessera/codegen/compiler.h"
#include "tessera/runtime/convolutions/conv_library.h"
#include "tessera/runtime/executable.h"
#include "tests/compile/devices.h"

namespace tessera::memory_test {
namespace {

class Memory : public DevicesTest {};

// Returns the size of the temporaries of a gradient of matmul, `between` and matmul, in arrays of
// x's size.
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

// Elementwise functions keep their operand, not the values from which their derivative is computed.
TEST_F(Memory, ElementwiseFunctionsAreComputedAgain) {
  const double plain = kept([](const Array& h) { return h + 1; });
  EXPECT_LT(kept([](const Array& h) { return gelu(h); }), plain + 1.3);
  EXPECT_LT(kept([](const Array& h) { return tanh(h) * 2; }), plain + 1.3);
}

// Sums of rows are kept as they are, not broadcast.
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

// --- Moving rows along a sharded dimension ---

// The sizes of the temporaries and of the data that all devices send, both in arrays of x's size.
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
  // A device stores its shards of both operands one after the other, and sends from there.
  EXPECT_LT(twice.arena, 2.1);
  EXPECT_LE(twice.sent, 2.01);
  const Moved padded = moved([](const Array& x) { return pad(x, {{3, 5}, {0, 0}}); });
  EXPECT_LT(padded.arena, 0.1);
  EXPECT_LT(padded.sent, 0.1);
}

// --- The memory of a program, before its code exists ---

// The numbers of things that this process has made to run programs.
struct Made {
  int64_t executables = runtime::Executable::num_made();
  int64_t libraries = runtime::ConvLibrary::num_made();
  int64_t kernels = [] {
    const auto s = codegen::KernelCompiler::process().statistics();
    return s.compiled + s.from_disk + s.from_memory;
  }();
  bool operator==(const Made&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Made& made) {
  return out << made.executables << " executables, " << made.libraries << " convolutions, "
             << made.kernels << " kernels";
}

// Expects that the memory of a program is known before code is made for it, and equals the memory
// of the compiled program.
Cost expect_known_memory(const Lowered& lowered) {
  const Made before;
  const Cost cost = lowered.cost();
  EXPECT_NE(lowered.explain(), "");
  EXPECT_EQ(Made(), before);
  EXPECT_EQ(lowered.compile()->arena_bytes(), cost.arena_bytes);
  const Made after;
  EXPECT_GT(after.executables, before.executables);
  return cost;
}

TEST_F(Memory, IsKnownWithoutCode) {
  const auto f32 = [](const Shape& shape) { return abstract_array(shape, float32); };
  // Kernels, products one of which packs its operand, and a long contraction in parts.
  const Cost products = expect_known_memory(
      jit([](const Array& x, const Array& y) {
        return std::pair(softmax(matmul(tanh(x), y), -1) + 1,
                         einsum("ijk,ikj->ij", {reshape(x, {8, 8, 4}), reshape(y, {8, 4, 8})}));
      }).lower(f32({32, 8}), f32({8, 32})));
  EXPECT_GT(products.arena_bytes, 0);
  EXPECT_GT(expect_known_memory(jit([](const Array& x) { return dot(x, x); }).lower(f32({1 << 17})))
                .arena_bytes,
            0);
  const Made before;
  (void)expect_known_memory(jit([](const Array& x, const Array& w) {
                              return exp(lax::conv(exp(x), w, {1, 1}, "SAME"));
                            }).lower(f32({2, 8, 16, 16}), f32({8, 8, 3, 3})));
  EXPECT_GT(Made().libraries, before.libraries) << "a convolution of the library, once compiled";
}

TEST_F(Memory, OfLoopsAndBranchesIsKnownWithoutCode) {
  const Array x = abstract_array({64, 64}, float32), xs = abstract_array({5, 64, 64}, float32);
  // A loop with products is interpreted; a loop of small kernels becomes a function.
  EXPECT_GT(expect_known_memory(jit([](const Array& c, const Array& rows) {
                                  return scan(
                                      [](const Array& a, const Array& row) {
                                        const Array next = tanh(matmul(a, row));
                                        return std::pair(next, sum(next, {.axis = 0}));
                                      },
                                      c, rows);
                                }).lower(x, xs))
                .arena_bytes,
            0);
  (void)expect_known_memory(jit([](const Array& c) {
                              return while_loop([](const Array& a) { return sum(a) < 100; },
                                                [](const Array& a) { return a * 2 + 1; }, c);
                            }).lower(abstract_array({4}, float32)));
  EXPECT_GT(expect_known_memory(jit([](const Array& p, const Array& a) {
                                  return cond(
                                      p, [](const Array& b) { return matmul(exp(b), b); },
                                      [](const Array& b) { return b + 1; }, a);
                                }).lower(abstract_array({}, bool_), x))
                .arena_bytes,
            0);
}

// A loop of machine code updates its carry in the memory of the result.
TEST_F(Memory, ALoopThatUpdatesAnArrayHasNoCopyOfIt) {
  const auto loop = jit([](const Array& x) {
    return fori_loop(
        1, 100,
        [](const Array& i, const Array& a) { return at(a)[i].set(2 * index(a, {i - 1}) + 1); }, x);
  });
  EXPECT_LT(expect_known_memory(loop.lower(abstract_array({1 << 20}, float32))).arena_bytes, 4096);
}

TEST_F(Memory, OfShardedProgramsIsKnownWithoutCode) {
  EXPECT_GT(expect_known_memory(jit([](const Array& x, const Array& w) {
                                  return sum(square(matmul(x, w)), {.axis = 0});
                                })
                                    .lower(abstract_array({64, 256}, float32, on8(P(None, "x"))),
                                           abstract_array({256, 64}, float32, on8(P("x")))))
                .arena_bytes,
            0);
}

}  // namespace
}  // namespace tessera::memory_test
