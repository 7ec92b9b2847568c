// Turns kernels and routines into object files by LLVM. linker.h makes callable code of these.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/fork.h"
#include "tessera/codegen/machine_code/target.h"
#include "tessera/codegen/routines/routine.h"
#include "tessera/fusion/kernel.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tessera::codegen {

// Compiles canonical kernels and routines to object files. Threads may share one emitter; each
// compilation borrows a TargetMachine of its own.
class ObjectEmitter {
 public:
  explicit ObjectEmitter(const Target& target);
  ~ObjectEmitter();
  enum class Output : uint8_t { kObject, kAssembly, kIr };
  std::string emit(const Kernel& kernel, const std::string& symbol, Output output);
  std::string emit(const Routine& routine, const std::string& symbol, Output output);

 private:
  // The passes that run on the emitted code. A kernel's code needs none, unless two of its
  // functions have code in common (kShare). The code of a routine, between kernels, needs all of
  // them.
  enum class Passes : uint8_t { kNone, kShare, kAll };
  // Returns the object file or the text of the module to which `fill` adds functions.
  std::string emit(const std::function<void(llvm::Module&)>& fill, Passes passes, Output output);
  std::unique_ptr<llvm::TargetMachine> borrow();
  void give_back(std::unique_ptr<llvm::TargetMachine> machine);
  Target target_;
  ForkSafeMutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> idle_;
};

}  // namespace tessera::codegen
