// Computes an element of a value: from operands or by a load; index maps become address arithmetic.
#include <algorithm>
#include <cstring>
#include <limits>

#include "tessera/base/contains.h"
#include "tessera/fusion/kernels/emit_kernel.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/structural/window_view.h"

namespace tessera::fusion {
namespace {

// The least work for which a value is kept in a scratch row instead of being computed again by a
// later loop, and the most bytes of such rows.
constexpr float kScratchWork = 8;
constexpr int64_t kScratchBytes = 256 << 10;
constexpr int kNever = -2;  // a guard that is never true

DType index_dtype(int64_t max) {
  return max <= std::numeric_limits<int32_t>::max() ? int32 : int64;
}

// Returns whether every value of `from` is one of `to`.
bool holds(DType to, DType from) {
  if (is_narrow(from) || is_narrow(to)) return false;
  if (from == bool_) return true;
  if (is_integer(from) && is_integer(to))
    return itemsize(from) < itemsize(to) && (is_signed(to) || is_unsigned(from));
  return is_floating(from) && is_floating(to) && itemsize(from) < itemsize(to);
}

}  // namespace

// Finds products that are fused. a * b + c is one operation with one rounding, as in XLA, if only
// the sum reads the product. A value that is computed again in another kernel must have the same
// bits (the derivative of a maximum compares it with the stored maximum), so the graph and the
// choice of stored values decide this, and not the content of a kernel.
void Emitter::find_joined() {
  joined_.assign(g_.values.size(), 0);
  for (const GraphOp& op : g_.ops) {
    if (op.kind != OpKind::kPointwise) continue;
    // The value, and views of it with its elements at other positions, up to the only reader.
    boost::container::small_vector<int, 4> moved;
    if (!is_read_once(op.results[0], moved)) continue;
    for (int v : moved) joined_[v] = 1;
  }
}

bool Emitter::is_read_once(int v, boost::container::small_vector<int, 4>& moved) const {
  const int64_t elements = g_.values[v].elements();
  while (true) {
    const GraphValue& value = g_.values[v];
    if (plan_.stored[v] || value.users.size() != 1 || value.elements() != elements) return false;
    const GraphOp& user = g_.ops[value.users[0]];
    if (std::count(user.operands.begin(), user.operands.end(), v) != 1) return false;
    moved.push_back(v);
    const bool moves = user.kind == OpKind::kReshape ||
                       (user.kind == OpKind::kIndexMap && user.mapping.pieces.size() == 1);
    if (!moves)
      return user.kind == OpKind::kPointwise && g_.values[user.results[0]].elements() == elements;
    v = user.results[0];
  }
}

// Returns the sum or difference as one node with a product among its operands; -1 if there is none.
// Products within the emitted op are always fused, others only if joined_ is set for them.
int Emitter::join_product(ScalarOp op, DType result, std::span<const Expr> args) {
  if ((op != ScalarOp::kAdd && op != ScalarOp::kSub) || !is_floating(result)) return -1;
  if (args[0].id == args[1].id) return -1;
  const auto joins = [&](int id) {
    const KernelNode& node = kernel_.nodes[id];
    return node.kind == NodeKind::kScalarOp && node.op == ScalarOp::kMul &&
           (id >= first_of_op_ || contains(joined_args_, id));
  };
  const int side = joins(args[0].id) ? 0 : joins(args[1].id) ? 1 : -1;
  if (side < 0) return -1;
  int a = kernel_.nodes[args[side].id].args[0], b = kernel_.nodes[args[side].id].args[1],
      c = args[1 - side].id;
  if (op == ScalarOp::kSub) {
    int& negated = side == 0 ? c : a;
    negated = apply1(ScalarOp::kNeg, result, {negated});
  }
  return apply1(ScalarOp::kFma, result, {a, b, c});
}

// Returns a quotient by a square root as one node, like join_product(); -1 if it is not one.
int Emitter::join_root(ScalarOp op, DType result, std::span<const Expr> args) {
  if (op != ScalarOp::kDiv || (result != float32 && result != float64)) return -1;
  const int divisor = args[1].id;
  const KernelNode& root = kernel_.nodes[divisor];
  if (root.kind != NodeKind::kScalarOp || root.op != ScalarOp::kSqrt ||
      (divisor < first_of_op_ && !contains(joined_args_, divisor)))
    return -1;
  return apply1(ScalarOp::kDivByRoot, result, {args[0].id, root.args[0]});
}

bool Emitter::depends_on_loop(const Index& index) const {
  const int family = loops_[loop_].family;
  if (family < 0) return false;
  for (const IndexExpr& expr : index.dims) {
    if (!expr.dynamic.empty()) return true;
    for (int d : families_[family])
      if (expr.coefficients[d]) return true;
  }
  return false;
}

int Emitter::pull(int v, int index, int guard) {
  if (g_.values[v].elements() == 1) {
    // The only element is loaded even if a guarded index is outside.
    guard = -1;
    index = kScalarIndex;
    if (const Shape& shape = g_.values[v].shape; !shape.empty())
      index = intern({shape, IndexExprs(shape.size(), constant_expr(0))});
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
  if (varies && guard < 0 && work_[v] >= kScratchWork && !joined_[v] && here(v))
    node = from_earlier_loop(v, index);
  if (node < 0) node = pull_fresh(v, index, guard);
  // Rounds a stored value as its other readers see it.
  const DType dtype = g_.values[v].dtype;
  if (is_half(dtype) && plan_.stored[v] && kernel_.nodes[node].kind != NodeKind::kLoad)
    node = apply1(ScalarOp::kConvert, dtype, {node});
  memo_[v].entries.push_back({index, loop, guard, node});
  return node;
}

// Returns a load of the element that an earlier loop over the same dimensions has computed; -1 if
// there is none. Loops over a row keep it in a scratch row. Loops over a column have stored it if
// other kernels read it, too. Example: the gradient of a softmax of columns stores the exponentials
// for the kernel after it, and multiplies by them in its third loop.
int Emitter::from_earlier_loop(int v, int index) {
  for (const Memo& memo : memo_[v].entries) {
    if (memo.index != index || memo.loop < 0 || memo.guard >= 0 ||
        loops_[memo.loop].family != loops_[loop_].family)
      continue;
    const int node = kernel_.vectorize == Kernel::Vectorize::kInner
                         ? from_scratch(v, index, memo.loop, memo.node)
                         : from_output(v, index, memo.loop, memo.node);
    if (node >= 0) return node;
  }
  return -1;
}

// Stores that bypass the caches are not read again.
int Emitter::from_output(int v, int index, int earlier_loop, int node) {
  if (kernel_.streaming_stores) return -1;
  const auto& stores = kernel_.loops[earlier_loop].stores;
  const IndexExpr address = linear_index(table_[index], extents_.size());
  for (size_t k = 0; k < stores.size(); ++k) {
    const int id = stores[k].buffer;
    if (stores[k].node != node || values_[id] != v ||
        !(store_addresses_[earlier_loop][k] == address))
      continue;
    const int out =
        add({.kind = NodeKind::kLoad, .dtype = g_.values[v].dtype, .buffer = id, .loop = loop_});
    addresses_[out] = address;
    return out;
  }
  return -1;
}

int Emitter::from_scratch(int v, int index, int earlier_loop, int node) {
  const std::vector<int>& family = families_[loops_[loop_].family];
  // The scratch row must have all elements of the loop.
  int64_t elements = 1;
  for (int d : family) elements *= extents_[d];
  const DType dtype = g_.values[v].dtype;
  const int64_t bytes = elements * itemsize(dtype);
  for (const IndexExpr& expr : table_[index].dims)
    if (!expr.dynamic.empty()) return -1;
  int id = -1;
  IndexExpr address = constant_expr(0);
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
    stores.push_back({.buffer = id, .node = node});
    store_addresses_[earlier_loop].push_back(address);
  }
  const int out = add({.kind = NodeKind::kLoad, .dtype = dtype, .buffer = id, .loop = loop_});
  addresses_[out] = address;
  return out;
}

// Returns the number of `index` as an index under v's own shape.
int Emitter::index_under(int v, int index) {
  const Shape& shape = g_.values[v].shape;
  if (table_[index].shape == shape) return index;
  DimSplit split;
  std::optional<Index> out = reshape_index(table_[index], shape, extents_, &split);
  if (!out && split.dim >= 0) throw NeedSplit{split};
  if (!out) throw NeedStored{v};
  return intern(std::move(*out));
}

int Emitter::pull_fresh(int v, int index, int guard) {
  if (!here(v)) return load(v, index, guard);
  // The planner's limit of ops keeps chains short: a longer one may need more of the stack than a
  // thread has.
  TESSERA_CHECK(depth_ < deepest_, "a kernel has a chain of more than {} values", deepest_);
  ++depth_;
  const int node = compute(v, index, guard);
  --depth_;
  return node;
}

int Emitter::compute(int v, int index, int guard) {
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
    case OpKind::kGather:
      return pull(op.operands[0], gathered_index(op, index_under(v, index), guard), guard);
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
      boost::container::small_vector<int, 2> joined;
      for (int operand : op.operands) {
        const bool broadcast = g_.values[operand].shape.empty() && scalar < 0;
        args.push_back({pull(operand, broadcast ? kScalarIndex : index, guard)});
        if (joined_[operand]) joined.push_back(args.back().id);
      }
      joined_args_ = std::move(joined);
      first_of_op_ = static_cast<int>(kernel_.nodes.size());
      // Only iota needs its index under its own shape.
      pointwise_index_ = args.empty() ? index_under(v, index) : index;
      return std::get<Pointwise>(op.op->def->lower)
          .emit(*this, args, op.op->params, op.operand_types, {value.dtype, value.shape})
          .id;
    }
    default:
      TESSERA_CHECK(false, "a stored op inside a kernel");
      return -1;
  }
}

