#include "tessera/fusion/kernels/half_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "fusion_testing.h"
#include "tessera/ops/core/array_math.h"

namespace tessera::fusion_testing::half_bits_test {

using namespace array_math;

namespace {

bool has_floats(const Schedule& s) {
  return std::any_of(s.steps.begin(), s.steps.end(), [](const Step& step) {
    const Kernel& kernel = std::get<KernelStep>(step).kernel;
    return std::any_of(kernel.nodes.begin(), kernel.nodes.end(),
                       [](const KernelNode& node) { return is_half(node.dtype); });
  });
}

Arrays next(const Arrays& x) { return {lax::nextafter(x[0], x[1])}; }

// All pairs of special values and their neighbours.
std::vector<Literal> special_pairs(DType dtype) {
  const uint16_t infinity = dtype == bfloat16 ? 0x7f80 : 0x7c00;
  std::vector<uint16_t> bits;
  for (uint16_t magnitude :
       {0, 1, 2, 0x80, 0x3c00, 0x3f80, infinity - 1, +infinity, infinity + 1, 0x7fff})
    for (uint16_t sign : {0, 0x8000}) bits.push_back(magnitude | sign);
  const auto n = static_cast<int64_t>(bits.size());
  std::vector<Literal> out(2, Literal(dtype, {n, n}));
  for (int64_t i = 0; i < n * n; ++i)
    for (int k : {0, 1}) {
      const uint16_t value = bits[k == 0 ? i / n : i % n];
      std::memcpy(out[k].mutable_raw() + 2 * i, &value, 2);
    }
  return out;
}

TEST(HalfBits, NextAfterIsComputedOnIntegers) {
  for (DType dtype : {bfloat16, float16}) {
    const std::vector<Literal> inputs = special_pairs(dtype);
    const Type type = array_type(dtype, inputs[0].shape());
    const Function f = trace({type, type}, next);
    EXPECT_FALSE(has_floats(check(f, inputs)));
    // Also the signs of zeros and the bits of NaN are those of the evaluator.
    const Literal want = evaluate(f, inputs)[0];
    const auto got =
        ScheduleInterpreter(fuse(simplified(f), Mesh())).run({{inputs[0]}, {inputs[1]}});
    for (int64_t i = 0; i < want.elements(); ++i) {
      uint16_t a, b;
      std::memcpy(&a, got[0][0].raw() + 2 * i, 2);
      std::memcpy(&b, want.raw() + 2 * i, 2);
      EXPECT_EQ(a, b) << i;
    }
  }
}

TEST(HalfBits, PositionsAndChoices) {
  const Type type = array_type(bfloat16, {40, 30});
  EXPECT_FALSE(
      has_floats(check(trace({type, type, array_type(bool_, {40, 30})}, [](const Arrays& x) {
        const Array y = lax::nextafter(lax::rev(x[0], {1}), lax::slice(x[1], {0, 0}, {40, 30}));
        return Arrays{lax::select(x[2], y, x[0])};
      }))));
}

TEST(HalfBits, ComparisonsBesideBitcasts) {
  for (DType dtype : {bfloat16, float16}) {
    const std::vector<Literal> inputs = special_pairs(dtype);
    const Type type = array_type(dtype, inputs[0].shape());
    const Function f = trace({type, type}, [](const Arrays& x) {
      const Array a = lax::bitcast_convert_type(x[0], uint16),
                  b = lax::bitcast_convert_type(x[1], uint16);
      const Array zero = lax::full(x[1].shape(), 0, x[1].dtype());
      Arrays out;
      for (auto* compare : {lax::eq, lax::ne, lax::lt, lax::le, lax::gt, lax::ge}) {
        out.push_back(lax::select(compare(x[0], x[1]), a, b));
        out.push_back(lax::select(compare(x[0], x[0]), a, b));
        out.push_back(lax::select(compare(x[1], zero), a, b));
      }
      return out;
    });
    const Schedule s = check(f, inputs);
    EXPECT_FALSE(has_floats(s)) << to_string(s);
  }
}

// What is computed of floats needs their values.
TEST(HalfBits, ArithmeticStays) {
  const Type type = array_type(bfloat16, {40, 30});
  EXPECT_TRUE(has_floats(check(trace(
      {type, type}, [](const Arrays& x) { return Arrays{lax::nextafter(x[0] * x[1], x[1])}; }))));
  EXPECT_TRUE(has_floats(check(trace({type, type}, [](const Arrays& x) {
    return Arrays{lax::reduce_sum(lax::nextafter(x[0], x[1]), {1})};
  }))));
  EXPECT_TRUE(has_floats(check(trace({type, type}, [](const Arrays& x) {
    return Arrays{lax::nextafter(x[0], x[1]), lax::convert_element_type(x[0], float32)};
  }))));
}

}  // namespace
}  // namespace tessera::fusion_testing::half_bits_test
