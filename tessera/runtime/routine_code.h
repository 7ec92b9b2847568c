// Loops that one thread runs as one function (codegen/routines/routine.h): decides which loops
// these are, and makes their steps. Other loops are interpreted trip by trip (control_code.cc),
// with the same results.
#pragma once

#include <memory>

#include "tessera/codegen/routines/routine.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {

bool runs_as_routine(const LoopStep& step, const Schedule& schedule);
std::unique_ptr<StepCode> make_routine_code(const LoopStep& step, KernelCode code);

// Returns whether threads run different trips of a loop that is no routine, given the bytes that a
// trip takes for temporaries. Otherwise trip follows trip, and threads share the work of each step.
bool runs_trips_in_parallel(const LoopStep& step, int64_t trip_bytes);

// Returns roughly the nanoseconds of one instance of a kernel on one thread.
double kernel_ns(const Kernel& kernel);

// While it lives, every loop of the programs that this thread makes is interpreted, trip after
// trip. It is for tests that compare with routines, and for kernels that are not compiled
// separately.
class InterpretLoops {
 public:
  InterpretLoops();
  ~InterpretLoops();
  InterpretLoops(const InterpretLoops&) = delete;
  InterpretLoops& operator=(const InterpretLoops&) = delete;
};

}  // namespace tessera::runtime
