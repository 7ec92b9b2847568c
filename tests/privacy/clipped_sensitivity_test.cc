// The guarantee of clipping: one example moves the sum by at most C (1 + 1e-5), whatever its data,
// by every method and in every dtype. Examples whose tokens cancel are the hard ones: |sum of x_t
// g_t'| is much smaller than L, the sum of |x_t| |g_t|, and may be smaller than its rounding error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/privacy/cancelling.h"

namespace tessera::privacy::clipped_sensitivity_test {
namespace {

using helpers::bilinear;
using helpers::cancelling;
using helpers::norm;
using helpers::Tokens;
using helpers::tokens_of;

constexpr NormWay kMethods[] = {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep};

double moved(const Tokens& e, double clip, NormWay method, DType dtype = float32) {
  const Array w = zeros({e.p, e.q}, dtype);
  const Array sum =
      clipped_grad(bilinear, {.l2_clip_norm = clip, .batch_argnums = {1, 2}, .norm_way = method})(
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
        for (NormWay method : kMethods)
          EXPECT_LE(moved(e, 1e-3, method), 1e-3 * (1 + 1e-5))
              << e.name << " " << tokens << " " << p << " " << q << " rest " << rest << " way "
              << int(method);
}

TEST(ClippedSensitivity, CancellingTokensInHalves) {
  for (DType dtype : {bfloat16, float16})
    for (float rest : {1e-1f, 1e-2f, 0.0f})
      for (const Tokens& e : cancelling(128, 64, 64, rest, 1))
        for (NormWay method : kMethods)
          EXPECT_LE(moved(e, 1e-3, method, dtype), 1e-3 * (1 + 1e-5))
              << e.name << " rest " << rest << " way " << int(method);
}

// Squares of small numbers become 0 and squares of large ones infinite, but their product is
// neither.
TEST(ClippedSensitivity, SmallInputsAndLargeCotangents) {
  for (float x : {1e-19f, 1e-20f, 1e-22f, 1e-24f})
    for (int64_t tokens : {1, 2, 8})
      for (NormWay method : kMethods) {
        const Tokens e = tokens_of("", tokens, 64, 64, [&](int64_t, auto& xs, auto& gs) {
          std::fill(xs.begin(), xs.end(), x);
          std::fill(gs.begin(), gs.end(), 2e18f);
        });
        for (const Tokens& one : {e, Tokens{"", tokens, 64, 64, e.g, e.x}})
          EXPECT_LE(moved(one, 1e-7, method), 1e-7 * (1 + 1e-5)) << x << " way " << int(method);
      }
}

// Rows of a table: one token is looked up again and again, with cotangents that cancel.
TEST(ClippedSensitivity, CancellingLookups) {
  const auto loss = [](const Array& w, const Array& tokens, const Array& g) {
    return sum(take(w, tokens, {.axis = 0}) * g);
  };
  const Array tokens = zeros({1, 256}, int32), w = zeros({8, 64});
  for (float rest : {1e-1f, 1e-2f, 1e-3f, 1e-5f, 0.0f})
    for (const Tokens& e : cancelling(256, 1, 64, rest, 3))
      for (NormWay method : kMethods) {
        const Array sum =
            clipped_grad(loss, {.l2_clip_norm = 1e-3, .batch_argnums = {1, 2}, .norm_way = method})(
                w, tokens, e.gs());
        EXPECT_LE(norm(to_vector<float>(reshape(sum, {8 * 64}))), 1e-3 * (1 + 1e-5))
            << e.name << " rest " << rest << " way " << int(method);
      }
}

// One more example may change the rounding of the sum of all the others, but not by more than is
// accounted for.
TEST(ClippedSensitivity, OneOfManyExamples) {
  const auto loss = [](const Array& w, const Array& x) { return sum(w * x); };
  // In float32 one more example would change the sum of 2^18 examples by 49 or 50 units of 2^-6,
  // and 50 are too many.
  const auto clipped = clipped_grad(loss, {.l2_clip_norm = .77});
  const Array w = zeros({1});
  for (const int64_t size : {64, 1024, 1 << 14, 1 << 18}) {
    const Array x = random::uniform(random::key(size), {size + 8, 1}, float32, 1, 2);
    const auto sum_of = [&](int64_t examples) {
      return to_vector<double>(clipped(w, slice_in_dim(x, 0, examples, 0)))[0];
    };
    double last = sum_of(size - 8);
    for (int64_t examples = size - 7; examples <= size + 8; ++examples) {
      const double next = sum_of(examples);
      EXPECT_LE(std::abs(next - last), clipped.sensitivity()) << examples << " examples";
      last = next;
    }
  }
}

// Norms are raised for cancellation, and hardly where nothing cancels.
TEST(ClippedSensitivity, NormsAreHardlyRaised) {
  std::mt19937 random(0);
  std::normal_distribution<float> normal;
  const Tokens e = tokens_of("", 128, 64, 64, [&](int64_t, auto& x, auto& g) {
    for (float& v : x) v = normal(random);
    for (float& v : g) v = normal(random);
  });
  const auto norm_by = [&](NormWay method) {
    return clipped_value_and_grad(bilinear, {.batch_argnums = {1, 2}, .norm_way = method})(
               zeros({64, 64}), e.xs(), e.gs())
        .grad_norms.item<float>();
  };
  EXPECT_NEAR(norm_by(NormWay::kTiles) / norm_by(NormWay::kKeep), 1, 1e-6);
  EXPECT_NEAR(norm_by(NormWay::kFactors) / norm_by(NormWay::kKeep), 1, 2e-4);
}

}  // namespace
}  // namespace tessera::privacy::clipped_sensitivity_test
