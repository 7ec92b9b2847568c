// What is computed twice from the same values is computed, and communicated, once.
#include "tessera/sharding/merge_equal_ops.h"

#include <gmock/gmock.h>

#include "tessera/ops/array_math.h"
#include "tessera/ops/broadcast.h"
#include "tessera/ops/collectives.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/dot_general.h"
#include "tessera/ops/identity.h"
#include "tessera/ops/reduce.h"
#include "tessera/trace/shard_map_trace.h"
#include "tests/spmd/programs.h"
#include "tests/trace/control_flow.h"

namespace tessera {
namespace {

using namespace array_math;
namespace loops = testing_control;
using Arrays = std::vector<Array>;

const Mesh& mesh8() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8}, {"x"}));
  return mesh;
}

int64_t count(const Function& f, const OpDef& def) {
  return std::count_if(f.ops.begin(), f.ops.end(), [&](const Op& op) { return op.def == &def; });
}
Function merged(const FlatFn& body, const std::vector<Type>& types) {
  return merge_equal_ops(trace_function(body, types).function);
}
Array apply(const FlatFn& body, const Array& x) {
  return bind1(call_op, CallParams{loops::region(body, {x.type()})}, {x});
}

TEST(MergeEqualOps, OneSumOfOneValue) {
  const Partitioned p = partition_and_check(mesh8(), {{{16, 4}, P("x")}}, [](const Arrays& x) {
    return Arrays{lax::reduce_sum(x[0], {0, 1}), lax::reduce_sum(x[0], {0, 1}) + 1};
  });
  EXPECT_EQ(communication(p), "all_reduce x");
}

TEST(MergeEqualOps, CallsOfOneFunctionAreComputedOnce) {
  const FlatFn forward = [](const Arrays& x) { return Arrays{lax::sin(lax::dot(x[0], x[0]))}; };
  const Function f = merged(
      [&](const Arrays& x) {
        return Arrays{lax::reduce_sum(apply(forward, x[0]), {0, 1}), apply(forward, x[0]),
                      forward(x)[0] * 2};
      },
      {{float32, {8, 8}}});
  EXPECT_EQ(count(f, dot_general_op), 1);
  EXPECT_EQ(count(f, sin_op), 1);
  EXPECT_EQ(count(f, call_op), 0);
}

TEST(MergeEqualOps, ParamsOperandsAndTypesCount) {
  const Function f = merged(
      [](const Arrays& x) {
        return Arrays{lax::reduce_sum(x[0], {0}), lax::reduce_sum(x[0], {1}),
                      lax::reduce_sum(x[1], {0}), lax::reduce_max(x[0], {0})};
      },
      {{float32, {8, 8}}, {float32, {8, 8}}});
  EXPECT_EQ(count(f, reduce_op), 4);
}

TEST(MergeEqualOps, WhatStandsBehindABarrierIsComputedAgain) {
  const Function f = merged(
      [](const Arrays& x) {
        return Arrays{lax::sin(x[0]), lax::sin(lax::optimization_barrier(x[0]))};
      },
      {{float32, {8}}});
  EXPECT_EQ(count(f, sin_op), 2);
  // Nor are its collectives: weights gathered again for a backward pass are not kept from the
  // forward pass.
  const Partitioned p = partition_and_check(
      mesh8(), {{{64, 8}, P(None, "x")}, {{8, 8}, P("x")}}, [](const Arrays& x) {
        const Array w = lax::sharding_constraint(x[1], NamedSharding(mesh8(), P()));
        const Array again =
            lax::sharding_constraint(lax::optimization_barrier(x[1]), NamedSharding(mesh8(), P()));
        return Arrays{lax::sin(w), lax::cos(again)};
      });
  EXPECT_EQ(communication(p), "all_gather x; all_gather x");
}

TEST(MergeEqualOps, RegionsAreMergedInsideAndAsAWhole) {
  const auto loop = [](const Array& x) {
    return loops::scan(3, {}, {x}, {},
                       [](const Arrays& b) { return Arrays{lax::sin(b[0]) + lax::sin(b[0])}; })[0];
  };
  const Function f = merged(
      [&](const Arrays& x) {
        return Arrays{loop(x[0]), loop(x[0])};
      },
      {{float32, {8}}});
  ASSERT_EQ(count(f, scan_op), 1);
  EXPECT_EQ(count(*f.ops[0].params.as<ScanParams>().body, sin_op), 1);
}

TEST(MergeEqualOps, CollectivesOfAShardMap) {
  const Partitioned p = partition_and_check(mesh8(), {{{16, 4}, P("x")}}, [](const Arrays& x) {
    return shard_map_flat(
        [](const Arrays& v) {
          return Arrays{lax::psum(v[0], "x") * 2, lax::sin(lax::psum(v[0], "x"))};
        },
        {.mesh = mesh8(),
         .in_specs = {P("x")},
         .out_specs =
             [](std::span<const Array>) {
               return std::vector<PartitionSpec>{P(), P()};
             }},
        Arrays{x[0]});
  });
  EXPECT_EQ(communication(p), "all_reduce x");
}

// One array of zeros is the same constant to both, but does not tie their shardings together.
TEST(MergeEqualOps, ConstantsBelongToTheirUsers) {
  const Partitioned p = partition_and_check(
      mesh8(), {{{64, 64}, P("x")}, {{64, 64}, P(None, "x")}, {{}, P()}}, [](const Arrays& x) {
        const auto mask = [&] {
          return lax::sin(lax::broadcast_in_dim(lax::iota(float32, {64}, 0), {64, 64}, {0}));
        };
        const Array rows = lax::broadcast_in_dim(x[2], {64, 64}, {});
        return Arrays{x[0] + mask(), x[1] + mask(), x[0] * rows, x[1] * rows};
      });
  EXPECT_EQ(communication(p), "");
}

}  // namespace
}  // namespace tessera
