#include "tessera/sharding/propagate.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "tessera/base/contains.h"
#include "tessera/control/control.h"
#include "tessera/control/manual_boundary.h"
#include "tessera/ir/control_flow.h"
#include "tessera/mesh/contrast.h"
#include "tessera/ops/core/inspect_sharding.h"
#include "tessera/sharding/atoms.h"
#include "tessera/sharding/flatten_regions.h"
#include "tessera/sharding/open_regions.h"
#include "tessera/sharding/projection.h"
#include "tessera/sharding/sharding_groups.h"

namespace tessera::sharding {
namespace {

// The state of one value.
struct ValueState {
  DimAtoms dims;
  std::vector<char> open;  // for each dimension: whether axes may be added
  AtomSet replicated = 0;  // axes that the user keeps it replicated over
  bool held_back = false;
};

using Shardings = std::vector<std::shared_ptr<const NamedSharding>>;

// The order in which ops take part; docs/sharding.md explains it.
enum Tier : int { kElementwiseSingleUse, kElementwise, kPassThrough, kAllFactors, kNumTiers };

// An op, as tensors that share factors.
struct OpState {
  Factors factors;
  std::vector<ValueId> tensors;     // results, then operands
  std::vector<TensorFactors> dims;  // for each tensor
  // For each factor: the axes that it must have (at borders of manual computations).
  std::vector<AtomList> pinned;
  bool elementwise = false;  // it maps elements one to one: a pointwise op, a reshape, a transpose
  bool single_use = false;   // no other op reads its non-scalar operands
  bool broadcast = false;    // some factor is only in results
};

// The state before any sharding spreads, which all orders share.
class Problem {
 public:
  // `states` names, for each value, the value whose state it shares (sharding_groups.h).
  Problem(const OpenedRegions& opened, const AtomMesh& mesh, const ValueIds& states)
      : f_(opened.flat),
        source_(opened.source),
        mesh_(mesh),
        states_(states),
        manual_(f_.types.size(), 0),
        touching_(f_.types.size()) {
    prepare_ops();
    block_what_has_no_inputs(opened.ties);
    for (const Tie& tie : opened.ties)
      if (f_.types[tie.values.back()].rank() > 0) ops_.push_back(make_tie_state(tie));
    for (OpState& op : ops_)
      for (ValueId& v : op.tensors) v = states_[v];
    for (size_t v = 0; v < manual_.size(); ++v) manual_[states_[v]] |= manual_[v];
    for (int i = 0; i < static_cast<int>(ops_.size()); ++i)
      for (ValueId v : ops_[i].tensors)
        if (touching_[v].empty() || touching_[v].back() != i) touching_[v].push_back(i);
  }

  const Function& function() const { return f_; }
  const AtomMesh& mesh() const { return mesh_; }
  const std::vector<OpState>& ops() const { return ops_; }  // function()'s, then the ties'
  ValueId state_of(ValueId v) const { return states_[v]; }
  const std::vector<int>& touching(ValueId v) const { return touching_[v]; }
  // Returns the manual axes of the region that contains the value. No dimension may be sharded
  // along them there.
  AtomSet manual(ValueId v) const { return manual_[v]; }

 private:
  void prepare_ops() {
    std::vector<int> uses(f_.types.size(), 0);
    for (const Op& op : f_.ops)
      for (ValueId v : op.operands)
        if (!ops::is_about_sharding(op)) ++uses[v];
    for (ValueId v : f_.outputs) ++uses[v];
    ops_.resize(f_.ops.size());
    for (size_t i = 0; i < f_.ops.size(); ++i) {
      const Op& op = f_.ops[i];
      block_manual_axes(op);
      if (op.def->factors && !op.operands.empty()) ops_[i] = make_op_state(op, uses);
    }
    for (size_t v = 0; v < manual_.size(); ++v) enter_region(static_cast<ValueId>(v));
  }

  // Finds the manual axes of values that depend on no input of their manual computation: they
  // follow from the ops that read the value, in its region or through the ties of loops and
  // branches.
  void block_what_has_no_inputs(const std::vector<Tie>& ties) {
    const auto leaves = [](const Op& op) {
      const auto* border = std::get_if<ManualBorder>(&op.def->lower);
      return border && !border->entering;
    };
    if (std::none_of(f_.ops.begin(), f_.ops.end(), leaves)) return;
    bool changed = true;
    const auto add = [&](ValueId v, AtomSet axes) {
      changed = changed || (axes & ~manual_[v]) != 0;
      manual_[v] |= axes;
    };
    while (changed) {
      changed = false;
      for (const Tie& tie : ties) {
        AtomSet axes = 0;
        for (ValueId v : tie.values) axes |= manual_[v];
        for (ValueId v : tie.values) add(v, axes);
      }
      for (auto op = f_.ops.rbegin(); op != f_.ops.rend(); ++op) {
        AtomSet axes = 0;
        for (ValueId v : op->results) axes |= manual_[v];
        if (const auto* border = std::get_if<ManualBorder>(&op->def->lower))
          axes = border->entering ? axes & ~border_axes(*op) : axes | border_axes(*op);
        for (ValueId v : op->operands) add(v, axes);
      }
    }
  }

