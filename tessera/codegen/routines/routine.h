// Routine: a loop of a schedule as one function of machine code, run by one thread from the first
// trip to the last. It contains the kernels of the loop's body and condition and the loops and
// branches inside it, and passes the carry from trip to trip, in registers if it is small.
//
// Before: a LoopStep with one instance of every value. After: a KernelFn over the addresses of the
// step's slots. Every kernel has the same results as in a step of its own, bit for bit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/codegen/machine_code/target.h"
#include "tessera/fusion/in_place.h"

namespace llvm {
class Module;
}

namespace tessera::codegen {

// A loop to compile. The loop and the schedule around it must live until it is compiled.
struct Routine {
  const LoopStep* loop;
  const Schedule* around;  // the loop's slots are those of this schedule
};

// Returns whether the loop consists only of kernels, views, tables, loops and branches over slots
// of one instance, which can be compiled.
bool can_be_routine(const Routine& routine);

// Returns the carries that the function updates in the memory of the loop's results. It first
// copies them there if they start elsewhere, so the addresses of such a carry's `in` and `out` may
// be the same.
fusion::InPlace routine_in_place(const LoopStep& loop);

// Returns the slots of `around` whose addresses the function takes, in this order. After them it
// takes a workspace of routine_workspace() bytes, aligned to 64. It ignores the range of a
// KernelFn.
std::vector<int> routine_slots(const LoopStep& loop);
int64_t routine_workspace(const Routine& routine);

// Returns the scalar with which a carry of the routine's own loop starts, if the schedule around it
// says so: as a constant, or as the only value that a kernel stores. The code of the routine holds
// it, so that the range of a counter is known.
std::optional<Literal> constant_start(const Routine& routine, int slot);

// Returns everything that the code depends on, which is the key of the kernel cache.
std::string to_string(const Routine& routine);

// Adds the function `name` for the routine to the module.
void emit_routine(const Routine& routine, const Target& target, llvm::Module& module,
                  const std::string& name);

}  // namespace tessera::codegen
