#include "tessera/fusion/kernels/short_rows.h"

#include <gmock/gmock.h>

#include <map>

#include "fusion_testing.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"

namespace tessera::fusion_testing::short_rows_test {

using namespace array_math;

namespace {

Array column(const Array& x, int64_t k) { return lax::slice_in_dim(x, k, k + 1, 1, 1); }
Arrays cross_product(const Arrays& x) {
  const auto term = [&](int64_t i, int64_t j) {
    return column(x[0], i) * column(x[1], j) - column(x[0], j) * column(x[1], i);
  };
  return {lax::concatenate(Arrays{term(1, 2), term(2, 0), term(0, 1)}, 1)};
}

TEST(ShortRows, AColumnIsAVector) {
  const Schedule s = check(trace({f32({100, 3}), f32({100, 3})}, cross_product));
  ASSERT_EQ(s.steps.size(), 1u) << to_string(s);
  const Kernel& kernel = std::get<KernelStep>(s.steps[0]).kernel;
  EXPECT_EQ(kernel.parallel, Dims({100}));
  ASSERT_EQ(kernel.loops[0].stores.size(), 3u);
  for (int64_t c = 0; c < 3; ++c) EXPECT_EQ(kernel.loops[0].stores[c].address.offset, c);
  // The column of each store is known, so there is no select, and each element is loaded once.
  int loads = 0;
  for (const KernelNode& node : kernel.nodes) {
    loads += node.kind == NodeKind::kLoad;
    EXPECT_EQ(node.guard, -1);
    EXPECT_FALSE(node.kind == NodeKind::kScalarOp && node.op == ScalarOp::kSelect);
  }
  EXPECT_EQ(loads, 6);
}

TEST(ShortRows, LargeConcatenationsOfColumnsAreOneKernel) {
  const Schedule s = check(trace({f32({8000, 3}), f32({8000, 3})}, cross_product));
  EXPECT_EQ(s.steps.size(), 1u) << to_string(s);
}

TEST(ShortRows, SeveralDimensions) {
  const Schedule s = check(trace({f32({90, 2, 2}), f32({90, 2, 2})}, [](const Arrays& x) {
    return Arrays{lax::transpose(x[0], {0, 2, 1}) * lax::rev(x[1], {1})};
  }));
  const Kernel& kernel = std::get<KernelStep>(s.steps[0]).kernel;
  EXPECT_EQ(kernel.parallel, Dims({90}));
  EXPECT_EQ(kernel.loops[0].stores.size(), 4u);
}

// The gradient of determinants has many terms, and each column of it contains only a few.
TEST(ShortRows, GuardsThatColumnsDecideAreDropped) {
  const auto terms = [](const Arrays& x) {
    Array sum;
    for (int64_t i = 0; i < 9; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        const Array product = column(x[0], (i + 1) % 9) * column(x[0], (i + 2 + j) % 9);
        const Array term = lax::pad(product, lax::full({}, 0, float32), {0, i}, {0, 8 - i}, {0, 0});
        sum = sum.defined() ? sum + term : term;
      }
    return Arrays{sum};
  };
  const Schedule s = check(trace({f32({100, 9})}, terms));
  ASSERT_EQ(s.steps.size(), 1u) << to_string(s);
  const Kernel& kernel = std::get<KernelStep>(s.steps[0]).kernel;
  EXPECT_EQ(kernel.parallel, Dims({100}));
  for (const KernelNode& node : kernel.nodes) EXPECT_EQ(node.guard, -1);
}

Dims parallel_of(const std::vector<Type>& types, const std::function<Arrays(const Arrays&)>& body) {
  const Schedule s = check(trace(types, body));
  return std::get<KernelStep>(s.steps[0]).kernel.parallel;
}

Array rows_at(const Array& table, const Array& positions) {
  const int64_t columns = table.shape()[1], n = positions.shape()[0];
  return lax::gather(table, lax::reshape(positions, {n, 1}),
                     {.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}},
                     Dims{1, columns});
}

// Each column has a load of the table, and all of them share the load of the position.
TEST(ShortRows, GathersOfRows) {
  const Schedule s = check(trace({f32({40, 3}), {int32, {100}}},
                                 [](const Arrays& x) { return Arrays{rows_at(x[0], x[1])}; }));
  const Kernel& kernel = std::get<KernelStep>(s.steps[0]).kernel;
  EXPECT_EQ(kernel.parallel, Dims({100}));
  EXPECT_EQ(kernel.loops[0].stores.size(), 3u);
  std::map<int, int> loads;  // of each buffer
  for (const KernelNode& node : kernel.nodes)
    if (node.kind == NodeKind::kLoad) ++loads[node.buffer];
  std::vector<int> counts;
  for (const auto& [buffer, count] : loads) counts.push_back(count);
  EXPECT_THAT(counts, testing::UnorderedElementsAre(3, 1));
}

// Positions that differ between the columns are loaded as the result is stored: nothing is short.
TEST(ShortRows, GathersOfElementsStayAsTheyAre) {
  const Schedule s = check(trace({f32({40}), {int32, {100, 3}}}, [](const Arrays& x) {
    return Arrays{lax::gather(x[0], lax::reshape(x[1], {100, 3, 1}),
                              {.collapsed_slice_dims = {0}, .start_index_map = {0}}, Dims{1})};
  }));
  EXPECT_EQ(std::get<KernelStep>(s.steps[0]).kernel.parallel.elements(), 300);
}

TEST(ShortRows, KernelsThatStayAsTheyAre) {
  const auto flipped = [](const Arrays& x) { return Arrays{lax::rev(x[0], {1})}; };
  EXPECT_EQ(parallel_of({f32({100, 3})}, flipped), Dims({100}));
  EXPECT_EQ(parallel_of({f32({63, 3})}, flipped), Dims({63, 3}));      // too few rows
  EXPECT_EQ(parallel_of({f32({100, 17})}, flipped), Dims({100, 17}));  // rows are too long
  // The kernel has nothing that would be slow with whole rows.
  EXPECT_EQ(parallel_of({f32({100, 3}), f32({3})},
                        [](const Arrays& x) {
                          return Arrays{x[0] * lax::broadcast_in_dim(x[1], {100, 3}, {1})};
                        }),
            Dims({100, 3}));
  // Rows of 10 that are copied fill most of a vector, those of 9 do not.
  const auto copied = [](int64_t columns) {
    return parallel_of({f32({100, columns + 2})}, [&](const Arrays& x) {
      return Arrays{lax::slice(x[0], {0, 1}, {100, columns + 1})};
    });
  };
  EXPECT_EQ(copied(10), Dims({100, 10}));
  EXPECT_EQ(copied(9), Dims({100}));
  // The rows are far apart in memory.
  EXPECT_EQ(
      parallel_of({f32({2000, 3})},
                  [](const Arrays& x) {
                    return Arrays{lax::rev(lax::slice(x[0], {0, 0}, {2000, 3}, {20, 1}), {1})};
                  }),
      Dims({100, 3}));
}

}  // namespace
}  // namespace tessera::fusion_testing::short_rows_test
