// Convolutions and pooling along a sharded dimension: neighbours send the rows that windows reach.
#include "tessera/spmd/halos.h"

#include <gmock/gmock.h>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/linear/convolution.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tests/spmd/programs.h"

namespace tessera::halos_test {

using namespace spmd;

namespace {

using testing::HasSubstr;
using testing::Not;
using Arrays = std::vector<Array>;

const Mesh& mesh8() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8}, {"x"}));
  return mesh;
}
const Mesh& mesh42() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({4, 2}, {"x", "y"}));
  return mesh;
}

// A convolution over one dimension.
struct Conv {
  int64_t rows = 64, taps = 3, stride = 1, low = 1, high = 1, dilation = 1, tap_dilation = 1;
  bool reversed = false;
  Array operator()(const Array& lhs, const Array& rhs) const {
    return bind_op1(ops::convolution_op,
                    ops::ConvolutionParams{.strides = {stride},
                                           .low = {low},
                                           .high = {high},
                                           .lhs_dilation = {dilation},
                                           .rhs_dilation = {tap_dilation},
                                           .reversal = {reversed},
                                           .lhs_spec = {0, 2, 1},
                                           .rhs_spec = {2, 1, 0},
                                           .out_spec = {0, 2, 1}},
                    {lhs, rhs});
  }
  Partitioned check(const std::optional<PartitionSpec>& kernel = P(),
                    const std::optional<PartitionSpec>& result = std::nullopt) const {
    SCOPED_TRACE(fmt::format("{} rows, {} taps, stride {}, padding {} {}, dilations {} {}{}", rows,
                             taps, stride, low, high, dilation, tap_dilation,
                             reversed ? ", reversed" : ""));
    return partition_and_check(
        mesh8(), {{{2, rows, 16}, P(None, "x")}, {{taps, 16, 4}, kernel}},
        [this](const Arrays& x) { return Arrays{(*this)(x[0], x[1])}; }, {result}, 1e-4);
  }
  int64_t results() const {
    const int64_t spread = rows == 0 ? 0 : (rows - 1) * dilation + 1;
    return (spread + low + high - ((taps - 1) * tap_dilation + 1)) / stride + 1;
  }
};

TEST(Halos, NeighboursSendWhatWindowsReach) {
  const Partitioned same = Conv().check();
  EXPECT_EQ(communication(same), "collective_permute x; collective_permute x");
  EXPECT_EQ(bytes_sent(same), 2 * 2 * 16 * 4);  // a row from each neighbour
  EXPECT_EQ(same.collectives[0].reason,
            "rows of other shards that the windows of convolution reach");
  EXPECT_EQ(communication(Conv{.low = 2, .high = 0}.check()), "collective_permute x");
  EXPECT_EQ(communication(Conv{.taps = 2, .stride = 2, .low = 0, .high = 0}.check()), "");
  EXPECT_EQ(bytes_sent(Conv{.taps = 5, .low = 2, .high = 2}.check()), 2 * 2 * 2 * 16 * 4);
}

TEST(Halos, ConvolutionsOfEveryKind) {
  std::mt19937 rng(5);
  const auto any = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(rng);
  };
  int halos = 0;
  for (int i = 0; i < 400; ++i) {
    Conv conv{.rows = any(0, 3) ? 8 * any(1, 9) : any(1, 70),
              .taps = any(1, 5),
              .stride = any(1, 3),
              .low = any(-2, 4),
              .high = any(-2, 4),
              .dilation = any(0, 2) ? 1 : any(2, 3),
              .tap_dilation = any(0, 2) ? 1 : any(2, 3),
              .reversed = any(0, 3) == 0};
    if (conv.results() < 1) continue;
    const Partitioned p = conv.check();
    halos += communication(p).find("collective_permute") != std::string::npos;
  }
  EXPECT_GE(halos, 200);
}

