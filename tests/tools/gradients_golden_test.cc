// Compares gradients of programs that JAX exported with JAX's gradients: as `tessera grad` runs
// them, and as it prints them.
#include <gtest/gtest.h>

#include <complex>

#include "tessera/compile/compiled.h"
#include "tessera/compile/program_cache.h"
#include "tessera/ops/core/convert.h"
#include "tests/golden/golden.h"
#include "tools/transforms.h"

namespace tessera::tools::gradients_golden_test {

using namespace compile;

namespace {

// Compares to 1e-9 of the largest element. All arrays are float64.
void expect_close(const Literal& got, const Literal& want, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const Literal a = convert_literal(got, complex128), b = convert_literal(want, complex128);
  const auto *x = a.data<std::complex<double>>(), *y = b.data<std::complex<double>>();
  double largest = 1e-3;
  for (int64_t i = 0; i < b.elements(); ++i) largest = std::max(largest, std::abs(y[i]));
  for (int64_t i = 0; i < b.elements(); ++i)
    ASSERT_LE(std::abs(x[i] - y[i]), 1e-9 * largest) << what << ", element " << i;
}

std::vector<Literal> run(const Program& program, const std::vector<Literal>& inputs) {
  std::vector<Literal> out;
  const CompiledRef compiled = compile_cached(program.function, program.request, devices()[0]);
  for (const Array& r : compiled->run(std::vector<Array>(inputs.begin(), inputs.end())))
    out.push_back(r.to_host());
  return out;
}

class GoldenGradients : public testing::Test {
 protected:
  void SetUp() override { initialize({.devices = "cpu:8"}); }
  void TearDown() override { initialize({}); }
};

TEST_F(GoldenGradients, AreJaxs) {
  const golden::Topic topic("gradients");
  int count = 0;
  for (const golden::Json& p : topic["programs"]) {
    const std::string name = p["name"], text = p["text"];
    SCOPED_TRACE(name);
    try {
      const Program program =
          program_of(parse_module(golden::read_file("stablehlo/" + text), text));
      const Program gradient = gradient_of(program, {.value = true, .seed = 0});
      const Program printed = *transformed("lower_scans", gradient, {});
      const std::vector<Literal> inputs = topic.arrays(p["inputs"]),
                                 want = topic.arrays(p["outputs"]);
      for (const Program* made : {&gradient, &printed}) {
        const std::vector<Literal> got = run(*made, inputs);
        ASSERT_EQ(got.size(), want.size());
        for (size_t r = 0; r < got.size(); ++r)
          expect_close(got[r], want[r], r == 0 ? "value" : fmt::format("gradient {}", r - 1));
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
    ++count;
  }
  EXPECT_GE(count, 25);
}

}  // namespace
}  // namespace tessera::tools::gradients_golden_test
