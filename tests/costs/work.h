// The work that a program asks for: what an evaluation op by op has to do, if it copies nothing that
// it may change. Costs of the compiled program may grow as this does.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::costs {

// Returns the operations of a naive evaluation, in elements: an op reads its operands and writes its
// results once, or does its arithmetic where that is more (OpDef::flops). Slices and gathers read
// what they return. Updates write what they change, and copy an operand that is read again or that
// the program does not own. Loops do so every trip; one whose trips nobody knows counts as one trip.
// Of a branch the way with most work counts.
double naive_operations(const ir::Function& function);

// Returns the size of the program's text: its ops, in its loops, branches and calls too, with their
// results, and its inputs and outputs.
double text_size(const ir::Function& function);

}  // namespace tessera::costs
