// The work of a program: the operations of an evaluation op by op that copies nothing which it may
// change in place. Costs of the compiled program may grow in proportion to it.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::costs {

// Returns the operations of a naive evaluation, in elements: an op reads its operands and writes
// its results once, or does its arithmetic if that is more (OpDef::flops). Slices and gathers read
// as many elements as they return. Updates write the elements that they change, and copy an operand
// that is read again or that the program does not own. The work of a loop's body is multiplied by
// its number of iterations, or by one if that is not known. Of a conditional, the branch with the
// most work counts.
double naive_operations(const ir::Function& function);

// Returns the size of the program's text: its ops, in its loops, branches and calls too, with their
// results, and its inputs and outputs.
double text_size(const ir::Function& function);

}  // namespace tessera::costs
