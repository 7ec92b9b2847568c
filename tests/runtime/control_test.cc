// Loops over nested schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "tests/runtime/control_schedules.h"

namespace tessera::control_test {

using namespace runtime;
using namespace control_schedules;

namespace {

// Returns the body (a, b, c) -> (b, a + b, c): one carry is another operand, one is computed, and
// one stays.
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

// (c, s, x) -> (c s + x, c s - x): a constant, a carry, and slices that are read and written.
TEST(Control, LoopsOverSlices) {
  ScheduleBuilder body{Mesh()};
  const int c = body.input(int32, {}, {}), s = body.input(int32, {2}, {}),
            x = body.input(int32, {2}, {}), t = body.output(int32, {2}, {}),
            y = body.output(int32, {2}, {});
  body.add(CallStep{.name = "step", .in = {c, s, x}, .out = {t, y}, .fn = [](auto in, auto out) {
                      for (int i = 0; i < 2; ++i) {
                        const int32_t product = *ints(in[0]) * ints(in[1])[i];
                        ints(out[0])[i] = product + ints(in[2])[i];
                        ints(out[1])[i] = product - ints(in[2])[i];
                      }
                    }});
  for (int64_t trips : {0, 1, 2, 5}) {
    for (bool reverse : {false, true}) {
      ScheduleBuilder b{Mesh()};
      LoopStep loop{.body = share(body), .trip_count = trips, .reverse = reverse};
      loop.consts = {b.input(int32, {}, {})};
      loop.in = {b.input(int32, {2}, {})};
      loop.xs = {b.input(int32, {trips, 2}, {})};
      loop.out = {b.output(int32, {2}, {})};
      loop.ys = {b.output(int32, {trips, 2}, {})};
      b.add(loop);
      const ArraySpec one{int32, {}, one_device()}, two{int32, {2}, one_device()},
          rows{int32, {trips, 2}, one_device()};
      const auto program = b.program({one, two, rows}, {two, rows});
      const Literal xs = random_literal(int32, {trips, 2}, 7);
      std::vector<int32_t> state{1, -2}, ys(static_cast<size_t>(2 * trips));
      for (int64_t trip = 0; trip < trips; ++trip) {
        const auto row = static_cast<size_t>(2 * (reverse ? trips - 1 - trip : trip));
        for (size_t i = 0; i < 2; ++i) {
          const int32_t product = 3 * state[i], slice = xs.data<int32_t>()[row + i];
          state[i] = product + slice;
          ys[row + i] = product - slice;
        }
      }
      const auto out = program->run({device_array(Literal::scalar(3), one_device()),
                                     device_array(integers({1, -2}), one_device()),
                                     device_array(xs, one_device())});
      EXPECT_EQ(to_vector(out[0]), state) << trips << (reverse ? " reversed" : "");
      EXPECT_EQ(to_vector(out[1]), ys) << trips << (reverse ? " reversed" : "");
    }
  }
}

TEST(Control, AConditionIsAskedOnceMoreThanItHolds) {
  int64_t tests = 0, trips = 0;
  ScheduleBuilder body{Mesh()}, b{Mesh()};
  {
    const int limit = body.input(int32, {}, {}), x = body.input(int32, {}, {}),
              y = body.output(int32, {}, {});
    body.add(
        CallStep{.name = "step", .in = {limit, x}, .out = {y}, .fn = [&trips](auto in, auto out) {
                   ++trips;
                   *ints(out[0]) = *ints(in[1]) + *ints(in[0]) / 4;
                 }});
  }
  LoopStep loop{.cond = below_limit(0, &tests), .body = share(body)};
  loop.consts = {b.input(int32, {}, {})};
  loop.in = {b.input(int32, {}, {})};
  loop.out = {b.output(int32, {}, {})};
  b.add(loop);
  const ArraySpec spec{int32, {}, one_device()};
  const auto program = b.program({spec, spec}, {spec});
  for (int32_t start : {40, 41, 39, 30, 29, -100}) {
    tests = trips = 0;
    int32_t expected = start;
    int64_t count = 0;
    for (; expected < 40; expected += 10) ++count;
    const auto out = program->run({device_array(Literal::scalar(40), one_device()),
                                   device_array(Literal::scalar(start), one_device())});
    EXPECT_EQ(out[0]->to_literal(), Literal::scalar(expected));
    EXPECT_EQ(trips, count) << start;
    EXPECT_EQ(tests, count + 1) << start;
  }
}

// (a, b) -> (b + 1, a + 1): the results of an iteration are not moved before the next iteration
// reads them.
TEST(Control, CarriesThatSwapPlacesAreNotCopied) {
  struct Call {
    const void *from, *to;
  };
  std::vector<Call> calls[2];  // for each carry
  ScheduleBuilder body{Mesh()};
  const int x = body.input(int32, {1}, {}), y = body.input(int32, {1}, {}),
            p = body.output(int32, {1}, {}), q = body.output(int32, {1}, {});
  for (int k = 0; k < 2; ++k)
    body.add(CallStep{.name = "add_one",
                      .in = {k == 0 ? y : x},
                      .out = {k == 0 ? p : q},
                      .fn = [&calls, k](auto in, auto out) {
                        *ints(out[0]) = *ints(in[0]) + 1;
                        calls[k].push_back({in[0], out[0]});
                      }});
  for (size_t trips : {1, 2, 3, 4, 7}) {
    ScheduleBuilder b{Mesh()};
    LoopStep loop{.body = share(body), .trip_count = static_cast<int64_t>(trips)};
    loop.in = {b.input(int32, {1}, {}), b.input(int32, {1}, {})};
    loop.out = {b.output(int32, {1}, {}), b.output(int32, {1}, {})};
    b.add(loop);
    const ArraySpec spec{int32, {1}, one_device()};
    const auto program = b.program({spec, spec}, {spec, spec});
    for (auto& list : calls) list.clear();
    const std::vector<DeviceArrayRef> in = {device_array(integers({10}), one_device()),
                                            device_array(integers({20}), one_device())};
    const auto out = program->run(in);
    const auto n = static_cast<int32_t>(trips);
    EXPECT_EQ(to_vector(out[0])[0], (trips % 2 == 0 ? 10 : 20) + n);
    EXPECT_EQ(to_vector(out[1])[0], (trips % 2 == 0 ? 20 : 10) + n);
    for (size_t k = 0; k < 2; ++k) {
      ASSERT_EQ(calls[k].size(), trips);
      EXPECT_EQ(calls[k][0].from, in[1 - k]->buffer().data());
      for (size_t t = 1; t < trips; ++t) EXPECT_EQ(calls[k][t].from, calls[1 - k][t - 1].to) << t;
      EXPECT_EQ(calls[k][trips - 1].to, out[k]->buffer().data());
    }
  }
}

// (k; a, b, c) -> (b, a, k): slots are exchanged, small ones and ones that several threads copy.
TEST(Control, BodiesWithoutSteps) {
  for (int64_t n : {1, 50000}) {
    ScheduleBuilder body{Mesh()};
    const int k = body.input(int32, {n}, {}), x = body.input(int32, {n}, {}),
              y = body.input(int32, {n}, {});
    body.input(int32, {n}, {});
    body.schedule.outputs = {y, x, k};
    for (int64_t trips : {0, 1, 2, 3}) {
      ScheduleBuilder b{Mesh()};
      LoopStep loop{.body = share(body), .trip_count = trips};
      loop.consts = {b.input(int32, {n}, {})};
      for (int i = 0; i < 3; ++i) loop.in.push_back(b.input(int32, {n}, {}));
      for (int i = 0; i < 3; ++i) loop.out.push_back(b.output(int32, {n}, {}));
      b.add(loop);
      const ArraySpec spec{int32, {n}, one_device()};
      const auto program = b.program({spec, spec, spec, spec}, {spec, spec, spec});
      std::vector<DeviceArrayRef> in;
      for (int i = 0; i < 4; ++i)
        in.push_back(device_array(random_literal(int32, {n}, i), one_device()));
      const auto out = program->run(in);
      EXPECT_EQ(to_vector(out[0]), to_vector(in[trips % 2 == 0 ? 1 : 2])) << trips;
      EXPECT_EQ(to_vector(out[1]), to_vector(in[trips % 2 == 0 ? 2 : 1])) << trips;
      EXPECT_EQ(to_vector(out[2]), to_vector(in[trips == 0 ? 3 : 0])) << trips;
    }
  }
}

// for outer iterations: for inner iterations: x = 2 x + k; while x < limit: x = 2 x + k
TEST(Control, LoopsInLoops) {
  ScheduleBuilder innermost{Mesh()};
  {
    const int k = innermost.input(int32, {}, {}), x = innermost.input(int32, {}, {}),
              y = innermost.output(int32, {}, {});
    innermost.add(CallStep{.name = "step", .in = {k, x}, .out = {y}, .fn = [](auto in, auto out) {
                             *ints(out[0]) = 2 * *ints(in[1]) + *ints(in[0]);
                           }});
  }
  for (int64_t outer : {0, 1, 3}) {
    for (int64_t inner : {0, 1, 2, 3}) {
      ScheduleBuilder until{Mesh()}, body{Mesh()}, b{Mesh()};
      {
        const int k = until.input(int32, {}, {}), limit = until.input(int32, {}, {}),
                  x = until.input(int32, {}, {});
        const int y = until.slot(int32, {}, {}, Slot::Kind::kOutput);
        until.add(LoopStep{
            .body = share(innermost), .trip_count = 1, .in = {x}, .out = {y}, .consts = {k}});
        until.schedule.outputs = {limit, y};
      }
      {
        const int k = body.input(int32, {}, {}), limit = body.input(int32, {}, {}),
                  x = body.input(int32, {}, {});
        const int t = body.slot(int32, {}, {}), same = body.slot(int32, {}, {}),
                  y = body.output(int32, {}, {});
        body.add(LoopStep{
            .body = share(innermost), .trip_count = inner, .in = {x}, .out = {t}, .consts = {k}});
        body.add(LoopStep{.cond = below_limit(1),
                          .body = share(until),
                          .in = {limit, t},
                          .out = {same, y},
                          .consts = {k}});
      }
      LoopStep loop{.body = share(body), .trip_count = outer};
      loop.consts = {b.input(int32, {}, {}), b.input(int32, {}, {})};
      loop.in = {b.input(int32, {}, {})};
      loop.out = {b.output(int32, {}, {})};
      b.add(loop);
      const ArraySpec spec{int32, {}, one_device()};
      const auto program = b.program({spec, spec, spec}, {spec});
      for (int32_t start : {0, 1, 30}) {
        int32_t expected = start;
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t i = 0; i < inner; ++i) expected = 2 * expected + 3;
          while (expected < 40) expected = 2 * expected + 3;
        }
        const auto out = program->run({device_array(Literal::scalar(3), one_device()),
                                       device_array(Literal::scalar(40), one_device()),
                                       device_array(Literal::scalar(start), one_device())});
        EXPECT_EQ(out[0]->to_literal(), Literal::scalar(expected)) << outer << " x " << inner;
      }
    }
  }
}

