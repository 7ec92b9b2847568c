#include "tessera/fusion/emit.h"

#include <algorithm>
#include <limits>

#include "tessera/fusion/collapse.h"
#include "tessera/fusion/index.h"
#include "tessera/fusion/reductions.h"

namespace tessera::fusion {
namespace {

// Work that is kept in a scratch row rather than repeated by a later loop, and how large such a row
// may be.
constexpr float kScratchWork = 8;
constexpr int64_t kScratchBytes = 256 << 10;
// Rows of a block fill a cache line of four-byte elements; smaller arrays stay in the cache anyway.
constexpr int64_t kBlockRows = 16, kBlockColumns = 64, kBlockedElements = 1 << 16;

// Of the index of a scalar, in the table of every attempt.
constexpr int kScalarIndex = 0;

// A loop has to be cut, or a value stored; the attempt at this kernel is given up.
struct NeedCut {
  Cut cut;
};
struct NeedStored {
  int value;
};

DType index_dtype(int64_t max) {
  return max <= std::numeric_limits<int32_t>::max() ? int32 : int64;
}

}  // namespace

class Emitter::Impl final : public ExprBuilder {
 public:
  Impl(const Graph& graph, const Plan& plan, int64_t last_level_cache)
      : g_(graph),
        plan_(plan),
        last_level_cache_(last_level_cache),
        memo_(graph.values.size()),
        buffer_of_(graph.values.size(), {-1, -1}),
        level_of_(graph.ops.size(), 0),
        reduced_(graph.ops.size()) {
    estimate_work();
  }

  std::variant<EmittedKernel, int> emit(int group);

  Expr apply(ScalarOp op, DType result, std::span<const Expr> args) override {
    KernelNode node{.kind = NodeKind::kScalarOp, .dtype = result, .op = op, .loop = loop_};
    for (Expr e : args) node.args.push_back(e.id);
    return {add(std::move(node))};
  }
  Expr constant(DType dtype, const void* bytes) override { return {constant_node(dtype, bytes)}; }
  Expr index(int dim, DType dtype) override {
    return {index_node(table_[pointwise_index_].dims[dim], dtype)};
  }
  DType dtype_of(Expr expr) const override { return kernel_.nodes[expr.id].dtype; }

 private:
  struct LoopKey {
    int level, family;  // family -1: no extents
    friend auto operator<=>(const LoopKey&, const LoopKey&) = default;
  };
  struct Memo {
    int index, loop, guard, node;
  };
  struct MemoSlot {
    int stamp = -1;
    boost::container::small_vector<Memo, 2> entries;
  };
  struct ReducedAt {
    int loop = -1, first = 0;
    std::vector<int> init;  // where nothing is folded: the results
  };

  void estimate_work();
  EmittedKernel attempt();
  void block_transposes();
  void choose_lanes();
  void set_dimensions();
  void order_loops();
  int output_family(const Access& access) const;
  void emit_reduction(int i);
  void emit_store(const GroupOutput& output);
  int level_of_value(int v) const;
  bool here(int v) const;

  int pull(int v, int index, int guard);
  int pull_fresh(int v, int index, int guard);
  int pull_pieces(int v, int index, int guard);
  int piece_guard(const GraphOp& op, const IndexPiece& piece, const Index& at, int guard);
  Index piece_index(const GraphOp& op, const IndexPiece& piece, const Index& at);
  int load(int v, int index, int guard);
  int from_scratch(int v, int index, int earlier_loop, int node);
  int index_under(int v, int index);
  int intern(Index index);
  Index index_of(const Access& access, const Shape& shape) const;
  IndexExpr dim_expr(int dim) const;
  bool depends_on_loop(const Index& index) const;

  int add(KernelNode node) {
    kernel_.nodes.push_back(std::move(node));
    addresses_.emplace_back();
    return static_cast<int>(kernel_.nodes.size()) - 1;
  }
  int apply1(ScalarOp op, DType result, std::initializer_list<int> args) {
    KernelNode node{
        .kind = NodeKind::kScalarOp, .dtype = result, .op = op, .args = args, .loop = loop_};
    return add(std::move(node));
  }
  int constant_node(DType dtype, const void* bytes);
  int integer_node(DType dtype, int64_t value) { return ExprBuilder::integer(dtype, value).id; }
  int index_node(const IndexExpr& expr, DType dtype);
  int start_node(int v, int64_t max);
  int convert_node(int node, DType dtype) {
    return kernel_.nodes[node].dtype == dtype ? node : apply1(ScalarOp::kConvert, dtype, {node});
  }
  int both(int a, int b) { return a < 0 ? b : b < 0 ? a : apply1(ScalarOp::kAnd, bool_, {a, b}); }
  int buffer(int v, BufferKind kind);

