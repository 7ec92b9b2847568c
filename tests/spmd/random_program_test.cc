// Random programs that are partitioned compute the same as on one device.
#include "tests/spmd/random_program.h"

namespace tessera::random_program_test {

using namespace spmd;

namespace {

TEST(RandomPrograms, ComputeWhatOneDeviceDoes) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    testing_spmd::RandomProgram program(seed);
    try {
      partition_and_check(program.mesh(), program.inputs(), std::ref(program), {}, 1e-3);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace
}  // namespace tessera::random_program_test
