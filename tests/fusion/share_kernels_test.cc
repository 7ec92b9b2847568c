#include "tessera/fusion/kernels/share_kernels.h"

#include <gmock/gmock.h>

#include <set>

#include "fusion_testing.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion_testing::share_kernels_test {

using namespace array_math;

namespace {

// Adds to x a hash of the element's number and of the layer's key. With `compared`, a kernel
// compares the hash with the key, too.
Array layer(const Array& x, uint32_t key, bool compared) {
  const Array number = lax::full({}, static_cast<double>(key), uint32);
  const Array keys = lax::broadcast_in_dim(number, x.shape(), {});
  Array hash = lax::iota(uint32, x.shape(), 0) + keys;
  for (int round = 0; round < 16; ++round) hash = lax::bitwise_xor(hash * hash, hash + keys);
  Array noise = lax::convert_element_type(hash, float32);
  if (compared) noise = noise * lax::convert_element_type(lax::lt(hash, keys), float32);
  return x * 0.1f + noise * 1e-11f;
}

// Returns the texts of the kernels of `count` layers with products between them.
std::vector<std::string> kernels_of(int count, bool compared = false) {
  const Schedule s = check(trace({f32({32, 32}), f32({32, 32})}, [&](const Arrays& x) {
    Array y = x[0];
    for (int k = 0; k < count; ++k)
      y = lax::dot_general(layer(y, 1000 + 7 * static_cast<uint32_t>(k), compared), x[1],
                           {{1}, {0}, {}, {}});
    return Arrays{y};
  }));
  std::vector<std::string> texts;
  for (const Step& step : s.steps)
    if (const auto* kernel = std::get_if<KernelStep>(&step))
      texts.push_back(to_string(kernel->kernel));
  return texts;
}
size_t different(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size();
}

TEST(ShareKernels, KeysOfLayersAreRead) {
  const std::vector<std::string> texts = kernels_of(5);
  EXPECT_EQ(texts.size(), 5u);
  EXPECT_EQ(different(texts), 1u) << texts[0] << texts[1];
}

TEST(ShareKernels, KernelsThatKeepTheirNumbers) {
  const std::string only = kernels_of(1)[0];
  EXPECT_EQ(only.find("input uint32"), std::string::npos) << only;
  // Code generation may use the number that is compared.
  EXPECT_EQ(different(kernels_of(5, true)), 5u);
}

}  // namespace
}  // namespace tessera::fusion_testing::share_kernels_test
