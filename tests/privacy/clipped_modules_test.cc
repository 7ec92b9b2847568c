// Clipped gradients of nnx modules, and inside other transforms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/tessera.h"
#include "tests/errors.h"
#include "tests/privacy/materialised.h"

namespace tessera::privacy::clipped_modules_test {
namespace {

using tessera::test::expect_error;
using ::testing::ElementsAre;

Array noise(uint64_t seed, const Shape& shape, float scale = 1) {
  return scale * random::normal(random::key(seed), shape);
}

struct Block {
  nnx::Linear first, second;
  nnx::LayerNorm norm;
  nnx::Dropout dropout;

  explicit Block(nnx::Rngs rngs)
      : first(4, 8, rngs), second(8, 2, rngs), norm(8, rngs), dropout(.5, rngs) {}
  Array operator()(const Array& x) { return second(dropout(relu(norm(first(x))))); }
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.first, self.second, self.norm, self.dropout);
  }
};

TEST(ClippedModules, ParametersAlone) {
  const auto loss = [](Block m, const Array& x, const Array& y) { return mean(square(m(x) - y)); };
  Block m(nnx::Rngs(0));
  m.dropout.deterministic = true;
  const Array x = noise(1, {6, 4}), y = noise(2, {6, 2});
  const auto out =
      clipped_value_and_grad(loss, {.l2_clip_norm = .7, .batch_argnums = {1, 2}})(m, x, y);
  std::vector<Array> expected;
  for (int64_t b = 0; b < 6; ++b) {
    const Block g = nnx::grad(loss)(m, slice_in_dim(x, b, b + 1, 0), slice_in_dim(y, b, b + 1, 0));
    const std::vector<Array> one = clip_pytree(nnx::internal::parameters(g), .7).first;
    for (size_t i = 0; i < one.size(); ++i)
      if (b == 0)
        expected.push_back(one[i]);
      else
        expected[i] = expected[i] + one[i];
  }
  EXPECT_LT(helpers::difference(nnx::internal::parameters(out.grads), expected), 1e-5);
  EXPECT_THAT(to_vector<uint32_t>(out.grads.dropout.rngs.key.data), ElementsAre(0, 0));
}

// The mask of each example, as ones and zeros.
TEST(ClippedModules, EachExampleHasItsDropoutMask) {
  const auto loss = [](const Array& w, nnx::Dropout dropout, const Array& x) {
    const Array kept = dropout(x);
    return std::pair(sum(w * kept), kept);
  };
  const nnx::Dropout dropout(.5, nnx::Rngs(0));
  for (std::optional<int64_t> m : {std::optional<int64_t>(), std::optional<int64_t>(4)}) {
    const auto [g, masks] =
        clipped_grad(loss, {.l2_clip_norm = 1e6, .batch_argnums = {2}, .microbatch_size = m})(
            ones({32}), dropout, ones({8, 32}));
    EXPECT_EQ(masks.shape(), (Shape{8, 32}));
    std::set<std::vector<float>> distinct;
    for (int64_t b = 0; b < 8; ++b)
      distinct.insert(to_vector<float>(slice_in_dim(masks, b, b + 1, 0)));
    EXPECT_EQ(distinct.size(), 8u);
    EXPECT_LT(helpers::difference(g, sum(masks, {.axis = 0})), 1e-6);
  }
}

TEST(ClippedModules, ADropoutOfTheModuleMovesOn) {
  // The loss returns the module's count for each example.
  const auto loss = [](Block m, const Array& x) {
    Array value = mean(square(m(x)));
    return std::pair(value, m.dropout.rngs.count);
  };
  const auto [g, counts] = clipped_grad(loss, {})(Block(nnx::Rngs(0)), noise(1, {4, 4}));
  EXPECT_THAT(to_vector<uint32_t>(counts), ElementsAre(1, 1, 1, 1));
}