  const Graph& g_;
  const Plan& plan_;
  const int64_t last_level_cache_;
  std::vector<float> work_;  // of one element of a value, computed from what is stored

  int group_ = 0;
  const Group* plan_group_ = nullptr;
  // Cuts: the extents into which each dimension of the group falls, major first; and all of them in
  // one row.
  std::vector<Dims> cuts_;
  Dims extents_;
  std::vector<int> block_;  // dimensions whose last part is walked inside of blocks
  std::vector<int> base_;   // of a dimension, in extents_
  std::vector<int> parallel_;
  std::vector<std::vector<int>> families_;
  std::vector<LoopKey> loops_;

  int stamp_ = 0, loop_ = 0, pointwise_index_ = 0;
  Kernel kernel_;
  std::vector<int> values_;                              // of the buffers
  std::vector<IndexExpr> addresses_;                     // of the nodes
  std::vector<std::vector<IndexExpr>> store_addresses_;  // of the loops' stores
  std::vector<Index> table_;
  std::vector<size_t> hashes_;
  std::vector<int> constants_, indices_;  // nodes
  std::vector<MemoSlot> memo_;
  std::vector<std::pair<int, int>> buffer_of_;  // (stamp, buffer)
  std::vector<int> level_of_;
  std::vector<ReducedAt> reduced_;
  int64_t scratch_bytes_ = 0;
};

void Emitter::Impl::estimate_work() {
  work_.assign(g_.values.size(), 0);
  for (const GraphOp& op : g_.ops) {
    if (op.stored()) continue;
    float work = op.work;
    for (int v : op.operands) work += plan_.stored[v] ? 0 : work_[v];
    if (op.kind == OpKind::kReduce) work = 0;
    for (int v : op.results) work_[v] = std::min(work, 1e6F);
  }
}

bool Emitter::Impl::here(int v) const {
  const int op = g_.values[v].op;
  if (op < 0) return false;
  for (const Placement& at : plan_.placements[op])
    if (at.group == group_) return true;
  return false;
}

std::variant<EmittedKernel, int> Emitter::Impl::emit(int group) {
  group_ = group;
  plan_group_ = &plan_.groups[group];
  cuts_.clear();
  block_.clear();
  for (int64_t extent : plan_group_->extents) cuts_.push_back({extent});
  while (true) {
    try {
      return attempt();
    } catch (const NeedCut& need) {
      if (need.cut.dim < 0) continue;  // the cuts are made already
      size_t dim = 0;
      int place = need.cut.dim;
      while (place >= static_cast<int>(cuts_[dim].size()))
        place -= static_cast<int>(cuts_[dim++].size());
      cuts_[dim][place] /= need.cut.minor;
      cuts_[dim].insert(cuts_[dim].begin() + place + 1, need.cut.minor);
    } catch (const NeedStored& need) {
      return need.value;
    }
  }
}

void Emitter::Impl::set_dimensions() {
  const Group& group = *plan_group_;
  extents_.clear();
  base_.clear();
  parallel_.clear();
  families_.assign(group.families.size(), {});
  for (const Dims& parts : cuts_) {
    base_.push_back(static_cast<int>(extents_.size()));
    extents_.insert(extents_.end(), parts.begin(), parts.end());
  }
  auto append = [&](std::vector<int>& to, int dim) {
    for (size_t k = 0; k < cuts_[dim].size(); ++k) to.push_back(base_[dim] + static_cast<int>(k));
  };
  const int parallel_rank = group.structured ? group.parallel_rank : group.root_rank;
  for (int d = 0; d < parallel_rank; ++d) append(parallel_, d);
  for (size_t f = 0; f < group.families.size(); ++f)
    for (int d : group.families[f]) append(families_[f], d);
  // Inside of blocks last.
  for (int d : block_) {
    const int inside = base_[d] + static_cast<int>(cuts_[d].size()) - 1;
    std::erase(parallel_, inside);
    parallel_.push_back(inside);
  }
}

int Emitter::Impl::level_of_value(int v) const {
  if (!here(v)) return 0;
  const int op = g_.values[v].op;
  return level_of_[op] + (g_.ops[op].kind == OpKind::kReduce ? 1 : 0);
}

int Emitter::Impl::output_family(const Access& access) const {
  const Group& group = *plan_group_;
  if (!group.structured) return -1;
  for (int d : access.dims) {
    if (d < group.parallel_rank) continue;
    for (size_t f = 0; f < group.families.size(); ++f)
      if (std::find(group.families[f].begin(), group.families[f].end(), d) !=
          group.families[f].end())
        return static_cast<int>(f);
  }
  return -1;
}

// A loop folds or stores what needs results of loops of lower levels only. Stores join a loop that
// runs anyway.
void Emitter::Impl::order_loops() {
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
    bool found = false;
    for (const LoopKey& loop : loops_)
      found = found || (loop.family == key.family && loop.level >= key.level);
    if (!found) loops_.push_back(key);
  }
  std::sort(loops_.begin(), loops_.end());
  loops_.erase(std::unique(loops_.begin(), loops_.end()), loops_.end());
}

