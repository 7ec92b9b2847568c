#include "tessera/privacy/noise/random_words.h"

#include <set>

#include "../errors.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/shard_map.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/privacy/noise/discrete_gaussian.h"
#include "tessera/privacy/noise/noise_addition.h"

namespace tessera::random_words_test {
namespace {

using namespace privacy;
using privacy::internal::random_words;
using tessera::test::expect_error;

TEST(RandomWords, OfKeysAreTheirs) {
  const random::Key key = random::key(3);
  const auto [high, low] = random_words("op", RandomSource::kKey, key, {5});
  const auto expected =
      random::internal::hash_of_index(random::internal::key_words("op", key), {5});
  EXPECT_EQ(high.to_host(), expected.high.to_host());
  EXPECT_EQ(low.to_host(), expected.low.to_host());
}

// No word occurs twice in two calls in one program, nor in two runs of the program.
TEST(RandomWords, OfTheSystemAreNewInEachRun) {
  const auto draw = jit([](const Array& x) {
    const random::Key key{x};
    const auto a = random_words("op", RandomSource::kSystem, key, {100});
    const auto b = random_words("op", RandomSource::kSystem, key, {100});
    return std::vector<Array>{a.high, a.low, b.high, b.low};
  });
  std::set<uint32_t> seen;
  for (int run = 0; run < 2; ++run)
    for (const Array& words : draw(random::key(0).data))
      for (const uint32_t word : to_vector<uint32_t>(words)) seen.insert(word);
  EXPECT_GE(seen.size(), 799u);  // two of 800 are equal once in 13,000 runs
}

// For each privatizer: no two elements, leaves or updates share noise, and a state that is used
// again gives other noise.
TEST(RandomWords, PrivatizersDrawFromTheSystem) {
  const std::vector<Array> zero{zeros({50}), zeros({50})};
  const auto check = [&](const auto& noise) {
    const auto state = noise.init(zero);
    const auto step = jit([&](const auto& g, const auto& s) { return noise.update(g, s).first; });
    std::set<float> seen;
    for (int t = 0; t < 2; ++t) {
      for (const Array& x : step(zero, state))
        for (const float z : to_vector<float>(x)) seen.insert(z);
      for (const Array& x : noise.update(zero, state).first)
        for (const float z : to_vector<float>(x)) seen.insert(z);
    }
    EXPECT_GE(seen.size(), 395u);
  };
  check(gaussian_privatizer({.stddev = 2, .random_source = RandomSource::kSystem}));
  check(matrix_factorization_privatizer(matrix_factorization::prefix_sum(),
                                        {.stddev = 2, .random_source = RandomSource::kSystem}));
  check(discrete_gaussian_privatizer({.stddev = 2, .random_source = RandomSource::kSystem}));
}

// Tests the first two moments of the distribution.
TEST(RandomWords, NoiseOfTheSystemHasItsVariance) {
  const Array zero = zeros({1'000'000});
  const auto noise = gaussian_privatizer({.stddev = 3, .random_source = RandomSource::kSystem});
  double sum = 0, squares = 0;
  for (const double x : to_vector<float>(noise.update(zero, noise.init(zero)).first))
    sum += x, squares += x * x;
  EXPECT_NEAR(sum / 1e6, 0, 5 * 3 / 1e3);
  EXPECT_NEAR(squares / 9e6, 1, 5 * std::sqrt(2) / 1e3);
}

TEST(RandomWords, SystemTakesNoKeyAndNoDenseMatrix) {
  const random::Key key = random::key(0);
  const NoiseOptions both{.stddev = 1, .key = key, .random_source = RandomSource::kSystem};
  expect_error([&] { gaussian_privatizer(both); },
               "[privacy::privatizer] expected no key with RandomSource::kSystem, whose noise "
               "nobody can repeat, got one; leave the key out");
  expect_error(
      [&] {
        discrete_gaussian_privatizer(
            {.stddev = 1, .key = key, .random_source = RandomSource::kSystem});
      },
      "expected no key with RandomSource::kSystem");
  expect_error(
      [&] {
        matrix_factorization_privatizer(matrix_factorization::dense_matrix({1, 0, 1, 1}, 2),
                                        {.stddev = 1, .random_source = RandomSource::kSystem});
      },
      "expected a noising matrix that keeps its noise in buffers");
}

class ShardedWords : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:8"}); }
  static void TearDownTestSuite() { initialize({.devices = "cpu:1"}); }
  const Mesh mesh{create_device_mesh({2, 4}), {"x", "y"}};
};

// Arrays of which devices have parts, and parts inside a shard_map: no elements share noise, and
// copies of a leaf are equal.
TEST_F(ShardedWords, OfTheSystem) {
  const auto noise = gaussian_privatizer({.stddev = 1, .random_source = RandomSource::kSystem});
  const Array cut = device_put(zeros({16, 8}), NamedSharding(mesh, P("x", "y")));
  const std::vector<float> z = to_vector<float>(noise.update(cut, noise.init(cut)).first);
  EXPECT_EQ(std::set(z.begin(), z.end()).size(), 128u);
  const auto step = jit(shard_map(
      [&](const Array& part, const Array& copy) {
        const std::pair<Array, Array> g(part, copy);
        return noise.update(g, noise.init(g)).first;
      },
      {.mesh = mesh, .in_specs = {P("x", "y"), P()}, .out_specs = {P("x", "y"), P()}}));
  const auto [parts, copy] = step(zeros({4, 8}), zeros({4}));
  const std::vector<float> of_parts = to_vector<float>(parts);
  EXPECT_EQ(std::set(of_parts.begin(), of_parts.end()).size(), 32u);
  const std::vector<float> whole = to_vector<float>(copy);
  EXPECT_EQ(std::set(whole.begin(), whole.end()).size(), 4u);
}

}  // namespace
}  // namespace tessera::random_words_test
