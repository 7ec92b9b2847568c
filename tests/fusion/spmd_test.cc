// Fusion of partitioned functions: the axes over which slots vary, collectives, and products with
// their sums over devices.
#include "fusion_testing.h"
#include "tessera/base/namespaces.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"

namespace tessera::fusion_testing::spmd_test {

using namespace fusion;

namespace {

using namespace array_math;

Type varying(Type type, AxisNames axes) {
  type.varying = std::move(axes);
  return type;
}

// Returns a function of local values under manual axes of `mesh`.
template <class F>
Function trace_on(const Mesh& mesh, const std::vector<Type>& types, F body) {
  AxisNames names = mesh.axis_names();
  std::sort(names.begin(), names.end());
  const AxisEnv::Scope scope(mesh, names, true);
  return trace(types, body);
}

// Fuses f for `mesh`, where input k varies over axes[k], and compares the results with the
// evaluator on every device.
Schedule check_on(const Mesh& mesh, const Function& f, const std::vector<AxisList>& axes) {
  const Schedule schedule = fuse(simplified(f), mesh, {.input_axes = axes});
  AxisList all;
  for (int a = 0; a < static_cast<int>(mesh.rank()); ++a) all.push_back(a);
  std::vector<std::vector<Literal>> instances;
  std::vector<DeviceLiterals> devices;
  uint32_t seed = 1;
  for (size_t k = 0; k < axes.size(); ++k) {
    auto& mine = instances.emplace_back();
    for (int64_t i = 0; i < axes_size(mesh, axes[k]); ++i)
      mine.push_back(random_literal(f.input_types()[k], seed++));
    auto& on_device = devices.emplace_back();
    for (int32_t i : instance_map(mesh, all, axes[k])) on_device.push_back(mine[i]);
  }
  const std::vector<DeviceLiterals> want = evaluate_spmd(f, devices, mesh);
  const auto got = ScheduleInterpreter(schedule).run(instances);
  for (size_t k = 0; k < want.size(); ++k) {
    const std::vector<int32_t> place =
        instance_map(mesh, all, schedule.slots[schedule.outputs[k]].axes);
    for (size_t device = 0; device < place.size(); ++device)
      expect_close(got[k][place[device]], want[k][device],
                   fmt::format("result {} on device {}\n{}", k, device, to_string(schedule)));
  }
  return schedule;
}

const Mesh line = Mesh::abstract({4}, {"x"});
const Mesh grid = Mesh::abstract({2, 4}, {"x", "y"});

TEST(FuseSpmd, ElementwiseRunsOncePerShard) {
  const Function f = trace_on(
      line, {varying(f32({6000}), {"x"}), f32({6000})},
      [](const Arrays& x) { return Arrays{lax::exp(lax::pcast_varying(x[1], "x")) * x[0]}; });
  const Schedule s = check_on(line, f, {{0}, {}});
  // The exponential of the replicated operand is computed once, not once for each device.
  EXPECT_EQ(outline(s),
            "kernel (6000,) lanes; loop () store\nkernel (6000,) lanes; loop () store\n");
  EXPECT_EQ(std::get<KernelStep>(s.steps[0]).axes, AxisList{});
  EXPECT_EQ(std::get<KernelStep>(s.steps[1]).axes, AxisList{0});
}

TEST(FuseSpmd, ReplicatedResultsAreStoredOnce) {
  const Function f = trace_on(line, {varying(f32({6}), {"x"})}, [](const Arrays& x) {
    const Array gathered = lax::all_gather(x[0] * 2, "x", {.tiled = true});
    return Arrays{lax::psum(x[0], "x"), gathered + 1};
  });
  const Schedule s = check_on(line, f, {{0}});
  for (int slot : s.outputs) EXPECT_EQ(s.slots[slot].instances, 1);
}

TEST(FuseSpmd, EveryCollective) {
  const Function f = trace_on(
      grid, {varying(f32({8, 4}), {"x", "y"}), varying(f32({8, 4}), {"x"})}, [](const Arrays& x) {
        const Array z = lax::pcast_varying(x[1], std::vector<std::string>{"y"});
        return Arrays{lax::psum(x[0], "x"),
                      lax::pmax(x[0], std::vector<std::string>{"y", "x"}),
                      lax::psum(x[1], "x"),
                      lax::all_gather(x[0], "y", {.axis = 1, .tiled = true}),
                      lax::psum_scatter(x[0], "y", {.tiled = true}),
                      lax::all_to_all(x[0], "y", 0, 1, {.tiled = true}),
                      lax::ppermute(x[0], "y", {{0, 1}, {1, 2}}),
                      lax::pbroadcast(x[0], "x", 1),
                      lax::psum(z, "y"),
                      lax::psum(x[0], "y", {{0, 2}, {1, 3}}),
                      lax::convert_element_type(lax::axis_index(std::vector<std::string>{"y", "x"}),
                                                float32)};
      });
  const Schedule s = check_on(grid, f, {{0, 1}, {0}});
  std::vector<int64_t> instances;
  for (int slot : s.outputs) instances.push_back(s.slots[slot].instances);
  EXPECT_EQ(instances, (std::vector<int64_t>{4, 1, 1, 2, 8, 8, 8, 4, 2, 8, 8}));
}

TEST(FuseSpmd, PermutedShardsAreStoredOnceForDevicesThatHoldTheSame) {
  const Mesh square = Mesh::abstract({2, 2}, {"x", "y"});
  const auto axes = [&](const AxisNames& over, const std::vector<Dims>& pairs) {
    const Function f = trace_on(square, {varying(f32({6}), {"y"})}, [&](const Arrays& x) {
      return Arrays{
          bind_op1(collective_permute_op, CollectivePermuteParams{square, over, pairs}, {x[0]})};
    });
    const Schedule s = check_on(square, f, {{1}});
    return s.slots[s.outputs[0]].axes;
  };
  EXPECT_EQ(axes({"y"}, {{0, 1}, {1, 0}}), (AxisList{1}));
  EXPECT_EQ(axes({"x", "y"}, {{0, 0}, {1, 1}, {2, 2}, {3, 3}}), (AxisList{1}));
  EXPECT_EQ(axes({"x", "y"}, {{0, 0}, {1, 2}, {2, 1}, {3, 3}}), (AxisList{0}));
  EXPECT_EQ(axes({"x", "y"}, {{0, 0}, {3, 2}, {2, 1}, {1, 3}}), (AxisList{0}));
  // Rank 3 receives zeros, or not the same shard as rank 2.
  EXPECT_EQ(axes({"x", "y"}, {{0, 0}, {1, 2}, {2, 1}}), (AxisList{0, 1}));
  EXPECT_EQ(axes({"x", "y"}, {{0, 0}, {1, 1}, {2, 3}, {3, 2}}), (AxisList{0, 1}));
}

TEST(FuseSpmd, StorageOrderFollowsTheInput) {
  const Function f =
      trace_on(grid, {varying(f32({6}), {"x", "y"}), varying(f32({6}), {"x"})},
               [](const Arrays& x) { return Arrays{x[0] + lax::pcast_varying(x[1], "y")}; });
  const Schedule s = check_on(grid, f, {{1, 0}, {0}});
  EXPECT_EQ(s.slots[s.outputs[0]].axes, (AxisList{1, 0}));
}

TEST(FuseSpmd, ContractedDotSumsInstances) {
  const Function f =
      trace_on(line, {varying(f32({6, 5}), {"x"}), varying(f32({5, 7}), {"x"}), f32({7})},
               [](const Arrays& x) {
                 const Array y = lax::psum(lax::dot(x[0], x[1]), "x") +
                                 lax::broadcast_in_dim(x[2], {6, 7}, {1});
                 return Arrays{lax::max(y, lax::full_like(y, 0))};
               });
  const Schedule s = check_on(line, f, {{0}, {0}, {}});
  EXPECT_EQ(outline(s), "dot bias relu reduced\n");
  EXPECT_EQ(s.slots[s.outputs[0]].instances, 1);
}

TEST(FuseSpmd, ReplicatedProductIsNotSummed) {
  // The psum of the same product on four devices is four times the product.
  const Function f = trace_on(line, {f32({6, 50}), f32({50, 7})}, [](const Arrays& x) {
    return Arrays{lax::psum(lax::dot(x[0], x[1]), "x")};
  });
  EXPECT_EQ(outline(check_on(line, f, {{}, {}})), "dot\ncollective\n");
}

}  // namespace
}  // namespace tessera::fusion_testing::spmd_test
