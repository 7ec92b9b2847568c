#include "tessera/privacy/noise/discrete_gaussian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "../errors.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/shard_map.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/random/random.h"

namespace tessera::discrete_gaussian_test {
namespace {

using namespace privacy;
using tessera::test::expect_error;

// Returns chi squared of the counts of single integers and of both tails, where 10 or more are
// expected, as a normal number (by Wilson and Hilferty).
double chi_squared_z(const std::vector<int32_t>& draws, double stddev) {
  const int64_t reach = static_cast<int64_t>(std::ceil(9 * stddev));
  std::vector<double> probability(static_cast<size_t>(2 * reach + 1)), count(probability.size());
  double total = 0;
  for (int64_t k = -reach; k <= reach; ++k)
    total += probability[static_cast<size_t>(k + reach)] =
        std::exp(-0.5 * std::pow(static_cast<double>(k) / stddev, 2));
  for (const int32_t x : draws)
    ++count[static_cast<size_t>(std::clamp<int64_t>(x, -reach, reach) + reach)];
  double statistic = 0, expected = 0, got = 0, cells = 0;
  for (size_t i = 0; i < count.size(); ++i) {
    expected += probability[i] / total * static_cast<double>(draws.size());
    got += count[i];
    if (expected < 10) continue;
    statistic += (got - expected) * (got - expected) / expected;
    expected = got = 0;
    ++cells;
  }
  const double freedom = cells - 1, scale = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - scale)) / std::sqrt(scale);
}

// The draws use one table or two, small and large ones.
TEST(DiscreteGaussian, HasItsProbabilities) {
  uint32_t seed = 0;
  for (const double stddev : {1.0, 3.7, 150.0, 1000.0, 1500.0}) {
    const std::vector<int32_t> draws =
        to_vector<int32_t>(discrete_gaussian(random::key(++seed), stddev, {1'000'000}));
    EXPECT_LT(std::abs(chi_squared_z(draws, stddev)), 4) << stddev;
  }
}

// If the first words do not decide, draws are repeated with second words. This happens once in 2^49
// draws, so here the first look ignores all but 6 bits, and decides only 63 of 64 draws.
TEST(DiscreteGaussian, IsTheSameIfSecondWordsAreNeeded) {
  const std::vector keys{random::key(1), random::key(2), random::key(3)};
  const std::vector<Shape> shapes{{100}, {7, 9}, {0}};
  for (const double stddev : {1.5, 300.0, 65536.0, 0x1p24}) {
    const auto draws = [&](uint64_t ignored_bits) {
      return jit([=](const std::vector<Array>& data) {
        std::vector<random::Key> of;
        for (const Array& key : data) of.push_back({key});
        return privacy::internal::discrete_draws(RandomSource::kKey, of, stddev, shapes,
                                                 ignored_bits);
      })(std::vector{keys[0].data, keys[1].data, keys[2].data});
    };
    const std::vector<Array> decided = draws(0), again = draws(58);
    for (size_t i = 0; i < shapes.size(); ++i)
      EXPECT_EQ(decided[i].to_host(), again[i].to_host()) << stddev << ", array " << i;
  }
}

TEST(DiscreteGaussian, IsNormalOnAFineGrid) {
  const int64_t n = 10'000'000;
  const double stddev = 65536, root = std::sqrt(static_cast<double>(n));
  const std::vector<int32_t> draws =
      to_vector<int32_t>(discrete_gaussian(random::key(3), stddev, {n}));
  double sums[4] = {};
  constexpr int64_t kReach = 7 * 65536, kBin = 16;
  std::vector<int64_t> bins(2 * kReach / kBin);
  for (const int32_t x : draws) {
    for (double power = 1, *sum = sums; sum < sums + 4; ++sum) *sum += power *= x / stddev;
    ++bins[static_cast<size_t>((std::clamp<int64_t>(x, -kReach, kReach - 1) + kReach) / kBin)];
  }
  EXPECT_NEAR(sums[0] / n, 0, 4 / root);
  EXPECT_NEAR(sums[1] / n, 1, 4 * std::sqrt(2) / root);
  EXPECT_NEAR(sums[2] / n, 0, 4 * std::sqrt(15) / root);
  EXPECT_NEAR(sums[3] / n, 3, 4 * std::sqrt(96) / root);
  double distance = 0;
  int64_t below = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    below += bins[i];
    const double edge = static_cast<double>((static_cast<int64_t>(i) + 1) * kBin - kReach) - 0.5;
    distance = std::max(distance, std::abs(0.5 * std::erfc(-edge / (stddev * std::sqrt(2))) -
                                           static_cast<double>(below) / n));
  }
  EXPECT_LT(root * distance, 1.95);
}

