// The CPU that code is generated for. It is detected at run time, so nothing is built with
// -march=native.
//
// There are three levels: on x86-64, AVX2 with FMA and F16C (x86-64-v3, the least that is
// supported) and AVX-512 (F, BW, DQ, VL, CD), and on 64-bit ARM, NEON, whose registers hold half of
// a kernel's vector. Results do not depend on the level: kernels have the same operations in the
// same order on all levels.
#pragma once

#include <map>
#include <string>

#include "tessera/base/namespaces.h"

namespace tessera::codegen {

enum class Architecture { kX86, kArm };
// Returns the architecture that the library is built for.
constexpr Architecture host_architecture() {
#if defined(__x86_64__)
  return Architecture::kX86;
#elif defined(__aarch64__)
  return Architecture::kArm;
#else
#error "expected x86-64 or 64-bit ARM, the architectures that code is generated for"
#endif
}

struct Target {
  Architecture architecture = Architecture::kX86;
  std::string cpu;       // LLVM's name, for scheduling
  std::string features;  // LLVM's feature string, sorted
  bool avx512 = false;
  bool avx512_bf16 = false;  // has instructions that round float32 to bfloat16
  int vector_bytes = 32;

  int f32_lanes() const { return vector_bytes / 4; }
};

// Returns the target of a CPU with these features (LLVM's names, true if present), without AVX-512
// if `allow_avx512` is false. Throws RuntimeError if an x86-64 CPU lacks AVX2, FMA or F16C.
Target target_of(Architecture architecture, const std::string& cpu,
                 const std::map<std::string, bool>& features, bool allow_avx512 = true);
// Returns the host's target. Throws RuntimeError as target_of does.
const Target& host_target();
// Returns the host's target without AVX-512, to test both levels on one machine.
Target narrow_target();

}  // namespace tessera::codegen
