// Resharding: every pair of shardings of rank <= 3 over three meshes, even and uneven.
#include "tessera/spmd/reshard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tessera/ir/axis_env.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::reshard_test {

using namespace spmd;

namespace {

using Kind = ReshardStep::Kind;

// Returns all shardings by some of the mesh's axes, in any order, on `rank` dimensions.
std::vector<DimAtoms> all_shardings(const AtomMesh& mesh, int64_t rank) {
  std::vector<DimAtoms> out{DimAtoms(rank)};
  // Appends one unused axis to a dimension that is not before the last one appended to, so that
  // each sharding occurs once.
  std::function<void(const DimAtoms&, size_t)> grow = [&](const DimAtoms& dims, size_t first) {
    for (size_t d = first; d < dims.size(); ++d)
      for (int a = 0; a < mesh.num_atoms(); ++a) {
        if (used_atoms(dims) & atom_bit(static_cast<Atom>(a))) continue;
        DimAtoms next = dims;
        next[d].push_back(static_cast<Atom>(a));
        out.push_back(next);
        grow(next, d);
      }
  };
  grow(DimAtoms(rank), 0);
  return out;
}

int64_t bytes_of(const std::vector<ReshardStep>& plan) {
  int64_t n = 0;
  for (const ReshardStep& step : plan) n += step.bytes;
  return n;
}

// Returns the bytes that each device receives if every dimension that changes is gathered.
int64_t gather_bytes(const AtomMesh& mesh, const Shape& shape, const DimAtoms& from,
                     const DimAtoms& to) {
  DimAtoms now = from;
  int64_t n = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    if (is_prefix(from[d], to[d]) && (from[d].empty() || shape[d] % mesh.size(to[d]) == 0))
      continue;
    const int64_t before = local_shape(mesh, shape, now).elements();
    n += 4 * before * (mesh.size(now[d]) - 1);
    now[d].clear();
  }
  return n;
}

// Returns the index of the global element at each position of each device's shard, and -1 in the
// padding.
DeviceLiterals shards_of_iota(const AtomMesh& mesh, const Shape& shape, const DimAtoms& dims) {
  const Shape local = local_shape(mesh, shape, dims);
  const Dims strides = row_major_strides(shape);
  DeviceLiterals out;
  for (int64_t device = 0; device < mesh.mesh().size(); ++device) {
    std::vector<int64_t> coordinate(mesh.num_atoms());
    int64_t rest = device;
    for (int a = mesh.num_atoms(); a-- > 0;) {
      coordinate[a] = rest % mesh.size(static_cast<Atom>(a));
      rest /= mesh.size(static_cast<Atom>(a));
    }
    Dims start(shape.size(), 0);
    for (size_t d = 0; d < shape.size(); ++d) {
      for (Atom a : dims[d]) start[d] = start[d] * mesh.size(a) + coordinate[a];
      start[d] *= local[d];
    }
    Literal x(int32, local);
    auto* p = reinterpret_cast<int32_t*>(x.mutable_raw());
    for (int64_t i = 0; i < local.elements(); ++i) {
      int64_t at = 0, left = i;
      bool inside = true;
      for (size_t d = shape.size(); d-- > 0;) {
        const int64_t index = start[d] + left % local[d];
        left /= local[d];
        inside = inside && index < shape[d];
        at += index * strides[d];
      }
      p[i] = inside ? static_cast<int32_t>(at) : -1;
    }
    out.push_back(std::move(x));
  }
  return out;
}

DeviceLiterals apply(const AtomMesh& mesh, const Shape& shape, const DimAtoms& from,
                     const DimAtoms& to, const std::vector<ReshardStep>& plan,
                     const DeviceLiterals& input) {
  const AxisEnv::Scope scope(mesh.mesh(), mesh.mesh().axis_names(), /*check_vma=*/false);
  auto type = [&](const DimAtoms& dims) {
    Type t{int32, local_shape(mesh, shape, dims)};
    t.varying = mesh.axis_names(mesh.ordered(used_atoms(dims)));
    std::sort(t.varying.begin(), t.varying.end());
    return t;
  };
  const Type in = type(from), out = type(to);
  const TracedFunction traced = trace_function(
      [&](const std::vector<Array>& x) {
        return std::vector<Array>{apply_reshard(mesh, shape, plan, x[0])};
      },
      std::span(&in, 1));
  EXPECT_EQ(traced.function.output_types()[0].shape, out.shape);
  return evaluate_spmd(traced.function, {input}, mesh.mesh())[0];
}

