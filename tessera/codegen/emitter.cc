// Analysis of a kernel and the values of its nodes; loops are in emit_loops.cc, reductions in
// emit_reduce.cc.
#include "tessera/codegen/emitter.h"

#include <algorithm>

#include "tessera/codegen/select_arms.h"

namespace tessera::codegen {
namespace {

// Returns whether c[d] == stride * (number of elements after d) for all d, so that the address is
// the flat index times the stride.
bool is_flat(const Dims& coefficients, const Dims& extents) {
  int64_t expected = coefficients.back();
  for (size_t d = coefficients.size(); d-- > 0;) {
    if (coefficients[d] != expected) return false;
    expected *= extents[d];
  }
  return true;
}

}  // namespace

int kernel_lanes(const Kernel& kernel, int vector_bytes) {
  int64_t widest = 1;
  for (const KernelNode& node : kernel.nodes) {
    if (node.kind != NodeKind::kConstant) widest = std::max(widest, register_bytes(node.dtype));
  }
  for (const KernelLoop& loop : kernel.loops) {
    for (const KernelReduction& r : loop.reductions) {
      const bool floating = is_inexact(kernel.nodes[r.nodes[0]].dtype);
      if (floating) widest = std::max(widest, register_bytes(r.accumulate));
    }
  }
  auto lanes = static_cast<int>(vector_bytes / widest);
  // Rows of a transposed array that do not fill a vector take a part of one.
  constexpr int kLeast = 16;
  if (has_tile_loads(kernel))
    while (lanes > kLeast && !fill_lanes(kernel, lanes)) lanes /= 2;
  return lanes;
}

KernelEmitter::KernelEmitter(const Kernel& kernel, Ir& ir, llvm::Function* function)
    : k_(kernel),
      ir_(ir),
      b_(ir.builder),
      memory_(ir),
      function_(function),
      along_parallel_(kernel.vectorize == Kernel::Vectorize::kParallel),
      lanes_(ir.lanes) {
  analyse();
}

void KernelEmitter::analyse() {
  const size_t n = k_.nodes.size();
  single_ = along_parallel_ && k_.parallel == Dims{1};
  written_.assign(k_.buffers.size(), 0);
  for (const KernelLoop& loop : k_.loops) {
    for (const KernelStore& store : loop.stores) written_[store.buffer] = 1;
  }
  turn_of_.assign(n, -1);
  choose_lanes();
  find_node_scopes();
  find_turns();
  find_tiles();
  if (!turns_.empty() || tile_rows_ > 0) find_node_scopes();
  fused_.assign(n, 0);
  std::vector<int> uses(n, 0);
  for (const KernelNode& node : k_.nodes) {
    for (int arg : node.args) ++uses[arg];
    for (const auto& [index, stride] : node.dynamic) ++uses[index];
    if (node.guard >= 0) ++uses[node.guard];
  }
  for (const KernelLoop& loop : k_.loops) {
    for (const KernelReduction& r : loop.reductions) {
      for (size_t k = 0; k < r.nodes.size(); ++k) {
        ++uses[r.nodes[k]];
        ++uses[r.init[k]];
      }
    }
    for (const KernelStore& store : loop.stores) {
      ++uses[store.node];
      if (store.guard >= 0) ++uses[store.guard];
    }
  }
  // A product that only a sum reads is added with one rounding (fused). This is decided here, so
  // that all copies of the body do the same.
  auto absorbable = [&](int arg) {
    const KernelNode& p = k_.nodes[arg];
    return p.kind == NodeKind::kScalarOp && p.op == ScalarOp::kMul && is_floating(p.dtype) &&
           uses[arg] == 1;
  };
  for (const KernelLoop& loop : k_.loops) {
    for (const KernelReduction& r : loop.reductions) {
      const int node = r.nodes[0];
      const bool held_alike =
          register_bytes(accumulator_dtype(r, 0)) == register_bytes(k_.nodes[node].dtype);
      if (r.kind == ReduceKind::kSum && held_alike && absorbable(node)) fused_[node] = 1;
    }
  }
  find_middle();
}

// Finds the scope of each node, and whether its value differs between lanes.
void KernelEmitter::find_node_scopes() {
  const size_t n = k_.nodes.size();
  depth_.assign(n, 0);
  by_lane_.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    const KernelNode& node = k_.nodes[i];
    if (is_turn(static_cast<int>(i))) {
      depth_[i] = 1;
      continue;
    }
    auto read = [&](int arg) {
      depth_[i] = std::max(depth_[i], depth_[arg]);
      by_lane_[i] = by_lane_[i] || by_lane_[arg];
    };
    for (int arg : node.args) read(arg);
    for (const auto& [index, stride] : node.dynamic) read(index);
    if (node.guard >= 0) read(node.guard);
    if (node.kind == NodeKind::kLoad || node.kind == NodeKind::kIndex) {
      depth_[i] = std::max(depth_[i], address_depth(node.address));
      by_lane_[i] = by_lane_[i] || lane_kind(node.address) != LaneKind::kUniform;
    }
    const int block = along_parallel_ ? 2 : 1;
    if (node.kind == NodeKind::kLoad && written_[node.buffer])
      depth_[i] = std::max(depth_[i], block);
    if (node.kind == NodeKind::kReduced) {
      depth_[i] = block;
      by_lane_[i] = along_parallel_ && !single_;
    }
  }
}

