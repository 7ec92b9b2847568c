#include "tessera/numpy/processes.h"

#include "run.h"
#include "tessera/compile/jit.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tests/errors.h"

namespace tessera::processes_test {
namespace {

using test::error_of;
using ::testing::HasSubstr;

// A single process behaves as in JAX. tests/cluster/data_test.cc tests several processes.
class ProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override { initialize({.devices = "cpu:8"}); }
  void TearDown() override { initialize({.devices = "cpu:1"}); }
};

TEST_F(ProcessesTest, GatherOfOneProcess) {
  const Array x = reshape(arange(6.0f), {2, 3});
  const Array stacked = process_allgather(x);
  EXPECT_EQ(stacked.to_host(), x.to_host().reshaped({1, 2, 3}));
  EXPECT_EQ(process_allgather(x, true).to_host(), x.to_host());
  // The result is np.expand_dims of a scalar, or the scalar.
  EXPECT_EQ(process_allgather(3.5f).shape(), (Shape{1}));
  EXPECT_EQ(process_allgather(3.5f, true).shape(), Shape{});
  EXPECT_FALSE(process_allgather(3.5f).weak_type());
  const Array sharded =
      device_put(arange(16.0f), NamedSharding(Mesh(create_device_mesh({8}), {"x"}), P("x")));
  EXPECT_TRUE(is_fully_addressable(sharded));
  const std::vector<Array> tree = process_allgather(std::vector<Array>{sharded, x}, true);
  EXPECT_EQ(tree[0].to_host(), sharded.to_host());
  EXPECT_EQ(tree[1].to_host(), x.to_host());
}

TEST_F(ProcessesTest, BroadcastSyncAndEqualOfOneProcess) {
  struct Tree {
    Array a, b;
  };
  const Tree tree = broadcast_one_to_all(Tree{arange(4.0f), 2});
  EXPECT_EQ(tree.a.to_host(), arange(4.0f).to_host());
  EXPECT_EQ(tree.b.item<int>(), 2);
  EXPECT_EQ(broadcast_one_to_all(arange(4.0f), true).to_host(), arange(4.0f).to_host());
  EXPECT_THAT(error_of([] { broadcast_one_to_all(arange(4.0f), false); }),
              HasSubstr("[broadcast_one_to_all] expected one process to be the source, got none"));
  sync_global_devices("here");
  assert_equal(tree, "equal to itself");
}

TEST_F(ProcessesTest, TracedArraysHaveNoData) {
  const auto traced = [](auto f) {
    return error_of([&] {
      jit([&](const Array& x) {
        f(x);
        return x;
      })(arange(2.0f));
    });
  };
  EXPECT_THAT(traced([](const Array& x) { process_allgather(x); }),
              HasSubstr("[process_allgather] expected the array to have data, got the traced "
                        "float32[2]; call it outside of jit"));
  EXPECT_THAT(traced([](const Array& x) { broadcast_one_to_all(std::vector<Array>{x}); }),
              HasSubstr("[broadcast_one_to_all] expected leaf '[0]' to have data"));
  EXPECT_THAT(traced([](const Array& x) { assert_equal(x); }),
              HasSubstr("[assert_equal] expected the array to have data"));
  const Sharding place = SingleDeviceSharding(devices()[0]);
  EXPECT_THAT(traced([&](const Array& x) { make_array_from_process_local_data(place, x); }),
              HasSubstr("[make_array_from_process_local_data] expected data, got the traced"));
}

TEST_F(ProcessesTest, LocalDataOfOneProcessIsAllOfIt) {
  const NamedSharding rows(Mesh(create_device_mesh({8}), {"x"}), P("x"));
  const Array x = reshape(arange(32.0f), {16, 2});
  for (const Array& made : {make_array_from_process_local_data(rows, x),
                            make_array_from_process_local_data(rows, x, Shape{16, 2})}) {
    EXPECT_EQ(made.sharding(), Sharding(rows));
    EXPECT_EQ(made.to_host(), x.to_host());
  }
  const std::vector<Array> tree =
      make_array_from_process_local_data(rows, std::vector<Array>{x, arange(8.0f)});
  EXPECT_EQ(tree[1].sharding(), Sharding(rows));
  EXPECT_THAT(
      error_of([&] {
        make_array_from_process_local_data(rows, x, Shape{32, 2});
      }),
      HasSubstr("[make_array_from_process_local_data] expected a global shape equal to that "
                "of the data, (16, 2), all of which one process has, got (32, 2)"));
  // An emulated slice is not a process.
  initialize({.devices = "tpu_v4:2x2x1*2"});
  const NamedSharding slices(Mesh(devices(), {"x"}), P("x"));
  EXPECT_EQ(process_local_rows(slices, 24), (std::vector<IndexRange>{{0, 24}}));
  EXPECT_EQ(make_array_from_process_local_data(slices, x).shape(), (Shape{16, 2}));
  EXPECT_TRUE(is_fully_addressable(make_array_from_process_local_data(slices, x)));
}

}  // namespace
}  // namespace tessera::processes_test
