#include "tessera/privacy/clipping/clipped_grad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/privacy/clipping/clip_pytree.h"
#include "tessera/tessera.h"
#include "tests/errors.h"
#include "tests/numpy/run.h"
#include "tests/privacy/materialised.h"

namespace tessera::privacy::clipped_grad_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const NormWay kMethods[] = {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep};

template <class T>
Array table(int64_t rows, int64_t columns, const T& element, DType dtype = float64) {
  std::vector<double> out;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out.push_back(element(i, j));
  return astype(reshape(array(out), {rows, columns}), dtype);
}

// The model of shared/reference/privacy.md, "Values".
struct Mlp {
  Array w1, b1, w2, b2;
};
Mlp reference_mlp(DType dtype = float64) {
  const auto row = [&](int64_t n, const auto& f) {
    return reshape(table(
                       1, n, [&](int64_t, int64_t j) { return f(j); }, dtype),
                   {n});
  };
  return {
      table(
          5, 4, [](int64_t i, int64_t j) { return .5 * std::sin(.3 * (4 * i + j) + .1); }, dtype),
      row(4, [](int64_t j) { return .1 * std::cos(j); }),
      table(
          4, 3, [](int64_t i, int64_t j) { return .5 * std::cos(.2 * (3 * i + j)); }, dtype),
      row(3, [](int64_t j) { return .05 * j; })};
}
Array reference_x(DType dtype = float64) {
  return table(
      6, 5, [](int64_t b, int64_t i) { return std::sin(5 * b + i + 1); }, dtype);
}
Array reference_loss(const Mlp& p, const Array& x, const Array& y) {
  const Array logits = matmul(tanh(matmul(x, p.w1) + p.b1), p.w2) + p.b2;
  return -mean(take_along_axis(log_softmax(logits), expand_dims(y, {-1}), -1));
}
const std::vector<double> kLosses{.923851344721,  1.091051449454, .841329671821,
                                  1.372805050800, 1.100193081215, 1.303228699073};
const std::vector<double> kNorms{1.478547593156, 1.096794998110, 1.300898369069,
                                 1.666820431207, 1.168638517007, 1.779433137100};

// |a - b| <= 1e-9.
MATCHER(AgreesTo1e9, "") { return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= 1e-9; }

class ReferenceMlp : public ::testing::TestWithParam<NormWay> {
 protected:
  auto gradients(ClipOptions options) const {
    options.batch_argnums = {1, 2};
    options.norm_way = GetParam();
    return clipped_value_and_grad(reference_loss, options)(reference_mlp(), reference_x(),
                                                           arange(6) % 3);
  }
  const tessera::test::X64 x64{true};
};

TEST_P(ReferenceMlp, LossesAndNormsAreByExample) {
  const auto out = gradients({.l2_clip_norm = kInfinity});
  EXPECT_EQ(out.grads.w1.dtype(), float64);
  EXPECT_THAT(to_vector<double>(out.values), Pointwise(AgreesTo1e9(), kLosses));
  EXPECT_THAT(to_vector<double>(out.grad_norms), Pointwise(AgreesTo1e9(), kNorms));
  EXPECT_NEAR(optim::global_norm(out.grads).item<double>(), 1.3416620295004382, 1e-9);
}

TEST_P(ReferenceMlp, ClippedTo1) {
  const Mlp g = gradients({.l2_clip_norm = 1.0}).grads;
  EXPECT_NEAR(optim::global_norm(g).item<double>(), 1.1997079981436871, 1e-9);
  EXPECT_NEAR(to_vector<double>(g.w1)[0], -.010708727857732166, 1e-9);
  EXPECT_NEAR(to_vector<double>(g.w2)[11], .1711001195934469, 1e-9);
  EXPECT_THAT(to_vector<double>(g.b2),
              Pointwise(AgreesTo1e9(), {.175711732611, -.322817573093, .147105840482}));
}

TEST_P(ReferenceMlp, RescaledIsTheSameOfAnyShortNorm) {
  const Mlp one = gradients({.l2_clip_norm = 1.0}).grads;
  for (double clip : {.5, 0.0, 1e-3}) {
    const Mlp g = gradients({.l2_clip_norm = clip, .rescale_to_unit_norm = true}).grads;
    EXPECT_LT(helpers::difference(g, one), 1e-9) << clip;
  }
}

