#include "tessera/fusion/fuse.h"

#include "fusion_testing.h"

namespace tessera::fusion_testing {
namespace {

using namespace array_math;

Array row_broadcast(const Array& x, int64_t m) {
  return lax::broadcast_in_dim(x, {x.shape()[0], m}, {0});
}
Array column_broadcast(const Array& x, int64_t n) {
  return lax::broadcast_in_dim(x, {n, x.shape()[0]}, {1});
}

Array softmax(const Array& x) {
  const int64_t m = x.shape()[1];
  const Array e = lax::exp(x - row_broadcast(lax::reduce_max(x, {1}), m));
  return e / row_broadcast(lax::reduce_sum(e, {1}), m);
}

Array layer_norm(const Array& x, const Array& scale, const Array& shift) {
  const int64_t n = x.shape()[0], m = x.shape()[1];
  const Array mean = lax::reduce_sum(x, {1}) / static_cast<double>(m);
  const Array centred = x - row_broadcast(mean, m);
  const Array variance = lax::reduce_sum(centred * centred, {1}) / static_cast<double>(m);
  const Array normal = centred * row_broadcast(lax::rsqrt(variance + 1e-5), m);
  return normal * column_broadcast(scale, n) + column_broadcast(shift, n);
}

TEST(Fuse, ElementwiseIsOneKernelOfOneLoop) {
  const Schedule s =
      check(trace({f32({4, 8})}, [](const Arrays& x) { return Arrays{2 * lax::sin(x[0]) + 1}; }));
  EXPECT_EQ(outline(s), "kernel (32,) lanes; loop () store\n");
  EXPECT_EQ(s.slots.size(), 2u);
}

TEST(Fuse, SoftmaxIsOneKernel) {
  const Schedule s =
      check(trace({f32({20, 33})}, [](const Arrays& x) { return Arrays{softmax(x[0])}; }));
  EXPECT_EQ(outline(s),
            "kernel (20,) rows; loop (33,) max; loop (33,) sum scratch; loop (33,) store\n");
}

TEST(Fuse, LogSoftmaxIsOneKernel) {
  const Schedule s = check(trace({f32({20, 33})}, [](const Arrays& x) {
    const Array centred = x[0] - row_broadcast(lax::reduce_max(x[0], {1}), 33);
    return Arrays{centred - row_broadcast(lax::log(lax::reduce_sum(lax::exp(centred), {1})), 33)};
  }));
  EXPECT_EQ(outline(s), "kernel (20,) rows; loop (33,) max; loop (33,) sum; loop (33,) store\n");
}

TEST(Fuse, LayerNormIsOneKernel) {
  const Schedule s = check(trace({f32({20, 33}), f32({33}), f32({33})}, [](const Arrays& x) {
    return Arrays{layer_norm(x[0], x[1], x[2])};
  }));
  EXPECT_EQ(outline(s), "kernel (20,) rows; loop (33,) sum; loop (33,) sum; loop (33,) store\n");
}

TEST(Fuse, MeanAndVarianceShareAPass) {
  const Schedule s = check(trace({f32({20, 33})}, [](const Arrays& x) {
    const Array mean = lax::reduce_sum(x[0], {1}) / 33.0;
    return Arrays{mean, lax::reduce_sum(x[0] * x[0], {1}) / 33.0 - mean * mean};
  }));
  EXPECT_EQ(outline(s), "kernel (20,) rows; loop () store store; loop (33,) sum sum\n");
}

TEST(Fuse, ColumnSumHasLanesAcross) {
  const Schedule s = check(trace(
      {f32({20, 33})}, [](const Arrays& x) { return Arrays{lax::reduce_sum(x[0] * 2, {0})}; }));
  EXPECT_EQ(outline(s), "kernel (33,) lanes; loop (20,) sum; loop () store\n");
}

TEST(Fuse, LongMeanIsCutIntoBlocks) {
  const Schedule s = check(trace({f32({1024, 100})}, [](const Arrays& x) {
    return Arrays{lax::reduce_sum(x[0], {0, 1}) / 102400.0};
  }));
  EXPECT_EQ(outline(s),
            "kernel (8,) rows; loop (12800,) sum; loop () store\nkernel (1,) rows; loop (8,) sum; "
            "loop () store\n");
}

TEST(Fuse, BroadcastAndScalarsAreInlined) {
  const Schedule s = check(trace({f32({5, 7}), f32({7}), f32({})}, [](const Arrays& x) {
    return Arrays{x[0] * column_broadcast(x[1], 5) +
                  lax::broadcast_in_dim(lax::exp(x[2]), {5, 7}, {})};
  }));
  EXPECT_EQ(outline(s), "kernel (5, 7) lanes; loop () store\n");
}

TEST(Fuse, TransposeIsAnAccessPattern) {
  const Schedule s = check(trace({f32({5, 7}), f32({7, 5})}, [](const Arrays& x) {
    return Arrays{lax::transpose(lax::exp(x[0]), {1, 0}) + x[1]};
  }));
  EXPECT_EQ(outline(s), "kernel (7, 5) lanes; loop () store\n");
}

TEST(Fuse, ReshapeOfAnInputIsAView) {
  const Schedule s = check(trace({f32({4, 6})}, [](const Arrays& x) {
    return Arrays{lax::reshape(x[0], {2, 12})};
  }));
  EXPECT_EQ(outline(s), "view (4, 6) as (2, 12)\n");
}

TEST(Fuse, ReshapeInAChainCutsLoops) {
  const Schedule s = check(trace({f32({2, 12}), f32({12}), f32({6, 4})}, [](const Arrays& x) {
    const Array y = x[0] * column_broadcast(x[1], 2);
    return Arrays{lax::reshape(y, {6, 4}) + x[2]};
  }));
  EXPECT_EQ(outline(s), "kernel (2, 12) lanes; loop () store\n");
}

TEST(Fuse, SeveralOutputsOfOneDomain) {
  const Schedule s = check(trace({f32({4, 8})}, [](const Arrays& x) {
    const Array y = lax::exp(x[0]);
    return Arrays{y, y + 1, x[0] * 3};
  }));
  EXPECT_EQ(outline(s), "kernel (32,) lanes; loop () store store store\n");
}

TEST(Fuse, ArgMaxFoldsPairs) {
  check(trace({f32({6, 40})}, [](const Arrays& x) {
    return Arrays{lax::argmax(x[0], 1), lax::argmin(x[0], 0)};
  }));
}

TEST(Fuse, EmptyArrays) {
  check(trace({f32({0, 3})}, [](const Arrays& x) {
    return Arrays{x[0] + 1, lax::reduce_sum(x[0], {0}), lax::reduce_max(x[0], {1})};
  }));
}

}  // namespace
}  // namespace tessera::fusion_testing
