// Collectives that start and finish in separate custom calls.
#include "tests/interchange/foreign_text.h"

namespace tessera::interchange::async_collectives_test {
namespace {

using foreign_text::expect_error;
using foreign_text::parsed;
using testing::ElementsAre;
using testing::ElementsAreArray;

// Returns a program in which each of two devices passes its part of 8 elements to a collective. The
// result has `out` elements.
std::string program(const std::string& name, const std::string& attributes, int out) {
  const std::string result = fmt::format("tensor<{}xf32>", out),
                    whole = fmt::format("tensor<{}xf32>", 2 * out);
  return R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.add %a, %b : tensor<f32>
      return %0 : tensor<f32>
    }
    func.func @main(%x: tensor<8xf32>) -> )" +
         whole + R"( {
      %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<4xf32>) {
        %1 = stablehlo.custom_call @")" +
         name + R"(-start"(%a) {backend_config = "", )" + attributes + "} : (tensor<4xf32>) -> " +
         result + R"(
        %2 = stablehlo.custom_call @")" +
         name + R"(-done"(%1) {backend_config = ""} : ()" + result + ") -> " + result + R"(
        sdy.return %2 : )" +
         result + R"(
      } : (tensor<8xf32>) -> )" +
         whole + R"(
      return %0 : )" +
         whole + R"(
    })";
}

// Returns the attribute that holds a config; ' stands for the quotes of JSON.
std::string config(std::string json) {
  std::string text;
  for (const char c : json) text += c == '\'' ? std::string(R"(\22)") : std::string(1, c);
  return R"(mhlo.frontend_attributes = {async_collective_config = ")" + text + R"("})";
}

constexpr const char* kRest = "'replica_groups': [[0, 1]], 'channel_id': 1";
std::string grouped(const std::string& more) { return config("{" + more + kRest + "}"); }

std::vector<float> result_of(const std::string& text) {
  const Literal x = Literal::from<float>(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}, {8});
  const Literal out = evaluate(parsed(text), std::vector{x})[0];
  return std::vector<float>(out.data<float>(), out.data<float>() + out.elements());
}

constexpr const char* kAdd = "called_computations = [@add], ";

TEST(AsyncCollectives, AreTheCollectives) {
  const std::string global = "'use_global_device_ids': true, ";
  EXPECT_THAT(result_of(program("all-gather", grouped("'all_gather_dimension': 0, " + global), 8)),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(result_of(program("all-reduce", kAdd + grouped(global), 4)),
              ElementsAre(4, 6, 8, 10, 4, 6, 8, 10));
  EXPECT_THAT(
      result_of(program("reduce-scatter",
                        kAdd + grouped("'scatter_dimension': 0, 'tiled': true, " + global), 2)),
      ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(result_of(program(
                  "all-to-all",
                  grouped("'split_dimension': 0, 'concat_dimension': 0, 'split_count': 2, "), 4)),
              ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  EXPECT_THAT(result_of(program("collective-permute",
                                config("{'permutation': [[0, 1], [1, 0]], 'channel_id': 1}"), 4)),
              ElementsAre(4, 5, 6, 7, 0, 1, 2, 3));
  EXPECT_THAT(
      result_of(program("collective-permute", config("{'permutation': [], 'channel_id': 1}"), 4)),
      ElementsAreArray(std::vector<float>(8, 0)));
}

TEST(AsyncCollectives, SayWhatTheConfigLacks) {
  const auto gather = [](const std::string& attributes) {
    return program("all-gather", attributes, 8);
  };
  const std::string dim = "'all_gather_dimension': 0, ";
  expect_error(gather("has_side_effect = false"), "expected the string async_collective_config");
  expect_error(gather(config("[1]")), "to be an object of JSON, got '[1]'");
  expect_error(gather(config("{'a': ")), "to be an object of JSON");
  expect_error(gather(grouped("")), "all_gather_dim");
  expect_error(gather(config("{" + dim + "'channel_id': 1}")), "replica_groups");
  expect_error(gather(config("{" + dim + "'replica_groups': [[0, 1]]}")),
               "expected a channel_handle");
  expect_error(gather(config("{" + dim + "'replica_groups': [[0]], 'channel_id': 1}")),
               "in exactly one group");
  expect_error(gather(config("{" + dim + "'replica_groups': [[0, 2]], 'channel_id': 1}")),
               "expected devices 0 to 1");
  expect_error(gather(config("{" + dim + "'replica_groups': [['a']], 'channel_id': 1}")),
               "expected numbers and lists of devices in async_collective_config, got "
               "'replica_groups'");
  expect_error(gather(grouped(dim + "'other': 1, ")), "'other'");
  expect_error(gather(grouped(dim + "'other': 0.5, ")), "got 'other' = 0.5");
  expect_error(
      program("reduce-scatter", kAdd + grouped("'scatter_dimension': 0, 'tiled': false, "), 2),
      "got 'tiled' = false");
}

TEST(AsyncCollectives, SayWhatTheCallLacks) {
  expect_error(program("all-reduce", grouped(""), 4), "called_computations");
  expect_error(program("all-reduce", "called_computations = [@add, @add], " + grouped(""), 4),
               "expected one called computation");
  expect_error(R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.custom_call @"all-gather-done"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })",
               "expected 1 operand, got 2");
}

}  // namespace
}  // namespace tessera::interchange::async_collectives_test
