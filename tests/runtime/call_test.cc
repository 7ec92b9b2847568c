// Calls of the host, the steps that are neither kernels nor matrix products.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "tests/errors.h"
#include "tests/runtime/schedules.h"

namespace tessera::call_test {

using namespace runtime;

namespace {

using tessera::test::expect_error;
using ::testing::ElementsAre;

const float* floats(const void* pointer) { return static_cast<const float*>(pointer); }
float* floats(void* pointer) { return static_cast<float*>(pointer); }

Literal iota_literal(const Shape& shape) {
  Literal out(float32, shape);
  std::iota(out.mutable_data<float>(), out.mutable_data<float>() + out.elements(), 0.f);
  return out;
}

std::vector<float> values(const DeviceArrayRef& array) {
  const Literal literal = array->to_literal();
  return {literal.data<float>(), literal.data<float>() + literal.elements()};
}

SingleDeviceSharding one_device() { return SingleDeviceSharding(test_devices(1)[0]); }

TEST(Call, RunsOnceAnInstance) {
  const Mesh mesh = test_mesh({4}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {4}, {0}), y = b.output(float32, {4}, {0});
  b.add(CallStep{
      .name = "reverse",
      .in = {x},
      .out = {y},
      .fn = [](auto in,
               auto out) { std::reverse_copy(floats(in[0]), floats(in[0]) + 4, floats(out[0])); },
      .axes = {0}});
  const NamedSharding s(mesh, P("x"));
  const auto program = b.program({{float32, {16}, s}}, {{float32, {16}, s}});
  EXPECT_THAT(values(program->run({device_array(iota_literal({16}), s)})[0]),
              ElementsAre(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
}

// Operands that vary over fewer axes than the call are read by several instances, in the order of
// the slot. A call that varies over no axis runs once, whatever the number of devices.
TEST(Call, OperandsOfFewerAxes) {
  const Mesh mesh = test_mesh({2, 3}, {"x", "y"});
  std::atomic<int> both = 0, none = 0;
  ScheduleBuilder b{mesh};
  const int xy = b.input(float32, {1}, {1, 0}), y = b.input(float32, {1}, {1}),
            c = b.input(float32, {1}, {}), sum = b.output(float32, {1}, {0, 1}),
            product = b.output(float32, {1}, {0, 1}), twice = b.output(float32, {1}, {});
  b.add(CallStep{.name = "sum_and_product",
                 .in = {xy, y, c},
                 .out = {sum, product},
                 .fn =
                     [&both](auto in, auto out) {
                       ++both;
                       *floats(out[0]) = *floats(in[0]) + 100 * *floats(in[1]) + *floats(in[2]);
                       *floats(out[1]) = *floats(in[0]) * *floats(in[1]);
                     },
                 .axes = {0, 1}});
  b.add(CallStep{.name = "twice", .in = {c}, .out = {twice}, .fn = [&none](auto in, auto out) {
                   ++none;
                   *floats(out[0]) = 2 * *floats(in[0]);
                 }});
  const NamedSharding by_xy(mesh, P("x", "y")), by_y(mesh, P("y")), all(mesh, P());
  const NamedSharding minor(mesh, P(joint("y", "x")));
  const auto program =
      b.program({{float32, {6}, minor}, {float32, {3}, by_y}, {float32, {1}, all}},
                {{float32, {2, 3}, by_xy}, {float32, {2, 3}, by_xy}, {float32, {1}, all}});
  const auto out =
      program->run({device_array(iota_literal({6}), minor), device_array(iota_literal({3}), by_y),
                    device_array(Literal::from<float>(std::vector{7.f}, {1}), all)});
  // The element of xy on device (x, y) is 2 y + x.
  EXPECT_THAT(values(out[0]), ElementsAre(7, 109, 211, 8, 110, 212));
  EXPECT_THAT(values(out[1]), ElementsAre(0, 2, 8, 0, 3, 10));
  EXPECT_THAT(values(out[2]), ElementsAre(14));
  EXPECT_EQ(both, 6);
  EXPECT_EQ(none, 1);
}

TEST(Call, WithoutOperandsAndWithoutResults) {
  ScheduleBuilder b{Mesh()};
  float seen = 0;
  const int y = b.output(float32, {}, {});
  b.add(CallStep{.name = "seven", .out = {y}, .fn = [](auto in, auto out) {
                   EXPECT_TRUE(in.empty());
                   *floats(out[0]) = 7;
                 }});
  b.add(CallStep{.name = "look", .in = {y}, .fn = [&seen](auto in, auto out) {
                   EXPECT_TRUE(out.empty());
                   seen = *floats(in[0]);
                 }});
  const auto program = b.program({}, {{float32, {}, one_device()}});
  EXPECT_THAT(values(program->run(std::vector<DeviceArrayRef>{})[0]), ElementsAre(7));
  EXPECT_EQ(seen, 7);
}

// A loop with zero, one and many iterations whose body is a call on each device.
TEST(Call, InALoopOverDevices) {
  const Mesh mesh = test_mesh({8}, {"x"});
  const NamedSharding s(mesh, P("x"));
  for (int trips : {0, 1, 20}) {
    std::atomic<int> calls = 0;
    ScheduleBuilder body{mesh}, b{mesh};
    const int x = body.input(float32, {3}, {0}), y = body.output(float32, {3}, {0});
    body.add(CallStep{.name = "turn",
                      .in = {x},
                      .out = {y},
                      .fn =
                          [&calls](auto in, auto out) {
                            ++calls;
                            std::rotate_copy(floats(in[0]), floats(in[0]) + 1, floats(in[0]) + 3,
                                             floats(out[0]));
                          },
                      .axes = {0}});
    LoopStep loop{.body = std::make_shared<Schedule>(body.schedule), .trip_count = trips};
    loop.in = {b.input(float32, {3}, {0})};
    loop.out = {b.output(float32, {3}, {0})};
    b.add(loop);
    const auto program = b.program({{float32, {24}, s}}, {{float32, {24}, s}});
    const auto out = values(program->run({device_array(iota_literal({24}), s)})[0]);
    for (int i = 0; i < 24; ++i)
      EXPECT_EQ(out[static_cast<size_t>(i)], static_cast<float>(i / 3 * 3 + (i % 3 + trips) % 3));
    EXPECT_EQ(calls, 8 * trips);
  }
}

// The caller gets the exception of a call, and the program can run again.
TEST(Call, Errors) {
  const Mesh mesh = test_mesh({4}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {1}, {0}), y = b.output(float32, {1}, {0});
  b.add(CallStep{.name = "root",
                 .in = {x},
                 .out = {y},
                 .fn =
                     [](auto in, auto out) {
                       if (*floats(in[0]) == 2) value_error("root", "expected no 2, got 2");
                       *floats(out[0]) = *floats(in[0]) + 1;
                     },
                 .axes = {0}});
  const NamedSharding s(mesh, P("x"));
  const auto program = b.program({{float32, {4}, s}}, {{float32, {4}, s}});
  expect_error([&] { program->run({device_array(iota_literal({4}), s)}); },
               "[root] expected no 2, got 2");
  EXPECT_THAT(values(program->run({device_array(Literal(float32, {4}), s)})[0]),
              ElementsAre(1, 1, 1, 1));
}

}  // namespace
}  // namespace tessera::call_test
