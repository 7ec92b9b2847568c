// The guarantee of clipping: one example moves the sum by at most C (1 + 1e-5), whatever its data,
// in every way and dtype. Examples whose tokens cancel are the hard ones: |sum of x_t g_t'| is much
// smaller than L, the sum of |x_t| |g_t|, and so may be smaller than what rounding leaves of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/privacy/materialised.h"

namespace tessera::privacy {
namespace {

constexpr NormWay kWays[] = {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep};

// The gradient by w [p, q] of an example is x' g: x [tokens, p], g [tokens, q].
Array bilinear(const Array& w, const Array& x, const Array& g) {
  return sum(astype(matmul(x, w) * g, float32));
}

struct Tokens {
  std::string name;
  int64_t tokens, p, q;
  std::vector<float> x, g;
  Array xs() const { return reshape(array(x), {1, tokens, p}); }
  Array gs() const { return reshape(array(g), {1, tokens, q}); }
};

double norm(const std::vector<float>& v) {
  double squares = 0;
  for (double x : v) squares += x * x;
  return std::sqrt(squares);
}

// fill(t, x_t, g_t) for every token.
template <class F>
Tokens tokens_of(std::string name, int64_t tokens, int64_t p, int64_t q, const F& fill) {
  Tokens out{std::move(name), tokens, p, q, {}, {}};
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<float> x(static_cast<size_t>(p)), g(static_cast<size_t>(q));
    fill(t, x, g);
    out.x.insert(out.x.end(), x.begin(), x.end());
    out.g.insert(out.g.end(), g.begin(), g.end());
  }
  return out;
}

// Of which a share `rest` does not cancel.
std::vector<Tokens> cancelling(int64_t tokens, int64_t p, int64_t q, float rest, uint64_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> mantissa(1, 2);
  using Row = std::vector<float>;
  const auto draw = [&](Row& row) {
    for (float& v : row) v = normal(random);
  };
  Row a(static_cast<size_t>(p)), b(static_cast<size_t>(q));
  draw(a), draw(b);
  const float c = mantissa(random), d = mantissa(random), e = mantissa(random);
  const auto sign = [&](int64_t t) { return t % 2 == 0 ? 1.0f : -1.0f; };
  return {
      tokens_of("one token again and again", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  for (size_t i = 0; i < x.size(); ++i) x[i] = a[i] + rest * normal(random);
                  for (size_t j = 0; j < g.size(); ++j) g[j] = sign(t) * b[j];
                }),
      tokens_of("pairs", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  if (t % 2 == 0) draw(a), draw(b);
                  x = a;
                  for (size_t j = 0; j < g.size(); ++j)
                    g[j] = sign(t) * b[j] + rest * normal(random);
                }),
      // All terms of a dot alike round the same way.
      tokens_of("constants", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  std::fill(x.begin(), x.end(), c);
                  std::fill(g.begin(), g.end(), sign(t) * d + (t == 0 ? rest : 0));
                }),
      tokens_of("two constants", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  std::fill(x.begin(), x.end(), t % 2 == 0 ? c : e);
                  std::fill(g.begin(), g.end(), (t % 2 == 0 ? d : -d * c / e) * (1 + rest));
                }),
      tokens_of("first half against second", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  std::fill(x.begin(), x.end(), c);
                  std::fill(g.begin(), g.end(), t < tokens / 2 ? d : -d * (1 + rest));
                }),
      tokens_of("many scales", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  const float scale = std::exp(3 * normal(random));
                  for (size_t i = 0; i < x.size(); ++i) x[i] = a[i] * scale;
                  for (size_t j = 0; j < g.size(); ++j)
                    g[j] = sign(t) * b[j] / scale * (1 + rest * normal(random));
                }),
  };
}

double moved(const Tokens& e, double clip, NormWay way, DType dtype = float32) {
  const Array w = zeros({e.p, e.q}, dtype);
  const Array sum =
      clipped_grad(bilinear, {.l2_clip_norm = clip, .batch_argnums = {1, 2}, .norm_way = way})(
          w, astype(e.xs(), dtype), astype(e.gs(), dtype));
  return norm(to_vector<float>(reshape(sum, {e.p * e.q})));
}

