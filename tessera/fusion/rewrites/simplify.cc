#include "tessera/fusion/rewrites/simplify.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tessera/base/hash.h"
#include "tessera/fusion/rewrites/simplify_eigenvalues.h"
#include "tessera/fusion/rewrites/simplify_narrow.h"
#include "tessera/fusion/rewrites/simplify_row_scatters.h"
#include "tessera/fusion/rewrites/simplify_scatters.h"
#include "tessera/fusion/rewrites/simplify_slices.h"
#include "tessera/fusion/rewrites/simplify_sorts.h"
#include "tessera/fusion/rewrites/simplify_split_scatters.h"
#include "tessera/fusion/rewrites/simplify_updates.h"
#include "tessera/fusion/rewrites/simplify_zeros.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion {
namespace {

class Simplifier {
 public:
  explicit Simplifier(const Function& f) : Simplifier(f, Scope(f)) {}
  Simplifier(const Function& f, const Scope& scope)
      : f_(f), scope_(scope), number_(f.types.size(), -1) {}

  Function run() {
    out_.name = f_.name;
    out_.types.reserve(f_.types.size());
    out_.ops.reserve(f_.ops.size());
    for (ValueId v : f_.inputs) number_[v] = out_.add_input(f_.types[v]);
    maker_.assign(out_.types.size(), -1);
    for (const Op& op : f_.ops) {
      Op copy = op;
      size_t region = 0;
      copy.params = map_control_regions(op, [&](const Function& inner) {
        return Simplifier(inner, Scope(inner, scope_, op, region++)).run();
      });
      for (ValueId& v : copy.operands) v = number_[v];
      const std::optional<int64_t> leading = leading_elements_read(f_, op);
      const std::vector<ScatterPart> scatters = split_scatter(copy);
      const std::vector<ValueId> results =
          is_empty(op)                       ? empty_constants(op)
          : leading                          ? first_elements(copy, *leading)
          : reads_no_eigenvectors(f_, op)    ? only_eigenvalues(copy)
          : !scatters.empty()                ? results_of(scatters, op.results.size())
          : is_scatter_of_one_window(f_, op) ? std::vector{one_window(copy)}
          : is_large_row_scatter(f_, op)     ? std::vector{row_scatter(copy)}
          : op.results.size() == 1 && !op.def->effect
              ? std::vector{rewrite(std::move(copy), f_.types[op.results[0]], &op)}
              : append(std::move(copy), f_.types_of(op.results));
      for (size_t r = 0; r < results.size(); ++r) number_[op.results[r]] = results[r];
    }
    for (ValueId v : f_.outputs) out_.outputs.push_back(number_[v]);
    return remove_dead_ops(out_);
  }

 private:
  // Returns whether an op's results have no elements: they are not computed, and become constants.
  bool is_empty(const Op& op) const {
    return op.def != &constant_op && !op.results.empty() && !has_effect(op) &&
           std::all_of(op.results.begin(), op.results.end(),
                       [&](ValueId v) { return f_.types[v].elements() == 0; });
  }
  std::vector<ValueId> empty_constants(const Op& op) {
    std::vector<ValueId> out;
    for (ValueId v : op.results) {
      const Type& type = f_.types[v];
      const Op constant{.def = &constant_op,
                        .params = ConstantParams{Literal(type.dtype, Shape{}), type.shape},
                        .source = op.source};
      out.push_back(append(constant, std::array{type})[0]);
    }
    return out;
  }

  // Returns the results of a sort if only the first `count` elements of them are read.
  std::vector<ValueId> first_elements(const Op& sort, int64_t count) {
    FirstOfSort first = first_of_sort(out_, sort, count);
    const std::vector<Type> types =
        infer_types(*first.op.def, out_.types_of(first.op.operands), first.op.params);
    const std::vector<ValueId> made = append(std::move(first.op), types);
    std::vector<ValueId> out;
    for (size_t r : first.results) out.push_back(made[r]);
    return out;
  }

