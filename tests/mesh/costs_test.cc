#include "tessera/mesh/costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tessera/base/error.h"
#include "tessera/base/warning.h"
#include "tessera/mesh/device.h"

namespace tessera::costs_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MachineCosts some_costs() {
  MachineCosts out;
  out.source = "here";
  out.cores = 2;
  out.call_seconds = 1e-6;
  out.step_seconds = 2e-7;
  out.kernel_speed = 1.5;
  out.memory = {{1e5, {4e10, 8e10}}, {1e7, {1e10, 2e10}}};
  out.float32_products = {{2e6, {5e10, 9e10}}};
  out.operands = {2e9, 3e9};
  out.speed_left = {{1, 0.9}, {2, 0.75}, {4, 0.5}};
  out.bfloat16_products = {{2e6, {4e10, 7e10}}};
  out.process = {3e10, 1e-6};
  out.host = {{2, {4e9, 1e-5}}, {4, {2e9, 3e-5}}};
  out.network = {{2, {1e9, 5e-5}}};
  return out;
}

// Makes a file that TESSERA_COSTS names, and collects the warnings of a test.
class Costs : public testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() / ("costs_" + std::to_string(getpid()));
    setenv("TESSERA_COSTS", file_.c_str(), 1);
    before_ = set_warning_handler([this](const std::string& text) { warnings_ += text; });
  }
  void TearDown() override {
    set_warning_handler(before_);
    std::filesystem::remove(file_);
    setenv("TESSERA_COSTS", "", 1);
    initialize();
  }
  const MachineCosts& with_file(const std::string& text) {
    std::ofstream(file_) << text;
    initialize();
    return machine_costs();
  }

  std::filesystem::path file_;
  std::string warnings_;
  WarningHandler before_;
};