EmittedKernel Emitter::Impl::attempt() {
  const Group& group = *plan_group_;
  ++stamp_;
  kernel_ = {};
  values_.clear();
  addresses_.clear();
  table_.clear();
  hashes_.clear();
  TESSERA_CHECK(intern({}) == kScalarIndex, "the first index is a scalar's");
  constants_.clear();
  indices_.clear();
  scratch_bytes_ = 0;
  set_dimensions();
  order_loops();
  bool rows = group.structured && group.reductions.empty();
  for (const auto& [op, family] : group.reductions)
    rows = rows || reduces_rows(g_.values[g_.ops[op].operands[0]].shape, g_.ops[op].reduction.dims);
  kernel_.vectorize = rows ? Kernel::Vectorize::kInner : Kernel::Vectorize::kParallel;
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
  int64_t written = 0;
  for (const GroupOutput& output : group.outputs)
    written += g_.values[output.value].bytes() * g_.values[output.value].instances;
  kernel_.streaming_stores = 2 * written > last_level_cache_;
  block_transposes();
  std::vector<int> loop_family;
  for (const LoopKey& loop : loops_) loop_family.push_back(loop.family);
  collapse(kernel_, {extents_, parallel_, families_, loop_family}, addresses_, store_addresses_);
  choose_lanes();
  return {std::move(kernel_), values_};
}

// A large transpose moves blocks of kBlockRows x kBlockColumns, so that the cache lines it reads
// across are used up while they are in the cache.
void Emitter::Impl::block_transposes() {
  const Group& group = *plan_group_;
  if (group.structured || !block_.empty() || group.root_rank < 2) return;
  if (g_.values[group.outputs[0].value].elements() < kBlockedElements) return;
  const int column = group.root_rank - 1;
  if (cuts_[column].size() != 1 || extents_[base_[column]] % kBlockColumns != 0) return;
  for (size_t i = 0; i < kernel_.nodes.size(); ++i) {
    if (kernel_.nodes[i].kind != NodeKind::kLoad || addresses_[i].coefficients[base_[column]] <= 1)
      continue;
    for (int row = 0; row < column; ++row) {
      if (cuts_[row].size() != 1 || addresses_[i].coefficients[base_[row]] != 1 ||
          extents_[base_[row]] % kBlockRows != 0)
        continue;
      block_ = {row, column};
      cuts_[row] = {extents_[base_[row]] / kBlockRows, kBlockRows};
      cuts_[column] = {extents_[base_[column]] / kBlockColumns, kBlockColumns};
      throw NeedCut{{-1, 0}};
    }
  }
}

// Lanes lie where memory is contiguous: what looks like a reduction over rows may be one over
// columns of a transposed operand.
void Emitter::Impl::choose_lanes() {
  if (scratch_bytes_ > 0) return;
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
  if (strided_inner > strided_parallel && kernel_.parallel.back() >= 8) {
    kernel_.vectorize = Kernel::Vectorize::kParallel;
  } else if (strided_parallel > strided_inner && shortest >= 8) {
    kernel_.vectorize = Kernel::Vectorize::kInner;
  }
}

