// Runs fixed seeds through every comparison, and tests the generator's own parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checks.h"
#include "make.h"
#include "oracle.h"
#include "print.h"
#include "reduce.h"
#include "run.h"
#include "tessera/base/namespaces.h"
#include "tests/sanitizers.h"

namespace tessera::generate::generate_test {

using namespace fusion;

namespace {

using testing::HasSubstr;

// Sanitized programs take some ten times as long.
uint32_t seeds() { return has_sanitizer() ? 24 : 300; }
constexpr uint32_t kParts = 4;

class Generate : public testing::Test {
 protected:
  void SetUp() override {
    initialize({.devices = "cpu:8"});
    enable_x64(true);
  }
  void TearDown() override { enable_x64(false); }
};

class Seeds : public Generate, public testing::WithParamInterface<uint32_t> {};

TEST_P(Seeds, HaveNoDifference) {
  for (uint32_t seed = GetParam(); seed < seeds(); seed += kParts) {
    const Case c = make_case(seed);
    for (const std::string& check : checks_of(c)) {
      const Outcome outcome = run_check(check, c);
      EXPECT_NE(outcome.verdict, Verdict::kDifferent)
          << "scripts/generate --reduce " << seed << " --check " << check << " makes it smaller:\n"
          << program_source(c, outcome.difference);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Parts, Seeds, testing::Range(0u, kParts));

TEST_F(Generate, OneSeedIsOneProgram) {
  for (uint32_t seed : {1u, 2u, 3u})
    EXPECT_EQ(function_source(make_case(seed)), function_source(make_case(seed)));
}

TEST_F(Generate, EveryKindOfNodeIsDrawn) {
  std::set<NodeKind> kinds;
  std::set<std::string> ops;
  int manual = 0;
  for (uint32_t seed = 0; seed < seeds(); ++seed) {
    const Case c = make_case(seed);
    manual += contains(c.main, NodeKind::kShardMap);
    for_each_node(c.main, [&](const Node& node) {
      kinds.insert(node.kind);
      if (node.op) ops.insert(node.op->name);
    });
  }
  EXPECT_GT(manual, static_cast<int>(seeds()) * 2 / 5);
  if (seeds() < 300) return;
  EXPECT_EQ(kinds.size(), 14u);
  EXPECT_GT(ops.size(), all_op_specs().size() * 8 / 10);
}

// Returns a case of one op.
Case of_one(const char* name, ValueType input, Attributes p = {}) {
  Case c;
  c.main.inputs = {{0, std::move(input)}};
  c.placements = {PartitionSpec()};
  c.next_id = 1;
  c.main.nodes.push_back({.op = &op_named(name), .p = std::move(p), .operands = {0}});
  type_case(c);
  c.main.outputs = {c.main.nodes[0].results[0].id};
  return c;
}

TEST_F(Generate, OracleDifferentiates) {
  Case c = of_one("sin", {.dtype = float64, .shape = {2}});
  Oracle oracle(c);
  bool steady = true;
  const auto d = derivative(
      [&](double h) {
        const std::vector<double> x{0.3 + h, -1.2};
        return std::vector<double>{
            numbers(oracle.run({Literal::from<double>(x, {2})})[0])[0].real()};
      },
      &steady);
  EXPECT_TRUE(steady);
  EXPECT_NEAR(d[0], std::cos(0.3), 1e-10);
}

// Derivatives of f at 0, with steps of 1e-3: kinks are between the points, at the middle and beyond
// them.
TEST_F(Generate, DifferencesTellKinks) {
  const auto is_steady = [](const std::function<double(double)>& f) {
    bool steady = true;
    derivative([&](double h) { return std::vector<double>{f(h)}; }, &steady);
    return steady;
  };
  EXPECT_TRUE(is_steady([](double h) { return std::exp(h) + 40 * std::sin(3 * h); }));
  EXPECT_TRUE(is_steady([](double h) { return std::abs(h + 0.0021); }));
  for (double at : {0., 1e-6, -3e-4, 6e-4, -1e-3, 1.5e-3})
    for (double slope : {1., 1e-3, -2.})
      EXPECT_FALSE(is_steady([&](double h) { return h + slope * std::abs(h - at); }))
          << at << ", " << slope;
}

TEST_F(Generate, OracleRunsDevicesAsLanes) {
  Case c;
  c.axis_names = {"a"};
  c.axis_sizes = {2};
  c.main.inputs = {{0, {.dtype = float64, .shape = {4}}}};
  c.placements = {PartitionSpec("a")};
  c.next_id = 2;
  Node node{.kind = NodeKind::kShardMap,
            .operands = {0},
            .in_specs = {P("a")},
            .out_specs = {P()},
            .manual_axes = {"a"}};
  node.bodies.resize(1);
  node.bodies[0].inputs = {{1, {}}};
  node.bodies[0].nodes.push_back(
      {.op = &op_named("psum"), .p = {.axes = {"a"}}, .operands = {1}, .results = {{2, {}}}});
  node.bodies[0].outputs = {2};
  c.next_id = 3;
  c.main.nodes.push_back(node);
  type_case(c);
  c.main.outputs = {c.main.nodes[0].results[0].id};
  const std::vector<double> x{1, 2, 10, 20};
  EXPECT_EQ(Oracle(c).run({Literal::from<double>(x, {4})})[0],
            Literal::from<double>(std::vector<double>{11, 22}, {2}));
}

TEST_F(Generate, TypingRefusesWhatIsNoProgram) {
  Case c = of_one("sin", {.dtype = float32, .shape = {2}});
  c.main.nodes[0].operands = {7};
  EXPECT_THROW(type_case(c), Untypable);
  Case varies = of_one("psum", {.dtype = float32, .shape = {2}}, {.axes = {}});
  varies.main.nodes[0].p.axes = {"a"};
  EXPECT_THROW(type_case(varies), Untypable);
}

TEST_F(Generate, ReducesToTheCause) {
  // Reduces programs that contain a tanh: the smallest one is a single tanh.
  const auto has_tanh = [](const Case& c) {
    bool found = false;
    for_each_node(c.main,
                  [&](const Node& node) { found = found || (node.op && node.op->name == "tanh"); });
    return found;
  };
  int reduced = 0;
  for (uint32_t seed = 0; seed < 60 && reduced < 3; ++seed) {
    const Case c = make_case(seed);
    if (!has_tanh(c) || count_nodes(c.main) < 6) continue;
    ++reduced;
    const Case small = reduce(c, has_tanh, 20);
    EXPECT_TRUE(has_tanh(small));
    EXPECT_LE(count_nodes(small.main), 4) << function_source(small);
  }
  EXPECT_EQ(reduced, 3);
}

TEST_F(Generate, PrintsSource) {
  const Case c = of_one("sum", {.dtype = float32, .shape = {2, 3}}, {.flag = true, .dims = {1}});
  EXPECT_EQ(function_source(c, 0),
            "const auto f = [&](const Arrays& in) -> Arrays {\n"
            "  const Array v0 = in[0];\n"
            "  const Array v1 = sum(v0, {.axis = Dims{1}, .keepdims = true});\n"
            "  return Arrays{v1};\n"
            "};\n");
  EXPECT_THAT(program_source(c, {.check = "jit", .text = "why"}), HasSubstr("// seed 0, jit: why"));
}

}  // namespace
}  // namespace tessera::generate::generate_test