std::string error_of(const std::string& text) {
  try {
    parse_costs(text, "costs.json");
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

TEST_F(Costs, TheTextSaysAllOfThem) {
  EXPECT_EQ(parse_costs(to_json(some_costs()), "here"), some_costs());
}

TEST_F(Costs, TheFileIsReadAtFirstUse) {
  const MachineCosts& costs = with_file(to_json(some_costs()));
  EXPECT_TRUE(costs.measured());
  EXPECT_EQ(costs.source, file_.string());
  EXPECT_EQ(costs.host, some_costs().host);
  EXPECT_THAT(warnings_, IsEmpty());
  // The costs stay the same; a changed file is read by the next initialize().
  MachineCosts other = some_costs();
  other.cores = 7;
  EXPECT_EQ(with_file(to_json(other)).cores, 7);
  EXPECT_EQ(costs.cores, 2);
}

TEST_F(Costs, ADamagedFileIsAWarning) {
  for (const std::string& text : {std::string(), std::string("{}"), std::string("no json"),
                                  to_json(some_costs()).substr(0, 200)}) {
    warnings_.clear();
    EXPECT_EQ(with_file(text), MachineCosts());
    EXPECT_THAT(warnings_,
                AllOf(HasSubstr("[costs] expected figures as `tessera calibrate`"),
                      HasSubstr(file_.string()), HasSubstr("built-in figures are used")));
  }
}

TEST_F(Costs, AFileThatIsNamedAndNotThereIsAWarning) {
  initialize();
  EXPECT_FALSE(machine_costs().measured());
  EXPECT_THAT(warnings_, HasSubstr("which TESSERA_COSTS names"));
  warnings_.clear();
  setenv("TESSERA_COSTS", "", 1);  // no file
  initialize();
  EXPECT_FALSE(machine_costs().measured());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Costs, FiguresThatCannotBeAreErrors) {
  const std::string good = to_json(some_costs());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return error_of(text);
  };
  EXPECT_THAT(with("\"version\": 2", "\"version\": 9"), HasSubstr("\"version\" is 9, not 2"));
  EXPECT_THAT(with("\"cores\": 2", "\"cores\": 0"), HasSubstr("\"cores\" is 0"));
  EXPECT_THAT(with("\"cores\"", "\"kernels\""), HasSubstr("cores"));
  EXPECT_THAT(with("\"kernel_speed\": 1.5", "\"kernel_speed\": -1"), HasSubstr("not a positive"));
  EXPECT_THAT(with("\"size\": 100000.0", "\"size\": 1e9"), HasSubstr("sizes do not ascend"));
}

TEST_F(Costs, WhereTheFileIs) {
  EXPECT_EQ(costs_path(), file_.string());
  const char* const home = std::getenv("HOME");
  const std::string kept = home ? home : "";
  unsetenv("TESSERA_COSTS");
  setenv("XDG_CONFIG_HOME", "/etc/config", 1);
  EXPECT_EQ(costs_path(), "/etc/config/tessera/costs.json");
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(costs_path(), "/home/me/.config/tessera/costs.json");
  unsetenv("HOME");
  EXPECT_EQ(costs_path(), "");
  if (!kept.empty()) setenv("HOME", kept.c_str(), 1);
}

TEST_F(Costs, ALinkIsSharedAmongProcesses) {
  const MachineCosts costs = some_costs();
  EXPECT_EQ(host_link(costs, 2).bandwidth, 4e9);
  EXPECT_EQ(host_link(costs, 3).bandwidth, 2e9 * 4 / 3);  // the next larger measurement
  EXPECT_EQ(host_link(costs, 8).bandwidth, 1e9);
  EXPECT_EQ(host_link(costs, 8).latency, 3e-5);
  EXPECT_GT(host_link(MachineCosts(), 2).bandwidth, network_link(MachineCosts(), 2).bandwidth);
}

TEST_F(Costs, SpeedsByThreadsAndSize) {
  const std::vector<SizedSpeed> table = {{100, {10, 18}}, {10000, {1000, 1800}}};
  EXPECT_EQ(speed_at(table, 1, 1, 2, 1), 10);
  EXPECT_EQ(speed_at(table, 1, 2, 2, 1), 18);
  EXPECT_EQ(speed_at(table, 1e9, 2, 2, 1), 1800);
  EXPECT_NEAR(speed_at(table, 1000, 1, 2, 1), 100, 1e-9);
  // Two processes with one thread each have a core each, which is a tenth slower while both work.
  // Four processes share the two cores.
  EXPECT_EQ(speed_at(table, 1, 1, 2, 2), 9);
  EXPECT_EQ(speed_at(table, 1, 1, 2, 4), 4.5);
}

TEST_F(Costs, AProductOfFewRowsHasMoreOperandsThanASquareOfAsManyFlop) {
  const std::vector<SizedSpeed> products{{2e3, {1, 1}}, {2e6, {1, 1}}};  // up to (100, 100)
  EXPECT_NEAR(operand_elements(products, 100, 100, 100), 0, 1e-6);
  EXPECT_NEAR(operand_elements(products, 10, 100, 100), 1e3 + 1e4 + 2e3 - 4e3, 1e-6);
  EXPECT_NEAR(operand_elements(products, 100, 100, 10), 1e3 + 1e3 + 2e4 - 4e3, 1e-6);
  EXPECT_EQ(operand_elements(products, 1000, 1000, 1000), 0);
}

TEST_F(Costs, WhatIsLeftOfTheSpeedBesideOtherProcesses) {
  MachineCosts costs;
  EXPECT_EQ(speed_left(costs, 4), 1);
  costs.speed_left = {{2, 0.75}, {4, 0.5}};
  EXPECT_EQ(speed_left(costs, 1), 1);
  EXPECT_EQ(speed_left(costs, 2), 0.75);
  EXPECT_EQ(speed_left(costs, 3), 0.5);
  EXPECT_EQ(speed_left(costs, 8), 0.5);
  costs.speed_left[1] = 0.9;
  EXPECT_EQ(speed_left(costs, 1), 0.9);
}

}  // namespace
}  // namespace tessera::costs_test