IndexExpr Emitter::Impl::dim_expr(int dim) const {
  IndexExpr out = IndexExpr::constant(0, extents_.size());
  if (dim < 0) return out;
  int64_t stride = 1;
  for (size_t k = cuts_[dim].size(); k-- > 0;) {
    out.coefficients[base_[dim] + k] = stride;
    stride *= cuts_[dim][k];
  }
  return out;
}

Index Emitter::Impl::index_of(const Access& access, const Shape& shape) const {
  Index out;
  out.shape = shape;
  for (int d : access.dims) out.dims.push_back(dim_expr(d));
  return out;
}

int Emitter::Impl::intern(Index index) {
  const size_t hash = hash_value(index);
  for (size_t k = 0; k < table_.size(); ++k)
    if (hashes_[k] == hash && table_[k] == index) return static_cast<int>(k);
  table_.push_back(std::move(index));
  hashes_.push_back(hash);
  return static_cast<int>(table_.size()) - 1;
}

void Emitter::Impl::emit_reduction(int i) {
  const GraphOp& op = g_.ops[i];
  const size_t n = op.operands.size() / 2;
  const Access* access = nullptr;
  for (const Placement& at : plan_.placements[i])
    if (at.group == group_) access = &at.access;
  const Shape& shape = g_.values[op.operands[0]].shape;
  Index at;
  at.shape = shape;
  const Group& group = *plan_group_;
  const auto it = std::find_if(group.reductions.begin(), group.reductions.end(),
                               [&](const auto& r) { return r.first == i; });
  size_t kept = 0, folded = 0;
  int64_t elements = 1;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    const Dims& reduced = op.reduction.dims;
    if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) {
      at.dims.push_back(dim_expr(access->dims[kept++]));
    } else {
      at.dims.push_back(dim_expr(shape[d] == 1 ? -1 : group.families[it->second][folded++]));
      elements *= shape[d];
    }
  }
  KernelReduction reduction;
  reduction.kind = op.reduction.kind;
  for (size_t k = 0; k < n; ++k)
    reduction.init.push_back(pull(op.operands[n + k], kScalarIndex, -1));
  ReducedAt& result = reduced_[i];
  result = {};
  if (elements == 0) {
    result.init = reduction.init;
    return;
  }
  const int index = intern(std::move(at));
  for (size_t k = 0; k < n; ++k) reduction.nodes.push_back(pull(op.operands[k], index, -1));
  if (reduction.kind >= ReduceKind::kArgMin) reduction.body = op.reduction.body;
  const DType dtype = g_.values[op.operands[0]].dtype;
  const bool half = dtype == float16 || dtype == bfloat16;
  const bool adds = reduction.kind == ReduceKind::kSum || reduction.kind == ReduceKind::kProduct;
  reduction.accumulate = half && adds ? float32 : dtype;
  result.loop = loop_;
  for (const KernelReduction& earlier : kernel_.loops[loop_].reductions)
    result.first += static_cast<int>(earlier.nodes.size());
  kernel_.loops[loop_].reductions.push_back(std::move(reduction));
}