TEST(ClippedModules, BatchNormInTrainingIsRefused) {
  const auto loss = [](std::pair<nnx::Linear, nnx::BatchNorm> m, const Array& x) {
    return mean(square(m.second(m.first(x))));
  };
  const std::pair m(nnx::Linear(4, 3, nnx::Rngs(0)), nnx::BatchNorm(3, nnx::Rngs(0)));
  expect_error([&] { clipped_grad(loss, {})(m, noise(1, {6, 4})); }, "[nnx::BatchNorm] expected");
  expect_error([&] { clipped_grad(loss, {})(m, noise(1, {6, 4})); }, "GroupNorm");
  // A layer that uses its running averages is allowed, and so are examples that are batches
  // themselves.
  auto evaluated = m;
  evaluated.second.set_training(false);
  EXPECT_GT(optim::global_norm(clipped_grad(loss, {})(evaluated, noise(1, {6, 4})).first.kernel)
                .item<float>(),
            0);
  EXPECT_GT(optim::global_norm(
                clipped_grad(loss, {.keep_batch_dim = false})(m, noise(1, {6, 5, 4})).first.kernel)
                .item<float>(),
            0);
}

// ---- Inside other transforms. ----

Array loss_of(const Array& w, const Array& x) { return mean(square(tanh(matmul(x, w)))); }
const ClipOptions kOptions{.l2_clip_norm = .3};
Array expected_of(const Array& w, const Array& x) {
  return helpers::materialised(loss_of, w, x.shape(0), .3, x).sum;
}

TEST(ClippedTransforms, UnderJit) {
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 5, 4});
  EXPECT_LT(helpers::difference(jit(clipped_grad(loss_of, kOptions))(w, x), expected_of(w, x)),
            1e-5);
}

TEST(ClippedTransforms, UnderVmapOverBatches) {
  const Array w = noise(0, {4, 3}), x = noise(1, {2, 6, 5, 4});
  const Array g =
      vmap([](const Array& w, const Array& x) { return clipped_grad(loss_of, kOptions)(w, x); },
           {.in_axes = {None, 0}})(w, x);
  for (int64_t i = 0; i < 2; ++i)
    EXPECT_LT(helpers::difference(reshape(slice_in_dim(g, i, i + 1, 0), {4, 3}),
                                  expected_of(w, reshape(slice_in_dim(x, i, i + 1, 0), {6, 5, 4}))),
              1e-5);
}

TEST(ClippedTransforms, UnderVmapOverParameters) {
  const Array w = noise(0, {2, 4, 3}), x = noise(1, {6, 5, 4});
  const Array g =
      vmap([](const Array& w, const Array& x) { return clipped_grad(loss_of, kOptions)(w, x); },
           {.in_axes = {0, None}})(w, x);
  for (int64_t i = 0; i < 2; ++i)
    EXPECT_LT(helpers::difference(reshape(slice_in_dim(g, i, i + 1, 0), {4, 3}),
                                  expected_of(reshape(slice_in_dim(w, i, i + 1, 0), {4, 3}), x)),
              1e-5);
}

TEST(ClippedTransforms, UnderScanOverSteps) {
  const Array w = noise(0, {4, 3}), x = noise(1, {3, 6, 5, 4});
  const auto step = [](const Array& w, const Array& x) {
    return std::pair(w - .1f * clipped_grad(loss_of, kOptions)(w, x), 0);
  };
  Array expected = w;
  for (int64_t i = 0; i < 3; ++i)
    expected =
        expected - .1f * expected_of(expected, reshape(slice_in_dim(x, i, i + 1, 0), {6, 5, 4}));
  EXPECT_LT(helpers::difference(scan(step, w, x).first, expected), 1e-5);
}

TEST(ClippedTransforms, OfALossThatHasATransformInside) {
  const auto loss = [](const Array& w, const Array& x) {
    // A penalty on the gradient by the input has second derivatives.
    const Array by_input = grad<1>(loss_of)(w, x);
    return loss_of(w, x) + sum(square(by_input));
  };
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 5, 4});
  helpers::expect_clipped_like_materialised(loss, w, 6, x);
}

TEST(ClippedTransforms, OfWhatIsCaptured) {
  const Array scale = noise(3, {3});
  const auto loss = [&](const Array& w, const Array& x) {
    return mean(square(matmul(x, w) * scale));
  };
  helpers::expect_clipped_like_materialised(loss, noise(0, {4, 3}), 4, noise(1, {4, 5, 4}));
}

// ---- Dtypes. ----

