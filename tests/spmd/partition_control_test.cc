// Loops and branches under partition: the shardings of carries, and the communication of an
// iteration.
#include <gmock/gmock.h>

#include "tessera/control/control.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/spmd/partition.h"
#include "tests/spmd/programs.h"
#include "tests/trace/control_flow.h"

namespace tessera::partition_control_test {

using namespace spmd;

namespace {

using namespace array_math;
namespace loops = testing_control;
using Arrays = std::vector<Array>;

const Mesh& mesh8() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8}, {"x"}));
  return mesh;
}
const Mesh& mesh24() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({2, 4}, {"x", "y"}));
  return mesh;
}

TEST(PartitionControl, CarriesKeepTheirSharding) {
  const Partitioned p =
      partition_and_check(mesh24(), {{{16, 8}, P("x", "y")}, {{5, 8}}}, [](const Arrays& x) {
        return loops::scan(5, {}, {x[0]}, {x[1]}, [](const Arrays& b) {
          const Array row = lax::broadcast_in_dim(b[1], {16, 8}, {1});
          return Arrays{lax::sin(b[0]) + row, b[0] * row};
        });
      });
  EXPECT_EQ(communication(p), "");
  EXPECT_EQ(p.inputs[1].spec(), P(None, "y")) << "rows are cut as the carry is";
  EXPECT_EQ(p.outputs[0].spec(), P("x", "y"));
  EXPECT_EQ(p.outputs[1].spec(), P(None, "x", "y"));
}

// The carry has no sharding at the start: the body determines it.
TEST(PartitionControl, TheBodyDecidesOverTheCarry) {
  const Partitioned p =
      partition_and_check(mesh8(), {{{16, 8}}, {{16, 8}, P("x")}}, [](const Arrays& x) {
        return loops::scan(3, {x[1]}, {x[0]}, {},
                           [](const Arrays& b) { return Arrays{b[0] * b[1] + 1}; });
      });
  EXPECT_EQ(communication(p), "");
  EXPECT_EQ(p.inputs[0].spec(), P("x"));
  EXPECT_EQ(p.outputs[0].spec(), P("x"));
}

// In every loop the carry is the same on every device at the start, and varies after an iteration.
// Without care the innermost of twenty loops would be partitioned a million times.
Arrays nested(const Array& x, const Array& carry, int depth) {
  return loops::scan(1, {x}, {carry}, {}, [depth](const Arrays& b) {
    return depth > 1 ? nested(b[0], b[1] * 0.5F, depth - 1) : Arrays{b[0] + b[1]};
  });
}
TEST(PartitionControl, LoopsWithinLoopsAreNotPartitionedAgainAndAgain) {
  const Partitioned p = partition_and_check(mesh8(), {{{16, 8}, P("x")}}, [](const Arrays& x) {
    return nested(x[0], lax::full({16, 8}, 0.5, float32), 20);
  });
  EXPECT_EQ(communication(p), "");
  EXPECT_EQ(p.outputs[0].spec(), P("x"));
}

TEST(PartitionControl, ACollectiveOfATripCountsEveryTrip) {
  const Partitioned p =
      partition_and_check(mesh8(), {{{4, 16}}, {{16, 16}, P("x")}}, [](const Arrays& x) {
        return loops::scan(7, {x[1]}, {x[0]}, {},
                           [](const Arrays& b) { return Arrays{lax::tanh(lax::dot(b[1], b[0]))}; });
      });
  ASSERT_FALSE(p.collectives.empty());
  for (const Collective& c : p.collectives)
    if (c.op == "dot_general") {
      EXPECT_EQ(c.times, 7);
    }
}

TEST(PartitionControl, ConstraintsInsideABody) {
  const NamedSharding wanted(mesh8(), P(None, "x"));
  const Partitioned p = partition_and_check(mesh8(), {{{8, 16}, P("x")}}, [&](const Arrays& x) {
    return loops::scan(2, {}, {x[0]}, {}, [&](const Arrays& b) {
      return Arrays{lax::sharding_constraint(lax::sin(b[0]), wanted) * 2};
    });
  });
  EXPECT_EQ(p.outputs[0].spec(), P("x")) << "the carry lies as it starts";
  EXPECT_NE(communication(p).find("all_to_all"), std::string::npos);
}