TEST(DiscreteGaussian, ResultsAreOnTheGrid) {
  const Array g = random::normal(random::key(1), {1000});
  const auto noise =
      discrete_gaussian_privatizer({.stddev = 0.5, .key = random::key(0), .steps_per_stddev = 64});
  const auto [noisy, next] = noise.update(g, noise.init(g));
  const double step = 0.5 / 64;
  for (const float x : to_vector<float>(noisy)) EXPECT_EQ(x / step, std::round(x / step));
  // The expected sum is the gradient on the grid plus draws of the leaf's key.
  const auto [after, sub] = random::split<2>(random::key(0));
  const Array drawn = discrete_gaussian(random::split(sub, 1)[0], 64, {1000});
  const Array expected = (round(g / step) + astype(drawn, float32)) * step;
  EXPECT_EQ(noisy.to_host(), expected.to_host());
  EXPECT_EQ(next.key.data.to_host(), after.data.to_host());
}

TEST(DiscreteGaussian, ExtremesStayOnTheGrid) {
  const float inf = INFINITY, most = std::ldexp(1.0f, 30);
  const Array g = array({1e30f, -1e30f, inf, -inf, std::nanf(""), 1.5f, 2.5f});
  const auto noise =
      discrete_gaussian_privatizer({.stddev = 1, .key = random::key(0), .steps_per_stddev = 1});
  const std::vector<float> x = to_vector<float>(noise.update(g, noise.init(g)).first);
  for (const size_t i : {0, 2}) EXPECT_EQ(x[i], most);  // single steps are lost in it
  for (const size_t i : {1, 3}) EXPECT_EQ(x[i], -most);
  EXPECT_TRUE(std::isnan(x[4]));
  EXPECT_EQ(x[5], std::round(x[5]));
}

TEST(DiscreteGaussian, DTypesAndArraysOfStddev) {
  const Array g = ones(Shape{8}, bfloat16);
  const auto of_number = discrete_gaussian_privatizer({.stddev = 0.25, .key = random::key(0)});
  const Array wide = of_number.update(g, of_number.init(g)).first;
  EXPECT_EQ(wide.dtype(), float32);
  const auto narrow =
      discrete_gaussian_privatizer({.stddev = 0.25, .key = random::key(0), .dtype = bfloat16});
  EXPECT_EQ(narrow.update(g, narrow.init(g)).first.to_host(), astype(wide, bfloat16).to_host());
  int traces = 0;
  const auto step = jit([&](const auto& noise, const Array& g) {
    ++traces;
    return noise.update(g, noise.init(g)).first;
  });
  for (const double stddev : {0.5, 0.25})
    EXPECT_EQ(step(discrete_gaussian_privatizer(
                       {.stddev = array(stddev, float32), .key = random::key(0)}),
                   g)
                      .to_host() == wide.to_host(),
              stddev == 0.25);
  EXPECT_EQ(traces, 1);
}

