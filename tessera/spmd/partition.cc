#include "tessera/spmd/partition.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "tessera/ir/axis_env.h"
#include "tessera/ops/broadcast.h"
#include "tessera/ops/collectives.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/control_flow.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/manual_boundary.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/reshape.h"
#include "tessera/sharding/merge_equal_ops.h"
#include "tessera/spmd/assignment.h"
#include "tessera/spmd/partition_control.h"
#include "tessera/spmd/reasons.h"
#include "tessera/spmd/refine_mesh.h"
#include "tessera/spmd/reshard.h"
#include "tessera/spmd/shard_masks.h"
#include "tessera/spmd/windows.h"
#include "tessera/trace/trace.h"

namespace tessera {
namespace {

// What a function and the regions inside it have in common.
struct Program {
  Program(const Function& f, const Mesh& mesh)
      : user_mesh(mesh), user_atoms(mesh), mesh(refine_mesh(mesh, f), AtomMesh::Atoms::kAxes) {}
  const Mesh user_mesh;
  const AtomMesh user_atoms;
  const AtomMesh mesh;
  std::map<std::pair<const NamedSharding*, int64_t>, DimAtoms> declared;
  std::vector<Reason> reasons;
  std::vector<Note> notes;
  std::set<std::string> noted;  // padding is told once
};

class Partitioner {
 public:
  Partitioner(const Function& f, Program& program)
      : f_(f),
        program_(program),
        user_mesh_(program.user_mesh),
        user_atoms_(program.user_atoms),
        mesh_(program.mesh),
        reasons_(program.reasons),
        notes_(program.notes),
        locals_(f.types.size()),
        uses_(f.types.size(), 0),
        moved_(f.types.size(), 0),
        makers_(f.types.size(), nullptr),
        trace_(f.name) {
    for (const Op& op : f.ops) {
      for (ValueId v : op.operands) ++uses_[v];
      for (ValueId v : op.results) makers_[v] = &op;
    }
    for (ValueId v : f.outputs) ++uses_[v];
  }

  Partitioned run() {
    const AxisEnv::Scope scope(mesh_.mesh(), mesh_.mesh().axis_names(), /*check_vma=*/false);
    Partitioned out;
    for (ValueId v : f_.inputs) {
      const DimAtoms dims = declared(v);
      locals_[v] = {trace_.add_input(local_type(v, dims)), dims};
      note_padding(v, "input", {});
    }
    for (const Op& op : f_.ops) visit(op);
    std::vector<Array> outputs;
    for (ValueId v : f_.outputs) outputs.push_back(locals_[v].array);
    out.function = merge_equal_ops(finish_trace(outputs));
    out.mesh = mesh_.mesh();
    for (ValueId v : f_.inputs) out.inputs.push_back(*f_.types[v].sharding);
    for (ValueId v : f_.outputs) out.outputs.push_back(*f_.types[v].sharding);
    out.collectives = list_collectives(out.function, out.mesh, reasons_);
    for (Collective& c : out.collectives) c.axes = user_names(c.axes);
    // A region may have been partitioned more than once.
    for (Note& note : notes_) {
      const bool told = std::any_of(out.notes.begin(), out.notes.end(), [&](const Note& n) {
        return n.op == note.op && n.source == note.source && n.text == note.text;
      });
      if (!told) out.notes.push_back(std::move(note));
    }
    return out;
  }

  // The function as a region of the op `of`.
  Function run_region(const Op& of, std::span<const Type> types,
                      const std::vector<DimAtoms>& inputs, const std::vector<DimAtoms>& outputs) {
    for (size_t k = 0; k < f_.inputs.size(); ++k)
      locals_[f_.inputs[k]] = {trace_.add_input(types[k]), inputs[k]};
    for (const Op& op : f_.ops) visit(op);
    std::vector<Array> results;
    for (size_t k = 0; k < f_.outputs.size(); ++k)
      results.push_back(as(f_.outputs[k], outputs[k], of,
                           fmt::format("result {} of a region of {}", k, of.def->name)));
    return finish_trace(results);
  }

 private:
  struct Local {
    Array array;
    DimAtoms dims;
  };

