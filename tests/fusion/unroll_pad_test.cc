#include "tessera/ops/structural/unroll_pad.h"

#include "tessera/ops/structural/pad.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_pad_test {
namespace {

struct Padding {
  Type type;
  Dims low, high, interior;
};

auto body_of(const Padding& p) {
  return [=](const Arrays& x) { return Arrays{lax::pad(x[0], x[1], p.low, p.high, p.interior)}; };
}
bool pads_between(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(), [](const Op& op) {
    if (op.def != &pad_op) return false;
    const Dims& interior = op.params.as<PadParams>().interior;
    return std::any_of(interior.begin(), interior.end(), [](int64_t n) { return n > 0; });
  });
}
Function unrolled_of(const Padding& p) {
  const Function f = trace({p.type, array_type(p.type.dtype, {})}, body_of(p)),
                 unrolled = unroll_windows(f);
  verify(unrolled);
  const std::vector<Literal> inputs = random_inputs(f);
  EXPECT_EQ(evaluate(unrolled, inputs)[0], evaluate(f, inputs)[0]);
  return unrolled;
}

TEST(UnrollPad, ElementsOfAVector) {
  for (int64_t interior : {1, 2, 6})
    for (int64_t low : {-4, -1, 0, 1, 2, 9})
      for (int64_t high : {-3, 0, 1, 5}) {
        SCOPED_TRACE(::testing::Message() << low << " " << high << " " << interior);
        EXPECT_FALSE(pads_between(unrolled_of({f32({7}), {low}, {high}, {interior}})));
      }
}

TEST(UnrollPad, DimensionsWithShortRows) {
  EXPECT_FALSE(pads_between(unrolled_of({f32({5, 2, 2}), {1, 0, 0}, {0, 0, 0}, {1, 0, 0}})));
  EXPECT_FALSE(pads_between(unrolled_of({array_type(int8, {5, 2}), {1, 1}, {0, 0}, {0, 2}})));
}

TEST(UnrollPad, OtherDimensionsStayAsTheyAre) {
  EXPECT_TRUE(pads_between(unrolled_of({f32({5, 9}), {1, 2}, {0, 1}, {1, 0}})));
  EXPECT_TRUE(pads_between(unrolled_of({f32({5, 9}), {1, 2}, {0, 1}, {1, 1}})));
  EXPECT_TRUE(pads_between(unrolled_of({f32({9}), {1}, {0}, {8}})));
  const Function f = unrolled_of({f32({9}), {1}, {2}, {0}});
  EXPECT_EQ(f.ops.size(), 1u);
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_pad_test