// Compares the elements that both hold. Elements beyond the array's end may have any value.
void expect_same_shards(const DeviceLiterals& got, const DeviceLiterals& want,
                        const std::string& what) {
  for (size_t device = 0; device < want.size(); ++device) {
    ASSERT_EQ(got[device].shape(), want[device].shape()) << what;
    const auto* g = reinterpret_cast<const int32_t*>(got[device].raw());
    const auto* w = reinterpret_cast<const int32_t*>(want[device].raw());
    for (int64_t i = 0; i < want[device].shape().elements(); ++i)
      if (w[i] >= 0) {
        ASSERT_EQ(g[i], w[i]) << what << ", device " << device << ", element " << i;
      }
  }
}

std::string plan_text(const AtomMesh& mesh, const std::vector<ReshardStep>& plan) {
  std::string out;
  for (const ReshardStep& step : plan) out += to_string(mesh, step) + "; ";
  return out;
}

bool is_whole(const DimAtoms& dims) { return used_atoms(dims) == 0; }

// Returns the bytes that some device must receive under any plan: the most that any device lacks.
int64_t missing_bytes(const DeviceLiterals& from, const DeviceLiterals& to) {
  int64_t most = 0;
  for (size_t device = 0; device < to.size(); ++device) {
    const auto* f = reinterpret_cast<const int32_t*>(from[device].raw());
    const auto* t = reinterpret_cast<const int32_t*>(to[device].raw());
    const std::set<int32_t> have(f, f + from[device].shape().elements());
    int64_t lacks = 0;
    for (int64_t i = 0; i < to[device].shape().elements(); ++i) lacks += !have.contains(t[i]);
    most = std::max(most, 4 * lacks);
  }
  return most;
}

// Checks the plan for an array of the same proportions that is so large that the cost of a step
// does not count: nothing is replicated in between, and each device receives little more than it
// lacks.
void expect_cheap(const AtomMesh& mesh, Shape shape, const DimAtoms& from, const DimAtoms& to,
                  int64_t missing) {
  for (int64_t& n : shape) n *= 64, missing *= 64;
  const std::vector<ReshardStep> plan = plan_reshard(mesh, shape, int32, from, to);
  const std::string what =
      fmt::format("{} to {}: {}", *mesh.sharding(from), *mesh.sharding(to), plan_text(mesh, plan));
  for (const ReshardStep& step : plan)
    EXPECT_TRUE(&step == &plan.back() || is_whole(from) || !is_whole(step.after))
        << what << " replicates on the way";
  EXPECT_LE(static_cast<double>(bytes_of(plan)), 2.4 * static_cast<double>(missing)) << what;
}

void test_all_pairs(const Shape& mesh_shape, const Shape& shape, size_t stride) {
  std::vector<std::string> names{"x", "y", "z"};
  names.resize(mesh_shape.size());
  const AtomMesh mesh(Mesh::abstract(mesh_shape, names), AtomMesh::Atoms::kAxes);
  const std::vector<DimAtoms> all = all_shardings(mesh, shape.rank());
  std::vector<DeviceLiterals> shards;
  for (const DimAtoms& dims : all) shards.push_back(shards_of_iota(mesh, shape, dims));
  bool even = shape.elements() > 0;
  for (int64_t n : shape) even = even && n % 8 == 0;
  size_t pair = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      const std::vector<ReshardStep> plan = plan_reshard(mesh, shape, int32, all[i], all[j]);
      const std::string what = fmt::format("{} of {} to {}: {}", shape, *mesh.sharding(all[i]),
                                           *mesh.sharding(all[j]), plan_text(mesh, plan));
      if (i == j) {
        EXPECT_TRUE(plan.empty()) << what;
        continue;
      }
      // Each step starts with the sharding that the one before it ends with.
      DimAtoms now = all[i];
      for (const ReshardStep& step : plan) {
        ASSERT_EQ(step.before, now) << what;
        now = step.after;
      }
      ASSERT_EQ(now, all[j]) << what;
      const int64_t gathered = gather_bytes(mesh, shape, all[i], all[j]);
      EXPECT_LE(bytes_of(plan), gathered + 512 * static_cast<int64_t>(2 * shape.size())) << what;
      if (even) expect_cheap(mesh, shape, all[i], all[j], missing_bytes(shards[i], shards[j]));
      if (pair++ % stride == 0)
        expect_same_shards(apply(mesh, shape, all[i], all[j], plan, shards[i]), shards[j], what);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Reshard, AllPairsOfRank1) {
  for (const Shape& mesh : {Shape{8}, Shape{2, 4}, Shape{2, 2, 2}})
    for (const int64_t n : {64, 10, 7, 1, 0}) test_all_pairs(mesh, {n}, 1);
}
TEST(Reshard, AllPairsOfRank2) {
  for (const Shape& mesh : {Shape{8}, Shape{2, 4}}) {
    for (const Shape& shape : {Shape{16, 8}, Shape{10, 16}, Shape{10, 7}})
      test_all_pairs(mesh, shape, 1);
  }
  test_all_pairs({2, 2, 2}, {16, 8}, 3);
  test_all_pairs({2, 2, 2}, {10, 8}, 7);
  test_all_pairs({2, 2, 2}, {10, 7}, 7);
}
TEST(Reshard, AllPairsOfRank3) {
  for (const Shape& mesh : {Shape{8}, Shape{2, 4}}) {
    test_all_pairs(mesh, {8, 16, 8}, 1);
    test_all_pairs(mesh, {3, 10, 8}, 3);
  }
  test_all_pairs({2, 2, 2}, {8, 16, 8}, 23);
  test_all_pairs({2, 2, 2}, {3, 10, 8}, 41);
}