int Emitter::buffer(int v, BufferKind kind) {
  auto& [stamp, id] = buffer_of_[v];
  if (stamp == stamp_) return id;
  stamp = stamp_;
  id = static_cast<int>(kernel_.buffers.size());
  kernel_.buffers.push_back({g_.values[v].dtype, kind, g_.values[v].elements()});
  values_.push_back(v);
  return id;
}

int Emitter::load(int v, int index, int guard) {
  const GraphValue& value = g_.values[v];
  KernelNode node{.kind = NodeKind::kLoad, .dtype = value.dtype, .guard = guard, .loop = loop_};
  node.buffer = buffer(v, BufferKind::kInput);
  IndexExpr address =
      value.elements() == 1 ? constant_expr(0) : linear_index(table_[index], extents_.size());
  node.dynamic.assign(address.dynamic.begin(), address.dynamic.end());
  const int id = add(std::move(node));
  addresses_[id] = std::move(address);
  return id;
}

int Emitter::apply_once(ScalarOp op, DType result, std::initializer_list<int> args) {
  size_t hash = static_cast<size_t>(op) * 31 + static_cast<size_t>(loop_);
  for (int arg : args) hash = hash * 1000003 + static_cast<size_t>(arg);
  const auto [begin, end] = applied_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const KernelNode& node = kernel_.nodes[at->second];
    if (node.op == op && node.dtype == result && node.loop == loop_ &&
        std::equal(node.args.begin(), node.args.end(), args.begin(), args.end()))
      return at->second;
  }
  const int id = apply1(op, result, args);
  applied_.emplace(hash, id);
  return id;
}

