// Slices, pads, reversals and concatenations along a sharded dimension: neighbours exchange rows,
// and nothing is gathered.
#include "tessera/spmd/windows.h"

#include <gmock/gmock.h>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tests/spmd/programs.h"

namespace tessera::windows_test {

using namespace spmd;

namespace {

using namespace array_math;
using testing::HasSubstr;
using testing::Not;
using Arrays = std::vector<Array>;

const Mesh& mesh8() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8}, {"x"}));
  return mesh;
}
constexpr int64_t kWide = 512;  // so many columns that bytes count more than steps

Partitioned run(int64_t rows, const FlatFn& body) {
  return partition_and_check(mesh8(), {{{rows, kWide}, P("x")}}, body, {P("x")});
}
Array rows(const Array& x, int64_t start, int64_t limit, int64_t stride = 1) {
  return lax::slice(x, {start, 0}, {limit, x.shape()[1]}, {stride, 1});
}

TEST(Windows, DifferencesOfNeighboursMoveOneRow) {
  const Partitioned p =
      run(64, [](const Arrays& x) { return Arrays{rows(x[0], 1, 64) - rows(x[0], 0, 63)}; });
  EXPECT_EQ(communication(p), "collective_permute x");
  EXPECT_EQ(bytes_sent(p), kWide * 4);
}

TEST(Windows, SlicesOfEveryKind) {
  struct Case {
    int64_t start, limit, stride;
  };
  for (const int64_t n : {64, 60, 61, 9, 8, 5})
    for (const Case& c : {Case{0, n, 2},
                          {1, n, 1},
                          {0, n - 1, 1},
                          {2, n, 3},
                          {n / 2, n, 1},
                          {0, n / 2, 1},
                          {n / 4, 3 * n / 4, 1},
                          {n - 1, n, 1},
                          {0, 1, 1}}) {
      SCOPED_TRACE(fmt::format("{}[{}:{}:{}]", n, c.start, c.limit, c.stride));
      run(n, [&](const Arrays& x) { return Arrays{rows(x[0], c.start, c.limit, c.stride)}; });
    }
  const Partitioned p = run(64, [](const Arrays& x) { return Arrays{rows(x[0], 16, 48)}; });
  EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
}

TEST(Windows, Pads) {
  for (const int64_t n : {64, 61, 9})
    for (const auto& [low, high] :
         {std::pair<int64_t, int64_t>{1, 1}, {0, 3}, {7, 0}, {-1, 2}, {2, -3}, {64, 64}}) {
      SCOPED_TRACE(fmt::format("{} by {} and {}", n, low, high));
      const Partitioned p = run(n, [low = low, high = high](const Arrays& x) {
        return Arrays{lax::pad(x[0], Array(Literal::scalar(7.f)), {low, 0}, {high, 0}, {0, 0})};
      });
      if (low <= 7 && n == 64) {
        EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
      }
    }
}

TEST(Windows, Reversals) {
  for (const int64_t n : {64, 61, 9, 8, 3}) {
    SCOPED_TRACE(n);
    const Partitioned p = run(n, [](const Arrays& x) { return Arrays{lax::rev(x[0], {0})}; });
    if (n == 64) {
      EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
    }
  }
}

TEST(Windows, Concatenations) {
  for (const auto& [a, b] :
       {std::pair<int64_t, int64_t>{64, 64}, {63, 1}, {1, 63}, {40, 9}, {8, 8}, {5, 3}}) {
    SCOPED_TRACE(fmt::format("{} and {}", a, b));
    partition_and_check(mesh8(), {{{a, kWide}, P("x")}, {{b, kWide}, P("x")}},
                        [](const Arrays& x) { return Arrays{lax::concatenate(x, 0)}; }, {P("x")});
  }
  // A row at the front shifts all others by one.
  const Partitioned p =
      partition_and_check(mesh8(), {{{1, kWide}, P()}, {{63, kWide}, P("x")}},
                          [](const Arrays& x) { return Arrays{lax::concatenate(x, 0)}; }, {P("x")});
  EXPECT_EQ(communication(p), "collective_permute x");
}

