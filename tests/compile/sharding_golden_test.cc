// Compares the whole pipeline with JAX: every program of golden/sharding.json is compiled and run
// on eight devices. tests/spmd/partition_golden_test.cc lists where shardings and collectives
// differ from JAX's, and why.
#include <algorithm>
#include <cmath>

#include "tessera/compile/program_cache.h"
#include "tessera/interchange/text/parser.h"
#include "tests/compile/devices.h"
#include "tests/golden/sharding.h"

namespace tessera::sharding_golden_test {

using namespace compile;

namespace {

const golden::Topic& topic() {
  static const golden::Topic& t = *new golden::Topic("sharding");
  return t;
}

// Returns whether the library's shardings are finer than JAX's for this program.
bool finer_than_jax(const std::string& program) {
  return program == "add_conflict" || program == "reshape_split" ||
         program == "reshape_split_vector" || program == "reshape_regroup";
}

class ShardingGolden : public DevicesTest {};

TEST_F(ShardingGolden, CompiledProgramsAgreeWithJax) {
  int run = 0;
  std::map<std::string, ParsedModule> modules;
  for (const golden::Json& c : topic()["cases"]) {
    if (c["text"].is_null()) continue;
    const std::string program = c["program"];
    SCOPED_TRACE(fmt::format("{} in {}", program, c["in"].dump()));
    const ParsedModule module =
        parse_module(golden::read_file("stablehlo/" + c["text"].get<std::string>()), program);
    const Mesh mesh(create_device_mesh(golden::dims(c["mesh"]["shape"])),
                    c["mesh"]["names"].get<std::vector<std::string>>());
    const golden::Json& data = topic()["programs"][program];
    const std::vector<Literal> inputs = topic().arrays(data["inputs"]),
                               expected = topic().arrays(data["outputs"]);
    std::vector<Array> args;
    for (size_t k = 0; k < inputs.size(); ++k)
      args.push_back(
          c["in"][k].is_null()
              ? Array(inputs[k])
              : device_put(Array(inputs[k]), NamedSharding(mesh, golden::spec(c["in"][k]))));
    ShardingRequest request = request_for(module.main, args);
    request.outputs = module.output_shardings;
    const std::vector<Array> results =
        compile_cached(module.main, request, devices()[0])->run(args);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t r = 0; r < results.size(); ++r) {
      const Literal got = results[r].to_host();
      ASSERT_EQ(got.dtype(), expected[r].dtype());
      ASSERT_EQ(got.shape(), expected[r].shape());
      const NamedSharding sharding(mesh, golden::spec(c["out"][r]));
      if (!finer_than_jax(program)) {
        EXPECT_TRUE(results[r].sharding().named().is_equivalent_to(sharding, got.shape().rank()))
            << results[r].sharding().named() << ", JAX has " << sharding;
      }
      if (got.dtype() != float32) {
        EXPECT_EQ(got, expected[r]);
        continue;
      }
      for (int64_t i = 0; i < got.elements(); ++i) {
        const float g = got.data<float>()[i], e = expected[r].data<float>()[i];
        ASSERT_LE(std::abs(g - e), 1e-5 * std::max(1.f, std::abs(e)))
            << "output " << r << ", element " << i << ": " << g << ", JAX has " << e;
      }
    }
    ++run;
  }
  EXPECT_GE(run, 283);
}

}  // namespace
}  // namespace tessera::sharding_golden_test