TEST(PartitionControl, UnevenShards) {
  partition_and_check(mesh8(), {{{10, 3}, P("x")}, {{4, 3}}}, [](const Arrays& x) {
    return loops::scan(4, {}, {x[0]}, {x[1]}, [](const Arrays& b) {
      const Array sum = lax::reduce_sum(lax::cos(b[0]), {0}) + b[1];
      return Arrays{b[0] * 0.5 + lax::broadcast_in_dim(sum, {10, 3}, {1}), sum};
    });
  });
}

TEST(PartitionControl, WhileDecidesOnceForAllDevices) {
  const Partitioned p = partition_and_check(
      mesh8(), {{{16}, P("x")}, {{}, std::nullopt, int32}}, [](const Arrays& x) {
        return loops::while_loop(
            {x[0], x[1] * 0},
            [](const Arrays& c) {
              return Arrays{
                  lax::lt(lax::reduce_sum(c[0] * c[0], {0}), Array(Literal::scalar(500.F)))};
            },
            [](const Arrays& c) {
              return Arrays{c[0] * 2 + 1, c[1] + 1};
            });
      });
  EXPECT_EQ(communication(p), "all_reduce x");
  EXPECT_EQ(p.collectives[0].times, -1);
  EXPECT_EQ(p.outputs[0].spec(), P("x"));
}

TEST(PartitionControl, BranchesAgreeOnTheirResults) {
  const Partitioned p = partition_and_check(
      mesh8(), {{{}, std::nullopt, int32}, {{16, 8}, P("x")}, {{16, 8}, P(None, "x")}},
      [](const Arrays& x) {
        return loops::branch(x[0], {x[1], x[2]},
                             {[](const Arrays& b) { return Arrays{b[0]}; },
                              [](const Arrays& b) { return Arrays{b[1] * 2}; },
                              [](const Arrays& b) { return Arrays{b[0] + b[1]}; }});
      });
  EXPECT_EQ(p.collectives[0].times, 1);
}

TEST(PartitionControl, NestedLoopsMultiplyTheirTrips) {
  const Partitioned p = partition_and_check(mesh8(), {{{16}, P("x")}}, [](const Arrays& x) {
    return loops::scan(3, {}, {x[0]}, {}, [](const Arrays& outer) {
      return loops::scan(5, {}, {outer[0]}, {}, [](const Arrays& b) {
        const Array mean = lax::reduce_sum(b[0], {0}) / 16;
        return Arrays{b[0] * 0.5 + lax::broadcast_in_dim(mean, {16}, {})};
      });
    });
  });
  EXPECT_EQ(communication(p), "all_reduce x");
  EXPECT_EQ(p.collectives[0].times, 15);
}

// Both branches end in a sum over devices, one of them transposed after it.
TEST(PartitionControl, SumsOverDevicesLeaveBranches) {
  const auto ways = [](bool alike) {
    return partition_and_check(
        mesh8(), {{{16, 4}, P("x")}, {{16, 6}, P("x")}}, [=](const Arrays& x) {
          const Array index = lax::full({}, 1, int32);
          return loops::branch(index, {x[0], x[1]},
                               {[](const Arrays& b) {
                                  return Arrays{lax::dot_general(b[0], b[1], {{0}, {0}})};
                                },
                                [=](const Arrays& b) {
                                  const Array turned = lax::transpose(
                                      lax::dot_general(b[1], b[0], {{0}, {0}}), {1, 0});
                                  return Arrays{alike ? turned : turned + 1};
                                }});
        });
  };
  EXPECT_EQ(communication(ways(true)), "all_reduce x");
  EXPECT_EQ(communication(ways(false)), "all_reduce x; all_reduce x");
}

}  // namespace
}  // namespace tessera::partition_control_test
