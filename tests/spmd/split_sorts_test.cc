// The first elements of sorts along a sharded dimension: tests the communication, and that shards
// are equal to the result of one device.
#include "tessera/sharding/split_sorts.h"

#include <gmock/gmock.h>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"
#include "tests/spmd/programs.h"

namespace tessera::split_sorts_test {
namespace {

using namespace array_math;
using Arrays = std::vector<Array>;

Arrays top(const Array& x, int64_t k) {
  const auto [values, indices] = lax::top_k(x, k);
  return {values, indices};
}

std::string moves(const Input& x, const FlatFn& f, const Mesh& mesh = eight()) {
  return communication(partition_and_check(mesh, {x}, f));
}

TEST(SplitSorts, EachShardSendsItsFirst) {
  const Partitioned p =
      partition_and_check(eight(), {{{16, 512}, P(None, "x")}},
                          [](const Arrays& x) { return top(x[0], 4); }, {P(), P()});
  EXPECT_EQ(communication(p), "all_gather x; all_gather x") << "values, and where they were";
  EXPECT_EQ(bytes_sent(p), 2 * 16 * 4 * 4 * 7) << "4 numbers a row and shard, to 7 others";
  EXPECT_EQ(moves({{512}, P("x")}, [](const Arrays& x) { return top(x[0], 8); }),
            "all_gather x; all_gather x");
}

TEST(SplitSorts, OfADimensionCountedFromTheEnd) {
  const auto smallest = [](const Arrays& x) {
    const Array sorted = bind_op1(sort_op, SortParams{.dimension = -1}, {x[0]});
    return Arrays{lax::slice(sorted, {0, 0}, {4, 2})};
  };
  EXPECT_EQ(moves({{4, 256}, P(None, "x")}, smallest), "all_gather x");
  EXPECT_EQ(moves({{64, 4}, P("x")},
                  [](const Arrays& x) {
                    return Arrays{bind_op1(sort_op, SortParams{.dimension = -2}, {x[0]})};
                  })
                .find("all_gather"),
            std::string::npos);
}

// Of equal elements the first ones are taken, wherever they are.
TEST(SplitSorts, EqualElementsKeepTheirOrder) {
  for (const int64_t distinct : {1, 3})
    EXPECT_EQ(moves({{2, 256}, P(None, "x"), int32},
                    [&](const Arrays& x) {
                      const Array few = lax::rem(x[0], lax::full_like(x[0], distinct));
                      return top(few, 4);
                    }),
              "all_gather x")
        << "values and indices, both integers";
}

TEST(SplitSorts, AlongOneOfTwoCutDimensions) {
  const Mesh mesh = Mesh::abstract({2, 4}, {"x", "y"});
  EXPECT_EQ(moves(
                {{4, 128}, P("x", "y")}, [](const Arrays& x) { return top(x[0], 2); }, mesh),
            "all_gather y; all_gather y");
  EXPECT_EQ(moves(
                {{128, 4}, P("y", "x")},
                [](const Arrays& x) {
                  const Arrays sorted = lax::sort(x, 0);
                  return Arrays{lax::slice(sorted[0], {1, 1}, {3, 4}),
                                lax::slice(sorted[0], {0, 0}, {4, 2}, {2, 1})};
                },
                mesh)
                .substr(0, 12),
            "all_gather y");
}

// If the whole result is read, or a large part, or the dimension does not divide, the whole
// dimension is sorted.
TEST(SplitSorts, OthersMoveTheirCut) {
  const auto is_moved = [](const Input& x, const FlatFn& f) {
    EXPECT_THAT(moves(x, f), testing::StartsWith("all_to_all x")) << x.shape;
  };
  is_moved({{16, 64}, P(None, "x")}, [](const Arrays& x) { return top(x[0], 4); });
  is_moved({{16, 512}, P(None, "x")}, [](const Arrays& x) {
    const Arrays sorted = lax::sort(x, 1);
    return Arrays{lax::slice(sorted[0], {0, 0}, {16, 4}), lax::sin(sorted[0])};
  });
  is_moved({{16, 512}, P(None, "x")}, [](const Arrays& x) {
    const Arrays sorted = lax::sort(x, 1);
    return Arrays{lax::slice(sorted[0], {0, 500}, {16, 512})};
  });
}

}  // namespace
}  // namespace tessera::split_sorts_test
