#include "tessera/fusion/kernels/narrow_indices.h"

#include <algorithm>

#include "fusion_testing.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"

namespace tessera::fusion_testing::narrow_indices_test {

using namespace array_math;

namespace {

// Returns whether all kernels of the function are without wide integers that are computed. Compares
// the results with those of the function.
bool is_narrow_everywhere(const std::vector<Type>& types,
                          const std::function<Arrays(const Arrays&)>& body) {
  const Schedule schedule = check(trace(types, body));
  for (const Step& step : schedule.steps)
    for (const KernelNode& node : std::get<KernelStep>(step).kernel.nodes)
      if (node.kind != NodeKind::kConstant && (node.dtype == int64 || node.dtype == uint64))
        return false;
  return true;
}

Array converted(const Array& x, DType dtype) { return lax::convert_element_type(x, dtype); }
Array number(DType dtype, const Array& like, double value) {
  return lax::full(like.shape(), value, dtype);
}

// The halves of the indices of one and of two dimensions, as JAX's random numbers compute them.
TEST(NarrowIndices, HalvesOfIndices) {
  for (const DType dtype : {uint64, int64})
    for (const Shape& shape : {Shape{1000}, Shape{30, 40}, Shape{3, 5, 7}})
      EXPECT_TRUE(is_narrow_everywhere(
          {array_type(uint32, shape)},
          [&](const Arrays& x) {
            Array index = number(dtype, x[0], 0);
            int64_t stride = 1;
            for (int64_t d = shape.rank() - 1; d >= 0; --d) {
              index = index +
                      lax::iota(dtype, shape, d) * number(dtype, x[0], static_cast<double>(stride));
              stride *= shape[d];
            }
            const Array upper = lax::shift_right_logical(index, number(dtype, index, 32));
            const Array third = lax::shift_right_logical(index, number(dtype, index, 3));
            return Arrays{x[0] + converted(index, uint32),
                          lax::bitwise_xor(x[0], converted(upper, uint32)),
                          converted(third, float32), converted(index, int8)};
          }))
          << dtype << shape;
}

// Numbers that may be too large or negative, and those that are read as they are, stay wide.
TEST(NarrowIndices, WhatStaysWide) {
  const Shape shape{100};
  const auto wide = [&](const std::function<Array(const Array&)>& of_index) {
    return !is_narrow_everywhere({array_type(uint32, shape)}, [&](const Arrays& x) {
      return Arrays{x[0] + converted(of_index(lax::iota(int64, shape, 0)), uint32)};
    });
  };
  EXPECT_TRUE(wide([](const Array& i) { return i * number(int64, i, 0x1p26); }));
  EXPECT_FALSE(wide([](const Array& i) { return i * number(int64, i, 0x1p24); }));
  EXPECT_TRUE(wide([](const Array& i) { return i + number(int64, i, 0x1p31 - 99); }));
  EXPECT_FALSE(wide([](const Array& i) { return i + number(int64, i, 0x1p31 - 100); }));
  EXPECT_TRUE(wide([](const Array& i) { return i + number(int64, i, -1); }));
  EXPECT_TRUE(wide([](const Array& i) { return i - number(int64, i, 1); }));
  EXPECT_FALSE(is_narrow_everywhere({array_type(int32, shape)}, [&](const Arrays& x) {
    const Array i = lax::iota(int64, shape, 0);
    return Arrays{x[0] + converted(i, int32), i * i};
  }));
  EXPECT_FALSE(is_narrow_everywhere({array_type(int64, shape)}, [&](const Arrays& x) {
    return Arrays{converted(x[0] + lax::iota(int64, shape, 0), int32)};
  }));
  EXPECT_FALSE(is_narrow_everywhere({array_type(int32, shape)}, [&](const Arrays&) {
    return Arrays{converted(lax::reduce_sum(lax::iota(int64, shape, 0), {0}), int32)};
  }));
}

}  // namespace
}  // namespace tessera::fusion_testing::narrow_indices_test