// For leaves of whole steps the draws of the leaf's key are added modulo 2^32, and the result is a
// float.
TEST(DiscreteGaussian, AddsToWholeSteps) {
  const Array steps = array({0, 7, -70'000, 1 << 30, std::numeric_limits<int32_t>::max()});
  const auto noise = discrete_gaussian_privatizer(
      {.stddev = 0.5, .key = random::key(4), .steps_per_stddev = 65536});
  const Array noisy = noise.update(steps, noise.init(steps)).first;
  EXPECT_EQ(noisy.dtype(), float32);
  const Array sub = random::split(random::key(4), 2).data;
  const random::Key leaf = random::split(random::Key{index_in_dim(sub, 1, 0, false)}, 1)[0];
  const std::vector<int32_t> z = to_vector<int32_t>(discrete_gaussian(leaf, 65536, {5}));
  const std::vector<int32_t> x = to_vector<int32_t>(steps);
  const std::vector<float> got = to_vector<float>(noisy);
  bool wrapped = false;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto sum =
        static_cast<int32_t>(static_cast<uint32_t>(x[i]) + static_cast<uint32_t>(z[i]));
    wrapped |= x[i] > 0 && sum < 0;
    EXPECT_EQ(got[i], static_cast<float>(sum * (0.5 / 65536))) << i;
  }
  EXPECT_EQ(wrapped, z.back() > 0);
  const auto wide = discrete_gaussian_privatizer(
      {.stddev = 0.5, .key = random::key(4), .steps_per_stddev = 65536, .dtype = bfloat16});
  EXPECT_EQ(wide.update(steps, wide.init(steps)).first.dtype(), bfloat16);
}

// Mironov's attack asks whether each of two sums could have become the release at all. With float
// noise often only one of them could. With integers both always could, so that the attack can only
// guess.
TEST(DiscreteGaussian, EveryReleaseMayBeOfEitherSum) {
  const double stddev = 1.0 / 64, steps = 4096, step = stddev / steps;
  int certain = 0;
  for (int t = 0; t < 400; ++t) {
    const Array a = random::randint(random::key(1000 + t), {10}, -20'000, 20'000);
    const Array b = a + random::randint(random::key(3000 + t), {10}, -2'000, 2'000);
    const auto noise = discrete_gaussian_privatizer(
        {.stddev = stddev, .key = random::key(t), .steps_per_stddev = steps});
    const Array& own = t % 2 ? a : b;
    const std::vector<float> release = to_vector<float>(noise.update(own, noise.init(own)).first);
    bool possible[2] = {true, true};
    for (const Array& sum : {a, b})
      for (size_t i = 0; i < release.size(); ++i) {
        const double noise_steps =
            release[i] / step - static_cast<double>(to_vector<int32_t>(sum)[i]);
        // Every integer within reach has a probability above 0.
        possible[&sum == &a] = possible[&sum == &a] && noise_steps == std::round(noise_steps) &&
                               std::abs(noise_steps) < 12 * steps;
      }
    EXPECT_TRUE(possible[0] && possible[1]) << t;
    certain += possible[0] != possible[1];
  }
  EXPECT_EQ(certain, 0);
}

// The claim that the accounting uses, integrated numerically: a Gaussian of standard deviation
// sqrt(s^2 - 4) that is rounded at random with width 2 has the probabilities of the discrete
// Gaussian of parameter s.
TEST(DiscreteGaussian, IsARoundedGaussian) {
  const long double s = 8, t = accounted_stddev(8), r = 2;
  EXPECT_DOUBLE_EQ(static_cast<double>(t), std::sqrt(60.0));
  long double total = 0;
  for (int k = -200; k <= 200; ++k) total += std::exp(-k * k / (2 * s * s));
  for (int k = 0; k <= 40; k += 5) {
    // Integrates over y the density of N(0, t^2) times the probability of rounding y to k, by the
    // trapezoidal rule, which is exact to the last digit for functions as smooth as these.
    long double sum = 0;
    for (int i = -64 * 100; i <= 64 * 100; ++i) {
      const long double y = i / 64.0L;
      long double normaliser = 0;
      const auto nearest = static_cast<int>(std::round(y));
      for (int j = nearest - 30; j <= nearest + 30; ++j)
        normaliser += std::exp(-(j - y) * (j - y) / (2 * r * r));
      sum +=
          std::exp(-y * y / (2 * t * t)) * std::exp(-(k - y) * (k - y) / (2 * r * r)) / normaliser;
    }
    const long double rounded = sum / 64 / (t * std::sqrt(2 * std::numbers::pi_v<long double>));
    const long double exact = std::exp(-k * k / (2 * s * s)) / total;
    EXPECT_NEAR(static_cast<double>(rounded / exact), 1, 1e-15) << k;
  }
  EXPECT_EQ(accounted_stddev(2), 0);
  EXPECT_EQ(accounted_stddev(0), 0);
  expect_error([] { accounted_stddev(-1); },
               "expected a finite number of steps of at least 0, got -1");
  expect_error([] { accounted_stddev(std::nan("")); }, "got nan");
}

class ShardedDiscreteGaussian : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:8"}); }
  static void TearDownTestSuite() { initialize({.devices = "cpu:1"}); }
  const Mesh mesh{create_device_mesh({2, 4}), {"x", "y"}};
};