  AtomSet border_axes(const Op& op) const {
    const auto& p = op.params.as<ManualBoundaryParams>();
    return atom_set(mesh_.atoms("shard_map", whole_axes(p.manual_axes), p.mesh));
  }

  // Axes that are manual outside of a region are also manual in it.
  AtomSet enter_region(ValueId v) {
    if (source_[v] >= 0) manual_[v] = enter_region(source_[v]);
    return manual_[v];
  }

  OpState make_tie_state(const Tie& tie) const {
    OpState state;
    TensorFactors dims;
    for (int64_t extent : f_.types[tie.values.back()].shape)
      dims.push_back({state.factors.add(extent)});
    for (size_t k = 0; k < tie.values.size(); ++k) {
      TensorFactors mine = dims;
      if (k == 0 && tie.first_is_stacked) {
        const int64_t rows = f_.types[tie.values[k]].shape[0];
        mine.insert(mine.begin(), {state.factors.add(rows, FactorKind::kNeedReplication)});
      }
      (k == 0 ? state.factors.results : state.factors.operands).push_back(mine);
      state.dims.push_back(mine);
      state.tensors.push_back(tie.values[k]);
    }
    state.pinned.resize(state.factors.factors.size());
    state.elementwise = state.single_use = true;
    return state;
  }

  // The manual axes of a value are those of its operands; at a border, those of the border are
  // added or removed.
  void block_manual_axes(const Op& op) {
    AtomSet manual = 0;
    for (ValueId v : op.operands) manual |= enter_region(v);
    if (const auto* border = std::get_if<ManualBorder>(&op.def->lower))
      manual = border->entering ? manual | border_axes(op) : manual & ~border_axes(op);
    for (ValueId v : op.results) manual_[v] = manual;
  }

  OpState make_op_state(const Op& op, const std::vector<int>& uses) const {
    const std::vector<Type> operands = f_.types_of(op.operands), results = f_.types_of(op.results);
    OpState state;
    state.factors = op.def->factors(operands, results, op.params);
    state.tensors.assign(op.results.begin(), op.results.end());
    state.tensors.insert(state.tensors.end(), op.operands.begin(), op.operands.end());
    for (const TensorFactors& t : state.factors.results) state.dims.push_back(t);
    for (const TensorFactors& t : state.factors.operands) state.dims.push_back(t);
    TESSERA_CHECK(state.dims.size() == state.tensors.size(), "{}: factors of every tensor",
                  op.def->name);
    state.pinned.resize(state.factors.factors.size());

    state.broadcast = repeats_operands(state.factors);
    const bool all_pass =
        std::all_of(state.factors.factors.begin(), state.factors.factors.end(),
                    [](const Factor& factor) { return factor.kind == FactorKind::kPass; });
    const auto* border = std::get_if<ManualBorder>(&op.def->lower);
    state.elementwise =
        all_pass && !state.broadcast && !op.operands.empty() &&
        (op.operands.size() == 1 || std::holds_alternative<Pointwise>(op.def->lower)) &&
        (border || results[0].elements() == operands.back().elements() ||
         std::holds_alternative<Pointwise>(op.def->lower));
    state.single_use = std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
      return f_.types[v].rank() == 0 || uses[v] == 1;
    });
    if (border) {
      const auto& p = op.params.as<ManualBoundaryParams>();
      const TensorFactors& full =
          border->entering ? state.factors.operands[0] : state.factors.results[0];
      for (size_t d = 0; d < full.size(); ++d)
        if (full[d].size() > 1)
          state.pinned[full[d][0]] =
              mesh_.atoms("shard_map", p.spec.dim(static_cast<int64_t>(d)).axes, p.mesh);
    }
    return state;
  }

  const Function& f_;
  const std::vector<ValueId>& source_;
  const AtomMesh& mesh_;
  const ValueIds& states_;
  std::vector<AtomSet> manual_;
  std::vector<OpState> ops_;
  // For each value: the ops and ties that read or write it.
  std::vector<std::vector<int>> touching_;
};

