// Slices, pads, reversals and concatenations along a cut dimension: neighbours exchange rows,
// nothing is gathered.
#include "tessera/spmd/windows.h"

#include <gmock/gmock.h>

#include "tessera/ops/array_math.h"
#include "tessera/ops/concatenate.h"
#include "tessera/ops/pad.h"
#include "tessera/ops/reshape.h"
#include "tessera/ops/slice.h"
#include "tests/spmd/programs.h"

namespace tessera {
namespace {

using namespace array_math;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using Arrays = std::vector<Array>;

const Mesh& mesh8() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8}, {"x"}));
  return mesh;
}
constexpr int64_t kWide = 512;  // columns: enough for bytes to count more than steps

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
  // A row put in front shifts all others by one.
  const Partitioned p =
      partition_and_check(mesh8(), {{{1, kWide}, P()}, {{63, kWide}, P("x")}},
                          [](const Arrays& x) { return Arrays{lax::concatenate(x, 0)}; }, {P("x")});
  EXPECT_EQ(communication(p), "collective_permute x");
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

TEST(Windows, WhatNoWindowDoesIsGathered) {
  const Partitioned p = run(64, [](const Arrays& x) {
    return Arrays{lax::pad(x[0], Array(Literal::scalar(7.f)), {0, 0}, {0, 0}, {1, 0})};
  });
  EXPECT_THAT(communication(p), HasSubstr("all_gather"));
}

}  // namespace
}  // namespace tessera