void Emitter::Impl::emit_store(const GroupOutput& output) {
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

bool Emitter::Impl::depends_on_loop(const Index& index) const {
  const int family = loops_[loop_].family;
  if (family < 0) return false;
  for (const IndexExpr& expr : index.dims) {
    if (!expr.dynamic.empty()) return true;
    for (int d : families_[family])
      if (expr.coefficients[d]) return true;
  }
  return false;
}

int Emitter::Impl::pull(int v, int index, int guard) {
  if (g_.values[v].elements() == 1) {
    // Its only element, also where a guarded index would lie outside.
    guard = -1;
    index = kScalarIndex;
    if (const Shape& shape = g_.values[v].shape; !shape.empty()) {
      Index first;
      first.shape = shape;
      first.dims.resize(shape.size(), IndexExpr::constant(0, extents_.size()));
      index = intern(std::move(first));
    }
  }
  const bool varies = guard >= 0 || depends_on_loop(table_[index]);
  const int loop = varies ? loop_ : -1;
  MemoSlot& slot = memo_[v];
  if (slot.stamp != stamp_) {
    slot.stamp = stamp_;
    slot.entries.clear();
  }
  for (const Memo& memo : slot.entries)
    if (memo.index == index && memo.loop == loop && memo.guard == guard) return memo.node;
  int node = -1;
  if (varies && guard < 0 && kernel_.vectorize == Kernel::Vectorize::kInner &&
      work_[v] >= kScratchWork && here(v)) {
    for (const Memo& memo : slot.entries) {
      if (memo.index != index || memo.loop < 0 || memo.guard >= 0 ||
          loops_[memo.loop].family != loops_[loop_].family)
        continue;
      node = from_scratch(v, index, memo.loop, memo.node);
      if (node >= 0) break;
    }
  }
  if (node < 0) node = pull_fresh(v, index, guard);
  memo_[v].entries.push_back({index, loop, guard, node});
  return node;
}

int Emitter::Impl::from_scratch(int v, int index, int earlier_loop, int node) {
  const std::vector<int>& family = families_[loops_[loop_].family];
  // The row must tell all elements of the loop apart.
  int64_t elements = 1;
  for (int d : family) elements *= extents_[d];
  const DType dtype = g_.values[v].dtype;
  const int64_t bytes = elements * itemsize(dtype);
  if (!table_[index].dims.empty()) {
    for (const IndexExpr& expr : table_[index].dims)
      if (!expr.dynamic.empty()) return -1;
  }
  int id = -1;
  IndexExpr address = IndexExpr::constant(0, extents_.size());
  int64_t stride = 1;
  for (size_t k = family.size(); k-- > 0;) {
    address.coefficients[family[k]] = stride;
    stride *= extents_[family[k]];
  }
  auto& stores = kernel_.loops[earlier_loop].stores;
  for (const KernelStore& store : stores)
    if (store.node == node && kernel_.buffers[store.buffer].kind == BufferKind::kScratch)
      id = store.buffer;
  if (id < 0) {
    if (scratch_bytes_ + bytes > kScratchBytes) return -1;
    scratch_bytes_ += bytes;
    id = static_cast<int>(kernel_.buffers.size());
    kernel_.buffers.push_back({dtype, BufferKind::kScratch, elements});
    values_.push_back(-1);
    KernelStore store;
    store.buffer = id;
    store.node = node;
    stores.push_back(store);
    store_addresses_[earlier_loop].push_back(address);
  }
  const int out = add({.kind = NodeKind::kLoad, .dtype = dtype, .buffer = id, .loop = loop_});
  addresses_[out] = address;
  return out;
}

// `index` under the shape of v itself.
int Emitter::Impl::index_under(int v, int index) {
  const Shape& shape = g_.values[v].shape;
  if (table_[index].shape == shape) return index;
  Cut cut;
  std::optional<Index> out = reshape_index(table_[index], shape, extents_, &cut);
  if (!out && cut.dim >= 0) throw NeedCut{cut};
  if (!out) throw NeedStored{v};
  return intern(std::move(*out));
}

int Emitter::Impl::pull_fresh(int v, int index, int guard) {
  if (!here(v)) return load(v, index, guard);
  const GraphValue& value = g_.values[v];
  const GraphOp& op = g_.ops[value.op];
  const int scalar = value.shape.empty() ? index : -1;
  switch (op.kind) {
    case OpKind::kConstant:
      return constant_node(value.dtype, op.splat->raw());
    case OpKind::kConvert:
      return convert_node(pull(op.operands[0], index, guard), value.dtype);
    case OpKind::kReshape:
      return pull(op.operands[0], index, guard);
    case OpKind::kIndexMap:
      return pull_pieces(v, index_under(v, index), guard);
    case OpKind::kReduce: {
      const ReducedAt& reduced = reduced_[value.op];
      int r = 0;
      while (op.results[r] != v) ++r;
      if (!reduced.init.empty()) return reduced.init[r];
      TESSERA_CHECK(reduced.loop >= 0 && reduced.loop < loop_, "a reduction that has not run");
      return add({.kind = NodeKind::kReduced,
                  .dtype = value.dtype,
                  .loop = reduced.loop,
                  .reduction = reduced.first + r});
    }
    case OpKind::kPointwise: {
      boost::container::small_vector<Expr, 4> args;
      for (int operand : op.operands) {
        const bool broadcast = g_.values[operand].shape.empty() && scalar < 0;
        args.push_back({pull(operand, broadcast ? kScalarIndex : index, guard)});
      }
      // Only iota asks for its place.
      pointwise_index_ = args.empty() ? index_under(v, index) : index;
      Type result;
      result.dtype = value.dtype;
      result.shape = value.shape;
      return std::get<Pointwise>(op.op->def->lower)
          .emit(*this, args, op.op->params, op.operand_types, result)
          .id;
    }
    default:
      TESSERA_CHECK(false, "a stored op inside a kernel");
      return -1;
  }
}

int Emitter::Impl::buffer(int v, BufferKind kind) {
  auto& [stamp, id] = buffer_of_[v];
  if (stamp == stamp_) return id;
  stamp = stamp_;
  id = static_cast<int>(kernel_.buffers.size());
  kernel_.buffers.push_back({g_.values[v].dtype, kind, g_.values[v].elements()});
  values_.push_back(v);
  return id;
}

int Emitter::Impl::load(int v, int index, int guard) {
  const GraphValue& value = g_.values[v];
  KernelNode node{.kind = NodeKind::kLoad, .dtype = value.dtype, .guard = guard, .loop = loop_};
  node.buffer = buffer(v, BufferKind::kInput);
  IndexExpr address = value.elements() == 1 ? IndexExpr::constant(0, extents_.size())
                                            : linear_index(table_[index], extents_.size());
  for (const auto& [index_id, stride] : address.dynamic)
    node.dynamic.emplace_back(index_id, stride);
  const int id = add(std::move(node));
  addresses_[id] = std::move(address);
  return id;
}

int Emitter::Impl::constant_node(DType dtype, const void* bytes) {
  std::array<std::byte, 16> immediate{};
  std::memcpy(immediate.data(), bytes, static_cast<size_t>(itemsize(dtype)));
  for (int id : constants_)
    if (kernel_.nodes[id].dtype == dtype && kernel_.nodes[id].immediate == immediate) return id;
  const int id = add({.kind = NodeKind::kConstant, .dtype = dtype, .immediate = immediate});
  constants_.push_back(id);
  return id;
}

int Emitter::Impl::index_node(const IndexExpr& expr, DType dtype) {
  int out = -1;
  IndexExpr affine = expr;
  affine.dynamic.clear();
  if (affine.is_constant()) {
    if (expr.dynamic.empty() || expr.offset != 0) out = integer_node(dtype, expr.offset);
  } else {
    for (int id : indices_)
      if (kernel_.nodes[id].dtype == dtype && kernel_.nodes[id].loop == loop_ &&
          addresses_[id] == affine)
        out = id;
    if (out < 0) {
      out = add({.kind = NodeKind::kIndex, .dtype = dtype, .loop = loop_});
      addresses_[out] = affine;
      indices_.push_back(out);
    }
  }
  for (const auto& [node, coefficient] : expr.dynamic) {
    int term = convert_node(node, dtype);
    if (coefficient != 1)
      term = apply1(ScalarOp::kMul, dtype, {term, integer_node(dtype, coefficient)});
    out = out < 0 ? term : apply1(ScalarOp::kAdd, dtype, {out, term});
  }
  return out;
}

// A scalar operand clamped to [0, max], as int32 or int64.
int Emitter::Impl::start_node(int v, int64_t max) {
  int node = pull(v, kScalarIndex, -1);
  const DType dtype = g_.values[v].dtype;
  const int64_t bits = 8 * itemsize(dtype) - (is_signed(dtype) ? 1 : 0);
  if (is_signed(dtype)) node = apply1(ScalarOp::kMax, dtype, {node, integer_node(dtype, 0)});
  if (bits >= 63 || max < (int64_t{1} << bits) - 1)
    node = apply1(ScalarOp::kMin, dtype, {node, integer_node(dtype, max)});
  return convert_node(node, index_dtype(max));
}

Index Emitter::Impl::piece_index(const GraphOp& op, const IndexPiece& piece, const Index& at) {
  Index out;
  out.shape = g_.values[op.operands[piece.operand]].shape;
  for (const IndexTerm& term : piece.terms) {
    IndexExpr expr = IndexExpr::constant(term.offset, extents_.size());
    if (term.result_dim >= 0) {
      IndexExpr from = at.dims[term.result_dim];
      if (term.divisor != 1) {
        if (!piece.start.empty()) from.offset -= piece.start[term.result_dim];
        const DType dtype = index_dtype(at.shape[term.result_dim]);
        const int dividend = index_node(from, dtype);
        const int quotient =
            apply1(ScalarOp::kDiv, dtype, {dividend, integer_node(dtype, term.divisor)});
        from = IndexExpr::constant(0, extents_.size());
        from.dynamic.emplace_back(quotient, 1);
      }
      expr.add(from, term.stride);
    }
    if (term.dynamic >= 0) {
      IndexExpr start = IndexExpr::constant(0, extents_.size());
      start.dynamic.emplace_back(start_node(op.operands[term.dynamic], term.dynamic_max), 1);
      expr.add(start, term.dynamic_stride);
    }
    out.dims.push_back(std::move(expr));
  }
  return out;
}

// Whether `piece` applies at `at`, and `guard` holds; -1 where it always does.
int Emitter::Impl::piece_guard(const GraphOp& op, const IndexPiece& piece, const Index& at,
                               int guard) {
  for (size_t d = 0; d < at.shape.size(); ++d) {
    const int64_t start = piece.start.empty() ? 0 : piece.start[d];
    const int64_t stop = piece.stop.empty() ? at.shape[d] : piece.stop[d];
    const DType dtype = index_dtype(at.shape[d] + std::max<int64_t>(0, stop));
    IndexExpr from = at.dims[d];
    const bool shifts = !piece.start_dynamic.empty() && piece.start_dynamic[d] >= 0;
    if (shifts) {
      const int shift = start_node(op.operands[piece.start_dynamic[d]], piece.start_dynamic_max[d]);
      IndexExpr expr = IndexExpr::constant(0, extents_.size());
      expr.dynamic.emplace_back(shift, 1);
      from.add(expr, -1);
    }
    if (start > 0 || shifts)
      guard = both(guard, apply1(ScalarOp::kGe, bool_,
                                 {index_node(from, dtype), integer_node(dtype, start)}));
    if (stop < at.shape[d] || shifts)
      guard = both(guard, apply1(ScalarOp::kLt, bool_,
                                 {index_node(from, dtype), integer_node(dtype, stop)}));
  }
  for (const IndexTerm& term : piece.terms) {
    if (term.result_dim < 0 || term.divisor == 1) continue;
    IndexExpr from = at.dims[term.result_dim];
    if (!piece.start.empty()) from.offset -= piece.start[term.result_dim];
    const DType dtype = index_dtype(at.shape[term.result_dim]);
    const int rest =
        apply1(ScalarOp::kRem, dtype, {index_node(from, dtype), integer_node(dtype, term.divisor)});
    guard = both(guard, apply1(ScalarOp::kEq, bool_, {rest, integer_node(dtype, 0)}));
  }
  return guard;
}

int Emitter::Impl::pull_pieces(int v, int index, int guard) {
  const GraphOp& op = g_.ops[g_.values[v].op];
  const std::vector<IndexPiece>& pieces = op.mapping.pieces;
  const Index at = table_[index];
  boost::container::small_vector<std::pair<int, int>, 4> choices;  // (guard, value)
  for (const IndexPiece& piece : pieces) {
    const int own = piece_guard(op, piece, at, guard);
    const int operand = op.operands[piece.operand];
    choices.emplace_back(own, pull(operand, intern(piece_index(op, piece, at)), own));
    if (own == guard) break;  // it applies everywhere
  }
  int out;
  if (op.mapping.fill >= 0 && (choices.empty() || choices.back().first != guard)) {
    out = pull(op.operands[op.mapping.fill], kScalarIndex, -1);
  } else {
    TESSERA_CHECK(!choices.empty(), "an index map without pieces");
    out = choices.back().second;
    choices.pop_back();
  }
  for (size_t k = choices.size(); k-- > 0;)
    out = apply1(ScalarOp::kSelect, g_.values[v].dtype, {choices[k].first, choices[k].second, out});
  return out;
}

Emitter::Emitter(const Graph& graph, const Plan& plan, int64_t last_level_cache)
    : impl_(std::make_unique<Impl>(graph, plan, last_level_cache)) {}
Emitter::~Emitter() = default;
std::variant<EmittedKernel, int> Emitter::emit(int group) { return impl_->emit(group); }

}  // namespace tessera::fusion