TEST(ClippedDtypes, SumsOfHalvesAreFloat32) {
  for (DType dtype : {bfloat16, float16}) {
    const Array w = astype(noise(0, {4, 3}), dtype), x = astype(noise(1, {6, 5, 4}), dtype);
    for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
      const auto out =
          clipped_value_and_grad(loss_of, {.l2_clip_norm = .3, .norm_way = method})(w, x);
      EXPECT_EQ(out.grads.dtype(), float32);
      EXPECT_EQ(out.grad_norms.dtype(), float32);
      EXPECT_EQ(out.values.dtype(), dtype);
      EXPECT_LT(helpers::difference(out.grads, expected_of(astype(w, float32), astype(x, float32))),
                3e-2);
    }
    EXPECT_EQ(clipped_grad(loss_of, {.dtype = float64})(w, x).dtype(), float64);
  }
}

TEST(ClippedDtypes, WhatSensitivityDoesNotCountIsRefused) {
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 5, 4}), many = noise(1, {1025, 5, 4});
  for (DType dtype : {bfloat16, float16, int32})
    tessera::test::expect_error([&] { clipped_grad(loss_of, {.dtype = dtype})(w, x); },
                                "expected a dtype of at least float32 for the sum, got");
  EXPECT_EQ(clipped_grad(loss_of, {})(w, many).dtype(), float64);
  EXPECT_EQ(clipped_grad(loss_of, {.float32_examples = 2000})(w, many).dtype(), float32);
  tessera::test::expect_error([&] { clipped_grad(loss_of, {.dtype = float32})(w, many); },
                              "expected dtype = float64 for the sum of 1025 examples on");
  tessera::test::expect_error([&] { clipped_grad(loss_of, {.float32_examples = 0})(w, x); },
                              "expected float32_examples of at least 1, got 0");
}

TEST(ClippedDtypes, OfMixedPrecision) {
  // Parameters are float32 and activations bfloat16: conversions keep the form of products.
  const auto loss = [](const Array& w, const Array& x) {
    return astype(mean(square(tanh(matmul(astype(x, bfloat16), astype(w, bfloat16))))), float32);
  };
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 5, 4});
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const Array g = clipped_grad(loss, {.l2_clip_norm = .3, .norm_way = method})(w, x);
    EXPECT_EQ(g.dtype(), float32);
    EXPECT_LT(helpers::difference(g, expected_of(w, x)), 3e-2);
  }
}

TEST(ClippedDtypes, ComplexParameters) {
  const auto loss = [](const Array& w, const Array& x) {
    return sum(square(abs(matmul(astype(x, complex64), w))));
  };
  const Array w = lax::complex(noise(0, {4, 3}), noise(1, {4, 3})), x = noise(2, {6, 4});
  Array expected = zeros({4, 3}, complex64);
  std::vector<double> norms;
  for (int64_t b = 0; b < 6; ++b) {
    const auto [g, norm] = clip_pytree(grad(loss)(w, slice_in_dim(x, b, b + 1, 0)), 10);
    expected = expected + g;
    norms.push_back(norm.item<double>());
  }
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const auto out = clipped_value_and_grad(loss, {.l2_clip_norm = 10.0, .norm_way = method})(w, x);
    EXPECT_EQ(out.grads.dtype(), complex64);
    EXPECT_LT(max(abs(out.grads - expected)).item<float>(), 1e-4f);
    for (size_t b = 0; b < 6; ++b)
      EXPECT_NEAR(to_vector<float>(out.grad_norms)[b] / norms[b], 1, 1e-5);
  }
}

// ---- Sizes. ----

TEST(ClippedSizes, OneExample) {
  const Array w = noise(0, {4, 3}), x = noise(1, {1, 5, 4});
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep})
    EXPECT_LT(
        helpers::difference(clipped_grad(loss_of, {.l2_clip_norm = .3, .norm_way = method})(w, x),
                            expected_of(w, x)),
        1e-5);
}

TEST(ClippedSizes, AnEmptyBatchGivesZeros) {
  const Array w = noise(0, {4, 3}), x = zeros({0, 5, 4});
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep})
    for (std::optional<int64_t> m : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
      const auto out =
          clipped_value_and_grad(loss_of, {.microbatch_size = m, .norm_way = method})(w, x);
      EXPECT_EQ(out.grads.shape(), (Shape{4, 3}));
      EXPECT_EQ(max(abs(out.grads)).item<float>(), 0);
      EXPECT_EQ(out.values.shape(), Shape{0});
      EXPECT_EQ(out.grad_norms.shape(), Shape{0});
    }
  EXPECT_EQ(clipped_fun([](const Array& x) { return sum(x); })(zeros({0, 3})).item<float>(), 0);
}