int Emitter::constant_node(DType dtype, const void* bytes) {
  std::array<std::byte, 16> immediate{};
  std::memcpy(immediate.data(), bytes, static_cast<size_t>(itemsize(dtype)));
  for (int id : constants_)
    if (kernel_.nodes[id].dtype == dtype && kernel_.nodes[id].immediate == immediate) return id;
  const int id = add({.kind = NodeKind::kConstant, .dtype = dtype, .immediate = immediate});
  constants_.push_back(id);
  return id;
}

// Returns the node in another dtype. A value that was made wider becomes what it was: JAX widens
// the gradient of a sum of bfloat16 before it is broadcast, and narrows it afterwards.
int Emitter::convert_node(int node, DType dtype) {
  const KernelNode& n = kernel_.nodes[node];
  if (n.dtype == dtype) return node;
  if (n.kind == NodeKind::kScalarOp && n.op == ScalarOp::kConvert) {
    const int narrow = n.args[0];
    const KernelNode& source = kernel_.nodes[narrow];
    if (source.dtype == dtype && holds(n.dtype, dtype)) {
      // A computed 16-bit float may have more digits than the dtype until it is converted.
      const bool is_rounded = !is_half(dtype) || source.kind == NodeKind::kLoad;
      return is_rounded ? narrow : apply1(ScalarOp::kConvert, dtype, {narrow});
    }
  }
  return apply_once(ScalarOp::kConvert, dtype, {node});
}

