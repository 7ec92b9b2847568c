// Training steps with weights that are sharded over the axis of the batch: tests whether weights or
// activations are moved.
#include "tessera/compile/alternatives.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "tessera/compile/pipeline.h"
#include "tests/compile/devices.h"

namespace tessera::alternatives_test {
namespace {

class Alternatives : public DevicesTest {};

struct Layers {
  Array in, hidden, out;
};

Layers layers(int64_t features, int64_t hidden) {
  const auto some = [](const Shape& shape) { return sin(iota(shape)) * 0.1f; };
  return {some({features, hidden}), some({hidden, hidden}), some({hidden, features})};
}

Layers step(const Layers& w, const Array& x) {
  const auto loss = [&](const Layers& v) {
    return mean(square(matmul(tanh(matmul(tanh(matmul(x, v.in)), v.hidden)), v.out) - x));
  };
  return tree::map([](const Array& p, const Array& g) { return p - 0.1f * g; }, w, grad(loss)(w));
}

std::multiset<std::string> kinds(const Lowered& lowered) {
  std::multiset<std::string> out;
  for (const Collective& c : lowered.collectives()) out.insert(c.name);
  return out;
}

int64_t bytes_sent(const Lowered& lowered) {
  int64_t bytes = 0;
  for (const Collective& c : lowered.collectives()) bytes += c.bytes_per_device;
  return bytes;
}

Layers put(const Layers& w, const PartitionSpec& spec) {
  return tree::map([&](const Array& p) { return device_put(p, on8(spec)); }, w);
}

void expect_equal_to_one_device(const Layers& w, const Array& x, const Layers& sharded,
                                const Array& cut) {
  const Layers expected = jit(step)(w, x), got = jit(step)(sharded, cut);
  EXPECT_TRUE(allclose(got.in, expected.in, {.rtol = 1e-5, .atol = 1e-6}).item<bool>());
  EXPECT_TRUE(allclose(got.hidden, expected.hidden, {.rtol = 1e-5, .atol = 1e-6}).item<bool>());
  EXPECT_TRUE(allclose(got.out, expected.out, {.rtol = 1e-5, .atol = 1e-6}).item<bool>());
  EXPECT_EQ(got.hidden.sharding(), sharded.hidden.sharding());
}

// Activations are larger than weights, so weights are gathered, and their gradients are scattered.
TEST_F(Alternatives, AFullySharedStepGathersWeights) {
  const Layers w = layers(32, 64);
  const Array x = cos(iota({512, 32}));
  for (const PartitionSpec& spec : {P("x"), P(None, "x")}) {
    const Layers sharded = put(w, spec);
    const Array cut = device_put(x, on8(P("x")));
    const Lowered lowered = jit(step).lower(sharded, cut);
    const std::multiset<std::string> expected = {"all_gather", "reduce_scatter"};
    EXPECT_EQ(kinds(lowered), expected) << lowered.explain();
    EXPECT_EQ(bytes_sent(lowered), 2 * (32 * 64 * 2 + 64 * 64) * 4 / 8 * 7);
    expect_equal_to_one_device(w, x, sharded, cut);
  }
}

// If the table's sharding were propagated together with the others, it would decide the shardings
// of all values that are looked up in it.
TEST_F(Alternatives, ATableThatIsCutDoesNotDecideHowActivationsLie) {
  const auto step = [](const Layers& w, const Array& tokens) {
    const auto loss = [&](const Layers& v) {
      Array h = take(v.in, tokens, {.axis = 0});
      for (int k = 0; k < 2; ++k) {
        const Array centred = h - mean(h, {.axis = -1, .keepdims = true});
        h = h + matmul(tanh(matmul(centred, v.hidden)), v.out);
      }
      return mean(square(h));
    };
    return tree::map([](const Array& p, const Array& g) { return p - 0.1f * g; }, w, grad(loss)(w));
  };
  const auto some = [](const Shape& shape) { return sin(iota(shape)) * 0.1f; };
  const Layers w{some({64, 32}), some({32, 64}), some({64, 32})}, sharded = put(w, P(None, "x"));
  const Array tokens = remainder(arange(512), 64), cut = device_put(tokens, on8(P("x")));
  const Lowered lowered = jit(step).lower(sharded, cut);
  EXPECT_EQ(kinds(lowered).count("all_reduce"), 0U) << lowered.explain();
  EXPECT_LE(bytes_sent(lowered), 3 * 3 * 64 * 32 * 4) << lowered.explain();
  const Layers expected = jit(step)(w, tokens), got = jit(step)(sharded, cut);
  EXPECT_TRUE(allclose(got.in, expected.in, {.rtol = 1e-5, .atol = 1e-6}).item<bool>());
  EXPECT_TRUE(allclose(got.out, expected.out, {.rtol = 1e-5, .atol = 1e-6}).item<bool>());
}

// Weights are larger than activations, so activations are moved to the devices of the weights.
TEST_F(Alternatives, OfLargeWeightsActivationsMove) {
  const Layers w = layers(32, 512);
  const Array x = cos(iota({8, 32}));
  const Layers sharded = put(w, P(None, "x"));
  const Array cut = device_put(x, on8(P("x")));
  const Lowered lowered = jit(step).lower(sharded, cut);
  EXPECT_LT(bytes_sent(lowered), 512 * 512 * 4 / 4) << lowered.explain();
  expect_equal_to_one_device(w, x, sharded, cut);
}

// The activations are sharded along features as the weights are, so the weights' shardings
// propagate with theirs.
TEST_F(Alternatives, WeightsSpreadWithFeaturesThatAreCutAlike) {
  const Layers w = layers(16, 16), sharded = put(w, P(None, "x"));
  const Array x = cos(iota({512, 16})), cut = device_put(x, on8(P(None, "x")));
  const Lowered lowered = jit(step).lower(sharded, cut);
  EXPECT_LE(bytes_sent(lowered), 10 * 512 * 7 * 4) << lowered.explain();
  expect_equal_to_one_device(w, x, sharded, cut);
}

// Returns the number of programs that each pass left.
std::map<std::string, int> alternatives_after(const Lowered& lowered) {
  std::map<std::string, int> out;
  for (const PassTime& pass : lowered.pass_times()) out[std::string(pass.name)] = pass.alternatives;
  return out;
}

// Returns a lowered step with weights larger than its activations. The order of propagation decides
// which of them are moved.
Lowered lowered_step(const PartitionSpec& weights) {
  return jit(step).lower(put(layers(32, 512), weights),
                         device_put(cos(iota({8, 32})), on8(P("x"))));
}

TEST_F(Alternatives, OnlyPropagationAndPartitionSeeSeveral) {
  const Lowered lowered = lowered_step(P(None, "x"));
  const std::set<std::string> twice = {"propagate", "expand_custom_partitions", "split_lines",
                                       "split_sorts", "partition"};
  const std::map<std::string, int> after = alternatives_after(lowered);
  EXPECT_EQ(after.size(), compile::passes().size());
  for (const auto& [pass, count] : after) EXPECT_EQ(count, twice.contains(pass) ? 2 : 1) << pass;
}

TEST_F(Alternatives, WithoutAChoiceThereIsOne) {
  const Layers w = layers(32, 64);
  const Array x = cos(iota({512, 32})), cut = device_put(x, on8(P("x")));
  for (const auto& [pass, count] : alternatives_after(jit(step).lower(put(w, P()), cut)))
    EXPECT_EQ(count, 1) << pass;
  for (const auto& [pass, count] : alternatives_after(jit(step).lower(w, x)))
    EXPECT_LE(count, 1) << pass;
}

// The state is sharded over the axis of the batch, but both orders lead to the same shardings.
TEST_F(Alternatives, EqualShardingsAreOne) {
  const auto decay = [](const Array& w, const Array& x) {
    return std::make_pair(w * 0.5f, sum(x));
  };
  const Array w = device_put(iota({16, 4}), on8(P("x"))), x = device_put(iota({8, 3}), on8(P("x")));
  EXPECT_EQ(alternatives_after(jit(decay).lower(w, x)).at("propagate"), 1);
}

// All kept stages are those of one alternative, from propagation to the collectives.
TEST_F(Alternatives, TheStagesOfTheKeptOneBelongTogether) {
  const Lowered lowered = lowered_step(P(None, "x"));
  const compile::Stages& stages = lowered.stages();
  const spmd::Partitioned again = spmd::partition(stages.propagated, stages.mesh);
  EXPECT_TRUE(again.function == stages.partitioned.function);
  EXPECT_EQ(again.collectives.size(), stages.partitioned.collectives.size());
}

// Lowers and compiles the step in this process, which has compiled nothing before. Returns how many
// programs were printed after partition, each by a run of its own.
int partitions(const PartitionSpec& weights) {
  ::setenv("TESSERA_PRINT_AFTER", "partition", 1);
  const std::string path = testing::TempDir() + "printed." + std::to_string(::getpid());
  if (!std::freopen(path.c_str(), "w", stderr)) return -1;
  lowered_step(weights).compile();
  std::fflush(stderr);
  std::ifstream printed(path);
  int out = 0;
  for (std::string line; std::getline(printed, line);)
    out += line.starts_with("// after partition");
  std::remove(path.c_str());
  return out;
}

TEST_F(Alternatives, APassRunsOnceForEach) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(partitions(P(None, "x"))), testing::ExitedWithCode(2), "");
  EXPECT_EXIT(std::exit(partitions(P())), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace tessera::alternatives_test