TEST_P(ReferenceMlp, EdgesOfClipNorms) {
  EXPECT_EQ(optim::global_norm(gradients({.l2_clip_norm = 0.0}).grads).item<double>(), 0);
  const Mlp g = gradients({.l2_clip_norm = kInfinity, .rescale_to_unit_norm = true}).grads;
  EXPECT_EQ(optim::global_norm(g).item<double>(), 0);
}

TEST_P(ReferenceMlp, IsDividedLast) {
  const Mlp one = gradients({.l2_clip_norm = 1.0}).grads,
            g = gradients({.l2_clip_norm = 1.0, .normalize_by = 6}).grads;
  EXPECT_NEAR(to_vector<double>(g.w2)[11], to_vector<double>(one.w2)[11] / 6, 1e-15);
}

TEST_P(ReferenceMlp, MicrobatchesGiveTheSame) {
  const auto whole = gradients({.l2_clip_norm = 1.2});
  for (int64_t size : {1, 2, 3, 6}) {
    const auto out = gradients({.l2_clip_norm = 1.2, .microbatch_size = size});
    EXPECT_LT(helpers::difference(out.grads, whole.grads), 1e-9) << size;
    EXPECT_THAT(to_vector<double>(out.values), Pointwise(AgreesTo1e9(), kLosses)) << size;
    EXPECT_THAT(to_vector<double>(out.grad_norms), Pointwise(AgreesTo1e9(), kNorms)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ReferenceMlp, ::testing::ValuesIn(kMethods));

// ---- The examples of jax_privacy's documentation. ----

Array half_square(const Array& param, const Array& data) {
  return 0.5f * mean(square(data - param));
}

TEST(ClippedGrad, OfAScalarParameter) {
  const auto g = clipped_value_and_grad(half_square, {.l2_clip_norm = kInfinity});
  const auto out = g(Array(3.0f), array({0.0f, 7.0f, -2.0f}));
  EXPECT_EQ(out.grads.item<float>(), 4);
  EXPECT_THAT(to_vector<float>(out.values), ElementsAre(4.5, 8, 12.5));
  EXPECT_THAT(to_vector<float>(out.grad_norms), ElementsAre(3, 4, 5));
}

TEST(ClippedGrad, OfUsers) {
  const auto g = clipped_grad(half_square, {.l2_clip_norm = kInfinity, .keep_batch_dim = false});
  EXPECT_EQ(g(Array(3.0f), array({{1.0f, -1.0f}, {2.0f, 2.0f}, {0.0f, 3.0f}})).item<float>(), 5.5f);
}

TEST(ClippedFun, SumsClippedValues) {
  const auto clipped_mean = clipped_fun([](const Array& x) { return mean(x); });
  EXPECT_EQ(clipped_mean(array({0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f})).item<float>(), 5);
}

TEST(ClippedFun, OfATreeAndWhatIsBeside) {
  const auto f = clipped_fun(
      [](const Array& x) {
        return std::pair(std::tuple(sum(x), 2 * sum(x)), std::pair(x, sum(square(x))));
      },
      {.l2_clip_norm = 5.0});
  const auto [sums, aux] = f(array({{3.0f, 0.0f}, {0.0f, 1.0f}, {-2.0f, 5.0f}}));
  // The norms are sqrt(5) * (3, 1, 3), so the first and last are scaled by sqrt(5) / 3.
  const float s = std::sqrt(5.0f) / 3;
  EXPECT_FLOAT_EQ(std::get<0>(sums).item<float>(), 3 * s + 1 + 3 * s);
  EXPECT_FLOAT_EQ(std::get<1>(sums).item<float>(), 2 * (3 * s + 1 + 3 * s));
  // The function returns [1, 2] for each example; the dimension of 1 is removed.
  EXPECT_EQ(aux.first.shape(), (Shape{3, 2}));
  EXPECT_THAT(to_vector<float>(aux.second), ElementsAre(9, 1, 29));
}

TEST(ClippedFun, OfTwoBatchesWithSharedArguments) {
  const auto f = clipped_fun(
      [](const Array& x, const Array& w, const Array& y) { return sum(x * w) - sum(y); },
      {.l2_clip_norm = 2.0, .normalize_by = 2, .batch_argnums = {0, 2}});
  EXPECT_EQ(f(array({1.0f, 4.0f}), Array(3.0f), array({2.0f, 2.0f})).item<float>(), 1.5f);
}

TEST(ClippedFun, SkipsPaddingAndMicrobatches) {
  const Array x = array({kNan, 1.0f, 2.0f, 3.0f, kNan, kNan});
  const Array padding = array({true, false, false, false, true, true});
  for (NanSafe nan_safe : {NanSafe::kElement, NanSafe::kExample, NanSafe::kNo})
    for (std::optional<int64_t> m : {std::optional<int64_t>(), std::optional<int64_t>(1),
                                     std::optional<int64_t>(2), std::optional<int64_t>(3)}) {
      const auto f = clipped_fun([](const Array& x) { return std::pair(sum(x), sum(2 * x)); },
                                 {.l2_clip_norm = 2.5, .microbatch_size = m, .nan_safe = nan_safe});
      const auto [total, twice] = f(x, Padding{padding});
      EXPECT_EQ(total.item<float>(), 5.5f);
      EXPECT_EQ(to_vector<float>(twice)[3], 6);
    }
}

TEST(ClippedFun, RefusesIntegers) {
  tessera::test::expect_error(
      [] { clipped_fun([](const Array& x) { return sum(x); })(arange(4)); },
      "[clipped_fun] expected floating-point or complex numbers to clip, got int32[]; use astype");
}

// ---- Forms. ----

struct Two {
  Array w, v;
};
Array two_loss(const Two& p, const Array& q, const Array& x, const Array& y) {
  return mean(square(matmul(tanh(matmul(x, p.w)), p.v) + matmul(x, q) - y));
}
Array noise(uint64_t seed, const Shape& shape, float scale = 1) {
  return scale * random::normal(random::key(seed), shape);
}
struct TwoData {
  Two p{noise(0, {4, 5}), noise(1, {5, 2})};
  Array q = noise(2, {4, 2}), x = noise(3, {8, 4}), y = noise(4, {8, 2});
};

TEST(ClippedGrad, BySeveralArguments) {
  const TwoData d;
  const ClipOptions options{.l2_clip_norm = 3.0, .batch_argnums = {2, 3}};
  const auto [by_p, by_q] = clipped_grad<0, 1>(two_loss, options)(d.p, d.q, d.x, d.y);
  const auto [by_q2, by_p2] = clipped_grad<1, 0>(two_loss, options)(d.p, d.q, d.x, d.y);
  Array q = zeros({4, 2});
  Array w = zeros({4, 5});
  for (int64_t b = 0; b < 8; ++b) {
    const auto g = grad<0, 1>(two_loss)(d.p, d.q, slice_in_dim(d.x, b, b + 1, 0),
                                        slice_in_dim(d.y, b, b + 1, 0));
    const auto clipped = clip_pytree(g, 3).first;
    w = w + std::get<0>(clipped).w;
    q = q + std::get<1>(clipped);
  }
  EXPECT_LT(helpers::difference(by_q, q), 1e-5);
  EXPECT_LT(helpers::difference(by_p.w, w), 1e-5);
  EXPECT_LT(helpers::difference(by_q2, q), 1e-5);
  EXPECT_LT(helpers::difference(by_p2.w, w), 1e-5);
  // The gradient by the second parameter alone has norms of its own.
  const auto alone = clipped_value_and_grad<1>(two_loss, options)(d.p, d.q, d.x, d.y);
  EXPECT_EQ(alone.grads.shape(), (Shape{4, 2}));
  EXPECT_LT(max(alone.grad_norms).item<float>(),
            max(clipped_value_and_grad<0, 1>(two_loss, options)(d.p, d.q, d.x, d.y).grad_norms)
                .item<float>());
}

TEST(ClippedGrad, GivesWhatTheLossReturnsBeside) {
  const auto loss = [](const Array& w, const Array& x) {
    const Array h = matmul(x, w);  // [1, 3]
    return std::pair(sum(square(h)), std::map<std::string, Array>{{"h", h}, {"n", Array(7)}});
  };
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 4});
  const auto [g, aux] = clipped_grad(loss, {.l2_clip_norm = 1.0})(w, x);
  EXPECT_EQ(g.shape(), (Shape{4, 3}));
  EXPECT_EQ(aux.at("h").shape(), (Shape{6, 3}));
  EXPECT_LT(max(abs(aux.at("h") - matmul(x, w))).item<float>(), 1e-5f);
  EXPECT_THAT(to_vector<int>(aux.at("n")), Each(7));
  const auto out = clipped_value_and_grad(loss, {.l2_clip_norm = 1.0, .microbatch_size = 2})(w, x);
  EXPECT_LT(max(abs(out.aux.at("h") - matmul(x, w))).item<float>(), 1e-5f);
  EXPECT_LT(max(abs(out.values - sum(square(matmul(x, w)), {.axis = 1}))).item<float>(), 1e-4f);
}

