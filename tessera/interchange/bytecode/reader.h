// Reads programs in binary form: MLIR bytecode of StableHLO and of its portable artifacts (VHLO,
// any version from 0.9 on), either with Shardy's and func's ops, and what jax.export serialises,
// which contains an artifact. No part of MLIR is needed. A UserError kParse names the file, the
// byte and the op.
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::interchange {

// Returns whether these bytes are bytecode, or what jax.export serialises; otherwise they are text.
bool is_bytecode(std::string_view bytes);
ParsedModule read_bytecode(std::string_view bytes, std::string_view filename = "<bytes>",
                           const ReadOptions& options = {});
// Reads a program in either form.
ParsedModule read_module(std::string_view program, std::string_view filename = "<program>",
                         const ReadOptions& options = {});

}  // namespace tessera::interchange
