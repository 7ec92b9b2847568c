// Branches around the arms of a kernel's selects: code generation, after a function's LLVM IR is
// complete.
//
// A select of vectors computes both of its arms for all lanes. If an arm needs much arithmetic that
// nothing else reads, that arithmetic moves into a block of its own, which is skipped if no lane
// takes the arm. Lanes that do not take it then have any value, which the select drops, so results
// keep their bits.
#pragma once

namespace llvm {
class Function;
class Value;
}  // namespace llvm

namespace tessera::codegen {

// Marks a value, if it is a select instruction, as the select of one of a kernel's nodes. Selects
// inside of elementary functions are not marked: they choose between values that are mostly needed.
void mark_select(llvm::Value* value, int node);

// Example: for f and g of many instructions that nothing else reads,
//     %r = select <16 x i1> %m, f(%x), g(%x)
// becomes
//     if (any(%m)) a = f(%x);
//     if (any(~%m)) b = g(%x);
//     %r = select <16 x i1> %m, a, b
// The selects of one node for several vectors have one branch, so that the instructions of these
// vectors still alternate (side_by_side.cc).
void skip_unneeded_arms(llvm::Function& function);

}  // namespace tessera::codegen