class Propagation {
 public:
  // The pinned shardings of `held_back` neither spread nor change before the rest has spread.
  Propagation(const Problem& problem, std::span<const ValueId> held_back)
      : problem_(problem), f_(problem.function()), mesh_(problem.mesh()), values_(f_.types.size()) {
    for (size_t v = 0; v < values_.size(); ++v) {
      values_[v].dims.resize(f_.types[v].rank());
      values_[v].open.assign(f_.types[v].rank(), true);
    }
    for (ValueId v : held_back) values_[problem_.state_of(v)].held_back = true;
  }

  // Sets a value's sharding to what the user wrote. Its closed dimensions do not change after that.
  void pin(ValueId v, const NamedSharding& sharding) {
    v = problem_.state_of(v);
    ValueState& state = values_[v];
    if (state.held_back) {
      state.open.assign(state.open.size(), false);
      held_back_.emplace_back(v, sharding);
      return;
    }
    state.dims = mesh_.dims(sharding, f_.types[v].rank());
    for (size_t d = 0; d < state.open.size(); ++d)
      state.open[d] = sharding.is_open(static_cast<int64_t>(d));
    state.replicated |= atom_set(mesh_.atoms(sharding.spec().replicated()));
  }

  void run() {
    run_tiers();
    if (held_back_.empty()) return;
    for (const auto& [v, sharding] : held_back_) {
      values_[v].held_back = false;
      pin(v, sharding);
    }
    run_tiers();
  }

  // Returns the sharding of every value. Equal shardings are the same object.
  Shardings shardings() const {
    Shardings out;
    for (size_t v = 0; v < values_.size(); ++v)
      out.push_back(mesh_.sharding(values_[problem_.state_of(static_cast<ValueId>(v))].dims));
    return out;
  }

 private:
  void run_tiers() {
    for (int tier = 0; tier < kNumTiers; ++tier) run_tier(static_cast<Tier>(tier));
  }

  void run_tier(Tier tier) {
    const std::vector<OpState>& ops = problem_.ops();
    std::deque<int> worklist;
    std::vector<char> queued(ops.size(), true);
    for (int i = 0; i < static_cast<int>(ops.size()); ++i) worklist.push_back(i);
    std::vector<ValueId> changed;
    while (!worklist.empty()) {
      const int i = worklist.front();
      worklist.pop_front();
      queued[i] = false;
      if (ops[i].tensors.empty() || !takes_part(ops[i], tier)) continue;
      changed.clear();
      step(ops[i], tier, changed);
      for (ValueId v : changed)
        for (int k : problem_.touching(v)) {
          if (queued[k]) continue;
          queued[k] = true;
          worklist.push_back(k);
        }
    }
  }

  static bool takes_part(const OpState& op, Tier tier) {
    if (tier >= kPassThrough) return true;
    return op.elementwise && (op.single_use || tier == kElementwise);
  }

  Projection project(const OpState& op, size_t t) const {
    const ValueState& value = values_[op.tensors[t]];
    return Projection(op.factors, op.dims[t], value.dims, value.open, mesh_);
  }

