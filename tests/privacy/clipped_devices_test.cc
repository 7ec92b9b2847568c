// Clipped gradients on eight devices: the same values under any sharding, and what devices
// communicate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/privacy/materialised.h"

namespace tessera::privacy::clipped_devices_test {
namespace {

struct Mlp {
  Array w1, b1, w2;
};

class ClippedDevices : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:8"}); }

  static Array noise(uint64_t seed, const Shape& shape, float scale = 1) {
    return scale * random::normal(random::key(seed), shape);
  }
  static Array loss(const Mlp& p, const Array& x, const Array& y) {
    return mean(square(matmul(tanh(matmul(x, p.w1) + p.b1), p.w2) - y));
  }
  Array placed(const Array& x, const PartitionSpec& spec) const {
    return device_put(x, NamedSharding(mesh, spec));
  }
  static int64_t bytes(const std::vector<Collective>& all) {
    int64_t sum = 0;
    for (const Collective& c : all) sum += c.bytes_per_device * std::max<int64_t>(1, c.times);
    return sum;
  }

  const Mesh mesh = make_mesh({4, 2}, {"data", "model"});
  const Mlp p{noise(0, {16, 32}, .3f), noise(1, {32}), noise(2, {32, 8}, .3f)};
  const Array x = noise(3, {64, 16}), y = noise(4, {64, 8});
  const Mlp placed_p{placed(p.w1, P(None, "model")), placed(p.b1, P("model")),
                     placed(p.w2, P("model", None))};
  const Array placed_x = placed(x, P("data", None)), placed_y = placed(y, P("data", None));
  const ClipOptions options{.l2_clip_norm = .5, .batch_argnums = {1, 2}};
};

TEST_F(ClippedDevices, AnyShardingGivesTheSame) {
  const auto expected = clipped_value_and_grad(loss, options)(p, x, y);
  for (std::optional<NormWay> method :
       {std::optional<NormWay>(), std::optional(NormWay::kFactors), std::optional(NormWay::kTiles),
        std::optional(NormWay::kKeep)})
    for (std::optional<int64_t> m : {std::optional<int64_t>(), std::optional<int64_t>(16)}) {
      ClipOptions of = options;
      of.norm_way = method, of.microbatch_size = m;
      const auto out = jit(clipped_value_and_grad(loss, of))(placed_p, placed_x, placed_y);
      EXPECT_LT(helpers::difference(out.grads, expected.grads), 1e-5);
      EXPECT_LT(helpers::difference(out.grad_norms, expected.grad_norms), 1e-5);
      EXPECT_LT(helpers::difference(out.values, expected.values), 1e-5);
    }
}

// The batch is sharded over data and the weights over model: there are the collectives of the plain
// step, and B numbers for each parameter.
TEST_F(ClippedDevices, CommunicatesWhatTrainingDoes) {
  const auto plain =
      jit(grad([](const Mlp& p, const Array& x, const Array& y) { return 64 * loss(p, x, y); }));
  const auto clipped = jit(clipped_grad(loss, options));
  const std::vector<Collective> of_plain = plain.lower(placed_p, placed_x, placed_y).collectives();
  const Lowered lowered = clipped.lower(placed_p, placed_x, placed_y);
  const int64_t numbers = 3 * 64 * 4 * 2 + 64;
  const CommBudget budget{.bytes_per_device = bytes(of_plain) + numbers,
                          .forbid = {"all_gather", "all_to_all", "collective_permute"}};
  expect_within(budget, lowered.collectives());
}

// The norms of sequences need products of all pairs of tokens, which no device sends. Devices send
// at most a length for each token, for the bound of the rounding.
TEST_F(ClippedDevices, SequencesCommunicateLengthsOfTokensAtMost) {
  constexpr int64_t kTokens = 48;
  const Array tokens = placed(noise(5, {64, kTokens, 16}), P("data")),
              targets = placed(noise(6, {64, kTokens, 8}), P("data"));
  ClipOptions of = options;
  of.norm_way = NormWay::kFactors;
  const auto plain =
      jit(grad([](const Mlp& p, const Array& x, const Array& y) { return 64 * loss(p, x, y); }));
  const Lowered lowered = jit(clipped_grad(loss, of)).lower(placed_p, tokens, targets);
  EXPECT_THAT(lowered.explain(), ::testing::HasSubstr("gram"));
  const int64_t examples = 64 / 4;
  // Two lists of lengths are sent, in two directions, for each of three parameters; `numbers` are
  // for each example.
  const int64_t lengths = 3 * 2 * 2 * examples * kTokens * 4, numbers = 3 * 2 * 64 * 8;
  const CommBudget budget{
      .bytes_per_device =
          bytes(plain.lower(placed_p, tokens, targets).collectives()) + lengths + numbers,
      .forbid = {"all_gather", "all_to_all", "collective_permute"}};
  expect_within(budget, lowered.collectives());
}

TEST_F(ClippedDevices, PaddingAndNotFiniteExamples) {
  const Array padding = arange(64) >= 50;
  const Array bad = where(expand_dims(arange(64) == 7, {1}), Array(std::nanf("")), x);
  for (NanSafe nan_safe : {NanSafe::kElement, NanSafe::kExample}) {
    ClipOptions of = options;
    of.nan_safe = nan_safe;
    const Mlp expected = clipped_grad(loss, of)(p, bad, y, Padding{padding});
    const Mlp got = jit(clipped_grad(loss, of))(placed_p, placed(bad, P("data", None)), placed_y,
                                                Padding{placed(padding, P("data"))});
    EXPECT_LT(helpers::difference(got, expected), 1e-5);
  }
}

TEST_F(ClippedDevices, InsideAShardMap) {
  const Mesh data(devices(), {"data"});
  const Array padding = arange(64) >= 50;
  for (std::optional<int64_t> m : {std::optional<int64_t>(), std::optional<int64_t>(4)}) {
    ClipOptions of = options;
    of.microbatch_size = m;
    const auto step = jit(shard_map(
        [&](const Mlp& p, const Array& x, const Array& y, const Array& padding) {
          return psum(clipped_grad(loss, of)(p, x, y, Padding{padding}), "data");
        },
        {.mesh = data,
         .in_specs = {P(), P("data", None), P("data", None), P("data")},
         .out_specs = {P()}}));
    EXPECT_LT(helpers::difference(step(p, x, y, padding),
                                  clipped_grad(loss, options)(p, x, y, Padding{padding})),
              1e-5);
  }
}

TEST_F(ClippedDevices, AShardMapInsideTheLoss) {
  const auto manual = [&](const Mlp& p, const Array& x, const Array& y) {
    const auto hidden = shard_map(
        [](const Array& w, const Array& x) { return tanh(matmul(x, w)); },
        {.mesh = mesh, .in_specs = {P(None, "model"), P()}, .out_specs = {P(None, "model")}});
    return mean(square(matmul(hidden(p.w1, x) + p.b1, p.w2) - y));
  };
  const auto same = [](const Mlp& p, const Array& x, const Array& y) {
    return mean(square(matmul(tanh(matmul(x, p.w1)) + p.b1, p.w2) - y));
  };
  EXPECT_LT(helpers::difference(jit(clipped_grad(manual, options))(placed_p, placed_x, placed_y),
                                clipped_grad(same, options)(p, x, y)),
            1e-5);
}

// Constraints inside the loss may not be able to shard the dimension of one example.
TEST_F(ClippedDevices, ConstraintsInsideTheLossCutTheExamples) {
  const auto constrained = [&](const Mlp& p, const Array& x, const Array& y) {
    const NamedSharding rows(mesh, P("data", None));
    const Array h = with_sharding_constraint(
        tanh(matmul(with_sharding_constraint(x, rows), p.w1) + p.b1), rows);
    return mean(square(matmul(h, p.w2) - y));
  };
  const auto step = jit(clipped_grad(constrained, options));
  EXPECT_LT(helpers::difference(step(p, placed_x, placed_y), clipped_grad(loss, options)(p, x, y)),
            1e-5);
  const int64_t gradient = 4 * (16 * 32 + 32 + 32 * 8);
  expect_within({.bytes_per_device = 2 * gradient, .forbid = {"all_gather"}},
                step.lower(p, placed_x, placed_y).collectives());
  ClipOptions strict = options;
  strict.indivisible = Indivisible::kError;
  EXPECT_THROW(clipped_grad(constrained, strict)(p, placed_x, placed_y), UserError);
}

}  // namespace
}  // namespace tessera::privacy::clipped_devices_test
