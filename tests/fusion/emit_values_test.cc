#include <algorithm>
#include <cmath>
#include <limits>

#include "fusion_testing.h"

namespace tessera::fusion_testing::emit_values_test {

using namespace array_math;

namespace {

Array to(const Array& x, DType dtype) { return lax::convert_element_type(x, dtype); }

std::vector<DType> dtypes_in(const Schedule& s) {
  std::vector<DType> out;
  for (const Step& step : s.steps)
    for (const KernelNode& node : std::get<KernelStep>(step).kernel.nodes)
      out.push_back(node.dtype);
  return out;
}

// The gradient of a sum of bfloat16, which JAX computes in float32.
TEST(EmitValues, WhatWasMadeWiderIsCopied) {
  for (DType narrow : {bfloat16, float16}) {
    const Schedule s = check(trace({array_type(narrow, {64})}, [&](const Arrays& x) {
      return Arrays{to(lax::broadcast_in_dim(to(x[0], float32), {50, 64}, {1}), narrow)};
    }));
    EXPECT_EQ(dtypes_in(s), std::vector<DType>{narrow}) << to_string(s);
  }
}

TEST(EmitValues, ExactWideningsOfAllKinds) {
  using Pair = std::pair<DType, DType>;
  for (const auto& [narrow, wide] : {Pair{float32, float64}, Pair{bfloat16, float64},
                                     Pair{int8, int64}, Pair{uint8, int16}, Pair{bool_, float32}}) {
    const Schedule s = check(trace({array_type(narrow, {50})}, [&](const Arrays& x) {
      return Arrays{to(to(x[0], wide), narrow)};
    }));
    EXPECT_EQ(dtypes_in(s), std::vector<DType>{narrow}) << to_string(s);
  }
}

// These lose digits, or a sign.
TEST(EmitValues, OtherPairsOfConversionsStay) {
  using Pair = std::pair<DType, DType>;
  for (const auto& [first, second] :
       {Pair{float32, bfloat16}, Pair{float16, bfloat16}, Pair{int32, int8}, Pair{int8, uint16},
        Pair{int32, bool_}, Pair{int32, float32}}) {
    const Schedule s = check(trace({array_type(first, {50})}, [&](const Arrays& x) {
      return Arrays{to(to(x[0], second), first)};
    }));
    EXPECT_GT(dtypes_in(s).size(), 1u) << to_string(s);
  }
}

// A computed 16-bit float is rounded by the conversions, as if it were stored.
TEST(EmitValues, ComputedHalvesAreRounded) {
  const Function f = trace({array_type(bfloat16, {64})}, [](const Arrays& x) {
    const Array y = to(to(x[0] * x[0], float32), bfloat16);
    return Arrays{lax::eq(y, x[0] * x[0]), y - x[0]};
  });
  check(f);
}

TEST(EmitValues, CopiesKeepTheBitsOfSpecialValues) {
  const Function f = trace({array_type(bfloat16, {8})},
                           [](const Arrays& x) { return Arrays{to(to(x[0], float32), bfloat16)}; });
  Literal x(bfloat16, {8});
  const float values[] = {0.0F,   -0.0F,   std::numeric_limits<float>::infinity(), -INFINITY, NAN,
                          1e-39F, -1e-40F, std::numeric_limits<float>::max()};
  for (int k = 0; k < 8; ++k) x.mutable_data<Bfloat16>()[k] = Bfloat16(values[k]);
  const auto got = ScheduleInterpreter(fuse(simplified(f), Mesh())).run({{x}});
  for (int k = 0; k < 8; ++k)
    EXPECT_EQ(got[0][0].data<Bfloat16>()[k].bits, x.data<Bfloat16>()[k].bits) << values[k];
}

int count_of(const Schedule& s, ScalarOp op) {
  int count = 0;
  for (const Step& step : s.steps)
    if (const auto* kernel = std::get_if<KernelStep>(&step))
      for (const KernelNode& node : kernel->kernel.nodes)
        count += node.kind == NodeKind::kScalarOp && node.op == op;
  return count;
}

// The exponentials of columns, their sums, and a sum that reads both, as in the gradient of a
// softmax of columns.
Function columns_and_sums(DType dtype) {
  return trace({array_type(dtype, {40, 30}), array_type(dtype, {40, 30})}, [&](const Arrays& x) {
    const auto rows = [](const Array& v) { return lax::broadcast_in_dim(v, {40, 30}, {1}); };
    const Array e = lax::exp(x[0] - rows(lax::reduce_max(x[0], {0})));
    const Array sums = lax::reduce_sum(e, {0});
    return Arrays{e, lax::reduce_sum(e * x[1] / rows(sums), {0})};
  });
}

TEST(EmitValues, LaterLoopsLoadWhatAnEarlierOneHasStored) {
  for (DType dtype : {float32, float64, bfloat16}) {
    const Schedule s = check(columns_and_sums(dtype));
    EXPECT_EQ(s.steps.size(), 1u) << to_string(s);
    EXPECT_EQ(count_of(s, ScalarOp::kExp), 1) << to_string(s);
  }
}

TEST(EmitValues, StoresThatBypassTheCachesAreNotLoaded) {
  const Function f = simplified(columns_and_sums(float32));
  EXPECT_EQ(count_of(fuse(f, Mesh(), {.last_level_cache = 4 << 20}), ScalarOp::kExp), 1);
  EXPECT_EQ(count_of(fuse(f, Mesh(), {.last_level_cache = 4 << 10}), ScalarOp::kExp), 2);
}

// The rows of x, except for the one at the position i, which is y: whether an element is in that
// row does not depend on its column, and needs one comparison.
TEST(EmitValues, UpdatesOfWholeRowsCompareOnlyRows) {
  const Function f =
      trace({array_type(float32, {20, 30}), array_type(float32, {1, 30}), array_type(int32, {})},
            [](const Arrays& x) {
              const Array zero(Literal::scalar(int32_t{0}));
              return Arrays{
                  lax::sin(lax::dynamic_update_slice(x[0], x[1], std::vector<Array>{x[2], zero}))};
            });
  const Schedule s = check(f);
  ASSERT_EQ(s.steps.size(), 1u) << to_string(s);
  const Kernel& kernel = std::get<KernelStep>(s.steps[0]).kernel;
  int comparisons = 0, columns = 0;
  for (const KernelNode& node : kernel.nodes) {
    if (node.dtype == bool_) ++comparisons;
    if (node.kind == NodeKind::kIndex) ++columns;
  }
  EXPECT_EQ(comparisons, 1) << to_string(s);
  EXPECT_EQ(columns, 1) << to_string(s);  // the index of the row
}

}  // namespace
}  // namespace tessera::fusion_testing::emit_values_test
