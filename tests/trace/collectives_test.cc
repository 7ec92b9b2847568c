// Collectives inside manual computations: types, errors, and cases that the golden programs do not
// have.
#include "tessera/ops/collectives/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::collectives_test {

using namespace fusion;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Arrays = std::vector<Array>;

const Mesh& mesh() {
  static const Mesh m = Mesh::abstract({2, 4}, {"x", "y"});
  return m;
}

// Returns `body` traced on one device of the mesh, with an input that varies over `varying`.
Function trace_local(const FlatFn& body, Type input, AxisNames varying = {"x", "y"}) {
  const AxisEnv::Scope scope(mesh(), {"x", "y"}, true);
  input.varying = std::move(varying);
  return trace_function(body, std::vector{input}).function;
}
AxisNames result_varies(const FlatFn& body, const Type& input, AxisNames varying) {
  const Function f = trace_local(body, input, std::move(varying));
  return f.type(f.outputs[0]).varying;
}
// Returns device values: device d has the numbers from 10 d on.
DeviceLiterals counting(int64_t elements) {
  DeviceLiterals out;
  for (int d = 0; d < 8; ++d) {
    Literal x(float32, {elements});
    for (int64_t i = 0; i < elements; ++i)
      x.mutable_data<float>()[i] = static_cast<float>(10 * d + i);
    out.push_back(x);
  }
  return out;
}
std::vector<float> values(const Literal& x) {
  return {x.data<float>(), x.data<float>() + x.elements()};
}

template <class F>
void expect_error(ErrorKind kind, const std::string& fragment, F f) {
  try {
    f();
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(fragment));
  }
}
void expect_refused(ErrorKind kind, const std::string& fragment, const FlatFn& body,
                    const Type& input = {float32, {4, 6}}) {
  expect_error(kind, fragment, [&] { trace_local(body, input); });
}

TEST(Collectives, ReductionsAreInvariant) {
  const Type t{float32, {4}};
  auto sum_x = [](const Arrays& a) { return Arrays{lax::psum(a[0], "x")}; };
  EXPECT_THAT(result_varies(sum_x, t, {"x", "y"}), ElementsAre("y"));
  EXPECT_THAT(result_varies(sum_x, t, {"x"}), ElementsAre());
  EXPECT_THAT(result_varies(sum_x, t, {}), ElementsAre());
  EXPECT_THAT(result_varies(
                  [](const Arrays& a) {
                    return Arrays{lax::pmax(a[0], {"y", "x"})};
                  },
                  t, {"x", "y"}),
              ElementsAre());
  EXPECT_THAT(result_varies(
                  [](const Arrays& a) {
                    return Arrays{lax::psum(a[0], "y", {{0, 1}, {2, 3}})};
                  },
                  t, {"x", "y"}),
              ElementsAre("x", "y"));
}

TEST(Collectives, OthersVary) {
  const Type t{float32, {4}};
  EXPECT_THAT(
      result_varies([](const Arrays& a) { return Arrays{lax::all_gather(a[0], "x")}; }, t, {}),
      ElementsAre("x"));
  EXPECT_THAT(
      result_varies(
          [](const Arrays& a) { return Arrays{lax::all_gather(a[0], "x", {.invariant = true})}; },
          t, {"x", "y"}),
      ElementsAre("y"));
  EXPECT_THAT(result_varies(
                  [](const Arrays& a) {
                    return Arrays{lax::ppermute(a[0], "x", {{0, 1}})};
                  },
                  t, {}),
              ElementsAre("x"));
  EXPECT_THAT(
      result_varies([](const Arrays& a) { return Arrays{lax::psum_scatter(a[0], "y")}; }, t, {}),
      ElementsAre("y"));
  EXPECT_THAT(result_varies(
                  [](const Arrays& a) { return Arrays{lax::all_to_all(a[0], "y", 0, 0)}; }, t, {}),
              ElementsAre("y"));
  EXPECT_THAT(result_varies(
                  [](const Arrays&) {
                    return Arrays{lax::axis_index({"y", "x"})};
                  },
                  t, {}),
              ElementsAre("x", "y"));
  EXPECT_THAT(result_varies([](const Arrays& a) { return Arrays{lax::pcast_varying(a[0], "y")}; },
                            t, {"x"}),
              ElementsAre("x", "y"));
  // The result of an ordinary op varies over the axes of all operands.
  EXPECT_THAT(
      result_varies(
          [](const Arrays& a) { return Arrays{lax::add(a[0], lax::pcast(a[0], "x", "varying"))}; },
          t, {"y"}),
      ElementsAre("x", "y"));
}

