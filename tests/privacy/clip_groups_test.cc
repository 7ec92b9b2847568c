// Clip norms of parts of a gradient: each part is clipped by itself.
#include "tessera/privacy/clipping/clip_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/errors.h"
#include "tests/privacy/materialised.h"

namespace tessera::privacy::clip_groups_test {
namespace {

using tessera::test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::optional<NormWay> kMethods[] = {std::nullopt, NormWay::kFactors, NormWay::kTiles,
                                           NormWay::kKeep};

// ---- Which leaves a path names. ----

using Subtrees = std::vector<SubtreeNorm>;

std::vector<std::vector<size_t>> leaves_of(const Subtrees& subtrees,
                                           const std::vector<std::string>& paths) {
  std::vector<std::vector<size_t>> out;
  for (const internal::ClipGroup& group : internal::clip_groups("op", 1.0, subtrees, paths))
    out.push_back(group.leaves);
  return out;
}

TEST(ClipGroups, PathsNameWholeSteps) {
  const std::vector<std::string> paths{".w", ".w1", ".layers[1].w", ".layers[10].w",
                                       ".layers[1].b"};
  EXPECT_THAT(leaves_of({{"w", 1}}, paths), ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3, 4)));
  EXPECT_THAT(leaves_of({{".layers[1]", 1}}, paths),
              ElementsAre(ElementsAre(2, 4), ElementsAre(0, 1, 3)));
  EXPECT_THAT(leaves_of({{"layers", 1}, {"layers[1].b", 1}}, paths),
              ElementsAre(ElementsAre(2, 3), ElementsAre(4), ElementsAre(0, 1)));
}