  // Returns the results of an eigh whose first result is not read.
  std::vector<ValueId> only_eigenvalues(const Op& eigh) {
    Op op = eigenvalues_of(eigh);
    const std::vector<Type> types = infer_types(*op.def, out_.types_of(op.operands), op.params);
    std::vector<ValueId> out = append(std::move(op), types);
    out.insert(out.begin(), -1);
    return out;
  }

  // Returns the results of a scatter of several arrays.
  std::vector<ValueId> results_of(const std::vector<ScatterPart>& parts, size_t results) {
    std::vector<ValueId> out(results);
    for (const ScatterPart& part : parts) {
      if (is_scatter_of_one_window(out_, part.op)) {
        out[part.results[0]] = one_window(part.op);
        continue;
      }
      const std::vector<Type> types =
          infer_types(*part.op.def, out_.types_of(part.op.operands), part.op.params);
      const std::vector<ValueId> made = append(part.op, types);
      for (size_t r = 0; r < made.size(); ++r) out[part.results[r]] = made[r];
    }
    return out;
  }

  // Returns the result of a scatter of one window.
  ValueId one_window(const Op& scatter) {
    return update_one_window(out_, scatter, [&](Op op) {
      const Type type = infer_types(*op.def, out_.types_of(op.operands), op.params)[0];
      return rewrite(std::move(op), type, nullptr);
    });
  }

  // Returns the result of a scatter of rows, which may be gathered ones.
  ValueId row_scatter(const Op& scatter) {
    const MakerOf maker_of = [this](ValueId v) { return maker(v); };
    const auto append_ops = [&](Op op) {
      const std::vector<Type> types = infer_types(*op.def, out_.types_of(op.operands), op.params);
      if (types.size() == 1) return ValueIds{rewrite(std::move(op), types[0], nullptr)};
      const std::vector<ValueId> made = append(std::move(op), types);
      return ValueIds(made.begin(), made.end());
    };
    const std::optional<ValueId> folded = fold_gathered_rows(out_, maker_of, scatter, append_ops);
    return folded ? *folded : append_inferred(scatter);
  }

  // Returns a value that equals the op's result: an existing value, or the result of a simpler op
  // or of the op itself. `original` is the op as it is in f_; null for an op that was made here.
  ValueId rewrite(Op op, const Type& type, const Op* original);
  std::optional<ValueId> sum_in_box(const Op& op, const Op& original);
  std::optional<ValueId> choice_in_box(const Op& op);
  std::optional<ValueId> choice_in_windows(const Op& op);
  std::optional<ValueId> extremum_by_choice(const Op& op);
  std::optional<ValueId> product_without_sum(const Op& op, const Op& original);
  std::optional<ValueId> fold_of_low_bits(const Op& op, const Type& type, const Op& original);
  // Returns x with each element e of the box replaced by combine(e, update).
  ValueId with_box(ValueId x, const Box& box, const Op& like,
                   const std::function<Op(ValueId, ValueId)>& combine);
  bool shorten_view(Op& op, const Type& type);
  ValueId neutral_operand(const Op& op, const Type& type) const;

  const Op* maker(ValueId v) const { return maker_[v] < 0 ? nullptr : &out_.ops[maker_[v]]; }
  const Op* maker(ValueId v, const OpDef& def) const {
    const Op* op = maker(v);
    return op && op->def == &def ? op : nullptr;
  }
  // Returns whether every element of v is the scalar `value`, compared as bytes in v's dtype.
  bool is_splat(ValueId v, double value) const {
    const Op* op = maker(v, constant_op);
    if (!op || !op->params.as<ConstantParams>().is_splat()) return false;
    const Literal& have = op->params.as<ConstantParams>().value;
    return have == convert_literal(Literal::scalar(value), have.dtype());
  }
  bool same_array(ValueId v, const Type& type) const { return out_.types[v].same_array(type); }

