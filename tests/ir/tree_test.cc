#include "tessera/base/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/ir/array.h"

namespace tessera::tree_test {

using namespace ir;

namespace {

using testing::ElementsAre;

struct Layer {
  Array kernel, bias;
  bool use_bias = true;
};
class Listing {
 public:
  Layer inner;
  std::optional<Array> scale;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.inner, self.scale);
  }
};
struct ListingAtRunTime {
  Array first, second;
  template <class Self>
  static auto fields(Self& self) {
    return std::tie(self.first, self.second);
  }
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Listing> heads;
  std::pair<Array, ListingAtRunTime> rest;
};

std::vector<std::string> paths(const auto& tree) {
  std::vector<std::string> out;
  tree::for_each_leaf_with_path(
      tree, [&](const Array&, const std::string& path) { out.push_back(path); });
  return out;
}

TEST(Tree, PathsSayTheNamesOfFields) {
  Model model{.layers = {{}, {}}, .heads = {{"left", {}}}};
  EXPECT_THAT(paths(model),
              ElementsAre(".layers[0].kernel", ".layers[0].bias", ".layers[1].kernel",
                          ".layers[1].bias", ".heads[left].inner.kernel", ".heads[left].inner.bias",
                          ".rest[0]", ".rest[1].0", ".rest[1].1"));
  model.heads.at("left").scale = Array();
  EXPECT_THAT(paths(model.heads),
              ElementsAre("[left].inner.kernel", "[left].inner.bias", "[left].scale"));
  EXPECT_THAT(paths(Array()), ElementsAre(""));
}

struct Nested {
  Array leaf;
  std::vector<Nested> inner;
};

TEST(Tree, DepthHasALimit) {
  const auto nested = [](int depth) {
    Nested out;
    for (int i = 1; i < depth; ++i) {
      Nested outer;
      outer.inner.push_back(std::move(out));
      out = std::move(outer);
    }
    return out;
  };
  EXPECT_EQ(tree::num_leaves(nested(1000)), 1000u);
#ifdef __SANITIZE_THREAD__
  constexpr int kDeep = 2000;  // the thread sanitizer has memory for 65,536 calls within each other
#else
  constexpr int kDeep = 20000;
#endif
  const Nested deep = nested(kDeep);
  std::string key;
  const auto refuses = [](const auto& body) {
    try {
      body();
      ADD_FAILURE() << "no error";
    } catch (const UserError& error) {
      EXPECT_STREQ(error.what(),
                   "[tree] expected a tree at most 1000 deep, got a deeper one; flatten it into "
                   "vectors");
    }
  };
  refuses([&] { tree::num_leaves(deep); });
  refuses([&] { tree::append_static_key(deep, key); });
  refuses([&] { tree::for_each_leaf_with_path(deep, [](const Array&, const std::string&) {}); });
  EXPECT_EQ(tree::num_leaves(nested(1000)), 1000u);
}

// Equal maps have their leaves in the same order, whatever their history is.
TEST(Tree, UnorderedMapsGoByTheirKeys) {
  using Map = std::unordered_map<std::string, Array>;
  Map one, two;
  for (int i = 0; i < 20; ++i) one.emplace(std::to_string(10 + i), Array(i));
  two.reserve(1000);
  for (int i = 20; i-- > 0;) two.emplace(std::to_string(10 + i), Array(i));
  std::string key, other;
  tree::append_static_key(one, key);
  tree::append_static_key(two, other);
  EXPECT_EQ(key, other);
  EXPECT_EQ(paths(one), paths(two));
  EXPECT_EQ(paths(one)[3], "[13]");
  const std::vector<Array> a = tree::leaves(one), b = tree::leaves(two);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].item<int>(), static_cast<int>(i));
    EXPECT_EQ(b[i].item<int>(), static_cast<int>(i));
  }
  EXPECT_EQ(tree::unflatten(two, a).at("17").item<int>(), 7);
  const std::unordered_map<int, Map> nested{{-1, one}, {3, Map()}};
  EXPECT_EQ(tree::num_leaves(nested), 20u);
  EXPECT_EQ(paths(nested)[0], "[-1][10]");
}

TEST(Tree, LeavesAndTheirCountFollowTheSameOrder) {
  const Model model{.layers = {{}, {}}, .heads = {{"left", {}}}};
  EXPECT_EQ(tree::num_leaves(model), 9u);
  EXPECT_EQ(tree::leaves(model).size(), paths(model).size());
}

}  // namespace
}  // namespace tessera::tree_test
