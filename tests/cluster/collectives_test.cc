// Tests every collective over every subset of the axes of several meshes, also if the devices of a
// process are no box of the mesh. The results must have the bits of a run with one process.
#include "tessera/ir/format.h"
#include "tests/cluster/recorded.h"

namespace tessera::collectives_test {
namespace {

using Collective = std::function<Array(const Array&)>;
struct Named {
  std::string name;
  Collective f;
};

// Orders of the devices 0 to 7. With two processes of four devices, or four of two, the devices of
// a process are a box of every mesh, of some meshes, and of none.
const std::vector<std::vector<int64_t>>& orders() {
  static const auto& list = *new std::vector<std::vector<int64_t>>{
      {0, 1, 2, 3, 4, 5, 6, 7}, {0, 4, 1, 5, 2, 6, 3, 7}, {5, 0, 3, 6, 1, 2, 7, 4}};
  return list;
}
const std::vector<Shape>& sizes() {
  static const auto& list = *new std::vector<Shape>{{8}, {2, 4}, {4, 2}, {2, 2, 2}};
  return list;
}

// Returns lists of axes: all subsets, and those of several axes also in reverse order.
std::vector<std::vector<std::string>> axis_lists(const Mesh& mesh) {
  std::vector<std::vector<std::string>> out;
  for (int64_t bits = 1; bits < int64_t{1} << mesh.rank(); ++bits) {
    std::vector<std::string> axes;
    for (int64_t a = 0; a < mesh.rank(); ++a)
      if (bits >> a & 1) axes.push_back(mesh.axis_names()[static_cast<size_t>(a)]);
    out.push_back(axes);
    if (axes.size() < 2) continue;
    std::reverse(axes.begin(), axes.end());
    out.push_back(axes);
  }
  return out;
}

AxisGroups pairs_of(int size) {
  AxisGroups out;
  for (int i = 0; i < size / 2; ++i) out.push_back({i, size - 1 - i});
  return out;
}

// Returns reductions of x, (8, 8) on each device.
std::vector<Named> reductions(const std::vector<std::string>& axes, int size) {
  const AxisArg a(axes);
  std::vector<Named> out{
      {"psum", [=](const Array& x) { return psum(x, a); }},
      {"pmean", [=](const Array& x) { return pmean(x, a); }},
      {"psum_scatter0", [=](const Array& x) { return psum_scatter(x, a, {.tiled = true}); }},
      {"psum_scatter1",
       [=](const Array& x) { return psum_scatter(x, a, {.scatter_dimension = 1, .tiled = true}); }},
  };
  if (size < 4) return out;
  const AxisGroups pairs = pairs_of(size), uneven{{0}, {3, 1, 2}};
  out.push_back({"psum_pairs", [=](const Array& x) { return psum(x, a, pairs); }});
  out.push_back({"psum_scatter_pairs", [=](const Array& x) {
                   return psum_scatter(x, a, {.tiled = true, .groups = pairs});
                 }});
  if (size == 4) out.push_back({"psum_uneven", [=](const Array& x) { return psum(x, a, uneven); }});
  return out;
}
std::vector<Named> orderings(const std::vector<std::string>& axes, int size) {
  const AxisArg a(axes);
  std::vector<Named> out{{"pmax", [=](const Array& x) { return pmax(x, a); }},
                         {"pmin", [=](const Array& x) { return pmin(x, a); }}};
  if (size >= 4)
    out.push_back({"pmax_pairs", [=](const Array& x) { return pmax(x, a, pairs_of(size)); }});
  return out;
}
std::vector<Named> moves(const std::vector<std::string>& axes, int size) {
  const AxisArg a(axes);
  std::vector<std::pair<int, int>> ring, some;
  std::vector<int> shuffled;
  for (int i = 0; i < size; ++i) {
    ring.emplace_back(i, (i + 1) % size);
    if (i % 3 != 1) some.emplace_back(i, size - 1 - i);
    shuffled.push_back((i * 3 + 1) % size);
  }
  std::vector<Named> out{
      {"all_gather", [=](const Array& x) { return all_gather(x, a); }},
      {"all_gather0", [=](const Array& x) { return all_gather(x, a, {.tiled = true}); }},
      {"all_gather1", [=](const Array& x) { return all_gather(x, a, {.axis = 1, .tiled = true}); }},
      {"all_gather_invariant",
       [=](const Array& x) { return all_gather(x, a, {.tiled = true, .invariant = true}); }},
      {"all_to_all01", [=](const Array& x) { return all_to_all(x, a, 0, 1, {.tiled = true}); }},
      {"all_to_all10", [=](const Array& x) { return all_to_all(x, a, 1, 0, {.tiled = true}); }},
      {"all_to_all00", [=](const Array& x) { return all_to_all(x, a, 0, 0, {.tiled = true}); }},
      {"ppermute", [=](const Array& x) { return ppermute(x, a, ring); }},
      {"ppermute_some", [=](const Array& x) { return ppermute(x, a, some); }},
      {"ppermute_one",
       [=](const Array& x) {
         return ppermute(x, a, {{size - 1, 0}});
       }},
      {"pshuffle", [=](const Array& x) { return pshuffle(x, a, shuffled); }},
      {"pbroadcast", [=](const Array& x) { return pbroadcast(x, a, size - 1); }},
  };
  if (size < 4) return out;
  const AxisGroups pairs = pairs_of(size);
  out.push_back({"all_gather_pairs", [=](const Array& x) {
                   return all_gather(x, a, {.axis = 1, .tiled = true, .groups = pairs});
                 }});
  out.push_back({"all_to_all_pairs", [=](const Array& x) {
                   return all_to_all(x, a, 0, 1, {.tiled = true, .groups = pairs});
                 }});
  return out;
}

class Collectives : public ClusterTest {
 protected:
  // Runs all collectives of the list in one program. x is sharded along dimension 0 over all axes.
  // Results are those of each device, one after the other.
  void check(const std::string& name, const Mesh& mesh, const std::vector<Named>& list, DType dtype,
             const Shape& local = {8, 8}) {
    const PartitionSpec cut = P(joint(mesh.axis_names()));
    Shape global = local;
    global[0] *= mesh.size();
    const auto f = jit(shard_map(
        [&](const Array& x) {
          std::vector<Array> out;
          for (const Named& c : list) out.push_back(expand_dims(c.f(x), {0}));
          return out;
        },
        {.mesh = mesh, .in_specs = {cut}, .out_specs = {cut}}));
    const std::vector<Array> got = f(placed(dtype, global, 1, NamedSharding(mesh, cut)));
    ASSERT_EQ(got.size(), list.size());
    for (size_t k = 0; k < list.size(); ++k) same(name + ' ' + list[k].name, got[k]);
  }
};

class OnMeshes : public Collectives,
                 public testing::WithParamInterface<std::pair<size_t, size_t>> {};

TEST_P(OnMeshes, OverEverySubsetOfAxes) {
  const auto [shape, order] = GetParam();
  const Mesh m = mesh(sizes()[shape], orders()[order]);
  for (const std::vector<std::string>& axes : axis_lists(m)) {
    int size = 1;
    for (const std::string& axis : axes) size *= static_cast<int>(m.axis_size(axis));
    std::vector<Named> list = reductions(axes, size);
    for (const auto& more : {orderings(axes, size), moves(axes, size)})
      list.insert(list.end(), more.begin(), more.end());
    check(fmt::format("{}", fmt::join(axes, ",")), m, list, float32);
  }
}
std::vector<std::pair<size_t, size_t>> all_meshes() {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t shape = 0; shape < sizes().size(); ++shape)
    for (size_t order = 0; order < orders().size(); ++order) out.emplace_back(shape, order);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Meshes, OnMeshes, testing::ValuesIn(all_meshes()));

TEST_F(Collectives, OfEveryDtype) {
  const Mesh m = mesh({2, 4}, orders()[2]);
  for (DType dtype : {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16,
                      bfloat16, float32, float64, complex64, complex128}) {
    std::vector<Named> list = moves({"y"}, 4);
    for (const auto& axes : {std::vector<std::string>{"x"}, {"y"}, {"x", "y"}}) {
      const int size = axes.size() == 2 ? 8 : axes[0] == "x" ? 2 : 4;
      if (dtype != bool_)
        for (Named& n : reductions(axes, size))
          list.push_back({n.name + fmt::format("{}", size), n.f});
      if (!is_complex(dtype))
        for (Named& n : orderings(axes, size))
          list.push_back({n.name + fmt::format("{}", size), n.f});
    }
    if (dtype == bool_)
      list.push_back({"psum", [](const Array& x) { return psum(x, {"x", "y"}); }});
    check(fmt::format("{}", dtype), m, list, dtype);
  }
}

TEST_F(Collectives, OfArraysWithoutElementsAndOfNumbers) {
  const Mesh m = mesh({4, 2}, orders()[1]);
  for (const Shape& local : {Shape{8, 0}, Shape{0, 8}}) {
    std::vector<Named> list = reductions({"x"}, 4);
    for (const auto& more : {orderings({"x"}, 4), moves({"x"}, 4)})
      list.insert(list.end(), more.begin(), more.end());
    check(fmt::format("{}", local), m, list, float32, local);
  }
  const std::vector<std::pair<int, int>> ring{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  const std::vector<Named> scalars{
      {"psum",
       [](const Array& x) {
         return psum(sum(x), {"x", "y"});
       }},
      {"pmax", [](const Array& x) { return pmax(sum(x), "x"); }},
      {"all_gather", [](const Array& x) { return all_gather(sum(x), "x"); }},
      {"ppermute", [&](const Array& x) { return ppermute(sum(x), "x", ring); }},
      {"axis_index",
       [](const Array& x) {
         return axis_index({"y", "x"}) + 0 * sum(x);
       }},
      {"psum_of_one", [](const Array&) { return psum(Array(1), "x"); }}};
  check("scalar", m, scalars, float32);
}

// Messages so large that they are sent without a copy, and sums that are computed in parts.
TEST_F(Collectives, OfLargeArrays) {
  for (size_t order : {size_t{0}, size_t{2}}) {
    const Mesh m = mesh({2, 4}, orders()[order]);
    for (DType dtype : {float32, bfloat16}) {
      const Shape local = dtype == float32 ? Shape{1024, 1032} : Shape{256, 264};
      const std::vector<Named> list{
          {"psum",
           [](const Array& x) {
             return psum(x, {"x", "y"});
           }},
          {"psum_y", [](const Array& x) { return psum(x, "y"); }},
          {"psum_scatter0", [](const Array& x) { return psum_scatter(x, "y", {.tiled = true}); }},
          {"psum_scatter1",
           [](const Array& x) {
             return psum_scatter(x, {"x", "y"}, {.scatter_dimension = 1, .tiled = true});
           }},
          {"all_gather0", [](const Array& x) { return all_gather(x, "x", {.tiled = true}); }},
          {"all_gather1",
           [](const Array& x) { return all_gather(x, "x", {.axis = 1, .tiled = true}); }},
          {"all_to_all01",
           [](const Array& x) { return all_to_all(x, "y", 0, 1, {.tiled = true}); }},
          {"all_to_all10",
           [](const Array& x) {
             return all_to_all(x, {"x", "y"}, 1, 0, {.tiled = true});
           }},
          {"ppermute",
           [](const Array& x) {
             return ppermute(x, "y", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
           }},
          {"pbroadcast", [](const Array& x) {
             return pbroadcast(x, {"x", "y"}, 5);
           }}};
      check(fmt::format("{} {}", dtype, order), m, list, dtype, local);
    }
  }
}

// Results with a type that is the same on all devices are stored once in each process.
TEST_F(Collectives, ResultsThatAreTheSameEverywhere) {
  for (const std::vector<int64_t>& order : orders()) {
    const Mesh m = mesh({2, 4}, order);
    const std::string which = fmt::format("{}", fmt::join(order, ""));
    const Array x = placed(float32, {16, 40}, 7, NamedSharding(m, P("x", "y")));
    const auto f = jit(shard_map(
        [](const Array& v) {
          return std::tuple(psum(v, "x"), psum(v, "y"), psum(v, {"x", "y"}),
                            all_gather(v, "y", {.tiled = true, .invariant = true}));
        },
        {.mesh = m, .in_specs = {P("x", "y")}, .out_specs = {P(None, "y"), P("x"), P(), P("x")}}));
    const auto [a, b, c, d] = f(x);
    same("x" + which, a), same("y" + which, b), same("xy" + which, c), same("gather" + which, d);
  }
}

TEST_F(Collectives, RaggedAllToAll) {
  for (const std::vector<int64_t>& order : orders()) {
    const std::string which = fmt::format("{}", fmt::join(order, ""));
    for (DType index : {int32, int64}) {
      const Mesh m = mesh({2, 4}, order);
      // Device (x, y) sends 1 + y rows to each device j along "y", from its row j on. They arrive
      // from row 1 + 3 y on.
      const auto f = jit(shard_map(
          [&](const Array& v) {
            const Array y = astype(axis_index("y"), index), ones = astype(arange(4), index) * 0;
            const Array sizes = ones + y, from = astype(arange(4), index), to = ones + 3 * y;
            const Array received = astype(arange(4), index) + 0 * y;
            const Array start = full({12, 5}, -1.f) + 0 * sum(v);
            return ragged_all_to_all(v, start, from, sizes, to, received, "y");
          },
          {.mesh = m, .in_specs = {P(joint("x", "y"))}, .out_specs = {P(joint("x", "y"))}}));
      same(fmt::format("{} {}", which, index),
           f(placed(float32, {64, 5}, 3, NamedSharding(m, P(joint("x", "y"))))));
    }
  }
}

// The rows do not vary along the other axis, and their sizes do.
TEST_F(Collectives, RaggedAllToAllOfReplicatedRows) {
  for (const std::vector<int64_t>& order : orders()) {
    const Mesh m = mesh({4, 2}, order);
    const auto f = jit(shard_map(
        [&](const Array& v) {
          const Array y = axis_index("y"), zero = arange(4) * 0;
          const Array start = full({8, 3}, -1.f) + 0 * sum(v);
          return ragged_all_to_all(v, start, arange(4), zero + y + 1, zero + 2 * axis_index("x"),
                                   zero + y + 1, "x");
        },
        {.mesh = m, .in_specs = {P("x")}, .out_specs = {P(joint("x", "y"))}}));
    same(fmt::format("{}", fmt::join(order, "")),
         f(placed(float32, {32, 3}, 3, NamedSharding(m, P("x")))));
  }
}

}  // namespace
}  // namespace tessera::collectives_test
