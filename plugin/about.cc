#include "plugin/about.h"

#include <cblas.h>
#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>
#include <oneapi/dnnl/dnnl.h>

#include <nlohmann/json.hpp>

#include "plugin/copied.h"
#include "plugin/pjrt.h"
#include "plugin/topology.h"
#include "tessera/base/blas.h"
#include "tessera/codegen/machine_code/target.h"

namespace tessera::plugin {

std::string about() {
  prepare_blas();  // chooses OpenBLAS's kernels
  const codegen::Target& target = codegen::host_target();
  const dnnl_version_t& onednn = *dnnl_version();
  const nlohmann::json out{
      {"tessera", kVersion},
      {"pjrt_api", fmt::format("{}.{}", PJRT_API_MAJOR, PJRT_API_MINOR)},
      {"stablehlo", {kOldestStableHlo, kNewestStableHlo}},
      {"llvm", LLVM_VERSION_STRING},
      {"onednn", fmt::format("{}.{}.{}", onednn.major, onednn.minor, onednn.patch)},
      {"openblas", fmt::format("{} on {}", openblas_get_config(), openblas_get_corename())},
      {"cpu", target.cpu},
      {"vector_bytes", target.vector_bytes},
  };
  return out.dump();
}

}  // namespace tessera::plugin

int tessera_interface() { return 3; }

int tessera_about(char** out) { return tessera::plugin::answer(out, tessera::plugin::about); }
