// Transposes: loads of which neighbouring lanes are far apart, while the elements of neighbouring
// rows are side by side. A gather would take a load for each lane. Here a tile of several rows and
// as many columns as a vector has lanes is loaded along the rows' dimension and transposed in
// registers; then its rows are computed one after the other.
//
// Example: out[r, c] = in[c, r], with 4 lanes. The tile of rows r to r + 3 and columns c to c + 3
// is loaded as four vectors in[c + k, r : r + 4]. The body runs four times and reads in[c : c + 4,
// r], in[c : c + 4, r + 1], and so on, from the transposed tile, which is on the stack. If the rows
// are in reverse order in memory (rot90), so are those of the tile.
#include <algorithm>
#include <numeric>

#include "tessera/codegen/canonical.h"
#include "tessera/codegen/compiler.h"
#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// Returns whether the load is replaced by a tile, if its kernel has the shape for it.
bool is_tile_load(const KernelNode& node) {
  return node.kind == NodeKind::kLoad && node.guard < 0 && node.dynamic.empty() &&
         !is_complex(node.dtype) && is_transposed(node.address);
}

// What is transposed at once within 128 bits, which is what most shuffles work on.
constexpr int64_t kPieceBytes = 16;
// The rows that are transposed at once; the vectors for more do not fit into registers.
constexpr int kMostInRun = 16;
// A tile has as many rows as a cache line has elements, so that each line is read once. The tiles
// of a task are on its stack.
constexpr int64_t kLineBytes = 64;
constexpr int64_t kMostBytes = 16 << 10;

// Returns the even vectors' pieces of the index bit `bit` beside the odd ones' (`upper` = 0), or
// those that have the bit set (`upper` = 1): the position bit and the choice of the vector change
// places.
Value* exchanged(llvm::IRBuilder<>& b, Value* a, Value* c, int lanes, int bit, int upper) {
  std::vector<int> picks;
  for (int i = 0; i < lanes; ++i) {
    const int from = (i & ~bit) | (upper ? bit : 0);
    picks.push_back(i & bit ? lanes + from : from);
  }
  return b.CreateShuffleVector(a, c, picks);
}

// Interleaves the lower (`upper` = 0) or upper halves of every piece of `piece` elements.
Value* interleaved(llvm::IRBuilder<>& b, Value* a, Value* c, int lanes, int piece, int upper) {
  std::vector<int> picks;
  for (int i = 0; i < lanes; ++i) {
    const int within = i % piece;
    const int from = i - within + upper * piece / 2 + within / 2;
    picks.push_back(within % 2 ? lanes + from : from);
  }
  return b.CreateShuffleVector(a, c, picks);
}

// Takes every other piece of a, then of c, from piece `first` on.
Value* every_other(llvm::IRBuilder<>& b, Value* a, Value* c, int lanes, int piece, int first) {
  std::vector<int> picks;
  for (Value* from : {a, c})
    for (int i = 0; i < lanes; ++i)
      if (i / piece % 2 == first) picks.push_back(i + (from == c ? lanes : 0));
  return b.CreateShuffleVector(a, c, picks);
}

// Transposes each square of a vector's run of rows.size() lanes: lane k * n + j of result i was
// lane k * n + i of vector j, for n vectors. Each step lets one bit of a lane's number and one of
// the vector's number change places.
void transpose(llvm::IRBuilder<>& b, std::vector<Value*>& vectors, int lanes, int piece) {
  const int count = static_cast<int>(vectors.size());
  const auto for_pairs = [&](int bit, auto&& low, auto&& high) {
    for (int i = 0; i < count; ++i) {
      if (i & bit) continue;
      Value *a = vectors[i], *c = vectors[i | bit];
      vectors[i] = low(a, c);
      vectors[i | bit] = high(a, c);
    }
  };
  for (int bit = piece / 2; bit > 0; bit /= 2) {
    for_pairs(
        bit, [&](Value* a, Value* c) { return interleaved(b, a, c, lanes, piece, 0); },
        [&](Value* a, Value* c) { return interleaved(b, a, c, lanes, piece, 1); });
  }
  const bool four_of_four = count == 4 * piece && lanes == count;
  for (int bit = piece; bit < count; bit *= 2) {
    for_pairs(
        bit,
        [&](Value* a, Value* c) {
          return four_of_four ? every_other(b, a, c, lanes, piece, 0)
                              : exchanged(b, a, c, lanes, bit, 0);
        },
        [&](Value* a, Value* c) {
          return four_of_four ? every_other(b, a, c, lanes, piece, 1)
                              : exchanged(b, a, c, lanes, bit, 1);
        });
  }
}

}  // namespace

