// Reductions: accumulators, how they combine, and their results.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

using llvm::Value;

namespace {

bool is_custom(const KernelReduction& r) { return r.kind >= ReduceKind::kArgMin; }
// Returns whether the results are always some of the elements. Then accumulators of 16-bit floats
// are rounded, because to_accumulator rounds the elements: the body compares them without rounding.
bool picks_elements(const KernelReduction& r) {
  return r.kind == ReduceKind::kArgMin || r.kind == ReduceKind::kArgMax;
}

// The positions of a reduction's accumulators in the flat list that loops carry.
class Layout {
 public:
  Layout(const Kernel& kernel, const KernelReduction& r, int unroll, size_t first, bool flagged)
      : unroll_(unroll), flagged_(flagged), rounded_(picks_elements(r)) {
    starts_.push_back(first);
    for (int node : r.nodes)
      starts_.push_back(starts_.back() + static_cast<size_t>(unroll) *
                                             (is_complex(kernel.nodes[node].dtype) ? 2 : 1));
  }
  size_t results() const { return starts_.size() - 1; }
  int parts(size_t k) const { return static_cast<int>(starts_[k + 1] - starts_[k]) / unroll_; }
  size_t index(size_t k, int u, int part) const {
    return starts_[k] + static_cast<size_t>(u * parts(k) + part);
  }
  size_t flag(int u) const { return starts_.back() + static_cast<size_t>(u); }
  size_t end() const { return flag(flagged_ ? unroll_ : 0); }
  // Returns result k in vector u.
  Val value(const std::vector<Value*>& accumulators, size_t k, int u) const {
    return {accumulators[index(k, u, 0)], parts(k) == 2 ? accumulators[index(k, u, 1)] : nullptr,
            rounded_};
  }

 private:
  int unroll_;
  bool flagged_, rounded_;
  boost::container::small_vector<size_t, 4> starts_;  // for each result, then the end
};

}  // namespace

// Returns the dtype in which result k accumulates: a wider one for some floats, otherwise its own.
DType KernelEmitter::accumulator_dtype(const KernelReduction& r, size_t k) const {
  const DType dtype = k_.nodes[r.nodes[k]].dtype;
  if (is_custom(r) || !is_floating(dtype) || !is_floating(r.accumulate)) return dtype;
  return register_bytes(r.accumulate) >= register_bytes(dtype) &&
                 itemsize(r.accumulate) > itemsize(dtype)
             ? r.accumulate
             : dtype;
}

// Returns whether the accumulator is negated: a maximum of floats is computed as a minimum
// (ieee_min).
bool KernelEmitter::is_negated(const KernelReduction& r) const {
  return r.kind == ReduceKind::kMax && is_floating(accumulator_dtype(r, 0));
}

Val KernelEmitter::to_accumulator(const KernelReduction& r, size_t k, Val v) {
  const DType from = k_.nodes[r.nodes[k]].dtype, to = accumulator_dtype(r, k);
  // float16 and bfloat16 are in f32 already.
  if (from != to && to != float32) v = convert_val(ir_, from, to, v);
  if (picks_elements(r)) v = rounded_val(ir_, to, v);
  return is_negated(r) ? Val{(-Vec(ir_, v.re)).v, nullptr, v.rounded} : v;
}

Val KernelEmitter::identity(const KernelReduction& r, size_t k) {
  const DType dtype = accumulator_dtype(r, k);
  const bool floating = is_floating(dtype);
  const double inf = std::numeric_limits<double>::infinity();
  auto extreme = [&](bool largest) -> Val {
    if (floating) return number_val(ir_, dtype, largest ? inf : -inf);
    if (dtype == bool_) return {b_.getInt1(largest)};
    const unsigned bits = static_cast<unsigned>(itemsize(dtype) * 8);
    const bool is_signed = kind(dtype) == DTypeKind::kSigned;
    llvm::APInt value =
        largest
            ? (is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits))
            : (is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0));
    return {llvm::ConstantInt::get(b_.getContext(), value)};
  };
  switch (r.kind) {
    case ReduceKind::kSum:
    case ReduceKind::kOr:
      return number_val(ir_, dtype, 0);
    case ReduceKind::kProduct:
      return number_val(ir_, dtype, 1);
    case ReduceKind::kMin:
      return extreme(true);
    case ReduceKind::kMax:
      return extreme(is_negated(r));
    case ReduceKind::kAnd:
      return number_val(ir_, dtype, dtype == bool_ ? 1 : -1);
    default:
      return number_val(ir_, dtype, 0);  // never read: the flag is set when there is an element
  }
}

