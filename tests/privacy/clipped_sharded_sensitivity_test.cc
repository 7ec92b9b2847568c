// The guarantee of clipping on eight devices: with the batch sharded, with weights sharded as well,
// and inside a shard_map, one example moves the sum by at most C (1 + 1e-5), cancelling tokens
// included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/privacy/cancelling.h"

namespace tessera::privacy::clipped_sharded_sensitivity_test {
namespace {

using helpers::bilinear;
using helpers::cancelling;
using helpers::norm;
using helpers::Tokens;

constexpr int64_t kExamples = 8, kTokens = 128, kWidth = 64;
constexpr double kClip = 1e-3;

// How the tokens' x and g are cut: the weights' gradient, x' g, has rows of x and columns of g.
struct Cut {
  std::string name;
  std::vector<int64_t> shape;  // the shape of the mesh
  PartitionSpec x, g;
  bool manual = false;
  bool parts = false;  // the shard_map cuts the weights' rows and adds up the loss
};
std::vector<Cut> cuts() {
  const PartitionSpec batch("data"), both("data", None, "model"), tokens(None, "data", "model");
  return {{"batch", {8, 1}, batch, batch},
          {"batch and columns", {2, 4}, batch, both},
          {"batch and rows", {2, 4}, both, batch},
          {"batch, rows and columns", {4, 2}, both, both},
          {"rows and columns", {2, 4}, P(None, None, "data"), P(None, None, "model")},
          {"tokens and columns", {4, 2}, P(None, "data", None), tokens},
          {"batch in a shard_map", {8, 1}, batch, batch, true},
          {"batch and rows in a shard_map", {2, 4}, both, batch, true, true}};
}

class ShardedSensitivity : public ::testing::TestWithParam<NormWay> {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:8"}); }

  // Returns by how much the sum over a batch changes if the example at `at`, with the data of e, is
  // left out. The other examples are noise.
  template <class Step>
  static double moved(const Step& step, const Cut& cut, const Mesh& mesh, const Tokens& e,
                      int64_t at, DType dtype) {
    const auto placed = [&](const Array& x, const PartitionSpec& spec) {
      return device_put(x, NamedSharding(mesh, spec));
    };
    const auto batch = [&](uint64_t seed, const Array& of_example, const PartitionSpec& spec) {
      const Array others = random::normal(random::key(seed), {kExamples, kTokens, kWidth});
      const Array mine = expand_dims(arange(kExamples) == at, {1, 2});
      return placed(astype(where(mine, of_example, others), dtype), spec);
    };
    const Array w = zeros({kWidth, kWidth}, dtype);
    const Array x = batch(1, e.xs(), cut.x), g = batch(2, e.gs(), cut.g);
    const Array with = step(w, x, g, zeros({kExamples}, bool_)),
                without = step(w, x, g, arange(kExamples) == at);
    return norm(to_vector<float>(reshape(with - without, {kWidth * kWidth})));
  }

  static auto clipped(const Cut& cut, const Mesh& mesh, const ClipOptions& options) {
    const auto loss = [=](const Array& w, const Array& x, const Array& g) {
      return cut.parts ? psum(bilinear(w, x, g), "model") : bilinear(w, x, g);
    };
    const auto sum = [=](const Array& w, const Array& x, const Array& g, const Array& padding) {
      ClipOptions of = options;
      if (cut.parts) of.example_axes = {"model"};
      return clipped_grad(loss, of)(w, x, g, Padding{padding});
    };
    const PartitionSpec weights = cut.parts ? P("model", None) : P();
    const auto manual = shard_map(
        [=](const Array& w, const Array& x, const Array& g, const Array& padding) {
          return psum(sum(w, x, g, padding), "data");
        },
        {.mesh = mesh, .in_specs = {weights, cut.x, cut.g, P("data")}, .out_specs = {weights}});
    return jit([=](const Array& w, const Array& x, const Array& g, const Array& padding) {
      return cut.manual ? manual(w, x, g, padding) : sum(w, x, g, padding);
    });
  }
};

TEST_P(ShardedSensitivity, CancellingTokens) {
  for (const Cut& cut : cuts()) {
    const Mesh mesh = make_mesh(cut.shape, {"data", "model"});
    const auto step = clipped(
        cut, mesh, {.l2_clip_norm = kClip, .batch_argnums = {1, 2}, .norm_way = GetParam()});
    for (DType dtype : {float32, bfloat16})
      for (float rest : {1e-1f, 1e-2f, 1e-3f, 0.0f}) {
        int64_t at = 0;
        for (const Tokens& e : cancelling(kTokens, kWidth, kWidth, rest, 5))
          EXPECT_LE(moved(step, cut, mesh, e, at++, dtype), kClip * (1 + 1e-5))
              << cut.name << ": " << e.name << " rest " << rest << " " << dtype_name(dtype);
      }
  }
}

// Parts of the gradient, with norms of their own, that are sharded over the model axis.
TEST_P(ShardedSensitivity, OfParts) {
  const auto loss = [](const std::pair<Array, Array>& w, const Array& x, const Array& g) {
    return bilinear(w.first, x, g) + bilinear(w.second, x, 2 * g);
  };
  const Mesh mesh = make_mesh({2, 4}, {"data", "model"});
  const auto placed = [&](const Array& x, const PartitionSpec& spec) {
    return device_put(x, NamedSharding(mesh, spec));
  };
  const auto step = jit(clipped_grad(loss, {.l2_clip_norm = kClip,
                                            .subtree_norms = {{"[1]", 3 * kClip}},
                                            .batch_argnums = {1, 2},
                                            .norm_way = GetParam()}));
  const std::pair w(zeros({kWidth, kWidth}), zeros({kWidth, kWidth}));
  const Array first = expand_dims(arange(kExamples) == 0, {1, 2});
  for (const Tokens& e : cancelling(kTokens, kWidth, kWidth, 1e-2f, 6)) {
    const auto only = [&](const Array& x) {
      return placed(where(first, x, zeros({kExamples, kTokens, kWidth})), P("data", None, "model"));
    };
    const auto [a, b] = step(w, only(e.xs()), only(e.gs()));
    EXPECT_LE(norm(to_vector<float>(reshape(a, {-1}))), kClip * (1 + 1e-5)) << e.name;
    EXPECT_LE(norm(to_vector<float>(reshape(b, {-1}))), 3 * kClip * (1 + 1e-5)) << e.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ShardedSensitivity,
                         ::testing::Values(NormWay::kFactors, NormWay::kTiles, NormWay::kKeep));

}  // namespace
}  // namespace tessera::privacy::clipped_sharded_sensitivity_test