  // Updates the tensors of an op: for every factor, the best axes that one tensor has spread to the
  // others if they fit.
  void step(const OpState& op, Tier tier, std::vector<ValueId>& changed) {
    std::vector<Projection> projections;
    for (size_t t = 0; t < op.tensors.size(); ++t) projections.push_back(project(op, t));

    // Larger sources come first. Among equally large ones, results come before operands, and
    // earlier factors before later ones.
    struct Source {
      int64_t size;
      int factor;
    };
    std::vector<Source> order;
    for (int f = 0; f < static_cast<int>(op.factors.factors.size()); ++f) {
      if (tier < kAllFactors && op.factors.factors[f].kind != FactorKind::kPass) continue;
      int64_t size = op.pinned[f].empty() ? -1 : INT64_MAX;
      for (size_t t = 0; t < op.tensors.size(); ++t)
        if (!projections[t].atoms(f).empty())
          size = std::max(size, f_.types[op.tensors[t]].elements());
      if (size >= 0) order.push_back({size, f});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Source& a, const Source& b) { return a.size > b.size; });
    const bool backward_only = op.broadcast && tier < kAllFactors;
    const size_t num_results = op.factors.results.size();
    for (const Source& source : order) {
      const AtomList best = best_axes(op, projections, source.factor);
      for (size_t t = 0; t < op.tensors.size(); ++t) {
        if (backward_only && t < num_results) continue;
        if (extend(op, t, projections[t], source.factor, best)) {
          changed.push_back(op.tensors[t]);
          for (size_t k = 0; k < op.tensors.size(); ++k)  // the same value may be several operands
            if (op.tensors[k] == op.tensors[t]) projections[k] = project(op, k);
        }
      }
    }
  }

  // Returns the axes that the largest tensor has for the factor, or a longer list of another tensor
  // that starts with these.
  AtomList best_axes(const OpState& op, const std::vector<Projection>& projections,
                     int factor) const {
    AtomList best = op.pinned[factor];
    std::vector<size_t> by_size;
    for (size_t t = 0; t < op.tensors.size(); ++t)
      if (!projections[t].atoms(factor).empty()) by_size.push_back(t);
    std::stable_sort(by_size.begin(), by_size.end(), [&](size_t a, size_t b) {
      return f_.types[op.tensors[a]].elements() > f_.types[op.tensors[b]].elements();
    });
    for (size_t t : by_size)
      if (op.pinned[factor].empty() && is_prefix(best, projections[t].atoms(factor)))
        best = projections[t].atoms(factor);
    return best;
  }

  // Adds to tensor `t` the axes of `target` that it lacks for `factor`, if they are free there.
  bool extend(const OpState& op, size_t t, const Projection& now, int factor,
              const AtomList& target) {
    ValueState& state = values_[op.tensors[t]];
    const AtomList& have = now.atoms(factor);
    if (!now.usable(factor) || have.size() >= target.size() || !is_prefix(have, target))
      return false;
    int dim = -1;
    for (size_t d = 0; d < op.dims[t].size(); ++d)
      for (size_t k = 0; k < op.dims[t][d].size(); ++k)
        if (op.dims[t][d][k] == factor) dim = static_cast<int>(d);
    const AtomSet taken =
        used_atoms(state.dims) | state.replicated | problem_.manual(op.tensors[t]);
    const Factor& about = op.factors.factors[factor];
    const AtomList longer =
        about.kind == FactorKind::kPermutation
            ? extended_whole_axes(have, target, taken, f_.types[op.tensors[t]].shape[dim])
            : extended(have, target, taken, about.size, op.dims[t][dim].size() == 1);
    state.dims[dim].insert(state.dims[dim].end(), longer.begin(), longer.end());
    return !longer.empty();
  }

  // Returns the part of `target` that may follow `have` in a factor of `size`. In a dimension of
  // several factors shards must be even, since an uneven shard would shift the factors after it.
  AtomList extended(const AtomList& have, const AtomList& target, AtomSet taken, int64_t size,
                    bool may_be_uneven) const {
    AtomList out;
    int64_t rest = size % mesh_.size(have) ? 0 : size / mesh_.size(have);
    if (rest == 0 && !may_be_uneven) return out;
    for (size_t k = have.size(); k < target.size(); ++k) {
      const Atom a = target[k];
      if (taken & atom_bit(a)) break;
      if (rest % mesh_.size(a)) {
        if (!may_be_uneven) break;
        rest = 0;
      } else {
        rest /= mesh_.size(a);
      }
      out.push_back(a);
    }
    return out;
  }

  // Returns the part of `target` that may follow `have` if the dimension's extent differs from the
  // source's (slice, pad). It consists of whole axes, as long as every device gets some elements.
  AtomList extended_whole_axes(const AtomList& have, const AtomList& target, AtomSet taken,
                               int64_t extent) const {
    AtomList out;
    int64_t shards = mesh_.size(have);
    for (size_t k = have.size(); k < target.size();) {
      AtomList axis;
      for (; k < target.size() && (axis.empty() || mesh_.axis(target[k]) == mesh_.axis(axis[0]));
           ++k)
        axis.push_back(target[k]);
      shards *= mesh_.size(axis);
      if ((taken & atom_set(axis)) || (shards - 1) * ceil_div(extent, shards) >= extent) break;
      out.insert(out.end(), axis.begin(), axis.end());
    }
    return out;
  }

  const Problem& problem_;
  const Function& f_;
  const AtomMesh& mesh_;
  std::vector<ValueState> values_;
  Pins held_back_;
};

// Returns the shardings that the user gave: those of inputs, then those of constraints.
Pins pins_of(const Function& flat, const Mesh& mesh, const ShardingRequest& request) {
  Pins out;
  for (size_t i = 0; i < request.inputs.size(); ++i)
    if (request.inputs[i])
      out.emplace_back(flat.inputs[i], translate("jit", *request.inputs[i], mesh));
  for (const Op& op : flat.ops)
    if (std::holds_alternative<Constraint>(op.def->lower))
      out.emplace_back(op.results[0], op.params.as<ShardingConstraintParams>().sharding);
  return out;
}

