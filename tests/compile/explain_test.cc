// Lowered: the texts of the stages, collectives, costs, and explain() for the tutorial's functions.
#include "tests/compile/devices.h"

namespace tessera::explain_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Explain : public DevicesTest {};

Array dense_sigmoid(const Array& x, const Array& weights, const Array& bias) {
  return sigmoid(matmul(x, weights) + bias);
}

TEST_F(Explain, AutomaticParallelism) {
  const Array x = device_put(iota({8, 16}), on24(P("x", "y")));
  const Lowered lowered = jit([](const Array& v) { return 2 * sin(v) + 1; }).lower(x);
  EXPECT_THAT(lowered.collectives(), IsEmpty());
  EXPECT_THAT(lowered.output_shardings(), ElementsAre(on24(P("x", "y"))));
  EXPECT_THAT(lowered.explain(), HasSubstr("no collectives"));
}

TEST_F(Explain, ASumOverAShardedAxis) {
  const Array x = device_put(iota({8, 16}), on24(P("x", "y")));
  const Lowered lowered = jit([](const Array& v) { return sum(v, {.axis = 0}); }).lower(x);
  ASSERT_EQ(lowered.collectives().size(), 1u);
  EXPECT_EQ(lowered.collectives()[0].name, "all_reduce");
  EXPECT_THAT(lowered.collectives()[0].axes, ElementsAre("x"));
  EXPECT_THAT(lowered.explain(),
              AllOf(HasSubstr("all_reduce over (x) among 2 devices: each sends 16 B"),
                    HasSubstr("reduce sums over dimension 0 of operand 0, sharded over 'x'")));
}

TEST_F(Explain, TheDenseLayerOfTheTutorial) {
  const Array x = device_put(iota({32}), on8(P("x"))), w = device_put(iota({32, 4}), on8(P("x"))),
              b = device_put(iota({4}), on8(P()));
  const Lowered lowered = jit(dense_sigmoid).lower(x, w, b);
  ASSERT_EQ(lowered.collectives().size(), 1u);
  EXPECT_EQ(lowered.collectives()[0].name, "all_reduce");
  EXPECT_EQ(lowered.collectives()[0].bytes_per_device, 2 * 16 * 7 / 8);
  EXPECT_THAT(lowered.explain(),
              HasSubstr("dot_general sums over dimension 0 of operand 0, sharded over 'x'"));
}

TEST_F(Explain, AConstraintThatGathersIsAWarning) {
  const Array x = device_put(iota({64, 512}), on8(P("x")));
  const auto f = jit([](const Array& v) { return with_sharding_constraint(v + 1, on8(P())) * 2; });
  const std::string text = f.lower(x).explain();
  EXPECT_THAT(text, AllOf(HasSubstr("warning: [sharding_constraint]"),
                          HasSubstr("gathers float32[64,512] whole on every device"),
                          HasSubstr("constrain to a spec that keeps the mesh axes")));
  // Compiling warns once, and the result is correct.
  EXPECT_EQ(values(f(x))[5], 12);
}

TEST_F(Explain, PaddingIsNoted) {
  const Array x = device_put(iota({10}), on8(P("x")));
  EXPECT_THAT(jit([](const Array& v) { return v * 2; }).lower(x).explain(),
              HasSubstr("dimension 0 of float32[10] is divided into 8 shards of 2: 6 of 16 rows of "
                        "storage are padding; make it a multiple of 8"));
}