// A replicated start value that varies after the body has added to it; the body communicates.
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

// x = x + the sum of x over devices, a given number of times or while that sum is below a limit.
TEST(Control, LoopsThatSumOverDevices) {
  const Mesh mesh = test_mesh({4}, {"x"});
  const NamedSharding sharded(mesh, P("x")), all(mesh, P());
  ScheduleBuilder body{mesh}, cond{mesh};
  {
    body.input(int32, {}, {});
    const int x = body.input(int32, {1}, {0}), total = body.slot(int32, {1}, {}),
              y = body.output(int32, {1}, {0});
    body.add(
        CollectiveStep{.kind = CollectiveKind::kAllReduce, .over = {0}, .in = x, .out = total});
    body.kernel({x, total, y}, {0}, add);
  }
  {
    const int limit = cond.input(int32, {}, {}), x = cond.input(int32, {1}, {0}),
              total = cond.slot(int32, {1}, {}), p = cond.output(bool_, {}, {});
    cond.add(
        CollectiveStep{.kind = CollectiveKind::kAllReduce, .over = {0}, .in = x, .out = total});
    cond.add(
        CallStep{.name = "below", .in = {limit, total}, .out = {p}, .fn = [](auto in, auto out) {
                   *static_cast<bool*>(out[0]) = *ints(in[1]) < *ints(in[0]);
                 }});
  }
  const auto run = [&](LoopStep loop, int32_t limit) {
    ScheduleBuilder b{mesh};
    b.functions = body.functions;
    loop.consts = {b.input(int32, {}, {})};
    loop.in = {b.input(int32, {1}, {0})};
    loop.out = {b.output(int32, {1}, {0})};
    b.add(loop);
    const auto program =
        b.program({{int32, {}, all}, {int32, {4}, sharded}}, {{int32, {4}, sharded}});
    return to_vector(program->run({device_array(Literal::scalar(limit), all),
                                   device_array(integers({1, 0, 2, -1}), sharded)})[0]);
  };
  const auto expected = [](const std::function<bool(int64_t, int32_t)>& goes_on) {
    std::vector<int32_t> x{1, 0, 2, -1};
    for (int64_t trip = 0;; ++trip) {
      const int32_t total = x[0] + x[1] + x[2] + x[3];
      if (!goes_on(trip, total)) return x;
      for (int32_t& value : x) value += total;
    }
  };
  for (int64_t trips : {0, 1, 2, 6})
    EXPECT_EQ(run({.body = share(body), .trip_count = trips}, 0),
              expected([&](int64_t trip, int32_t) { return trip < trips; }))
        << trips;
  for (int32_t limit : {-5, 2, 3, 11, 5000})
    EXPECT_EQ(run({.cond = share(cond), .body = share(body)}, limit),
              expected([&](int64_t, int32_t total) { return total < limit; }))
        << limit;
}

}  // namespace
}  // namespace tessera::control_test
