#include "tessera/privacy/optimizers.h"

#include "../errors.h"
#include "../golden/golden.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/privacy/clipping/clipped_grad.h"

namespace tessera::privacy::optimizers_test {
namespace {

using tessera::test::expect_error;

struct Linear {
  Array bias, w;
};

// The data and the model of golden/make_privacy_head.py.
const Array& inputs() {
  static const Array x = [] {
    std::vector<float> values;
    for (int b = 0; b < 8; ++b)
      for (int i = 0; i < 3; ++i) values.push_back(static_cast<float>(std::sin(3 * b + i + 1)));
    return reshape(array(values), {8, 3});
  }();
  return x;
}
const Array& targets() {
  static const Array y = [] {
    std::vector<float> values;
    for (int b = 0; b < 8; ++b)
      for (int j = 0; j < 2; ++j) values.push_back(static_cast<float>(std::cos(2 * b + j)));
    return reshape(array(values), {8, 2});
  }();
  return y;
}
Linear start() { return {zeros({2}), array({{0.f, -0.25f}, {0.25f, 0.f}, {0.5f, 0.25f}})}; }
const auto kLoss = [](const Linear& p, const Array& x, const Array& y) {
  return mean(square(matmul(x, p.w) + p.bias - y));
};
const ClipOptions kClip{.l2_clip_norm = 1.5, .normalize_by = 8, .batch_argnums = {1, 2}};

std::vector<float> floats(const Array& x) {
  const Literal host = x.to_host();
  const float* values = host.data<float>();
  return {values, values + host.elements()};
}

const golden::Json& golden_steps(const char* name) {
  static const golden::Topic topic("privacy_head");
  for (const golden::Json& c : topic["optimizers"])
    if (c["name"] == name) return c["steps"];
  TESSERA_CHECK(false, "no case {}", name);
}

void expect_close(const Array& actual, const golden::Json& expected, const char* what) {
  const std::vector<double> wanted = expected;
  const std::vector<float> values = floats(actual);
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(values[i], wanted[i], 2e-6 + 2e-5 * std::abs(wanted[i])) << what << " " << i;
}

// Compares four steps, each a call of `step(params, state) -> (clipped mean, params, state)`.
template <class Optimizer, class Step>
void expect_steps(const char* name, const Optimizer& optimizer, const Step& step) {
  Linear params = start();
  auto state = optimizer.init(params);
  for (const golden::Json& expected : golden_steps(name)) {
    Linear clipped;
    std::tie(clipped, params, state) = step(optimizer, params, state);
    expect_close(clipped.bias, expected["clipped"]["bias"], "clipped bias");
    expect_close(clipped.w, expected["clipped"]["w"], "clipped w");
    expect_close(params.bias, expected["params"]["bias"], "bias");
    expect_close(params.w, expected["params"]["w"], "w");
  }
}

const auto kStep = [](const auto& optimizer, const Linear& params, const auto& state) {
  const auto clipped =
      clipped_value_and_grad(kLoss, kClip, optimizer.pre_clipping_transform(state));
  const Linear mean = clipped(params, inputs(), targets()).grads;
  auto [updates, next] = optimizer.update(mean, state, params);
  return std::tuple(mean, optim::apply_updates(params, updates), next);
};

template <class Optimizer>
void expect_golden(const char* name, const Optimizer& optimizer) {
  expect_steps(name, optimizer, kStep);
}

TEST(Optimizers, ScaledStepsAreJaxPrivacys) {
  expect_golden("adam", scale_then_privatize(optim::adam(1e-2)));
  expect_golden("adam_eps",
                scale_then_privatize(optim::adam(1e-2), {.eps = 0.1, .eps_root = 0.01}));
  expect_golden("adamw",
                scale_then_privatize(optim::adamw(1e-2, {.weight_decay = 0.1}), {.eps = 1e-3}));
  expect_golden("rmsprop", scale_then_privatize(optim::rmsprop(1e-2), {.eps = 1e-3}));
  expect_golden("adagrad", scale_then_privatize(optim::adagrad(1e-1)));
}

TEST(Optimizers, MomentsMayBeGiven) {
  const auto moments = [](const auto&) { return Linear{array({1.f, 4.f}), full({3, 2}, 9.f)}; };
  expect_golden("sgd_of_given_moments", scale_then_privatize(optim::sgd(0.5), {}, moments));
}

// The optimizer and its state pass through jit like others; the transform then holds traced Arrays.
TEST(Optimizers, AStepIsOneProgram) {
  const auto step = jit([](const auto& optimizer, const Linear& params, const auto& state) {
    return kStep(optimizer, params, state);
  });
  expect_steps("adam", scale_then_privatize(optim::adam(1e-2)), step);
}

TEST(Optimizers, UpdateUndoesTheTransform) {
  const auto base = optim::adam(1e-2);
  const auto augmented = scale_then_privatize(base);
  const Linear params = start(), gradient{array({.3f, -2.f}), full({3, 2}, 0.01f)};
  const auto state = base.update(gradient, base.init(params), params).second;
  const Linear scaled = augmented.pre_clipping_transform(state)(gradient);
  EXPECT_NEAR(floats(scaled.bias)[0], 0.3 / std::sqrt(0.001 * 0.09), 1e-3);
  const Linear plain = base.update(gradient, state, params).first,
               undone = augmented.update(scaled, state).first;
  EXPECT_LT(max(abs(plain.w - undone.w)).item<float>(), 1e-7f);
  EXPECT_LT(max(abs(plain.bias - undone.bias)).item<float>(), 1e-7f);
}

// Leaves without moments stay unscaled: masked ones, and those of modules' state, which are no
// parameters.
TEST(Optimizers, LeavesWithoutMomentsStay) {
  const auto weights = [](const Array& leaf) { return leaf.ndim() == 2; };
  const auto optimizer =
      scale_then_privatize(optim::masked(optim::adam(1e-2), weights), {.eps = 0.5});
  const Linear params = start(), gradient{array({.3f, -2.f}), full({3, 2}, 0.01f)};
  const Linear scaled = optimizer.pre_clipping_transform(optimizer.init(params))(gradient);
  EXPECT_EQ(floats(scaled.bias), (std::vector<float>{.3f, -2.f}));
  EXPECT_EQ(floats(scaled.w), std::vector<float>(6, 0.02f));
}

// Trainer and nnx::Optimizer name the leaves of their state, so moments are found for gradients of
// any tree.
TEST(Optimizers, MomentsOfALeafListAreFoundByPath) {
  const auto optimizer = scale_then_privatize(optim::adam(1e-2), {.eps = 0.25});
  const Linear gradient{array({.3f, -2.f}), full({3, 2}, 0.01f)};
  const optim::LeafList list{{gradient.w, gradient.bias}, {".w", ".bias"}};
  const auto transform = optimizer.pre_clipping_transform(optimizer.init(list));
  EXPECT_EQ(floats(transform(gradient).w), std::vector<float>(6, 0.04f));
  EXPECT_EQ(floats(transform(list).leaves[1]), (std::vector<float>{1.2f, -8.f}));
}

TEST(Optimizers, MomentsAreFoundInChainsAndSteps) {
  const Linear params = start(), ones{array({1.f, 1.f}), full({3, 2}, 1.f)};
  const auto expect_scaled = [&](const auto& base) {
    const auto optimizer = scale_then_privatize(base, {.eps = 0.5});
    const Linear scaled = optimizer.pre_clipping_transform(optimizer.init(params))(ones);
    EXPECT_EQ(floats(scaled.bias), std::vector<float>(2, 2.f));
  };
  expect_scaled(
      optim::chain(optim::clip(1.0), optim::add_decayed_weights(0.1), optim::scale_by_adam()));
  expect_scaled(optim::MultiSteps(optim::adam(0.1), 2));
  expect_scaled(optim::lamb(0.1));
}

TEST(Optimizers, HalvesAreScaledAsFloats) {
  const auto optimizer = scale_then_privatize(optim::adam(1e-2));
  const Array params = zeros({2}, float16);
  const Array scaled = optimizer.pre_clipping_transform(optimizer.init(params))(ones({2}, float16));
  EXPECT_EQ(scaled.dtype(), float32);
  EXPECT_EQ(floats(scaled), std::vector<float>(2, 1e8f));
}

TEST(Optimizers, OthersAreAugmentedByNothing) {
  const auto plain = as_augmented(optim::sgd(0.5));
  static_assert(!plain.kTransforms);
  const Linear params = start(), gradient{array({.3f, -2.f}), full({3, 2}, 0.01f)};
  EXPECT_EQ(floats(plain.pre_clipping_transform(plain.init(params))(gradient).w),
            floats(gradient.w));
  EXPECT_EQ(floats(plain.update(gradient, plain.init(params)).first.bias),
            (std::vector<float>{-.15f, 1.f}));
  const auto scaled = as_augmented(scale_then_privatize(optim::adam(1e-2)));
  static_assert(scaled.kTransforms);
}

TEST(Optimizers, MistakesAreErrors) {
  const auto adam = optim::adam(1e-2);
  expect_error([&] { scale_then_privatize(adam, {.eps = -1}); },
               "[privacy::scale_then_privatize] expected a finite eps and eps_root of at least 0, "
               "got -1 and 0");
  expect_error([&] { scale_then_privatize(adam, {.eps_root = std::nan("")}); },
               "got 1e-08 and nan");
  expect_error([&] { scale_then_privatize(adam, {.eps = 0}); },
               "expected one of eps and eps_root above 0, got 0 for both");
  const Linear params = start();
  const auto centered = scale_then_privatize(optim::rmsprop(1e-2, {.centered = true}));
  expect_error([&] { centered.pre_clipping_transform(centered.init(params)); },
               "got one of centered RMSProp");
  const auto optimizer = scale_then_privatize(adam);
  const auto state = optimizer.init(params);
  const auto transform = optimizer.pre_clipping_transform(state);
  expect_error([&] { transform(std::pair(params.bias, params.w)); },
               "there is no leaf .bias in them");
  expect_error(
      [&] {
        transform(Linear{params.bias, zeros({2, 2})});
      },
      "got float32[3,2] for leaf .w whose gradient is float32[2,2]");
  expect_error(
      [&] {
        optimizer.update(Linear{params.bias, zeros({2, 2})}, state, params);
      },
      "[optim] expected the parameters to have the gradients' shapes");
}

}  // namespace
}  // namespace tessera::privacy::optimizers_test
