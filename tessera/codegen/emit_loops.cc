// The loops of a kernel.
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>

#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// Returns how many vectors are computed at a time. More vectors hide latency and loop overhead;
// heavy bodies need that less, and cost compile time.
int unroll_for_weight(int weight) { return weight <= 12 ? 4 : weight <= 40 ? 2 : 1; }
// Folds of columns with at least so many rows compute several vectors at a time, because each row
// is in another line of the cache: reading one line of each takes as long as reading four.
constexpr int64_t kManyRows = 16;
int unroll_for_folds(int row_weight) { return row_weight <= 12 ? 4 : row_weight <= 120 ? 2 : 1; }
// Gathers wait longer than other loads.
int unroll_for_gathers(int weight) { return weight <= 40 ? 4 : weight <= 120 ? 2 : 1; }

// Rows of many columns are so many vectors at a time already, and the code that divides them grows
// with the square of their number.
int most_of_rows(int unroll, int64_t columns) { return columns <= 4 ? unroll : 1; }

// A body is mostly one chain of dependent operations if it is an elementary function, a hash with a
// polynomial of the hash, or the logarithm of an exponential. The CPU cannot look ahead far enough
// to overlap such chains, so several vectors are computed side by side (side_by_side.cc), as many
// as 32 or 16 registers can hold: eight of an exponential, and two of a power of float64, which has
// many constants.
bool waits_for_itself(int weight, int chain, int least_weight) {
  return weight > least_weight && 2 * chain > weight;
}
// A single function has a greater weight than the first, and several ones than the second.
constexpr int kFunctionWeight = 12, kSeveralFunctions = 36;
constexpr int kOneExponential = 24, kOneWideExponential = 42;  // in float32, in float64
int unroll_for_waiting(bool avx512, bool powers, bool light) {
  return !avx512 || powers ? 2 : light ? 8 : 4;
}
// Up to this weight, code of its own for the last elements is worth the time to compile it.
constexpr int kLightChain = 80;

}  // namespace

Value* KernelEmitter::i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }

BasicBlock* KernelEmitter::new_block(const char* name) {
  return BasicBlock::Create(b_.getContext(), name, function_);
}

KernelEmitter::Loop KernelEmitter::open_loop(Value* start, std::vector<Value*>& carried) {
  Loop loop{new_block("loop"), new_block("body"), new_block("exit"), nullptr, start, {}, carried};
  b_.SetInsertPoint(loop.header);
  loop.index = b_.CreatePHI(b_.getInt64Ty(), 2);
  for (Value*& v : carried) {
    loop.carried.push_back(b_.CreatePHI(v->getType(), 2));
    v = loop.carried.back();
  }
  return loop;
}

void KernelEmitter::enter_loop(Loop& loop, Value* condition) {
  b_.CreateCondBr(condition, loop.body, loop.exit);
  scopes_.push_back({loop.body, {}, {}, {}, loop.index});
}

void KernelEmitter::close_loop(Loop& loop, Value* next, std::vector<Value*>& carried) {
  auto branch = [&](Value* index, const std::vector<Value*>& values) {
    use_scope(top());
    b_.CreateBr(loop.header);
    loop.index->addIncoming(index, scopes_.back().tail);
    for (size_t i = 0; i < values.size(); ++i) {
      loop.carried[i]->addIncoming(values[i], scopes_.back().tail);
    }
  };
  branch(next, carried);
  scopes_.pop_back();
  branch(loop.start, loop.initial);
  scopes_.back().tail = loop.exit;
  carried.assign(loop.carried.begin(), loop.carried.end());
}

void KernelEmitter::open_block(Value* index) {
  scopes_.push_back({new_block("block"), {}, {}, {}, index});
  entries_.push_back(scopes_.back().tail);
}

void KernelEmitter::close_block() {
  BasicBlock* end = scopes_.back().tail;
  scopes_.pop_back();
  use_scope(top());
  b_.CreateBr(entries_.back());
  entries_.pop_back();
  scopes_.back().tail = end;
}

void KernelEmitter::run() {
  BasicBlock* entry = new_block("entry");
  BasicBlock* work = new_block("work");
  BasicBlock* done = new_block("done");
  b_.SetInsertPoint(entry);
  begin_ = function_->getArg(1);
  end_ = function_->getArg(2);
  ir_.alloca_point = b_.CreateCondBr(b_.CreateICmpSLT(begin_, end_), work, done);
  scopes_.push_back({work, {}, {}, {}, nullptr});
  use_scope(0);
  for (size_t i = 0; i < k_.buffers.size(); ++i) {
    Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), function_->getArg(0), i);
    buffers_.push_back(b_.CreateLoad(b_.getPtrTy(), slot));
  }
  emit_range();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();
}

