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

TEST(Tree, LeavesAndTheirCountFollowTheSameOrder) {
  const Model model{.layers = {{}, {}}, .heads = {{"left", {}}}};
  EXPECT_EQ(tree::num_leaves(model), 9u);
  EXPECT_EQ(tree::leaves(model).size(), paths(model).size());
}

}  // namespace
}  // namespace tessera
