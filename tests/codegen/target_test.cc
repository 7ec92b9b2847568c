#include "tessera/codegen/machine_code/target.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera::codegen::target_test {

using Features = std::map<std::string, bool>;
const Features kLeast{{"avx2", true}, {"f16c", true}, {"fma", true}};

Features with_avx512(bool vl) {
  Features out = kLeast;
  for (const char* name : {"avx512f", "avx512bw", "avx512dq", "avx512cd"}) out[name] = true;
  out["avx512vl"] = vl;
  return out;
}

TEST(Target, TheLeast) {
  const Target target = target_of(Architecture::kX86, "haswell", kLeast);
  EXPECT_EQ(target.cpu, "haswell");
  EXPECT_EQ(target.features, "+avx2,+f16c,+fma");
  EXPECT_FALSE(target.avx512);
  EXPECT_EQ(target.vector_bytes, 32);
  EXPECT_EQ(target.f32_lanes(), 8);
}

TEST(Target, Avx512NeedsAllItsParts) {
  EXPECT_EQ(target_of(Architecture::kX86, "znver4", with_avx512(true)).vector_bytes, 64);
  const Target part = target_of(Architecture::kX86, "knl", with_avx512(false));
  EXPECT_FALSE(part.avx512);
  EXPECT_EQ(part.vector_bytes, 32);
  // LLVM does not generate instructions of features that are not used.
  EXPECT_EQ(part.features, "+avx2,-avx512bw,-avx512cd,-avx512dq,-avx512f,-avx512vl,+f16c,+fma");
  EXPECT_EQ(target_of(Architecture::kX86, "znver4", with_avx512(true), false).features,
            part.features);
}

TEST(Target, ACpuThatLacksSomethingIsRefused) {
  for (const std::string missing : {"avx2", "fma", "f16c"}) {
    for (const bool named : {true, false}) {
      Features features = kLeast;
      if (named) {
        features[missing] = false;
      } else {
        features.erase(missing);
      }
      try {
        target_of(Architecture::kX86, "nehalem", features);
        FAIL() << missing;
      } catch (const RuntimeError& error) {
        EXPECT_EQ(
            std::string(error.what()),
            "[codegen] expected a CPU with AVX2, FMA and F16C (x86-64-v3), got nehalem without " +
                missing +
                "; run this on an Intel CPU since Haswell or an AMD CPU since Zen, and in a "
                "virtual machine let it see the features of its host");
      }
    }
  }
}

// Every 64-bit ARM has NEON, also if its features are not known, as in an emulator.
TEST(Target, OfArm) {
  const Target target =
      target_of(Architecture::kArm, "cortex-a72", {{"neon", true}, {"sve", false}});
  EXPECT_EQ(target.features, "+neon,-sve");
  EXPECT_EQ(target.vector_bytes, 32);
  EXPECT_FALSE(target.avx512);
  EXPECT_EQ(target_of(Architecture::kArm, "generic", {}).features, "");
}

TEST(Target, OfTheHost) {
  EXPECT_FALSE(host_target().cpu.empty());
  EXPECT_EQ(narrow_target().vector_bytes, 32);
  EXPECT_EQ(narrow_target().cpu, host_target().cpu);
}

}  // namespace tessera::codegen::target_test
