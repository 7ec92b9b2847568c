#include "tessera/fusion/kernels/short_folds.h"

#include <gmock/gmock.h>

#include <cmath>

#include "fusion_testing.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::fusion_testing::short_folds_test {

using namespace array_math;

namespace {

Kernel kernel_of(const std::vector<Type>& types, const std::function<Arrays(const Arrays&)>& body) {
  const Schedule s = check(trace(types, body));
  EXPECT_EQ(s.steps.size(), 1u) << to_string(s);
  return std::get<KernelStep>(s.steps[0]).kernel;
}
bool is_unrolled(const Kernel& kernel) {
  return kernel.vectorize == Kernel::Vectorize::kParallel && kernel.loops.size() == 1 &&
         kernel.loops[0].extents.empty();
}
Kernel fold_of(DType dtype, int64_t rows, int64_t columns,
               Array (*fold)(const Array&, const Dims&)) {
  return kernel_of({array_type(dtype, {rows, columns})},
                   [&](const Arrays& x) { return Arrays{fold(x[0], {1})}; });
}
Array largest(const Array& x, const Dims& dims) { return lax::reduce_max(x, dims); }
Array smallest(const Array& x, const Dims& dims) { return lax::reduce_min(x, dims); }
Array total(const Array& x, const Dims& dims) { return lax::reduce_sum(x, dims); }

TEST(ShortFolds, AColumnIsAVector) {
  const Kernel kernel = fold_of(float32, 100, 8, largest);
  ASSERT_TRUE(is_unrolled(kernel)) << to_string(kernel);
  int loads = 0;
  for (const KernelNode& node : kernel.nodes) loads += node.kind == NodeKind::kLoad;
  EXPECT_EQ(loads, 8);
}

TEST(ShortFolds, AllThatAreExact) {
  for (int64_t columns : {5, 8, 12, 16})
    for (DType dtype : {float32, float64, bfloat16, int8, int32, uint8}) {
      SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << " " << columns);
      // A row of integers that fills a vector is folded across its lanes.
      const bool unrolls = is_floating(dtype) || columns * itemsize(dtype) < 64;
      EXPECT_EQ(is_unrolled(fold_of(dtype, 100, columns, largest)), unrolls);
      EXPECT_EQ(is_unrolled(fold_of(dtype, 100, columns, smallest)), unrolls);
      // The sum of a shorter row is from its first element to the last with and without this.
      EXPECT_EQ(is_unrolled(fold_of(dtype, 100, columns, total)),
                unrolls && (is_integer(dtype) || columns < 16));
    }
}

// The elements of a row are stored by columns too.
TEST(ShortFolds, SoftmaxOfShortRows) {
  const auto softmax_of = [](DType dtype, int64_t rows, int64_t columns) {
    return check(trace({array_type(dtype, {rows, columns})}, [&](const Arrays& x) {
      const auto along = [&](const Array& of_rows) {
        return lax::broadcast_in_dim(of_rows, {rows, columns}, {0});
      };
      const Array e = lax::exp(x[0] - along(lax::reduce_max(x[0], {1})));
      // As JAX sums narrow floats.
      const Array sum =
          lax::reduce_sum(is_half(dtype) ? lax::convert_element_type(e, float32) : e, {1});
      return Arrays{e / along(lax::convert_element_type(sum, dtype))};
    }));
  };
  for (int64_t columns : {2, 3, 7, 10, 15})
    for (DType dtype : {float32, float64, bfloat16, float16}) {
      SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << " " << columns);
      for (const Step& step : softmax_of(dtype, 1024, columns).steps)
        EXPECT_TRUE(is_unrolled(std::get<KernelStep>(step).kernel));
    }
  // A sum of bfloat16 adds float32 that are not rounded.
  const Schedule sum = check(trace({array_type(bfloat16, {1024, 10})}, [](const Arrays& x) {
    return Arrays{lax::reduce_sum(lax::exp(x[0]), {1})};
  }));
  EXPECT_FALSE(is_unrolled(std::get<KernelStep>(sum.steps[0]).kernel));
  // Few rows are not worth the time to compile so much code.
  const Schedule few = softmax_of(float32, 1023, 10);
  EXPECT_FALSE(is_unrolled(std::get<KernelStep>(few.steps[0]).kernel));
}

