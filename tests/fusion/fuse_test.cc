#include "tessera/fusion/fuse.h"

#include "fusion_testing.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/structural/concatenate.h"

namespace tessera::fusion_testing::fuse_test {

using namespace fusion;

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
  EXPECT_EQ(outline(s), "kernel (20,) rows; loop (33,) sum sum; loop () store store\n");
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

// A row of fewer than 16 elements would fill a part of a vector.
TEST(Fuse, SumsOfShortRowsHaveLanesAlongTheResults) {
  const auto outline_of = [](int64_t columns) {
    return outline(check(trace({f32({1000, columns})}, [](const Arrays& x) {
      return Arrays{lax::reduce_sum(x[0] * x[0], {1})};
    })));
  };
  EXPECT_EQ(outline_of(15), "kernel (1000,) lanes; loop () store\n");
  EXPECT_EQ(outline_of(16), "kernel (1000,) rows; loop (16,) sum; loop () store\n");
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

// Code generation makes tiles of the last two dimensions, if rows of the result fill a vector.
TEST(Fuse, TransposesEndWithTheDimensionsOfTiles) {
  const auto reversed = [](Type type, const std::vector<int64_t>& dims) {
    return outline(check(
        trace({type}, [&](const Arrays& x) { return Arrays{lax::transpose(x[0], dims) * 2}; })));
  };
  EXPECT_EQ(reversed(f32({320, 256}), {1, 0}), "kernel (256, 320) lanes; loop () store\n");
  EXPECT_EQ(reversed(f32({12, 50, 20}), {2, 1, 0}), "kernel (50, 20, 12) lanes; loop () store\n");
  EXPECT_EQ(reversed(f32({11, 50, 20}), {2, 1, 0}), "kernel (20, 50, 11) lanes; loop () store\n");
  // The rows of the tiles may be in reverse order in memory.
  const Schedule turned = check(trace({f32({12, 50, 20})}, [&](const Arrays& x) {
    return Arrays{lax::rev(lax::transpose(x[0], {2, 1, 0}), {0})};
  }));
  EXPECT_EQ(outline(turned), "kernel (50, 20, 12) lanes; loop () store\n");
}

TEST(Fuse, LargeTransposesOfComplexNumbersMoveBlocks) {
  const Schedule s = check(trace({array_type(complex64, {320, 256})}, [](const Arrays& x) {
    return Arrays{lax::neg(lax::transpose(x[0], {1, 0}))};
  }));
  EXPECT_EQ(outline(s), "kernel (16, 5, 16, 64) lanes; loop () store\n");
}

// Emitting a kernel is recursive along its longest chain.
TEST(Fuse, TooLongChainsAreRefused) {
  const Function f = trace({f32({40})}, [](const Arrays& x) {
    Array y = x[0];
    for (int k = 0; k < 50; ++k) y = lax::sin(y + 1);
    return Arrays{y};
  });
  EXPECT_EQ(outline(check(f)), "kernel (40,) lanes; loop () store\n");
  EXPECT_THROW(fuse(f, Mesh(), {.deepest_kernel = 30}), InternalError);
}

// The components of the indices of a gather from a matrix are read from the array of each, without
// loads whose guard is known.
TEST(Fuse, GathersReadTheComponentsOfTheirIndices) {
  const Type index = array_type(int32, {50});
  const Function f = trace({f32({20, 30}), index, index}, [](const Arrays& x) {
    const Array rows = lax::reshape(x[1], {50, 1}), columns = lax::reshape(x[2], {50, 1});
    return Arrays{lax::gather(x[0], lax::concatenate(Arrays{rows, columns}, 1),
                              {{}, {0, 1}, {0, 1}}, {1, 1}, IndexMode::kPromiseInBounds)};
  });
  const Schedule s = check(f);
  EXPECT_EQ(outline(s), "kernel (50,) lanes; loop () store\n");
  EXPECT_EQ(to_string(s).find(" if "), std::string::npos) << to_string(s);
}

TEST(Fuse, RowsOfATransposeAreColumns) {
  const Schedule s = check(trace({f32({20, 40})}, [](const Arrays& x) {
    return Arrays{lax::reduce_sum(lax::transpose(x[0], {1, 0}), {1})};
  }));
  EXPECT_EQ(outline(s), "kernel (40,) lanes; loop (20,) sum; loop () store\n");
}

std::string kernels(const Schedule& s) {
  std::string out;
  for (const Step& step : s.steps)
    if (const auto* k = std::get_if<KernelStep>(&step)) out += to_string(k->kernel);
  return out;
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Fuse, ProductsJoinTheSumThatAloneReadsThem) {
  auto text = [](auto f) {
    return kernels(check(
        trace({f32({4, 6}), f32({4, 6})}, [&](const Arrays& x) { return f(x[0] * x[1], x[1]); })));
  };
  const auto alone = [](const Array& p, const Array& c) { return Arrays{p + c}; };
  EXPECT_TRUE(has(text(alone), "fma"));
  EXPECT_TRUE(has(text([](const Array& p, const Array& c) { return Arrays{c - p}; }), "fma"));
  const auto moved = [](const Array& p, const Array& c) {
    return Arrays{lax::reshape(p, {24}) - lax::reshape(c, {24})};
  };
  EXPECT_TRUE(has(text(moved), "fma"));
  // The product is also needed by itself, so the sum may be computed again in another kernel.
  const auto shared = [](const Array& p, const Array& c) { return Arrays{p + c, lax::sin(p)}; };
  EXPECT_FALSE(has(text(shared), "fma"));
  const auto stored = [](const Array& p, const Array& c) { return Arrays{p + c, p}; };
  EXPECT_FALSE(has(text(stored), "fma"));
  const auto moved_and_stored = [](const Array& p, const Array& c) {
    return Arrays{lax::rev(p, {1}) + c, p};
  };
  EXPECT_FALSE(has(text(moved_and_stored), "fma"));
  EXPECT_FALSE(has(text([](const Array& p, const Array&) { return Arrays{p + p}; }), "fma"));
}

TEST(Fuse, StoredHalvesAreReadAsStored) {
  Type type = f32({40});
  type.dtype = bfloat16;
  const std::string text = kernels(check(trace({type}, [](const Arrays& x) {
    const Array e = lax::exp(x[0]);
    return Arrays{e, lax::sin(e), lax::cos(lax::tanh(x[0]))};
  })));
  // cos reads the tanh before it is rounded; sin reads the exponential as it is stored.
  EXPECT_TRUE(has(text, "%1: bfloat16 = tanh %0\n  %2: bfloat16 = cos %1\n")) << text;
  EXPECT_TRUE(has(text, "%5: bfloat16 = convert %4\n  %6: bfloat16 = sin %5\n")) << text;
}

TEST(Fuse, ReshapeOfAnInputIsAView) {
  const Schedule s = check(trace({f32({4, 6})}, [](const Arrays& x) {
    return Arrays{lax::reshape(x[0], {2, 12})};
  }));
  EXPECT_EQ(outline(s), "view (4, 6) as (2, 12)\n");
}

TEST(Fuse, UnitDimensionsAreViews) {
  // JAX makes the indices of a scatter of shape (n, 1) by a broadcast.
  const Schedule added = check(trace({f32({4, 6})}, [](const Arrays& x) {
    return Arrays{lax::broadcast_in_dim(x[0], {1, 4, 6, 1}, {1, 2})};
  }));
  EXPECT_EQ(outline(added), "view (4, 6) as (1, 4, 6, 1)\n");
  const Schedule moved = check(trace({f32({4, 1, 6})}, [](const Arrays& x) {
    return Arrays{lax::transpose(x[0], {0, 2, 1})};
  }));
  EXPECT_EQ(outline(moved), "view (4, 1, 6) as (4, 6, 1)\n");
  const Schedule turned = check(trace({f32({4, 6})}, [](const Arrays& x) {
    return Arrays{lax::broadcast_in_dim(x[0], {6, 1, 4}, {2, 0})};
  }));
  EXPECT_EQ(outline(turned).substr(0, 6), "kernel");
  // A kernel reads its operand with other indices; nothing is stored for the view.
  const Schedule read = check(trace({f32({4, 6}), f32({4, 1, 6})}, [](const Arrays& x) {
    return Arrays{lax::exp(lax::broadcast_in_dim(x[0], {4, 1, 6}, {0, 2})) + x[1]};
  }));
  EXPECT_EQ(outline(read), "kernel (24,) lanes; loop () store\n");
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

TEST(Fuse, NarrowAndLongColumns) {
  // Rows next to each other fill the vectors, and blocks of rows are divided over the cores.
  const Schedule s = check(trace(
      {f32({100000, 3})}, [](const Arrays& x) { return Arrays{lax::reduce_sum(x[0], {0})}; }));
  EXPECT_EQ(outline(s),
            "kernel (100, 60) lanes; loop (50,) sum; loop () store\n"
            "kernel (3,) lanes; loop (2000,) sum; loop () store\n");
}

TEST(Fuse, ColumnsOfLongRowsFoldAFewRowsAtATime) {
  const Schedule s = check(
      trace({f32({96, 1024})}, [](const Arrays& x) { return Arrays{lax::reduce_sum(x[0], {0})}; }));
  EXPECT_EQ(outline(s),
            "kernel (6, 1024) lanes; loop (16,) sum; loop () store\n"
            "kernel (1024,) lanes; loop (6,) sum; loop () store\n");
  const Schedule joint = check(trace({f32({4, 20, 1024})}, [](const Arrays& x) {
    return Arrays{lax::reduce_max(x[0], {0, 1})};
  }));
  EXPECT_EQ(outline(joint),
            "kernel (4, 1024) lanes; loop (20,) max; loop () store\n"
            "kernel (1024,) lanes; loop (4,) max; loop () store\n");
}

TEST(Fuse, BlocksOfOddLengthsArePadded) {
  check(trace({f32({99991})}, [](const Arrays& x) {
    return Arrays{lax::reduce_sum(lax::exp(x[0]), {0}), lax::reduce_min(x[0], {0})};
  }));
  check(trace({f32({70001, 1})}, [](const Arrays& x) {
    return Arrays{lax::reduce_max(x[0], {0}), lax::argmax(x[0], 0)};
  }));
  check(trace({array_type(bfloat16, {70000})},
              [](const Arrays& x) { return Arrays{lax::reduce_sum(x[0], {0})}; }));
}

TEST(Fuse, SoftmaxOfFewLongRowsIsParallel) {
  const Schedule s =
      check(trace({f32({2, 80000})}, [](const Arrays& x) { return Arrays{softmax(x[0])}; }));
  // No kernel has loops as long as a whole row, because two rows would use only two cores.
  for (const Step& step : s.steps) {
    const Kernel& k = std::get<KernelStep>(step).kernel;
    for (const KernelLoop& loop : k.loops) EXPECT_LE(loop.extents.elements(), 16384 * 2);
  }
}

TEST(Fuse, ExpensiveValuesOfTwoKernelsAreStored) {
  const Schedule s = check(trace({f32({50, 70})}, [](const Arrays& x) {
    const Array e = lax::pow(x[0] * x[0] + 1, x[0]);
    return Arrays{lax::transpose(e, {1, 0}) + 1, lax::reduce_sum(e, {0})};
  }));
  EXPECT_EQ(s.steps.size(), 2u);  // the column sum stores the values that it adds up
}

TEST(Fuse, ExpensiveVectorsAreNotRecomputedPerElement) {
  const Schedule s = check(trace({f32({50, 70}), f32({70})}, [](const Arrays& x) {
    return Arrays{x[0] + column_broadcast(lax::exp(x[1]), 50)};
  }));
  EXPECT_EQ(outline(s),
            "kernel (70,) lanes; loop () store\nkernel (50, 70) lanes; loop () store\n");
}

// A value of each row is computed in the loop over the row, unless vectors along rows would be
// mostly empty: then it is stored.
// The scale of a normalisation: a root and little more for each column.
TEST(Fuse, RootsOfColumnsAreNotRecomputedForManyRows) {
  const auto outline_of_columns = [](int64_t n) {
    return outline(check(trace({f32({n, 64}), f32({64}), f32({64})}, [n](const Arrays& x) {
      const Array scale = lax::rsqrt(x[1] * x[1] + 1) * x[2];
      return Arrays{x[0] * column_broadcast(scale, n)};
    })));
  };
  EXPECT_EQ(outline_of_columns(40), "kernel (40, 64) lanes; loop () store\n");
  EXPECT_EQ(outline_of_columns(512),
            "kernel (64,) lanes; loop () store\nkernel (512, 64) lanes; loop () store\n");
}
TEST(Fuse, ExpensiveValuesOfRows) {
  const auto outline_of_rows = [](int64_t m) {
    return outline(check(trace({f32({2000, m}), f32({2000})}, [m](const Arrays& x) {
      return Arrays{x[0] + row_broadcast(lax::exp(lax::sin(x[1])), m)};
    })));
  };
  EXPECT_EQ(outline_of_rows(70), "kernel (2000,) rows; loop (70,) store\n");
  EXPECT_EQ(
      outline_of_rows(3),
      "kernel (2000,) lanes; loop () store\nkernel (2000,) lanes; loop () store store store\n");
}

TEST(Fuse, StencilsDoNotGrowExponentially) {
  const Schedule s = check(trace({f32({64})}, [](const Arrays& x) {
    Array y = x[0];
    for (int k = 0; k < 12; ++k)
      y = lax::slice_in_dim(y, 1, y.shape()[0]) + lax::slice_in_dim(y, 0, y.shape()[0] - 1);
    return Arrays{y * 1e-4};
  }));
  size_t nodes = 0;
  for (const Step& step : s.steps) nodes += std::get<KernelStep>(step).kernel.nodes.size();
  EXPECT_LT(nodes, 500u);
}

TEST(Fuse, ConcatenationOfLargePartsIsStoredPartByPart) {
  const Schedule s = check(trace({f32({100, 200}), f32({100, 100})}, [](const Arrays& x) {
    return Arrays{lax::concatenate(Arrays{lax::exp(x[0]), x[1]}, 1)};
  }));
  EXPECT_EQ(outline(s),
            "kernel (100, 200) lanes; loop () store\nkernel (100, 100) lanes; loop () store\n");
}

TEST(Fuse, DenseLayerIsOneDot) {
  const Function f = trace({f32({6, 5}), f32({5, 7}), f32({7})}, [](const Arrays& x) {
    const Array y = lax::dot(x[0], x[1]) + lax::broadcast_in_dim(x[2], {6, 7}, {1});
    return Arrays{lax::max(y, lax::full_like(y, 0))};
  });
  EXPECT_EQ(outline(check(f)), "dot bias relu\n");
}

TEST(Fuse, TransposedOperandsAreDimensionNumbers) {
  const Schedule s = check(trace({f32({50, 6}), f32({7, 50})}, [](const Arrays& x) {
    return Arrays{lax::dot(lax::transpose(x[0], {1, 0}), lax::transpose(x[1], {1, 0}))};
  }));
  EXPECT_EQ(outline(s), "dot\n");
  const Schedule gram = check(trace({f32({50, 6})}, [](const Arrays& x) {
    return Arrays{lax::dot(x[0], lax::transpose(x[0], {1, 0}))};
  }));
  EXPECT_EQ(outline(gram), "dot symmetric\n");
  // A transpose among the free dimensions changes the result's order: it stays.
  const Schedule order = check(trace({f32({3, 4, 50}), f32({50, 7})}, [](const Arrays& x) {
    return Arrays{lax::dot_general(lax::transpose(x[0], {1, 0, 2}), x[1],
                                   {.lhs_contract = {2}, .rhs_contract = {0}})};
  }));
  EXPECT_EQ(outline(order), "kernel (4, 3, 50) lanes; loop () store\ndot\n");
}

// If contracting dimensions would have two orders, a product reads the transposed operand where
// that is in memory for another product.
TEST(Fuse, ATransposedOperandInMemoryKeepsTheOrderOfASum) {
  const Type x = f32({8, 5, 3}), y = f32({5, 8, 7}), w = f32({3, 9}), bias = f32({9});
  const lax::DotDims sums{.lhs_contract = {0, 1}, .rhs_contract = {0, 1}};
  const auto sum = [&](const Array& transposed, const Array& other) {
    return lax::dot_general(transposed, other, sums);
  };
  const auto turned = [](const Array& x) { return lax::transpose(x, {1, 0, 2}); };
  const Schedule shared = check(trace({x, y, w, bias}, [&](const Arrays& in) {
    const Array t = turned(in[0]);
    const Array layer = lax::dot_general(t, in[2], {.lhs_contract = {2}, .rhs_contract = {0}});
    return Arrays{layer + lax::broadcast_in_dim(in[3], {5, 8, 9}, {2}), sum(t, in[1])};
  }));
  const DotStep& second = std::get<DotStep>(shared.steps.back());
  EXPECT_EQ(second.lhs_contract, second.rhs_contract);
  EXPECT_EQ(outline(shared), "kernel (5, 8, 3) lanes; loop () store\ndot bias\ndot\n");
  // Nothing else stores it here.
  const Schedule alone =
      check(trace({x, y}, [&](const Arrays& in) { return Arrays{sum(turned(in[0]), in[1])}; }));
  EXPECT_EQ(outline(alone), "dot\n");
}

// The gradient of x . w with respect to w is the transpose of a product in JAX. A transpose that
// exchanges the free dimensions in another order, or has another reader of the product, stays.
TEST(Fuse, TransposedProductExchangesItsOperands) {
  const auto gradient = [](const Shape& permutation, bool read_again) {
    return check(trace({f32({2, 5, 6}), f32({2, 5, 7, 3})}, [&](const Arrays& x) {
      const Array y = lax::dot_general(x[0], x[1], {{1}, {1}, {0}, {0}});  // (2, 6, 7, 3)
      Arrays out{lax::transpose(y, permutation) * 2.f};
      if (read_again) out.push_back(y);
      return out;
    }));
  };
  const Schedule swapped = gradient({0, 2, 3, 1}, false);
  EXPECT_EQ(outline(swapped), "dot\nkernel (252,) lanes; loop () store\n");
  const DotStep& dot = std::get<DotStep>(swapped.steps[0]);
  EXPECT_EQ(swapped.slots[static_cast<size_t>(dot.lhs)].shape, (Shape{2, 5, 7, 3}));
  EXPECT_EQ(swapped.slots[static_cast<size_t>(dot.out)].shape, (Shape{2, 7, 3, 6}));
  for (const auto& [permutation, read_again] : std::vector<std::pair<Shape, bool>>{
           {{0, 3, 2, 1}, false}, {{2, 3, 0, 1}, false}, {{0, 2, 3, 1}, true}}) {
    const Schedule kept = gradient(permutation, read_again);
    const DotStep& step = std::get<DotStep>(kept.steps[0]);
    EXPECT_EQ(kept.slots[static_cast<size_t>(step.out)].shape, (Shape{2, 6, 7, 3})) << permutation;
  }
  // A product whose rows must not depend on each other keeps its operands.
  const Schedule invariant = check(trace({f32({30, 20}), f32({20, 40})}, [](const Arrays& x) {
    return Arrays{lax::transpose(ops::invariant_dot(x[0], x[1], {1}, {0}, {}, {}), {1, 0})};
  }));
  const DotStep& sums = std::get<DotStep>(invariant.steps[0]);
  EXPECT_EQ(invariant.slots[static_cast<size_t>(sums.out)].shape, (Shape{30, 40}));
  // A bias along the last dimension of the transpose is added by the product.
  const Schedule biased = check(trace({f32({6, 5}), f32({5, 7}), f32({6})}, [](const Arrays& x) {
    return Arrays{lax::transpose(lax::dot(x[0], x[1]), {1, 0}) +
                  lax::broadcast_in_dim(x[2], {7, 6}, {1})};
  }));
  EXPECT_EQ(outline(biased), "dot bias\n");
}

TEST(Fuse, WideningBeforeADotIsExact) {
  const Schedule s = check(
      trace({array_type(bfloat16, {4, 5}), array_type(bfloat16, {5, 3})}, [](const Arrays& x) {
        return Arrays{lax::dot(lax::convert_element_type(x[0], float32),
                               lax::convert_element_type(x[1], float32))};
      }));
  EXPECT_EQ(outline(s), "dot\n");
}

TEST(Fuse, DotWithAnotherReaderKeepsItsResult) {
  const Schedule s = check(trace({f32({6, 50}), f32({50, 7}), f32({7})}, [](const Arrays& x) {
    const Array y = lax::dot(x[0], x[1]);
    return Arrays{y + lax::broadcast_in_dim(x[2], {6, 7}, {1}), y * 2};
  }));
  EXPECT_EQ(outline(s), "dot\nkernel (6, 7) lanes; loop () store store\n");
}

TEST(Fuse, ConstantsAndPassedThroughInputs) {
  check(trace({f32({3})}, [](const Arrays& x) {
    const std::vector<float> values = {1, 2, 3};
    return Arrays{x[0], lax::full({2, 2}, 7, float32),
                  lax::constant(Literal::from<float>(values, {3})) + x[0],
                  lax::constant(Literal::from<float>(values, {3})), x[0]};
  }));
}

TEST(Fuse, LargeOutputsAreStreamed) {
  const Function f = trace({f32({1024, 1024})}, [](const Arrays& x) { return Arrays{x[0] * 2}; });
  EXPECT_FALSE(std::get<KernelStep>(fuse(simplified(f), Mesh()).steps[0]).kernel.streaming_stores);
  EXPECT_TRUE(
      std::get<KernelStep>(fuse(simplified(f), Mesh(), {.last_level_cache = 4 << 20}).steps[0])
          .kernel.streaming_stores);
}

TEST(Fuse, OpsWithoutAPlaceAreErrors) {
  Function f;
  const ValueId x = f.add_input(f32({3}));
  static OpDef nameless;
  nameless.name = "nowhere";
  f.outputs = {f.add_op(nameless, NoParams{}, {x}, std::array{f32({3})}, "user.cc:7")[0]};
  try {
    fuse(simplified(f), Mesh());
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "[stablehlo.nowhere] expected an op that fusion can place in a schedule, got one "
                 "without a lowering; called at user.cc:7");
  }
}

// Every layer adds about the same number of nodes: inlined values are not inlined repeatedly.
TEST(Fuse, SchedulesGrowAsTheirPrograms) {
  struct Size {
    size_t ops = 0, steps = 0, nodes = 0;
  };
  const auto size = [](int layers) {
    const Function f = trace({f32({64, 64})}, [&](const Arrays& x) {
      Array y = x[0];
      for (int k = 0; k < layers; ++k)
        y = lax::tanh(y * 0.5 + x[0]) + row_broadcast(lax::reduce_sum(y, {1}), 64);
      return Arrays{y};
    });
    const Schedule s = fuse(simplified(f), Mesh());
    Size out{f.ops.size(), s.steps.size(), 0};
    for (const Step& step : s.steps)
      if (const auto* kernel = std::get_if<KernelStep>(&step))
        out.nodes += kernel->kernel.nodes.size();
    return out;
  };
  const Size few = size(20), many = size(100);
  EXPECT_GE(many.ops, 500u);
  EXPECT_LE(many.steps, 5 * few.steps);
  EXPECT_LE(many.nodes, 6 * few.nodes);
}

// Two results of one shape that read one array are one kernel. If they only have a scalar or a row
// in common, large ones are computed where their other operands are.
TEST(Fuse, LargeResultsWithAScalarInCommonAreTwoKernels) {
  const auto kernels = [](int64_t n, bool array) {
    const Schedule s =
        check(trace({f32({8, n}), f32({8, n}), f32({8, n}), f32({n})}, [&](const Arrays& x) {
          const Array both = array ? x[2] : lax::broadcast_in_dim(x[3], {8, n}, {1});
          return Arrays{x[0] * both, x[1] * both};
        }));
    return s.steps.size();
  };
  EXPECT_EQ(kernels(16, false), 1u);
  EXPECT_EQ(kernels(4096, false), 1u);  // a row of 8 is an eighth of the array
  EXPECT_EQ(kernels(4096, true), 1u);
  const auto with_scalar = [](int64_t n) {
    const Schedule s = check(trace({f32({n}), f32({n}), f32({})}, [&](const Arrays& x) {
      const Array both = lax::broadcast_in_dim(x[2], {n}, {});
      return Arrays{x[0] * both, x[1] * both};
    }));
    return s.steps.size();
  };
  EXPECT_EQ(with_scalar(100), 1u);
  EXPECT_EQ(with_scalar(40000), 2u);
}

}  // namespace
}  // namespace tessera::fusion_testing::fuse_test
