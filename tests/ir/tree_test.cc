#include "tessera/base/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ir/array.h"

namespace tessera {
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
  const Nested deep = nested(20000);
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

TEST(Tree, LeavesAndTheirCountFollowTheSameOrder) {
  const Model model{.layers = {{}, {}}, .heads = {{"left", {}}}};
  EXPECT_EQ(tree::num_leaves(model), 9u);
  EXPECT_EQ(tree::leaves(model).size(), paths(model).size());
}

}  // namespace
}  // namespace tessera
