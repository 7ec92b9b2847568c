// Inserts the ops that functions of Arrays bind, for ops that Tessera does not have.
#pragma once

#include <string>

#include "tessera/interchange/op_format.h"
#include "tessera/ir/append_ops.h"
#include "tessera/trace/trace.h"

namespace tessera::interchange::foreign {

// Adds the ops of a function in place of the op that the reader holds and returns its results.
inline std::vector<ValueId> insert_function(OpReader& reader, const Function& function) {
  return append_ops(function, reader.operands,
                    [&](const Op& op, const std::vector<ValueId>& operands) {
                      return reader.insert(*op.def, op.params, operands);
                    });
}

// Does the same with the ops that `f` binds for the op's operands.
inline std::vector<ValueId> insert_traced(OpReader& reader, const ir::FlatFn& f, std::string name) {
  return insert_function(reader,
                         trace_function(f, reader.operand_types(), std::move(name)).function);
}

}  // namespace tessera::interchange::foreign