  std::vector<ValueId> append(Op op, std::span<const Type> types);
  // Returns the only element of the value.
  ValueId scalar(ValueId v, const Op& like) {
    if (out_.types[v].rank() == 0) return v;
    return append_inferred({.def = &reshape_op,
                            .params = ReshapeParams{Shape{}},
                            .operands = {v},
                            .source = like.source});
  }
  // Appends the op and returns its only result, whose type is inferred.
  ValueId append_inferred(Op op) {
    const std::vector<Type> types = infer_types(*op.def, out_.types_of(op.operands), op.params);
    return append(std::move(op), types)[0];
  }

  const Function& f_;
  const Scope scope_;
  Function out_;
  std::vector<ValueId> number_;  // for each value of f_, its number in out_
  std::vector<int> maker_;       // for each value, its op in out_; -1 for inputs
  std::unordered_multimap<size_t, int> seen_;
};

std::vector<ValueId> Simplifier::append(Op op, std::span<const Type> types) {
  size_t key = hash_combine(std::hash<const void*>()(op.def), op.params.hash());
  for (ValueId v : op.operands) key = hash_combine(key, static_cast<size_t>(v));
  if (!op.def->effect) {
    const auto [begin, end] = seen_.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      const Op& other = out_.ops[it->second];
      if (other.def == op.def && other.operands == op.operands && other.params == op.params)
        return {other.results.begin(), other.results.end()};
    }
    seen_.emplace(key, static_cast<int>(out_.ops.size()));
  }
  op.results.clear();
  for (const Type& type : types) {
    op.results.push_back(out_.add_value(type));
    maker_.push_back(static_cast<int>(out_.ops.size()));
  }
  out_.ops.push_back(std::move(op));
  return {out_.ops.back().results.begin(), out_.ops.back().results.end()};
}

// Returns x for x + 0, x * 1 and the like; -1 for any other op.
ValueId Simplifier::neutral_operand(const Op& op, const Type& type) const {
  auto either = [&](double value) -> ValueId {
    if (is_splat(op.operands[1], value)) return op.operands[0];
    if (is_splat(op.operands[0], value)) return op.operands[1];
    return -1;
  };
  if (op.def == &add_op && !is_inexact(type.dtype)) return either(0);
  // As in XLA, a complex number divided by 1 stays what it is. The division would make some
  // infinities NaN, and the zero -0 positive.
  if (op.def == &div_op && is_splat(op.operands[1], 1)) return op.operands[0];
  if (is_complex(type.dtype)) return -1;
  if (op.def == &mul_op) return either(1);
  if (op.def == &sub_op && is_splat(op.operands[1], 0)) return op.operands[0];
  return -1;
}

// Simplifies views of views, and of constants; returns true if something changed.
bool Simplifier::shorten_view(Op& op, const Type& type) {
  if (op.def != &reshape_op && op.def != &transpose_op && op.def != &broadcast_in_dim_op)
    return false;
  const Op* inner = maker(op.operands[0]);
  if (!inner) return false;
  if (op.def != &transpose_op && inner->def == &constant_op &&
      inner->params.as<ConstantParams>().is_splat()) {
    ConstantParams params = inner->params.as<ConstantParams>();
    params.shape = type.shape;
    op.operands.clear();
    op.params = params;
    op.def = &constant_op;
    return true;
  }
  if (inner->def != op.def) return false;
  Dims both;
  if (op.def == &transpose_op) {
    const Dims& inner_dims = inner->params.as<TransposeParams>().permutation;
    for (int64_t d : op.params.as<TransposeParams>().permutation) both.push_back(inner_dims[d]);
    op.params = TransposeParams{both};
  } else if (op.def == &broadcast_in_dim_op) {
    const Dims& outer_dims = op.params.as<BroadcastParams>().dims;
    for (int64_t d : inner->params.as<BroadcastParams>().dims) both.push_back(outer_dims[d]);
    op.params = BroadcastParams{type.shape, both};
  }
  op.operands[0] = inner->operands[0];
  return true;
}

