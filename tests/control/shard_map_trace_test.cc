#include "tessera/control/shard_map_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/control/control.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::shard_map_trace_test {

using namespace control;

namespace {

using namespace array_math;
using testing::ElementsAre;
using testing::HasSubstr;
using Arrays = std::vector<Array>;
using Specs = std::vector<PartitionSpec>;

const Mesh& mesh() {
  static const Mesh m = Mesh::abstract({2, 4}, {"x", "y"});
  return m;
}
FlatShardMapOptions options(Specs in, Specs out, std::vector<std::string> manual = {},
                            bool check_vma = true) {
  return {.mesh = mesh(),
          .in_specs = std::move(in),
          .out_specs = [out = std::move(out)](std::span<const Array>) { return out; },
          .manual_axes = std::move(manual),
          .check_vma = check_vma};
}
Function trace_mapped(const FlatFn& body, const FlatShardMapOptions& o,
                      const std::vector<Type>& inputs) {
  return trace_function([&](const Arrays& x) { return shard_map_flat(body, o, x); }, inputs)
      .function;
}
Arrays identity(const Arrays& x) { return x; }
Literal counting(Shape shape) {
  Literal x(float32, std::move(shape));
  for (int64_t i = 0; i < x.elements(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
  return x;
}
template <class F>
void expect_error(const std::string& fragment, F f) {
  try {
    f();
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kSharding) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(fragment));
  }
}

TEST(ShardMapTrace, BodyHasLocalTypes) {
  std::vector<Type> seen;
  const Function f = trace_mapped(
      [&](const Arrays& x) {
        for (const Array& a : x) seen.push_back(a.type());
        return Arrays{x[0]};
      },
      options({P("x", "y"), P(None, joint("y", "x")), P()}, {P("x", "y")}),
      {{float32, {8, 8}}, {int32, {3, 16}}, {float32, {5}}});
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(describe(seen[0]), "float32[4,2]{varying: x,y}");
  EXPECT_EQ(describe(seen[1]), "int32[3,2]{varying: x,y}");
  EXPECT_EQ(describe(seen[2]), "float32[5]");
  EXPECT_EQ(describe(f.type(f.outputs[0])), "float32[8,8]");
  EXPECT_EQ(f.ops.back().source, "shard_map");
}

TEST(ShardMapTrace, CapturesBecomeReplicatedOperands) {
  const Function f =
      trace_function(
          [](const Arrays& x) {
            const Array outside = lax::neg(x[1]);
            return shard_map_flat([&](const Arrays& v) { return Arrays{v[0] * outside}; },
                                  options({P("x")}, {P("x")}), Arrays{x[0]});
          },
          std::vector<Type>{{float32, {8}}, {float32, {4}}})
          .function;
  const auto& p = f.ops.back().params.as<ManualComputationParams>();
  EXPECT_EQ(p.in_specs.size(), 2u);
  EXPECT_EQ(p.in_specs[1], P());
  EXPECT_THAT(p.manual_axes, ElementsAre("x", "y"));
  const std::vector<Literal> got = evaluate(f, std::vector{counting({8}), counting({4})});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(got[0].data<float>()[i], -static_cast<float>(i * (i % 4)));
}

TEST(ShardMapTrace, PartialManualLeavesTheOthersGlobal) {
  const Function f = trace_mapped([](const Arrays& x) { return Arrays{lax::psum(x[0], "y")}; },
                                  options({P(None, "y")}, {P()}, {"y"}), {{float32, {4, 8}}});
  EXPECT_EQ(describe(f.type(f.outputs[0])), "float32[4,2]");
  const Literal x = counting({4, 8});
  const Literal got = evaluate(f, std::vector{x})[0];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) sum += x.data<float>()[i * 8 + 2 * k + j];
      EXPECT_EQ(got.data<float>()[i * 2 + j], sum);
    }
}

// y is manual inside a region where x is manual: the inner specs divide the shards of the outer
// region.
TEST(ShardMapTrace, Nested) {
  const Function f = trace_mapped(
      [](const Arrays& outer) {
        const Arrays inner = shard_map_flat(
            [&](const Arrays& x) {
              EXPECT_EQ(describe(x[0].type()), "float32[4,2]{varying: x,y}");
              EXPECT_EQ(describe(outer[0].type()), "float32[4,8]{varying: x}");
              return Arrays{lax::psum(x[0], {"x", "y"}),
                            x[0] * lax::broadcast_in_dim(lax::convert_element_type(
                                                             lax::axis_index({"x", "y"}), float32),
                                                         {4, 2}, {})};
            },
            options({P(None, "y")}, {P(), P(None, "y")}, {"y"}), outer);
        EXPECT_EQ(describe(inner[0].type()), "float32[4,2]");
        EXPECT_EQ(describe(inner[1].type()), "float32[4,8]{varying: x}");
        return inner;
      },
      options({P("x")}, {P(), P("x")}, {"x"}), {{float32, {8, 8}}});
  const Literal x = counting({8, 8});
  const std::vector<Literal> got = evaluate(f, std::vector{x});
  ASSERT_EQ(got[0].shape(), (Shape{4, 2}));
  ASSERT_EQ(got[1].shape(), (Shape{8, 8}));
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      EXPECT_EQ(got[1].data<float>()[i * 8 + j],
                x.data<float>()[i * 8 + j] * static_cast<float>(i / 4 * 4 + j / 2));
  float sum = 0;
  for (int i : {0, 4})
    for (int j : {0, 2, 4, 6}) sum += x.data<float>()[i * 8 + j];
  EXPECT_EQ(got[0].data<float>()[0], sum);
}