TEST(ClippedGrad, SeesExamplesWithAndWithoutTheBatchDimension) {
  std::vector<Shape> seen;
  const auto loss = [&](const Array& w, const Array& x) {
    seen.push_back(x.shape());
    return mean(square(matmul(x, w)));
  };
  const Array w = noise(0, {4, 3}), x = noise(1, {6, 4});
  const Array with = clipped_grad(loss, {})(w, x),
              without = clipped_grad(loss, {.keep_batch_dim = false})(w, x);
  // The loss is also traced once with all examples, to find ops that mix them (one_example.h).
  EXPECT_THAT(seen, ElementsAre(Shape{1, 4}, Shape{53, 4}, Shape{4}));
  EXPECT_LT(helpers::difference(without, with), 1e-6);
}

TEST(ClippedGrad, OutputsOfMicrobatchesReturnInOrder) {
  const auto loss = [](const Array& w, const Array& x, const Array& i) {
    return std::pair(sum(square(w * x)), i);
  };
  const auto out = clipped_value_and_grad(
      loss, {.l2_clip_norm = 1.0, .batch_argnums = {1, 2}, .microbatch_size = 3})(
      ones({2}), ones({12, 2}), arange(12));
  EXPECT_THAT(to_vector<int>(out.aux), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(ClippedGrad, SensitivityFollowsTheRelation) {
  const double rounded = rounding_factor(kFloat32Examples);
  const auto of = [&](ClipOptions options, NeighboringRelation r) {
    return clipped_grad(half_square, options).sensitivity(r) / rounded;
  };
  EXPECT_DOUBLE_EQ(clipped_grad(half_square, {.l2_clip_norm = 3.0}).sensitivity(), 3 * rounded);
  EXPECT_DOUBLE_EQ(of({.l2_clip_norm = 3.0}, NeighboringRelation::kAddOrRemoveOne), 3);
  EXPECT_DOUBLE_EQ(of({.l2_clip_norm = 3.0}, NeighboringRelation::kReplaceOne), 6);
  EXPECT_DOUBLE_EQ(of({.l2_clip_norm = 3.0, .normalize_by = 4}, NeighboringRelation::kReplaceOne),
                   1.5);
  EXPECT_DOUBLE_EQ(of({.l2_clip_norm = 3.0, .rescale_to_unit_norm = true, .normalize_by = 4},
                      NeighboringRelation::kReplaceSpecial),
                   .25);
  EXPECT_DOUBLE_EQ(clipped_fun(half_square, {.l2_clip_norm = 3.0}).sensitivity(), 3 * rounded);
  EXPECT_DOUBLE_EQ(
      clipped_grad(half_square, {.l2_clip_norm = Array(3.0f), .rescale_to_unit_norm = true})
          .sensitivity(),
      rounded);
  tessera::test::expect_error(
      [] { clipped_grad(half_square, {.l2_clip_norm = Array(3.0f)}).sensitivity(); },
      "expected an l2_clip_norm that is a number, got an Array");
}

TEST(ClippedGrad, SensitivityCountsWhatFloat32Rounds) {
  EXPECT_NEAR(rounding_factor(64), 1.0005, 5e-5);
  EXPECT_NEAR(rounding_factor(256), 1.0021, 5e-5);
  EXPECT_NEAR(rounding_factor(1024), 1.0092, 5e-5);
  EXPECT_DOUBLE_EQ(
      clipped_grad(half_square, {.l2_clip_norm = 3.0, .float32_examples = 64}).sensitivity(),
      3 * rounding_factor(64));
}

TEST(ClippedGrad, AnotherArrayAsClipNormDoesNotCompileAnew) {
  int traces = 0;
  const auto step = jit([&](const Array& w, const Array& x, const Array& clip) {
    ++traces;
    return clipped_grad(half_square, {.l2_clip_norm = clip})(w, x);
  });
  const Array x = array({0.0f, 7.0f, -2.0f});
  EXPECT_EQ(step(Array(3.0f), x, Array(100.0f)).item<float>(), 4);
  EXPECT_EQ(step(Array(3.0f), x, Array(1.0f)).item<float>(), 1);
  EXPECT_EQ(step(Array(3.0f), x, Array(-1.0f)).item<float>(), 0);
  EXPECT_EQ(traces, 1);
}

TEST(ClippedGrad, TransformsBeforeItClips) {
  const TwoData d;
  const ClipOptions options{.l2_clip_norm = 2.0, .batch_argnums = {2, 3}, .microbatch_size = 4};
  const auto transform = [](const Two& g) { return std::pair(3 * g.w, sum(g.v, {.axis = 0})); };
  const auto out = clipped_value_and_grad(two_loss, options, transform)(d.p, d.q, d.x, d.y);
  const auto plain = clipped_value_and_grad(two_loss, options)(d.p, d.q, d.x, d.y);
  Array w = zeros({4, 5});
  for (int64_t b = 0; b < 8; ++b) {
    const Two g =
        grad(two_loss)(d.p, d.q, slice_in_dim(d.x, b, b + 1, 0), slice_in_dim(d.y, b, b + 1, 0));
    w = w + clip_pytree(transform(g), 2).first.first;
  }
  EXPECT_LT(helpers::difference(out.grads.first, w), 1e-5);
  EXPECT_EQ(out.grads.second.shape(), Shape{2});
  EXPECT_LT(helpers::difference(out.grad_norms, plain.grad_norms), 1e-5);
  EXPECT_LT(helpers::difference(out.values, plain.values), 1e-5);
}

// ---- Padding. ----

TEST(ClippedGrad, PaddingContributesNothingWhateverItsData) {
  const TwoData d;
  const Array padding = array({false, true, false, false, true, true, false, true});
  const Array mask = expand_dims(padding, {1});
  const Array bad = where(mask, Array(kNan), d.x);
  ClipOptions options{.l2_clip_norm = 3.0, .batch_argnums = {2, 3}};
  Two expected{zeros({4, 5}), zeros({5, 2})};
  for (int64_t b : {0, 2, 3, 6}) {
    const Two g = clip_pytree(grad(two_loss)(d.p, d.q, slice_in_dim(d.x, b, b + 1, 0),
                                             slice_in_dim(d.y, b, b + 1, 0)),
                              3)
                      .first;
    expected = {expected.w + g.w, expected.v + g.v};
  }
  for (NormWay method : kMethods)
    for (NanSafe nan_safe : {NanSafe::kElement, NanSafe::kExample, NanSafe::kNo})
      for (std::optional<int64_t> m : {std::optional<int64_t>(), std::optional<int64_t>(2)})
        for (const Array& x : {d.x, bad}) {
          options.norm_way = method, options.nan_safe = nan_safe, options.microbatch_size = m;
          const Two g = clipped_grad(two_loss, options)(d.p, d.q, x, d.y, Padding{padding});
          EXPECT_LT(helpers::difference(g, expected), 1e-5)
              << "way " << int(method) << " nan_safe " << int(nan_safe) << " microbatch "
              << m.value_or(8) << (&x == &d.x ? "" : " NaN");
        }
}

TEST(ClippedGrad, MicrobatchesOfPaddingAloneGiveZeros) {
  const TwoData d;
  const ClipOptions options{.l2_clip_norm = 3.0, .batch_argnums = {2, 3}, .microbatch_size = 2};
  // Microbatch i has the examples i and i + 4: microbatch 3 has only padding.
  const Array padding = array({false, false, false, true, false, false, true, true});
  const auto out = clipped_value_and_grad(two_loss, options)(d.p, d.q, d.x, d.y, Padding{padding});
  const std::vector<float> values = to_vector<float>(out.values),
                           norms = to_vector<float>(out.grad_norms);
  EXPECT_EQ(values[3], 0);
  EXPECT_EQ(values[7], 0);
  EXPECT_EQ(norms[7], 0);
  // Padding is read as zeros.
  const auto zeros_at_6 = clipped_value_and_grad(two_loss, options)(
      d.p, d.q, where(expand_dims(padding, {1}), zeros_like(d.x), d.x),
      where(expand_dims(padding, {1}), zeros_like(d.y), d.y));
  EXPECT_FLOAT_EQ(values[6], to_vector<float>(zeros_at_6.values)[6]);
  const Array nothing = full({8}, true);
  EXPECT_EQ(
      optim::global_norm(clipped_grad(two_loss, options)(d.p, d.q, d.x, d.y, Padding{nothing}))
          .item<float>(),
      0);
}

// ---- Examples that are not finite. ----

// Its gradients are x and x^2.
Array linear_loss(const Two& p, const Array& x) { return sum(p.w * x) + sum(p.v * x * x); }
struct NotFinite {
  Two p{ones({3}), ones({3})};
  Array x = array({{1.0f, 2.0f, 3.0f},
                   {kNan, 1.0f, 1.0f},
                   {std::numeric_limits<float>::infinity(), .5f, .5f},
                   {0.0f, 0.0f, 0.0f}});
};

// Values of jax_privacy 2.0.0 with nan_safe = True.
TEST(ClippedGrad, ElementsThatAreNotFiniteCountAsZero) {
  const NotFinite d;
  for (NormWay method : {NormWay::kTiles, NormWay::kKeep}) {
    const auto of = [&](double clip, bool rescale) {
      return clipped_value_and_grad(linear_loss, {.l2_clip_norm = clip,
                                                  .rescale_to_unit_norm = rescale,
                                                  .nan_safe = NanSafe::kElement,
                                                  .norm_way = method})(d.p, d.x);
    };
    const auto near = [](const Array& got, const std::vector<float>& expected) {
      EXPECT_THAT(to_vector<float>(got), Pointwise(FloatNear(2e-6f), expected));
    };
    for (bool rescale : {false, true}) {
      const Two one = of(1, rescale).grads;
      near(one.w, {0.09449112415313721f, 1.1889822483062744f, 1.2834733724594116f});
      near(one.v, {0.09449112415313721f, 1.1279644966125488f, 1.6004201173782349f});
    }
    near(of(0, true).grads.w, {0.09449112415313721f, 1.3214378356933594f, 1.415928840637207f});
    near(of(0, true).grads.v, {0.09449112415313721f, 1.1941922903060913f, 1.6666479110717773f});
    near(of(kInfinity, false).grads.w, {1, 3.5, 4.5});
    near(of(kInfinity, false).grads.v, {1, 5.25, 10.25});
    near(of(kInfinity, true).grads.w, {0, 0, 0});
    const std::vector<float> norms = to_vector<float>(of(1, false).grad_norms);
    EXPECT_FLOAT_EQ(norms[0], 10.583005f);
    EXPECT_TRUE(std::isnan(norms[1]));
    EXPECT_TRUE(std::isinf(norms[2]));
    EXPECT_LT(norms[3], 1e-12f);
  }
}

TEST(ClippedGrad, ExamplesThatAreNotFiniteCountAsZero) {
  const NotFinite d;
  const auto g = clipped_grad(linear_loss, {.l2_clip_norm = 1.0, .nan_safe = NanSafe::kExample});
  const Two sum = g(d.p, d.x);
  const std::vector<float> w = to_vector<float>(sum.w), v = to_vector<float>(sum.v);
  EXPECT_FLOAT_EQ(w[2], 3 / 10.583005f);
  EXPECT_FLOAT_EQ(v[2], 9 / 10.583005f);
  EXPECT_FLOAT_EQ(v[0], 1 / 10.583005f);
}

TEST(ClippedGrad, OrTheyMakeTheSumSo) {
  const NotFinite d;
  const Two sum =
      clipped_grad(linear_loss, {.l2_clip_norm = 1.0, .nan_safe = NanSafe::kNo})(d.p, d.x);
  EXPECT_TRUE(std::isnan(to_vector<float>(sum.w)[0]));
}

// The squares of such gradients are out of the range of float32.
TEST(ClippedGrad, LargeAndSmallGradientsAreClippedRight) {
  const Array x = array({{3e25f, 4e25f}, {3e-25f, 4e-25f}});
  const auto loss = [](const Array& w, const Array& x) { return sum(w * x); };
  for (NormWay method : {NormWay::kTiles, NormWay::kKeep}) {
    const Array sum = clipped_grad(
        loss, {.l2_clip_norm = 2, .rescale_to_unit_norm = true, .norm_way = method})(ones({2}), x);
    EXPECT_THAT(to_vector<float>(sum), Pointwise(FloatNear(1e-6f), {.6f, .8f}));
    const Array unit = clipped_grad(
        loss, {.l2_clip_norm = 0, .rescale_to_unit_norm = true, .norm_way = method})(ones({2}), x);
    EXPECT_THAT(to_vector<float>(unit), Pointwise(FloatNear(1e-6f), {1.2f, 1.6f}));
  }
}

// The parameter is a matrix: every method is tested with inputs that are not finite at some tokens.
TEST(ClippedGrad, NotFiniteUnderEveryWay) {
  const auto loss = [](const Array& w, const Array& x) { return sum(sin(matmul(x, w))); };
  const Array w = noise(0, {4, 3}), x = noise(1, {5, 6, 4});
  const Array at = reshape(arange(5 * 6 * 4) == 2 * 24 + 3 * 4 + 1, {5, 6, 4});
  for (float bad : {kNan, float(kInfinity)}) {
    const Array broken = where(at, Array(bad), x);
    for (NanSafe nan_safe : {NanSafe::kElement, NanSafe::kExample}) {
      Array expected = zeros({4, 3});
      for (int64_t b = 0; b < 5; ++b)
        expected = expected + clip_pytree(grad(loss)(w, slice_in_dim(broken, b, b + 1, 0)), .5,
                                          false, nan_safe)
                                  .first;
      for (NormWay method : kMethods) {
        const Array g = clipped_grad(
            loss, {.l2_clip_norm = .5, .nan_safe = nan_safe, .norm_way = method})(w, broken);
        EXPECT_LT(helpers::difference(g, expected), 1e-5) << bad << " way " << int(method);
      }
    }
  }
}

// ---- Keys. ----

// Values of jax_privacy 2.0.0, equal to the bit except for the last bit of sums.
TEST(ClippedGrad, ExamplesHaveTheirKeys) {
  const auto loss = [](const Array& w, const Array& x, const random::Key& key) {
    return mean(sum(w * random::normal(key, {3}) * x));
  };
  const Array w = array({1.0f, 2.0f, 3.0f}), x = reshape(arange(12.0f), {4, 3}) / 7;
  for (std::optional<int64_t> m : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    const auto out = clipped_value_and_grad(
        loss, {.l2_clip_norm = .5, .microbatch_size = m, .prng_argnum = 2})(w, x, random::key(7));
    EXPECT_THAT(to_vector<float>(out.grads),
                Pointwise(FloatNear(1e-6f), {-0x1.112028p-2f, 0x1.00facp-3f, -0x1.923eb6p-2f}));
    EXPECT_THAT(to_vector<float>(out.grad_norms),
                Pointwise(FloatNear(1e-6f),
                          {0x1.34818p-3f, 0x1.34639cp-1f, 0x1.224baap+1f, 0x1.ba5426p+0f}));
  }
}

TEST(ClippedGrad, KeysAreThoseOfSplit) {
  const auto loss = [](const Array& w, const Array& x, const random::Key& key) {
    return std::pair(sum(w * x), key.data);
  };
  const auto [g, keys] = clipped_grad(loss, {.microbatch_size = 2, .prng_argnum = 2})(
      ones({2}), ones({6, 2}), random::key(3));
  EXPECT_EQ(to_vector<uint32_t>(keys), to_vector<uint32_t>(random::split(random::key(3), 6).data));
}

}  // namespace
}  // namespace tessera::privacy::clipped_grad_test
