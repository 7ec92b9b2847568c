// Imported programs in which devices take different branches and numbers of iterations
// (spmd/divergence.h).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "../errors.h"
#include "tessera/compile/lowered.h"
#include "tessera/compile/pipeline.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/mesh/scoped_devices.h"
#include "tessera/tessera.h"

namespace tessera::divergence_test {
namespace {

using ::testing::HasSubstr;

// Returns a program in which each of 8 devices replaces its element of an int32[8] by the %y that
// `body` computes from %x : tensor<i32>.
std::string on_each_device(const std::string& body) {
  return fmt::format(R"(module @m {{
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<8xi32>) -> tensor<8xi32> {{
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x"}}]>] out_shardings=[<@mesh, [{{"x"}}]>] manual_axes={{"x"}} (%part: tensor<1xi32>) {{
      %x = stablehlo.reshape %part : (tensor<1xi32>) -> tensor<i32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %limit = stablehlo.constant dense<100> : tensor<i32>
{}
      %out = stablehlo.reshape %y : (tensor<i32>) -> tensor<1xi32>
      sdy.return %out : tensor<1xi32>
    }} : (tensor<8xi32>) -> tensor<8xi32>
    return %0 : tensor<8xi32>
  }}
}}
)",
                     body);
}

// Returns a program that counts how often x becomes 3 x + 1 until it is at least 100. `inside` is
// added to the body of the loop, where the new x is %w.
std::string counting_loop(const std::string& inside = "") {
  return on_each_device(fmt::format(R"(
      %r:2 = stablehlo.while(%n = %zero, %v = %x) : tensor<i32>, tensor<i32> cond {{
        %go = stablehlo.compare LT, %v, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      }} do {{
        %m = stablehlo.add %n, %one : tensor<i32>
        %t = stablehlo.multiply %v, %three : tensor<i32>
        %w = stablehlo.add %t, %one : tensor<i32>
        {}
        stablehlo.return %m, %w : tensor<i32>, tensor<i32>
      }}
      %y = stablehlo.add %r#0, %zero : tensor<i32>)",
                                    inside));
}

int32_t trips(int32_t x) {
  int32_t n = 0;
  for (; x < 100; x = 3 * x + 1) ++n;
  return n;
}

Lowered lowered(const std::string& text) {
  const interchange::ParsedModule module = interchange::parse_module(text);
  return Lowered(module.main,
                 {.inputs = module.input_shardings, .outputs = module.output_shardings}, {},
                 devices()[0]);
}

std::vector<int32_t> run(const std::string& text, const std::vector<int32_t>& x) {
  const std::vector<Array> arguments{array(x)};
  return to_vector<int32_t>(lowered(text).compile()->run(arguments)[0]);
}

const std::vector<int32_t> kStarts{0, 1, 2, 5, 30, 99, 100, 1000};

class Divergence : public ::testing::Test {
  const ScopedDevices devices_{"cpu:8"};
};

TEST_F(Divergence, ALoopEndsDeviceByDevice) {
  std::vector<int32_t> want;
  for (int32_t x : kStarts) want.push_back(trips(x));
  EXPECT_EQ(run(counting_loop(), kStarts), want);
}

TEST_F(Divergence, TheCollectiveIsListedWithItsReason) {
  const Lowered program = lowered(counting_loop());
  ASSERT_EQ(program.collectives().size(), 1U);
  EXPECT_EQ(program.collectives()[0].name, "all_reduce");
  EXPECT_EQ(program.collectives()[0].times, -1) << "as often as the loop runs";
  EXPECT_THAT(program.explain(),
              HasSubstr("the condition varies over 'x': the loop runs until it has ended on every "
                        "device"));
}

TEST_F(Divergence, ALoopInALoop) {
  const std::string inner = R"(
        %s:2 = stablehlo.while(%k = %zero, %u = %n) : tensor<i32>, tensor<i32> cond {
          %on = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %on : tensor<i1>
        } do {
          %k1 = stablehlo.add %k, %one : tensor<i32>
          %u2 = stablehlo.add %u, %u : tensor<i32>
          stablehlo.return %k1, %u2 : tensor<i32>, tensor<i32>
        })";
  std::string text = counting_loop(inner);
  const std::string last = "stablehlo.return %m, %w";
  text.replace(text.find(last), last.size(),
               "%q = stablehlo.add %w, %s#1 : tensor<i32>\n stablehlo.return %m, %q");
  std::vector<int32_t> want;
  for (int32_t x : kStarts) {
    int32_t n = 0;
    for (; x < 100; ++n) x = 3 * x + 1 + (n << n);
    want.push_back(n);
  }
  EXPECT_EQ(run(text, kStarts), want);
}

TEST_F(Divergence, DevicesTakeTheirOwnWays) {
  const std::string ways = on_each_device(R"(
      %which = stablehlo.remainder %x, %three : tensor<i32>
      %y = "stablehlo.case"(%which) ({
        %a = stablehlo.add %x, %limit : tensor<i32>
        stablehlo.return %a : tensor<i32>
      }, {
        %a = stablehlo.negate %x : tensor<i32>
        stablehlo.return %a : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>)");
  std::vector<int32_t> want;  // 2 is out of range: the last branch is taken
  for (int32_t x : kStarts) want.push_back(x % 3 == 0 ? x + 100 : -x);
  EXPECT_EQ(run(ways, kStarts), want);
  EXPECT_TRUE(lowered(ways).collectives().empty());

  const std::string two = on_each_device(R"(
      %small = stablehlo.compare LT, %x, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %y = "stablehlo.if"(%small) ({
        stablehlo.return %x : tensor<i32>
      }, {
        stablehlo.return %limit : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>)");
  want.clear();
  for (int32_t x : kStarts) want.push_back(std::min(x, 100));
  EXPECT_EQ(run(two, kStarts), want);
}

TEST_F(Divergence, CollectivesInsideNeedAllDevices) {
  const std::string text = counting_loop(R"(
        %sum = "stablehlo.all_reduce"(%w) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%p: tensor<i32>, %q: tensor<i32>):
          %pq = stablehlo.add %p, %q : tensor<i32>
          stablehlo.return %pq : tensor<i32>
        }) : (tensor<i32>) -> tensor<i32>)");
  std::string used = text;
  const std::string last = "stablehlo.return %m, %w";
  used.replace(used.find(last), last.size(),
               "%z = stablehlo.minimum %sum, %w : tensor<i32>\n stablehlo.return %m, %z");
  test::expect_error(
      [&] { run(used, kStarts); },
      "[while] expected a condition that is the same on all devices, got one that varies over 'x'");
  EXPECT_NO_THROW(run(text, kStarts)) << "nobody reads the sum";
}

}  // namespace
}  // namespace tessera::divergence_test