void KernelEmitter::run_here(std::vector<Value*> buffers, std::vector<int64_t> padded,
                             int64_t elements) {
  buffers_ = std::move(buffers);
  padded_ = std::move(padded);
  elements_ = elements;
  begin_ = i64(0);
  end_ = i64(elements);
  BasicBlock* work = new_block("work");
  b_.CreateBr(work);
  scopes_.push_back({work, {}, {}, {}, nullptr});
  emit_range();
}

void KernelEmitter::emit_range() {
  parallel_.assign(k_.parallel.size(), nullptr);
  if (along_parallel_) {
    emit_parallel();
  } else {
    emit_inner();
  }
  use_scope(0);
  // Streaming stores must be visible before the caller reports that the kernel is done. ARM orders
  // them like other stores.
  if (k_.streaming_stores && ir_.target.architecture == Architecture::kX86)
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

// Computes parallel_[0 .. dims) from their flat index.
void KernelEmitter::decompose(Value* flat, size_t dims) {
  use_scope(top());
  for (size_t d = dims; d-- > 1;) {
    Value* extent = i64(k_.parallel[d]);
    Value* quotient = b_.CreateUDiv(flat, extent);
    parallel_[d] = b_.CreateSub(flat, b_.CreateMul(quotient, extent));
    flat = quotient;
  }
  if (dims > 0) parallel_[0] = flat;
}

// Divides the range [begin, end) into parts within one row of the last dimension, which also end at
// the row's turns. The first and the last part of the range may begin or end inside of a row.
void KernelEmitter::emit_parallel() {
  if (tile_rows_ > 0 && padded_.empty()) return emit_tiles();
  line_store_ = find_store_along_lines();
  if (turns_.empty() && line_store_ < 0 && (k_.parallel.size() == 1 || flat_)) {
    if (flat_ && !middle_.ranges.empty()) return emit_flat_parts();
    open_block(nullptr);
    emit_flat_columns(begin_, end_);
    close_block();
    return;
  }
  std::vector<Value*> none;
  Loop rows = open_loop(begin_, none);
  enter_loop(rows, b_.CreateICmpSLT(rows.index, end_));
  use_scope(top());
  Value *column = rows.index, *end = end_;
  if (k_.parallel.size() > 1) {
    Value* extent = i64(k_.parallel.back());
    Value* row = b_.CreateUDiv(rows.index, extent);
    column = b_.CreateSub(rows.index, b_.CreateMul(row, extent));
    Value* left = b_.CreateSub(end_, rows.index);
    Value* count =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(extent, column), left);
    end = b_.CreateAdd(column, count);
    decompose(row, k_.parallel.size() - 1);
  }
  if (!turns_.empty()) end = end_of_part(column, end);
  if (line_store_ >= 0) end = end_before_line(column, end);
  use_scope(top());
  Value* next = b_.CreateAdd(rows.index, b_.CreateSub(end, column));
  emit_part(column, end);
  close_loop(rows, next, none);
}

void KernelEmitter::set_masks(int unroll, Value* count) {
  masks_.clear();
  // Lane numbers have the width of the lanes themselves: comparing them produces a mask in the
  // registers' natural form.
  llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(ir_.target.vector_bytes * 8 / lanes_));
  for (int u = 0; u < unroll; ++u) {
    Value* rest = u ? b_.CreateSub(count, i64(u * lanes_)) : count;
    rest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rest, i64(lanes_));
    if (u) rest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rest, i64(0));
    Value* limit = b_.CreateVectorSplat(lanes_, b_.CreateIntCast(rest, type, false));
    masks_.push_back({b_.CreateICmpULT(iota(type, 1), limit), rest});
  }
}

void KernelEmitter::emit_masked_columns(Value* begin, Value* end, int unroll, bool mostly_full) {
  std::vector<Value*> none;
  Loop rest = open_loop(begin, none);
  enter_loop(rest, b_.CreateICmpSLT(rest.index, end));
  use_scope(top());
  Value* left = b_.CreateSub(end, rest.index);
  set_masks(unroll, left);
  if (mostly_full)
    for (int u = 0; u < unroll; ++u) masks_[u].full = b_.CreateICmpSGE(left, i64((u + 1) * lanes_));
  emit_lane_block(unroll);
  use_scope(top());
  close_loop(rest, b_.CreateAdd(rest.index, i64(unroll * lanes_)), none);
  for (const LaneMask& m : masks_) llvm::RecursivelyDeleteTriviallyDeadInstructions(m.lanes);
  masks_.clear();
}

