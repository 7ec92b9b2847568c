// The programs of the tutorial on 512 virtual devices, which are only more tasks for the machine's
// cores.
#include "tessera/ir/lowering.h"
#include "tests/compile/devices.h"

namespace tessera::many_devices_test {

using namespace ir;

namespace {

using testing::Each;
using testing::FloatNear;
using testing::Pointwise;

class ManyDevices : public testing::Test {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:512"}); }
  static void TearDownTestSuite() { initialize({.devices = "cpu:8"}); }
};

TEST_F(ManyDevices, RunTheTutorial) {
  const Mesh grid(create_device_mesh({16, 32}), {"x", "y"}), line(devices(), {"x"});
  const Array x = sin(iota({64, 1024})), on_grid = device_put(x, NamedSharding(grid, P("x", "y")));
  const Array y = jit([](const Array& v) { return 2 * sin(v) + 1; })(on_grid);
  EXPECT_EQ(y.sharding().named(), NamedSharding(grid, P("x", "y")));
  EXPECT_THAT(values(y), Pointwise(FloatNear(1e-6), values(2 * sin(x) + 1)));

  const auto contract = [](const Array& v) { return sum(v, {.axis = 0}); };
  const Array total = jit(contract)(on_grid);
  EXPECT_EQ(total.sharding().named(), NamedSharding(grid, P("y")));
  EXPECT_THAT(values(total), Pointwise(FloatNear(1e-4), values(contract(x))));
  const Array on_line = jit([&](const Array& v) {
    return with_sharding_constraint(contract(v), NamedSharding(line, P("x")));
  })(on_grid);
  EXPECT_EQ(on_line.sharding().named().num_shards(0), 512);
  EXPECT_THAT(values(on_line), Pointwise(FloatNear(1e-4), values(contract(x))));

  const auto global_sum = shard_map([](const Array& v) { return psum(sum(v), "x"); },
                                    {.mesh = line, .in_specs = {P("x")}, .out_specs = {P()}});
  EXPECT_EQ(jit(global_sum)(ones({1024})).item<float>(), 1024);

  const auto layer = [](const Array& v, const Array& w, const Array& b) {
    return sigmoid(matmul(v, w) + b);
  };
  const Array v = sin(iota({1024})), w = cos(iota({1024, 8})), b = ones({8});
  const std::vector<float> want = values(layer(v, w, b));
  const NamedSharding cut(line, P("x"));
  EXPECT_THAT(values(jit(layer)(device_put(v, cut), device_put(w, cut), b)),
              Pointwise(FloatNear(1e-5), want));
  const auto manual = shard_map(
      [](const Array& v, const Array& w, const Array& b) {
        return sigmoid(psum(matmul(v, w), "x") + b);
      },
      {.mesh = line, .in_specs = {P("x"), P("x", None), P(None)}, .out_specs = {P(None)}});
  EXPECT_THAT(values(manual(v, w, b)), Pointwise(FloatNear(1e-5), want));
}

// A training step too.
TEST_F(ManyDevices, Train) {
  const Mesh line(devices(), {"x"});
  const auto loss = [](const Array& w, const Array& x) { return mean(square(matmul(x, w))); };
  const Array w = cos(iota({4, 2})), x = sin(iota({1024, 4}));
  const Array g = jit(grad(loss))(device_put(w, NamedSharding(line, P())),
                                  device_put(x, NamedSharding(line, P("x"))));
  EXPECT_THAT(values(g), Pointwise(FloatNear(1e-5), values(grad(loss)(w, x))));
}

}  // namespace
}  // namespace tessera::many_devices_test
