// Routine: a loop of a schedule as one function of machine code that one thread runs from the first
// trip to the last: the kernels of its body and condition, the loops and branches inside it, and
// the carry from trip to trip, in registers if it is small.
//
// Before: a LoopStep all of whose values have one instance. After: a KernelFn over the addresses of
// the step's slots. Every kernel has the same results as in a step of its own, bit for bit.
#pragma once

#include <string>
#include <vector>

#include "tessera/codegen/target.h"
#include "tessera/fusion/in_place.h"

namespace llvm {
class Module;
}

namespace tessera::codegen {

// Both must live until the routine is compiled.
struct Routine {
  const LoopStep* loop;
  const Schedule* around;  // its slots are those of the loop
};

// Returns whether the loop consists of what can be compiled: kernels, views, tables, loops and
// branches over slots of one instance.
bool can_be_routine(const Routine& routine);

// Returns the carries that the function updates in the memory of the loop's results. It first
// copies them there unless they start there: the addresses of such a carry's `in` and `out` may be
// the same.
fusion::InPlace routine_in_place(const LoopStep& loop);

// Returns the slots of `around` whose addresses the function takes, in this order; its last buffer
// is a workspace of routine_workspace() bytes, aligned to 64. The range is not used.
std::vector<int> routine_slots(const LoopStep& loop);
int64_t routine_workspace(const Routine& routine);

// Returns everything that the code depends on, which is the key of the kernel cache.
std::string to_string(const Routine& routine);

// Adds the function `name` to the module.
void emit_routine(const Routine& routine, const Target& target, llvm::Module& module,
                  const std::string& name);

}  // namespace tessera::codegen