TEST(Collectives, OneOfAReplicatedValueIsItsSize) {
  const Function f = trace_local(
      [](const Arrays&) {
        return Arrays{lax::psum(Array(1.0f), {"x", "y"})};
      },
      {float32, {}});
  EXPECT_EQ(values(evaluate_spmd(f, {DeviceLiterals(8, Literal(float32, {}))}, mesh())[0][3]),
            std::vector<float>{8});
}

TEST(Collectives, DtypesOfReductions) {
  auto dtype = [](const FlatFn& body, DType in) {
    const Function f = trace_local(body, {in, {4}});
    return f.type(f.outputs[0]).dtype;
  };
  EXPECT_EQ(dtype([](const Arrays& a) { return Arrays{lax::psum(a[0], "x")}; }, bool_), int32);
  EXPECT_EQ(dtype([](const Arrays& a) { return Arrays{lax::pmax(a[0], "x")}; }, bool_), bool_);
  EXPECT_EQ(dtype([](const Arrays& a) { return Arrays{lax::pmean(a[0], "x")}; }, int32), float32);
  EXPECT_EQ(dtype([](const Arrays& a) { return Arrays{lax::pmean(a[0], "x")}; }, bfloat16),
            bfloat16);
}

TEST(Collectives, Broadcast) {
  const Function f = trace_local(
      [](const Arrays& a) { return Arrays{lax::pbroadcast(a[0], "y", 2)}; }, {float32, {1}});
  const DeviceLiterals got = evaluate_spmd(f, {counting(1)}, mesh())[0];
  for (int d = 0; d < 8; ++d) EXPECT_EQ(values(got[d]), std::vector<float>{d < 4 ? 20.f : 60.f});
}

TEST(Collectives, SwapAxes) {
  const Function f = trace_local(
      [](const Arrays& a) { return Arrays{lax::pswapaxes(a[0], "y", 0)}; }, {float32, {4}});
  const DeviceLiterals got = evaluate_spmd(f, {counting(4)}, mesh())[0];
  EXPECT_EQ(values(got[1]), (std::vector<float>{1, 11, 21, 31}));
  EXPECT_EQ(values(got[6]), (std::vector<float>{42, 52, 62, 72}));
}

// The example in the documentation of jax.lax.ragged_all_to_all.
TEST(Collectives, RaggedAllToAll) {
  const Mesh two = Mesh::abstract({2}, {"x"});
  const AxisEnv::Scope scope(two, {"x"}, true);
  const Type table{int32, {2}, false, {"x"}};
  const Function f =
      trace_function(
          [](const Arrays& a) {
            return Arrays{lax::ragged_all_to_all(a[0], a[1], a[2], a[3], a[4], a[5], "x")};
          },
          std::vector<Type>{{float32, {3}, false, {"x"}},
                            {float32, {4}, false, {"x"}},
                            table,
                            table,
                            table,
                            table})
          .function;
  auto floats = [](std::vector<float> v) {
    return Literal::from<float>(v, {static_cast<int64_t>(v.size())});
  };
  auto ints = [](std::vector<int32_t> v) {
    return Literal::from<int32_t>(v, {static_cast<int64_t>(v.size())});
  };
  std::vector<DeviceLiterals> x{
      {floats({1, 2, 2}), floats({3, 4, 0})}, {floats({0, 0, 0, 0}), floats({0, 0, 0, 0})},
      {ints({0, 1}), ints({0, 1})},           {ints({1, 2}), ints({1, 1})},
      {ints({0, 0}), ints({1, 2})},           {ints({1, 1}), ints({2, 1})}};
  const DeviceLiterals got = evaluate_spmd(f, x, two)[0];
  EXPECT_EQ(values(got[0]), (std::vector<float>{1, 3, 0, 0}));
  EXPECT_EQ(values(got[1]), (std::vector<float>{2, 2, 4, 0}));
  x[3][1] = ints({1, 3});
  expect_error(ErrorKind::kValue, "expected offsets and sizes within 3 rows sent and 4 received",
               [&] { evaluate_spmd(f, x, two); });
}