  Function finish_trace(std::span<const Array> outputs) {
    Function out = trace_.finish(outputs);
    TESSERA_CHECK(trace_.captures().empty(), "partition captures nothing");
    return looked_behind_ ? remove_dead_ops(out) : out;
  }

  // The sharding that propagation gave to a value, on the refined mesh.
  DimAtoms declared(ValueId v) { return declared(f_.types[v]); }
  DimAtoms declared(const Type& type) {
    TESSERA_CHECK(type.sharding != nullptr, "partition needs a propagated function");
    auto [it, is_new] = program_.declared.try_emplace({type.sharding.get(), type.rank()});
    if (is_new)
      it->second = mesh_.dims(translate("partition", *type.sharding, mesh_.mesh()), type.rank());
    return it->second;
  }

  Type local_type(ValueId v, const DimAtoms& dims) const {
    Type t = f_.types[v];
    t.shape = local_shape(mesh_, t.shape, dims);
    t.sharding = nullptr;
    t.varying = mesh_.axis_names(mesh_.ordered(used_atoms(dims)));
    std::sort(t.varying.begin(), t.varying.end());
    return t;
  }

  // The value under another sharding; equal requests share one resharding.
  Array as(ValueId v, const DimAtoms& dims, const Op& op, const std::string& why) {
    const Local& local = locals_[v];
    if (local.dims == dims) return local.array;
    auto [it, is_new] =
        resharded_.try_emplace({v, std::vector<AtomList>(dims.begin(), dims.end())});
    if (is_new) it->second = reshard(local.array, f_.types[v], local.dims, dims, op, why);
    return it->second;
  }

  Array reshard(const Array& x, const Type& global, const DimAtoms& from, const DimAtoms& to,
                const Op& op, const std::string& why) {
    if (from == to) return x;
    const std::vector<ReshardStep> plan = plan_reshard(mesh_, global.shape, global.dtype, from, to);
    const std::string text = fmt::format("{}: {} to {}", why, spec_text(from), spec_text(to));
    int64_t moved = 0;
    for (const ReshardStep& step : plan) moved += step.bytes;
    if (!plan.empty() && used_atoms(from) && !used_atoms(to) && moved > 0) {
      // Weights are gathered for a product on purpose, and gains or biases to be repeated in
      // something larger; elsewhere it is hardly meant, unless it is small.
      const bool repeated = op.def == &broadcast_in_dim_op &&
                            f_.types[op.results[0]].shape.elements() > global.shape.elements();
      constexpr int64_t kSmall = 64 << 10;
      const bool warning =
          !repeated && moved >= kSmall && !std::holds_alternative<Library>(op.def->lower);
      notes_.push_back(
          {warning, std::string(op.def->name), op.source,
           fmt::format("{} gathers {} whole on every device ({} bytes each)", why, describe(global),
                       moved),
           op.def == &sharding_constraint_op
               ? "constrain to a spec that keeps the mesh axes, such as " + spec_text(from)
               : "keep the dimension unsharded, or constrain the operand to another sharding"});
    }
    return with_reason({std::string(op.def->name), op.source, text},
                       [&] { return apply_reshard(mesh_, global.shape, plan, x); });
  }

  // Collectives bound by `bind_ops` are there for this reason.
  template <class F>
  Array with_reason(Reason reason, F&& bind_ops) {
    const size_t outer = reason_;
    reasons_.push_back(std::move(reason));
    reason_ = reasons_.size();
    const SourceScope scope(reason_mark(reason_));
    Array out = bind_ops();
    reason_ = outer;
    return out;
  }

  void visit(const Op& op) {
    if (const auto* control = std::get_if<Control>(&op.def->lower)) {
      switch (control->kind) {
        case ControlKind::kConstraint:
          return visit_constraint(op);
        case ControlKind::kManualComputation:
          return visit_border(op);
        case ControlKind::kIdentity:
          break;
        case ControlKind::kWhile:
        case ControlKind::kScan:
        case ControlKind::kCase:
          return visit_control(op);
        default:
          sharding_error(
              op.def->name,
              "expected an op that can be partitioned over {}, got {}; run it on one device",
              user_mesh_, op.def->name);
      }
    }
    if (!op.def->factors) return visit_replicated(op);
    const std::vector<Type> operands = f_.types_of(op.operands), results = f_.types_of(op.results);
    Factors factors = op.def->factors(operands, results, op.params);
    forbid_uneven(op, factors);
    const FactorAssignment a = choose_assignment(
        mesh_, factors, operands, results, shardings(op.operands), declared_shardings(op.results));
    if (visit_windows(op, factors, operands, results, a)) return;
    std::vector<Array> local;
    for (size_t k = 0; k < op.operands.size(); ++k)
      local.push_back(
          as(op.operands[k], a.operands[k], op, fmt::format("operand {} of {}", k, op.def->name)));
    mask_padding(mesh_, op, factors, a, operands, local);
    finish(op, factors, a, rebuild(op, a, std::move(local)));
  }