void KernelEmitter::emit_flat_columns(Value* begin, Value* end) {
  if (pieces() > 0) {
    // The lanes before the first multiple of a vector's length: none, unless a caller asks for
    // another range than the runtime does, or the range is divided (middle.cc).
    use_scope(top());
    Value* next = b_.CreateAnd(b_.CreateAdd(begin, i64(lanes_ - 1)), i64(-lanes_));
    next = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, end);
    aligned_ = false;
    emit_masked_columns(begin, next, 1, false);
    aligned_ = true;
    begin = next;
  }
  emit_columns(begin, end);
}

void KernelEmitter::emit_columns(Value* begin, Value* end) {
  std::vector<Value*> none;
  masks_.clear();
  if (copies_rows()) return copy_columns(begin, end);
  if (single_) {
    open_block(begin);
    emit_lane_block(1);
    close_block();
    return;
  }
  int weight = 0, chain = 0, row = 0;
  bool elementwise = true, folds = false;
  for (size_t l = 0; l < k_.loops.size(); ++l) {
    const Dims& extents = k_.loops[l].extents;
    weight += loop_weight(static_cast<int>(l));
    chain = std::max(chain, loop_chain(static_cast<int>(l)));
    if (!extents.empty()) row = std::max(row, row_weight(static_cast<int>(l)));
    elementwise = elementwise && extents.empty();
    folds = folds || extents.elements() >= kManyRows;
  }
  const bool avx512 = ir_.target.avx512, alone = padded_.empty() && !stores_halves();
  const bool waits =
      elementwise &&
      waits_for_itself(weight, chain,
                       avx512 && alone && has_function() ? kFunctionWeight : kSeveralFunctions);
  const bool gathers = gathers_lanes();
  const bool light = alone && (k_.parallel.size() == 1 || flat_) &&
                     weight <= (lanes_ > 8 ? kOneExponential : kOneWideExponential);
  // The code between the loops of a kernel that folds many rows takes little of its time.
  int unroll = waits     ? unroll_for_waiting(avx512, has_powers(), light)
               : gathers ? unroll_for_gathers(weight)
               : folds   ? unroll_for_folds(row)
                         : most_of_rows(unroll_for_weight(weight), columns_of_rows());
  if (k_.parallel.size() > 1) unroll = unroll_within_row(unroll);
  side_by_side_ = waits && padded_.empty() && unroll > 1;
  // The mask of a piece takes about as long as this weight.
  constexpr int kWeightOfPiece = 4;
  const bool one_body = avx512 && (folds ? unroll == 1 : weight > 12) && !gathers &&
                        !loads_apart() && weight >= kWeightOfPiece * pieces() &&
                        !(side_by_side_ && weight <= kLightChain);
  use_scope(top());
  Value* start = begin;
  if (!one_body) {
    Value* last = b_.CreateSub(end, i64(unroll * lanes_));
    Loop blocks = open_loop(begin, none);
    enter_loop(blocks, b_.CreateICmpSLE(blocks.index, last));
    emit_lane_block(unroll);
    use_scope(top());
    close_loop(blocks, b_.CreateAdd(blocks.index, i64(unroll * lanes_)), none);
    start = blocks.index;
  }
  emit_masked_columns(start, end, one_body && waits ? unroll : 1, one_body);
}

void KernelEmitter::emit_lane_block(int unroll) {
  unroll_ = unroll;
  for (size_t l = 0; l < k_.loops.size(); ++l) {
    if (k_.loops[l].extents.empty()) {
      emit_once(static_cast<int>(l));
    } else {
      emit_column_loop(static_cast<int>(l));
    }
  }
}

void KernelEmitter::emit_once(int l) {
  std::vector<Value*> accumulators = initial_accumulators(l, unroll_, false);
  emit_body(l, accumulators);
  finish_reductions(l, accumulators, unroll_, false);
}