TEST(ClippedSizes, NoTokensGiveZeros) {
  const auto loss = [](const Array& w, const Array& x) { return sum(square(tanh(matmul(x, w)))); };
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const auto out =
        clipped_value_and_grad(loss, {.norm_way = method})(noise(0, {4, 3}), zeros({3, 0, 4}));
    EXPECT_EQ(max(abs(out.grads)).item<float>(), 0);
    EXPECT_THAT(to_vector<float>(out.grad_norms), ElementsAre(0, 0, 0));
  }
}

TEST(ClippedSizes, AParameterWithoutUseOrElements) {
  const auto loss = [](const std::vector<Array>& p, const Array& x) { return loss_of(p[0], x); };
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 5, 4});
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const auto g = clipped_grad(loss, {.l2_clip_norm = .3, .norm_way = method})(
        std::vector{w, ones({2}), zeros({0, 3})}, x);
    EXPECT_LT(helpers::difference(g[0], expected_of(w, x)), 1e-5);
    EXPECT_THAT(to_vector<float>(g[1]), ElementsAre(0, 0));
    EXPECT_EQ(g[2].shape(), (Shape{0, 3}));
  }
}

TEST(ClippedSizes, NoParametersOrNothingThatDependsOnThem) {
  const Array x = noise(1, {6, 4});
  const auto none = [](const std::vector<Array>&, const Array& x) { return sum(x); };
  const auto out = clipped_value_and_grad(none, {})(std::vector<Array>{}, x);
  EXPECT_EQ(out.grads.size(), 0u);
  EXPECT_THAT(to_vector<float>(out.grad_norms), ElementsAre(0, 0, 0, 0, 0, 0));
  const auto constant =
      clipped_value_and_grad([](const Array&, const Array& x) { return sum(x); }, {})(ones({3}), x);
  EXPECT_THAT(to_vector<float>(constant.grads), ElementsAre(0, 0, 0));
}

// The loss does not depend on its example.
TEST(ClippedSizes, NothingThatDependsOnTheExample) {
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const auto loss = [](const Array& w, const Array&) { return .5f * sum(square(w)); };
    const auto out = clipped_value_and_grad(loss, {.l2_clip_norm = 2.5, .norm_way = method})(
        array({3.0f, 4.0f}), ones({4, 2}));
    EXPECT_THAT(to_vector<float>(out.grads), ElementsAre(6, 8));
    EXPECT_THAT(to_vector<float>(out.grad_norms), ElementsAre(5, 5, 5, 5));
  }
}

// ---- What is refused. ----

TEST(ClippedErrors, NameTheOptionAndTheRemedy) {
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 4}), y = noise(2, {5, 3});
  const auto loss = [](const Array& w, const Array& x) { return mean(square(matmul(x, w))); };
  const auto of_two = [](const Array& w, const Array& x, const Array& y) {
    return mean(square(matmul(x, w) - y));
  };
  expect_error([&] { clipped_grad(loss, {.l2_clip_norm = -1.0})(w, x); },
               "expected an l2_clip_norm of at least 0, got -1");
  expect_error([&] { clipped_grad(loss, {.l2_clip_norm = std::nan("")})(w, x); },
               "expected an l2_clip_norm of at least 0, got nan");
  for (double n : {0.0, -2.0, std::nan("")})
    expect_error([&] { clipped_grad(loss, {.normalize_by = n})(w, x); },
                 "[clipped_grad] expected normalize_by above 0");
  expect_error(
      [&] {
        clipped_grad(of_two, {.batch_argnums = {1, 2}})(w, x, y);
      },
      "expected batch arguments of one size, got 6 of argument 1 and 5 of argument 2");
  expect_error(
      [&] { clipped_grad(loss, {.batch_argnums = {0}})(w, x); },
      "expected arguments that are differentiated or of the batch, got argument 0 as both");
  expect_error([&] { clipped_grad(loss, {.batch_argnums = {2}})(w, x); },
               "expected batch_argnums below the number of arguments, 2, got 2");
  expect_error([&] { clipped_grad(loss, {.microbatch_size = 4})(w, x); },
               "expected a microbatch_size that divides the batch of 6, got 4");
  for (int64_t m : {0, -3})
    expect_error([&] { clipped_grad(loss, {.microbatch_size = m})(w, x); },
                 "expected a microbatch_size that divides the batch of 6");
  expect_error([&] { clipped_grad(loss, {})(w, x, Padding{full({5}, false)}); },
               "expected a padding mask bool[6], one for each example, got bool[5]");
  expect_error([&] { clipped_grad(loss, {})(w, x, Padding{zeros({6})}); },
               "expected a padding mask bool[6], one for each example, got float32[6]");
  expect_error([&] { clipped_grad(loss, {})(w, Array(1.0f)); },
               "expected a first dimension of examples of");
  expect_error(
      [&] {
        clipped_grad([](const Array& w, const std::vector<Array>&) { return sum(w); }, {})(
            w, std::vector<Array>{});
      },
      "expected batch arguments with an array, got none");
  for (size_t key : {0, 1, 2})
    expect_error([&] { clipped_grad(loss, {.batch_argnums = {1}, .prng_argnum = key})(w, x); },
                 "expected a prng_argnum of an argument of its own, got");
}

