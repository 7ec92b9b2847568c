#include "tessera/per_example/example_mixing.h"

#include <algorithm>

#include "tessera/base/format.h"
#include "tessera/control/control.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/per_example/linear_in.h"

namespace tessera::per_example {

using namespace ir;

namespace {

// The value of Reads::dim if a value has no dimension of examples.
constexpr int kNowhere = -1;
// The values of Reads::dim at and below this one: the value is a row of a loop over examples, and
// so reads one example. A loop inside n others has kRow - n.
constexpr int kRow = -2;

// How a value depends on the examples.
struct Reads {
  bool any = false;
  // The dimension of examples: the element at index i of it belongs to example (i / inner) % size.
  int dim = kNowhere;
  int64_t inner = 1;
  bool lost = false;      // one or some examples were selected: nothing is known about which
  bool position = false;  // it holds numbers of examples (from an iota), which depend on no data
  // Whether the value contains sums: over the examples alone, over other dimensions too, and
  // functions of the latter that are not linear.
  bool sum = false, wide_sum = false, statistic = false;

  bool has_dim() const { return dim >= 0; }
  bool is_example() const { return dim != kNowhere; }
  bool has_sums() const { return sum || wide_sum || statistic; }
  bool operator==(const Reads&) const = default;
};

Reads example_at(int dim, int64_t inner = 1) { return {.any = true, .dim = dim, .inner = inner}; }
Reads lost_example() { return {.any = true, .lost = true}; }

void add_sums(Reads& to, const Reads& from) {
  to.sum = to.sum || from.sum;
  to.wide_sum = to.wide_sum || from.wide_sum;
  to.statistic = to.statistic || from.statistic;
}

// Merges the two states that a value may have: those of the branches of a conditional, or of the
// first and the later iterations of a loop.
Reads merge_reads(const Reads& a, const Reads& b) {
  Reads out = a.is_example() ? a : b;
  out.any = a.any || b.any;
  out.lost = a.lost || b.lost ||
             (a.is_example() && b.is_example() && (a.dim != b.dim || a.inner != b.inner));
  if (out.lost) out.dim = kNowhere, out.inner = 1;
  out.position = out.any && (a.position || !a.any) && (b.position || !b.any);
  add_sums(out, a);
  add_sums(out, b);
  return out;
}

using States = std::vector<Reads>;

// The exception that ends a walk at the first op that mixes examples. find_mixing() catches it.
struct Found {
  Mixing mixing;
};

std::string name_of(const Op& op) {
  if (op.def == &ops::reduce_op)
    return fmt::format("reduce ({})",
                       enum_names(ReduceKind{})[size_t(op.params.as<ops::ReduceParams>().kind)]);
  return std::string(op.def->name);
}

// Returns whether the op moves the numbers that an iota made without changing them.
bool moves_positions(const Op& op) {
  for (const OpDef* def : {&ops::reshape_op, &ops::transpose_op, &ops::broadcast_in_dim_op,
                           &ops::convert_op, &ops::concatenate_op, &ops::select_op, &ops::clamp_op})
    if (op.def == def) return true;
  return false;
}

class Walk {
 public:
  Walk(const MixingOptions& options, int loops) : options_(options), loops_(loops) {}

  States run(const Function& f, const States& inputs) {
    f_ = &f;
    states_.assign(f.types.size(), Reads());
    for (size_t i = 0; i < inputs.size(); ++i) states_[f.inputs[i]] = inputs[i];
    for (const Op& op : f.ops) {
      const States out = visit(op);
      for (size_t r = 0; r < op.results.size(); ++r) states_[op.results[r]] = out[r];
    }
    States out;
    for (ValueId v : f.outputs) out.push_back(states_[v]);
    return out;
  }

 private:
  [[noreturn]] static void found(const Op& op, const std::string& what) {
    throw Found{{fmt::format("{} {}", name_of(op), what), op.source}};
  }

  States inside(const Function& f, const States& inputs, int more_loops = 0) const {
    return Walk(options_, loops_ + more_loops).run(f, inputs);
  }