void KernelEmitter::emit_column_loop(int l) {
  const Dims& extents = k_.loops[l].extents;
  std::vector<Value*> accumulators = initial_accumulators(l, unroll_, false);
  const LongSums sums = begin_long_sums(l, accumulators, unroll_, false, extents.elements());
  std::vector<Loop> loops;
  for (int64_t extent : extents) {
    loops.push_back(open_loop(i64(0), accumulators));
    enter_loop(loops.back(), b_.CreateICmpSLT(loops.back().index, i64(extent)));
  }
  emit_body(l, accumulators);
  end_pass(sums, accumulators);
  while (!loops.empty()) {
    use_scope(top());
    close_loop(loops.back(), b_.CreateAdd(loops.back().index, i64(1)), accumulators);
    loops.pop_back();
  }
  end_long_sums(sums, accumulators);
  finish_reductions(l, accumulators, unroll_, false);
}

void KernelEmitter::emit_inner() {
  std::vector<Value*> none;
  Loop rows = open_loop(begin_, none);
  enter_loop(rows, b_.CreateICmpSLT(rows.index, end_));
  decompose(rows.index, k_.parallel.size());
  for (size_t l = 0; l < k_.loops.size(); ++l) {
    unroll_ = 1;
    if (k_.loops[l].extents.empty()) {
      emit_once(static_cast<int>(l));
    } else {
      emit_row_loop(static_cast<int>(l));
    }
  }
  use_scope(top());
  close_loop(rows, b_.CreateAdd(rows.index, i64(1)), none);
}

void KernelEmitter::emit_row_loop(int l) {
  const Dims& extents = k_.loops[l].extents;
  const int granule = 64 / ir_.target.vector_bytes;  // vectors
  const int partials = granule * unroll_for_weight(loop_weight(l));
  const int64_t extent = extents.back();
  accumulator_unroll_ = extent >= partials * lanes_ ? partials : granule;
  const int64_t run = partials * lanes_, start = extent / run * run, rest = extent - start;
  int64_t passes = extent / run + ceil_div(rest, granule * lanes_);
  for (size_t d = 0; d + 1 < extents.size(); ++d) passes *= extents[d];
  std::vector<Value*> accumulators = initial_accumulators(l, accumulator_unroll_, true);
  const LongSums sums = begin_long_sums(l, accumulators, accumulator_unroll_, true, passes);
  std::vector<Loop> loops;
  for (size_t d = 0; d + 1 < extents.size(); ++d) {
    loops.push_back(open_loop(i64(0), accumulators));
    enter_loop(loops.back(), b_.CreateICmpSLT(loops.back().index, i64(extents[d])));
  }
  if (extent >= run) {
    Loop blocks = open_loop(i64(0), accumulators);
    enter_loop(blocks, b_.CreateICmpSLE(blocks.index, i64(extent - run)));
    unroll_ = partials;
    emit_body(l, accumulators);
    end_pass(sums, accumulators);
    use_scope(top());
    close_loop(blocks, b_.CreateAdd(blocks.index, i64(run)), accumulators);
  }
  // The rest is less than a run. Its vectors are written one after the other instead of in a loop,
  // because all but the last ones are whole.
  for (int64_t at = start; at < extent; at += granule * lanes_) {
    const int64_t left = std::min<int64_t>(extent - at, granule * lanes_);
    open_block(i64(at));
    unroll_ = static_cast<int>(ceil_div(left, lanes_));
    use_scope(top());
    masks_.clear();
    if (left % lanes_) set_masks(unroll_, i64(left));
    emit_body(l, accumulators);
    end_pass(sums, accumulators);
    close_block();
  }
  masks_.clear();
  while (!loops.empty()) {
    use_scope(top());
    close_loop(loops.back(), b_.CreateAdd(loops.back().index, i64(1)), accumulators);
    loops.pop_back();
  }
  end_long_sums(sums, accumulators);
  finish_reductions(l, accumulators, accumulator_unroll_, true);
}

void KernelEmitter::emit_body(int l, std::vector<Value*>& accumulators) {
  // Emits node by node over all vectors: the loads of a block are together, its stores are last.
  for (int node : needed_nodes(l)) {
    const int copies = by_lane_[node] ? unroll_ : 1;
    if (side_by_side_ && copies > 1) compute_together(node);
    for (int u = 0; u < copies; ++u) value(node, u);
  }
  const bool across_lanes = !along_parallel_ && !k_.loops[l].extents.empty();
  accumulate(l, accumulators, unroll_, across_lanes);
  if (side_by_side_) finish_before_stores(l);
  int id = static_cast<int>(k_.nodes.size());
  for (int earlier = 0; earlier < l; ++earlier)
    id += static_cast<int>(k_.loops[earlier].stores.size());
  const std::vector<KernelStore>& stores = k_.loops[l].stores;
  for (size_t k = 0; k < stores.size();) {
    const size_t columns = columns_from(stores, k);
    if (columns > 0) {
      emit_columns_of_rows(std::span(stores).subspan(k, columns), id + static_cast<int>(k));
    } else {
      emit_store(stores[k], id + static_cast<int>(k));
    }
    k += std::max<size_t>(columns, 1);
  }
  prefetch_next_row(l);
  prefetch_gathered(l);
}