struct Size {
  int64_t tokens, p, q;
};
constexpr Size kSizes[] = {{128, 64, 64}, {512, 64, 256}, {128, 1024, 64}, {256, 256, 256}};

TEST(ClippedSensitivity, CancellingTokens) {
  for (const auto& [tokens, p, q] : kSizes)
    for (float rest : {1e-1f, 1e-2f, 3e-3f, 1e-3f, 1e-4f, 1e-6f, 0.0f})
      for (const Tokens& e : cancelling(tokens, p, q, rest, uint64_t(tokens + p + q)))
        for (NormWay way : kWays)
          EXPECT_LE(moved(e, 1e-3, way), 1e-3 * (1 + 1e-5))
              << e.name << " " << tokens << " " << p << " " << q << " rest " << rest << " way "
              << int(way);
}

TEST(ClippedSensitivity, CancellingTokensInHalves) {
  for (DType dtype : {bfloat16, float16})
    for (float rest : {1e-1f, 1e-2f, 0.0f})
      for (const Tokens& e : cancelling(128, 64, 64, rest, 1))
        for (NormWay way : kWays)
          EXPECT_LE(moved(e, 1e-3, way, dtype), 1e-3 * (1 + 1e-5))
              << e.name << " rest " << rest << " way " << int(way);
}

// Squares of small numbers are 0, of large ones infinite; their product is neither.
TEST(ClippedSensitivity, SmallInputsAndLargeCotangents) {
  for (float x : {1e-19f, 1e-20f, 1e-22f, 1e-24f})
    for (int64_t tokens : {1, 2, 8})
      for (NormWay way : kWays) {
        const Tokens e = tokens_of("", tokens, 64, 64, [&](int64_t, auto& xs, auto& gs) {
          std::fill(xs.begin(), xs.end(), x);
          std::fill(gs.begin(), gs.end(), 2e18f);
        });
        for (const Tokens& one : {e, Tokens{"", tokens, 64, 64, e.g, e.x}})
          EXPECT_LE(moved(one, 1e-7, way), 1e-7 * (1 + 1e-5)) << x << " way " << int(way);
      }
}

// Looked-up rows: a token that occurs again and again, with cotangents that cancel.
TEST(ClippedSensitivity, CancellingLookups) {
  const auto loss = [](const Array& w, const Array& tokens, const Array& g) {
    return sum(take(w, tokens, {.axis = 0}) * g);
  };
  const Array tokens = zeros({1, 256}, int32), w = zeros({8, 64});
  for (float rest : {1e-1f, 1e-2f, 1e-3f, 1e-5f, 0.0f})
    for (const Tokens& e : cancelling(256, 1, 64, rest, 3))
      for (NormWay way : kWays) {
        const Array sum =
            clipped_grad(loss, {.l2_clip_norm = 1e-3, .batch_argnums = {1, 2}, .norm_way = way})(
                w, tokens, e.gs());
        EXPECT_LE(norm(to_vector<float>(reshape(sum, {8 * 64}))), 1e-3 * (1 + 1e-5))
            << e.name << " rest " << rest << " way " << int(way);
      }
}

// The raise is for cancellation: it is small where nothing cancels.
TEST(ClippedSensitivity, NormsAreHardlyRaised) {
  std::mt19937 random(0);
  std::normal_distribution<float> normal;
  const Tokens e = tokens_of("", 128, 64, 64, [&](int64_t, auto& x, auto& g) {
    for (float& v : x) v = normal(random);
    for (float& v : g) v = normal(random);
  });
  const auto norm_by = [&](NormWay way) {
    return clipped_value_and_grad(bilinear, {.batch_argnums = {1, 2}, .norm_way = way})(
               zeros({64, 64}), e.xs(), e.gs())
        .grad_norms.item<float>();
  };
  EXPECT_NEAR(norm_by(NormWay::kTiles) / norm_by(NormWay::kKeep), 1, 1e-6);
  EXPECT_NEAR(norm_by(NormWay::kFactors) / norm_by(NormWay::kKeep), 1, 2e-4);
}

}  // namespace
}  // namespace tessera::privacy