// The gradient by a kernel: windows are as long as the array, and there is a result for each tap of
// the kernel.
TEST(Halos, LongWindowsAreCutWithTheArray) {
  const Conv gradient{.rows = 64, .taps = 64};
  const Partitioned p = gradient.check(P("x"), P());
  EXPECT_THAT(communication(p), HasSubstr("all_reduce x"));
  EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
  EXPECT_THAT(communication(p), HasSubstr("collective_permute x"));
  std::mt19937 rng(6);
  const auto any = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(rng);
  };
  int sums = 0;
  for (int i = 0; i < 200; ++i) {
    const int64_t dilation = any(1, 2), taps = any(0, 3) ? 8 * any(1, 5) : any(8, 40);
    const int64_t reach = (taps - 1) * dilation + 1, low = any(0, 3);
    const Conv conv{.rows = reach + any(-4, 6),
                    .taps = taps,
                    .stride = any(1, 2),
                    .low = low,
                    .high = any(4, 7) - low,
                    .dilation = 1,
                    .tap_dilation = dilation,
                    .reversed = any(0, 5) == 0};
    if (conv.rows < 1 || conv.results() < 1 || conv.results() >= reach) continue;
    const Partitioned q = conv.check(P("x"), P());
    sums += communication(q).find("all_reduce") != std::string::npos;
  }
  EXPECT_GE(sums, 80);
}

TEST(Halos, TwoDimensionsAndGroups) {
  for (const auto& spec : {P(None, "x", "y"), P(None, "y", "x"), P("x", "y"),
                           P(None, "x", None, "y"), P(None, None, ("x"))}) {
    const Partitioned p = partition_and_check(
        mesh42(), {{{4, 16, 12, 8}, spec}, {{3, 3, 4, 6}, P()}}, [](const Arrays& x) {
          return Arrays{lax::conv_general_dilated(x[0], x[1], {1, 1}, "SAME",
                                                  {.lhs_layout = "NHWC",
                                                   .rhs_layout = "HWIO",
                                                   .out_layout = "NHWC",
                                                   .feature_group_count = 2}),
                        lax::conv_general_dilated(x[0], x[1], {2, 2}, {{2, 0}, {1, 1}},
                                                  {.lhs_layout = "NHWC",
                                                   .rhs_layout = "HWIO",
                                                   .out_layout = "NHWC",
                                                   .feature_group_count = 2})};
        });
    if (spec == P(None, "x", "y")) {
      EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
    }
  }
}

TEST(Halos, PoolingOfEveryKind) {
  std::mt19937 rng(7);
  const auto any = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(rng);
  };
  const ReduceKind kinds[] = {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin};
  int halos = 0;
  for (int i = 0; i < 300; ++i) {
    const int64_t rows = any(0, 3) ? 8 * any(1, 9) : any(1, 70);
    const Windows windows{.size = {1, any(1, 5)},
                          .strides = {1, any(1, 3)},
                          .base_dilation = {1, any(0, 2) ? 1 : any(2, 3)},
                          .window_dilation = {1, any(0, 2) ? 1 : any(2, 3)},
                          .low = {0, any(-2, 4)},
                          .high = {0, any(-2, 4)}};
    const int64_t spread = (rows - 1) * windows.base_dilation[1] + 1;
    const int64_t window = (windows.size[1] - 1) * windows.window_dilation[1] + 1;
    if (spread + windows.low[1] + windows.high[1] < window) continue;
    const ReduceKind kind = kinds[any(0, 2)];
    // The initial value need not be the identity.
    const float init = static_cast<float>(any(-1, 1));
    SCOPED_TRACE(fmt::format("{} rows, size {}, stride {}, padding {} {}, dilations {} {}", rows,
                             windows.size[1], windows.strides[1], windows.low[1], windows.high[1],
                             windows.base_dilation[1], windows.window_dilation[1]));
    const Partitioned p =
        partition_and_check(mesh8(), {{{3, rows}, P(None, "x")}}, [&](const Arrays& x) {
          return lax::reduce_window(x, std::vector{Array(Literal::scalar(init))}, kind, windows);
        });
    halos += communication(p).find("collective_permute") != std::string::npos;
  }
  EXPECT_GE(halos, 100);
}

// A fold of all rows up to each row is not computed with rows of neighbours.
TEST(Halos, CumulativeFoldsAreNotAmongThem) {
  const Partitioned p =
      partition_and_check(mesh8(), {{{64, 512}, P("x")}},
                          [](const Arrays& x) { return Arrays{lax::cumsum(x[0], 0)}; }, {P("x")});
  EXPECT_EQ(communication(p), "all_to_all x; all_to_all x");
}

}  // namespace
}  // namespace tessera::halos_test