  States visit(const Op& op) {
    States in;
    for (ValueId v : op.operands) in.push_back(states_[v]);
    if (op.def == &ops::iota_op) return {position(op)};
    if (std::none_of(in.begin(), in.end(), [](const Reads& x) { return x.any; }))
      return States(op.results.size());
    if (std::holds_alternative<Inlined>(op.def->lower) && !op.def->transpose)
      if (const FunctionRef callee = callee_of(op)) return inside(*callee, in);
    if (is_control_flow(op)) {
      const ControlFlow flow = control_flow_of(op);
      return flow.is_loop() ? loop(op, flow, in) : branch(op, flow, in);
    }
    if (op.def == &ops::manual_computation_op) return on_devices(op, in);
    if (std::all_of(in.begin(), in.end(), [](const Reads& x) { return !x.any || x.position; }))
      return positions(op, in);
    for (Reads& x : in) x.position = false;
    return finished(op, in, moved(op, in));
  }

  // Returns the results of an op on numbers of examples. If it computes new values from them, these
  // have no dimension of examples.
  States positions(const Op& op, const States& in) const {
    if (!moves_positions(op)) return States(op.results.size());
    try {
      States out = moved(op, in);
      for (Reads& x : out) x.position = true;
      return out;
    } catch (const Found&) {
      return States(op.results.size());
    }
  }

  const Type& operand_type(const Op& op, size_t k) const { return f_->type(op.operands[k]); }
  const Type& result_type(const Op& op, size_t r = 0) const { return f_->type(op.results[r]); }

  Reads position(const Op& op) const {
    const auto& p = op.params.as<ops::IotaParams>();
    if (p.shape[p.dimension] != options_.size) return {};
    Reads out = example_at(static_cast<int>(p.dimension));
    out.position = true;
    return out;
  }

  // Returns which dimension of each result is that of the examples, without the flags of sums.
  States moved(const Op& op, const States& in) const {
    if (op.def == &ops::reshape_op) return {reshaped(op, in[0])};
    if (op.def == &ops::slice_op) return {sliced(op, in[0])};
    if (op.def == &ops::dynamic_slice_op) return {dynamically_sliced(op, in[0])};
    if (op.def == &ops::dynamic_update_slice_op) return {updated(op, in)};
    if (op.def == &ops::concatenate_op) return {concatenated(op, in)};
    if (op.def == &ops::pad_op) return {padded(op, in[0])};
    if (op.def == &ops::gather_op) return gathered(op, in);
    if (op.def == &ops::scatter_op) return scattered(op, in);
    if (ops::calls_host(op) || !op.def->factors) return lost(op);
    return by_factors(op, in);
  }

  static States lost(const Op& op) { return States(op.results.size(), lost_example()); }

  // Does the same from the op's factors: the examples are in the dimensions of the results that
  // have the same factor as the operands' dimensions of examples.
  States by_factors(const Op& op, const States& in) const {
    const std::vector<Type> operands = f_->types_of(op.operands),
                            results = f_->types_of(op.results);
    const Factors factors = op.def->factors(operands, results, op.params);
    int factor = -1, reduced = -1;
    int64_t inner = 1;
    bool is_lost = false;
    for (size_t k = 0; k < in.size(); ++k) {
      is_lost = is_lost || in[k].lost;
      if (!in[k].has_dim()) continue;
      const DimFactors of_dim = factors_of(factors.operands, k, in[k].dim);
      if (of_dim.size() != 1) return lost(op);
      switch (factors.factors[of_dim[0]].kind) {
        case FactorKind::kNeedReplication:
        case FactorKind::kPermutation:
          found(op, "runs along the dimension of examples");
        case FactorKind::kReduction:
          if (reduced >= 0 && reduced != of_dim[0]) found(op, "adds up pairs of examples");
          reduced = of_dim[0];
          break;
        case FactorKind::kPass:
          if (factor >= 0 && (factor != of_dim[0] || inner != in[k].inner))
            found(op, "pairs each example with every other one");
          factor = of_dim[0];
          inner = in[k].inner;
          break;
      }
    }
    if (factor >= 0 && reduced >= 0) found(op, "combines each example with a sum over all of them");
    Reads base{.any = true, .dim = row_of(in), .lost = is_lost && factor < 0};
    if (reduced >= 0) reduce(op, factors, base);
    States out;
    for (const TensorFactors& result : factors.results) {
      out.push_back(base);
      for (size_t d = 0; d < result.size() && factor >= 0; ++d)
        if (std::find(result[d].begin(), result[d].end(), factor) != result[d].end())
          out.back().dim = static_cast<int>(d), out.back().inner = inner;
      if (factor >= 0 && !out.back().has_dim()) out.back() = lost_example();
    }
    return out;
  }