TEST(Windows, OperandsOfAConcatenationSendTogether) {
  // A device sends a shard of each operand, in two rounds. One operand after the other would need
  // four.
  const auto concatenated = [](std::vector<Input> inputs) {
    return partition_and_check(mesh8(), std::move(inputs),
                               [](const Arrays& x) { return Arrays{lax::concatenate(x, 0)}; },
                               {P("x")});
  };
  const Partitioned two = concatenated({{{64, kWide}, P("x")}, {{64, kWide}, P("x")}});
  EXPECT_EQ(bytes_sent(two), 2 * 8 * kWide * 4);
  EXPECT_EQ(two.collectives.size(), 2u);
  // Shards of other sizes, empty shards, and one operand twice.
  for (const std::vector<int64_t>& rows :
       {std::vector<int64_t>{16, 40, 8}, {0, 24, 40}, {61, 3, 9}, {8, 8, 8}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(rows, ", ")));
    std::vector<Input> inputs;
    for (int64_t r : rows) inputs.push_back({{r, kWide}, P("x")});
    concatenated(inputs);
    partition_and_check(mesh8(), inputs,
                        [](const Arrays& x) {
                          return Arrays{lax::concatenate(Arrays{x[0], x[1], x[0], x[2]}, 0)};
                        },
                        {P("x")});
  }
}

TEST(Windows, TwoDimensionsAtOnce) {
  const Mesh mesh = Mesh::abstract({2, 4}, {"x", "y"});
  const Partitioned p = partition_and_check(mesh, {{{64, 64}, P("x", "y")}}, [](const Arrays& x) {
    return Arrays{lax::slice(x[0], {1, 1}, {63, 63}, {1, 1}),
                  lax::pad(x[0], Array(Literal::scalar(0.f)), {1, 2}, {1, 2}, {0, 0}),
                  lax::rev(x[0], {0, 1})};
  });
  EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
}

TEST(Windows, InteriorPadding) {
  for (const int64_t n : {64, 61, 9, 2}) {
    SCOPED_TRACE(n);
    const Partitioned p = run(n, [](const Arrays& x) {
      return Arrays{lax::pad(x[0], Array(Literal::scalar(7.f)), {0, 0}, {0, 0}, {1, 0}),
                    lax::pad(x[0], Array(Literal::scalar(7.f)), {-3, 0}, {2, 0}, {2, 0})};
    });
    if (n == 64) {
      EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
    }
  }
}

// Fewer rows than devices, no rows, and more rows removed than a shard has.
TEST(Windows, PadsThatTakeShardsAway) {
  for (const int64_t n : {0, 1, 5, 8, 21, 64})
    for (const auto& [low, high] : {std::pair<int64_t, int64_t>{-20, 0},
                                    {0, -20},
                                    {-9, -9},
                                    {-60, 3},
                                    {3, -60},
                                    {-1, 0},
                                    {-n, 0},
                                    {0, -n},
                                    {20, -20 - n},
                                    {-n, n}}) {
      if (n + low + high < 0) continue;
      SCOPED_TRACE(fmt::format("{} by {} and {}", n, low, high));
      const FlatFn pad = [low = low, high = high](const Arrays& x) {
        return Arrays{lax::pad(x[0], Array(Literal::scalar(7.f)), {low, 0}, {high, 0}, {0, 0})};
      };
      for (const auto& out :
           {std::optional(P("x")), std::optional(P()), std::optional<PartitionSpec>()})
        partition_and_check(mesh8(), {{{n, 4}, P("x")}}, pad, {out});
    }
}