std::vector<Val> KernelEmitter::apply_body(const ScalarProgram& body, std::span<const Val> args) {
  std::vector<Val> values;
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    const ScalarNode& node = body.nodes[i];
    switch (node.kind) {
      case ScalarNode::Kind::kInput:
        values.push_back(args[i]);
        break;
      case ScalarNode::Kind::kConstant:
        values.push_back(constant_val(ir_, node.dtype, node.immediate.data()));
        break;
      case ScalarNode::Kind::kOp: {
        boost::container::small_vector<Val, 3> operands;
        for (int arg : node.args) operands.push_back(values[arg]);
        values.push_back(
            emit_scalar_op(ir_, node.op, node.dtype, body.nodes[node.args.back()].dtype, operands));
        break;
      }
    }
  }
  std::vector<Val> out;
  for (int output : body.outputs) out.push_back(values[output]);
  return out;
}

// Combines two results, of which `a` comes first. Minimum and maximum are NaN if either side is.
std::vector<Val> KernelEmitter::combine(const KernelReduction& r, std::span<const Val> a,
                                        std::span<const Val> c) {
  if (is_custom(r)) {
    std::vector<Val> args(a.begin(), a.end());
    args.insert(args.end(), c.begin(), c.end());
    std::vector<Val> out = apply_body(record_body(*r.body), args);
    for (size_t k = 0; k < out.size(); ++k) {
      const int lanes = Vec(ir_, a[k].re).width();
      if (lanes > 1) out[k] = broadcast_val(ir_, out[k], lanes);
    }
    return out;
  }
  static constexpr ScalarOp kOps[] = {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMin,
                                      ScalarOp::kMax, ScalarOp::kAnd, ScalarOp::kOr};
  const ScalarOp op = is_negated(r) ? ScalarOp::kMin : kOps[static_cast<size_t>(r.kind)];
  const DType dtype = accumulator_dtype(r, 0);
  const Val args[] = {c[0], a[0]};
  return {emit_scalar_op(ir_, op, dtype, dtype, args)};
}

// Returns whether the kernel folds columns and each vector has one accumulator. Those of bools are
// in mask registers, of which there are few.
bool KernelEmitter::folds_one_value() const {
  size_t folds = 0;
  for (const KernelLoop& loop : k_.loops) {
    if (!loop.reductions.empty() && loop.extents.empty()) return false;
    for (const KernelReduction& r : loop.reductions) {
      const DType dtype = k_.nodes[r.nodes[0]].dtype;
      if (r.nodes.size() > 1 || dtype == bool_ || is_complex(dtype)) return false;
      ++folds;
    }
  }
  return folds == 1;
}

// Folds of long columns read a part of each row and then go to the next row. They read faster if
// the parts are longer: with 12 vectors instead of 4, sums of float32 and maxima of bfloat16 of
// 4000 x 4000 take 0.6 to 0.8 of the time. Only AVX-512 has registers for so many accumulators.
// Rows of fewer vectors than a block would be left to the loop of masked vectors.
int KernelEmitter::unroll_within_row(int unroll) const {
  constexpr int kLight = 4, kLeast = 8, kMost = 12;
  const int64_t vectors = std::max<int64_t>(1, k_.parallel.back() / lanes_);
  if (ir_.target.avx512 && unroll == kLight && folds_one_value()) {
    // Of these lengths, the one that leaves the fewest vectors at the end of a row.
    unroll = kMost;
    for (int shorter = kMost - 1; shorter >= kLeast; --shorter)
      if (vectors % shorter < vectors % unroll) unroll = shorter;
  }
  return static_cast<int>(std::min<int64_t>(unroll, vectors));
}