  void visit_control(const Op& op) {
    class Rules final : public ControlPartition {
     public:
      Rules(Partitioner& p, const Op& op) : p_(p), op_(op) {}
      Array operand(size_t k, const DimAtoms& dims) override {
        return p_.as(op_.operands[k], dims, op_, fmt::format("operand {} of {}", k, op_.def->name));
      }
      DimAtoms declared(const Type& type) override { return p_.declared(type); }
      Function region(const Function& region, std::span<const Type> types,
                      const std::vector<DimAtoms>& inputs,
                      const std::vector<DimAtoms>& outputs) override {
        return Partitioner(region, p_.program_).run_region(op_, types, inputs, outputs);
      }
      void settle(size_t r, const Array& x, const DimAtoms& dims) override {
        p_.settle(op_, r, x, dims);
      }

     private:
      Partitioner& p_;
      const Op& op_;
    };
    Rules rules(*this, op);
    partition_control(op, f_, rules);
  }

  // Whether sending rows where they are needed is cheaper than what `other` does; then the op is
  // rebuilt so.
  bool visit_windows(const Op& op, const Factors& factors, const std::vector<Type>& operands,
                     const std::vector<Type>& results, const FactorAssignment& other) {
    const auto* map = std::get_if<IndexMap>(&op.def->lower);
    if (!map || results.size() != 1) return false;
    const std::vector<TensorSharding> in = shardings(op.operands),
                                      out = declared_shardings(op.results);
    const FactorAssignment a = assign_factors(mesh_, factors, in, out, {.cut_windows = true});
    if (!cuts_windows(factors, a)) return false;
    const WindowRequest plain{map->map(op.params, operands, results), operands, a.operands,
                              results[0], a.results[0]};
    // What the operands were moved for is not needed where the op looks behind them.
    int64_t behind_cost = 0;
    for (ValueId v : op.operands)
      if (uses_[v] == 1) behind_cost += moved_[v];
    int64_t least =
        behind_cost + assignment_cost(mesh_, factors, other, operands, results, in, out);
    std::optional<WindowPlan> best;
    WindowRequest request;
    ValueIds sources;
    auto consider = [&](const WindowRequest& r, const ValueIds& from, int64_t beside) {
      std::optional<WindowPlan> plan = plan_windows(mesh_, r);
      if (!plan) return;
      FactorAssignment b = a;
      b.results[0] = plan->result_dims;
      b.reduced = plan->reduced;
      const int64_t cost =
          plan->cost + beside + assignment_cost(mesh_, factors, b, operands, results, in, out);
      if (cost > least) return;
      least = cost;
      best = std::move(plan);
      request = r;
      sources = from;
    };
    consider(plain, op.operands, behind_cost);
    WindowRequest summed = plain;
    summed.partial = true;
    consider(summed, op.operands, behind_cost);
    WindowRequest composed = plain;
    ValueIds behind = op.operands;
    if (look_behind(composed, behind)) consider(composed, behind, 0);
    if (!best) return false;
    moved_[op.results[0]] = best->cost;
    looked_behind_ = looked_behind_ || sources != op.operands;
    move_rows(op, *best, request, sources);
    return true;
  }
  static bool cuts_windows(const Factors& factors, const FactorAssignment& a) {
    for (size_t id = 0; id < factors.factors.size(); ++id)
      if (!a.axes[id].empty() && (factors.factors[id].kind == FactorKind::kPermutation ||
                                  factors.factors[id].kind == FactorKind::kNeedReplication))
        return true;
    return false;
  }