TEST_F(ShardedDiscreteGaussian, IsTheSameAndCommunicatesOneNumber) {
  const Array g = random::normal(random::key(1), {16, 7});
  const auto noise = discrete_gaussian_privatizer({.stddev = 1, .key = random::key(0)});
  const Array expected = noise.update(g, noise.init(g)).first;
  const auto step =
      jit([&](const Array& g, const DiscreteNoiseState& s) { return noise.update(g, s); });
  for (const PartitionSpec& spec : {P("x", "y"), P(None, joint("x", "y"))}) {
    const Array cut = device_put(g, NamedSharding(mesh, spec));
    // The only collective finds whether a draw needs its second word.
    const auto collectives = step.lower(cut, noise.init(cut)).collectives();
    ASSERT_EQ(collectives.size(), 1u);
    EXPECT_EQ(collectives[0].name, "all_reduce");
    EXPECT_LE(collectives[0].bytes_per_device, 8);
    EXPECT_EQ(step(cut, noise.init(cut)).first.to_host(), expected.to_host());
    EXPECT_EQ(noise.update(cut, noise.init(cut)).first.to_host(), expected.to_host());
  }
}

TEST_F(ShardedDiscreteGaussian, PartsInShardMapDoNotShareNoise) {
  const auto noise = discrete_gaussian_privatizer({.stddev = 1, .key = random::key(0)});
  const auto step =
      jit(shard_map([&](const Array& part) { return noise.update(part, noise.init(part)).first; },
                    {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P("x", "y")}}));
  const std::vector<float> z = to_vector<float>(step(zeros({4, 8})));
  EXPECT_EQ(std::set(z.begin(), z.end()).size(), 32u);
}

TEST(DiscreteGaussian, SensitivityCountsTheRounding) {
  EXPECT_NEAR(rounded_sensitivity(1, 0.01, 10000), 2, 1e-6);
  EXPECT_GT(rounded_sensitivity(1, 0.01, 10000), 2);
  EXPECT_GE(rounded_sensitivity(1, 0, 10), 1);
  // The worst case: all elements are just next to a tie.
  EXPECT_GE(rounded_sensitivity(0, 1, 4), 2);
  expect_error([] { rounded_sensitivity(-1, 1, 1); },
               "expected a finite sensitivity and granularity");
  expect_error([] { rounded_sensitivity(1, std::nan(""), 1); }, "got nan");
  expect_error([] { rounded_sensitivity(1, 1, -1); }, "expected a dimension of at least 0, got -1");
}

TEST(DiscreteGaussian, Errors) {
  const random::Key key = random::key(0);
  expect_error([&] { discrete_gaussian(key, 0.5); },
               "[privacy::discrete_gaussian] expected a parameter in [1, 2^24], got 0.5");
  expect_error([&] { discrete_gaussian(key, std::nan("")); }, "got nan");
  expect_error([&] { discrete_gaussian(key, 1, {-1}); }, "expected extents of at least 0");
  expect_error([&] { discrete_gaussian_privatizer({.stddev = 1, .steps_per_stddev = 1e9}); },
               "expected steps_per_stddev in [1, 2^24], got 1000000000");
  expect_error([&] { discrete_gaussian_privatizer({.stddev = 0, .key = key}); },
               "expected a standard deviation above 0, got 0");
  expect_error([&] { discrete_gaussian_privatizer({.stddev = 1, .key = key, .dtype = int32}); },
               "expected a floating-point dtype for the result, got int32");
  const auto noise = discrete_gaussian_privatizer({.stddev = 1, .key = key});
  expect_error([&] { noise.update(ones(2, int8), noise.init(ones(2, int8))); },
               "expected real floating-point leaves, or int32 ones of whole steps, got int8[2]");
}

}  // namespace
}  // namespace tessera::discrete_gaussian_test
