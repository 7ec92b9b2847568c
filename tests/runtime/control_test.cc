// Loops and branches over nested schedules.
#include <gtest/gtest.h>

#include "tests/runtime/schedules.h"

namespace tessera {
namespace {

void add_one(void* const* buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<int32_t*>(buffers[1])[i] = static_cast<const int32_t*>(buffers[0])[i] + 1;
}
void add(void* const* buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<int32_t*>(buffers[2])[i] =
        static_cast<const int32_t*>(buffers[0])[i] + static_cast<const int32_t*>(buffers[1])[i];
}
void below_ten(void* const* buffers, int64_t, int64_t) {
  *static_cast<bool*>(buffers[1]) = *static_cast<const int32_t*>(buffers[0]) < 10;
}

SingleDeviceSharding one_device() { return SingleDeviceSharding(test_devices(1)[0]); }
Literal integers(std::initializer_list<int32_t> values) {
  return Literal::from(std::span<const int32_t>(values.begin(), values.size()),
                       {static_cast<int64_t>(values.size())});
}

std::vector<int32_t> to_vector(const DeviceArrayRef& array) {
  const Literal l = array->to_literal();
  return {l.data<int32_t>(), l.data<int32_t>() + l.elements()};
}

// (a, b, c) -> (b, a + b, c): carries that swap places, are computed, and stay.
std::shared_ptr<const Schedule> fibonacci_body(ScheduleBuilder& b) {
  const int x = b.input(int32, {2}, {}), y = b.input(int32, {2}, {}), z = b.input(int32, {1}, {});
  const int sum = b.slot(int32, {2}, {}, Slot::Kind::kOutput);
  b.kernel({x, y, sum}, {}, add);
  b.schedule.outputs = {y, sum, z};
  return std::make_shared<Schedule>(b.schedule);
}

TEST(Control, LoopsOfAKnownNumberOfTrips) {
  for (int64_t trips : {0, 1, 2, 3, 10, 11}) {
    ScheduleBuilder body{Mesh()}, b{Mesh()};
    LoopStep loop{.body = fibonacci_body(body), .trip_count = trips};
    b.functions = body.functions;
    loop.in = {b.input(int32, {2}, {}), b.input(int32, {2}, {}), b.input(int32, {1}, {})};
    loop.out = {b.output(int32, {2}, {}), b.output(int32, {2}, {}), b.output(int32, {1}, {})};
    b.add(loop);
    const ArraySpec two{int32, {2}, one_device()}, one{int32, {1}, one_device()};
    const auto program = b.program({two, two, one}, {two, two, one});
    const std::vector<DeviceArrayRef> in = {device_array(integers({0, 1}), one_device()),
                                            device_array(integers({1, 1}), one_device()),
                                            device_array(integers({7}), one_device())};
    std::vector<int32_t> a{0, 1}, c{1, 1};
    for (int64_t t = 0; t < trips; ++t) {
      for (size_t i = 0; i < 2; ++i) a[i] = std::exchange(c[i], a[i] + c[i]);
    }
    for (int round = 0; round < 2; ++round) {
      const auto out = program->run(in);
      EXPECT_EQ(to_vector(out[0]), a) << trips;
      EXPECT_EQ(to_vector(out[1]), c) << trips;
      EXPECT_EQ(to_vector(out[2]), std::vector<int32_t>{7});
    }
    EXPECT_EQ(to_vector(in[0]), (std::vector<int32_t>{0, 1}));
  }
}

TEST(Control, LoopsWithACondition) {
  ScheduleBuilder cond{Mesh()}, body{Mesh()}, b{Mesh()};
  {
    const int x = cond.input(int32, {}, {}), p = cond.output(bool_, {}, {});
    cond.kernel({x, p}, {}, below_ten);
  }
  {
    const int x = body.input(int32, {}, {}), t = body.slot(int32, {}, {}),
              y = body.output(int32, {}, {});
    body.kernel({x, t}, {}, add_one);
    body.kernel({t, y}, {}, add_one);
  }
  LoopStep loop{.cond = std::make_shared<Schedule>(cond.schedule),
                .body = std::make_shared<Schedule>(body.schedule)};
  b.functions = cond.functions;
  b.functions.insert(b.functions.end(), body.functions.begin(), body.functions.end());
  loop.in = {b.input(int32, {}, {})};
  loop.out = {b.output(int32, {}, {})};
  b.add(loop);
  const ArraySpec spec{int32, {}, one_device()};
  const auto program = b.program({spec}, {spec});
  for (int32_t start : {-3, 0, 1, 8, 9, 10, 50}) {
    int32_t expected = start;
    while (expected < 10) expected += 2;
    EXPECT_EQ(program->run({device_array(Literal::scalar(start), one_device())})[0]->to_literal(),
              Literal::scalar(expected));
  }
}

// A replicated start that varies once the body has added to it; the body communicates.
TEST(Control, LoopsOverDevices) {
  const Mesh mesh = test_mesh({4}, {"x"});
  ScheduleBuilder body{mesh}, b{mesh};
  {
    const int carry = body.input(int32, {2}, {0}), moved = body.slot(int32, {2}, {0}),
              out = body.output(int32, {2}, {0});
    CollectiveStep ring{.kind = CollectiveKind::kPermute, .over = {0}, .in = carry, .out = moved};
    for (int64_t r = 0; r < 4; ++r) ring.pairs.push_back({r, (r + 1) % 4});
    body.add(ring);
    const int rank = body.slot(int32, {}, {0});
    body.add(InstanceTableStep{
        rank,
        {Literal::scalar(1), Literal::scalar(10), Literal::scalar(100), Literal::scalar(1000)}});
    body.kernel({moved, rank, out}, {0}, [](void* const* buffers, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        static_cast<int32_t*>(buffers[2])[i] =
            static_cast<const int32_t*>(buffers[0])[i] + static_cast<const int32_t*>(buffers[1])[0];
    });
  }
  for (int64_t trips : {1, 2, 5}) {
    ScheduleBuilder outer{mesh};
    outer.functions = body.functions;
    LoopStep loop{.body = std::make_shared<Schedule>(body.schedule), .trip_count = trips};
    loop.in = {outer.input(int32, {2}, {})};
    loop.out = {outer.output(int32, {2}, {0})};
    outer.add(loop);
    const NamedSharding all(mesh, P()), sharded(mesh, P("x"));
    const auto program = outer.program({{int32, {2}, all}}, {{int32, {8}, sharded}});
    std::vector<int32_t> state(8);
    for (size_t i = 0; i < 8; ++i) state[i] = i % 2 == 0 ? 3 : 5;
    const int32_t add[] = {1, 10, 100, 1000};
    for (int64_t t = 0; t < trips; ++t) {
      std::vector<int32_t> next(8);
      for (size_t i = 0; i < 8; ++i) next[i] = state[(i + 6) % 8] + add[i / 2];
      state = next;
    }
    EXPECT_EQ(to_vector(program->run({device_array(integers({3, 5}), all)})[0]), state) << trips;
  }
}

TEST(Control, Branches) {
  for (bool predicate : {false, true}) {
    ScheduleBuilder plus{Mesh()}, same{Mesh()}, b{Mesh()};
    {
      const int x = plus.input(int32, {2}, {}), y = plus.output(int32, {2}, {});
      plus.kernel({x, y}, {}, add_one);
    }
    same.schedule.outputs = {same.input(int32, {2}, {})};
    b.functions = plus.functions;
    BranchStep branch;
    branch.index = b.input(predicate ? bool_ : int32, {}, {});
    branch.in = {b.input(int32, {2}, {})};
    branch.out = {b.output(int32, {2}, {})};
    branch.branches = {std::make_shared<Schedule>(plus.schedule),
                       std::make_shared<Schedule>(same.schedule)};
    b.add(branch);
    const ArraySpec spec{int32, {2}, one_device()};
    const auto program = b.program({{predicate ? bool_ : int32, {}, one_device()}, spec}, {spec});
    const auto x = device_array(integers({4, 5}), one_device());
    for (int32_t index : {-1, 0, 1, 2}) {
      if (predicate && (index < 0 || index > 1)) continue;
      const Literal chosen = predicate ? Literal::scalar(index == 1) : Literal::scalar(index);
      const auto out = to_vector(program->run({device_array(chosen, one_device()), x})[0]);
      EXPECT_EQ(out, index == 0 ? (std::vector<int32_t>{5, 6}) : (std::vector<int32_t>{4, 5}))
          << index;
    }
  }
}

}  // namespace
}  // namespace tessera
