// Writes a function as a StableHLO portable artifact (VHLO in MLIR bytecode), which StableHLO's
// deserialize_portable_artifact and reader.h read back to what to_mlir() prints. Shardy's and
// CHLO's ops stand in it as they are, as in what JAX exports.
#pragma once

#include <string>

#include "tessera/ir/function.h"

namespace tessera::interchange {

struct BytecodeOptions {
  std::string version = "1.17.0";  // of VHLO: readers of this one or a later one can read it
  std::string module_name;         // empty: the function's name
};

// UserError kValue where the version is none, or lacks an op or what an op says. Ops that only
// Tessera has are custom calls, as in text.
std::string to_bytecode(const Function& function, const BytecodeOptions& options = {});

}  // namespace tessera::interchange
