// Weights that are stored as the batch is cut: which of both decides how a step is computed.
#include "tessera/compile/choose_propagation.h"

#include <set>

#include "tessera/compile/pipeline.h"
#include "tests/compile/devices.h"

namespace tessera::choose_propagation_test {
namespace {

class ChoosePropagation : public DevicesTest {};

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

// Activations are larger than weights: these are gathered, and their gradients scattered.
TEST_F(ChoosePropagation, AFullySharedStepGathersWeights) {
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

// Propagated together, the table's cut decides how everything lies that was looked up in it.
TEST_F(ChoosePropagation, ATableThatIsCutDoesNotDecideHowActivationsLie) {
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

// Weights are larger than activations: these move to where the weights are.
TEST_F(ChoosePropagation, OfLargeWeightsActivationsMove) {
  const Layers w = layers(32, 512);
  const Array x = cos(iota({8, 32}));
  const Layers sharded = put(w, P(None, "x"));
  const Array cut = device_put(x, on8(P("x")));
  const Lowered lowered = jit(step).lower(sharded, cut);
  EXPECT_LT(bytes_sent(lowered), 512 * 512 * 4 / 4) << lowered.explain();
  expect_equal_to_one_device(w, x, sharded, cut);
}

// Cut along features, activations lie as the weights do: these spread with them.
TEST_F(ChoosePropagation, WeightsSpreadWithFeaturesThatAreCutAlike) {
  const Layers w = layers(16, 16), sharded = put(w, P(None, "x"));
  const Array x = cos(iota({512, 16})), cut = device_put(x, on8(P(None, "x")));
  const Lowered lowered = jit(step).lower(sharded, cut);
  EXPECT_LE(bytes_sent(lowered), 10 * 512 * 7 * 4) << lowered.explain();
  expect_equal_to_one_device(w, x, sharded, cut);
}

// The plan that decided is not made again, unless the program has changed since.
TEST_F(ChoosePropagation, ThePlanIsOfTheProgramAsItWas) {
  const Layers sharded = put(layers(32, 64), P("x"));
  const Array cut = device_put(cos(iota({512, 32})), on8(P("x")));
  const Lowered lowered = jit(step).lower(sharded, cut);
  compile::PassState state{.function = lowered.stages().traced, .mesh = lowered.stages().mesh};
  state.request.inputs.resize(state.function.inputs.size(), on8(P("x")));
  state.request.outputs.resize(state.function.outputs.size());
  const auto passes = compile::passes();
  const auto partition = std::find_if(passes.begin(), passes.end(),
                                      [](const auto& pass) { return pass.name == "partition"; });
  for (auto pass = passes.begin(); pass != partition; ++pass) run_pass(*pass, state);
  ASSERT_TRUE(state.plan);
  EXPECT_TRUE(state.plan->cut == state.function);
  compile::PassState changed = state;
  changed.function.outputs.pop_back();
  run_pass(*partition, state);
  run_pass(*partition, changed);
  EXPECT_EQ(state.function.outputs.size(), 3U);
  EXPECT_EQ(changed.function.outputs.size(), 2U);
}

}  // namespace
}  // namespace tessera::choose_propagation_test
