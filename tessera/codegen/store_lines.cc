// Where the vectors of a row begin, for kernels whose stores bypass the caches.
//
// Such a store must be aligned (memory.cc). The rows of a result often begin anywhere in a cache
// line: rows of 3001 float32, or one part of a concatenation. So the first part of such a row ends
// where the next vector of the result begins, and all vectors from there on are aligned. With
// stores into the caches this gains nothing: there the first part takes as long as the stores
// across lines.
#include <algorithm>

#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

using llvm::Value;

namespace {

// The first part of a row costs a masked vector, and so may the last one.
constexpr int64_t kVectorsInRow = 16;
constexpr int64_t kLine = 64, kLeastVector = 32;  // bytes; few shorter vectors cross a line's end
constexpr int kLightWeight = 12;

}  // namespace

// Returns the position of the first loop's store that decides where the vectors of a row begin; -1
// if they begin with the row: its vectors are aligned there, its stores do not bypass the caches,
// or other work hides their time.
int KernelEmitter::find_store_along_lines() const {
  if (!k_.streaming_stores || !along_parallel_ || flat_ || single_ || !padded_.empty()) return -1;
  int weight = 0;
  for (size_t l = 0; l < k_.loops.size(); ++l) {
    if (!k_.loops[l].extents.empty() || !k_.loops[l].reductions.empty()) return -1;
    weight += loop_weight(static_cast<int>(l));
  }
  if (weight > kLightWeight || gathers_lanes() || loads_apart()) return -1;
  const int64_t parts = static_cast<int64_t>(turns_.size()) + 1;
  if (k_.parallel.size() > 1 && k_.parallel.back() < parts * kVectorsInRow * lanes_) return -1;
  const std::vector<KernelStore>& stores = k_.loops[0].stores;
  for (size_t s = 0; s < stores.size(); ++s) {
    const KernelBuffer& buffer = k_.buffers[stores[s].buffer];
    const int64_t size = itemsize(buffer.dtype), vector = std::min(kLine, lanes_ * size);
    if (lane_stride(stores[s].address) != 1 || vector < kLeastVector ||
        buffer.kind != BufferKind::kOutput)
      continue;
    bool aligned = turns_.empty() && stores[s].address.offset * size % vector == 0;
    const Dims& steps = stores[s].address.parallel;
    for (size_t d = 0; d + 1 < steps.size(); ++d)
      aligned = aligned && steps[d] * size % vector == 0;
    return aligned ? -1 : static_cast<int>(s);
  }
  return -1;
}

// Returns the end of the part of the row that begins at `column`: the column of the next vector of
// the result that is aligned, or `end` if that is here or comes later.
Value* KernelEmitter::end_before_line(Value* column, Value* end) {
  const KernelStore& store = k_.loops[0].stores[static_cast<size_t>(line_store_)];
  const DType dtype = k_.buffers[store.buffer].dtype;
  const int id = static_cast<int>(k_.nodes.size()) + line_store_;
  Value* row = pointer_sum(store.buffer, store.address, id, 1);
  use_scope(1);
  Value* at = b_.CreatePtrToInt(memory_.advance(dtype, row, column), b_.getInt64Ty());
  const int64_t size = itemsize(dtype), vector = std::min(kLine, lanes_ * size);
  Value* bytes = b_.CreateAnd(b_.CreateNeg(at), i64(vector - 1));
  Value* next = b_.CreateAdd(column, b_.CreateUDiv(bytes, i64(size)));
  Value* ahead = b_.CreateSelect(b_.CreateICmpSGT(next, column), next, end);
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, ahead);
}

}  // namespace tessera::codegen
