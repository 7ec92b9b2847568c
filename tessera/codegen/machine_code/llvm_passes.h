// LLVM's passes over the code of kernels and routines before it becomes machine code.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tessera::codegen {

// Prepares LLVM for the processor that runs this process. May be called many times, by any thread.
void initialize_llvm();

// Optimizes: moves loop-invariant code, keeps memory in registers, resolves constant branches. It
// does not reorder arithmetic, since no operation has fast-math flags.
void simplify(llvm::Module& module, llvm::TargetMachine& machine);

// Leaves one of the instructions that compute the same value.
void remove_common_subexpressions(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tessera::codegen
