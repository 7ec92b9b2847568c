#include "tessera/spmd/combine_collectives.h"

#include <gmock/gmock.h>

#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/slice.h"
#include "tests/spmd/programs.h"
#include "tests/trace/control_flow.h"

namespace tessera::combine_collectives_test {

using namespace spmd;

namespace {

using namespace array_math;
using ::testing::HasSubstr;
namespace loops = testing_control;
using Arrays = std::vector<Array>;

const Mesh& mesh24() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({2, 4}, {"x", "y"}));
  return mesh;
}

Array sum(const Array& x) { return lax::reduce_sum(x, {0}); }
Array rows(const Array& x) { return lax::broadcast_in_dim(x, {8, 12}, {1}); }

TEST(CombineCollectives, SumsThatDoNotWaitForEachOther) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{8, 12}, P("x")}, {{16, 5}, P("x")}, {{8, 12}, P("x")}}, [](const Arrays& x) {
        const Array first = -sum(lax::sin(x[0]));
        return Arrays{first, sum(lax::exp(x[1])), first * sum(x[2])};
      });
  ASSERT_EQ(communication(p), "all_reduce x");
  const Collective& c = p.collectives[0];
  ASSERT_EQ(c.parts.size(), 3u);
  EXPECT_EQ(c.bytes_per_device, (12 + 5 + 12) * 4) << "half of it there, half of it back";
  EXPECT_EQ(c.parts[1].bytes_per_device, 5 * 4);
  for (const CollectivePart& part : c.parts) {
    EXPECT_EQ(part.op, "reduce");
    EXPECT_THAT(part.reason,
                HasSubstr("reduce sums over dimension 0 of operand 0, sharded over 'x'"));
  }
  EXPECT_EQ(c.reason, c.parts[0].reason);
  EXPECT_LT(c.seconds, 3 * 2e-6) << "one message, not three";
}

TEST(CombineCollectives, OneThatReadsAnotherComesAfterIt) {
  const Partitioned p =
      partition_and_check(mesh24(), {{{8, 12}, P("x")}, {{8, 12}, P("x")}}, [](const Arrays& x) {
        const Array mean = sum(x[0]) / 8.0f;
        return Arrays{sum(lax::square(x[0] - rows(mean))), sum(x[1]), mean};
      });
  ASSERT_EQ(communication(p), "all_reduce x; all_reduce x");
  EXPECT_EQ(p.collectives[0].parts.size() + p.collectives[1].parts.size(), 2u)
      << "the sum of the second argument joins one of them";
}

// Collectives over another axis that follow each other in between do not separate those that wait.
TEST(CombineCollectives, OthersOnTheWay) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{8, 12}, P("x", "y")}, {{8, 12}, P("x")}}, [](const Arrays& x) {
        const Array a = lax::reduce_sum(x[0], {1});  // over y
        const Array b = lax::reduce_sum(lax::sin(x[0] * lax::broadcast_in_dim(a, {8, 12}, {0})),
                                        {1});  // over y, after a
        return Arrays{lax::reduce_sum(lax::exp(x[1]), {0}), lax::reduce_sum(b * a, {0}), a};
      });
  std::vector<size_t> parts;
  for (const Collective& c : p.collectives)
    if (c.axes == std::vector<std::string>{"x"}) parts.push_back(c.parts.size());
  EXPECT_EQ(parts, std::vector<size_t>{2}) << communication(p);
}

TEST(CombineCollectives, NotOfOtherAxesKindsOrDtypes) {
  const auto communicated = [](const FlatFn& f) {
    return communication(partition_and_check(
        mesh24(), {{{8, 12}, P("x")}, {{8, 12}, P("y")}, {{8, 12}, P("x"), int32}}, f));
  };
  EXPECT_EQ(communicated([](const Arrays& x) {
              return Arrays{sum(x[0]), sum(x[1])};
            }),
            "all_reduce x; all_reduce y");
  EXPECT_EQ(communicated([](const Arrays& x) {
              return Arrays{sum(x[0]), lax::reduce_max(x[0], {0})};
            }),
            "all_reduce x; all_reduce x");
  EXPECT_EQ(communicated([](const Arrays& x) {
              return Arrays{sum(x[0]), sum(x[2])};
            }),
            "all_reduce x; all_reduce x");
}

TEST(CombineCollectives, Gathers) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{8, 12}, P("y")}, {{16, 12}, P("y")}, {{8, 12}, P(None, "y")}},
      [](const Arrays& x) {
        return Arrays{lax::sin(x[0]), lax::cos(x[1]), lax::exp(x[2])};
      },
      {P(), P(), P()});
  EXPECT_EQ(communication(p), "all_gather y; all_gather y") << "along dimension 0, and along 1";
  EXPECT_EQ(p.collectives[0].parts.size(), 2u);
  EXPECT_TRUE(p.collectives[1].parts.empty());
}

TEST(CombineCollectives, ScattersAndExchanges) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{8, 12}, P("y")}, {{8, 12}, P("y")}, {{8, 16}, P("x")}, {{8, 32}, P("x")}},
      [](const Arrays& x) {
        return Arrays{lax::sin(x[0]), lax::cos(x[1]), lax::reduce_sum(lax::sin(x[2]), {0}),
                      lax::reduce_sum(lax::cos(x[3]), {0})};
      },
      {P(None, "y"), P(None, "y"), P("x"), P("x")});
  EXPECT_EQ(communication(p), "reduce_scatter x; all_to_all y");
  for (const Collective& c : p.collectives) EXPECT_EQ(c.parts.size(), 2u) << c.name;
}