// Returns whether the op returns its operand unchanged, given that the result has the operand's
// type.
bool gives_operand(const Op& op, const Type& type) {
  if (op.def == &broadcast_in_dim_op)
    return op.params.as<BroadcastParams>().dims == iota_dims(type.rank());
  if (op.def == &transpose_op)
    return op.params.as<TransposeParams>().permutation == iota_dims(type.rank());
  // A slice with as many elements as its operand is the operand, and so is a concatenation of the
  // operand with arrays without elements.
  return op.def == &reshape_op || op.def == &convert_op || op.def == &slice_op ||
         op.def == &concatenate_op || op.def == &stop_gradient_op || op.def == &checkpoint_name_op;
}

// Returns max(x, c) for select(x > c, x, max(x, c)), and min(x, c) for select(x < c, x, min(x, c)):
// functions that are differentiated as such a choice (relu) have the values of an extremum.
std::optional<ValueId> Simplifier::extremum_by_choice(const Op& op) {
  if (op.def != &select_op) return std::nullopt;
  const ValueId x = op.operands[1];
  const Op* compare = maker(op.operands[0], compare_op);
  const Op* extremum = maker(op.operands[2]);
  if (!compare || !extremum || is_complex(out_.types[x].dtype)) return std::nullopt;
  const auto& params = compare->params.as<CompareParams>();
  const OpDef* wanted = params.direction == Comparison::kGt   ? &max_op
                        : params.direction == Comparison::kLt ? &min_op
                                                              : nullptr;
  if (extremum->def != wanted || params.type == CompareType::kTotalOrder ||
      compare->operands[0] != x || extremum->operands != compare->operands)
    return std::nullopt;
  return op.operands[2];
}

// Rewrites a dot_general whose sums have one term (an outer product) as 0 + lhs * rhs, element by
// element. It keeps a dot_general whose result is summed over devices: the product absorbs that
// sum, so that the terms need not be stored.
std::optional<ValueId> Simplifier::product_without_sum(const Op& op, const Op& original) {
  if (op.def != &dot_general_op) return std::nullopt;
  const auto& p = op.params.as<DotParams>();
  const std::array types = {out_.types[op.operands[0]], out_.types[op.operands[1]]};
  const auto is_one = [](const Shape& shape, const Dims& dims) {
    return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return shape[d] == 1; });
  };
  if (p.sum != DotSum::kAny || !is_one(types[0].shape, p.lhs_contract) || is_complex(p.result) ||
      types[0].dtype != p.result || types[1].dtype != p.result ||
      accumulation_dtype(p.result) != p.result)
    return std::nullopt;
  if (std::any_of(f_.ops.begin(), f_.ops.end(), [&](const Op& user) {
        return user.def == &all_reduce_op && std::find(user.operands.begin(), user.operands.end(),
                                                       original.results[0]) != user.operands.end();
      }))
    return std::nullopt;
  const std::array free = {dot_free_dims(types[0].rank(), p.lhs_batch, p.lhs_contract),
                           dot_free_dims(types[1].rank(), p.rhs_batch, p.rhs_contract)};
  Shape shape;
  for (int64_t d : p.lhs_batch) shape.push_back(types[0].shape[d]);
  for (size_t side : {0, 1})
    for (int64_t d : free[side]) shape.push_back(types[side].shape[d]);
  std::array<ValueId, 2> factors;
  for (size_t side : {0, 1}) {
    const Dims& batch = side == 0 ? p.lhs_batch : p.rhs_batch;
    Shape kept;
    Dims dims;
    for (int64_t d = 0; d < types[side].rank(); ++d) {
      const auto b = std::find(batch.begin(), batch.end(), d);
      const auto f = std::find(free[side].begin(), free[side].end(), d);
      if (b == batch.end() && f == free[side].end()) continue;
      kept.push_back(types[side].shape[d]);
      dims.push_back(b != batch.end() ? b - batch.begin()
                                      : batch.rank() + (side == 0 ? 0 : free[0].rank()) +
                                            (f - free[side].begin()));
    }
    ValueId factor = op.operands[side];
    if (kept.rank() != types[side].rank())
      factor = append_inferred({.def = &reshape_op,
                                .params = ReshapeParams{kept},
                                .operands = {factor},
                                .source = op.source});
    factors[side] = append_inferred({.def = &broadcast_in_dim_op,
                                     .params = BroadcastParams{shape, dims},
                                     .operands = {factor},
                                     .source = op.source});
  }
  const ValueId product =
      append_inferred({.def = &mul_op, .operands = {factors[0], factors[1]}, .source = op.source});
  if (!is_inexact(p.result)) return product;
  const Literal zero = convert_literal(Literal::scalar(0), p.result);
  const ValueId zeros = append_inferred(
      {.def = &constant_op, .params = ConstantParams{zero, shape}, .source = op.source});
  return append_inferred({.def = &add_op, .operands = {product, zeros}, .source = op.source});
}

