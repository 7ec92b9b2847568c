// Generated programs (tests/generate) and their gradients, on meshes with devices of several
// processes.
#include <cstdlib>

#include "tests/cluster/recorded.h"
#include "tests/generate/make.h"
#include "tests/generate/run.h"

namespace tessera::generate::random_test {
namespace {

constexpr uint32_t kParts = 4;
// Returns the number of seeds. TESSERA_CLUSTER_SEEDS sets a larger one by hand, with its own
// records (docs/testing.md).
uint32_t seeds() {
  const char* given = std::getenv("TESSERA_CLUSTER_SEEDS");
  return given ? static_cast<uint32_t>(std::atoi(given)) : 160;
}

class Random : public ClusterTest, public testing::WithParamInterface<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, Random, testing::Range(0u, kParts));

TEST_P(Random, ProgramsAndTheirGradients) {
  int compared = 0;
  for (uint32_t seed = GetParam(); seed < seeds(); seed += kParts) {
    const Case c = make_case(seed);
    if (c.axis_names.empty()) continue;
    const Mesh m = c.mesh();
    const Literals literals = make_arguments(c);
    Arrays args;
    for (size_t k = 0; k < literals.size(); ++k)
      args.push_back(device_put(Array(literals[k]), NamedSharding(m, c.placements[k])));
    const Arrays results = jit([&](const Arrays& x) { return run(c, x); })(args);
    for (size_t k = 0; k < results.size(); ++k)
      same(fmt::format("{} result {}", seed, k), results[k]);
    ++compared;
    const std::vector<bool> inexact = inexact_inputs(c);
    if (seed % 3 != 0 || std::find(inexact.begin(), inexact.end(), true) == inexact.end()) continue;
    const Split apart = split(args);
    Arrays gradients;
    try {
      gradients = jit(grad([&](const Arrays& x, const Arrays& rest) {
        return loss_of(run(c, joined(x, rest, inexact)));
      }))(apart.inexact, apart.rest);
    } catch (const UserError&) {
      continue;  // the program has no derivative, in any process
    }
    for (size_t k = 0; k < gradients.size(); ++k)
      same(fmt::format("{} gradient {}", seed, k), gradients[k]);
  }
  EXPECT_GT(compared, 10);
}

}  // namespace
}  // namespace tessera::generate::random_test