// A loop reads what an earlier one has stored as a result, as in the gradient of a softmax;
// unrolled, the value is in a register.
TEST(ShortFolds, ResultsThatAreReadBack) {
  for (int64_t columns : {3, 4, 10}) {
    SCOPED_TRACE(::testing::Message() << columns);
    const Type rows = f32({2048, columns});
    const Schedule s = check(trace({rows, rows}, [&](const Arrays& x) {
      const auto along = [&](const Array& of_rows) {
        return lax::broadcast_in_dim(of_rows, rows.shape, {0});
      };
      const Array e = lax::exp(x[0] - along(lax::reduce_max(x[0], {1})));
      const Array sum = lax::reduce_sum(e, {1});
      const Array slope = lax::reduce_sum(x[1] * (1 / along(sum * sum)) * e, {1});
      return Arrays{e * (x[1] / along(sum) - along(slope))};
    }));
    EXPECT_TRUE(is_unrolled(std::get<KernelStep>(s.steps[0]).kernel)) << to_string(s);
  }
}

// Rows have equal elements, and some have NaN.
TEST(ShortFolds, PlacesOfExtrema) {
  for (int64_t columns : {8, 10, 16})
    for (DType dtype : {float32, float64, bfloat16, float16, int8, int32, uint8, bool_})
      for (DType index : {int32, int64})
        for (bool most : {false, true}) {
          SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << " " << columns);
          const Function f = trace({array_type(dtype, {100, columns})}, [&](const Arrays& x) {
            return Arrays{most ? lax::argmax(x[0], 1, index) : lax::argmin(x[0], 1, index)};
          });
          std::vector<Literal> inputs = random_inputs(f);
          if (dtype == float32) {
            float* x = inputs[0].mutable_data<float>();
            for (int64_t i = 0; i < inputs[0].elements(); ++i)
              x[i] = i % 37 == 5 ? NAN : i % 3 == 0 ? -0.0F : std::round(x[i]);
          }
          const Schedule s = check(f, inputs);
          ASSERT_EQ(s.steps.size(), 1u) << to_string(s);
          EXPECT_TRUE(is_unrolled(std::get<KernelStep>(s.steps[0]).kernel)) << to_string(s);
        }
}

// An extremum and its place are results of one loop.
TEST(ShortFolds, PlacesBesideOtherFolds) {
  const Kernel kernel = kernel_of({f32({100, 10})}, [](const Arrays& x) {
    return Arrays{lax::reduce_max(x[0], {1}), lax::argmax(x[0], 1, int32),
                  lax::argmin(x[0], 1, int32), lax::reduce_min(x[0], {1})};
  });
  EXPECT_TRUE(is_unrolled(kernel)) << to_string(kernel);
}

// The elements are computed for each column, the place in the row too, and a second fold reads the
// first one.
TEST(ShortFolds, WhatIsFoldedAndWhatReadsTheResult) {
  const Kernel kernel =
      kernel_of({array_type(int32, {100, 6}), array_type(int32, {100})}, [](const Arrays& x) {
        const Array places = lax::iota(int32, {100, 6}, 1);
        const Array most = lax::reduce_max(x[0] * places, {1});
        return Arrays{most + x[1]};
      });
  EXPECT_TRUE(is_unrolled(kernel)) << to_string(kernel);
}

TEST(ShortFolds, KernelsThatStayAsTheyAre) {
  EXPECT_FALSE(is_unrolled(fold_of(float32, 63, 8, largest)));    // too few rows
  EXPECT_FALSE(is_unrolled(fold_of(float32, 100, 17, largest)));  // rows are too long
  // Columns that are folded have their lanes already.
  const Kernel columns = kernel_of(
      {f32({8, 100})}, [](const Arrays& x) { return Arrays{lax::reduce_max(x[0], {0})}; });
  EXPECT_EQ(columns.loops[0].extents, Dims({8}));
  // Another loop runs along the rows.
  const Kernel softmax = kernel_of({f32({100, 16})}, [](const Arrays& x) {
    const Array most = lax::broadcast_in_dim(lax::reduce_max(x[0], {1}), {100, 16}, {0});
    return Arrays{lax::exp(x[0] - most)};
  });
  EXPECT_EQ(softmax.loops[0].extents, Dims({16}));
}

}  // namespace
}  // namespace tessera::fusion_testing::short_folds_test