std::vector<Val> KernelEmitter::elements_of(const KernelReduction& r, int u) {
  std::vector<Val> elements;
  for (size_t k = 0; k < r.nodes.size(); ++k) {
    const Val element = value(r.nodes[k], u);
    use_scope(top());
    elements.push_back(to_accumulator(r, k, element));
    keep_scope(top());
  }
  return elements;
}

std::vector<Value*> KernelEmitter::initial_accumulators(int l, int unroll, bool across_lanes) {
  std::vector<Value*> out;
  const bool vectors = across_lanes || (along_parallel_ && !single_);
  for (const KernelReduction& r : k_.loops[l].reductions) {
    for (size_t k = 0; k < r.nodes.size(); ++k) {
      for (int u = 0; u < unroll; ++u) {
        Val start = across_lanes ? identity(r, k) : value(r.init[k], u);
        use_scope(top());
        if (!across_lanes) start = to_accumulator(r, k, start);
        if (vectors) start = broadcast_val(ir_, start);
        keep_scope(top());
        out.push_back(start.re);
        if (start.im) out.push_back(start.im);
      }
    }
    if (is_custom(r) && across_lanes) {
      for (int u = 0; u < unroll; ++u) out.push_back(broadcast_val(ir_, {b_.getFalse()}).re);
    }
  }
  return out;
}

void KernelEmitter::accumulate(int l, std::vector<Value*>& accumulators, int used,
                               bool across_lanes) {
  const int unroll = across_lanes ? accumulator_unroll_ : used;
  size_t first = 0;
  for (const KernelReduction& r : k_.loops[l].reductions) {
    const bool flagged = is_custom(r) && across_lanes;
    const Layout at(k_, r, unroll, first, flagged);
    first = at.end();
    for (int u = 0; u < used; ++u) {
      std::vector<Val> sofar;
      for (size_t k = 0; k < at.results(); ++k) sofar.push_back(at.value(accumulators, k, u));
      std::vector<Val> next;
      if (r.kind == ReduceKind::kSum && fused_[r.nodes[0]]) {
        const KernelNode& product = k_.nodes[r.nodes[0]];
        const Val a = value(product.args[0], u), c = value(product.args[1], u);
        use_scope(top());
        const bool lanes = sofar[0].re->getType()->isVectorTy();
        Vec x{ir_, lanes ? broadcast_val(ir_, a).re : a.re},
            y{ir_, lanes ? broadcast_val(ir_, c).re : c.re};
        next = {{fma(x, y, {ir_, sofar[0].re}).v}};
      } else {
        std::vector<Val> elements = elements_of(r, u);
        use_scope(top());
        if (sofar[0].re->getType()->isVectorTy()) {
          for (Val& e : elements) e = broadcast_val(ir_, e);
        }
        next = combine(r, sofar, elements);
        if (flagged) {
          // The first element becomes the lane's result, since a custom body need not have an
          // identity.
          Value*& seen = accumulators[at.flag(u)];
          const Val has{seen};
          for (size_t k = 0; k < next.size(); ++k) {
            const Val args[] = {has, next[k], elements[k]};
            const DType dtype = accumulator_dtype(r, k);
            next[k] = emit_scalar_op(ir_, ScalarOp::kSelect, dtype, dtype, args);
          }
        }
      }
      const LaneMask mask = mask_of(u);
      for (size_t k = 0; k < next.size(); ++k) {
        for (int part = 0; part < at.parts(k); ++part) {
          Value* fresh = part ? next[k].im : next[k].re;
          Value*& slot = accumulators[at.index(k, u, part)];
          // Along the parallel dimension, masked lanes may compute what nobody reads. Along the
          // reduced dimension they must keep their value.
          slot = mask.lanes && across_lanes ? b_.CreateSelect(mask.lanes, fresh, slot) : fresh;
        }
      }
      if (flagged) {
        Value*& seen = accumulators[at.flag(u)];
        seen = mask.lanes ? b_.CreateOr(seen, mask.lanes)
                          : llvm::Constant::getAllOnesValue(seen->getType());
      }
      keep_scope(top());
    }
  }
}