  // Slices and reversals that only this op reads become part of its map: roll is a concatenation of
  // two slices, and moves rows once.
  bool look_behind(WindowRequest& request, ValueIds& values) {
    bool found = false;
    for (IndexPiece& piece : request.mapping.pieces) {
      const auto k = static_cast<size_t>(piece.operand);
      while (uses_[values[k]] == 1 && makers_[values[k]]) {
        const Op& maker = *makers_[values[k]];
        const auto* map = std::get_if<IndexMap>(&maker.def->lower);
        if (!map || maker.operands.size() != 1 || maker.results.size() != 1) break;
        const ValueId source = maker.operands[0];
        const std::vector<Type> from = f_.types_of(maker.operands), to = f_.types_of(maker.results);
        const IndexMapping inner = map->map(maker.params, from, to);
        if (!compose_windows(inner, piece)) break;
        values[k] = source;
        request.operands[k] = from[0];
        request.operand_dims[k] = locals_[source].dims;
        found = true;
      }
      // Halves of one array are pieces of one operand.
      const auto first = std::find(values.begin(), values.end(), values[k]) - values.begin();
      if (request.operand_dims[first] == request.operand_dims[k])
        piece.operand = static_cast<int>(first);
    }
    return found;
  }

  void move_rows(const Op& op, const WindowPlan& plan, const WindowRequest& request,
                 const ValueIds& sources) {
    std::vector<Array> local;
    for (size_t k = 0; k < sources.size(); ++k)
      local.push_back(as(sources[k], request.operand_dims[k], op,
                         fmt::format("operand {} of {}", k, op.def->name)));
    const Reason reason{
        std::string(op.def->name), op.source,
        fmt::format("rows of other shards that the shards of {} are made of", op.def->name)};
    DimAtoms dims = plan.result_dims;
    const Type& result = f_.types[op.results[0]];
    Array x = with_reason(reason, [&] {
      return apply_windows(mesh_, plan, local_type(op.results[0], dims).shape, local);
    });
    if (plan.reduced)
      x = complete(reason, window_combiner(result.dtype), result, plan.reduced,
                   declared(op.results[0]), dims, std::move(x));
    settle(op, 0, x, dims);
  }

  // A fold of unknown kind has no neutral element to fill padding with: its dimension is not cut
  // unevenly.
  void forbid_uneven(const Op& op, Factors& factors) {
    if (can_mask_padding(op, factors)) return;
    std::vector<AtomList> used(factors.factors.size());
    for (size_t id = 0; id < factors.factors.size(); ++id) {
      Factor& f = factors.factors[id];
      if (f.kind != FactorKind::kReduction) continue;
      for (size_t k = 0; k < op.operands.size(); ++k)
        for (size_t d = 0; d < factors.operands[k].size(); ++d)
          for (int g : factors.operands[k][d])
            if (g == static_cast<int>(id) && f.size % mesh_.size(locals_[op.operands[k]].dims[d]))
              f.kind = FactorKind::kNeedReplication;
    }
  }

  std::vector<TensorSharding> shardings(std::span<const ValueId> values) const {
    std::vector<TensorSharding> out;
    for (ValueId v : values) out.push_back({locals_[v].dims, f_.types[v].elements()});
    return out;
  }
  std::vector<TensorSharding> declared_shardings(std::span<const ValueId> values) {
    std::vector<TensorSharding> out;
    for (ValueId v : values) out.push_back({declared(v), f_.types[v].elements()});
    return out;
  }

  class Context final : public LocalContext {
   public:
    Context(const Partitioner& p, const Op& op, const FactorAssignment& a) : p_(p), op_(op), a_(a) {
      for (size_t r = 0; r < op.results.size(); ++r)
        types_.push_back(p.local_type(op.results[r], a.results[r]));
    }
    const Type& local_result(int r) const override { return types_[r]; }
    const Type& global_operand(int k) const override { return p_.f_.types[op_.operands[k]]; }
    const Type& global_result(int r) const override { return p_.f_.types[op_.results[r]]; }
    Array result_offset(int r, int dim) const override {
      return offset(types_[r].shape[dim], a_.results[r][dim]);
    }
    Array operand_offset(int k, int dim) const override {
      const int64_t n = p_.mesh_.size(a_.operands[k][dim]);
      return offset(ceil_div(global_operand(k).shape[dim], n), a_.operands[k][dim]);
    }

