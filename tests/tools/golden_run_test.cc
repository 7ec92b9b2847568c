// Compiles programs that JAX exported for eight devices and runs them, like `tessera run`.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <set>

#include "tessera/compile/compiled.h"
#include "tessera/compile/program_cache.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/ops/core/convert.h"
#include "tests/golden/golden.h"

namespace tessera::golden_run_test {

using namespace compile;

namespace {

// Expects |got - want| <= tolerance * (1 + |want|); NaN equals NaN.
void expect_close(const Literal& got, const Literal& want, double tolerance) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  const Literal a = convert_literal(got, complex128), b = convert_literal(want, complex128);
  for (int64_t i = 0; i < a.elements(); ++i) {
    const std::complex<double> x = a.data<std::complex<double>>()[i],
                               y = b.data<std::complex<double>>()[i];
    if (x == y || (std::isnan(std::abs(x)) && std::isnan(std::abs(y)))) continue;
    ASSERT_LE(std::abs(x - y), tolerance * (1 + std::abs(y)))
        << "element " << i << ": " << x << ", expected " << y;
  }
}

double tolerance_of(DType dtype) {
  return itemsize(dtype) <= 2 && is_floating(dtype) ? 1e-2 : 3e-5;
}

void expect_module(const std::string& program, const std::string& name,
                   const std::vector<Literal>& inputs, const std::vector<Literal>& outputs,
                   double tolerance = 0) {
  SCOPED_TRACE(name);
  try {
    const ParsedModule m = read_module(
        program, name, {.argument_shape = [&](size_t i, const std::string&, const Type&) {
          return std::optional<Shape>(inputs.at(i).shape());
        }});
    const ShardingRequest request{.inputs = m.input_shardings, .outputs = m.output_shardings};
    const CompiledRef program = compile_cached(m.main, request, devices()[0]);
    const std::vector<Array> got = program->run(std::vector<Array>(inputs.begin(), inputs.end()));
    ASSERT_EQ(got.size(), outputs.size());
    for (size_t r = 0; r < got.size(); ++r)
      expect_close(got[r].to_host(), outputs[r],
                   std::max(tolerance, tolerance_of(outputs[r].dtype())));
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

void expect_program(const std::string& name, const std::vector<Literal>& inputs,
                    const std::vector<Literal>& outputs, double tolerance = 0) {
  expect_module(golden::read_file("stablehlo/" + name), name, inputs, outputs, tolerance);
}

class GoldenPrograms : public testing::Test {
 protected:
  void SetUp() override { initialize({.devices = "cpu:8"}); }
  void TearDown() override { initialize({}); }
};

TEST_F(GoldenPrograms, Ops) {
  const golden::Topic topic("ops");
  for (const golden::Json& p : topic["programs"])
    expect_program(p["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]));
}

TEST_F(GoldenPrograms, LinearAlgebra) {
  const golden::Topic topic("linalg_calls");
  for (const golden::Json& p : topic["programs"])
    expect_program(p["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]), 1e-4);
}

TEST_F(GoldenPrograms, SymbolicShapes) {
  const golden::Topic topic("symbolic");
  for (const golden::Json& p : topic["programs"])
    for (const golden::Json& c : p["cases"]) {
      expect_program(p["text"], topic.arrays(c["inputs"]), topic.arrays(c["outputs"]));
      expect_module(golden::bytes_of_hex(p["bytecode"]), p["name"], topic.arrays(c["inputs"]),
                    topic.arrays(c["outputs"]));
    }
}

TEST_F(GoldenPrograms, RaggedProducts) {
  const golden::Topic topic("ragged_dot");
  for (const golden::Json& p : topic["programs"])
    expect_program(p["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]));
}

TEST_F(GoldenPrograms, ManualComputations) {
  const golden::Topic topic("shard_map");
  for (const golden::Json& p : topic["programs"])
    expect_program(p["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]));
}

TEST_F(GoldenPrograms, Sharded) {
  const golden::Topic topic("sharding");
  const std::set<std::string> without_ops = {"cumsum_axis0"};  // it has a reduce_window
  int count = 0;
  for (const golden::Json& c : topic["cases"]) {
    const golden::Json& p = topic["programs"].at(c["program"].get<std::string>());
    if (!c["text"].is_string() || without_ops.count(c["program"])) continue;
    expect_program(c["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]));
    ++count;
  }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace tessera::golden_run_test
