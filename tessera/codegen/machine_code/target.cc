#include "tessera/codegen/machine_code/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <map>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"

namespace tessera::codegen {
namespace {

bool is_avx512(const std::string& feature) {
  return feature.starts_with("avx512") || feature.starts_with("avx10") || feature == "evex512";
}

Target make_target(bool allow_avx512) {
  std::map<std::string, bool> features;
  for (const auto& entry : llvm::sys::getHostCPUFeatures()) {
    features[entry.first().str()] = entry.second;
  }
  return target_of(host_architecture(), llvm::sys::getHostCPUName().str(), features, allow_avx512);
}

}  // namespace

Target target_of(Architecture architecture, const std::string& cpu,
                 const std::map<std::string, bool>& features, bool allow_avx512) {
  const auto has = [&](const char* name) {
    const auto found = features.find(name);
    return found != features.end() && found->second;
  };
  const bool x86 = architecture == Architecture::kX86;  // every 64-bit ARM has NEON
  for (const char* needed : {"avx2", "fma", "f16c"}) {
    if (x86 && !has(needed)) {
      throw RuntimeError(fmt::format(
          "[codegen] expected a CPU with AVX2, FMA and F16C (x86-64-v3), got {} without {}; run "
          "this on an Intel CPU since Haswell or an AMD CPU since Zen, and in a virtual machine "
          "let it see the features of its host",
          cpu, needed));
    }
  }
  Target target;
  target.architecture = architecture;
  target.cpu = cpu;
  target.avx512 = x86 && allow_avx512;
  for (const char* part : {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}) {
    target.avx512 = target.avx512 && has(part);
  }
  target.avx512_bf16 = target.avx512 && has("avx512bf16");
  target.vector_bytes = target.avx512 ? 64 : 32;
  for (const auto& [name, present] : features) {
    const bool on = present && (target.avx512 || !is_avx512(name));
    if (!target.features.empty()) target.features += ',';
    target.features += (on ? '+' : '-') + name;
  }
  return target;
}

const Target& host_target() {
  static const Target& target = *new Target(make_target(true));
  return target;
}

Target narrow_target() { return make_target(false); }

}  // namespace tessera::codegen