   private:
    Array offset(int64_t size, const AtomList& atoms) const {
      if (atoms.empty()) return Array(Literal::scalar<int32_t>(0));
      return lax::mul(atom_index(p_.mesh_, atoms),
                      Array(Literal::scalar(static_cast<int32_t>(std::max<int64_t>(size, 1)))));
    }
    const Partitioner& p_;
    const Op& op_;
    const FactorAssignment& a_;
    std::vector<Type> types_;
  };

  std::vector<Array> rebuild(const Op& op, const FactorAssignment& a, std::vector<Array> local) {
    const OpParams params = on_this_mesh(op);
    const bool is_user_collective = std::holds_alternative<CollectiveLowering>(op.def->lower);
    std::optional<SourceScope> scope;
    if (is_user_collective) {
      reasons_.push_back({op.source.empty() ? std::string(op.def->name) : op.source, op.source,
                          "called by the program"});
      scope.emplace(reason_mark(reasons_.size()));
    } else if (!op.source.empty()) {
      scope.emplace(op.source);
    }
    const Context context(*this, op, a);
    return op.def->localize ? op.def->localize(local, params, context)
                            : tessera::bind(*op.def, params, local);
  }

  // Collectives of manual computations name the user's mesh: the same axes on the refined one.
  OpParams on_this_mesh(const Op& op) const {
    if (!std::holds_alternative<CollectiveLowering>(op.def->lower)) return op.params;
    std::vector<Attribute> fields = op.params.fields();
    const Mesh* from = nullptr;
    for (const Attribute& field : fields)
      if (const auto* mesh = std::get_if<Mesh>(&field)) from = mesh;
    if (!from || *from == mesh_.mesh()) return op.params;
    for (Attribute& field : fields)
      if (auto* axes = std::get_if<std::vector<std::string>>(&field)) {
        std::vector<AxisRef> refs;
        for (const std::string& name : *axes) refs.push_back({name});
        std::vector<std::string> names;
        for (const AxisRef& ref : translate_axes(op.def->name, refs, *from, mesh_.mesh()))
          names.push_back(ref.name);
        *axes = names;
      }
    for (Attribute& field : fields)
      if (std::holds_alternative<Mesh>(field)) field = mesh_.mesh();
    return op.params.with_fields(fields);
  }

  // Completes partial results, and gives each result the sharding it was declared with.
  void finish(const Op& op, const Factors& factors, const FactorAssignment& a,
              std::vector<Array> results) {
    if (a.reduced && std::holds_alternative<Reduce>(op.def->lower) &&
        (op.results.size() > 1 || factors.combiner > ReduceKind::kOr)) {
      results = reduce_gathered(op, a, std::move(results));
    } else if (a.reduced) {
      for (size_t r = 0; r < results.size(); ++r) {
        DimAtoms dims = a.results[r];
        results[r] = reduce_partial(op, factors, a, r, dims, results[r]);
        settle(op, r, results[r], dims);
      }
      return;
    }
    for (size_t r = 0; r < results.size(); ++r) settle(op, r, results[r], a.results[r]);
  }

  void settle(const Op& op, size_t r, const Array& x, const DimAtoms& dims) {
    const ValueId v = op.results[r];
    const DimAtoms wanted = declared(v);
    locals_[v] = {
        reshard(x, f_.types[v], dims, wanted, op, fmt::format("result of {}", op.def->name)),
        wanted};
    note_padding(v, op.def->name, op.source);
  }

  // "dot_general sums over dimension 1 of operand 0, which is cut over 'x'".
  std::string fold_text(const Op& op, const Factors& factors, const FactorAssignment& a) const {
    constexpr std::array<const char*, 9> kVerbs = {"sums over",
                                                   "multiplies over",
                                                   "takes the minimum over",
                                                   "takes the maximum over",
                                                   "joins by 'and'",
                                                   "joins by 'or'",
                                                   "searches",
                                                   "searches",
                                                   "folds"};
    std::vector<std::string> dims;
    for (size_t d = 0; d < factors.operands[0].size(); ++d)
      for (int id : factors.operands[0][d])
        if (factors.factors[id].kind == FactorKind::kReduction && !a.axes[id].empty())
          dims.push_back(std::to_string(d));
    return fmt::format("{} {} dimension{} {} of operand 0, cut over '{}'", op.def->name,
                       kVerbs[static_cast<size_t>(factors.combiner)], dims.size() == 1 ? "" : "s",
                       fmt::join(dims, " and "),
                       fmt::join(user_names(mesh_.axis_names(mesh_.ordered(a.reduced))), "', '"));
  }

