// Kernels that only copy rows, such as the parts of a concatenation.
#include <algorithm>

#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

using llvm::Value;

// Returns whether the kernel only copies rows, which are long and contiguous in both arrays. The C
// library then copies them with the instruction for strings, which, unlike vectors, does not read
// the lines of the cache that it overwrites.
bool KernelEmitter::copies_rows() const {
  constexpr int64_t kLongRow = 2304;  // bytes
  if (k_.loops.size() != 1 || k_.parallel.size() < 2 || flat_ || !turns_.empty() ||
      !padded_.empty() || !along_parallel_ || single_ || k_.streaming_stores || line_store_ >= 0)
    return false;
  const KernelLoop& loop = k_.loops[0];
  if (!loop.extents.empty() || !loop.reductions.empty() || loop.stores.size() != 1) return false;
  const KernelStore& store = loop.stores[0];
  const KernelNode& load = k_.nodes[store.node];
  // A row that is repeated stays in the nearest cache, from which vectors copy faster.
  const bool repeated = std::all_of(load.address.parallel.begin(), load.address.parallel.end() - 1,
                                    [](int64_t stride) { return stride == 0; });
  return !repeated && load.kind == NodeKind::kLoad && load.guard < 0 && load.dynamic.empty() &&
         store.guard < 0 && load.dtype == k_.buffers[store.buffer].dtype &&
         load.dtype == k_.buffers[load.buffer].dtype && lane_stride(load.address) == 1 &&
         lane_stride(store.address) == 1 && k_.parallel.back() * itemsize(load.dtype) >= kLongRow;
}

void KernelEmitter::copy_columns(Value* begin, Value* end) {
  const KernelStore& store = k_.loops[0].stores[0];
  const KernelNode& load = k_.nodes[store.node];
  open_block(begin);
  Value* from = pointer_to(load.buffer, load.address, store.node, top(), 0);
  Value* to = pointer_to(store.buffer, store.address, static_cast<int>(k_.nodes.size()), top(), 0);
  use_scope(top());
  Value* bytes = b_.CreateMul(b_.CreateSub(end, begin), i64(itemsize(load.dtype)));
  b_.CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1), bytes);
  keep_scope(top());
  close_block();
}

}  // namespace tessera::codegen