// Returns the least number of rows of a tile.
int Memory::least_tile_rows(DType dtype) const {
  return std::min(ir_.lanes, static_cast<int>(kPieceBytes / itemsize(dtype)));
}

// Returns `rows` elements from each lane's address as vectors of all lanes, not yet transposed.
std::vector<Value*> Memory::load_run(llvm::Type* element, Value* pointer, int64_t stride, int rows,
                                     Value* columns) {
  auto& b = ir_.builder;
  auto* part = llvm::FixedVectorType::get(element, static_cast<unsigned>(rows));
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  std::vector<Value*> vectors;
  for (int j = 0; j < rows; ++j) {
    std::vector<Value*> parts;
    for (int lane = j; lane < ir_.lanes; lane += rows) {
      // A lane after the last column reads that one again.
      Value* column = b.getInt64(static_cast<uint64_t>(lane));
      if (columns && lane > 0)
        column = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, column,
                                         b.CreateSub(columns, b.getInt64(1)));
      Value* from = b.CreateGEP(element, pointer,
                                b.CreateMul(column, b.getInt64(static_cast<uint64_t>(stride))));
      parts.push_back(b.CreateAlignedLoad(part, from, align));
    }
    while (parts.size() > 1) {
      std::vector<Value*> joined;
      for (size_t k = 0; k < parts.size(); k += 2) {
        auto* type = llvm::cast<llvm::FixedVectorType>(parts[k]->getType());
        std::vector<int> all(size_t{2} * type->getNumElements());
        std::iota(all.begin(), all.end(), 0);
        joined.push_back(b.CreateShuffleVector(parts[k], parts[k + 1], all));
      }
      parts = std::move(joined);
    }
    vectors.push_back(parts[0]);
  }
  return vectors;
}

llvm::AllocaInst* Memory::load_tile(DType dtype, Value* pointer, int64_t stride, int rows,
                                    Value* columns) {
  auto& b = ir_.builder;
  llvm::Type* element = storage(dtype);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(ir_.lanes));
  auto* type = llvm::ArrayType::get(vector, static_cast<uint64_t>(rows));
  llvm::AllocaInst* tile = ir_.stack_slot(type);
  const int run = std::min({rows, kMostInRun, ir_.lanes});
  for (int first = 0; first < rows; first += run) {
    Value* from = b.CreateGEP(element, pointer, b.getInt64(static_cast<uint64_t>(first)));
    std::vector<Value*> vectors = load_run(element, from, stride, run, columns);
    transpose(b, vectors, ir_.lanes, least_tile_rows(dtype));
    for (int r = 0; r < run; ++r)
      b.CreateStore(vectors[static_cast<size_t>(r)],
                    b.CreateConstGEP1_64(vector, tile, static_cast<uint64_t>(int64_t{first} + r)));
  }
  return tile;
}

Val Memory::row_of_tile(DType dtype, llvm::AllocaInst* tile, Value* row) {
  auto* vector = llvm::FixedVectorType::get(storage(dtype), static_cast<unsigned>(ir_.lanes));
  auto& b = ir_.builder;
  return from_storage(dtype, b.CreateLoad(vector, b.CreateGEP(vector, tile, row)));
}

bool fill_lanes(const Kernel& kernel, int lanes) { return 4 * kernel.parallel.back() >= 3 * lanes; }

bool has_tile_loads(const Kernel& kernel) {
  return kernel.parallel.size() >= 2 && kernel.vectorize == Kernel::Vectorize::kParallel &&
         std::all_of(kernel.loops.begin(), kernel.loops.end(),
                     [](const KernelLoop& loop) { return loop.extents.empty(); }) &&
         std::any_of(kernel.nodes.begin(), kernel.nodes.end(), is_tile_load);
}

bool has_tiles(const Kernel& given) {
  const Kernel kernel = canonical(given);
  return kernel.parallel.size() >= 2 &&
         fill_lanes(kernel, kernel_lanes(kernel, host_target().vector_bytes)) &&
         std::any_of(kernel.nodes.begin(), kernel.nodes.end(), is_tile_load);
}

