#include "tessera/spmd/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tessera/mesh/costs.h"
#include "tessera/mesh/device.h"
#include "tessera/spmd/reshard.h"

namespace tessera::cost_test {

using namespace spmd;
using namespace ops;

namespace {

using ::testing::HasSubstr;

Mesh mesh_of(const std::string& spec, int64_t size) {
  initialize({.devices = spec});
  return Mesh(std::vector<Device>(devices().begin(), devices().begin() + size), {"x"});
}
CollectiveInfo all_reduce(const Mesh& mesh) {
  return {.kind = CollectiveKind::kAllReduce, .mesh = mesh, .axes = {"x"}};
}

class Cost : public testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() / ("spmd_costs_" + std::to_string(getpid()));
  }
  void TearDown() override {
    std::filesystem::remove(file_);
    setenv("TESSERA_COSTS", "", 1);
    initialize();
  }
  void measure(const MachineCosts& costs) {
    std::ofstream(file_) << to_json(costs);
    setenv("TESSERA_COSTS", file_.c_str(), 1);
  }
  std::filesystem::path file_;
};

MachineCosts measured() {
  MachineCosts out;
  out.cores = 2;
  out.call_seconds = out.step_seconds = 1e-6;
  out.memory = out.float32_products = out.bfloat16_products = {{1e6, {1e10, 2e10}}};
  out.operands = {1e9, 2e9};
  out.process = {1e10, 1e-5};
  return out;
}

TEST_F(Cost, BuiltInFiguresWhereNothingWasMeasured) {
  setenv("TESSERA_COSTS", "", 1);
  const Mesh mesh = mesh_of("cpu:4", 4);
  EXPECT_DOUBLE_EQ(seconds_of_collective(mesh, all_reduce(mesh), 2000), 2000 / 20e9 + 3 * 2e-7);
  EXPECT_EQ(bytes_of_latency(mesh), kReshardStepCost);
  EXPECT_EQ(figures_of(mesh), "built-in figures of CPU devices");
}

TEST_F(Cost, MeasuredFiguresOfCpus) {
  measure(measured());
  const Mesh mesh = mesh_of("cpu:4", 4);
  // All devices share the memory of the process.
  EXPECT_DOUBLE_EQ(seconds_of_collective(mesh, all_reduce(mesh), 2000), 4 * 2000 / 1e10 + 1e-5);
  EXPECT_EQ(bytes_of_latency(mesh), static_cast<int64_t>(1e10 * 1e-5 / 4));
  EXPECT_EQ(figures_of(mesh), "measured figures of " + file_.string());
}

TEST_F(Cost, AcceleratorsKeepPublishedLinks) {
  measure(measured());
  const Mesh mesh = mesh_of("tpu_v4:2x2x1", 4);
  EXPECT_DOUBLE_EQ(seconds_of_collective(mesh, all_reduce(mesh), 3000), 3000 / 300e9 + 3 * 1e-6);
  EXPECT_EQ(bytes_of_latency(mesh), kReshardStepCost);
  EXPECT_EQ(figures_of(mesh), "published links of tpu_v4");
  EXPECT_THAT(figures_of(Mesh::abstract({4}, {"x"})), HasSubstr("unknown link"));
}

// If latency dominates, plans have one message of more bytes instead of three messages of fewer
// bytes.
TEST_F(Cost, PlansHaveFewerStepsWhereMessagesTakeLong) {
  const auto steps = [&](const MachineCosts* costs) {
    if (costs) measure(*costs);
    initialize({.devices = "cpu:8"});
    const AtomMesh mesh(Mesh(DeviceMesh{{2, 4}, devices()}, {"x", "y"}));
    const auto dims = [&](const PartitionSpec& spec) {
      return mesh.dims(NamedSharding(mesh.mesh(), spec), 2);
    };
    int64_t messages = 0;
    for (const ReshardStep& step :
         plan_reshard(mesh, {64, 64}, float32, dims(P("x", "y")), dims(P("y", "x"))))
      messages += step.bytes > 0;
    return messages;
  };
  const int64_t before = steps(nullptr);
  MachineCosts slow = measured();
  slow.process.latency = 1;
  EXPECT_LE(steps(&slow), before);
}

}  // namespace
}  // namespace tessera::cost_test
