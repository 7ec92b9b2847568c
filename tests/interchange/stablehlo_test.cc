// Programs exported by JAX: each parses, verifies, prints to text that parses to the same, and
// computes what JAX computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <map>
#include <set>

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/ops/core/convert.h"
#include "tests/evaluate/evaluate.h"
#include "tests/golden/golden.h"

namespace tessera::stablehlo_test {

using namespace interchange;

namespace {

std::vector<std::string> all_files() {
  std::vector<std::string> names;
  const std::filesystem::path root = std::filesystem::path(TESSERA_GOLDEN_DIR) / "stablehlo";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    // refine_shapes_test.cc reads programs with symbolic shapes.
    if (entry.path().extension() == ".mlir" && entry.path().parent_path().filename() != "symbolic")
      names.push_back(std::filesystem::relative(entry.path(), root));
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the programs with an op that Tessera does not have, and the op.
const std::map<std::string, std::string>& unsupported() {
  static const std::map<std::string, std::string> files;
  return files;
}

Function parse_golden(const std::string& name) {
  return parse_mlir(golden::read_file("stablehlo/" + name), name);
}

TEST(StableHlo, EveryFileRoundTrips) {
  const std::vector<std::string> names = all_files();
  ASSERT_GE(names.size(), 230u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    try {
      const Function f = parse_golden(name);
      EXPECT_EQ(unsupported().count(name), 0u) << "it is supported now";
      verify(f);
      const std::string text = to_mlir(f);
      const Function again = parse_mlir(text, name + " printed");
      verify(again);
      EXPECT_TRUE(f == again) << text;
      EXPECT_EQ(to_mlir(again), text);
    } catch (const std::exception& e) {
      const auto op = unsupported().find(name);
      if (op == unsupported().end()) {
        ADD_FAILURE() << e.what();
      } else {
        EXPECT_THAT(e.what(), testing::HasSubstr("expected an op that Tessera has, got '" +
                                                 op->second + "'"));
      }
    }
  }
}

// Expects |got - want| <= tolerance * (1 + |want|); NaN equals NaN.
void expect_close(const Literal& got, const Literal& want, double tolerance) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  if (tolerance == 0 && got == want) return;
  const Literal a = convert_literal(got, complex128), b = convert_literal(want, complex128);
  for (int64_t i = 0; i < a.elements(); ++i) {
    const std::complex<double> x = a.data<std::complex<double>>()[i],
                               y = b.data<std::complex<double>>()[i];
    if (x == y || (std::isnan(std::abs(x)) && std::isnan(std::abs(y)))) continue;
    ASSERT_LE(std::abs(x - y), tolerance * (1 + std::abs(y)))
        << "element " << i << ": " << x << ", expected " << y;
  }
}

void expect_program(const std::string& text, const std::vector<Literal>& inputs,
                    const std::vector<Literal>& outputs, double tolerance) {
  SCOPED_TRACE(text);
  try {
    const Function f = parse_golden(text);
    const std::vector<Literal> got = evaluate(f, inputs);
    ASSERT_EQ(got.size(), outputs.size());
    for (size_t r = 0; r < got.size(); ++r) expect_close(got[r], outputs[r], tolerance);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

TEST(StableHlo, OpsComputeWhatJaxComputes) {
  const golden::Topic topic("ops");
  int count = 0;
  for (const golden::Json& p : topic["programs"]) {
    expect_program(p["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]),
                   p["exact"] ? 0 : 1e-5);
    ++count;
  }
  EXPECT_GE(count, 120);
}

TEST(StableHlo, LoopsAndBranchesComputeWhatJaxComputes) {
  const golden::Topic topic("control_flow");
  int count = 0;
  for (const golden::Json& p : topic["programs"]) {
    expect_program(p["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]), 1e-5);
    ++count;
  }
  EXPECT_GE(count, 20);
}

// Functions for which JAX calls LAPACK on its CPU platform.
TEST(StableHlo, LinearAlgebraComputesWhatJaxComputes) {
  const golden::Topic topic("linalg_calls");
  int count = 0;
  for (const golden::Json& p : topic["programs"]) {
    expect_program(p["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]), 1e-4);
    ++count;
  }
  EXPECT_GE(count, 70);
}

TEST(StableHlo, ManualComputationsComputeWhatJaxComputes) {
  const golden::Topic topic("shard_map");
  int count = 0;
  for (const golden::Json& p : topic["programs"]) {
    expect_program(p["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]),
                   std::max(1e-6, p["tolerance"].get<double>()));
    ++count;
  }
  EXPECT_GE(count, 45);
}

TEST(StableHlo, ShardedProgramsComputeWhatJaxComputes) {
  const golden::Topic topic("sharding");
  std::set<std::string> seen;
  for (const golden::Json& c : topic["cases"]) {
    if (!c["text"].is_string() || unsupported().count(c["text"]) ||
        !seen.insert(c["program"]).second)
      continue;
    const golden::Json& p = topic["programs"].at(c["program"].get<std::string>());
    expect_program(c["text"], topic.arrays(p["inputs"]), topic.arrays(p["outputs"]), 2e-5);
  }
  EXPECT_GE(seen.size(), 60u);
}

}  // namespace
}  // namespace tessera::stablehlo_test