int KernelEmitter::address_depth(const Affine& address) const {
  int depth = 0;
  for (size_t d = 0; d < address.parallel.size(); ++d) {
    if (!address.parallel[d]) continue;
    const bool block = along_parallel_ && (flat_ || d + 1 == address.parallel.size());
    depth = std::max(depth, block ? 2 : 1);
  }
  for (size_t d = 0; d < address.inner.size(); ++d) {
    if (address.inner[d]) depth = (along_parallel_ ? 3 : 2) + static_cast<int>(d);
  }
  return depth;
}

KernelEmitter::LaneKind KernelEmitter::lane_kind(const Affine& address) const {
  if (single_) return LaneKind::kUniform;
  if (!along_parallel_) {
    return !address.inner.empty() && address.inner.back() ? LaneKind::kStrided : LaneKind::kUniform;
  }
  if (!flat_) return address.parallel.back() ? LaneKind::kStrided : LaneKind::kUniform;
  const bool none = std::all_of(address.parallel.begin(), address.parallel.end(),
                                [](int64_t c) { return c == 0; });
  if (none) return LaneKind::kUniform;
  return is_flat(address.parallel, k_.parallel) ? LaneKind::kStrided : LaneKind::kScattered;
}

int64_t KernelEmitter::lane_stride(const Affine& address) const {
  if (lane_kind(address) != LaneKind::kStrided) return 0;
  return along_parallel_ ? address.parallel.back() : address.inner.back();
}

Val KernelEmitter::value(int node, int u) {
  const KernelNode& n = k_.nodes[node];
  if (n.kind == NodeKind::kConstant) return constant_val(ir_, n.dtype, n.immediate.data());
  if (const std::optional<Val> known = value_in_middle(node, u)) return *known;
  if (!by_lane_[node]) u = 0;
  const size_t scope = static_cast<size_t>(depth_[node]);
  TESSERA_CHECK(scope < scopes_.size(), "node {} is used outside its loop", node);
  auto& values = scopes_[scope].values[node];
  if (static_cast<int>(values.size()) <= u) values.resize(u + 1);
  if (values[u]) return values[u];
  TESSERA_CHECK(n.kind != NodeKind::kReduced, "result of loop {} is used before it", n.loop);
  const Val computed = compute(node, u);
  scopes_[scope].values[node][u] = computed;
  return computed;
}

Val KernelEmitter::compute(int node, int u) {
  const KernelNode& n = k_.nodes[node];
  if (n.kind == NodeKind::kLoad) return compute_load(node, u);
  if (n.kind == NodeKind::kIndex) return compute_index(node, u);
  if (is_turn(node)) return compute_turn(turns_[turn_of_[node]]);
  if (n.op == ScalarOp::kDiv && is_shared_divisor(n.args[1], node))
    return compute_quotient(node, u);
  boost::container::small_vector<Val, 3> args;
  for (int arg : n.args) args.push_back(value(arg, u));
  const int scope = depth_[node];
  use_scope(scope);
  const Val result = emit_scalar_op(ir_, n.op, n.dtype, k_.nodes[n.args.back()].dtype, args);
  if (n.op == ScalarOp::kSelect) mark_select(result.re, node);
  keep_scope(scope);
  return result;
}

// Returns whether `node` divides its lanes by a number that an outer scope computes. A reciprocal
// pays only with AVX-512, whose division of a vector takes longer than ten other operations.
bool KernelEmitter::is_shared_divisor(int divisor, int node) const {
  return ir_.target.avx512 && is_floating(k_.nodes[node].dtype) && by_lane_[node] &&
         !by_lane_[divisor] && depth_[divisor] < depth_[node] &&
         k_.nodes[divisor].kind != NodeKind::kConstant;
}

