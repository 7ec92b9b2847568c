// Information on this library, for bug reports (python -m tessera_jax) and for the Python code that
// loads it. These functions are not part of PJRT's C API.
#pragma once

#include <string>

namespace tessera::plugin {

// The versions of StableHLO's portable artifacts that can be read.
inline constexpr const char *kOldestStableHlo = "0.9.0", *kNewestStableHlo = "1.22.0";

// Returns versions and the CPU, as JSON:
//
//   {"tessera": "0.1.0", "pjrt_api": "0.114", "stablehlo": ["0.9.0", "1.22.0"], "llvm": "19.1.7",
//    "onednn": "2.6.3", "openblas": "OpenBLAS 0.3.21 ...", "cpu": "znver4", "vector_bytes": 64}
//
// Throws RuntimeError if the CPU lacks required features (codegen/machine_code/target.h).
std::string about();

}  // namespace tessera::plugin

// Returns the version of the functions outside of the C API. It increases when one of them changes;
// Python does not call a library with another version.
extern "C" __attribute__((visibility("default"))) int tessera_interface();
// Calls about(). Returns 0 and the JSON in *out, or 1 and the error's text. The caller frees *out
// by tessera_free (explain.h).
extern "C" __attribute__((visibility("default"))) int tessera_about(char** out);