// All devices get the rows, by one sum that keeps zeros of both signs, NaN and infinities.
TEST(Windows, AFewRowsAreSummedIntoPlace) {
  for (const int64_t n : {64, 61, 9})
    for (const auto& [start, stop] : {std::pair<int64_t, int64_t>{0, 5}, {3, 4}, {4, 9}, {8, 9}}) {
      SCOPED_TRACE(fmt::format("{}[{}:{}]", n, start, stop));
      const Partitioned p = partition_and_check(
          mesh8(), {{{n, kWide}, P("x")}},
          [start = start, stop = stop](const Arrays& x) { return Arrays{rows(x[0], start, stop)}; },
          {P()});
      if (n == 64 && stop - start == 1) {
        EXPECT_EQ(communication(p), "all_reduce x");
      }
    }
  const Mesh mesh = Mesh::abstract({2}, {"x"});
  const TracedFunction traced =
      trace_function([](const Arrays& x) { return Arrays{lax::slice(x[0], {3}, {7}, {1})}; },
                     std::vector<Type>{{float32, {16}}});
  const ShardingRequest request{{NamedSharding(mesh, P("x"))}, {NamedSharding(mesh, P())}};
  const Partitioned p = partition(propagated_program(traced.function, mesh, request), mesh);
  EXPECT_THAT(communication(p), HasSubstr("reduce_scatter x"));
  Literal x(float32, {16});
  const std::array<float, 4> want{-0.f, 0.f, NAN, -INFINITY};
  std::copy(want.begin(), want.end(), x.mutable_data<float>() + 3);
  const Literal got =
      evaluate_spmd(p.function, {split_into_shards(x, p.inputs[0], p.mesh)}, p.mesh)[0][1];
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(std::signbit(got.data<float>()[i]), std::signbit(want[i])) << i;
    EXPECT_TRUE(got.data<float>()[i] == want[i] || std::isnan(want[i])) << i;
  }
}

TEST(Windows, StartsThatARunDecides) {
  for (const int64_t n : {64, 61, 9, 1})
    for (const int64_t size : {1, 3, 20})
      for (const int64_t start : {-4, 0, 5, 17, 63}) {
        if (size > n) continue;
        SCOPED_TRACE(fmt::format("{} rows from {} of {}", size, start, n));
        for (const auto& out : {P("x"), P()}) {
          const Partitioned p = partition_and_check(
              mesh8(), {{{n, kWide}, P("x")}},
              [&](const Arrays& x) {
                const Array at =
                    lax::add(lax::full({}, static_cast<double>(start), int32),
                             lax::convert_element_type(
                                 lax::mul(lax::reduce_sum(x[0], {0, 1}), Array(0.f)), int32));
                return Arrays{lax::dynamic_slice_in_dim(x[0], at, size, 0)};
              },
              {out});
          if (n == 64 && size < 20) {
            EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
          }
        }
      }
}

// If half of the rows are read, devices send no more than these rows, each in messages to the
// device that lacks them.
TEST(Windows, PartsMoveOnce) {
  const Partitioned half = run(64, [](const Arrays& x) { return Arrays{rows(x[0], 0, 32)}; });
  EXPECT_LE(bytes_sent(half), 2 * 4 * kWide * 4);
  const Partitioned third = run(63, [](const Arrays& x) { return Arrays{rows(x[0], 21, 42)}; });
  EXPECT_LE(bytes_sent(third), 4 * 3 * kWide * 4);
  const Partitioned strided = run(64, [](const Arrays& x) { return Arrays{rows(x[0], 0, 64, 8)}; });
  EXPECT_EQ(communication(strided), "") << "one row of each shard";
}

TEST(Windows, ARollMovesEveryRowAtMostOnce) {
  for (const int64_t n : {64, 61, 9, 8, 3})
    for (const int64_t by : {1, 3, 8, 20, 40}) {
      if (by >= n) continue;
      SCOPED_TRACE(fmt::format("{} by {}", n, by));
      const Partitioned p = run(n, [&](const Arrays& x) {
        return Arrays{lax::concatenate(std::vector{rows(x[0], by, n), rows(x[0], 0, by)}, 0)};
      });
      if (n == 64) {
        EXPECT_LE(bytes_sent(p), 8 * kWide * 4);
      }
    }
}

}  // namespace
}  // namespace tessera::windows_test
