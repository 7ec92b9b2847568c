// The derivative of max-pooling along a sharded dimension: tests the communication, and that shards
// are equal to the result of one device.
#include "tessera/spmd/scatter_windows.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/reductions/select_and_scatter.h"
#include "tests/spmd/programs.h"

namespace tessera::scatter_windows_test {
namespace {

using namespace array_math;
using Arrays = std::vector<Array>;

struct Pool {
  int64_t rows, size, stride, low = 0, high = 0;
  int64_t results() const { return (rows + low + high - size) / stride + 1; }
};

// Returns the derivative of pooling for values [rows, 40] with many equal ones, which `values`
// makes of small integers.
FlatFn gradient(const Pool& pool, SelectKind kind, FlatFn values) {
  return [=](const Arrays& x) {
    return Arrays{lax::select_and_scatter_add(lax::cos(x[1]), values({x[0]})[0], kind,
                                              {pool.size, 2}, {pool.stride, 1}, {pool.low, 1},
                                              {pool.high, 0})};
  };
}
Array few(const Array& x) {
  return lax::convert_element_type(lax::convert_element_type(lax::sin(x * 7) * 3, int32), float32);
}

Partitioned pooled(const Pool& pool, SelectKind kind, const FlatFn& values) {
  return partition_and_check(eight(), {{{pool.rows, 40}, P("x")}, {{pool.results(), 40}, P("x")}},
                             gradient(pool, kind, values), {P("x")});
}

// Windows overlap, reach beyond the array, or leave rows at its end, in every combination.
TEST(ScatterWindows, NeighboursSendRowsOfWindows) {
  const std::vector<Pool> pools = {
      {64, 3, 2, 0, 1}, {64, 3, 2, 1, 0}, {64, 3, 1, 1, 1}, {65, 3, 2},       {64, 4, 3, 2, 3},
      {64, 2, 2},       {80, 5, 4, 4, 2}, {61, 3, 3, 2, 0}, {64, 5, 1, 4, 4}, {67, 4, 2, 3, 1},
  };
  for (const Pool& pool : pools)
    for (const SelectKind kind : {SelectKind::kGe, SelectKind::kLe}) {
      const Partitioned p = pooled(pool, kind, [](const Arrays& x) { return Arrays{few(x[0])}; });
      SCOPED_TRACE(fmt::format("{} rows, windows of {}, {} apart, padding {} and {}: {}", pool.rows,
                               pool.size, pool.stride, pool.low, pool.high, communication(p)));
      for (const Collective& c : p.collectives) EXPECT_EQ(c.name, "collective_permute");
      EXPECT_LE(bytes_sent(p), pool.rows * 40 * 4 / 2) << "an all_gather sends nearly all";
    }
}

// These values are not smaller or larger than any padding.
TEST(ScatterWindows, InfinitiesAndNaN) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float odd : {-inf, inf, std::nanf("")})
    for (const SelectKind kind : {SelectKind::kGe, SelectKind::kLe})
      for (const Pool& pool : {Pool{64, 3, 2, 1, 1}, Pool{64, 3, 1, 2, 2}, Pool{66, 4, 3, 3, 3}}) {
        // They are all elements of some windows and one element of others, first and last rows
        // included.
        for (const int64_t every : {1, 2, 3, 5})
          pooled(pool, kind, [&](const Arrays& x) {
            const Array place =
                lax::iota(int32, x[0].shape(), 0) + lax::iota(int32, x[0].shape(), 1);
            const Array is_odd =
                lax::eq(lax::rem(place, lax::full_like(place, every)), lax::full_like(place, 0));
            return Arrays{lax::select(is_odd, lax::full_like(x[0], odd), few(x[0]))};
          });
      }
}

TEST(ScatterWindows, TwoCutDimensions) {
  const Mesh mesh = Mesh::abstract({2, 4}, {"x", "y"});
  const Partitioned p = partition_and_check(
      mesh, {{{4, 64, 6}, P("x", "y")}, {{4, 32, 6}, P("x", "y")}},
      [](const Arrays& x) {
        return Arrays{lax::select_and_scatter_add(x[1], few(x[0]), SelectKind::kGe, {1, 3, 1},
                                                  {1, 2, 1}, {0, 0, 0}, {0, 1, 0})};
      },
      {P("x", "y")});
  for (const Collective& c : p.collectives) {
    EXPECT_EQ(c.name, "collective_permute");
    EXPECT_EQ(c.axes, std::vector<std::string>{"y"});
  }
}

}  // namespace
}  // namespace tessera::scatter_windows_test
