#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tessera/mesh/costs.h"
#include "tests/tools/command_fixture.h"

namespace tessera::tools::calibrate_test {
namespace {

using ::testing::HasSubstr;

class Calibrate : public CommandTest {
 protected:
  void TearDown() override {
    setenv("TESSERA_COSTS", "", 1);
    CommandTest::TearDown();
  }
  std::string read(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  bool mpi_is_installed() const { return std::system("mpirun --version > /dev/null 2>&1") == 0; }
  // Runs a program in two processes and returns its exit status. Leaks are not detected: Open MPI
  // does not free what it loads, and its modules are unloaded before leaks are counted, so that
  // none can be named.
  int launch(const std::string& words) const {
    const char* given = std::getenv("ASAN_OPTIONS");
    const std::string options = std::string(given ? given : "") + ":detect_leaks=0";
    return std::system(
        ("ASAN_OPTIONS=" + options + " " TESSERA_TOOL " launch -n 2 " + words).c_str());
  }
};

TEST_F(Calibrate, WritesFiguresThatCheckReads) {
  const std::string file = path("folder/costs.json");
  const Outcome o = tessera_command({"calibrate", "-o", file});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("written to " + file));
  EXPECT_EQ(o.err, "");
  const MachineCosts costs = parse_costs(read(file), file);
  EXPECT_TRUE(costs.measured());
  EXPECT_EQ(costs.float32_products.size(), 7u);
  EXPECT_TRUE(costs.host.empty());
  setenv("TESSERA_COSTS", file.c_str(), 1);
  const Outcome check = tessera_command({"calibrate", "--check"});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, ::testing::AllOf(HasSubstr("4 devices in 1 process"),
                                          HasSubstr("transformer of width 256"),
                                          HasSubstr("predicted"), HasSubstr("measured")));
}

TEST_F(Calibrate, LinksOfProcessesJoinWhatWasMeasured) {
  if (!mpi_is_installed()) GTEST_SKIP() << "there is no mpirun; scripts/setup installs Open MPI";
  const std::string file = path("costs.json");
  MachineCosts costs;
  costs.cores = 2;
  costs.call_seconds = costs.step_seconds = 1e-6;
  costs.memory = costs.float32_products = costs.bfloat16_products = {{1e6, {1e9, 2e9}}};
  costs.operands = {1e9, 2e9};
  write("costs.json", to_json(costs));
  ASSERT_EQ(launch("--per-process-threads 1 -- " TESSERA_TOOL " calibrate -o " + file + " > " +
                   path("said") + " 2>&1"),
            0)
      << read(path("said"));
  const MachineCosts after = parse_costs(read(file), file);
  EXPECT_EQ(after.float32_products, costs.float32_products);
  ASSERT_EQ(after.host.size(), 1u);
  EXPECT_EQ(after.host.begin()->first, 2);
}

// Processes that plan by their own measurements would run different programs.
TEST_F(Calibrate, AllProcessesPlanByTheFiguresOfTheFirst) {
  if (!mpi_is_installed()) GTEST_SKIP() << "there is no mpirun; scripts/setup installs Open MPI";
  MachineCosts costs;
  costs.cores = 2;
  costs.call_seconds = costs.step_seconds = 1e-6;
  costs.memory = costs.float32_products = costs.bfloat16_products = {{1e6, {1e9, 2e9}}};
  costs.operands = {1e9, 2e9};
  write("costs0", to_json(costs));
  costs.process.latency = costs.step_seconds = 1;
  write("costs1", to_json(costs));
  write("program.mlir", R"(module @jit_product {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x2xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}
)");
  write("explain", "TESSERA_COSTS=" + path("costs") +
                       "$OMPI_COMM_WORLD_RANK " TESSERA_TOOL " explain --devices cpu:4 " +
                       path("program.mlir") + " > " + path("said") + "$OMPI_COMM_WORLD_RANK\n");
  ASSERT_EQ(launch("-- bash " + path("explain") + " 2> " + path("errors")), 0)
      << read(path("errors"));
  EXPECT_EQ(read(path("said0")), read(path("said1")));
  EXPECT_THAT(read(path("said1")), HasSubstr("seconds by measured figures of " + path("costs0")));
}

TEST_F(Calibrate, Errors) {
  setenv("TESSERA_COSTS", "", 1);
  const Outcome nowhere = tessera_command({"calibrate"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("[calibrate] expected a file for the figures"));
  const Outcome nothing = tessera_command({"calibrate", "--check"});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("run `tessera calibrate` first"));
  const Outcome both = tessera_command({"calibrate", "--check", "-o", path("x")});
  EXPECT_EQ(both.code, 1);
  EXPECT_THAT(both.err, HasSubstr("--check without -o"));
}

TEST_F(Calibrate, AFolderThatCannotBeIsAnErrorBeforeAnythingIsMeasured) {
  const Outcome o = tessera_command({"calibrate", "-o", write("file", "") + "/costs.json"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("[calibrate] expected a folder"));
  EXPECT_EQ(o.out, "");
}

}  // namespace
}  // namespace tessera::tools::calibrate_test