TEST(ClippedErrors, EveryArgumentIsDeclared) {
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 4}), y = noise(2, {6, 3}),
              table = noise(3, {7, 3});
  const auto loss = [](const Array& w, const Array& x, const Array& y) {
    return mean(square(matmul(x, w))) + mean(y);
  };
  expect_error([&] { clipped_grad(loss, {})(w, x, y); }, "write .batch_argnums = {1, 2}");
  expect_error([&] { clipped_fun(loss)(w, x, y); }, "write .batch_argnums = {0, 1, 2}");
  expect_error(
      [&] { clipped_grad(loss, {.batch_argnums = {1}})(w, x, y); },
      "expected argument 2 declared, which is float32[6,3] and as long as the batch, got it in "
      "neither batch_argnums nor shared_argnums");
  expect_error([&] { clipped_grad(loss, {.batch_argnums = {1}, .shared_argnums = {1}})(w, x, y); },
               "expected shared_argnums of arguments that are not of the batch, got 1");
  // The shared argument is declared, or it has another length than the batch.
  EXPECT_EQ(clipped_grad(loss, {.batch_argnums = {1}, .shared_argnums = {2}})(w, x, y).shape(),
            w.shape());
  EXPECT_EQ(clipped_grad(loss, {.shared_argnums = {2}})(w, x, y).shape(), w.shape());
  EXPECT_EQ(clipped_grad(loss, {.batch_argnums = {1}})(w, x, table).shape(), w.shape());
}

TEST(ClippedErrors, OfTheLoss) {
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 4});
  expect_error(
      [&] { clipped_grad([](const Array& w, const Array& x) { return matmul(x, w); }, {})(w, x); },
      "expected a loss of one example that is a scalar, got float32[1,3]");
  expect_error(
      [&] {
        clipped_grad(
            [](const Array& w, const Array& x) { return astype(sum(matmul(x, w)), int32); }, {})(w,
                                                                                                 x);
      },
      "expected a loss that is a real floating-point number, got int32[]");
  expect_error(
      [&] {
        clipped_grad([](const Array& w,
                        const Array& x) { return sum(lax::complex(matmul(x, w), matmul(x, w))); },
                     {})(w, x);
      },
      "expected a loss that is a real floating-point number, got complex64[]");
  // An op without a reverse derivative is an error, as in grad.
  const auto loop = [](const Array& w, const Array& x) {
    return sum(while_loop([](const Array& h) { return sum(h) < 100.0f; },
                          [&](const Array& h) { return h + sum(square(w)); }, x));
  };
  expect_error([&] { clipped_grad(loop, {})(w, x); }, "while");
  expect_error(
      [&] {
        clipped_grad(
            [](const Array& w, const Array& x) { return sum(matmul(x, astype(w, float32))); }, {})(
            ones({4, 3}, int32), x);
      },
      "expected float or complex parameters, got int32[4,3] at argument 0");
}

TEST(ClippedErrors, PrngArgnumOfNoKey) {
  const auto loss = [](const Array& w, const Array& x, const Array& key) {
    return sum(w * x) + sum(key);
  };
  expect_error(
      [&] {
        clipped_grad(loss, {.prng_argnum = 2})(ones({3}), ones({4, 3}), ones({2}));
      },
      "expected uint32 words with a last dimension of 2, got float32[2]");
}

}  // namespace
}  // namespace tessera::privacy::clipped_modules_test