  static DimFactors factors_of(const std::vector<TensorFactors>& tensors, size_t k, int dim) {
    if (k >= tensors.size() || static_cast<size_t>(dim) >= tensors[k].size()) return {};
    return tensors[k][dim];
  }

  // Returns the innermost row of a loop over examples among the operands.
  static int row_of(const States& in) {
    int out = kNowhere;
    for (const Reads& x : in)
      if (x.dim <= kRow) out = std::min(out, x.dim);
    return out;
  }

  // Changes `base` to the state of the result of a reduction over the examples.
  void reduce(const Op& op, const Factors& factors, Reads& base) const {
    if (!options_.follow_sums) {
      base.lost = base.dim == kNowhere;
      return;
    }
    int64_t extent = 1;
    for (const Factor& f : factors.factors)
      if (f.kind == FactorKind::kReduction) extent *= f.size;
    const bool alone = extent == options_.size;
    const bool is_sum = factors.combiner == ReduceKind::kSum;
    if (!is_sum && alone) found(op, "over the dimension of examples is no sum");
    (!is_sum ? base.statistic : alone ? base.sum : base.wide_sum) = true;
  }

  // Adds the flags of the sums that the operands contain to the results. Sums stay sums only in
  // linear ops.
  States finished(const Op& op, const States& in, States out) const {
    Reads sums;
    bool examples = false, is_lost = false;
    std::vector<bool> marked;
    for (const Reads& x : in) {
      add_sums(sums, x);
      examples = examples || x.is_example();
      is_lost = is_lost || x.lost;
      marked.push_back(x.any);
    }
    if (!sums.has_sums()) return out;
    const bool no_example = !examples && !is_lost;
    if (!(no_example && !sums.sum && !sums.wide_sum) &&
        !is_linear_in(op, f_->types_of(op.operands), marked)) {
      if (examples) found(op, "combines each example with a value that reads all of them");
      if (sums.sum && no_example)
        found(op, "is not linear and follows a sum over the dimension of examples");
      sums = {.statistic = true};
    }
    for (Reads& result : out) add_sums(result, sums);
    return out;
  }

  // Finds the dimension of the result that contains the examples, by their stride in row-major
  // order.
  Reads reshaped(const Op& op, const Reads& x) const {
    if (!x.has_dim()) return without_sums(x);
    const Shape &from = operand_type(op, 0).shape, &to = result_type(op).shape;
    if (from.elements() == 0) return lost_example();
    int64_t stride = x.inner;
    for (int64_t d = x.dim + 1; d < from.rank(); ++d) stride *= from[d];
    int64_t minor = 1;
    for (int64_t d = to.rank() - 1; d >= 0; --d) {
      const int64_t major = minor * to[d];
      if (stride % minor == 0 && major % (stride * options_.size) == 0)
        return example_at(static_cast<int>(d), stride / minor);
      minor = major;
    }
    found(op, "spreads examples over dimensions of others");
  }

  static Reads without_sums(Reads x) {
    x.sum = x.wide_sum = x.statistic = false;
    return x;
  }

  // Accepts three kinds of slices: of whole groups of all examples, of one position inside each
  // example's group, and of one example.
  Reads sliced(const Op& op, const Reads& x) const {
    if (!x.has_dim()) return without_sums(x);
    const ops::SliceParams& p = *ops::as_slice(op);
    const int64_t extent = operand_type(op, 0).shape[x.dim], start = p.start[x.dim],
                  limit = p.limit[x.dim], step = p.strides[x.dim], group = x.inner * options_.size;
    if (step == 1 && start % group == 0 && (limit - start) % group == 0 && limit > start)
      return without_sums(x);
    if (x.inner % step == 0 && start < step && limit > extent - step)
      return example_at(x.dim, x.inner / step);
    if (limit - start <= x.inner) return lost_example();
    found(op, "takes some of the examples");
  }