TEST(Collectives, DeviceGroups) {
  using Groups = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(device_groups(mesh(), {"y"}, {}), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(device_groups(mesh(), {"x"}, {}), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(device_groups(mesh(), {"y", "x"}, {}), (Groups{{0, 4, 1, 5, 2, 6, 3, 7}}));
  EXPECT_EQ(device_groups(mesh(), {"y"}, {{0, 2}, {3, 1}}),
            (Groups{{0, 2}, {3, 1}, {4, 6}, {7, 5}}));
  EXPECT_EQ(device_groups(mesh(), {"y:(1)2"}, {}), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(device_groups(mesh(), {"x", "y:(2)2"}, {}), (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(device_groups(Mesh(), {}, {}), (Groups{{0}}));
  EXPECT_EQ(axes_size(mesh(), {"x", "y:(2)2"}), 4);
}

TEST(Collectives, AxisRefs) {
  EXPECT_EQ(parse_axis_ref("data"), AxisRef{"data"});
  EXPECT_EQ(parse_axis_ref("x:(2)4"), (AxisRef{"x", 2, 4}));
  for (const char* text : {"x:(2", "x:()4", "x:(2)", "x:(2)4b", "x:(a)4"})
    expect_error(ErrorKind::kSharding, "expected an axis or a part of one",
                 [&] { parse_axis_ref(text); });
  expect_error(ErrorKind::kSharding,
               "expected a part that divides axis 'y' of size 4, got 'y:(1)3'",
               [] { axes_size(mesh(), {"y:(1)3"}); });
}

TEST(Collectives, InfoAndBytes) {
  auto info = [](const FlatFn& body, const Type& input) {
    const Function f = trace_local(body, input);
    const Op& op = f.ops.back();
    return std::pair(collective_info(op),
                     collective_bytes_per_device(collective_info(op), f.type(op.operands[0])));
  };
  const Type t{float32, {8, 4}};  // 128 bytes
  auto [gather, gather_bytes] = info(
      [](const Arrays& a) {
        return Arrays{lax::all_gather(a[0], "y", {.axis = 1, .tiled = true})};
      },
      t);
  EXPECT_EQ(gather.kind, CollectiveKind::kAllGather);
  EXPECT_EQ(gather.dim, 1);
  EXPECT_EQ(gather.axes, std::vector<std::string>{"y"});
  EXPECT_EQ(gather_bytes, 3 * 128);
  auto [reduce, reduce_bytes] = info(
      [](const Arrays& a) {
        return Arrays{lax::pmin(a[0], {"x", "y"})};
      },
      t);
  EXPECT_EQ(reduce.reduce, ReduceKind::kMin);
  EXPECT_EQ(reduce_bytes, 2 * 7 * 128 / 8);
  auto [scatter, scatter_bytes] = info(
      [](const Arrays& a) { return Arrays{lax::psum_scatter(a[0], "x", {.tiled = true})}; }, t);
  EXPECT_EQ(scatter.kind, CollectiveKind::kReduceScatter);
  EXPECT_EQ(scatter_bytes, 64);
  auto [permute, permute_bytes] = info(
      [](const Arrays& a) {
        return Arrays{lax::ppermute(a[0], "y", {{0, 3}})};
      },
      t);
  EXPECT_THAT(permute.pairs, ElementsAre(Dims{0, 3}));
  EXPECT_EQ(permute_bytes, 128);
  auto [exchange, exchange_bytes] = info(
      [](const Arrays& a) { return Arrays{lax::all_to_all(a[0], "y", 0, 1, {.tiled = true})}; }, t);
  EXPECT_EQ(exchange.dim, 0);
  EXPECT_EQ(exchange.concat_dim, 1);
  EXPECT_EQ(exchange_bytes, 96);
  const CollectiveInfo cast{.kind = CollectiveKind::kCast, .mesh = mesh(), .axes = {"x"}};
  EXPECT_EQ(collective_bytes_per_device(cast, t), 0);
}

TEST(Collectives, UnboundAxes) {
  expect_error(
      ErrorKind::kSharding,
      "[psum] expected an axis bound by shard_map (or by vmap's axis_name), got 'x' outside any",
      [] { lax::psum(Array(1.0f), "x"); });
  expect_error(ErrorKind::kSharding, "[axis_index] expected an axis bound by shard_map",
               [] { lax::axis_index("x"); });
  expect_refused(
      ErrorKind::kSharding, "[axis_size] expected a bound axis, one of 'x', 'y', got 'z'",
      [](const Arrays&) { return Arrays{Array(static_cast<int>(lax::axis_size("z")))}; });
  const AxisEnv::Scope partial(mesh(), {"x"}, true);
  expect_error(ErrorKind::kSharding, "[pmax] expected a bound axis, one of 'x', got 'y'", [] {
    trace_function([](const Arrays& a) { return Arrays{lax::pmax(a[0], "y")}; },
                   std::vector<Type>{{float32, {4}}});
  });
}

TEST(Collectives, RefuseAxesThatOverlap) {
  const auto infer = [](std::vector<std::string> axes) {
    Type x{float32, {4}};
    x.varying = {"x", "y"};
    return all_reduce_op.infer(std::span(&x, 1), AllReduceParams{mesh(), std::move(axes)});
  };
  EXPECT_NO_THROW(infer({"y:(1)2", "x", "y:(2)2"}));
  expect_error(ErrorKind::kSharding,
               "[all_reduce] expected axes that do not overlap, got 'y' and 'y:(1)2'", [&] {
                 infer({"y", "y:(1)2"});
               });
  expect_error(ErrorKind::kSharding,
               "[all_reduce] expected axes that do not overlap, got 'y:(2)2' and 'y:(1)4'", [&] {
                 infer({"y:(2)2", "y:(1)4"});
               });
  expect_error(ErrorKind::kSharding,
               "[all_reduce] expected a part that divides axis 'y' of size 4, got 'y:(2)4'",
               [&] { infer({"y:(2)4"}); });
  expect_error(ErrorKind::kSharding, "expected an axis or a part of one as x:(1)2, got 'y:(0)2'",
               [&] { infer({"y:(0)2"}); });
}

TEST(Collectives, Errors) {
  expect_refused(ErrorKind::kValue, "[psum] expected at least one mesh axis", [](const Arrays& a) {
    return Arrays{lax::psum(a[0], std::vector<std::string>{})};
  });
  expect_refused(ErrorKind::kSharding, "[psum] expected distinct axes, got 'x' twice",
                 [](const Arrays& a) {
                   return Arrays{lax::psum(a[0], {"x", "x"})};
                 });
  expect_refused(ErrorKind::kType, "[pmax] expected an ordered dtype, got complex64[4]",
                 [](const Arrays& a) { return Arrays{lax::pmax(a[0], "x")}; }, {complex64, {4}});
  // Groups.
  expect_refused(ErrorKind::kValue, "expected each rank 0 to 3 in exactly one group, got 1 twice",
                 [](const Arrays& a) {
                   return Arrays{lax::psum(a[0], "y", {{0, 1}, {1, 2, 3}})};
                 });
  expect_refused(ErrorKind::kValue, "expected each rank 0 to 3 in exactly one group, got 4",
                 [](const Arrays& a) {
                   return Arrays{lax::psum(a[0], "y", {{0, 1}, {2, 4}})};
                 });
  expect_refused(ErrorKind::kValue, "expected each rank 0 to 3 in exactly one group, got 3 of them",
                 [](const Arrays& a) {
                   return Arrays{lax::psum(a[0], "y", {{0, 1}, {2}})};
                 });
  expect_refused(ErrorKind::kValue,
                 "[all_gather] expected groups of one size, got (0, 1, 2) and (3,)",
                 [](const Arrays& a) {
                   return Arrays{lax::all_gather(a[0], "y", {.groups = {{0, 1, 2}, {3}}})};
                 });
  expect_refused(ErrorKind::kValue, "[pmean] expected groups of one size", [](const Arrays& a) {
    return Arrays{lax::pmean(a[0], "y", {{0, 1, 2}, {3}})};
  });
  // Dimensions.
  expect_refused(ErrorKind::kShape, "[all_gather] expected an axis in [-2, 2), got 2",
                 [](const Arrays& a) {
                   return Arrays{lax::all_gather(a[0], "y", {.axis = 2, .tiled = true})};
                 });
  expect_refused(ErrorKind::kShape,
                 "[psum_scatter] expected dimension 1 of float32[4,6]{varying: x,y} to be as long "
                 "as axis 'y', 4, got 6; pass tiled",
                 [](const Arrays& a) {
                   return Arrays{lax::psum_scatter(a[0], "y", {.scatter_dimension = 1})};
                 });
  expect_refused(
      ErrorKind::kShape, "[psum_scatter] expected scattered dimension 1", [](const Arrays& a) {
        return Arrays{lax::psum_scatter(a[0], "y", {.scatter_dimension = 1, .tiled = true})};
      });
  expect_refused(ErrorKind::kShape,
                 "[all_to_all] expected dimension 1 of float32[4,6]{varying: x,y} to be as long as "
                 "axis 'y', 4",
                 [](const Arrays& a) { return Arrays{lax::all_to_all(a[0], "y", 1, 0)}; });
  expect_refused(ErrorKind::kShape, "[all_to_all] expected split dimension 1", [](const Arrays& a) {
    return Arrays{lax::all_to_all(a[0], "y", 1, 0, {.tiled = true})};
  });
  // Permutations.
  expect_refused(ErrorKind::kValue, "expected each source at most once, got 0 twice",
                 [](const Arrays& a) {
                   return Arrays{lax::ppermute(a[0], "y", {{0, 1}, {0, 2}})};
                 });
  expect_refused(ErrorKind::kValue, "expected ranks in [0, 4), got the pair (-1, 2)",
                 [](const Arrays& a) {
                   return Arrays{lax::ppermute(a[0], "y", {{-1, 2}})};
                 });
  expect_refused(ErrorKind::kValue, "[pshuffle] expected a permutation of 0 to 3, got (0, 1, 2, 2)",
                 [](const Arrays& a) {
                   return Arrays{lax::pshuffle(a[0], "y", {0, 1, 2, 2})};
                 });
  expect_refused(ErrorKind::kValue, "[pshuffle] expected a permutation of 0 to 3, got (0, 1)",
                 [](const Arrays& a) {
                   return Arrays{lax::pshuffle(a[0], "y", {0, 1})};
                 });
  expect_refused(ErrorKind::kValue, "[pbroadcast] expected a source rank in [0, 4), got 4",
                 [](const Arrays& a) { return Arrays{lax::pbroadcast(a[0], "y", 4)}; });
  expect_refused(ErrorKind::kValue, "[pcast] expected to = \"varying\", got \"invariant\"",
                 [](const Arrays& a) { return Arrays{lax::pcast(a[0], "y", "invariant")}; });
  expect_refused(ErrorKind::kValue,
                 "[replicated_to_unreduced] expected the pair (0, 0), got 2 pairs",
                 [](const Arrays& a) {
                   ops::CollectivePermuteParams p =
                       ops::to_unreduced(AxisEnv::current().mesh_of({"y"}), {"y"});
                   p.pairs.push_back({1, 1});
                   return Arrays{ir::bind_op1(ops::replicated_to_unreduced_op, p, {a[0]})};
                 });
  expect_refused(ErrorKind::kShape, "[ragged_all_to_all] expected operand and output of one dtype",
                 [](const Arrays& a) {
                   const Array t = lax::iota(int32, {4});
                   return Arrays{lax::ragged_all_to_all(a[0], t, t, t, t, t, "y")};
                 });
  expect_refused(ErrorKind::kShape,
                 "[ragged_all_to_all] expected offsets and sizes to be integers of one dtype, one "
                 "for each of the 4",
                 [](const Arrays& a) {
                   const Array t = lax::iota(int32, {3});
                   return Arrays{lax::ragged_all_to_all(a[0], a[0], t, t, t, t, "y")};
                 });
}

}  // namespace
}  // namespace tessera::collectives_test
