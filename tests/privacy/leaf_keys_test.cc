#include "tessera/privacy/noise/leaf_keys.h"

#include <set>

#include "../errors.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/shard_map.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/collectives.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"

namespace tessera::leaf_keys_test {
namespace {

using namespace privacy::internal;
using tessera::test::expect_error;

TEST(LeafKeys, AreThoseOfJaxPrivacy) {
  const random::Key key = random::key(3);
  const auto [next, sub] = random::split<2>(key);
  const StepKeys keys = step_keys("op", key, {ones(2), ones(3), ones(4)});
  EXPECT_EQ(keys.next.data.to_host(), next.data.to_host());
  const random::Key all = random::split(sub, 3);
  ASSERT_EQ(keys.leaves.size(), 3u);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(keys.leaves[static_cast<size_t>(i)].data.to_host(), all[i].data.to_host());
  EXPECT_TRUE(leaf_keys("op", key, {}).empty());
}

class LeafKeysInShardMap : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:8"}); }
  static void TearDownTestSuite() { initialize({.devices = "cpu:1"}); }

  // Returns, as rows, the key of a leaf that is sharded by `spec`, on each device of 2 x 4.
  std::vector<std::vector<uint32_t>> keys(const PartitionSpec& spec, bool check_vma = true) {
    const Mesh mesh(create_device_mesh({2, 4}), {"x", "y"});
    const auto f = shard_map(
        [](const Array& x) {
          const Array own = leaf_keys("op", random::key(0), {x})[0].data;
          return pcast_varying(reshape(own, {1, 1, 2}), std::vector<std::string>{"x", "y"});
        },
        {.mesh = mesh,
         .in_specs = {spec},
         .out_specs = {P("x", "y", None)},
         .check_vma = check_vma});
    const std::vector<uint32_t> words = to_vector<uint32_t>(jit(f)(ones(Shape{8, 8})));
    std::vector<std::vector<uint32_t>> out;
    for (size_t i = 0; i < words.size(); i += 2) out.push_back({words[i], words[i + 1]});
    return out;
  }
};

TEST_F(LeafKeysInShardMap, DifferWhereTheLeafVaries) {
  const auto both = keys(P("x", "y"));
  EXPECT_EQ(std::set(both.begin(), both.end()).size(), 8u);
  const auto one = keys(P("y", None));
  EXPECT_EQ(std::set(one.begin(), one.end()).size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(one[i], one[i + 4]);
  const auto none = keys(P());
  EXPECT_EQ(std::set(none.begin(), none.end()).size(), 1u);
}

TEST_F(LeafKeysInShardMap, NeedTheTypesOfWhatVaries) {
  expect_error([&] { keys(P("x", "y"), false); },
               "[op] expected a shard_map with check_vma, got one without");
}

TEST(LeafKeys, ErrorsOfLeavesAndKeys) {
  expect_error([] { expect_real("op", {ones(2, int32)}); },
               "[op] expected real floating-point leaves, got int32[2]");
  expect_error([] { checked_key("op", random::split(random::key(0), 3)); },
               "[op] expected a single key, got an array of keys of shape (3,)");
  expect_error([] { jit([](const Array& x) { return x + key_of_entropy("op").data; })(ones(2)); },
               "[op] expected a key: one drawn inside a trace would be a constant");
}

TEST(LeafKeys, EntropyIsFresh) {
  EXPECT_NE(checked_key("op", std::nullopt).data.to_host(),
            checked_key("op", std::nullopt).data.to_host());
}

// Both words of a key are random: no two of 32 keys share a word, except once in four million runs.
TEST(LeafKeys, EntropyHas64Bits) {
  std::set<uint32_t> words[2];
  for (int i = 0; i < 32; ++i) {
    const std::vector<uint32_t> key = to_vector<uint32_t>(key_of_entropy("op").data);
    for (size_t w = 0; w < 2; ++w) words[w].insert(key[w]);
  }
  EXPECT_EQ(words[0].size(), 32u);
  EXPECT_EQ(words[1].size(), 32u);
}

}  // namespace
}  // namespace tessera::leaf_keys_test
