// ScalarProgram: the body of a custom reduction as a list of scalar operations, recorded from its
// IR.
//
// Fusion checks that a body can be recorded, codegen replays the list on vectors, and the printed
// list is part of a kernel's key (an IR function has no stable text of its own within a kernel).
#pragma once

#include <array>
#include <vector>

#include "tessera/ir/function.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::fusion {

struct ScalarNode {
  enum class Kind : uint8_t { kInput, kConstant, kOp } kind;
  DType dtype;
  ScalarOp op = ScalarOp::kAdd;
  boost::container::small_vector<int, 3> args;  // earlier nodes
  std::array<std::byte, 16> immediate{};        // for kConstant
};

struct ScalarProgram {
  std::vector<ScalarNode> nodes;  // begins with the inputs, in order
  std::vector<int> outputs;
};

// Returns the Pointwise lowering of every op of `body`, recorded as a list. All values of `body`
// are scalars. Throws InternalError if an op has another lowering.
ScalarProgram record_body(const Function& body);

}  // namespace tessera::fusion
