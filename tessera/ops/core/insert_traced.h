// What a foreign op (ir/op_format.h) is said with, as functions of Arrays.
#pragma once

#include "tessera/ir/append_ops.h"
#include "tessera/ir/op_format.h"
#include "tessera/ops/core/traced_function.h"

namespace tessera::ops {

// Adds what `f` binds for the op's operands; the results.
inline std::vector<ValueId> insert_traced(OpReader& reader, const FlatFn& f, const char* name) {
  const TracedFunction traced = trace_function(f, reader.operand_types(), name);
  return append_ops(traced.function, reader.operands,
                    [&](const Op& op, const std::vector<ValueId>& operands) {
                      return reader.insert(*op.def, op.params, operands);
                    });
}

}  // namespace tessera::ops