KernelEmitter::LongSums KernelEmitter::begin_long_sums(int l, std::vector<Value*>& accumulators,
                                                       int unroll, bool across_lanes,
                                                       int64_t passes) {
  LongSums sums;
  if (passes <= kLongSum) return sums;
  std::vector<Value*> totals;
  size_t first = 0;
  for (const KernelReduction& r : k_.loops[l].reductions) {
    const Layout at(k_, r, unroll, first, is_custom(r) && across_lanes);
    first = at.end();
    const DType dtype = accumulator_dtype(r, 0);
    if (r.kind != ReduceKind::kSum || !(is_floating(dtype) || is_complex(dtype))) continue;
    for (int u = 0; u < unroll; ++u) {
      for (int part = 0; part < at.parts(0); ++part) {
        const size_t i = at.index(0, u, part);
        sums.accumulators.push_back(i);
        totals.push_back(accumulators[i]);
        accumulators[i] = llvm::Constant::getNullValue(accumulators[i]->getType());
      }
    }
  }
  if (totals.empty()) return sums;
  sums.block = 16;
  while (sums.block * sums.block < passes) sums.block *= 2;
  sums.totals = accumulators.size();
  accumulators.insert(accumulators.end(), totals.begin(), totals.end());
  accumulators.push_back(i64(0));
  return sums;
}

