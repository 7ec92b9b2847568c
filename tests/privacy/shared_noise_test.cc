#include "tessera/privacy/noise/shared_noise.h"

#include "tessera/compile/jit.h"
#include "tessera/numpy/creation.h"

namespace tessera::privacy::internal::shared_noise_test {
namespace {

// tests/cluster/system_random_test.cc tests several processes.
TEST(SharedNoiseKeys, AProcessThatIsAloneNeedsNone) {
  const SharedNoise outer("op", RandomSource::kSystem), inner("op", RandomSource::kSystem);
  const Array x = zeros({3});
  EXPECT_NO_THROW(jit([](const Array& v) {
    const SharedNoise traced("op", RandomSource::kSystem);
    return v;
  })(x));
  std::vector<std::byte> bytes(8);
  EXPECT_THAT([&] { fill_from_shared_noise(0, 0, bytes); },
              testing::ThrowsMessage<RuntimeError>(
                  testing::HasSubstr("expected a program that privacy::Trainer or update() runs")));
}

}  // namespace
}  // namespace tessera::privacy::internal::shared_noise_test