std::optional<ValueId> Simplifier::fold_of_low_bits(const Op& op, const Type& type,
                                                    const Op& original) {
  const std::optional<NarrowFold> fold = narrow_fold(
      out_, [this](ValueId v) { return maker(v); }, op, type);
  if (!fold) return std::nullopt;
  const ValueId wide = original.operands[0];
  auto readers = std::count(f_.outputs.begin(), f_.outputs.end(), wide);
  for (const Op& reader : f_.ops)
    readers += std::count(reader.operands.begin(), reader.operands.end(), wide);
  if (readers != 1) return std::nullopt;
  Op reduce{.def = &reduce_op, .params = fold->params, .source = op.source};
  for (ValueId v : {fold->elements, fold->init})
    reduce.operands.push_back(out_.types[v].dtype == fold->dtype
                                  ? v
                                  : append_inferred({.def = &convert_op,
                                                     .params = ConvertParams{fold->dtype},
                                                     .operands = {v},
                                                     .source = op.source}));
  return append_inferred(std::move(reduce));
}

ValueId Simplifier::with_box(ValueId x, const Box& box, const Op& like,
                             const std::function<Op(ValueId, ValueId)>& combine) {
  std::vector<ValueId> starts = box.starts;
  if (starts.empty())
    for (int64_t low : box.low)
      starts.push_back(append_inferred({.def = &constant_op,
                                        .params = ConstantParams{Literal::scalar(low), Shape{}},
                                        .source = like.source}));
  Op slice{.def = &dynamic_slice_op,
           .params = DynamicSliceParams{out_.types[box.update].shape},
           .source = like.source};
  slice.operands = {x};
  slice.operands.insert(slice.operands.end(), starts.begin(), starts.end());
  const ValueId old = append_inferred(std::move(slice));
  Op update{.def = &dynamic_update_slice_op, .source = like.source};
  update.operands = {x, append_inferred(combine(old, box.update))};
  update.operands.insert(update.operands.end(), starts.begin(), starts.end());
  return append_inferred(std::move(update));
}

std::optional<ValueId> Simplifier::sum_in_box(const Op& op, const Op& original) {
  if (op.def != &add_op) return std::nullopt;
  const MakerOf maker_of = [this](ValueId v) { return maker(v); };
  for (size_t k : {0, 1}) {
    const ValueId x = op.operands[1 - k];
    const std::optional<Box> box = box_in_zeros(maker_of, op.operands[k]);
    if (!box || !is_small_part(out_.types[box->update].elements(), out_.types[x].elements()) ||
        !scope_.has_no_negative_zero(original.operands[1 - k]))
      continue;
    return with_box(x, *box, op, [&](ValueId old, ValueId update) {
      Op sum = op;
      sum.operands = {old, update};
      if (k == 0) std::swap(sum.operands[0], sum.operands[1]);
      return sum;
    });
  }
  return std::nullopt;
}