TEST(ClipGroups, ArgumentsGoByTheirNumberWhereThereAreSeveral) {
  const std::vector<std::string> one{"argument 2.w", "argument 2.b"};
  const std::vector<std::string> two{"argument 0.w", "argument 11", "argument 1.w"};
  for (const char* path : {"w", ".w", "argument 2.w"})
    EXPECT_THAT(leaves_of({{path, 1}}, one), ElementsAre(ElementsAre(0), ElementsAre(1))) << path;
  EXPECT_THAT(leaves_of({{"argument 1", 1}, {"argument 11", 2}}, two),
              ElementsAre(ElementsAre(2), ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(error_of([&] { leaves_of({{"w", 1}}, two); }), HasSubstr("got 'w'"));
}

TEST(ClipGroups, AllLeavesMayBeNamed) {
  EXPECT_THAT(leaves_of({{"[0]", 1}, {"[1]", 1}}, {"[0]", "[1]"}),
              ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(leaves_of({}, {}), ElementsAre(ElementsAre()));
}

TEST(ClipGroups, RefusesPathsThatNameNothing) {
  const std::vector<std::string> paths{".w", ".layers[0].w", ".layers[0].b"};
  EXPECT_EQ(error_of([&] {
              leaves_of({{"enc", 1}}, paths);
            }),
            "[op] expected paths of leaves in subtree_norms, got 'enc', below which there is none "
            "(or none without a longer path); there are '.w', '.layers[0].w', '.layers[0].b'");
  EXPECT_THAT(error_of([&] { leaves_of({{"", 1}}, paths); }), HasSubstr("an empty one"));
  for (const char* again : {"w", ".w"})
    EXPECT_THAT(error_of([&] { leaves_of({{"w", 1}, {again, 2}}, paths); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] {
                leaves_of({{"layers", 1}, {"layers[0].w", 1}, {"layers[0].b", 1}}, paths);
              }),
              HasSubstr("got 'layers'"));
  EXPECT_THAT(error_of([&] { leaves_of({{"w", -1}}, paths); }), HasSubstr("at least 0, got -1"));
  const std::vector<std::string> many(20, ".x");
  EXPECT_THAT(error_of([&] { leaves_of({{"w", 1}}, many); }), HasSubstr("'.x', ..."));
}

// ---- Sensitivity. ----

TEST(ClipGroups, SensitivityIsOfAllGroups) {
  const auto of = [](ClipOptions options) {
    return sensitivity(options, NeighboringRelation::kAddOrRemoveOne) /
           rounding_factor(kFloat32Examples);
  };
  EXPECT_DOUBLE_EQ(of({.l2_clip_norm = 2, .subtree_norms = {{"a", 3}, {"b", 6}}}), 7);
  EXPECT_DOUBLE_EQ(of({.l2_clip_norm = 0, .subtree_norms = {{"a", 3}, {"b", 4}}}), 5);
  EXPECT_DOUBLE_EQ(of({.l2_clip_norm = 2,
                       .subtree_norms = {{"a", 3}, {"b", Array(1.0f)}, {"c", 1}},
                       .rescale_to_unit_norm = true,
                       .normalize_by = 4}),
                   0.5);
  EXPECT_DOUBLE_EQ(sensitivity({.l2_clip_norm = 4, .subtree_norms = {{"a", 3}}},
                               NeighboringRelation::kReplaceOne),
                   10 * rounding_factor(kFloat32Examples));
  EXPECT_EQ(of({.l2_clip_norm = 1, .subtree_norms = {{"a", kInfinity}}}), kInfinity);
  EXPECT_THAT(error_of([&] {
                of({.subtree_norms = {{"a", Array(1.0f)}}});
              }),
              HasSubstr("that is a number, got an Array"));
}

// ---- Gradients. ----

struct Layer {
  Array w, b;
};
struct Model {
  std::vector<Layer> layers;
  Array head;
};

Model model(DType dtype = float32) {
  const auto draw = [&](uint64_t seed, const Shape& shape) {
    return astype(0.5f * random::normal(random::key(seed), shape), dtype);
  };
  return {{{draw(0, {6, 8}), draw(1, {8})}, {draw(2, {8, 8}), draw(3, {8})}}, draw(4, {8, 3})};
}
Array tokens(int64_t examples) { return random::normal(random::key(5), {examples, 4, 6}); }
// The head is used several times, so there are cross terms.
Array loss(const Model& m, const Array& x) {
  Array h = astype(x, m.head.dtype());
  for (const Layer& layer : m.layers) h = tanh(matmul(h, layer.w) + layer.b);
  return mean(
      square(astype(matmul(matmul(matmul(h, m.head), transpose(m.head)), m.head), float32)));
}

// The clip norms of layers[0], of layers[1].b and of the rest.
struct Norms {
  double first = 0.02, bias = 0.01, rest = 0.05;
  ClipOptions options() const {
    return {.l2_clip_norm = rest, .subtree_norms = {{"layers[0]", first}, {".layers[1].b", bias}}};
  }
};
// The parts of a gradient that are clipped by themselves.
using Parts = std::array<std::vector<Array>, 3>;
Parts parts_of(const Model& g) {
  return {{{g.layers[0].w, g.layers[0].b}, {g.layers[1].b}, {g.layers[1].w, g.head}}};
}
Model by_parts(const Model& sum, const Model& g, const Norms& norms) {
  const Parts parts = parts_of(g);
  const auto first = clip_pytree(parts[0], norms.first).first,
             bias = clip_pytree(parts[1], norms.bias).first,
             rest = clip_pytree(parts[2], norms.rest).first;
  return {{{sum.layers[0].w + first[0], sum.layers[0].b + first[1]},
           {sum.layers[1].w + rest[0], sum.layers[1].b + bias[0]}},
          sum.head + rest[1]};
}
Model materialised_by_parts(const Array& x, const Norms& norms) {
  Model out = tree::map([](const Array& p) { return zeros_like(p); }, model());
  for (int64_t b = 0; b < x.shape()[0]; ++b)
    out = by_parts(out, grad(loss)(model(), slice_in_dim(x, b, b + 1, 0)), norms);
  return out;
}

TEST(ClipGroups, EveryWayClipsEachPartByItself) {
  const Array x = tokens(6);
  const Model expected = materialised_by_parts(x, {});
  const Array norms =
      clipped_value_and_grad(loss, {.norm_way = NormWay::kKeep})(model(), x).grad_norms;
  for (std::optional<NormWay> method : kMethods)
    for (std::optional<int64_t> microbatch :
         {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
      ClipOptions options = Norms().options();
      options.norm_way = method, options.microbatch_size = microbatch;
      const auto out = clipped_value_and_grad(loss, options)(model(), x);
      EXPECT_LT(helpers::difference(out.grads, expected), 1e-5) << microbatch.value_or(0);
      EXPECT_LT(helpers::difference(out.grad_norms, norms), 1e-5);
    }
}

TEST(ClipGroups, AreRescaledEach) {
  const Array x = tokens(4);
  ClipOptions options = Norms().options();
  options.rescale_to_unit_norm = true;
  const Model scaled = clipped_grad(loss, options)(model(), x);
  const Model expected = materialised_by_parts(x, {});
  const Parts a = parts_of(scaled), b = parts_of(expected);
  const double norms[] = {0.02, 0.01, 0.05};
  for (size_t part = 0; part < 3; ++part)
    for (size_t i = 0; i < a[part].size(); ++i)
      EXPECT_LT(helpers::difference(norms[part] * a[part][i], b[part][i]), 1e-5);
}

TEST(ClipGroups, OneExampleMovesEachPartByItsNorm) {
  const Norms norms{1e-3, 2e-3, 3e-3};
  for (DType dtype : {float32, bfloat16})
    for (std::optional<NormWay> method : kMethods) {
      ClipOptions options = norms.options();
      options.norm_way = method;
      for (int64_t b = 0; b < 4; ++b) {
        const Model g =
            clipped_grad(loss, options)(model(dtype), slice_in_dim(tokens(4), b, b + 1, 0));
        const Parts parts = parts_of(g);
        const double limits[] = {norms.first, norms.bias, norms.rest};
        for (size_t part = 0; part < 3; ++part) {
          const double length = optim::global_norm(parts[part]).item<float>();
          EXPECT_LE(length, limits[part] * (1 + 1e-5)) << part;
          EXPECT_GE(length, limits[part] * (1 - 1e-2)) << part;
        }
      }
    }
}

TEST(ClipGroups, ArraysAsNormsDoNotCompileAnew) {
  int traces = 0;
  const auto g = jit([&](const Model& m, const Array& x, const Array& norm) {
    ++traces;
    return clipped_grad(loss, {.l2_clip_norm = 0.05, .subtree_norms = {{"layers[0]", norm}}})(m, x);
  });
  const Array x = tokens(3);
  for (double norm : {0.01, 0.03}) {
    const Model expected = clipped_grad(
        loss, {.l2_clip_norm = 0.05, .subtree_norms = {{"layers[0]", norm}}})(model(), x);
    EXPECT_LT(helpers::difference(g(model(), x, Array(float(norm))), expected), 1e-6);
  }
  EXPECT_EQ(traces, 1);
}

TEST(ClipGroups, PaddingAndNotFiniteExamples) {
  const Array x = tokens(6), rows = expand_dims(arange(6), {1, 2});
  const Array bad = where(rows == 1, Array(std::nanf("")), where(rows == 4, Array(1e30f), x));
  const Array padding = arange(6) == 4;
  const Array good =
      concatenate({slice_in_dim(x, 0, 1, 0), slice_in_dim(x, 2, 4, 0), slice_in_dim(x, 5, 6, 0)});
  const Model expected = materialised_by_parts(good, {});
  for (std::optional<NormWay> method : kMethods)
    for (std::optional<int64_t> microbatch :
         {std::optional<int64_t>(), std::optional<int64_t>(3)}) {
      ClipOptions options = Norms().options();
      options.norm_way = method, options.microbatch_size = microbatch;
      options.nan_safe = NanSafe::kExample;
      EXPECT_LT(helpers::difference(clipped_grad(loss, options)(model(), bad, Padding{padding}),
                                    expected),
                1e-5);
    }
}

// Only one part has elements that are not finite. The other parts count unchanged, or the example
// does not count.
TEST(ClipGroups, OfAnExampleWithOnePartThatIsNotFinite) {
  using Pair = std::pair<Array, Array>;
  const auto linear = [](const Pair& p, const Array& x, const Array& y) {
    return sum(x * p.first) + sum(y * p.second);
  };
  const Pair p(zeros({2}), zeros({2}));
  const Array x = reshape(array({3.f, 4.f, std::nanf(""), 5.f}), {2, 2}), y = ones({2, 2});
  const std::vector<std::pair<NanSafe, std::array<float, 4>>> expected = {
      {NanSafe::kElement, {.6f, .8f + 1, 2, 2}}, {NanSafe::kExample, {.6f, .8f, 1, 1}}};
  for (const auto& [nan_safe, of] : expected)
    for (std::optional<NormWay> method : kMethods) {
      const Pair g = clipped_grad(linear, {.l2_clip_norm = 10,
                                           .subtree_norms = {{"[0]", 1}},
                                           .batch_argnums = {1, 2},
                                           .nan_safe = nan_safe,
                                           .norm_way = method})(p, x, y);
      EXPECT_LT(helpers::difference(g, Pair(array({of[0], of[1]}), array({of[2], of[3]}))), 1e-6);
    }
}

TEST(ClipGroups, OfSeveralArguments) {
  const auto of_two = [](const Array& x, const Array& a, const Array& b) { return sum(x * a * b); };
  const Array x = reshape(array({3.f, 4.f}), {1, 2}), a = array({1.f, 2.f}), b = array({1.f, 3.f});
  const auto [da, db] = clipped_grad<1, 2>(
      of_two, {.l2_clip_norm = 1, .subtree_norms = {{"argument 2", 2}}, .batch_argnums = {0}})(x, a,
                                                                                               b);
  EXPECT_NEAR(optim::global_norm(da).item<float>(), 1, 1e-6);
  EXPECT_NEAR(optim::global_norm(db).item<float>(), 2, 1e-6);
}

// One product uses two parameters of two groups: (w + a b)' x.
TEST(ClipGroups, OfPartsThatOneProductReads) {
  struct Lora {
    Array w, a, b;
  };
  const auto draw = [](uint64_t seed, const Shape& shape) {
    return random::normal(random::key(seed), shape);
  };
  const auto of = [](const Lora& p, const Array& x) {
    return mean(square(matmul(x, p.w + matmul(p.a, p.b))));
  };
  const Lora p{draw(0, {5, 4}), draw(1, {5, 2}), draw(2, {2, 4})};
  const Array x = draw(3, {4, 3, 5});
  Lora expected{zeros({5, 4}), zeros({5, 2}), zeros({2, 4})};
  for (int64_t i = 0; i < 4; ++i) {
    const Lora g = grad(of)(p, slice_in_dim(x, i, i + 1, 0));
    expected.w = expected.w + clip_pytree(g.w, 0.5).first;
    const auto low = clip_pytree(std::pair(g.a, g.b), 0.3).first;
    expected.a = expected.a + low.first, expected.b = expected.b + low.second;
  }
  for (std::optional<NormWay> method : kMethods)
    EXPECT_LT(helpers::difference(clipped_grad(of, {.l2_clip_norm = 0.3,
                                                    .subtree_norms = {{"w", 0.5}},
                                                    .norm_way = method})(p, x),
                                  expected),
              1e-5);
}

TEST(ClipGroups, OfModules) {
  nnx::Rngs rngs(0);
  const nnx::Linear linear(3, 2, rngs);
  const auto of = [](const nnx::Linear& m, const Array& x) { return 100.0f * sum(square(m(x))); };
  const Array x = random::normal(random::key(1), {1, 3});
  const nnx::Linear g =
      clipped_grad(of, {.l2_clip_norm = 0.1, .subtree_norms = {{"kernel", 0.2}}})(linear, x);
  EXPECT_NEAR(optim::global_norm(g.kernel).item<float>(), 0.2, 1e-6);
  EXPECT_NEAR(optim::global_norm(g.bias).item<float>(), 0.1, 1e-6);
}

TEST(ClipGroups, OfTransformedGradients) {
  const Array x = tokens(1);
  const auto out = clipped_value_and_grad(
      loss, {.l2_clip_norm = 0.05, .subtree_norms = {{"[1]", 0.01}}}, [](const Model& g) {
        return std::vector{g.head, g.layers[0].w};
      })(model(), x);
  EXPECT_NEAR(optim::global_norm(out.grads[0]).item<float>(), 0.05, 1e-6);
  EXPECT_NEAR(optim::global_norm(out.grads[1]).item<float>(), 0.01, 1e-6);
}

// ---- Values and trees. ----

TEST(ClipGroups, OfValues) {
  const auto f = [](const Array& x) {
    return std::pair(std::map<std::string, Array>{{"a", x}, {"b", 2.0f * x}}, sum(x));
  };
  const auto clipped = clipped_fun(f, {.l2_clip_norm = 1, .subtree_norms = {{"[b]", 4}}});
  const auto [sums, values] = clipped(reshape(array({3.f, 4.f, .3f, .4f}), {2, 2}));
  EXPECT_LT(helpers::difference(sums.at("a"), reshape(array({.9f, 1.2f}), {1, 2})), 1e-6);
  EXPECT_LT(helpers::difference(sums.at("b"), reshape(array({3.f, 4.f}), {1, 2})), 1e-6);
  EXPECT_THAT(to_vector<float>(values), ElementsAre(7, ::testing::FloatNear(.7f, 1e-6f)));
  EXPECT_THAT(error_of([&] {
                clipped_fun(f, {.subtree_norms = {{"c", 1}}})(ones({2, 2}));
              }),
              HasSubstr("[clipped_fun] expected paths of leaves"));
}

TEST(ClipGroups, OfATree) {
  const std::vector<Array> tree{array({3.f, 4.f}), array({6.f}), array({8.f})};
  const auto [clipped, norm] = clip_pytree(tree, 1.0, false, NanSafe::kElement, {{"[0]", 2.5}});
  EXPECT_FLOAT_EQ(norm.item<float>(), std::sqrt(125.f));
  EXPECT_THAT(to_vector<float>(clipped[0]), ElementsAre(1.5f, 2.0f));
  EXPECT_FLOAT_EQ(clipped[1].item<float>(), .6f);
  EXPECT_FLOAT_EQ(clipped[2].item<float>(), .8f);
  const std::vector<Array> bad{array({std::nanf("")}), array({3.f})};
  EXPECT_EQ(clip_pytree(bad, 1.0, false, NanSafe::kExample, {{"[0]", 2}}).first[1].item<float>(),
            0);
  EXPECT_EQ(clip_pytree(bad, 1.0, false, NanSafe::kElement, {{"[0]", 2}}).first[1].item<float>(),
            1);
}

}  // namespace
}  // namespace tessera::privacy::clip_groups_test
