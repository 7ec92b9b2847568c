// Reads programs in binary form: MLIR bytecode of StableHLO and of its portable artifacts (VHLO of
// any version from 0.9 on), both with Shardy's and func's ops, and the output of jax.export's
// serialize(), which contains an artifact. No part of MLIR is needed. Errors are UserErrors kParse
// that name the file, the byte and the op.
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::interchange {

// Returns whether these bytes are bytecode or such an output. Otherwise they are text.
bool is_bytecode(std::string_view bytes);
ParsedModule read_bytecode(std::string_view bytes, std::string_view filename = "<bytes>",
                           const ReadOptions& options = {});
// Reads a program in either form.
ParsedModule read_module(std::string_view program, std::string_view filename = "<program>",
                         const ReadOptions& options = {});

}  // namespace tessera::interchange