std::string plan(const Shape& mesh_shape, const Shape& shape, const DimAtoms& from,
                 const DimAtoms& to) {
  std::vector<std::string> names{"x", "y", "z"};
  names.resize(mesh_shape.size());
  const AtomMesh mesh(Mesh::abstract(mesh_shape, names), AtomMesh::Atoms::kAxes);
  return plan_text(mesh, plan_reshard(mesh, shape, float32, from, to));
}

TEST(Reshard, TakesTheCheapestPath) {
  const AtomList none, x{0}, y{1}, xy{0, 1};
  const Shape large{1024, 1024};
  EXPECT_EQ(plan({2, 4}, large, {none, none}, {x, y}), "slice dim 1 by y; slice dim 0 by x; ");
  EXPECT_EQ(plan({2, 4}, large, {x, none}, {none, x}), "all_to_all x from dim 0 to dim 1; ");
  EXPECT_EQ(plan({2, 4}, large, {xy, none}, {none, xy}), "all_to_all x,y from dim 0 to dim 1; ");
  EXPECT_EQ(plan({2, 4}, large, {x, none}, {y, none}),
            "slice dim 0 by y; collective_permute; all_gather dim 0 over x; ");
  EXPECT_EQ(plan({4, 4}, large, {x, none}, {y, none}), "collective_permute; ");
  EXPECT_EQ(plan({2, 4}, large, {xy, none}, {x, none}), "all_gather dim 0 over y; ");
  EXPECT_EQ(plan({4, 4}, large, {x, y}, {y, x}), "collective_permute; ");
}
// 10 rows on 8 devices are 5 shards of 2 and 3 of padding.
TEST(Reshard, MovesUnevenShardsWhole) {
  const AtomList none, x{0}, y{1}, xy{0, 1};
  EXPECT_EQ(plan({8}, {10, 1000}, {x, none}, {none, x}), "all_to_all x from dim 0 to dim 1; ");
  EXPECT_EQ(plan({8, 8}, {10, 1000}, {x, none}, {y, none}), "collective_permute; ");
  EXPECT_EQ(plan({2, 4}, {10, 1000}, {xy, none}, {x, none}),
            "all_to_all x,y from dim 0 to dim 1; all_gather dim 1 over y; all_to_all x from dim 1 "
            "to dim 0; ");
  EXPECT_EQ(plan({2, 4}, {15, 1000}, {xy, none}, {x, none}), "all_gather dim 0 over y; ");
}
// On a mesh of many axes each axis moves. The plan is found before the search gives up and gathers.
TEST(Reshard, PlansOverManyAxesWithinTheBoundOfTheSearch) {
  const AtomMesh mesh(Mesh::abstract({2, 2, 2, 2, 2, 2}, {"a", "b", "c", "d", "e", "f"}),
                      AtomMesh::Atoms::kAxes);
  const std::vector<DimAtoms> ends{{{0, 1}, {2, 3}, {4, 5}},
                                   {{5, 4}, {1, 0}, {3, 2}},
                                   {{}, {5, 3, 1}, {4, 2, 0}},
                                   {{5, 4, 3, 2, 1, 0}, {}, {}},
                                   {{}, {}, {0, 2, 4, 1, 3, 5}}};
  const Shape shape{512, 512, 512};
  for (const DimAtoms& from : ends)
    for (const DimAtoms& to : ends) {
      const std::vector<ReshardStep> plan = plan_reshard(mesh, shape, float32, from, to);
      const int64_t whole = shape.elements() * 4;
      if (from != to) {
        EXPECT_LT(bytes_of(plan), whole / 64 * 4) << plan_text(mesh, plan);
      }
    }
}

}  // namespace
}  // namespace tessera::reshard_test
