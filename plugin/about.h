// What this library is, for bug reports (python -m tessera_jax) and for the Python that loads it. Beside
// the C API of PJRT, which has no place for it.
#pragma once

#include <string>

namespace tessera::plugin {

// The versions of StableHLO's portable artifacts that are read.
inline constexpr const char *kOldestStableHlo = "0.9.0", *kNewestStableHlo = "1.22.0";

// Versions and the CPU, as JSON:
//
//   {"tessera": "0.1.0", "pjrt_api": "0.114", "stablehlo": ["0.9.0", "1.22.0"], "llvm": "19.1.7",
//    "onednn": "2.6.3", "openblas": "OpenBLAS 0.3.21 ...", "cpu": "znver4", "vector_bytes": 64}
//
// RuntimeError where the CPU lacks what is needed (codegen/target.h).
std::string about();

}  // namespace tessera::plugin

// The number of the functions beside the C API, which grows when one of them changes: Python calls no
// library of another number.
extern "C" __attribute__((visibility("default"))) int tessera_interface();
// As about() above. Returns 0 and the JSON in *out, or 1 and the error's text; the caller gives *out back
// by tessera_free (explain.h).
extern "C" __attribute__((visibility("default"))) int tessera_about(char** out);