Val KernelEmitter::compute_quotient(int node, int u) {
  const KernelNode& n = k_.nodes[node];
  const Val dividend = value(n.args[0], u), divisor = value(n.args[1], 0);
  auto& known = scopes_[depth_[n.args[1]]].divisors;
  if (!known.contains(n.args[1])) {
    use_scope(depth_[n.args[1]]);
    known.emplace(n.args[1], SharedDivisor({ir_, divisor.re}));
  }
  const int scope = depth_[node];
  use_scope(scope);
  const Vec lanes{ir_, broadcast_val(ir_, dividend).re};
  const Val result{known.at(n.args[1]).divide(lanes).v, nullptr,
                   n.dtype == float32 || n.dtype == float64};
  keep_scope(scope);
  return result;
}

// Returns the indices that change in `scope`, each with its coefficient in the address.
std::vector<std::pair<llvm::Value*, int64_t>> KernelEmitter::terms_of(const Affine& address,
                                                                      int scope) const {
  std::vector<std::pair<Value*, int64_t>> terms;
  auto add = [&](Value* index, int64_t coefficient) {
    if (coefficient) terms.push_back({index, coefficient});
  };
  const int first_inner = along_parallel_ ? 3 : 2;
  const int rank = static_cast<int>(address.parallel.size());
  if (scope == 1 && !flat_) {
    for (int d = 0; d < rank - (along_parallel_ ? 1 : 0); ++d)
      add(parallel_[d], address.parallel[d]);
  }
  if (scope == 2 && along_parallel_ && lane_kind(address) != LaneKind::kScattered) {
    add(scopes_[2].index, address.parallel.back());
  }
  const int d = scope - first_inner;
  if (d >= 0 && d < static_cast<int>(address.inner.size()))
    add(scopes_[scope].index, address.inner[d]);
  return terms;
}

// Returns the address without the lanes' part. It is summed scope by scope, so that each part is
// computed where its index changes.
llvm::Value* KernelEmitter::address_sum(const Affine& address, int id, int scope) {
  auto found = scopes_[scope].addresses.find(id);
  if (found != scopes_[scope].addresses.end()) return found->second;
  Value* sum = scope > 0 ? address_sum(address, id, scope - 1) : i64(address.offset);
  for (const auto& [index, coefficient] : terms_of(address, scope)) {
    use_scope(scope);
    sum = b_.CreateAdd(sum, b_.CreateMul(index, i64(coefficient)));
  }
  scopes_[scope].addresses[id] = sum;
  return sum;
}

// Returns the address as a pointer to lane 0 of vector 0.
llvm::Value* KernelEmitter::pointer_sum(int buffer, const Affine& address, int id, int scope) {
  auto found = scopes_[scope].addresses.find(id);
  if (found != scopes_[scope].addresses.end()) return found->second;
  const DType dtype = k_.buffers[buffer].dtype;
  Value* pointer = buffers_[buffer];
  if (scope > 0) {
    pointer = pointer_sum(buffer, address, id, scope - 1);
  } else if (address.offset) {
    use_scope(0);
    pointer = memory_.advance(dtype, pointer, i64(address.offset));
  }
  for (const auto& [index, coefficient] : terms_of(address, scope)) {
    use_scope(scope);
    Value* elements = coefficient == 1 ? index : b_.CreateMul(index, i64(coefficient));
    pointer = memory_.advance(dtype, pointer, elements);
  }
  scopes_[scope].addresses[id] = pointer;
  return pointer;
}

llvm::Value* KernelEmitter::pointer_to(int buffer, const Affine& address, int id, int scope,
                                       int u) {
  Value* pointer = pointer_sum(buffer, address, id, scope);
  const int64_t step = u * lanes_ * lane_stride(address);
  if (!step) return pointer;
  use_scope(scope);
  return memory_.advance(k_.buffers[buffer].dtype, pointer, i64(step));
}

llvm::Value* KernelEmitter::iota(llvm::Type* element, int64_t scale) {
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes_; ++i) {
    values.push_back(llvm::ConstantInt::get(element, static_cast<uint64_t>(i * scale), true));
  }
  return llvm::ConstantVector::get(values);
}

// Returns what each lane adds to an address in flat mode, for an address that is not a multiple of
// the lane's number.
llvm::Value* KernelEmitter::scattered_offsets(const Affine& address, int u, llvm::Type* element) {
  Value* sum = llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, lanes_));
  for (size_t d = 0; d < address.parallel.size(); ++d) {
    if (!address.parallel[d]) continue;
    Value* index = flat_index(static_cast<int>(d), u);
    use_scope(2);
    index = b_.CreateSExtOrTrunc(index, sum->getType());
    sum = b_.CreateAdd(
        sum,
        b_.CreateMul(index, llvm::ConstantInt::get(
                                sum->getType(), static_cast<uint64_t>(address.parallel[d]), true)));
  }
  return sum;
}

