// Eager ops: they are compiled as in jit, for arrays with any placement.
#include "tests/compile/devices.h"

namespace tessera::eager_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Eager : public DevicesTest {};

TEST_F(Eager, KeepsShardings) {
  const Array x = device_put(iota({16, 8}), on24(P("x", "y")));
  EXPECT_EQ((x + 1).sharding().named(), on24(P("x", "y")));
  EXPECT_EQ(transpose(x).sharding().named(), on24(P("y", "x")));
  EXPECT_EQ(sum(x, {.axis = 0}).sharding().named(), on24(P("y")));
  EXPECT_EQ(values(sum(x, {.axis = 0}))[1], 16 + 8 * 120);
}

TEST_F(Eager, MixesPlacements) {
  const Array sharded = device_put(iota({16}), on8(P("x"))), host = iota({16});
  EXPECT_EQ((sharded + host).sharding().named(), on8(P("x")));
  EXPECT_EQ(values(sharded + 1)[3], 4);
  EXPECT_EQ(values(matmul(device_put(iota({4, 4}), on24(P("x"))),
                          device_put(iota({4, 4}), on24(P("y")))))[0],
            56);
}

TEST_F(Eager, CompilesOncePerOpAndType) {
  const Array x = device_put(iota({24}), on8(P("x")));
  const auto once = [&] { return tanh(x) * 2; };
  once();
  const int64_t before = compile_stats().programs_compiled;
  for (int i = 0; i < 10; ++i) once();
  EXPECT_EQ(compile_stats().programs_compiled, before);
}

TEST_F(Eager, UnevenAndEmptyArrays) {
  const Array x = device_put(iota({10}), on8(P("x")));
  EXPECT_THAT(values(x + 1), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(sum(x).item<float>(), 45);
  EXPECT_EQ(max(x).item<float>(), 9);
  EXPECT_EQ(argmax(x).item<int>(), 9);
  EXPECT_EQ(mean(x).item<float>(), 4.5);
  const Array none = device_put(zeros({0, 4}), on8(P("x")));
  EXPECT_EQ((none + 1).shape(), Shape({0, 4}));
  EXPECT_THAT(values(sum(none, {.axis = 0})), ElementsAre(0, 0, 0, 0));
}

TEST_F(Eager, ErrorsNameTheOp) {
  EXPECT_THAT(error_of([] { iota({2}) + iota({3}); }), HasSubstr("add"));
  EXPECT_THAT(error_of([] { matmul(iota({2, 3}), iota({2, 3})); }), HasSubstr("matmul"));
  EXPECT_THAT(error_of([] { abstract_array({2}, float32) + 1; }), HasSubstr("abstract"));
}

}  // namespace
}  // namespace tessera::eager_test