TEST(CombineCollectives, RowsOfNeighbours) {
  const auto roll = [](const Array& x) {
    return lax::concatenate(Arrays{lax::slice(x, {1, 0}, {16, 5}), lax::slice(x, {0, 0}, {1, 5})},
                            0);
  };
  const Partitioned p =
      partition_and_check(mesh24(), {{{16, 5}, P("x")}, {{16, 5}, P("x")}},
                          [&](const Arrays& x) {
                            return Arrays{roll(lax::sin(x[0])), roll(lax::cos(x[1]))};
                          },
                          {P("x"), P("x")});
  EXPECT_EQ(communication(p), "collective_permute x");
  ASSERT_EQ(p.collectives.size(), 1u);
  EXPECT_EQ(p.collectives[0].parts.size(), 2u);
}

// Gradients are scattered over one axis, then summed over another axis: neither kind waits until
// all of the other kind are done.
TEST(CombineCollectives, OneAfterAnother) {
  const PartitionSpec both(joint("x", "y"));
  const Partitioned p =
      partition_and_check(mesh24(), {{{16, 8}, both}, {{16, 12}, both}, {{16, 4}, both}},
                          [](const Arrays& x) {
                            Arrays out;
                            for (const Array& one : x)
                              out.push_back(lax::reduce_sum(lax::sin(one), {0}));
                            return out;
                          },
                          {P("y"), P("y"), P("y")});
  EXPECT_EQ(communication(p), "reduce_scatter y; all_reduce x");
  for (const Collective& c : p.collectives) EXPECT_EQ(c.parts.size(), 3u) << c.name;
}

// Two kinds of collectives alternate, and each reads the other's result. The last ones of one chain
// and the first ones of the other are combined, although none would wait for its own kind.
TEST(CombineCollectives, ChainsOfTwoKinds) {
  const auto chain = [](Array x, int64_t n) {
    for (int k = 0; k < 3; ++k) {
      const Array rows = lax::reduce_sum(lax::sin(x), {0});  // over x
      x = lax::sin(x * lax::broadcast_in_dim(rows, {8, n}, {1}));
      const Array columns = lax::reduce_max(x, {1});  // over y
      x = lax::sin(x * lax::broadcast_in_dim(columns, {8, n}, {0}));
    }
    return x;
  };
  const Partitioned p = partition_and_check(
      mesh24(), {{{8, 12}, P("x", "y")}, {{8, 20}, P("x", "y")}}, [&](const Arrays& x) {
        return Arrays{chain(x[0], 12), chain(x[1], 20)};
      });
  size_t parts = 0;
  for (const Collective& c : p.collectives) parts += std::max<size_t>(1, c.parts.size());
  EXPECT_EQ(parts, 12u);
  EXPECT_EQ(p.collectives.size(), 10u) << communication(p);
}

TEST(CombineCollectives, NoMoreThanSoManyBytes) {
  const int64_t third = kCombinedBytes / 3 / 4;
  const Partitioned p = partition_and_check(mesh24(),
                                            {{{2, third}, P("x")},
                                             {{2, third}, P("x")},
                                             {{2, third}, P("x")},
                                             {{2, 8}, P("x")},
                                             {{2, 8}, P("x")},
                                             {{2, 4 * third}, P("x")}},
                                            [](const Arrays& x) {
                                              Arrays out;
                                              for (const Array& one : x) out.push_back(sum(one));
                                              return out;
                                            });
  std::vector<size_t> parts;
  for (const Collective& c : p.collectives) parts.push_back(c.parts.size());
  std::sort(parts.begin(), parts.end());
  EXPECT_EQ(parts, (std::vector<size_t>{0, 2, 3})) << communication(p);
}

TEST(CombineCollectives, InTheBodyOfALoop) {
  const Partitioned p = partition_and_check(
      mesh24(), {{{12}}, {{5}}, {{8, 12}, P("x")}, {{16, 5}, P("x")}}, [](const Arrays& x) {
        return loops::scan(3, {x[2], x[3]}, {x[0], x[1]}, {}, [](const Arrays& b) {
          return Arrays{sum(lax::sin(b[0] * rows(b[2]))),
                        sum(b[1] * lax::broadcast_in_dim(b[3], {16, 5}, {1}))};
        });
      });
  ASSERT_EQ(communication(p), "all_reduce x");
  EXPECT_EQ(p.collectives[0].times, 3);
  EXPECT_EQ(p.collectives[0].parts.size(), 2u);
}

// Ops that are ordered by hand: ops with effects, and loops, do not move back.
TEST(CombineCollectives, EffectsKeepTheirOrder) {
  const auto psum = [](const Array& x) {
    return bind_op1(all_reduce_op, AllReduceParams{mesh24(), {"x"}, {}, ReduceKind::kSum}, {x});
  };
  const int64_t tell = lax::add_host_function([](auto, auto) {});
  const Type varying{.dtype = float32, .shape = {4}, .varying = {"x"}};
  std::vector<Reason> reasons;
  const TracedFunction traced = trace_function(
      [&](const Arrays& x) {
        const Array a = psum(x[0]), b = lax::sin(a);
        lax::io_callback(tell, {Type{float32, {}}}, {b});
        const Array c = psum(x[1]), d = psum(lax::exp(x[1]));
        return Arrays{b, lax::cos(c), d};
      },
      std::vector<Type>{varying, varying});
  const Function f = combine_collectives(traced.function, reasons);
  lax::remove_host_function(tell);
  std::string order;
  for (const Op& op : f.ops) order += fmt::format("{} ", op.def->name);
  EXPECT_EQ(order, "all_reduce sine io_callback exponential all_reduce cosine ");
  EXPECT_EQ(f.ops[4].operands.size(), 2u);
}

}  // namespace
}  // namespace tessera::combine_collectives_test