std::optional<ValueId> Simplifier::choice_in_box(const Op& op) {
  if (op.def != &select_op) return std::nullopt;
  const MakerOf maker_of = [this](ValueId v) { return maker(v); };
  const std::optional<ValueId> choice = scalar_of(out_, maker_of, op.operands[0]);
  if (!choice) return std::nullopt;
  for (size_t k : {1, 2}) {
    const ValueId x = op.operands[3 - k];
    const std::optional<Box> box = box_in(maker_of, op.operands[k], x);
    if (!box || !is_small_part(out_.types[box->update].elements(), out_.types[x].elements()))
      continue;
    return with_box(x, *box, op, [&](ValueId old, ValueId update) {
      Op chosen = op;
      chosen.operands = {scalar(*choice, op), update, old};
      if (k == 2) std::swap(chosen.operands[1], chosen.operands[2]);
      return chosen;
    });
  }
  return std::nullopt;
}

std::optional<ValueId> Simplifier::choice_in_windows(const Op& op) {
  if (op.def != &select_op) return std::nullopt;
  const MakerOf maker_of = [this](ValueId v) { return maker(v); };
  for (size_t k : {1, 2}) {
    const Op* found = maker(op.operands[k], scatter_op);
    if (!found || found->results.size() != 1 || found->operands[0] != op.operands[3 - k]) continue;
    Op scatter = *found;
    const std::optional<Mask> mask = mask_of_windows(out_, maker_of, scatter, op.operands[0]);
    if (!mask) continue;
    const ValueId indices = scatter.operands[1];
    const Type type = out_.types[indices];
    const ValueId chosen = append_inferred({.def = &broadcast_in_dim_op,
                                            .params = BroadcastParams{type.shape, mask->dims},
                                            .operands = {mask->predicate},
                                            .source = op.source});
    const Literal before_all = convert_literal(Literal::scalar(-1), type.dtype);
    const ValueId outside = append_inferred({.def = &constant_op,
                                             .params = ConstantParams{before_all, type.shape},
                                             .source = op.source});
    Op select{.def = &select_op, .operands = {chosen, indices, outside}, .source = op.source};
    if (k == 2) std::swap(select.operands[1], select.operands[2]);
    scatter.operands[1] = append_inferred(std::move(select));
    auto params = scatter.params.as<ScatterParams>();
    params.indices_are_sorted = false;
    scatter.params = std::move(params);
    return append_inferred(std::move(scatter));
  }
  return std::nullopt;
}

ValueId Simplifier::rewrite(Op op, const Type& type, const Op* original) {
  while (shorten_view(op, type)) {
  }
  const MakerOf maker_of = [this](ValueId v) { return maker(v); };
  while (std::optional<Op> shorter = slice_of_origin(out_, maker_of, op)) op = *std::move(shorter);
  remove_empty_operands(out_, op);
  if (!op.operands.empty() && same_array(op.operands[0], type) && gives_operand(op, type))
    return op.operands[0];
  if (op.operands.size() == 2) {
    const ValueId x = neutral_operand(op, type);
    if (x >= 0 && same_array(x, type)) return x;
  }
  if (op.def == &neg_op)
    if (const Op* inner = maker(op.operands[0], neg_op)) return inner->operands[0];
  if (op.def == &select_op && op.operands[1] == op.operands[2]) return op.operands[1];
  if (const std::optional<ValueId> extremum = extremum_by_choice(op)) return *extremum;
  if (original) {
    if (const std::optional<ValueId> product = product_without_sum(op, *original)) return *product;
    if (const std::optional<ValueId> sum = sum_in_box(op, *original)) return *sum;
    if (const std::optional<ValueId> fold = fold_of_low_bits(op, type, *original)) return *fold;
  }
  if (const std::optional<ValueId> choice = choice_in_box(op)) return *choice;
  if (const std::optional<ValueId> choice = choice_in_windows(op)) return *choice;
  return append(std::move(op), std::array{type})[0];
}

}  // namespace

Function simplify(const Function& function) { return Simplifier(function).run(); }

}  // namespace tessera::fusion
