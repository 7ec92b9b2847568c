// Loops that one thread runs as one function (codegen/routine.h): which, and the step that does.
// What is not worth it, or cannot be, is interpreted trip by trip (control_code.cc), with the same
// results.
#pragma once

#include <memory>

#include "tessera/codegen/routine.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {

bool runs_as_routine(const LoopStep& step, const Schedule& schedule);
std::unique_ptr<StepCode> make_routine_code(const LoopStep& step, KernelCode code);

// What one instance of a kernel takes on one thread, in ns, roughly.
double kernel_ns(const Kernel& kernel);

// While one lives, every loop of the programs that this thread makes is interpreted: what routines
// are compared with, and what kernels need that are not machine code of their own.
class InterpretLoops {
 public:
  InterpretLoops();
  ~InterpretLoops();
  InterpretLoops(const InterpretLoops&) = delete;
  InterpretLoops& operator=(const InterpretLoops&) = delete;
};

}  // namespace tessera::runtime