int Emitter::index_node(const IndexExpr& expr, DType dtype) {
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
      term = apply_once(ScalarOp::kMul, dtype, {term, integer_node(dtype, coefficient)});
    out = out < 0 ? term : apply_once(ScalarOp::kAdd, dtype, {out, term});
  }
  return out;
}

// Returns the scalar operand v, clamped to [0, max], as a node of int32 or int64.
int Emitter::start_node(int v, int64_t max) { return clamped_node(pull(v, kScalarIndex, -1), max); }

int Emitter::clamped_node(int node, int64_t max) {
  const DType dtype = kernel_.nodes[node].dtype;
  const int64_t bits = 8 * itemsize(dtype) - (is_signed(dtype) ? 1 : 0);
  if (is_signed(dtype)) node = apply_once(ScalarOp::kMax, dtype, {node, integer_node(dtype, 0)});
  if (bits >= 63 || max < (int64_t{1} << bits) - 1)
    node = apply_once(ScalarOp::kMin, dtype, {node, integer_node(dtype, max)});
  return convert_node(node, index_dtype(max));
}

Index Emitter::piece_index(const GraphOp& op, const IndexPiece& piece, const Index& at) {
  Index out{.shape = g_.values[op.operands[piece.operand]].shape};
  const ops::WindowViewParams* windows = op.op ? ops::as_window_view(*op.op) : nullptr;
  for (const IndexTerm& term : piece.terms) {
    IndexExpr expr = constant_expr(term.offset);
    if (term.result_dim >= 0) {
      IndexExpr from = at.dims[term.result_dim];
      if (term.divisor != 1) {
        if (!piece.start.empty()) from.offset -= piece.start[term.result_dim];
        const DType dtype = index_dtype(at.shape[term.result_dim]);
        const int dividend = index_node(from, dtype);
        from = node_expr(
            apply_once(ScalarOp::kDiv, dtype, {dividend, integer_node(dtype, term.divisor)}));
      }
      expr.add(from, term.stride);
    }
    if (term.dynamic >= 0)
      expr.add(node_expr(start_node(op.operands[term.dynamic], term.dynamic_max)),
               term.dynamic_stride);
    // The view's first dimensions are the positions in a window, which its map does not have.
    if (windows) expr.add(at.dims[out.dims.size()], windows->dilation[out.dims.size()]);
    out.dims.push_back(std::move(expr));
  }
  return out;
}