// Prefetches what the first loop will read of the next row while the later loops over a row
// compute: otherwise the first loop would wait for memory. The later loops share the cache lines.
void KernelEmitter::prefetch_next_row(int l) {
  constexpr int64_t kLine = 64, kLeastBytes = 1 << 10, kMostBytes = 1 << 18;
  constexpr int kIntoSecondLevel = 2, kData = 1;
  if (along_parallel_ || !padded_.empty() || !masks_.empty() || k_.parallel.empty()) return;
  const auto same_rows = [&](int other) { return k_.loops[other].extents == k_.loops[l].extents; };
  int first = 0;
  while (!same_rows(first)) ++first;
  if (first == l) return;
  int later = 0, turn = 0;
  for (int other = first + 1; other < static_cast<int>(k_.loops.size()); ++other) {
    if (other == l) turn = later;
    later += same_rows(other);
  }
  int id = 0;
  for (int node : needed_nodes(first)) {
    const KernelNode& load = k_.nodes[node];
    if (load.kind != NodeKind::kLoad || !load.dynamic.empty() || load.guard >= 0 ||
        lane_stride(load.address) != 1 || load.address.parallel.back() == 0)
      continue;
    const KernelBuffer& buffer = k_.buffers[load.buffer];
    int64_t bytes = itemsize(buffer.dtype);
    const int64_t vector = lanes_ * bytes;
    for (int64_t extent : k_.loops[l].extents) bytes *= extent;
    if (buffer.kind != BufferKind::kInput || bytes < kLeastBytes || bytes > kMostBytes) continue;
    Affine next = load.address;
    next.offset += next.parallel.back();
    --id;
    for (int u = 0; u < unroll_; ++u) {
      if (u * vector % kLine != 0 || (unroll_ >= later && u % later != turn)) continue;
      Value* pointer = pointer_to(load.buffer, next, id, top(), u);
      use_scope(top());
      b_.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {pointer->getType()},
          {pointer, b_.getInt32(0), b_.getInt32(kIntoSecondLevel), b_.getInt32(kData)});
    }
  }
}

// Prefetches what is gathered from each row, if a row of the operand belongs to each row of the
// kernel (take_along_axis): the lanes of a gather that are not in the cache wait for each other,
// and the CPU sees no pattern in them. Each block of lanes prefetches its share of a later row.
void KernelEmitter::prefetch_gathered(int l) {
  constexpr int64_t kLine = 64, kAheadBytes = 512, kMostRow = 1 << 14, kMostLines = 8;
  constexpr int kIntoFirstLevel = 3, kData = 1;
  const size_t rank = k_.parallel.size();
  if (!along_parallel_ || flat_ || single_ || !padded_.empty() || rank < 2 || !tiles_.empty())
    return;
  const int64_t columns = k_.parallel.back(), block = int64_t{unroll_} * lanes_;
  for (int node : needed_nodes(l)) {
    const KernelNode& load = k_.nodes[node];
    if (load.kind != NodeKind::kLoad || load.dynamic.size() != 1 || load.dynamic[0].second != 1 ||
        !by_lane_[load.dynamic[0].first] || load.address.parallel[rank - 1] != 0)
      continue;
    const int64_t row = load.address.parallel[rank - 2], size = itemsize(load.dtype);
    if (row <= 0 || row * size < 2 * kLine || row * size > kMostRow) continue;
    const int64_t lines = ceil_div(block * row * size, columns * kLine);
    if (lines > kMostLines) continue;
    Affine next = load.address;
    next.offset += row * ceil_div(kAheadBytes, row * size);
    Value* pointer = pointer_to(load.buffer, next, -1 - node, 1, 0);
    use_scope(top());
    Value* share = scopes_[2].index;
    if (row != columns) share = b_.CreateUDiv(b_.CreateMul(share, i64(row)), i64(columns));
    for (int64_t line = 0; line < lines; ++line) {
      Value* at = b_.CreateAdd(share, i64(line * kLine / size));
      at = memory_.advance(load.dtype, pointer, at);
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {at->getType()},
                         {at, b_.getInt32(0), b_.getInt32(kIntoFirstLevel), b_.getInt32(kData)});
    }
  }
}