// Returns the function with all constraints expressed on `mesh`.
Function on_one_mesh(Function f, const Mesh& mesh) {
  for (Op& op : f.ops) {
    if (std::holds_alternative<Constraint>(op.def->lower)) {
      const NamedSharding& sharding = op.params.as<ShardingConstraintParams>().sharding;
      if (!(sharding.mesh() == mesh))
        op.params = ShardingConstraintParams{translate("with_sharding_constraint", sharding, mesh)};
    }
    op.params =
        map_control_regions(op, [&](const Function& region) { return on_one_mesh(region, mesh); });
  }
  return f;
}

}  // namespace

Function pin_shardings(const Function& function, const Mesh& mesh, const ShardingRequest& request) {
  Function f = on_one_mesh(function, mesh);
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    if (!request.outputs[i]) continue;
    const Type type = f.types[f.outputs[i]];
    check_rank("out_shardings", *request.outputs[i], type.shape);
    f.outputs[i] =
        f.add_op(sharding_constraint_op,
                 ShardingConstraintParams{translate("out_shardings", *request.outputs[i], mesh)},
                 {f.outputs[i]}, std::span(&type, 1), "out_shardings")[0];
  }
  return f;
}

std::vector<Function> propagate_in_orders(const Function& function, const Mesh& mesh,
                                          const ShardingRequest& request,
                                          std::span<const ValueIds> orders) {
  const AtomMesh atoms(mesh);
  OpenedRegions opened = open_regions(function);
  const Pins pins = pins_of(opened.flat, mesh, request);
  const ValueIds states = group_states(opened.flat, pins);
  const Problem problem(opened, atoms, states);
  std::vector<Function> out;
  std::vector<Shardings> seen;
  for (const ValueIds& held_back : orders) {
    Propagation propagation(problem, held_back);
    for (const auto& [v, sharding] : pins) propagation.pin(v, sharding);
    propagation.run();
    const Shardings shardings = propagation.shardings();
    if (contains(seen, shardings)) continue;
    for (size_t v = 0; v < shardings.size(); ++v) opened.flat.types[v].sharding = shardings[v];
    out.push_back(close_regions(opened));
    seen.push_back(shardings);
  }
  return out;
}

Function propagate(const Function& function, const Mesh& mesh, const ShardingRequest& request,
                   const ValueIds& held_back) {
  return std::move(propagate_in_orders(function, mesh, request, {&held_back, 1})[0]);
}

Mesh program_mesh(const Function& function, const ShardingRequest& request) {
  // `inside` has the meshes that constraints and manual computations name, `outside` those of
  // inputs and outputs.
  // Each mesh is listed once, since a program names one in many places.
  std::vector<Mesh> inside, outside;
  auto add = [](std::vector<Mesh>& meshes, const Mesh& mesh) {
    if (mesh.rank() == 0) return;  // the empty mesh of a scalar has no information
    if (!contains(meshes, mesh)) meshes.push_back(mesh);
  };
  const std::function<void(const Function&)> collect = [&](const Function& f) {
    for (const Op& op : f.ops) {
      if (std::holds_alternative<Constraint>(op.def->lower))
        add(inside, op.params.as<ShardingConstraintParams>().sharding.mesh());
      if (std::holds_alternative<ManualBorder>(op.def->lower))
        add(inside, op.params.as<ManualBoundaryParams>().mesh);
      for (const FunctionRef& region : control_regions(op)) collect(*region);
    }
  };
  collect(flatten_regions(function));
  for (const auto* list : {&request.inputs, &request.outputs})
    for (const std::optional<NamedSharding>& s : *list)
      if (s) add(outside, s->mesh());
  const Mesh* order = !inside.empty() ? &inside[0] : !outside.empty() ? &outside[0] : nullptr;
  if (!order) return Mesh();
  // The inputs' meshes come first and win among equally fine ones, so results compare equal to
  // inputs.
  std::vector<Mesh> all = outside;
  for (const Mesh& m : inside) add(all, m);
  for (const Mesh& m : all) {
    if (m == *order) continue;
    std::vector<int64_t> a = order->device_ids(), b = m.device_ids();
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (a != b)
      sharding_error("jit",
                     "expected all shardings of one program to be over the same devices, got {} "
                     "and {}; device_put the arrays to one mesh first",
                     in_contrast(*order, m), in_contrast(m, *order));
  }
  const Mesh* finest = nullptr;
  for (const Mesh& m : all)
    if (same_device_order(*order, m) && (!finest || m.rank() > finest->rank())) finest = &m;
  return *finest;
}

}  // namespace tessera::sharding
