#include "tessera/spmd/late_sums.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"
#include "tests/spmd/programs.h"

namespace tessera::late_sums_test {

using namespace spmd;

namespace {

using namespace array_math;
using Arrays = std::vector<Array>;

const Mesh& mesh24() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({2, 4}, {"x", "y"}));
  return mesh;
}

// Returns the products of the rows of x [B, T, K], as [B, T, T].
Array gram(const Array& x) { return lax::dot_general(x, x, {{2}, {2}, {0}, {0}}); }

int64_t bytes_sent(const Partitioned& p) {
  int64_t out = 0;
  for (const Collective& c : p.collectives) out += c.bytes_per_device;
  return out;
}

// Returns the squared norms of x' y for each example. The products of rows of x are sums over
// devices, but their factors are not.
Arrays norms(const Arrays& x) {
  const Array squares = lax::convert_element_type(gram(x[0]), float64) *
                        lax::convert_element_type(gram(x[1]), float64);
  return {lax::reduce_sum(squares, {1, 2})};
}

TEST(LateSums, OneNumberAnExample) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{4, 16, 8}, P("x", None, "y")}, {{4, 16, 12}, P("x")}}, norms);
  EXPECT_EQ(communication(p), "all_reduce y");
  EXPECT_LE(bytes_sent(p), 2 * 2 * 8) << "two examples a device, of 8 bytes, there and back";
}

TEST(LateSums, OfBothFactorsOverTheirAxes) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{4, 16, 8}, P(None, None, "y")}, {{4, 16, 12}, P(None, None, "x")}}, norms);
  EXPECT_LE(bytes_sent(p), 2 * 2 * 4 * 8);
}

// The product of two sums over the same devices is not the sum of the products.
TEST(LateSums, NotWhereBothAreSumsOverTheSameAxis) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{4, 16, 8}, P(None, None, "y")}, {{4, 16, 12}, P(None, None, "y")}}, norms);
  EXPECT_GE(bytes_sent(p), 4 * 16 * 16 * 4);
}

TEST(LateSums, NotPastWhatIsNotLinear) {
  const std::vector<FlatFn> others = {
      [](const Arrays& x) {
        return Arrays{lax::reduce_sum(lax::exp(gram(x[0])), {1, 2})};
      },
      [](const Arrays& x) {
        return Arrays{lax::reduce_sum(gram(x[0]) + 1.0f, {1, 2})};
      },
      [](const Arrays& x) {
        const Array g = gram(x[0]);
        return Arrays{lax::reduce_sum(g * g, {1, 2})};
      },
      [](const Arrays& x) {
        return Arrays{lax::reduce_max(gram(x[0]), {1, 2})};
      },
      [](const Arrays& x) {
        const Array g = gram(x[0]);
        return Arrays{lax::reduce_sum(g, {1, 2}), g};
      },
  };
  for (const FlatFn& f : others) {
    const Partitioned p = partition_and_check(mesh24(), {{{4, 16, 8}, P(None, None, "y")}}, f);
    EXPECT_GE(bytes_sent(p), 4 * 16 * 16 * 4) << communication(p);
  }
}

TEST(LateSums, PastQuotientsAndWhatArranges) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{4, 16, 8}, P(None, None, "y")}, {{4, 16, 16}, std::nullopt}},
      [](const Arrays& x) {
        const Array g = -lax::transpose(gram(x[0]), {0, 2, 1}) / (x[1] * x[1] + 1.0f);
        return Arrays{lax::reduce_sum(g, {1, 2})};
      });
  EXPECT_LE(bytes_sent(p), 2 * 4 * 4);
}

}  // namespace
}  // namespace tessera::late_sums_test
