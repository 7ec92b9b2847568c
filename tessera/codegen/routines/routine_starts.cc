// Implements constant_start() of routine.h: finds the carries of a routine's loop that start with a
// constant. Either the schedule around the loop has the constant in a slot, or a kernel before the
// loop stores it.
#include <algorithm>
#include <cstring>

#include "tessera/codegen/routines/routine.h"

namespace tessera::codegen {
namespace {

// Returns the bytes of the constant that the kernel stores in the buffer of one element, if it
// stores one.
const std::byte* stored_constant(const Kernel& kernel, size_t buffer) {
  if (kernel.parallel_elements() != 1) return nullptr;
  for (const KernelLoop& loop : kernel.loops) {
    if (loop.extents.elements() == 0) continue;
    for (const KernelStore& store : loop.stores) {
      if (static_cast<size_t>(store.buffer) != buffer || store.guard >= 0) continue;
      const KernelNode& node = kernel.nodes[static_cast<size_t>(store.node)];
      if (node.kind == NodeKind::kConstant) return node.immediate.data();
    }
  }
  return nullptr;
}

bool contains(const std::vector<int>& slots, int slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

}  // namespace

std::optional<Literal> constant_start(const Routine& routine, int slot) {
  const LoopStep& loop = *routine.loop;
  const Schedule& around = *routine.around;
  const Slot& start = around.slots[static_cast<size_t>(slot)];
  if (!contains(loop.in, slot) || contains(loop.out, slot) || contains(loop.ys, slot) ||
      start.shape.elements() != 1)
    return std::nullopt;
  if (start.kind == Slot::Kind::kConstant) return start.literal;
  for (const Step& step : around.steps) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel) continue;
    for (size_t b = 0; b < kernel->slots.size(); ++b) {
      if (kernel->slots[b] != slot || kernel->kernel.buffers[b].kind != BufferKind::kOutput)
        continue;
      const std::byte* value = stored_constant(kernel->kernel, b);
      if (!value) return std::nullopt;
      Literal out(start.dtype, start.shape);
      std::memcpy(out.mutable_raw(), value, static_cast<size_t>(out.bytes()));
      return out;
    }
  }
  return std::nullopt;
}

}  // namespace tessera::codegen