  Reads dynamically_sliced(const Op& op, const Reads& x) const {
    if (!x.has_dim()) return x.any ? without_sums(x) : lost_example();
    const int64_t extent = operand_type(op, 0).shape[x.dim], size = result_type(op).shape[x.dim];
    if (size == extent) return without_sums(x);
    if (size <= x.inner) return lost_example();
    found(op, "takes some of the examples");
  }

  Reads updated(const Op& op, const States& in) const {
    const Reads &x = in[0], &update = in[1];
    const auto whole = [&](const Reads& r) {
      return r.has_dim() && operand_type(op, 0).shape[r.dim] == operand_type(op, 1).shape[r.dim];
    };
    if (!update.any && x.any) return without_sums(x);
    if (whole(update) && (!x.any || (x.dim == update.dim && x.inner == update.inner)))
      return without_sums(update);
    if (!update.is_example() && !x.is_example())
      return {.any = true, .lost = x.lost || update.lost};
    return lost_example();
  }

  // Accepts parts that all have the examples in the same dimension with the same `inner`: the
  // result then has the examples several times.
  Reads concatenated(const Op& op, const States& in) const {
    const auto dim = static_cast<int>(op.params.as<ops::ConcatenateParams>().dimension);
    std::optional<Reads> first;
    bool some_without = false, is_lost = false;
    for (size_t k = 0; k < in.size(); ++k) {
      is_lost = is_lost || in[k].lost;
      if (!in[k].is_example()) {
        some_without = true;
        continue;
      }
      if (first && (first->dim != in[k].dim || first->inner != in[k].inner))
        found(op, "joins examples with others");
      first = without_sums(in[k]);
      if (first->dim == dim && operand_type(op, k).shape[dim] % (first->inner * options_.size) != 0)
        return lost_example();
    }
    if (!first) return {.any = true, .lost = is_lost};
    if (first->dim == dim && some_without) return lost_example();
    return *first;
  }

  Reads padded(const Op& op, const Reads& x) const {
    const auto& p = op.params.as<ops::PadParams>();
    if (x.has_dim() && (p.low[x.dim] != 0 || p.high[x.dim] != 0 || p.interior[x.dim] != 0))
      return lost_example();
    return x.any ? without_sums(x) : lost_example();
  }

  // If each example has indices of its own, the results are those of this example. Other indices
  // would change the order of the examples.
  States gathered(const Op& op, const States& in) const {
    const Reads &x = in[0], &indices = in[1];
    const ops::IndexedWindows windows = ops::gather_windows(
        op.params.as<ops::GatherParams>(), operand_type(op, 0).shape, operand_type(op, 1).shape);
    const auto whole = [&](int d) {
      const ops::IndexedWindows::Dim& dim = windows.dims[d];
      return dim.batch >= 0 || (dim.window >= 0 && dim.size == windows.operand[d]);
    };
    if (!x.has_dim() || whole(x.dim)) return by_factors(op, in);
    if (indices.has_dim()) return by_factors(op, {Reads{.any = true}, indices});
    if (indices.any || windows.count() == 1) return lost(op);
    found(op, "takes examples by indices that are not their own");
  }

  // Updates of all examples are added up, unless the array has a position for each.
  States scattered(const Op& op, const States& in) const {
    const size_t indices = ops::scatter_arrays(op.operands.size());
    const ops::IndexedWindows windows =
        ops::scatter_windows(op.params.as<ops::ScatterParams>(), operand_type(op, 0).shape,
                             operand_type(op, indices).shape, operand_type(op, indices + 1).shape);
    for (size_t d = 0; d < windows.dims.size(); ++d)
      if (windows.is_indexed(static_cast<int64_t>(d)) && windows.operand[d] % options_.size == 0)
        return lost(op);
    if (op.params.as<ops::ScatterParams>().kind != ScatterKind::kAdd) {
      const Factors factors =
          op.def->factors(f_->types_of(op.operands), f_->types_of(op.results), op.params);
      for (size_t k = 0; k < in.size(); ++k) {
        if (!in[k].has_dim()) continue;
        const DimFactors of_dim = factors_of(factors.operands, k, in[k].dim);
        if (of_dim.size() != 1 || factors.factors[of_dim[0]].kind != FactorKind::kPass)
          return lost(op);
      }
    }
    return by_factors(op, in);
  }

