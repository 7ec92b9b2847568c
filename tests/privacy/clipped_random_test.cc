// Compares clipped gradients of random losses, by every method of computing norms, with
// materialised gradients. TESSERA_CLIPPED_SEEDS=first:end runs other seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/numpy/run.h"
#include "tests/privacy/materialised.h"
#include "tests/privacy/random_loss.h"

namespace tessera::privacy::clipped_random_test {
namespace {

using helpers::Params;
using helpers::RandomLoss;

struct Data {
  Params params;
  Array x, tokens;
};
Data data_of(const RandomLoss& loss, uint64_t seed, int64_t batch) {
  const auto keys = random::split<3>(random::key(seed));
  Data out;
  for (size_t i = 0; i < loss.parameter_shapes().size(); ++i)
    out.params.push_back(
        .7f * random::normal(random::fold_in(keys[0], i), loss.parameter_shapes()[i], float64));
  out.x = random::normal(keys[1], {batch, loss.tokens(), loss.features()}, float64);
  out.tokens =
      random::randint(keys[2], {batch, loss.tokens()}, Array(0), Array(loss.vocabulary()), int32);
  return out;
}

struct Expected {
  Params sum;
  std::vector<double> norms;
};
Expected materialised(const RandomLoss& loss, const Data& data, double clip) {
  Expected out;
  const int64_t batch = data.x.shape(0);
  const auto gradient = jit([&](const Params& p, const Array& x, const Array& tokens) {
    return grad(loss)(p, x, tokens);
  });
  for (const Array& p : data.params) out.sum.push_back(zeros_like(p));
  for (int64_t b = 0; b < batch; ++b) {
    const auto [g, norm] = clip_pytree(
        gradient(data.params, helpers::row(data.x, b), helpers::row(data.tokens, b)), clip);
    out.norms.push_back(norm.item<double>());
    for (size_t i = 0; i < g.size(); ++i) out.sum[i] = out.sum[i] + g[i];
  }
  return out;
}

void expect_ways_agree(uint64_t seed) {
  const RandomLoss loss(seed);
  SCOPED_TRACE("seed " + std::to_string(seed) + ":" + loss.text());
  const int64_t batch = int64_t{1} + static_cast<int64_t>(seed % 4);
  const Data data = data_of(loss, seed, batch);
  std::vector<double> norms = materialised(loss, data, 1e300).norms, sorted = norms;
  std::sort(sorted.begin(), sorted.end());
  const double clip = .9 * sorted[sorted.size() / 2];
  const Expected expected = materialised(loss, data, clip);
  for (std::optional<NormWay> method :
       {std::optional<NormWay>(), std::optional(NormWay::kFactors), std::optional(NormWay::kTiles),
        std::optional(NormWay::kKeep)}) {
    ClipOptions options{
        .l2_clip_norm = clip, .batch_argnums = {1, 2}, .keep_batch_dim = false, .norm_way = method};
    if (seed % 3 == 0 && method) options.microbatch_size = batch % 2 == 0 ? 2 : 1;
    const auto out = clipped_value_and_grad(loss, options)(data.params, data.x, data.tokens);
    const std::string label = method ? "way " + std::to_string(int(*method)) : "way chosen";
    EXPECT_LT(helpers::difference(out.grads, expected.sum), 1e-9) << label;
    const std::vector<double> got = to_vector<double>(out.grad_norms);
    for (size_t b = 0; b < norms.size(); ++b)
      EXPECT_NEAR(got[b], norms[b], 1e-9 * norms[b] + 1e-8 * sorted.back() + 1e-12)
          << label << " example " << b;
  }
}

TEST(ClippedRandom, EveryWayEqualsTheMaterialised) {
  const tessera::test::X64 x64(true);
  uint64_t first = 0, end = 100;
  if (const char* seeds = std::getenv("TESSERA_CLIPPED_SEEDS"))
    std::sscanf(seeds, "%lu:%lu", &first, &end);
  for (uint64_t seed = first; seed < end; ++seed) {
    try {
      expect_ways_agree(seed);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "seed " << seed << ":" << RandomLoss(seed).text() << ": " << e.what();
    }
  }
}

}  // namespace
}  // namespace tessera::privacy::clipped_random_test