void KernelEmitter::end_pass(const LongSums& sums, std::vector<Value*>& accumulators) {
  if (sums.block == 0) return;
  use_scope(top());
  Value* count = accumulators.back() = b_.CreateAdd(accumulators.back(), i64(1));
  Value* ends = b_.CreateICmpEQ(b_.CreateAnd(count, i64(sums.block - 1)), i64(0));
  llvm::BasicBlock *before = b_.GetInsertBlock(), *add = new_block("add"), *after = new_block("on");
  // Without branch weights, LLVM may compute the additions in every pass and select their results.
  b_.CreateCondBr(ends, add, after,
                  llvm::MDBuilder(b_.getContext())
                      .createBranchWeights(1, static_cast<uint32_t>(sums.block - 1)));
  b_.SetInsertPoint(add);
  std::vector<Value*> added;
  for (size_t i = 0; i < sums.accumulators.size(); ++i) {
    const Vec total(ir_, accumulators[sums.totals + i]);
    added.push_back((total + Vec(ir_, accumulators[sums.accumulators[i]])).v);
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  const auto join = [&](Value*& slot, Value* otherwise) {
    llvm::PHINode* phi = b_.CreatePHI(slot->getType(), 2);
    phi->addIncoming(slot, before);
    phi->addIncoming(otherwise, add);
    slot = phi;
  };
  for (size_t i = 0; i < sums.accumulators.size(); ++i) {
    Value*& accumulator = accumulators[sums.accumulators[i]];
    join(accumulator, llvm::Constant::getNullValue(accumulator->getType()));
    join(accumulators[sums.totals + i], added[i]);
  }
  keep_scope(top());
}

void KernelEmitter::end_long_sums(const LongSums& sums, std::vector<Value*>& accumulators) {
  if (sums.block == 0) return;
  use_scope(top());
  for (size_t i = 0; i < sums.accumulators.size(); ++i) {
    Value*& accumulator = accumulators[sums.accumulators[i]];
    accumulator = (Vec(ir_, accumulators[sums.totals + i]) + Vec(ir_, accumulator)).v;
  }
  accumulators.resize(sums.totals);
}

// Combines two partial results. The body of a custom reduction need not have an identity: if only
// one side has had an element, that side is the result.
KernelEmitter::Partial KernelEmitter::fold(const KernelReduction& r, const Partial& a,
                                           const Partial& c) {
  Partial both{combine(r, a.values, c.values)};
  if (!a.seen) return both;
  for (size_t k = 0; k < both.values.size(); ++k) {
    const DType dtype = accumulator_dtype(r, k);
    const Val pick_c[] = {{a.seen}, both.values[k], c.values[k]};
    both.values[k] = emit_scalar_op(ir_, ScalarOp::kSelect, dtype, dtype, pick_c);
    const Val pick_a[] = {{c.seen}, both.values[k], a.values[k]};
    both.values[k] = emit_scalar_op(ir_, ScalarOp::kSelect, dtype, dtype, pick_a);
  }
  both.seen = b_.CreateOr(a.seen, c.seen);
  return both;
}

// Combines the halves of a vector with each other until one lane is left.
KernelEmitter::Partial KernelEmitter::fold_lanes(const KernelReduction& r, Partial total) {
  for (int half = lanes_ / 2; half > 0; half /= 2) {
    const auto part = [&](Value* v, int first) -> Value* {
      if (!v) return nullptr;
      if (half == 1) return b_.CreateExtractElement(v, static_cast<uint64_t>(first));
      std::vector<int> lanes(static_cast<size_t>(half));
      std::iota(lanes.begin(), lanes.end(), first);
      return b_.CreateShuffleVector(v, lanes);
    };
    Partial low, high;
    for (const Val& v : total.values) {
      low.values.push_back({part(v.re, 0), part(v.im, 0), v.rounded});
      high.values.push_back({part(v.re, half), part(v.im, half), v.rounded});
    }
    low.seen = part(total.seen, 0);
    high.seen = part(total.seen, half);
    total = fold(r, low, high);
  }
  return total;
}

// Returns the results: the initial values combined with all lanes of all vectors.
std::vector<Val> KernelEmitter::total_of(const KernelReduction& r, std::vector<Partial> parts) {
  std::vector<Val> init;
  for (size_t k = 0; k < r.nodes.size(); ++k) {
    const Val start = value(r.init[k], 0);
    use_scope(top());
    init.push_back(to_accumulator(r, k, start));
    keep_scope(top());
  }
  use_scope(top());
  for (size_t half = parts.size() / 2; half > 0; half /= 2)
    for (size_t u = 0; u < half; ++u) parts[u] = fold(r, parts[u], parts[u + half]);
  const Partial total = fold_lanes(r, std::move(parts[0]));
  std::vector<Val> out = combine(r, init, total.values);
  for (size_t k = 0; total.seen && k < out.size(); ++k) {
    const DType dtype = accumulator_dtype(r, k);
    const Val args[] = {{total.seen}, out[k], init[k]};
    out[k] = emit_scalar_op(ir_, ScalarOp::kSelect, dtype, dtype, args);
  }
  keep_scope(top());
  return out;
}

// Stores result k of `r`, which is result number `result` of loop l, as the value of the nodes that
// read it.
void KernelEmitter::keep_result(int l, int result, const KernelReduction& r, size_t k,
                                std::span<const Partial> totals) {
  const int scope = top();
  const DType from = accumulator_dtype(r, k);
  for (size_t i = 0; i < k_.nodes.size(); ++i) {
    const KernelNode& node = k_.nodes[i];
    if (node.kind != NodeKind::kReduced || node.loop != l || node.reduction != result) continue;
    auto& values = scopes_[scope].values[static_cast<int>(i)];
    for (const Partial& total : totals) {
      Val v = total.values[k];
      use_scope(scope);
      if (is_negated(r)) v.re = (-Vec(ir_, v.re)).v;
      const bool held_alike =
          register_type(b_.getContext(), from) == register_type(b_.getContext(), node.dtype);
      if (from != node.dtype && !held_alike) v = convert_val(ir_, from, node.dtype, v);
      keep_scope(scope);
      v.rounded = register_bytes(node.dtype) == itemsize(real_dtype(node.dtype));
      values.push_back(v);
    }
  }
}

void KernelEmitter::finish_reductions(int l, std::vector<Value*>& accumulators, int unroll,
                                      bool across_lanes) {
  size_t first = 0;
  int result = 0;
  for (const KernelReduction& r : k_.loops[l].reductions) {
    const bool flagged = is_custom(r) && across_lanes;
    const Layout at(k_, r, unroll, first, flagged);
    first = at.end();
    std::vector<Partial> totals(static_cast<size_t>(unroll));
    for (int u = 0; u < unroll; ++u) {
      Partial& total = totals[static_cast<size_t>(u)];
      for (size_t k = 0; k < at.results(); ++k)
        total.values.push_back(at.value(accumulators, k, u));
      if (flagged) total.seen = accumulators[at.flag(u)];
    }
    if (across_lanes) {
      const Partial total{total_of(r, std::move(totals))};
      totals.assign(1, total);
    }
    for (size_t k = 0; k < at.results(); ++k, ++result) keep_result(l, result, r, k, totals);
  }
}

}  // namespace tessera::codegen
