// Branches over nested schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/runtime/control_schedules.h"

namespace tessera::branches_test {

using namespace runtime;
using namespace control_schedules;

namespace {

TEST(Branches, Branches) {
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

// Takes one of `count` branches, of which branch k adds 10^k, for many values of the index.
TEST(Branches, AnIndexOutOfRangeTakesTheLastBranch) {
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

// Returns the schedule (x, y) -> x + `add`, computed through a large temporary.
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

// Returns the schedule (x, y) -> y.
std::shared_ptr<const Schedule> second_operand() {
  ScheduleBuilder b{Mesh()};
  b.input(int32, {2}, {});
  b.schedule.outputs = {b.input(int32, {2}, {})};
  return share(b);
}

// (index, x) -> 2 x by a call, or x + 5 if the index is false, which is unlikely. The calls
// alternate between the two.
TEST(Branches, RareBranchesHaveMemoryWhenTheyAreTaken) {
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
    // If the value before the correction is read once more, it must not be overwritten.
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

// The results are operands: in order, exchanged, or the same one twice. The operands do not change.
TEST(Branches, BranchesWithoutSteps) {
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

// Two branches that communicate, for an operand that is the same on all devices and one that is
// not.
TEST(Branches, BranchesThatCommunicate) {
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
TEST(Branches, ABranchInALoop) {
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
}  // namespace tessera::branches_test
