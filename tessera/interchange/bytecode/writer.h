// Writes a function as a StableHLO portable artifact (VHLO in MLIR bytecode). StableHLO's
// deserialize_portable_artifact and reader.h read it back as the program that to_mlir() prints. As
// in JAX's exports, Shardy's and CHLO's ops are in it unchanged.
#pragma once

#include <string>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

struct BytecodeOptions {
  std::string version = "1.17.0";  // of VHLO: readers of this version and later ones read it
  std::string module_name;         // empty: the function's name
};

// Returns the artifact. Throws UserError kValue if the version is malformed, or does not have an op
// or an attribute of the program. Ops that only Tessera has become custom calls, as in text.
std::string to_bytecode(const Function& function, const BytecodeOptions& options = {});

}  // namespace tessera::interchange
