// Reads programs as bytes: MLIR bytecode of StableHLO, of its portable artifacts (VHLO, of any
// version from 0.9 on) and of either beside Shardy's and func's ops, and what jax.export serialises,
// which holds an artifact. No part of MLIR is needed. UserError kParse names the file, the byte and
// the op.
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::interchange {

// Whether these bytes are bytecode, or what jax.export serialises; else they are text.
bool is_bytecode(std::string_view bytes);
ParsedModule read_bytecode(std::string_view bytes, std::string_view filename = "<bytes>",
                           const ReadOptions& options = {});
// The one or the other.
ParsedModule read_module(std::string_view program, std::string_view filename = "<program>",
                         const ReadOptions& options = {});

}  // namespace tessera::interchange