  Array reduce_partial(const Op& op, const Factors& factors, const FactorAssignment& a, size_t r,
                       DimAtoms& dims, Array x) {
    return complete({std::string(op.def->name), op.source, fold_text(op, factors, a)},
                    factors.combiner, f_.types[op.results[r]], a.reduced, declared(op.results[r]),
                    dims, std::move(x));
  }

  // Partial results over `reduced`: reduce_scatter where the wanted sharding cuts a dimension by
  // these axes next, all_reduce over the rest.
  Array complete(const Reason& reason, ReduceKind kind, const Type& global, AtomSet reduced,
                 const DimAtoms& wanted, DimAtoms& dims, Array x) {
    const PartialPlan plan = plan_partial(mesh_, global, reduced, dims, wanted);
    dims = plan.dims;
    return with_reason(reason, [&] {
      for (const PartialPlan::Scatter& scatter : plan.scatters)
        x = bind1(reduce_scatter_op,
                  ReduceScatterParams{.mesh = mesh_.mesh(),
                                      .axes = mesh_.axis_names(scatter.atoms),
                                      .kind = kind,
                                      .dim = scatter.dim},
                  {x});
      if (!plan.all_reduced) return x;
      return bind1(all_reduce_op,
                   AllReduceParams{.mesh = mesh_.mesh(),
                                   .axes = mesh_.axis_names(mesh_.ordered(plan.all_reduced)),
                                   .kind = kind},
                   {x});
    });
  }

  // Folds without a collective of their own (argmax, any region): gather the partial results and
  // fold them once more.
  std::vector<Array> reduce_gathered(const Op& op, const FactorAssignment& a,
                                     std::vector<Array> partial) {
    const AtomList over = mesh_.ordered(a.reduced);
    const auto& p = op.params.as<ReduceParams>();
    std::vector<Array> operands;
    for (const Array& x : partial) {
      const Reason reason{std::string(op.def->name), op.source,
                          "partial results of a fold that no all_reduce does"};
      operands.push_back(with_reason(reason, [&] {
        Shape shape = x.shape();
        shape.insert(shape.begin(), 1);
        return bind1(
            all_gather_op,
            AllGatherParams{.mesh = mesh_.mesh(), .axes = mesh_.axis_names(over), .dim = 0},
            {lax::reshape(x, shape)});
      }));
    }
    for (size_t k = partial.size(); k < op.operands.size(); ++k)
      operands.push_back(locals_[op.operands[k]].array);
    ReduceParams again = p;
    again.dims = {0};
    return tessera::bind(reduce_op, again, operands);
  }

  void visit_constraint(const Op& op) {
    const Local& x = locals_[op.operands[0]];
    const DimAtoms wanted = declared(op.results[0]);
    locals_[op.results[0]] = {
        reshard(x.array, f_.types[op.operands[0]], x.dims, wanted, op, "constraint"), wanted};
    note_padding(op.results[0], op.def->name, op.source);
  }