void KernelEmitter::emit_store(const KernelStore& store, int id) {
  const DType dtype = k_.buffers[store.buffer].dtype;
  const bool in_lanes = along_parallel_ ? !single_ : !store.address.inner.empty();
  const int64_t stride = lane_stride(store.address);
  const bool streaming =
      k_.streaming_stores && k_.buffers[store.buffer].kind == BufferKind::kOutput;
  for (int u = 0; u < (in_lanes ? unroll_ : 1); ++u) {
    Val element = value(store.node, u);
    const Val guard = store.guard >= 0 ? value(store.guard, u) : Val{};
    Value* pointer = pointer_to(store.buffer, store.address, id, top(), u);
    Value* scattered = lane_kind(store.address) == LaneKind::kScattered
                           ? scattered_offsets(store.address, u, b_.getInt64Ty())
                           : nullptr;
    use_scope(top());
    if (!in_lanes) {
      memory_.store_scalar(dtype, pointer, element, guard.re);
    } else {
      TESSERA_CHECK(stride || scattered, "lanes of a store to buffer {} share an address",
                    store.buffer);
      element = broadcast_val(ir_, element);
      LaneMask mask = mask_of(u);
      if (guard) mask = with_guard(mask, guard);
      if (scattered) {
        memory_.scatter(dtype, pointer, scattered, element, mask);
      } else {
        if (!guard && may_fill_vectors(store)) mask = {};
        memory_.store(dtype, pointer, stride, element, mask, streaming);
      }
    }
    keep_scope(top());
  }
}

// Returns whether the lanes after the last element may be stored, too: then a reader gets an
// unmasked vector in a register, instead of a masked one in memory. The last block must end within
// the padding, and the padding must begin there: the kernel may store the first part of a buffer
// whose other elements another kernel has stored (concatenate). Blocks begin at multiples of their
// size only if no turns divide the row.
bool KernelEmitter::may_fill_vectors(const KernelStore& store) const {
  const DType dtype = k_.buffers[store.buffer].dtype;
  if (!turns_.empty() || padded_.empty() || !along_parallel_ || k_.parallel.size() != 1 ||
      store.address.offset != 0 || store.address.parallel[0] != 1 ||
      padded_[store.buffer] != elements_ || is_complex(dtype))
    return false;
  const int64_t block = int64_t{unroll_} * lanes_;
  const int64_t stored = ceil_div(elements_, block) * block * itemsize(dtype);
  return stored <= ceil_div(elements_ * itemsize(dtype), kPaddedBytes) * kPaddedBytes;
}

// Returns whether the lanes after the last element may be loaded, too. This keeps the vector in a
// register if it was stored as a vector or element by element. The results of these lanes are not
// read.
bool KernelEmitter::may_read_whole_vectors(const KernelNode& load) const {
  if (!turns_.empty() || padded_.empty() || !padded_[load.buffer] || load.guard >= 0 ||
      load.address.offset != 0 || !is_floating(load.dtype))
    return false;
  int64_t extent = elements_;
  if (along_parallel_) {
    if (k_.parallel.size() != 1 || load.address.parallel[0] != 1) return false;
  } else {
    if (elements_ != 1 || load.address.inner != Dims{1}) return false;
    extent = k_.loops[load.loop].extents[0];
  }
  const int64_t block = int64_t{unroll_} * lanes_, size = itemsize(load.dtype);
  return ceil_div(extent, block) * block * size <=
         ceil_div(extent * size, kPaddedBytes) * kPaddedBytes;
}

void set_function_attributes(llvm::Function& function, const Target& target) {
  function.setDoesNotThrow();
  function.addFnAttr("target-cpu", target.cpu);
  function.addFnAttr("target-features", target.features);
  function.addFnAttr("prefer-vector-width", std::to_string(target.vector_bytes * 8));
}

void emit_kernel(const Kernel& kernel, const Target& target, llvm::Module& module,
                 const std::string& name) {
  auto& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* index = llvm::Type::getInt64Ty(context);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, index, index}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  set_function_attributes(*function, target);
  Ir ir(module, target, kernel_lanes(kernel, target.vector_bytes));
  LongFunctions long_functions;
  ir.long_functions = &long_functions;
  KernelEmitter(kernel, ir, function).run();
}

}  // namespace tessera::codegen