  // In a loop over examples one iteration reads one example, and the carry is a sum over the
  // examples before it.
  States loop(const Op& op, const ControlFlow& flow, const States& in) const {
    const int row = kRow - loops_;
    States entering = in;
    for (size_t k = 0; k < in.size(); ++k) {
      Reads& x = entering[k];
      if (!flow.is_scanned(k) || !x.has_dim()) continue;
      const bool examples = x.dim == 0 && operand_type(op, k).shape[0] == options_.size;
      x.dim = x.dim > 0 ? x.dim - 1 : examples ? row : kNowhere;
      x.lost = x.dim == kNowhere;
    }
    const auto handed_on = [&](Reads x) {
      if (x.position) return Reads();
      if (x.dim == row) {
        x.dim = kNowhere;
        (options_.follow_sums ? x.sum : x.lost) = true;
      }
      return x;
    };
    States out;
    for (bool changes = true; changes;) {
      changes = false;
      out = inside(flow.body(), entering, 1);
      for (size_t c = 0; c < flow.num_carry; ++c) {
        Reads& carry = entering[flow.num_consts + c];
        const Reads next = merge_reads(carry, handed_on(out[c]));
        changes = changes || !(next == carry);
        carry = next;
      }
    }
    for (size_t r = 0; r < out.size(); ++r) {
      if (!flow.is_stacked(r)) {
        out[r] = entering[flow.num_consts + r];
      } else if (out[r].dim == row) {
        out[r].dim = 0;
      } else if (out[r].has_dim()) {
        ++out[r].dim;
      }
    }
    return out;
  }

  States branch(const Op& op, const ControlFlow& flow, const States& in) const {
    const Reads& index = in[0];
    const States entering(in.begin() + 1, in.end());
    // A predicate is a scalar: if it reads an example's data, it combines all elements of the
    // example. So a sum over examples and other dimensions is accepted here.
    if (index.sum) found(op, "is not linear and follows a sum over the dimension of examples");
    States out;
    for (const FunctionRef& region : flow.regions) {
      const States results = inside(*region, entering);
      if (out.empty()) out = results;
      for (size_t r = 0; r < out.size(); ++r) out[r] = merge_reads(out[r], results[r]);
    }
    for (Reads& x : out) {
      x.any = x.any || index.any;
      if (!x.is_example() && index.is_example()) x.dim = index.dim;
      x.lost = x.lost || (index.lost && !x.is_example());
    }
    return out;
  }

  // Each device does to its part what the body does to the whole, provided that the part has all
  // examples.
  States on_devices(const Op& op, const States& in) const {
    const auto& p = op.params.as<ops::ManualComputationParams>();
    const auto carried = [](Reads x, const Type& from, const Type& to) {
      return x.has_dim() && from.shape[x.dim] != to.shape[x.dim] ? lost_example() : x;
    };
    States entering;
    for (size_t k = 0; k < in.size(); ++k)
      entering.push_back(carried(in[k], operand_type(op, k), p.body->type(p.body->inputs[k])));
    States out = inside(*p.body, entering);
    for (size_t r = 0; r < out.size(); ++r)
      out[r] = carried(out[r], p.body->type(p.body->outputs[r]), result_type(op, r));
    return out;
  }

  const MixingOptions& options_;
  const int loops_;
  const Function* f_ = nullptr;
  States states_;
};

}  // namespace

std::optional<Mixing> find_mixing(const Function& function, const MixingOptions& options) {
  States inputs;
  for (bool of_examples : options.of_examples)
    inputs.push_back(of_examples ? example_at(0) : Reads());
  const Function live = remove_dead_ops(function);
  inputs.resize(live.inputs.size());
  try {
    Walk(options, 0).run(live, inputs);
  } catch (const Found& found) {
    return found.mixing;
  }
  return std::nullopt;
}

}  // namespace tessera::per_example
