#include "tessera/sharding/contract_sums.h"

#include <algorithm>
#include <optional>

#include "tessera/base/contains.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::sharding {
namespace {

class Contractor {
 public:
  explicit Contractor(const Function& f)
      : f_(f), maker_(f.types.size(), -1), uses_(f.types.size()) {
    for (size_t i = 0; i < f.ops.size(); ++i) {
      for (ValueId v : f.ops[i].results) maker_[v] = static_cast<int>(i);
      for (ValueId v : f.ops[i].operands) ++uses_[v];
    }
    for (ValueId v : f.outputs) ++uses_[v];
  }

  // Replaces ops but keeps their results, so later ops find the new makers of their operands.
  Function run() {
    for (Op& op : f_.ops) {
      op.params = map_control_regions(op, contract_sums);
      if (!op.operands.empty() && product_of(op.operands[0])) swap_operands(op);
      if (const std::optional<Dims> dims = summed_dims(op)) {
        if (!contract_batch(op, *dims)) take_only_terms(op);
      }
    }
    return remove_dead_ops(f_);
  }

 private:
  // Returns the product that makes v if nothing else reads v; otherwise null.
  const Op* product_of(ValueId v) const {
    if (maker_[v] < 0 || uses_[v] != 1) return nullptr;
    const Op& op = f_.ops[maker_[v]];
    const auto* library = std::get_if<Library>(&op.def->lower);
    return library && library->kind == LibraryKind::kDot ? &op : nullptr;
  }

  // Returns the operand's dimension for each dimension of the result; nullopt if the op is not a
  // transpose.
  std::optional<Dims> permutation_of(const Op& op) const {
    const auto* lowering = std::get_if<IndexMap>(&op.def->lower);
    if (!lowering || op.operands.size() != 1) return std::nullopt;
    const Type &from = f_.type(op.operands[0]), &to = f_.type(op.results[0]);
    const IndexMapping mapping = lowering->map(op.params, {&from, 1}, {&to, 1});
    if (mapping.pieces.size() != 1 || from.rank() != to.rank() || !mapping.pieces[0].start.empty())
      return std::nullopt;
    Dims out(to.rank(), -1);
    for (int64_t d = 0; d < from.rank(); ++d) {
      const IndexTerm& term = mapping.pieces[0].terms[static_cast<size_t>(d)];
      if (term.result_dim < 0 || term.stride != 1 || term.offset != 0 || term.divisor != 1 ||
          term.dynamic >= 0 || out[term.result_dim] >= 0 ||
          from.shape[d] != to.shape[term.result_dim])
        return std::nullopt;
      out[term.result_dim] = d;
    }
    return out;
  }

  // Rewrites a transpose of a product as the product with swapped operands, if it swaps the
  // dimensions of lhs and rhs. A product has the dimensions of the batch, then of lhs, then of rhs.
  void swap_operands(Op& op) {
    const std::optional<Dims> permutation = permutation_of(op);
    if (!permutation) return;
    const Op* dot = product_of(op.operands[0]);
    DotParams p = dot->params.as<DotParams>();
    const int64_t batch = p.lhs_batch.rank(), contract = p.lhs_contract.rank(),
                  lhs = f_.type(dot->operands[0]).rank() - batch - contract,
                  rhs = f_.type(dot->operands[1]).rank() - batch - contract;
    Dims swapped;
    for (int64_t d = 0; d < batch; ++d) swapped.push_back(d);
    for (int64_t d = 0; d < rhs; ++d) swapped.push_back(batch + lhs + d);
    for (int64_t d = 0; d < lhs; ++d) swapped.push_back(batch + d);
    if (*permutation != swapped) return;
    std::swap(p.lhs_batch, p.rhs_batch);
    std::swap(p.lhs_contract, p.rhs_contract);
    std::swap(p.lhs_examples, p.rhs_examples);
    replace(op, *dot, {dot->operands[1], dot->operands[0]}, std::move(p));
  }

  // Returns whether `v` is a constant of zeros.
  bool is_zero(ValueId v) const {
    if (maker_[v] < 0) return false;
    const ConstantParams* constant = as_constant(f_.ops[maker_[v]]);
    return constant && constant->is_splat() &&
           constant->value == Literal(constant->value.dtype(), Shape{});
  }

  // Returns the dimensions that the op sums over; nullopt if it is not a sum of one operand.
  std::optional<Dims> summed_dims(const Op& op) const {
    const auto* lowering = std::get_if<Reduce>(&op.def->lower);
    if (!lowering || op.operands.size() != 2 || !is_zero(op.operands[1])) return std::nullopt;
    const Reduction sum = lowering->describe(op.params, f_.types_of(op.operands));
    if (sum.kind != ReduceKind::kSum) return std::nullopt;
    return sum.dims;
  }

  // Rewrites a sum over dimensions of extent 1 as a reshape.
  void take_only_terms(Op& op) {
    const Type& result = f_.type(op.results[0]);
    if (f_.type(op.operands[0]).elements() != result.elements() || result.elements() == 0) return;
    op.def = &reshape_op;
    op.params = ReshapeParams{result.shape};
    op.operands.resize(1);
  }

  // Rewrites a sum over batch dimensions of a product, or of its transpose, if all other dimensions
  // of the result are in the product's order. Returns false if the op is not such a sum.
  bool contract_batch(Op& op, const Dims& dims) {
    Dims summed = dims;
    ValueId of = op.operands[0];
    if (maker_[of] >= 0 && uses_[of] == 1) {
      const Op& inner = f_.ops[maker_[of]];
      if (const std::optional<Dims> permutation = permutation_of(inner)) {
        Dims left;
        for (int64_t d = 0; d < permutation->rank(); ++d)
          if (!contains(dims, d)) left.push_back((*permutation)[d]);
        if (!std::is_sorted(left.begin(), left.end())) return false;
        for (int64_t& d : summed) d = (*permutation)[d];
        of = inner.operands[0];
      }
    }
    const Op* dot = product_of(of);
    if (!dot) return false;
    DotParams p = dot->params.as<DotParams>();
    for (int64_t d : summed)
      if (d >= p.lhs_batch.rank()) return false;
    Dims lhs_batch, rhs_batch;
    for (int64_t d = 0; d < p.lhs_batch.rank(); ++d) {
      const bool contracts = contains(summed, d);
      (contracts ? p.lhs_contract : lhs_batch).push_back(p.lhs_batch[d]);
      (contracts ? p.rhs_contract : rhs_batch).push_back(p.rhs_batch[d]);
    }
    p.lhs_batch = lhs_batch, p.rhs_batch = rhs_batch;
    replace(op, *dot, {dot->operands[0], dot->operands[1]}, std::move(p));
    return true;
  }

  void replace(Op& op, const Op& dot, ValueIds operands, DotParams params) {
    for (ValueId v : operands) ++uses_[v];
    op.def = dot.def;
    op.operands = std::move(operands);
    op.params = std::move(params);
  }

  Function f_;
  std::vector<int> maker_;  // the op that makes each value; -1: an input
  std::vector<int> uses_;
};

}  // namespace

Function contract_sums(const Function& function) { return Contractor(function).run(); }

}  // namespace tessera::sharding