// Returns the index of each lane along parallel dimension d, in flat mode. Its type is i32, and i64
// for the outermost dimension.
llvm::Value* KernelEmitter::flat_index(int d, int u) {
  auto& known = scopes_[2].flat_indices;
  const size_t rank = k_.parallel.size();
  if (static_cast<int>(known.size()) <= u) known.resize(u + 1);
  if (known[u].empty()) {
    use_scope(2);
    int64_t slab = 1;
    for (size_t k = 1; k < rank; ++k) slab *= k_.parallel[k];
    TESSERA_CHECK(slab <= INT32_MAX - 4096, "rows of {} elements", slab);
    Value* base = scopes_[2].index;
    Value* outer = b_.CreateUDiv(base, i64(slab));
    Value* within =
        b_.CreateTrunc(b_.CreateSub(base, b_.CreateMul(outer, i64(slab))), b_.getInt32Ty());
    Value* flat = b_.CreateAdd(
        b_.CreateVectorSplat(lanes_, within),
        b_.CreateAdd(iota(b_.getInt32Ty(), 1),
                     llvm::ConstantInt::get(llvm::FixedVectorType::get(b_.getInt32Ty(), lanes_),
                                            static_cast<uint64_t>(u) * lanes_)));
    known[u].resize(rank);
    for (size_t k = rank; k-- > 1;) {
      Value* extent =
          llvm::ConstantInt::get(flat->getType(), static_cast<uint64_t>(k_.parallel[k]));
      Value* quotient = b_.CreateUDiv(flat, extent);
      known[u][k] = b_.CreateSub(flat, b_.CreateMul(quotient, extent));
      flat = quotient;
    }
    llvm::Type* wide = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_);
    known[u][0] = b_.CreateAdd(b_.CreateZExt(flat, wide), b_.CreateVectorSplat(lanes_, outer));
  }
  return known[u][d];
}

LaneMask KernelEmitter::mask_of(int u) const { return masks_.empty() ? LaneMask{} : masks_[u]; }

// Returns the mask of lanes that are in `mask` and for which `guard` is true.
LaneMask KernelEmitter::with_guard(LaneMask mask, Val guard) {
  Value* lanes = broadcast_val(ir_, guard).re;
  if (mask.lanes) lanes = b_.CreateAnd(mask.lanes, lanes);
  return {.lanes = lanes};
}

// Returns a vector of the elements that lie in pieces of `length` (see piece_length), of the lanes
// for which `guard` is true if there is one.
Val KernelEmitter::load_pieces(int node, int length, Val guard, int u) {
  const KernelNode& n = k_.nodes[node];
  const int scope = depth_[node];
  const std::vector<Value*> pointers = piece_pointers(n, length, u);
  use_scope(scope);
  const LaneMask mask = guard ? with_guard(mask_of(u), guard) : mask_of(u);
  const Val result =
      memory_.load_pieces(n.dtype, pointers, length, n.address.parallel.back() == 0, mask);
  keep_scope(scope);
  return result;
}

// Returns the offsets of the lanes plus the dynamic indices of `n` that differ from lane to lane.
llvm::Value* KernelEmitter::with_dynamic_by_lane(const KernelNode& n, std::span<const Val> dynamic,
                                                 Value* offsets) {
  for (size_t k = 0; k < dynamic.size(); ++k) {
    const auto& [index_node, elements] = n.dynamic[k];
    if (!by_lane_[index_node]) continue;
    Value* index = b_.CreateSExtOrTrunc(dynamic[k].re, offsets->getType());
    Value* stride =
        llvm::ConstantInt::get(offsets->getType(), static_cast<uint64_t>(elements), true);
    offsets = b_.CreateAdd(offsets, b_.CreateMul(index, stride));
  }
  return offsets;
}

// Returns the one element at `pointer` in the lanes of the mask and zero in all others. The element
// is read only if some lane needs it.
Val KernelEmitter::load_for_guarded_lanes(DType dtype, Value* pointer, LaneMask mask) {
  const Val one = broadcast_val(ir_, memory_.load_scalar(dtype, pointer, any({ir_, mask.lanes})));
  const Val zero = broadcast_val(ir_, number_val(ir_, dtype, 0));
  const Val args[] = {{mask.lanes}, one, zero};
  return emit_scalar_op(ir_, ScalarOp::kSelect, dtype, dtype, args);
}

