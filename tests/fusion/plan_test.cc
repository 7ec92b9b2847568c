#include "tessera/fusion/plan.h"

#include <cmath>
#include <limits>

#include "fusion_testing.h"
#include "tessera/ops/structural/pad.h"

namespace tessera::fusion_testing::plan_test {

using namespace array_math;

namespace {

Array broadcast(const Array& scalar, const Shape& shape) {
  return lax::broadcast_in_dim(scalar, shape, {});
}

Array zero_padded(const Array& x, const Dims& low, const Dims& high) {
  return lax::pad(x, lax::full({}, 0, x.dtype()), low, high, Dims(low.size(), 0));
}

// The gradient of padding by `n` reflected elements at both ends of dimension d, as JAX computes
// it.
Array unreflected(Array g, int64_t d, int64_t n) {
  const int64_t rank = g.shape().rank();
  const auto part = [&](const Array& x, int64_t start, int64_t stop) {
    Dims first(rank, 0), last = x.shape();
    first[d] = start;
    last[d] = stop;
    return lax::slice(x, first, last);
  };
  const auto at = [&](const Array& x, int64_t low, int64_t extent) {
    Dims before(rank, 0), after(rank, 0);
    before[d] = low;
    after[d] = extent - low - x.shape()[d];
    return zero_padded(x, before, after);
  };
  const int64_t whole = g.shape()[d];
  const Array end = lax::rev(part(g, whole - n, whole), {d});
  g = part(g, 0, whole - n);
  g = g + at(end, whole - 2 * n - 1, whole - n);
  const Array begin = lax::rev(part(g, 0, n), {d});
  g = part(g, n, whole - n);
  return g + at(begin, 1, whole - 2 * n);
}

// Both operands of an elementwise op are read where its result is. So the differences, whose
// squares are summed in blocks, are computed twice from x.
TEST(Plan, DifferencesFromTheMeanAreNotStored) {
  const int64_t n = 200000;
  const Schedule s = check(trace({f32({n})}, [&](const Arrays& x) {
    const double count = static_cast<double>(n);
    const Array centred = x[0] - broadcast(lax::reduce_sum(x[0], {0}) / count, {n});
    const Array scale = lax::rsqrt(lax::reduce_sum(centred * centred, {0}) / count);
    const Array y = broadcast(scale, {n}) * (2 * centred);
    return Arrays{y - broadcast(lax::reduce_sum(y, {0}) / count, {n})};
  }));
  for (const Slot& slot : s.slots) {
    const bool kept = slot.shape == Shape{n} && slot.kind == Slot::Kind::kTemporary;
    EXPECT_FALSE(kept) << to_string(s);
  }
}

TEST(Plan, SmallPiecesAtTheBordersAreComputedWhereTheyAreRead) {
  const Function f = trace({f32({70, 640})}, [](const Arrays& x) {
    return Arrays{unreflected(unreflected(x[0], 1, 5), 0, 3)};
  });
  EXPECT_EQ(outline(check(f)), "kernel (64, 630) lanes; loop () store\n");
  std::vector<Literal> inputs = random_inputs(f);
  float* x = inputs[0].mutable_data<float>();
  for (int64_t i = 0; i < inputs[0].elements(); i += 7)
    x[i] = i % 2 ? -0.0F : i % 3 ? std::numeric_limits<float>::infinity() : NAN;
  check(f, inputs);
}

// The columns of short rows are not divided, so every element would be computed from all pieces.
TEST(Plan, PiecesOfShortRowsAreStored) {
  const Schedule s = check(trace({f32({700, 60})}, [](const Arrays& x) {
    return Arrays{unreflected(unreflected(x[0], 1, 5), 0, 3)};
  }));
  EXPECT_GT(s.steps.size(), 1u);
}

// A quarter of the elements is too much to be computed beside the others.
TEST(Plan, LargePiecesAreStored) {
  const auto kernels = [](int64_t rows) {
    return check(trace({f32({64, 640}), f32({rows, 640})},
                       [&](const Arrays& x) {
                         Array piece = x[1];
                         for (int k = 0; k < 3; ++k) piece = lax::sin(piece);
                         return Arrays{x[0] + zero_padded(piece, {0, 0}, {64 - rows, 0})};
                       }))
        .steps.size();
  };
  EXPECT_EQ(kernels(4), 1u);
  EXPECT_EQ(kernels(16), 2u);
}

// Lanes along rows would compute logarithms one by one. Short folds that are unrolled have lanes
// along the results.
TEST(Plan, FunctionsOfManyFoldsOfShortRowsHaveAKernel) {
  const auto kernels = [](const Shape& shape, const auto& function) {
    return outline(
        check(trace({f32(shape)}, [&](const Arrays& x) { return Arrays{function(x[0])}; })));
  };
  const auto log_of_sum = [](const Array& x) { return lax::log(lax::reduce_sum(x * x, {1})); };
  EXPECT_EQ(kernels({4096, 32}, log_of_sum),
            "kernel (4096,) rows; loop (32,) sum; loop () store\n"
            "kernel (4096,) lanes; loop () store\n");
  const std::string one = "kernel (64,) rows; loop (32,) sum; loop () store\n";
  EXPECT_EQ(kernels({64, 32}, log_of_sum), one);
  EXPECT_EQ(kernels({4096, 256}, log_of_sum),
            "kernel (4096,) rows; loop (256,) sum; loop () store\n");
  EXPECT_EQ(kernels({4096, 32}, [](const Array& x) { return 1 + 2 * lax::reduce_sum(x, {1}); }),
            "kernel (4096,) rows; loop (32,) sum; loop () store\n");
  EXPECT_EQ(kernels({4096, 8}, [](const Array& x) { return lax::log(lax::reduce_max(x, {1})); }),
            "kernel (4096,) lanes; loop () store\n");
  // A fold in a kernel of many nodes is not unrolled.
  const auto much_of_max = [](Array x) {
    x = lax::reduce_max(x, {1});
    for (int k = 0; k < 40; ++k) x = lax::sin(x) * 2;
    return x;
  };
  EXPECT_EQ(kernels({4096, 8}, much_of_max),
            "kernel (4096,) lanes; loop () store\nkernel (4096,) lanes; loop () store\n");
}

// Both folds of a row read it while it is in the cache.
TEST(Plan, AMaximumIsFoldedInTheRowsOfTheSumThatReadsIt) {
  const Schedule s = check(trace({f32({4096, 32})}, [](const Arrays& x) {
    const Array most = lax::reduce_max(x[0], {1});
    const Array apart = x[0] - lax::broadcast_in_dim(most, x[0].shape(), {0});
    return Arrays{most + lax::log(lax::reduce_sum(lax::exp(apart), {1}))};
  }));
  EXPECT_EQ(outline(s),
            "kernel (4096,) rows; loop (32,) max; loop (32,) sum; loop () store store\n"
            "kernel (4096,) lanes; loop () store\n");
}

}  // namespace
}  // namespace tessera::fusion_testing::plan_test