  // Entering and leaving a manual computation moves nothing once the value is cut along the manual
  // axes first.
  void visit_border(const Op& op) {
    const auto& p = op.params.as<ManualBoundaryParams>();
    const bool entering = op.def == &full_to_shard_op;
    const ValueId full = entering ? op.operands[0] : op.results[0],
                  shard = entering ? op.results[0] : op.operands[0];
    const DimAtoms inside = entering ? declared(shard) : locals_[shard].dims;
    AtomSet manual = 0;
    for (const std::string& name : p.manual_axes)
      manual |=
          atom_set(mesh_.atoms(translate_axes("shard_map", {AxisRef{name}}, p.mesh, mesh_.mesh())));
    // Blocks that each have padding of their own do not lie as the shards of the whole do: there
    // the block is not cut while it passes the border.
    DimAtoms cut(inside.size()), block = inside;
    for (size_t d = 0; d < inside.size(); ++d) {
      cut[d] = mesh_.atoms(translate_axes("shard_map", p.spec.dim(static_cast<int64_t>(d)).axes,
                                          p.mesh, mesh_.mesh()));
      if (!cut[d].empty() && f_.types[shard].shape[d] % mesh_.size(inside[d])) block[d].clear();
      cut[d].insert(cut[d].end(), block[d].begin(), block[d].end());
    }
    const std::string what = fmt::format("{} of shard_map", entering ? "in_spec" : "out_spec");
    if (entering) {
      locals_[shard] = {reshard(as(full, cut, op, what), f_.types[shard], block, inside, op, what),
                        inside};
    } else {
      const DimAtoms wanted = declared(full);
      const Array x = reshard(locals_[shard].array, f_.types[shard], inside, block, op, what);
      locals_[full] = {reshard(x, f_.types[full], cut, wanted, op, what), wanted};
      note_padding(full, "shard_map", op.source);
    }
  }

  // An op without factors runs on whole operands, everywhere.
  void visit_replicated(const Op& op) {
    std::vector<Array> local;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const DimAtoms whole(f_.types[op.operands[k]].rank());
      local.push_back(
          as(op.operands[k], whole, op,
             fmt::format("operand {} of {}, which has no sharding rule", k, op.def->name)));
    }
    const std::vector<Array> results = tessera::bind(*op.def, on_this_mesh(op), local);
    for (size_t r = 0; r < results.size(); ++r)
      settle(op, r, results[r], DimAtoms(f_.types[op.results[r]].rank()));
  }

  void note_padding(ValueId v, std::string_view op, const std::string& source) {
    const Type& global = f_.types[v];
    const DimAtoms& dims = locals_[v].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t n = mesh_.size(dims[d]), extent = global.shape[d],
                    padded = ceil_div(extent, n) * n;
      if (padded == extent) continue;
      const std::string text = fmt::format(
          "dimension {} of {} is cut into {} shards of {}: {} of {} rows of storage are padding", d,
          describe(global), n, padded / n, padded - extent, padded);
      if (program_.noted.insert(text).second)
        notes_.push_back(
            {false, std::string(op), source, text, fmt::format("make it a multiple of {}", n)});
    }
  }

  // Axes of the refined mesh by the names of the user's: "x/0" is "x:(1)2".
  std::vector<std::string> user_names(const std::vector<std::string>& axes) const {
    std::vector<AxisRef> refs;
    for (const std::string& axis : axes) refs.push_back({axis});
    return user_atoms_.axis_names(
        user_atoms_.atoms(translate_axes("partition", refs, mesh_.mesh(), user_mesh_)));
  }

  std::string spec_text(const DimAtoms& dims) const {
    std::vector<std::string> parts;
    for (const AtomList& d : dims) {
      const std::vector<std::string> names = user_names(mesh_.axis_names(d));
      parts.push_back(names.empty()       ? "None"
                      : names.size() == 1 ? "'" + names[0] + "'"
                                          : fmt::format("('{}')", fmt::join(names, "', '")));
    }
    return fmt::format("({}{})", fmt::join(parts, ", "), parts.size() == 1 ? "," : "");
  }

  const Function& f_;
  Program& program_;
  const Mesh& user_mesh_;
  const AtomMesh& user_atoms_;
  const AtomMesh& mesh_;
  std::vector<Reason>& reasons_;
  std::vector<Note>& notes_;
  std::vector<Local> locals_;
  std::vector<int> uses_;          // of each value
  std::vector<int64_t> moved_;     // what moving its rows has cost
  std::vector<const Op*> makers_;  // null for inputs
  std::map<std::pair<ValueId, std::vector<AtomList>>, Array> resharded_;
  size_t reason_ = 0;
  bool looked_behind_ = false;  // what is behind may have no user any more
  FunctionTrace trace_;
};

}  // namespace

Partitioned partition(const Function& propagated, const Mesh& mesh) {
  Program program(propagated, mesh);
  return Partitioner(propagated, program).run();
}

}  // namespace tessera
