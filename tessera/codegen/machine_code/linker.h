// Makes callable code of object files (object_code.h).
#pragma once

#include <memory>
#include <string>

#include "tessera/codegen/machine_code/code_memory.h"
#include "tessera/fusion/kernel.h"

namespace tessera::codegen {

// Links object files into this process. Any thread may call it.
class Linker {
 public:
  Linker();
  // Returns the function `symbol` of `object`; its code lives as long as the result's copies.
  // Throws RuntimeError if `object` is not an object file for this machine.
  KernelCode link(const std::string& object, const std::string& symbol);
  const CodeMemory& memory() const { return *memory_; }

 private:
  std::shared_ptr<CodeMemory> memory_;  // each block of code holds it
};

}  // namespace tessera::codegen