bool KernelEmitter::is_reversed_tile(const KernelNode& load) const {
  return load.address.parallel[k_.parallel.size() - 2] < 0;
}

Val KernelEmitter::load_from_tile(int node) {
  const KernelNode& load = k_.nodes[node];
  Value* row = tile_row_;
  if (is_reversed_tile(load)) row = b_.CreateSub(i64(tile_rows_ - 1), row);
  return memory_.row_of_tile(load.dtype, tiles_[tile_of_[node]], row);
}

// Finds the loads that tiles replace. The rows are the dimension before the last one.
void KernelEmitter::find_tiles() {
  tile_of_.assign(k_.nodes.size(), -1);
  const size_t rank = k_.parallel.size();
  if (single_ || !turns_.empty() || !has_tile_loads(k_) || !fill_lanes(k_, lanes_)) return;
  for (const KernelNode& node : k_.nodes)
    if (node.kind == NodeKind::kLoad && written_[node.buffer]) return;
  const int64_t most = k_.parallel[rank - 2], in_run = std::min(kMostInRun, lanes_);
  int64_t rows = 0, bytes = 0;  // of a tile; of a row of all tiles
  for (size_t i = 0; i < k_.nodes.size(); ++i) {
    const KernelNode& node = k_.nodes[i];
    if (!is_tile_load(node)) continue;
    const int64_t least = memory_.least_tile_rows(node.dtype), size = itemsize(node.dtype);
    if (least > most) continue;
    if ((bytes + size * lanes_) * in_run > kMostBytes) continue;
    tile_of_[i] = static_cast<int>(tile_loads_.size());
    tile_loads_.push_back(static_cast<int>(i));
    rows = std::max(rows, kLineBytes / size);
    bytes += size * lanes_;
  }
  while (rows > most || (rows > in_run && rows * bytes > kMostBytes)) rows /= 2;
  if (tile_loads_.empty()) return;
  tile_rows_ = static_cast<int>(rows);
  flat_ = false;
}

KernelEmitter::Steps KernelEmitter::begin_steps(Value* first) {
  Steps steps{new_block("steps"), new_block("step"), new_block("stepped"), nullptr};
  BasicBlock* before = b_.GetInsertBlock();
  b_.CreateBr(steps.header);
  b_.SetInsertPoint(steps.header);
  steps.index = b_.CreatePHI(b_.getInt64Ty(), 2);
  steps.index->addIncoming(first, before);
  return steps;
}

void KernelEmitter::enter_steps(const Steps& steps, Value* condition) {
  b_.CreateCondBr(condition, steps.body, steps.exit);
  b_.SetInsertPoint(steps.body);
}

void KernelEmitter::end_steps(const Steps& steps, Value* next) {
  steps.index->addIncoming(next, b_.GetInsertBlock());
  b_.CreateBr(steps.header);
  b_.SetInsertPoint(steps.exit);
}

