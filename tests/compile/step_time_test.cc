#include "tessera/compile/step_time.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tessera/mesh/costs.h"
#include "tests/compile/devices.h"

namespace tessera::step_time_test {

using namespace compile;
using ::testing::HasSubstr;

namespace {

class StepTimes : public testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() / ("step_costs_" + std::to_string(getpid()));
    MachineCosts costs;
    costs.cores = 1;
    costs.call_seconds = 1e-5;
    costs.step_seconds = 1e-6;
    costs.memory = {{1e6, {1e9, 1e9}}};
    costs.float32_products = {{1e6, {1e9, 1e9}}};
    costs.bfloat16_products = {{1e6, {5e8, 5e8}}};
    costs.operands = {1e9, 1e9};
    costs.process = {1e9, 1e-5};
    std::ofstream(file_) << to_json(costs);
    setenv("TESSERA_COSTS", file_.c_str(), 1);
    initialize({.devices = "cpu:4"});
  }
  void TearDown() override {
    std::filesystem::remove(file_);
    setenv("TESSERA_COSTS", "", 1);
    initialize();
  }
  static double seconds(const Lowered& lowered) {
    return predict_time(lowered.stages(), devices()[0])->total();
  }
  std::filesystem::path file_;
};

Lowered product_of(const Array& a, const Array& b) {
  return jit([](const Array& x, const Array& y) { return matmul(x, y); }).lower(a, b);
}

TEST_F(StepTimes, AProductTakesItsFlops) {
  const Array x = ones({256, 256});
  const double flop = 2.0 * 256 * 256 * 256;
  EXPECT_NEAR(seconds(product_of(x, x)), 1e-5 + 1e-6 + flop / 1e9, 1e-9);
  const Array half = astype(x, bfloat16);
  EXPECT_GT(seconds(product_of(half, half)), 2 * flop / 1e9);
}

TEST_F(StepTimes, AProductOfFewRowsTakesItsOperandsToo) {
  const double flop = 2.0 * 8 * 1024 * 1024, side = std::cbrt(1e6 / 2);
  const double elements = 8 * 1024 + 1024 * 1024 + 2 * 8 * 1024 - flop * 2 / side;
  ASSERT_GT(elements, 0.5 * 1024 * 1024);
  EXPECT_NEAR(seconds(product_of(ones({8, 1024}), ones({1024, 1024}))),
              1e-5 + 1e-6 + flop / 1e9 + elements / 1e9, 1e-9);
}

// The rows of all devices are computed by one product.
TEST_F(StepTimes, ShardsOfRowsAreOneProduct) {
  const Mesh mesh(devices(), {"x"});
  const Array x = device_put(ones({64, 1024}), NamedSharding(mesh, P("x"))),
              w = device_put(ones({1024, 1024}), NamedSharding(mesh, P()));
  const double flop = 2.0 * 64 * 1024 * 1024, side = std::cbrt(1e6 / 2);
  const double elements = std::max(0.0, 64 * 1024 + 1024 * 1024 + 2 * 64 * 1024 - flop * 2 / side);
  const StepTime time = *predict_time(product_of(x, w).stages(), devices()[0]);
  EXPECT_NEAR(time.compute, 1e-5 + 1e-6 + flop / 1e9 + elements / 1e9, 1e-9);
}

TEST_F(StepTimes, ALoopTakesItsTrips) {
  const auto lowered = [](int64_t trips) {
    return jit([=](const Array& x) {
             return scan([](const Array& c,
                            const Array& w) { return std::pair(matmul(c, w), None); },
                         x, broadcast_to(x, {trips, 128, 128}))
                 .first;
           })
        .lower(ones({128, 128}));
  };
  const double flop = 2.0 * 128 * 128 * 128;
  EXPECT_GT(seconds(lowered(9)) - seconds(lowered(5)), 4 * flop / 1e9 * 0.99);
}

TEST_F(StepTimes, DevicesShareTheCoresAndCommunicate) {
  const Mesh mesh(devices(), {"x"});
  const Array whole = ones({256, 256}),
              columns = device_put(whole, NamedSharding(mesh, P(None, "x"))),
              rows = device_put(whole, NamedSharding(mesh, P("x")));
  const Lowered lowered = product_of(columns, rows);
  const StepTime time = *predict_time(lowered.stages(), devices()[0]);
  EXPECT_GE(time.compute, 2.0 * 256 * 256 * 256 / 1e9);
  EXPECT_DOUBLE_EQ(time.communication, lowered.cost().communication_seconds);
  EXPECT_GT(time.communication, 0);
  EXPECT_THAT(lowered.explain(),
              ::testing::AllOf(HasSubstr("a run takes about "),
                               HasSubstr("seconds by measured figures of " + file_.string())));
}

TEST_F(StepTimes, NothingIsPredictedWithoutFigures) {
  const Mesh abstract = Mesh::abstract({4}, {"x"});
  const Array x = abstract_array({64, 64}, float32, NamedSharding(abstract, P("x")));
  const Lowered planned = product_of(x, ones({64, 64}));
  EXPECT_FALSE(predict_time(planned.stages(), devices()[0]));
  EXPECT_THAT(planned.explain(), HasSubstr("seconds by built-in figures of an unknown link"));
  initialize({.devices = "tpu_v4:2x2x1"});
  const Lowered emulated = product_of(ones({64, 64}), ones({64, 64}));
  EXPECT_FALSE(predict_time(emulated.stages(), devices()[0]));
  setenv("TESSERA_COSTS", "", 1);
  initialize({.devices = "cpu:4"});
  EXPECT_FALSE(predict_time(product_of(ones({4, 4}), ones({4, 4})).stages(), devices()[0]));
}

}  // namespace
}  // namespace tessera::step_time_test
