// What an adversary learns from the last bits of a release that is one of two known sums plus noise
// (Mironov, "On significance of the least significant bits for differential privacy", CCS 2012). In
// floating point not every number is the sum of a given number and another. If only one of the two
// sums can have become the release, it was that one, however large the noise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/operators.h"
#include "tessera/privacy/noise/noise_addition.h"
#include "tessera/privacy/plan.h"
#include "tessera/random/random.h"

namespace tessera::privacy::release_bits_test {
namespace {

constexpr int kReleases = 400, kElements = 400;
constexpr double kGranularity = 0x1p-16;  // of the sums, and the step of the plan below

// Returns whether some number of type T is noise that turns `sum` into `release`.
template <class T>
bool reachable(T sum, T release) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T nearest = release - sum;
  for (const T noise :
       {std::nextafter(nearest, -kInfinity), nearest, std::nextafter(nearest, kInfinity)})
    if (sum + noise == release) return true;
  return false;
}

template <class T>
int unreachable_elements(const std::vector<double>& sum, const std::vector<T>& release) {
  int out = 0;
  for (size_t i = 0; i < sum.size(); ++i) out += !reachable(static_cast<T>(sum[i]), release[i]);
  return out;
}

// Returns in how many releases the adversary names the right one of two sums that are a standard
// deviation of the noise apart: the sum that fewer elements exclude, or by a coin if both are
// equal.
template <class T>
int count_distinguished(
    const std::function<std::vector<T>(const std::vector<double>&, const random::Key&)>& release) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const auto on_grid = [](double x) { return std::round(x / kGranularity) * kGranularity; };
  int right = 0;
  for (int t = 0; t < kReleases; ++t) {
    std::vector<double> sums[2];
    for (int i = 0; i < kElements; ++i) {
      sums[0].push_back(on_grid(normal(random)));
      sums[1].push_back(on_grid(sums[0].back() + normal(random) / std::sqrt(kElements)));
    }
    const bool truth = random() % 2 != 0, coin = random() % 2 != 0;
    const std::vector<T> released = release(sums[truth], random::key(t));
    const int excluded[] = {unreachable_elements(sums[0], released),
                            unreachable_elements(sums[1], released)};
    right += (excluded[0] == excluded[1] ? coin : excluded[1] < excluded[0]) == truth;
  }
  return right;
}

// A coin is right in 200 of 400 releases, give or take 10. A count that is off by more than four
// times as much is not a coin's.
testing::Matcher<int> like_a_coin() {
  return testing::AllOf(testing::Ge(kReleases / 2 - 40), testing::Le(kReleases / 2 + 40));
}

Array float_sum(const std::vector<double>& sum) { return astype(from_host(sum), float32); }

// The adversary works: for noise that is made and added in float32 he is hardly ever wrong.
TEST(ReleaseBits, TellApartWhatIsAddedInFloat32) {
  EXPECT_GE(count_distinguished<float>([](const std::vector<double>& sum, const random::Key& key) {
              return to_vector<float>(float_sum(sum) + random::normal(key, {kElements}));
            }),
            kReleases - 10);
}

TEST(ReleaseBits, SayNothingOfGaussianNoise) {
  EXPECT_THAT(
      count_distinguished<float>([](const std::vector<double>& sum, const random::Key& key) {
        const auto noise = gaussian_privatizer({.stddev = 1, .key = key});
        const Array x = float_sum(sum);
        return to_vector<float>(noise.update(x, noise.init(x)).first);
      }),
      like_a_coin());
}

// A float64 result keeps the bits of the noise, because it is not rounded after the addition.
TEST(ReleaseBits, TellApartGaussianNoiseInFloat64) {
  EXPECT_GE(count_distinguished<double>([](const std::vector<double>& sum, const random::Key& key) {
              const auto noise = gaussian_privatizer({.stddev = 1, .key = key});
              const Array x(Literal::from<double>(sum, {kElements}));
              return to_vector<double>(noise.update(x, noise.init(x)).first);
            }),
            kReleases - 10);
}

// The release of a plan: a clip norm of 65536 steps, noise of as many steps, and updates that are
// not divided.
TEST(ReleaseBits, SayNothingOfDiscreteNoise) {
  const Plan plan = make_plan({.num_examples = 256,
                               .steps = 20,
                               .expected_batch_size = 64,
                               .noise_multiplier = 1,
                               .delta = 1e-5,
                               .mechanism = DiscreteGaussian{.grid_scale = 65536},
                               .normalize_by = 1});
  EXPECT_THAT(
      count_distinguished<float>([&](const std::vector<double>& sum, const random::Key& key) {
        std::vector<int32_t> steps;
        for (const double x : sum) steps.push_back(static_cast<int32_t>(x / kGranularity));
        const auto noise = plan.privatizer(key);
        const Array x = from_host(steps);
        return to_vector<float>(noise.update(x, noise.init(x)).first);
      }),
      like_a_coin());
}

}  // namespace
}  // namespace tessera::privacy::release_bits_test
