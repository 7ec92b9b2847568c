#include "tessera/per_example/widen.h"

#include <gtest/gtest.h>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"
#include "tests/trace/control_flow.h"

namespace tessera::widen_test {

using namespace per_example;

namespace {

using namespace array_math;
using Arrays = std::vector<Array>;

TEST(Widened, HalvesAreFloat32InTypesAndParams) {
  const Function f = trace_function(
                         [](const Arrays& x) {
                           const Array narrow = lax::convert_element_type(x[0], bfloat16);
                           return Arrays{lax::dot(narrow, x[1])};
                         },
                         std::vector<Type>{{float32, {2, 3}}, {bfloat16, {3, 2}}})
                         .function;
  EXPECT_TRUE(has_halves(f));
  const Function wide = widened(f);
  EXPECT_FALSE(has_halves(wide));
  Literal x(float32, {2, 3}), y(float32, {3, 2});
  for (int i = 0; i < 6; ++i) x.mutable_data<float>()[i] = y.mutable_data<float>()[i] = 1.001f + i;
  const Literal product = evaluate(wide, std::vector<Literal>{x, y})[0];
  EXPECT_EQ(product.dtype(), float32);
  EXPECT_NEAR(product.data<float>()[0], 1.001f * 1.001f + 2.001f * 3.001f + 3.001f * 5.001f, 1e-5);
}

TEST(Widened, GoesIntoRegions) {
  const Function f = trace_function(
                         [](const Arrays& x) {
                           return testing_control::scan(3, {}, {x[0]}, {}, [](const Arrays& b) {
                             return Arrays{b[0] + b[0]};
                           });
                         },
                         std::vector<Type>{{float16, {2}}})
                         .function;
  EXPECT_TRUE(has_halves(f));
  EXPECT_FALSE(has_halves(widened(f)));
  EXPECT_EQ(widened(f).output_types()[0].dtype, float32);
}

TEST(HasHalves, LooksIntoRegions) {
  const Function f = trace_function(
                         [](const Arrays& x) {
                           return testing_control::scan(3, {}, {x[0]}, {}, [](const Arrays& b) {
                             const Array half = lax::convert_element_type(b[0], bfloat16);
                             return Arrays{lax::convert_element_type(half, float32)};
                           });
                         },
                         std::vector<Type>{{float32, {2}}})
                         .function;
  EXPECT_TRUE(has_halves(f));
  EXPECT_FALSE(has_halves(widened(f)));
}

}  // namespace
}  // namespace tessera::widen_test
