// Compares privatizers with jax_privacy's (golden/make_noise.py), and tests what no golden data can
// show.
#include "tessera/privacy/noise/noise_addition.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "../errors.h"
#include "../numpy/run.h"
#include "streaming_matrices.h"
#include "tessera/compile/control_flow.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/shard_map.h"
#include "tessera/io/checkpoint.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/optim.h"
#include "tessera/random/random.h"

namespace tessera::noise_addition_test {
namespace {

using namespace privacy;
using tessera::test::expect_close;
using tessera::test::expect_error;
using tessera::test::golden_numbers;
using tessera::test::noise_data;
using tessera::test::streaming_matrices;

using Tree = std::map<std::string, Array>;

Tree gradients() {
  const std::vector<Literal> x = noise_data().arrays(noise_data()["gradients"]);
  return {{"a", Array(x[0])}, {"b", Array(x[1])}};
}

// The update in reference/privacy.md: stddev 2, seed 0.
TEST(NoiseAddition, IsTheReferences) {
  const Tree zero{{"a", zeros({2})}, {"b", zeros({2, 2})}};
  const auto noise = gaussian_privatizer({.stddev = 2, .key = random::key(0)});
  const Literal a = noise.update(zero, noise.init(zero)).first.at("a").to_host();
  EXPECT_NEAR(a.data<float>()[0], 0x1.975cc8p-2, 2e-6);
  EXPECT_NEAR(a.data<float>()[1], -0x1.8a54a6p0, 2e-6);
}

optim::Transformation<privacy::internal::Privatizer> named(const std::string& name) {
  const NoiseOptions options{.stddev = 2, .key = random::key(0)};
  if (name == "gaussian") return gaussian_privatizer(options);
  if (name == "dense")
    return matrix_factorization_privatizer(
        matrix_factorization::dense_matrix(golden_numbers("dense_rows"), 6), options);
  if (name == "general")
    return matrix_factorization_privatizer(
        matrix_factorization::dense_matrix(golden_numbers("general_rows"), 3), options);
  return matrix_factorization_privatizer(streaming_matrices().at(name), options);
}

TEST(NoiseAddition, UpdatesAreThoseOfJaxPrivacy) {
  const Tree g = gradients();
  for (const golden::Json& c : noise_data()["privatizers"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto noise = named(c["name"]);
    auto state = noise.init(g), jitted = state;
    const auto step =
        jit([&](const Tree& g, const NoiseState<Tree>& s) { return noise.update(g, s); });
    for (int64_t t = 0; t < 3; ++t) {
      Tree noisy, again;
      std::tie(noisy, state) = noise.update(g, state);
      std::tie(again, jitted) = step(g, jitted);
      size_t leaf = 0;
      for (const auto& [name, x] : noisy) {
        const Array expected(noise_data().array(c["updates"][leaf++]));
        expect_close(x.to_host(), index_in_dim(expected, t, 0, false).to_host(), 1e-6, 1e-6);
        EXPECT_EQ(x.to_host(), again.at(name).to_host());
      }
      if (c["name"] == "gaussian") {
        const Array keys(noise_data().array(noise_data()["keys"]));
        EXPECT_EQ(state.key.data.to_host(), index_in_dim(keys, t, 0, false).to_host());
      }
    }
  }
}

// The noise of all steps and leaves differs, but the same step of the same key has the same noise.
TEST(NoiseAddition, NothingSharesNoise) {
  const std::vector<Array> zero{zeros({4}), zeros({4}), zeros({4})};
  const auto noise = gaussian_privatizer({.stddev = 1, .key = random::key(5)});
  auto state = noise.init(zero);
  std::set<float> seen;
  for (int t = 0; t < 20; ++t) {
    std::vector<Array> noisy;
    std::tie(noisy, state) = noise.update(zero, state);
    for (const Array& x : noisy)
      for (const float z : to_vector<float>(x)) seen.insert(z);
  }
  EXPECT_EQ(seen.size(), 20u * 12);
}

TEST(NoiseAddition, DTypesAreWide) {
  const Array g = ones(Shape{8}, bfloat16);
  const NoiseOptions options{.stddev = 1, .key = random::key(0)};
  const auto noise = gaussian_privatizer(options);
  const Array wide = noise.update(g, noise.init(g)).first;
  EXPECT_EQ(wide.dtype(), float32);
  // The values are not those of bfloat16.
  EXPECT_NE(astype(astype(wide, bfloat16), float32).to_host(), wide.to_host());
  const auto narrow = gaussian_privatizer({.stddev = 1, .key = random::key(0), .dtype = bfloat16});
  EXPECT_EQ(narrow.update(g, narrow.init(g)).first.to_host(), astype(wide, bfloat16).to_host());
  // The buffers are float32 nevertheless.
  const auto correlated = matrix_factorization_privatizer(
      matrix_factorization::prefix_sum(), {.stddev = 1, .key = random::key(0), .dtype = bfloat16});
  const auto [out, state] = correlated.update(g, correlated.init(g));
  EXPECT_EQ(out.dtype(), bfloat16);
  EXPECT_EQ(state.matrix.buffers[0].dtype(), float32);
}

TEST(NoiseAddition, Float64WhereItIs) {
  enable_x64(true);
  const Array g = ones(Shape{8}, float64), single = ones(Shape{8}, float32);
  const auto noise = gaussian_privatizer({.stddev = 1, .key = random::key(0)});
  EXPECT_EQ(noise.update(g, noise.init(g)).first.dtype(), float64);
  EXPECT_EQ(noise.update(single, noise.init(single)).first.dtype(), float32);
  const auto wide = gaussian_privatizer({.stddev = 1, .key = random::key(0), .dtype = float64});
  EXPECT_EQ(wide.update(single, wide.init(single)).first.to_host(),
            noise.update(g, noise.init(g)).first.to_host());
  enable_x64(false);
}

// An Array is data: other values run in the same program, and have the same results as numbers.
TEST(NoiseAddition, StddevMayBeAnArray) {
  const Array g = zeros({16});
  int traces = 0;
  const auto step = jit([&](const auto& noise, const Array& g) {
    ++traces;
    return noise.update(g, noise.init(g)).first;
  });
  for (const double stddev : {0.5, 2.0}) {
    const auto of_array =
        gaussian_privatizer({.stddev = array(stddev, float32), .key = random::key(0)});
    const auto of_number = gaussian_privatizer({.stddev = stddev, .key = random::key(0)});
    EXPECT_EQ(step(of_array, g).to_host(), of_number.update(g, of_number.init(g)).first.to_host());
  }
  EXPECT_EQ(traces, 1);
}

TEST(NoiseAddition, PassesThroughScanAndDonation) {
  const Array g = zeros({4});
  const auto noise = matrix_factorization_privatizer(streaming_matrices().at("toeplitz_inverse"),
                                                     {.stddev = 1, .key = random::key(0)});
  const auto body = [&](const NoiseState<Array>& state, const Array& g) {
    auto [noisy, next] = noise.update(g, state);
    return std::pair(next, noisy);
  };
  const Array scanned = scan(body, noise.init(g), zeros({7, 4})).second;
  const auto step =
      jit([&](const NoiseState<Array>& state, const Array& g) { return body(state, g); },
          {.donate_argnums = {0}});
  NoiseState<Array> state = noise.init(g);
  for (int64_t t = 0; t < 7; ++t) {
    Array noisy;
    std::tie(state, noisy) = step(state, g);
    EXPECT_EQ(noisy.to_host(), index_in_dim(scanned, t, 0, false).to_host()) << t;
  }
}

// A run that is resumed continues with the noise that it would have had.
TEST(NoiseAddition, PassesThroughCheckpoints) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("noise_" + std::to_string(::getpid()));
  const Tree g = gradients();
  const auto noise = named("buffered_inverse");
  auto state = noise.init(g);
  for (int t = 0; t < 2; ++t) state = noise.update(g, state).second;
  save_checkpoint(path.string(), 2, state);
  const auto restored = restore_checkpoint(path.string(), noise.init(g));
  const Tree expected = noise.update(g, state).first, got = noise.update(g, restored).first;
  for (const auto& [name, x] : expected) EXPECT_EQ(got.at(name).to_host(), x.to_host());
  std::filesystem::remove_all(path);
}

TEST(NoiseAddition, StandsInAChain) {
  const Tree g = gradients();
  const auto tx =
      optim::chain(gaussian_privatizer({.stddev = 2, .key = random::key(0)}), optim::scale(-0.5));
  const auto noise = named("gaussian");
  const Tree noisy = noise.update(g, noise.init(g)).first;
  for (const auto& [name, x] : tx.update(g, tx.init(g)).first)
    EXPECT_EQ(x.to_host(), (-0.5 * noisy.at(name)).to_host());
}

// If a factorisation is too short there is an error, or in a running program a result that does not
// depend on the gradients.
TEST(NoiseAddition, PastTheLastRow) {
  const Array g = ones(3);
  for (const char* name : {"dense", "banded_inverse", "column_normalized"}) {
    SCOPED_TRACE(name);
    const auto noise = named(name);
    const auto step =
        jit([&](const Array& g, const NoiseState<Array>& s) { return noise.update(g, s); });
    auto state = noise.init(g);
    Array noisy;
    for (int t = 0; t < 6; ++t) std::tie(noisy, state) = step(g, state);
    EXPECT_TRUE(all(isfinite(noisy)).item<bool>());
    expect_error([&] { noise.update(g, state); },
                 "[privacy::privatizer] expected at most 6 steps, the rows of the matrix");
    for (int t = 0; t < 2; ++t) {
      std::tie(noisy, state) = step(g, state);
      EXPECT_TRUE(all(isnan(noisy)).item<bool>());
    }
  }
}

TEST(NoiseAddition, Errors) {
  const Array g = ones(3);
  const auto with = [](const Stddev& stddev) { return gaussian_privatizer({.stddev = stddev}); };
  expect_error([&] { with(-1); }, "expected a finite standard deviation of at least 0, got -1");
  expect_error([&] { with(std::nan("")); }, "got nan");
  expect_error([&] { with(INFINITY); }, "got inf");
  expect_error([&] { with(ones(3)); },
               "expected a number or a floating-point scalar as the standard deviation, got "
               "float32[3]");
  expect_error([&] { gaussian_privatizer({.stddev = 1, .dtype = int32}); },
               "expected a floating-point dtype for the result, got int32");
  const auto noise = named("prefix_sum");
  expect_error([&] { noise.update(astype(g, int32), noise.init(g)); },
               "[privacy::privatizer] expected real floating-point leaves, got int32[3]");
  expect_error([&] { noise.update(g, noise.init(ones(2))); }, "expected a buffer of shape (3,)");
  expect_error([&] { noise.init(ones(2, complex64)); }, "expected real leaves, got complex64");
}

class ShardedNoise : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:8"}); }
  static void TearDownTestSuite() { initialize({.devices = "cpu:1"}); }
  const Mesh mesh{create_device_mesh({2, 4}), {"x", "y"}};
};

// The noise has the same bits however the gradients are sharded. Each device makes its own part, in
// every kind of step.
TEST_F(ShardedNoise, IsMadeWhereItIsAdded) {
  const Tree whole{{"a", random::normal(random::key(1), {10})},
                   {"b", random::normal(random::key(2), {16, 7})}};
  for (const char* name :
       {"gaussian", "toeplitz_inverse", "buffered_inverse", "banded_inverse", "dense"}) {
    SCOPED_TRACE(name);
    const auto noise = named(name);
    const auto step =
        jit([&](const Tree& g, const NoiseState<Tree>& s) { return noise.update(g, s); });
    auto expected_state = noise.init(whole);
    Tree expected;
    for (int t = 0; t < 3; ++t)
      std::tie(expected, expected_state) = noise.update(whole, expected_state);
    std::vector<PartitionSpec> specs{P(None, joint("x", "y"))};
    if (name == std::string("gaussian")) specs.push_back(P("y", None));
    for (const PartitionSpec& spec : specs) {
      const NamedSharding matrix(mesh, spec), vector(mesh, P("y"));
      const Tree cut{{"a", device_put(whole.at("a"), vector)},
                     {"b", device_put(whole.at("b"), matrix)}};
      auto eager = noise.init(cut), jitted = eager;
      EXPECT_TRUE(step.lower(cut, jitted).collectives().empty())
          << step.lower(cut, jitted).explain();
      Tree noisy, again;
      for (int t = 0; t < 3; ++t) {
        std::tie(noisy, eager) = noise.update(cut, eager);
        std::tie(again, jitted) = step(cut, jitted);
      }
      for (const auto& [leaf, x] : expected) {
        EXPECT_EQ(noisy.at(leaf).to_host(), x.to_host()) << leaf << " " << spec;
        EXPECT_EQ(again.at(leaf).to_host(), x.to_host()) << leaf << " " << spec;
      }
      EXPECT_TRUE(again.at("b").sharding().is_equivalent_to(Sharding(matrix), 2));
      for (const Tree& buffer : jitted.matrix.buffers)
        EXPECT_FALSE(buffer.at("b").sharding().is_fully_replicated());
    }
  }
}

// In a shard_map, parts of a leaf do not share noise, but copies of one do.
TEST_F(ShardedNoise, InShardMap) {
  const auto noise = gaussian_privatizer({.stddev = 1, .key = random::key(0)});
  const auto step = jit(shard_map(
      [&](const Array& part, const Array& copy) {
        const std::pair<Array, Array> g(part, copy);
        return noise.update(g, noise.init(g)).first;
      },
      {.mesh = mesh, .in_specs = {P("x", "y"), P()}, .out_specs = {P("x", "y"), P()}}));
  const auto [parts, copy] = step(zeros({4, 8}), zeros({4}));
  const std::vector<float> z = to_vector<float>(parts);
  EXPECT_EQ(std::set(z.begin(), z.end()).size(), 32u);
  const std::pair<Array, Array> g(zeros({2, 2}), zeros({4}));
  EXPECT_EQ(copy.to_host(), noise.update(g, noise.init(g)).first.second.to_host());
}

// Tests the moments, and Kolmogorov and Smirnov's statistic, of ten million draws: sqrt(n) times
// the largest distance of the distribution functions, here at 65536 edges, is above 1.95 once in a
// thousand runs.
TEST(NoiseAddition, IsNormal) {
  const int64_t n = 10'000'000;
  const Array g = zeros({n});
  const auto noise = gaussian_privatizer({.stddev = 3, .key = random::key(7)});
  const std::vector<float> z = to_vector<float>(noise.update(g, noise.init(g)).first);
  double sums[4] = {};
  for (const double x : z)
    for (double power = 1, *sum = sums; sum < sums + 4; ++sum) *sum += power *= x / 3;
  const double root = std::sqrt(static_cast<double>(n));
  // The standard errors of the first four moments are sqrt(1, 2, 15, 96) / root.
  EXPECT_NEAR(sums[0] / n, 0, 4 / root);
  EXPECT_NEAR(sums[1] / n, 1, 4 * std::sqrt(2) / root);
  EXPECT_NEAR(sums[2] / n, 0, 4 * std::sqrt(15) / root);
  EXPECT_NEAR(sums[3] / n, 3, 4 * std::sqrt(96) / root);
  std::vector<int64_t> bins(1 << 16);
  const double width = 6.0 / (1 << 15);
  for (const double x : z)
    ++bins[static_cast<size_t>(std::clamp((x / 3 + 6) / width, 0.0, 65535.0))];
  double distance = 0;
  int64_t below = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    below += bins[i];
    const double edge = static_cast<double>(i + 1) * width - 6;
    distance = std::max(
        distance, std::abs(0.5 * std::erfc(-edge / std::sqrt(2)) - static_cast<double>(below) / n));
  }
  EXPECT_LT(root * distance, 1.95);
}

}  // namespace
}  // namespace tessera::noise_addition_test