int64_t occurrences(const std::string& text, std::string_view word) {
  int64_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST_F(Explain, EqualCollectivesAreOne) {
  const Array x = device_put(iota({8, 16}), on24(P("x", "y")));
  const Lowered lowered =
      jit([](const Array& a) { return std::pair(sum(a), sum(a) + 1); }).lower(x);
  EXPECT_EQ(lowered.collectives().size(), 1u);
}

// The loss and the logits each call the forward function, which must run once. checkpoint calls it
// too, and must compute it again.
TEST_F(Explain, AStepThatReturnsItsLogitsRunsForwardOnce) {
  const Array x = device_put(ones({16, 8}), on8(P("x"))), w = device_put(ones({8, 4}), on8(P()));
  const auto dots = [&](const auto& forward) {
    const auto step = [forward](const Array& weights, const Array& batch) {
      const auto loss = [&](const Array& v) { return sum(square(forward(v, batch))); };
      return std::pair(grad(loss)(weights), forward(weights, batch));
    };
    return occurrences(jit(step).lower(w, x).text("partitioned"), "stablehlo.dot_general");
  };
  const auto forward = [](const Array& v, const Array& batch) { return tanh(matmul(batch, v)); };
  EXPECT_EQ(dots(forward), 2) << "one forward, one backward";
  EXPECT_EQ(dots([&](const Array& v, const Array& batch) { return jit(forward)(v, batch); }), 2);
  EXPECT_EQ(dots([&](const Array& v, const Array& batch) { return checkpoint(forward)(v, batch); }),
            3);
}

TEST_F(Explain, OneDevice) {
  EXPECT_THAT(jit([](const Array& v) { return v * 2; }).lower(iota({4})).explain(),
              HasSubstr("one device; nothing is communicated"));
}

TEST_F(Explain, EveryCollectiveIsExplained) {
  const Array x = device_put(iota({64, 64}), on24(P("x", "y"))),
              w = device_put(iota({64, 64}), on24(P("x", "y")));
  const Lowered lowered =
      jit([](const Array& a, const Array& b) {
        return with_sharding_constraint(matmul(tanh(matmul(a, b)), b), on24(P("y", "x")));
      }).lower(x, w);
  ASSERT_THAT(lowered.collectives(), Not(IsEmpty()));
  for (const Collective& c : lowered.collectives()) {
    EXPECT_FALSE(c.reason.empty()) << c.name;
    EXPECT_FALSE(c.op.empty()) << c.name;
    EXPECT_FALSE(c.axes.empty()) << c.name;
    EXPECT_GT(c.bytes_per_device, 0) << c.name;
    EXPECT_GT(c.seconds, 0) << c.name;
    EXPECT_THAT(lowered.explain(), HasSubstr(c.reason));
  }
}

TEST_F(Explain, AbstractMeshesLowerButDoNotRun) {
  const Mesh mesh = Mesh::abstract({64, 64}, {"data", "model"});
  const Array x = abstract_array({8192, 1024}, float32, NamedSharding(mesh, P("data")));
  const Array w = abstract_array({1024, 4096}, float32, NamedSharding(mesh, P(None, "model")));
  const Array v = abstract_array({4096, 1024}, float32, NamedSharding(mesh, P("model")));
  const auto mlp = jit(
      [](const Array& a, const Array& b, const Array& c) { return matmul(tanh(matmul(a, b)), c); });
  const Lowered lowered = mlp.lower(x, w, v);
  ASSERT_EQ(lowered.collectives().size(), 1u);
  EXPECT_THAT(lowered.collectives()[0].axes, ElementsAre("model"));
  EXPECT_EQ(lowered.collectives()[0].group_size, 64);
  EXPECT_THAT(lowered.explain(), HasSubstr("4096 devices"));
  EXPECT_DOUBLE_EQ(lowered.cost().flops,
                   2. * 128 * 1024 * 64 * 2 + 128 * 64 + 128 * 1024);  // dots, tanh, all_reduce
  EXPECT_THAT(error_of([&] { lowered.compile(); }), HasSubstr("mesh of devices"));
  EXPECT_THAT(error_of([&] { mlp(x, w, v); }), HasSubstr("abstract"));
}

TEST_F(Explain, TextOfEveryStage) {
  const Array x = device_put(iota({8, 16}), on24(P("x", "y")));
  const Lowered lowered = jit([](const Array& v) { return sum(sin(v), {.axis = 1}); }).lower(x);
  EXPECT_THAT(lowered.text("traced"), HasSubstr("stablehlo.sine"));
  EXPECT_THAT(lowered.text("propagated"),
              AllOf(HasSubstr("sdy.sharding"), HasSubstr("tensor<8x16xf32>")));
  EXPECT_THAT(lowered.text("partitioned"),
              AllOf(HasSubstr("all_reduce"), HasSubstr("tensor<4x4xf32>")));
  EXPECT_THAT(lowered.text("fused"), Not(IsEmpty()));
  EXPECT_THAT(error_of([&] { lowered.text("molten"); }),
              AllOf(HasSubstr("traced, propagated, partitioned, fused"), HasSubstr("molten")));
}

}  // namespace
}  // namespace tessera::explain_test