Val KernelEmitter::compute_load(int node, int u) {
  const KernelNode& n = k_.nodes[node];
  const int scope = depth_[node];
  if (!tiles_.empty() && tile_of_[node] >= 0) {
    use_scope(scope);
    return load_from_tile(node);
  }
  std::vector<Val> dynamic;
  bool dynamic_by_lane = false;
  for (const auto& [index, stride] : n.dynamic) {
    dynamic.push_back(value(index, u));
    dynamic_by_lane = dynamic_by_lane || by_lane_[index];
  }
  const int guarded = guard_of(n);
  const Val guard = guarded >= 0 ? value(guarded, u) : Val{};
  const LaneKind lane_kind_of_address = lane_kind(n.address);
  const int64_t stride = lane_stride(n.address);
  // Whole vectors take a load and a shuffle for each of the `stride` columns; a gather takes a load
  // for every lane.
  const bool apart = by_lane_[node] && !dynamic_by_lane && n.guard < 0 &&
                     (stride <= lanes_ / 2 + 1 || reads_most_of_rows(n, stride)) &&
                     memory_.takes_whole_vectors(n.dtype, stride, mask_of(u));
  const int length = dynamic.empty() && (memory_.maskable(n.dtype) || (!guard && masks_.empty()))
                         ? piece_length(n)
                         : 0;
  if (length > 0) return load_pieces(node, length, guard, u);
  Affine address = n.address;
  const int64_t phase = apart ? phase_of(n, stride) : 0;
  address.offset -= phase;
  Value* pointer = pointer_to(n.buffer, address, node, scope, by_lane_[node] ? u : 0);
  llvm::Type* offset_type = k_.buffers[n.buffer].elements ? b_.getInt64Ty() : b_.getInt32Ty();
  Value* scattered = lane_kind_of_address == LaneKind::kScattered
                         ? scattered_offsets(n.address, u, offset_type)
                         : nullptr;
  use_scope(scope);
  for (size_t k = 0; k < dynamic.size(); ++k) {
    if (by_lane_[n.dynamic[k].first]) continue;
    Value* index = b_.CreateSExt(dynamic[k].re, b_.getInt64Ty());
    pointer = memory_.advance(n.dtype, pointer, b_.CreateMul(index, i64(n.dynamic[k].second)));
  }
  Val result;
  if (!by_lane_[node]) {
    result = memory_.load_scalar(n.dtype, pointer, guard.re);
  } else if (apart) {
    const bool whole_rows = k_.loops.size() == 1 && reads_rows_to_the_end(n, stride);
    result = memory_.load_apart(n.dtype, pointer, stride, phase, whole_rows, mask_of(u));
  } else if (dynamic_by_lane || scattered) {
    Value* offsets = scattered ? scattered : iota(offset_type, lane_stride(n.address));
    offsets = with_dynamic_by_lane(n, dynamic, offsets);
    LaneMask mask = mask_of(u);
    if (guard) mask = with_guard(mask, guard);
    result = memory_.gather(n.dtype, pointer, offsets, mask);
  } else if (lane_kind_of_address == LaneKind::kUniform) {
    result = guard ? load_for_guarded_lanes(n.dtype, pointer, with_guard(mask_of(u), guard))
                   : broadcast_val(ir_, memory_.load_scalar(n.dtype, pointer, nullptr));
  } else {
    LaneMask mask = may_read_whole_vectors(n) ? LaneMask{} : mask_of(u);
    if (guard && by_lane_[guarded]) {
      mask = with_guard(mask, guard);
      mask.any = any({ir_, mask.lanes});
    } else if (guard) {
      mask.any = guard.re;
    }
    result = memory_.load(n.dtype, pointer, lane_stride(n.address), mask);
  }
  keep_scope(scope);
  return result;
}

Val KernelEmitter::compute_index(int node, int u) {
  const KernelNode& n = k_.nodes[node];
  const int scope = depth_[node];
  Value* sum = address_sum(n.address, node, scope);
  llvm::Type* type = register_type(b_.getContext(), n.dtype);
  Value* lanes = nullptr;
  if (lane_kind(n.address) == LaneKind::kScattered) lanes = scattered_offsets(n.address, u, type);
  use_scope(scope);
  Value* base = b_.CreateTrunc(sum, type);
  if (!by_lane_[node]) return {base};
  if (!lanes) {
    const int64_t stride = lane_stride(n.address);
    lanes = iota(type, stride);
    lanes = b_.CreateAdd(
        lanes,
        llvm::ConstantInt::get(lanes->getType(), static_cast<uint64_t>(u * lanes_ * stride), true));
  }
  Value* result = b_.CreateAdd(b_.CreateVectorSplat(lanes_, base), lanes);
  keep_scope(scope);
  return {result};
}

}  // namespace tessera::codegen