// Returns the index in the operand of the element that a gather returns at `index`.
int Emitter::gathered_index(const GraphOp& op, int index, int guard) {
  const Index at = table_[index];
  const IndexedWindows windows =
      gather_windows(op.op->params.as<GatherParams>(), g_.values[op.operands[0]].shape,
                     g_.values[op.operands[1]].shape);
  Index start{windows.indices, IndexExprs(windows.indices.size(), constant_expr(0))};
  for (size_t k = 0; k < windows.index_dims.size(); ++k)
    start.dims[windows.index_dims[k]] = at.dims[windows.batch_dims[k]];
  Index out{.shape = windows.operand};
  for (size_t d = 0; d < windows.dims.size(); ++d) {
    const IndexedWindows::Dim& dim = windows.dims[d];
    IndexExpr expr = constant_expr(0);
    if (dim.window >= 0) expr.add(at.dims[dim.window], 1);
    if (dim.batch >= 0) expr.add(at.dims[dim.batch], 1);
    const int64_t largest = windows.operand[d] - dim.size;
    if (dim.component >= 0 && largest > 0) {
      if (windows.index_vector_dim < windows.indices.rank())
        start.dims[windows.index_vector_dim].offset = dim.component;
      const int node = clamped_node(pull(op.operands[1], intern(start), guard), largest);
      expr.dynamic.emplace_back(node, 1);
    }
    out.dims.push_back(std::move(expr));
  }
  return intern(std::move(out));
}

// Returns a node that is true if `piece` covers `at` and `guard` is true; -1: it is always true;
// kNever: it is never true. The components of an index that is put together of several arrays, for
// example, are read at known positions.
int Emitter::piece_guard(const GraphOp& op, const IndexPiece& piece, const Index& at, int guard) {
  const auto require = [&](ScalarOp comparison, int node, int64_t bound) {
    const int number = integer_node(kernel_.nodes[node].dtype, bound);
    guard = both(guard, apply_once(comparison, bool_, {node, number}));
  };
  for (size_t d = 0; d < at.shape.size(); ++d) {
    const int64_t start = piece.start.empty() ? 0 : piece.start[d];
    const int64_t stop = piece.stop.empty() ? at.shape[d] : piece.stop[d];
    const DType dtype = index_dtype(at.shape[d] + std::max<int64_t>(0, stop));
    IndexExpr from = at.dims[d];
    const bool shifts = !piece.start_dynamic.empty() && piece.start_dynamic[d] >= 0;
    if (shifts)
      from.add(
          node_expr(start_node(op.operands[piece.start_dynamic[d]], piece.start_dynamic_max[d])),
          -1);
    if (from.is_constant() && !shifts) {
      if (from.offset < start || from.offset >= stop) return kNever;
      continue;
    }
    if (shifts && stop == start + 1) {
      require(ScalarOp::kEq, index_node(from, dtype), start);
      continue;
    }
    if (start > 0 || shifts) require(ScalarOp::kGe, index_node(from, dtype), start);
    if (stop < at.shape[d] || shifts) require(ScalarOp::kLt, index_node(from, dtype), stop);
  }
  for (const IndexTerm& term : piece.terms) {
    if (term.result_dim < 0 || term.divisor == 1) continue;
    IndexExpr from = at.dims[term.result_dim];
    if (!piece.start.empty()) from.offset -= piece.start[term.result_dim];
    const DType dtype = index_dtype(at.shape[term.result_dim]);
    const int dividend = index_node(from, dtype);
    require(ScalarOp::kEq,
            apply_once(ScalarOp::kRem, dtype, {dividend, integer_node(dtype, term.divisor)}), 0);
  }
  return guard;
}

int Emitter::pull_pieces(int v, int index, int guard) {
  const GraphOp& op = g_.ops[g_.values[v].op];
  const std::vector<IndexPiece>& pieces = op.mapping.pieces;
  const Index at = table_[index];
  boost::container::small_vector<std::pair<int, int>, 4> choices;  // (guard, value)
  for (const IndexPiece& piece : pieces) {
    const int own = piece_guard(op, piece, at, guard);
    if (own == kNever) continue;
    const int operand = op.operands[piece.operand];
    choices.emplace_back(own, pull(operand, intern(piece_index(op, piece, at)), own));
    if (own == guard) break;  // this piece covers everything that is left
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

}  // namespace tessera::fusion
