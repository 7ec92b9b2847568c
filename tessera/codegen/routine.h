// Routine: a loop of a schedule as one function of machine code that one thread runs from its first
// trip to its last: the kernels of its body and condition, the loops and branches inside it, and
// what is carried from trip to trip, in registers where it is small.
//
// Before: a LoopStep all of whose values exist once. After: a KernelFn over the addresses of the
// step's slots. Every kernel computes what it computes as a step of its own, bit for bit.
#pragma once

#include <string>
#include <vector>

#include "tessera/codegen/target.h"
#include "tessera/fusion/in_place.h"

namespace llvm {
class Module;
}

namespace tessera::codegen {

// Both must outlive what is made from them only while it is compiled.
struct Routine {
  const LoopStep* loop;
  const Schedule* around;  // numbers the loop's slots
};

// Whether it is made of what can be code: kernels, updates, views, tables, loops and branches over
// slots of one instance.
bool can_be_routine(const Routine& routine);

// The carries that the function updates in the memory of the loop's results, where it starts by
// copying them unless they start there: the addresses of such a carry's `in` and `out` may be the
// same.
fusion::InPlace routine_in_place(const LoopStep& loop);

// The slots of `around` whose addresses the function takes, in this order; its last buffer is a
// workspace of so many bytes, aligned to 64. The range is not used.
std::vector<int> routine_slots(const LoopStep& loop);
int64_t routine_workspace(const Routine& routine);

// All that the code depends on; the key of the kernel cache.
std::string to_string(const Routine& routine);

// Adds the function `name`.
void emit_routine(const Routine& routine, const Target& target, llvm::Module& module,
                  const std::string& name);

}  // namespace tessera::codegen