TEST(ShardMapTrace, UncheckedReplicationTakesTheFirst) {
  const Function f =
      trace_mapped(identity, options({P("x")}, {P()}, {}, /*check_vma=*/false), {{float32, {4}}});
  EXPECT_EQ(evaluate(f, std::vector{counting({4})})[0], counting({2}));
}

TEST(ShardMapTrace, EmptyArrays) {
  const Function f = trace_mapped(identity, options({P("x")}, {P("x")}), {{float32, {0, 3}}});
  EXPECT_EQ(evaluate(f, std::vector{Literal(float32, {0, 3})})[0].shape(), (Shape{0, 3}));
}

TEST(ShardMapTrace, Errors) {
  const std::vector<Type> one{{float32, {8, 8}}};
  expect_error("expected one in_spec an argument, got 2 for 1 arguments", [&] {
    trace_mapped(identity, options({P(), P()}, {P()}), one);
  });
  expect_error("expected one out_spec a result, got 0 for 1 results",
               [&] { trace_mapped(identity, options({P()}, {}), one); });
  expect_error("expected every dimension of in_specs[0] to be decided",
               [&] { trace_mapped(identity, options({P(UNCONSTRAINED, "x")}, {P()}), one); });
  expect_error("expected whole axes in in_specs[0], got the part y:(1)2", [&] {
    trace_mapped(identity, options({P(AxisRef{"y", 1, 2})}, {P()}), one);
  });
  expect_error(
      "expected axes that are manual here, of 'x', in in_specs[0], got 'y' in PartitionSpec('y'); "
      "add it to axis_names",
      [&] { trace_mapped(identity, options({P("y")}, {P()}, {"x"}), one); });
  expect_error("expected axis_names of AbstractMesh('x': 2, 'y': 4), got 'z'",
               [&] { trace_mapped(identity, options({P()}, {P()}, {"z"}), one); });
  expect_error("expected dimension 1 of shape (8, 6) to be a multiple of 4", [&] {
    trace_mapped(identity, options({P(None, "y")}, {P(None, "y")}), {{float32, {8, 6}}});
  });
  expect_error(
      "expected axes that are not manual already, got 'x'; the enclosing shard_map has made 'x', "
      "'y' manual",
      [&] {
        trace_mapped(
            [](const Arrays& x) {
              return shard_map_flat(identity, options({P("x")}, {P("x")}, {"x"}), x);
            },
            options({P("x")}, {P("x")}), one);
      });
  expect_error("expected the mesh of the enclosing shard_map", [&] {
    trace_mapped(
        [](const Arrays& x) {
          FlatShardMapOptions other = options({P()}, {P()});
          other.mesh = Mesh::abstract({8}, {"z"});
          return shard_map_flat(identity, other, x);
        },
        options({P("x")}, {P("x")}, {"x"}), one);
  });
}

TEST(ShardingConstraint, Rules) {
  const ShardingConstraintParams p{NamedSharding(mesh(), P("x"))};
  auto spec_of = [](const Function& f) {
    return f.ops.back().params.as<ShardingConstraintParams>().sharding.spec();
  };
  const Type t{float32, {8, 4}};
  const Function jvp =
      trace_function(
          [&](const Arrays& a) {
            return sharding_constraint_op.jvp(Arrays{a[0]}, Arrays{a[1]}, p).tangents;
          },
          std::vector{t, t})
          .function;
  EXPECT_EQ(jvp.ops.size(), 2u);
  EXPECT_EQ(spec_of(jvp), P("x"));
  const Function back =
      trace_function(
          [&](const Arrays& a) { return sharding_constraint_op.transpose(a, a, {true}, p); },
          std::vector{t})
          .function;
  EXPECT_EQ(spec_of(back), P("x"));
  for (const auto& [dim, want] :
       std::vector<std::pair<int, PartitionSpec>>{{0, P(UNCONSTRAINED, "x")},
                                                  {1, P("x", UNCONSTRAINED)},
                                                  {2, P("x", None, UNCONSTRAINED)}}) {
    std::vector<int> dims;
    const Function batched = trace_function(
                                 [&](const Arrays& a) {
                                   const BatchAxis::Scope scope({.size = a[0].shape()[dim]});
                                   BatchResult r =
                                       sharding_constraint_op.batch(a, std::vector{dim}, p);
                                   dims = r.dims;
                                   return r.results;
                                 },
                                 std::vector<Type>{{float32, {8, 4, 3}}})
                                 .function;
    EXPECT_EQ(spec_of(batched), want);
    EXPECT_THAT(dims, ElementsAre(dim));
  }
}

TEST(ShardingConstraint, TypesAndErrors) {
  FunctionTrace trace;
  const Array x = trace.add_input({float32, {8, 6}});
  EXPECT_EQ(lax::sharding_constraint(x, NamedSharding(mesh(), P("x", "y"))).type(),
            x.type());  // the extents need not be divisible
  expect_error("[sharding_constraint] expected a spec of at most 2 entries",
               [&] { lax::sharding_constraint(x, NamedSharding(mesh(), P(None, None, "x"))); });
  expect_error("expected axes that are not manual here, got 'x'", [&] {
    trace_mapped(
        [](const Arrays& v) {
          return Arrays{lax::sharding_constraint(v[0], NamedSharding(mesh(), P("x")))};
        },
        options({P("x")}, {P("x")}), {{float32, {8}}});
  });
  // A constraint inside may use an axis that is automatic.
  const Function f = trace_mapped(
      [](const Arrays& v) {
        return Arrays{lax::sharding_constraint(v[0], NamedSharding(mesh(), P("y")))};
      },
      options({P("x")}, {P("x")}, {"x"}), {{float32, {8}}});
  EXPECT_EQ(evaluate(f, std::vector{counting({8})})[0], counting({8}));
}

}  // namespace
}  // namespace tessera::shard_map_trace_test
