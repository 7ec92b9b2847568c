// The loops of a kernel: dimensions and how they are split, reductions, stores.
#include "tessera/fusion/kernels/emit_kernel.h"

#include <algorithm>
#include <limits>

#include "tessera/base/contains.h"
#include "tessera/fusion/domain.h"
#include "tessera/fusion/kernels/collapse.h"
#include "tessera/fusion/kernels/half_bits.h"
#include "tessera/fusion/kernels/half_extrema.h"
#include "tessera/fusion/kernels/kernel_nodes.h"
#include "tessera/fusion/kernels/narrow_indices.h"
#include "tessera/fusion/kernels/short_folds.h"
#include "tessera/fusion/kernels/short_rows.h"
#include "tessera/fusion/reductions.h"

namespace tessera::fusion {
namespace {

// A row of a block fills a cache line with 4-byte elements. Smaller arrays stay in the cache
// anyway.
constexpr int64_t kBlockRows = 16, kBlockColumns = 64, kBlockedElements = 1 << 16;
// Fewer rows make no tile of 4-byte elements.
constexpr int64_t kLeastTileRows = 4;
// Shorter rows of the result fill too little of a vector (codegen/tiles.cc, with vectors of 64
// bytes).
constexpr int64_t kLeastTileRowBytes = 48;

}  // namespace

void Emitter::estimate_work() {
  work_.assign(g_.values.size(), 0);
  for (const GraphOp& op : g_.ops) {
    if (op.stored()) continue;
    float work = op.work;
    for (int v : op.operands) work += plan_.stored[v] ? 0 : work_[v];
    if (op.kind == OpKind::kReduce) work = 0;
    for (int v : op.results) work_[v] = std::min(work, 1e6F);
  }
}

const GroupMembership* Emitter::membership(int op) const {
  for (const GroupMembership& at : plan_.memberships[op])
    if (at.group == group_) return &at;
  return nullptr;
}

bool Emitter::here(int v) const { return g_.values[v].op >= 0 && membership(g_.values[v].op); }

std::variant<EmittedKernel, int> Emitter::emit(int group) {
  group_ = group;
  plan_group_ = &plan_.groups[group];
  splits_.clear();
  block_.clear();
  for (int64_t extent : plan_group_->extents) splits_.push_back({extent});
  while (true) {
    try {
      return attempt();
    } catch (const NeedSplit& need) {
      if (need.split.dim < 0) continue;  // the dimensions are split already
      size_t dim = 0;
      int part = need.split.dim;
      while (part >= static_cast<int>(splits_[dim].size()))
        part -= static_cast<int>(splits_[dim++].size());
      splits_[dim][part] /= need.split.minor;
      splits_[dim].insert(splits_[dim].begin() + part + 1, need.split.minor);
    } catch (const NeedStored& need) {
      return need.value;
    }
  }
}

void Emitter::set_dimensions() {
  const Group& group = *plan_group_;
  extents_.clear();
  base_.clear();
  parallel_.clear();
  families_.assign(group.families.size(), {});
  for (const Dims& parts : splits_) {
    base_.push_back(static_cast<int>(extents_.size()));
    extents_.insert(extents_.end(), parts.begin(), parts.end());
  }
  auto append = [&](std::vector<int>& to, int dim) {
    for (size_t k = 0; k < splits_[dim].size(); ++k) to.push_back(base_[dim] + static_cast<int>(k));
  };
  const int parallel_rank = group.structured ? group.parallel_rank : group.root_rank;
  for (int d = 0; d < parallel_rank; ++d) append(parallel_, d);
  for (size_t f = 0; f < group.families.size(); ++f)
    for (int d : group.families[f]) append(families_[f], d);
  // Dimensions inside of blocks come last.
  for (int d : block_) {
    const int inside = base_[d] + static_cast<int>(splits_[d].size()) - 1;
    std::erase(parallel_, inside);
    parallel_.push_back(inside);
  }
}

int Emitter::level_of_value(int v) const {
  if (!here(v)) return 0;
  const int op = g_.values[v].op;
  return level_of_[op] + (g_.ops[op].kind == OpKind::kReduce ? 1 : 0);
}

int Emitter::output_family(const Access& access) const {
  const Group& group = *plan_group_;
  if (!group.structured) return -1;
  for (int d : access.dims) {
    if (d < group.parallel_rank) continue;
    for (size_t f = 0; f < group.families.size(); ++f)
      if (contains(group.families[f], d)) return static_cast<int>(f);
  }
  return -1;
}

// Makes the list of loops. A loop folds or stores only values that need no results of loops of the
// same or a higher level. Stores join a loop that exists already, if possible.
void Emitter::order_loops() {
  const Group& group = *plan_group_;
  for (size_t k = group.ops.size(); k-- > 0;) {
    const int i = group.ops[k];
    int level = 0;
    for (int v : g_.ops[i].operands) level = std::max(level, level_of_value(v));
    level_of_[i] = level;
  }
  loops_.clear();
  for (const auto& [op, family] : group.reductions) loops_.push_back({level_of_[op], family});
  for (const GroupOutput& output : group.outputs) {
    const LoopKey key{level_of_value(output.value), output_family(output.access)};
    if (std::none_of(loops_.begin(), loops_.end(), [&](const LoopKey& loop) {
          return loop.family == key.family && loop.level >= key.level;
        }))
      loops_.push_back(key);
  }
  std::sort(loops_.begin(), loops_.end());
  loops_.erase(std::unique(loops_.begin(), loops_.end()), loops_.end());
}

EmittedKernel Emitter::attempt() {
  const Group& group = *plan_group_;
  ++stamp_;
  depth_ = 0;
  kernel_ = {};
  values_.clear();
  addresses_.clear();
  table_.clear();
  hashes_.clear();
  TESSERA_CHECK(intern({}) == kScalarIndex, "the first index is a scalar's");
  constants_.clear();
  indices_.clear();
  applied_.clear();
  scratch_bytes_ = 0;
  set_dimensions();
  order_loops();
  bool rows = group.structured && group.reductions.empty();
  for (const auto& [op, family] : group.reductions) rows = rows || reduces_rows(g_, g_.ops[op]);
  kernel_.vectorize = rows ? Kernel::Vectorize::kInner : Kernel::Vectorize::kParallel;
  int64_t written = 0;
  for (const GroupOutput& output : group.outputs)
    written += g_.values[output.value].bytes() * g_.values[output.value].instances;
  kernel_.streaming_stores = 2 * written > last_level_cache_;
  kernel_.loops.resize(loops_.size());
  store_addresses_.assign(loops_.size(), {});
  for (loop_ = 0; loop_ < static_cast<int>(loops_.size()); ++loop_) {
    const LoopKey key = loops_[loop_];
    // Ops of a group are listed from the last to the first.
    for (size_t k = group.reductions.size(); k-- > 0;) {
      const auto& [op, family] = group.reductions[k];
      if (LoopKey{level_of_[op], family} == key) emit_reduction(op);
    }
    for (const GroupOutput& output : group.outputs) {
      const int level = level_of_value(output.value), family = output_family(output.access);
      int first = 0;
      while (loops_[first].family != family || loops_[first].level < level) ++first;
      if (first == loop_) emit_store(output);
    }
  }
  arrange_transposes();
  std::vector<int> loop_family;
  for (const LoopKey& loop : loops_) loop_family.push_back(loop.family);
  collapse(kernel_, {extents_, parallel_, families_, loop_family}, addresses_, store_addresses_);
  choose_lanes();
  remove_unused_nodes(kernel_);
  kernel_ = narrow_indices(std::move(kernel_));
  kernel_ =
      keep_half_bits(fold_half_extrema(unroll_short_rows(unroll_short_folds(std::move(kernel_)))));
  return {std::move(kernel_), values_};
}

// Moves the dimension along which a transposed load is contiguous beside the lanes' dimension: the
// two make tiles that codegen transposes in registers (codegen/tiles.cc). It has none of complex
// numbers, so large transposes of these move blocks of kBlockRows x kBlockColumns, so that each
// cache line that is read across is used completely while it is in the cache.
void Emitter::arrange_transposes() {
  const Group& group = *plan_group_;
  if (group.structured || !block_.empty() || group.root_rank < 2) return;
  const int column = group.root_rank - 1;
  if (splits_[column].size() != 1) return;
  const int64_t columns = extents_[base_[column]];
  for (size_t i = 0; i < kernel_.nodes.size(); ++i) {
    const KernelNode& node = kernel_.nodes[i];
    if (node.kind != NodeKind::kLoad || std::abs(addresses_[i].coefficients[base_[column]]) <= 1)
      continue;
    for (int row = 0; row < column; ++row) {
      const int64_t step = addresses_[i].coefficients[base_[row]];
      if (splits_[row].size() != 1 || std::abs(step) != 1) continue;
      const int64_t rows = extents_[base_[row]];
      if (is_complex(node.dtype)) {
        if (columns % kBlockColumns != 0 || rows % kBlockRows != 0 ||
            g_.values[group.outputs[0].value].elements() < kBlockedElements)
          continue;
        splits_[row] = {rows / kBlockRows, kBlockRows};
        splits_[column] = {columns / kBlockColumns, kBlockColumns};
      } else if (rows < kLeastTileRows || columns * itemsize(node.dtype) < kLeastTileRowBytes ||
                 row == column - 1) {
        continue;
      }
      block_ = {row, column};
      throw NeedSplit{{-1, 0}};
    }
  }
}

// Chooses lanes along contiguous memory: a reduction over rows may be a reduction over columns of a
// transposed operand.
void Emitter::choose_lanes() {
  if (scratch_bytes_ > 0) return;
  const auto& folded = plan_group_->reductions;
  if (std::any_of(folded.begin(), folded.end(),
                  [&](const auto& r) { return folds_in_order(g_.ops[r.first]); }))
    return;
  const bool folds = std::any_of(kernel_.loops.begin(), kernel_.loops.end(),
                                 [](const KernelLoop& l) { return !l.reductions.empty(); });
  if (!folds) return;
  int strided_parallel = 0, strided_inner = 0;
  auto count = [&](const Affine& address) {
    strided_parallel += address.parallel.back() != 0 && address.parallel.back() != 1;
    strided_inner +=
        !address.inner.empty() && address.inner.back() != 0 && address.inner.back() != 1;
  };
  for (const KernelNode& node : kernel_.nodes)
    if (node.kind == NodeKind::kLoad) count(node.address);
  for (const KernelLoop& loop : kernel_.loops)
    for (const KernelStore& store : loop.stores) count(store.address);
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (const KernelLoop& loop : kernel_.loops)
    if (!loop.reductions.empty())
      shortest = std::min(shortest, loop.extents.empty() ? 1 : loop.extents.back());
  // This choice determines the order in which a sum is added up. It depends on whether there is
  // more than one sum, but not on their number: rows of a batch are summed in the same order
  // whatever its size.
  if (strided_inner > strided_parallel && kernel_.parallel.back() > 1) {
    kernel_.vectorize = Kernel::Vectorize::kParallel;
  } else if (strided_parallel > strided_inner && shortest >= 8) {
    kernel_.vectorize = Kernel::Vectorize::kInner;
  }
}

IndexExpr Emitter::dim_expr(int dim) const {
  IndexExpr out = constant_expr(0);
  if (dim < 0) return out;
  int64_t stride = 1;
  for (size_t k = splits_[dim].size(); k-- > 0;) {
    out.coefficients[base_[dim] + k] = stride;
    stride *= splits_[dim][k];
  }
  return out;
}

Index Emitter::index_of(const Access& access, const Shape& shape) const {
  Index out{.shape = shape};
  for (int d : access.dims) out.dims.push_back(dim_expr(d));
  return out;
}

int Emitter::intern(Index index) {
  const size_t hash = hash_value(index);
  for (size_t k = 0; k < table_.size(); ++k)
    if (hashes_[k] == hash && table_[k] == index) return static_cast<int>(k);
  table_.push_back(std::move(index));
  hashes_.push_back(hash);
  return static_cast<int>(table_.size()) - 1;
}

void Emitter::emit_reduction(int i) {
  const GraphOp& op = g_.ops[i];
  const size_t n = op.operands.size() / 2;
  KernelReduction reduction{.kind = op.reduction.kind};
  for (size_t k = 0; k < n; ++k)
    reduction.init.push_back(pull(op.operands[n + k], kScalarIndex, -1));
  ReducedAt& result = reduced_[i];
  result = {};
  const Shape& shape = g_.values[op.operands[0]].shape;
  const bool empty = std::any_of(op.reduction.dims.begin(), op.reduction.dims.end(),
                                 [&](int64_t d) { return shape[d] == 0; });
  if (empty) {
    result.init = reduction.init;
    return;
  }
  const Access access =
      reduced_access(*plan_group_, op, loops_[loop_].family, shape, membership(i)->access);
  const int index = intern(index_of(access, shape));
  for (size_t k = 0; k < n; ++k) reduction.nodes.push_back(pull(op.operands[k], index, -1));
  if (reduction.kind >= ReduceKind::kArgMin) reduction.body = op.reduction.body;
  const DType dtype = g_.values[op.operands[0]].dtype;
  const bool adds = reduction.kind == ReduceKind::kSum || reduction.kind == ReduceKind::kProduct;
  reduction.accumulate = adds ? accumulation_dtype(dtype) : dtype;
  result.loop = loop_;
  for (const KernelReduction& earlier : kernel_.loops[loop_].reductions)
    result.first += static_cast<int>(earlier.nodes.size());
  kernel_.loops[loop_].reductions.push_back(std::move(reduction));
}

void Emitter::emit_store(const GroupOutput& output) {
  const GraphValue& value = g_.values[output.value];
  Index at = index_of(output.access, value.shape);
  KernelStore store;
  if (output.piece < 0) {
    store.node = pull(output.value, intern(at), -1);
  } else {
    const GraphOp& op = g_.ops[value.op];
    const IndexPiece& piece = op.mapping.pieces[output.piece];
    for (size_t d = 0; d < at.dims.size(); ++d) at.dims[d].offset += piece.start[d];
    store.node = pull(op.operands[piece.operand], intern(piece_index(op, piece, at)), -1);
  }
  store.buffer = buffer(output.value, BufferKind::kOutput);
  kernel_.loops[loop_].stores.push_back(store);
  store_addresses_[loop_].push_back(linear_index(at, extents_.size()));
}

}  // namespace tessera::fusion