// Walks over [begin, end). Here the flat index counts slab by slab, in a slab band by band (a band
// has the rows of a tile, the last one what is left), in a band column by column. A column is
// computed by the range that has its first element. The last band's tile begins earlier, so that no
// rows after the last one are read, and its first rows are skipped.
void KernelEmitter::emit_tiles() {
  const size_t rank = k_.parallel.size();
  const int64_t rows = k_.parallel[rank - 2], columns = k_.parallel[rank - 1];
  BasicBlock* first = new_block("tiles");
  b_.SetInsertPoint(first);
  const auto smaller = [&](Value* a, Value* c) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, c);
  };
  const Steps walk = begin_steps(begin_);
  enter_steps(walk, b_.CreateICmpSLT(walk.index, end_));
  Value* slab = b_.CreateUDiv(walk.index, i64(rows * columns));
  Value* in_slab = b_.CreateSub(walk.index, b_.CreateMul(slab, i64(rows * columns)));
  Value* band = b_.CreateUDiv(in_slab, i64(tile_rows_ * columns));
  Value* in_band = b_.CreateSub(in_slab, b_.CreateMul(band, i64(tile_rows_ * columns)));
  Value* row = b_.CreateMul(band, i64(tile_rows_));
  Value* height = smaller(i64(tile_rows_), b_.CreateSub(i64(rows), row));
  Value* left = smaller(b_.CreateSub(end_, walk.index),
                        b_.CreateSub(b_.CreateMul(height, i64(columns)), in_band));
  const auto columns_before = [&](Value* elements) {
    return b_.CreateUDiv(b_.CreateAdd(elements, b_.CreateSub(height, i64(1))), height);
  };
  Value *start = columns_before(in_band), *stop = columns_before(b_.CreateAdd(in_band, left));
  Value* tile = smaller(row, i64(rows - tile_rows_));
  Value* skipped = b_.CreateSub(row, tile);
  Value* after = b_.CreateAdd(skipped, height);
  decompose_slab(slab);

  const Steps blocks = begin_steps(start);
  enter_steps(blocks, b_.CreateICmpSLE(b_.CreateAdd(blocks.index, i64(lanes_)), stop));
  emit_tile(tile, blocks.index, nullptr, skipped, after);
  end_steps(blocks, b_.CreateAdd(blocks.index, i64(lanes_)));
  const Steps rest = begin_steps(blocks.index);
  enter_steps(rest, b_.CreateICmpSLT(rest.index, stop));
  emit_tile(tile, rest.index, b_.CreateSub(stop, rest.index), skipped, after);
  end_steps(rest, b_.CreateAdd(rest.index, i64(lanes_)));
  end_steps(walk, b_.CreateAdd(walk.index, left));
  // What the function computes once has been added before the tiles.
  BasicBlock* done = b_.GetInsertBlock();
  use_scope(0);
  b_.CreateBr(first);
  scopes_[0].tail = done;
}

// Computes parallel_ for all dimensions but the last two.
void KernelEmitter::decompose_slab(Value* slab) {
  for (size_t d = k_.parallel.size() - 2; d-- > 1;) {
    Value* extent = i64(k_.parallel[d]);
    Value* quotient = b_.CreateUDiv(slab, extent);
    parallel_[d] = b_.CreateSub(slab, b_.CreateMul(quotient, extent));
    slab = quotient;
  }
  if (k_.parallel.size() > 2) parallel_[0] = slab;
}

// Emits the rows [skipped, after) of the tile whose first element is at (row, column), `columns` of
// them if it is not null, otherwise as many as there are lanes.
void KernelEmitter::emit_tile(Value* row, Value* column, Value* columns, Value* skipped,
                              Value* after) {
  tiles_.clear();
  for (int node : tile_loads_) {
    const KernelNode& n = k_.nodes[node];
    Value* pointer = buffers_[n.buffer];
    const size_t rank = k_.parallel.size();
    for (size_t d = 0; d < rank; ++d) {
      Value* index = d + 1 == rank ? column : d + 2 == rank ? row : parallel_[d];
      if (d + 2 == rank && is_reversed_tile(n)) index = b_.CreateAdd(row, i64(tile_rows_ - 1));
      pointer = memory_.advance(n.dtype, pointer, b_.CreateMul(index, i64(n.address.parallel[d])));
    }
    pointer = memory_.advance(n.dtype, pointer, i64(n.address.offset));
    tiles_.push_back(
        memory_.load_tile(n.dtype, pointer, n.address.parallel[rank - 1], tile_rows_, columns));
  }
  const Steps rows = begin_steps(skipped);
  enter_steps(rows, b_.CreateICmpSLT(rows.index, after));
  parallel_[k_.parallel.size() - 2] = b_.CreateAdd(row, rows.index);
  tile_row_ = rows.index;
  BasicBlock* body = b_.GetInsertBlock();
  open_block(nullptr);
  BasicBlock* row_entry = scopes_[1].tail;
  open_block(column);
  masks_.clear();
  if (columns) {
    use_scope(2);
    set_masks(1, columns);
  }
  emit_lane_block(1);
  close_block();
  BasicBlock* end = scopes_[1].tail;
  scopes_.pop_back();
  entries_.pop_back();
  masks_.clear();
  tiles_.clear();
  b_.SetInsertPoint(body);
  b_.CreateBr(row_entry);
  b_.SetInsertPoint(end);
  end_steps(rows, b_.CreateAdd(rows.index, i64(1)));
}

}  // namespace tessera::codegen
