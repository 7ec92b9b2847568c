// Loops and branches over nested schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "tests/runtime/schedules.h"

namespace tessera::control_test {

using namespace runtime;

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

const int32_t* ints(const void* pointer) { return static_cast<const int32_t*>(pointer); }
int32_t* ints(void* pointer) { return static_cast<int32_t*>(pointer); }

std::shared_ptr<const Schedule> share(const ScheduleBuilder& b) {
  return std::make_shared<Schedule>(b.schedule);
}

// (unused..., limit, x) -> x < limit
std::shared_ptr<const Schedule> below_limit(int unused = 0, int64_t* tests = nullptr) {
  ScheduleBuilder b{Mesh()};
  for (int i = 0; i < unused; ++i) b.input(int32, {}, {});
  const int limit = b.input(int32, {}, {}), x = b.input(int32, {}, {}), p = b.output(bool_, {}, {});
  b.add(CallStep{.name = "below", .in = {limit, x}, .out = {p}, .fn = [tests](auto in, auto out) {
                   if (tests) ++*tests;
                   *static_cast<bool*>(out[0]) = *ints(in[1]) < *ints(in[0]);
                 }});
  return share(b);
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

// (c, s, x) -> (c s + x, c s - x): a constant, a carry, and slices read and written.
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

// (a, b) -> (b + 1, a + 1): what a trip computes stays where it is until the next one has read it.
TEST(Control, CarriesThatSwapPlacesAreNotCopied) {
  struct Call {
    const void *from, *to;
  };
  std::vector<Call> calls[2];  // of each carry
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

// (k; a, b, c) -> (b, a, k): slots that change places, also larger than what one thread copies.
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

// for outer trips: for inner trips: x = 2 x + k; while x < limit: x = 2 x + k
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

// x = x + the sum of x over devices, as often as is said, or while that sum is below a limit.
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

// One of `count` branches, of which branch k adds 10^k, for an index of every value.
TEST(Control, AnIndexOutOfRangeTakesTheLastBranch) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min(),
                    kMax = std::numeric_limits<int32_t>::max();
  for (int32_t count : {1, 2, 3, 5}) {
    ScheduleBuilder b{Mesh()};
    BranchStep branch;
    std::vector<int32_t> power{1};
    for (int32_t k = 0; k < count; ++k) {
      ScheduleBuilder one{Mesh()};
      const int x = one.input(int32, {2}, {}), y = one.output(int32, {2}, {});
      one.add(CallStep{
          .name = "add", .in = {x}, .out = {y}, .fn = [add = power.back()](auto in, auto out) {
            for (int i = 0; i < 2; ++i) ints(out[0])[i] = ints(in[0])[i] + add;
          }});
      branch.branches.push_back(share(one));
      power.push_back(power.back() * 10);
    }
    branch.index = b.input(int32, {}, {});
    branch.in = {b.input(int32, {2}, {})};
    branch.out = {b.output(int32, {2}, {})};
    b.add(branch);
    const ArraySpec spec{int32, {2}, one_device()};
    const auto program = b.program({{int32, {}, one_device()}, spec}, {spec});
    for (int32_t index : {kMin, -100, -1, 0, 1, 2, 3, 4, 5, 100, kMax}) {
      const int32_t chosen = index < 0 || index >= count ? count - 1 : index;
      const int32_t add = power[static_cast<size_t>(chosen)];
      const auto out = program->run({device_array(Literal::scalar(index), one_device()),
                                     device_array(integers({4, -5}), one_device())});
      EXPECT_EQ(to_vector(out[0]), (std::vector<int32_t>{4 + add, -5 + add}))
          << index << " of " << count;
    }
  }
}

// (x, y) -> y with `add` added to x, through a large temporary.
std::shared_ptr<const Schedule> detour(int32_t add, std::atomic<int64_t>* runs) {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(int32, {2}, {}), before = b.input(int32, {2}, {}),
            large = b.slot(int32, {100'000}, {}), y = b.output(int32, {2}, {});
  static_cast<void>(before);
  b.add(CallStep{.name = "spread", .in = {x}, .out = {large}, .fn = [add](auto in, auto out) {
                   for (int i = 0; i < 100'000; ++i) ints(out[0])[i] = ints(in[0])[i % 2] + add;
                 }});
  b.add(CallStep{.name = "last", .in = {large}, .out = {y}, .fn = [runs](auto in, auto out) {
                   ++*runs;
                   for (int i = 0; i < 2; ++i) ints(out[0])[i] = ints(in[0])[99'998 + i];
                 }});
  return share(b);
}

// (x, y) -> y.
std::shared_ptr<const Schedule> second_operand() {
  ScheduleBuilder b{Mesh()};
  b.input(int32, {2}, {});
  b.schedule.outputs = {b.input(int32, {2}, {})};
  return share(b);
}

// index, x -> 2 x by a call, or x + 5 where the index is false, which is rare; and as often as the
// index says in between.
TEST(Control, RareBranchesHaveMemoryWhenTheyAreTaken) {
  for (bool read_later : {false, true}) {
    std::atomic<int64_t> runs = 0;
    ScheduleBuilder b{Mesh()};
    const int index = b.input(bool_, {}, {}), x = b.input(int32, {2}, {}),
              usual = b.slot(int32, {2}, {}), corrected = b.slot(int32, {2}, {}),
              out = b.output(int32, {2}, {});
    b.add(CallStep{.name = "twice", .in = {x}, .out = {usual}, .fn = [](auto in, auto result) {
                     for (int i = 0; i < 2; ++i) ints(result[0])[i] = 2 * ints(in[0])[i];
                   }});
    BranchStep branch{.index = index, .in = {x, usual}, .out = {corrected}, .expected = 1};
    branch.branches = {detour(5, &runs), second_operand()};
    b.add(branch);
    // Where what was corrected is read once more, it may not have been overwritten.
    const int other = read_later ? usual : corrected;
    b.add(CallStep{
        .name = "join", .in = {corrected, other}, .out = {out}, .fn = [](auto in, auto result) {
          for (int i = 0; i < 2; ++i) ints(result[0])[i] = 100 * ints(in[0])[i] + ints(in[1])[i];
        }});
    const ArraySpec spec{int32, {2}, one_device()};
    const auto program = b.program({{bool_, {}, one_device()}, spec}, {spec});
    EXPECT_LE(program->arena_bytes(), read_later ? 192 : 128);
    const auto run = [&](bool usually) {
      return to_vector(program->run({device_array(Literal::scalar(usually), one_device()),
                                     device_array(integers({1, 2}), one_device())})[0]);
    };
    const std::vector<int32_t> as_usual{202, 404};
    const std::vector<int32_t> rarely =
        read_later ? std::vector<int32_t>{602, 704} : std::vector<int32_t>{606, 707};
    EXPECT_EQ(run(true), as_usual);
    EXPECT_EQ(runs, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i)
          EXPECT_EQ(run((i + t) % 2 == 0), (i + t) % 2 == 0 ? as_usual : rarely);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(runs, 40);
  }
}

// Results that are operands, exchanged, or the same one twice; the operands stay as they are.
TEST(Control, BranchesWithoutSteps) {
  ScheduleBuilder b{Mesh()};
  BranchStep branch;
  branch.index = b.input(int32, {}, {});
  for (auto [p, q] : {std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)}) {
    ScheduleBuilder one{Mesh()};
    const int in[] = {one.input(int32, {2}, {}), one.input(int32, {2}, {})};
    one.schedule.outputs = {in[p], in[q]};
    branch.branches.push_back(share(one));
  }
  branch.in = {b.input(int32, {2}, {}), b.input(int32, {2}, {})};
  branch.out = {b.output(int32, {2}, {}), b.output(int32, {2}, {})};
  b.add(branch);
  const ArraySpec spec{int32, {2}, one_device()};
  const auto program = b.program({{int32, {}, one_device()}, spec, spec}, {spec, spec});
  const std::vector<int32_t> x{1, 2}, y{3, 4};
  for (int32_t index : {0, 1, 2}) {
    const std::vector<DeviceArrayRef> in = {device_array(Literal::scalar(index), one_device()),
                                            device_array(integers({1, 2}), one_device()),
                                            device_array(integers({3, 4}), one_device())};
    const auto out = program->run(in);
    EXPECT_EQ(to_vector(out[0]), index == 0 ? x : y) << index;
    EXPECT_EQ(to_vector(out[1]), index == 1 ? x : y) << index;
    EXPECT_EQ(to_vector(in[1]), x);
    EXPECT_EQ(to_vector(in[2]), y);
  }
}

// Two ways to communicate, of an operand that is the same everywhere and one that is not.
TEST(Control, BranchesThatCommunicate) {
  const Mesh mesh = test_mesh({4}, {"x"});
  const NamedSharding sharded(mesh, P("x")), all(mesh, P());
  ScheduleBuilder sum{mesh}, ring{mesh}, b{mesh};
  {
    sum.input(int32, {1}, {});
    const int x = sum.input(int32, {1}, {0}), total = sum.slot(int32, {1}, {}),
              y = sum.output(int32, {1}, {0});
    sum.add(CollectiveStep{.kind = CollectiveKind::kAllReduce, .over = {0}, .in = x, .out = total});
    sum.kernel({x, total, y}, {0}, add);
  }
  {
    const int same = ring.input(int32, {1}, {0}), x = ring.input(int32, {1}, {0}),
              moved = ring.slot(int32, {1}, {0}), y = ring.output(int32, {1}, {0});
    CollectiveStep permute{.kind = CollectiveKind::kPermute, .over = {0}, .in = x, .out = moved};
    for (int64_t r = 0; r < 4; ++r) permute.pairs.push_back({r, (r + 1) % 4});
    ring.add(permute);
    ring.kernel({moved, same, y}, {0}, add);
  }
  b.functions = sum.functions;
  b.functions.insert(b.functions.end(), ring.functions.begin(), ring.functions.end());
  BranchStep branch;
  branch.index = b.input(int32, {}, {});
  branch.in = {b.input(int32, {1}, {}), b.input(int32, {1}, {0})};
  branch.out = {b.output(int32, {1}, {0})};
  branch.branches = {share(sum), share(ring)};
  b.add(branch);
  const auto program = b.program({{int32, {}, all}, {int32, {1}, all}, {int32, {4}, sharded}},
                                 {{int32, {4}, sharded}});
  const auto run = [&](int32_t index) {
    return to_vector(
        program->run({device_array(Literal::scalar(index), all), device_array(integers({100}), all),
                      device_array(integers({1, 2, 3, 4}), sharded)})[0]);
  };
  EXPECT_THAT(run(0), ::testing::ElementsAre(11, 12, 13, 14));
  EXPECT_THAT(run(1), ::testing::ElementsAre(104, 101, 102, 103));
  EXPECT_THAT(run(-1), ::testing::ElementsAre(104, 101, 102, 103));
}

// Collatz: while 1 < n, (n, count) -> (n odd ? 3 n + 1 : n / 2, count + 1).
TEST(Control, ABranchInALoop) {
  ScheduleBuilder half{Mesh()}, triple{Mesh()}, cond{Mesh()}, body{Mesh()}, b{Mesh()};
  {
    const int x = half.input(int32, {}, {}), y = half.output(int32, {}, {});
    half.add(CallStep{.name = "half", .in = {x}, .out = {y}, .fn = [](auto in, auto out) {
                        *ints(out[0]) = *ints(in[0]) / 2;
                      }});
  }
  {
    const int x = triple.input(int32, {}, {}), y = triple.output(int32, {}, {});
    triple.add(CallStep{.name = "triple", .in = {x}, .out = {y}, .fn = [](auto in, auto out) {
                          *ints(out[0]) = 3 * *ints(in[0]) + 1;
                        }});
  }
  {
    const int n = cond.input(int32, {}, {});
    cond.input(int32, {}, {});
    const int p = cond.output(bool_, {}, {});
    cond.add(CallStep{.name = "above_one", .in = {n}, .out = {p}, .fn = [](auto in, auto out) {
                        *static_cast<bool*>(out[0]) = *ints(in[0]) > 1;
                      }});
  }
  {
    const int n = body.input(int32, {}, {}), count = body.input(int32, {}, {}),
              odd = body.slot(bool_, {}, {}), next = body.output(int32, {}, {}),
              more = body.output(int32, {}, {});
    body.add(CallStep{.name = "odd", .in = {n}, .out = {odd}, .fn = [](auto in, auto out) {
                        *static_cast<bool*>(out[0]) = *ints(in[0]) % 2 != 0;
                      }});
    body.add(BranchStep{
        .index = odd, .branches = {share(half), share(triple)}, .in = {n}, .out = {next}});
    body.kernel({count, more}, {}, add_one);
  }
  b.functions = body.functions;
  LoopStep loop{.cond = share(cond), .body = share(body)};
  loop.in = {b.input(int32, {}, {}), b.input(int32, {}, {})};
  loop.out = {b.output(int32, {}, {}), b.output(int32, {}, {})};
  b.add(loop);
  const ArraySpec spec{int32, {}, one_device()};
  const auto program = b.program({spec, spec}, {spec, spec});
  for (auto [n, steps] : {std::pair(1, 0), std::pair(2, 1), std::pair(3, 7), std::pair(27, 111)}) {
    const auto out = program->run({device_array(Literal::scalar(n), one_device()),
                                   device_array(Literal::scalar(0), one_device())});
    EXPECT_EQ(out[0]->to_literal(), Literal::scalar(1));
    EXPECT_EQ(out[1]->to_literal(), Literal::scalar(steps)) << n;
  }
}

}  // namespace
}  // namespace tessera::control_test
