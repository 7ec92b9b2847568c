#include "tessera/spmd/partition.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tessera/control/manual_boundary.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/core/inspect_sharding.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/sharding/merge_equal_ops.h"
#include "tessera/spmd/assignment.h"
#include "tessera/spmd/branch_sums.h"
#include "tessera/spmd/combine_collectives.h"
#include "tessera/spmd/cost.h"
#include "tessera/spmd/divergence.h"
#include "tessera/spmd/halos.h"
#include "tessera/spmd/late_sums.h"
#include "tessera/spmd/partition_state.h"
#include "tessera/spmd/parts_of_sums.h"
#include "tessera/spmd/reason_texts.h"
#include "tessera/spmd/reshard.h"
#include "tessera/spmd/scatter_windows.h"
#include "tessera/spmd/shard_masks.h"
#include "tessera/spmd/window_choice.h"
#include "tessera/trace/trace.h"

namespace tessera::spmd {
namespace {

// Knows which shards of an op's operands and results this device has.
class ShardContext final : public LocalContext {
 public:
  ShardContext(const PartitionedProgram& program, const Function& f, const Op& op,
               const FactorAssignment& a)
      : program_(program), f_(f), op_(op), a_(a) {
    for (size_t r = 0; r < op.results.size(); ++r)
      types_.push_back(program.local_type(f.types[op.results[r]], a.results[r]));
  }
  const Type& local_result(int r) const override { return types_[r]; }
  const Type& global_operand(int k) const override { return f_.types[op_.operands[k]]; }
  const Type& global_result(int r) const override { return f_.types[op_.results[r]]; }
  Array result_offset(int r, int dim) const override {
    return offset(types_[r].shape[dim], a_.results[r][dim]);
  }
  Array operand_offset(int k, int dim) const override {
    const int64_t n = program_.mesh().size(a_.operands[k][dim]);
    return offset(ceil_div(global_operand(k).shape[dim], n), a_.operands[k][dim]);
  }

 private:
  Array offset(int64_t size, const AtomList& atoms) const {
    if (atoms.empty()) return Array(Literal::scalar<int32_t>(0));
    return shard_start(program_.mesh(), atoms, std::max<int64_t>(size, 1));
  }
  const PartitionedProgram& program_;
  const Function& f_;
  const Op& op_;
  const FactorAssignment& a_;
  std::vector<Type> types_;
};

// Returns whether shards of `to` are parts of shards of `from`.
bool is_split_further(const DimAtoms& from, const DimAtoms& to) {
  for (size_t d = 0; d < from.size(); ++d)
    if (!is_prefix(from[d], to[d])) return false;
  return true;
}

DimAtoms with_rows(DimAtoms dims) {
  dims.insert(dims.begin(), AtomList{});
  return dims;
}

// The shardings of the values that enter the regions of a loop or branch, and their types on a
// shard.
struct Entering {
  std::vector<DimAtoms> dims;
  std::vector<Type> types;
};

class Partitioner {
 public:
  // `within` is the loop or branch if the function is its region, otherwise null.
  Partitioner(const Function& f, PartitionedProgram& program,
              const PartitionedProgram::Control* within = nullptr)
      : f_(f),
        program_(program),
        within_(within),
        mesh_(program.mesh()),
        values_(f),
        locals_(values_.locals),
        producers_(f.producers()),
        trace_(f.name) {}

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
    out.mesh = mesh_.mesh();
    const Function summed = late_sums(sums_after_branches(finish_trace(outputs)));
    out.function = merge_equal_ops(
        without_divergence(choose_parts(summed, out.mesh), out.mesh, program_.reasons));
    out.function = combine_collectives(out.function, program_.reasons);
    for (ValueId v : f_.inputs) out.inputs.push_back(*f_.types[v].sharding);
    for (ValueId v : f_.outputs) out.outputs.push_back(*f_.types[v].sharding);
    out.collectives = list_collectives(out.function, out.mesh, program_.reasons);
    for (Collective& c : out.collectives) c.axes = program_.user_names(c.axes);
    out.notes = program_.take_notes();
    return out;
  }

  // Returns the partitioned function as a region of the op `of`. The inputs of a loop's condition
  // are the first of `entering`.
  Function run_region(const Op& of, const Entering& entering,
                      const std::vector<DimAtoms>& outputs) {
    for (size_t k = 0; k < f_.inputs.size(); ++k)
      locals_[f_.inputs[k]] = {trace_.add_input(entering.types[k]), entering.dims[k]};
    for (const Op& op : f_.ops) visit(op);
    std::vector<Array> results;
    for (size_t k = 0; k < f_.outputs.size(); ++k)
      results.push_back(with_dims(f_.outputs[k], outputs[k], of,
                                  fmt::format("result {} of a region of {}", k, of.def->name)));
    return finish_trace(results);
  }

 private:
  Function finish_trace(std::span<const Array> outputs) {
    Function out = trace_.finish(outputs);
    TESSERA_CHECK(trace_.captures().empty(), "partition captures nothing");
    return has_dead_ops_ ? remove_dead_ops(out) : out;
  }

  const DimAtoms& declared(ValueId v) { return program_.declared(f_.types[v]); }
  Type local_type(ValueId v, const DimAtoms& dims) const {
    return program_.local_type(f_.types[v], dims);
  }

  // Returns the value under another sharding. Equal requests share one resharding.
  Array with_dims(ValueId v, const DimAtoms& dims, const Op& op, const std::string& why) {
    if (const std::optional<Array> there = existing_value(v, dims)) return *there;
    const LocalValues::Local& local = locals_[v];
    return resharded_[{v, dims}] = reshard(local.array, f_.types[v], local.dims, dims, op, why);
  }

  // Returns the value under this sharding if it exists already, or if it can be made of an operand
  // that does. Example: the backward pass transposes weights that the forward pass gathered,
  // instead of gathering them again.
  std::optional<Array> existing_value(ValueId v, const DimAtoms& dims, int ops_behind = 4) {
    if (locals_[v].dims == dims) return locals_[v].array;
    if (const auto it = resharded_.find({v, dims}); it != resharded_.end()) return it->second;
    if (producers_[v] < 0 || ops_behind == 0) return std::nullopt;
    const Op& op = f_.ops[producers_[v]];
    if (op.operands.size() != 1 || op.results.size() != 1 || !op.def->factors ||
        !(std::holds_alternative<Pointwise>(op.def->lower) ||
          std::holds_alternative<IndexMap>(op.def->lower)))
      return std::nullopt;
    const Type &from = f_.type(op.operands[0]), &to = f_.type(v);
    const Factors factors = op.def->factors({&from, 1}, {&to, 1}, op.params);
    const FactorAssignment a =
        assign_factors({mesh_, factors, {from}, {to}, {DimAtoms(from.rank())}, {dims}});
    if (a.results[0] != dims || a.reduced) return std::nullopt;
    const std::optional<Array> x = existing_value(op.operands[0], a.operands[0], ops_behind - 1);
    if (!x) return std::nullopt;
    return resharded_[{v, dims}] = rebuild(op, on_this_mesh(op), a, {*x})[0];
  }

  Array operand(const Op& op, size_t k, const DimAtoms& dims, std::string_view because = "") {
    return with_dims(op.operands[k], dims, op,
                     fmt::format("operand {} of {}{}", k, op.def->name, because));
  }

  Array reshard(const Array& x, const Type& global, const DimAtoms& from, const DimAtoms& to,
                const Op& op, const std::string& why) {
    if (from == to) return x;
    const std::vector<ReshardStep> plan = plan_reshard(mesh_, global.shape, global.dtype, from, to);
    const std::string text =
        fmt::format("{}: {} to {}", why, program_.spec_text(from), program_.spec_text(to));
    int64_t moved = 0;
    for (const ReshardStep& step : plan) moved += step.bytes;
    if (!plan.empty() && used_atoms(from) && !used_atoms(to) && moved > 0)
      program_.note_gather(op, f_, global, from, moved, why);
    return with_reason({std::string(op.def->name), op.source, text},
                       [&] { return apply_reshard(mesh_, global.shape, plan, x); });
  }

  // Binds ops by `bind_ops`; their collectives get this reason.
  template <class F>
  Array with_reason(Reason reason, F&& bind_ops) {
    const int32_t outer = std::exchange(reason_, add_reason(std::move(reason)));
    trace_.set_reason(reason_);
    Array out = bind_ops();
    trace_.set_reason(reason_ = outer);
    return out;
  }
  int32_t add_reason(Reason reason) {
    program_.reasons.push_back(std::move(reason));
    return static_cast<int32_t>(program_.reasons.size());
  }

  void visit(const Op& op) {
    if (std::holds_alternative<Constraint>(op.def->lower) || ops::is_about_sharding(op))
      return visit_constraint(op);
    if (std::holds_alternative<ManualBorder>(op.def->lower)) return visit_border(op);
    if (is_control_flow(op)) return visit_control(op);
    TESSERA_CHECK(!callee_of(op) && !std::holds_alternative<ManualRegion>(op.def->lower),
                  "partition needs a function without calls and manual computations");
    if (!op.def->factors) return visit_replicated(op);
    std::vector<Type> operands = f_.types_of(op.operands), results = f_.types_of(op.results);
    Factors factors = op.def->factors(operands, results, op.params);
    forbid_uneven(op, factors);
    const ShardedOp sharded{mesh_,
                            factors,
                            std::move(operands),
                            std::move(results),
                            values_.dims(op.operands),
                            declared_dims(f_, op.results)};
    FactorAssignment a = choose_assignment(sharded);
    if (moves_before_sum(sharded, a)) {
      program_.could_move_before_sums = true;
      if (!program_.moves_before_sums) a = assign_factors(sharded);
    }
    if (std::optional<WindowChoice> windows = choose_windows(values_, op, sharded, a))
      return move_rows(op, *windows);
    a = with_moved_axes(sharded, std::move(a));
    if (const std::optional<HaloPlan> halos = choose_halos(op, sharded, a))
      return widen_shards(op, sharded, *halos);
    if (const std::optional<ScatterPlan> plan = choose_scatter_windows(op, sharded, a))
      return scatter_windows(op, *plan);
    std::vector<Array> local;
    for (size_t k = 0; k < op.operands.size(); ++k)
      local.push_back(operand(op, k, a.operands[k], gather_text(program_, sharded, a, k)));
    mask_padding(op, sharded, a, local);
    finish(op, factors, a, rebuild(op, on_this_mesh(op), a, std::move(local)));
  }

  // Partitions a loop or a branch. Operands, and the results of regions, are resharded to the
  // shardings that propagation chose; regions are partitioned like the enclosing function.
  void visit_control(const Op& op) {
    ControlFlow flow = control_flow_of(op);
    const Function& body = flow.body();
    Entering entering{.dims = declared_dims(body, body.inputs)};
    std::vector<Array> operands;
    for (size_t k = 0; k < flow.first_entering(); ++k)  // the index of a branch
      operands.push_back(operand(op, k, {}));
    for (size_t k = 0; k < entering.dims.size(); ++k) {
      const DimAtoms& dims = entering.dims[k];
      operands.push_back(
          operand(op, flow.first_entering() + k, flow.is_scanned(k) ? with_rows(dims) : dims));
      Type& type = entering.types.emplace_back(operands.back().type());
      type.sharding = nullptr;
      if (flow.is_scanned(k)) type.shape.erase(type.shape.begin());
    }
    // Results of branches get the sharding of the op's results. Results of a loop get the sharding
    // of the body's results.
    std::vector<DimAtoms> outputs =
        flow.is_loop() ? declared_dims(body, body.outputs) : declared_dims(f_, op.results);
    for (size_t c = 0; c < flow.num_carry; ++c) outputs[c] = entering.dims[flow.num_consts + c];
    if (flow.is_loop()) {
      flow.regions.back() = settled_body(op, flow, entering, outputs);
      if (flow.has_condition())
        flow.regions[0] = region(op, *flow.regions[0], entering, {DimAtoms{}});
    } else {
      for (FunctionRef& branch : flow.regions) branch = region(op, *branch, entering, outputs);
    }
    const std::vector<Array> results = bind_at(op, with_control_flow(op, flow), operands);
    for (size_t r = 0; r < results.size(); ++r)
      settle(op, r, results[r], flow.is_stacked(r) ? with_rows(outputs[r]) : outputs[r]);
  }

  FunctionRef region(const Op& op, const Function& f, const Entering& entering,
                     const std::vector<DimAtoms>& outputs) {
    return std::make_shared<const Function>(
        Partitioner(f, program_, &program_.controls[{within_, &op}])
            .run_region(op, entering, outputs));
  }

  // Returns the body of a loop. Its carries vary over all axes that a trip adds, which may be more
  // than those that they start with; `entering` is widened to that.
  FunctionRef settled_body(const Op& op, const ControlFlow& flow, Entering& entering,
                           const std::vector<DimAtoms>& outputs) {
    std::vector<AxisNames>& known = program_.controls[{within_, &op}].carries;
    known.resize(flow.num_carry);
    for (size_t c = 0; c < flow.num_carry; ++c) {
      AxisNames& varying = entering.types[flow.num_consts + c].varying;
      varying = axis_union(varying, known[c]);
    }
    while (true) {
      FunctionRef out = region(op, flow.body(), entering, outputs);
      bool grown = false;
      for (size_t c = 0; c < flow.num_carry; ++c) {
        AxisNames& varying = entering.types[flow.num_consts + c].varying;
        const AxisNames wider = axis_union(varying, out->type(out->outputs[c]).varying);
        grown = grown || wider != varying;
        varying = known[c] = wider;
      }
      if (!grown) return out;
    }
  }

  static std::vector<Array> bind_at(const Op& op, OpParams params,
                                    std::span<const Array> operands) {
    const SourceScope scope(op.source);
    return bind_op(*op.def, std::move(params), operands);
  }

  // Partitions an op over windows. Each shard is first extended by the rows that its windows reach.
  void widen_shards(const Op& op, const ShardedOp& sharded, const HaloPlan& plan) {
    const FactorAssignment& a = plan.assignment;
    std::vector<Array> local;
    for (size_t k = 0; k < op.operands.size(); ++k) local.push_back(operand(op, k, a.operands[k]));
    mask_padding(op, sharded, a, local);
    const int32_t outer =
        std::exchange(reason_, add_reason({std::string(op.def->name), op.source,
                                           fmt::format("rows of other shards that the windows of "
                                                       "{} reach",
                                                       op.def->name)}));
    trace_.set_reason(reason_);
    local = widen(mesh_, plan, op, std::move(local));
    trace_.set_reason(reason_ = outer);
    finish(op, sharded.factors, a, rebuild(op, params_of_shards(plan, op), a, std::move(local)));
  }

  void scatter_windows(const Op& op, const ScatterPlan& plan) {
    std::vector<Array> local;
    for (size_t k = 0; k < op.operands.size(); ++k)
      local.push_back(operand(op, k, plan.assignment.operands[k]));
    const DimAtoms& dims = plan.assignment.results[0];
    const Reason reason{
        std::string(op.def->name), op.source,
        fmt::format("rows of other shards that the windows of {} reach", op.def->name)};
    const SourceScope scope(op.source);
    const Array x = with_reason(reason, [&] {
      return apply_scatter_windows(mesh_, plan, op, local_type(op.results[0], dims).shape, local);
    });
    settle(op, 0, x, dims);
  }

  void move_rows(const Op& op, const WindowChoice& choice) {
    const WindowPlan& plan = choice.plan;
    const WindowRequest& request = choice.request;
    const ValueIds& sources = choice.sources;
    values_.moved[op.results[0]] = plan.cost;
    has_dead_ops_ = has_dead_ops_ || sources != op.operands;
    std::vector<Array> local;
    for (size_t k = 0; k < sources.size(); ++k)
      local.push_back(with_dims(sources[k], request.operand_dims[k], op,
                                fmt::format("operand {} of {}", k, op.def->name)));
    const Reason reason{
        std::string(op.def->name), op.source,
        fmt::format("rows of other shards that the shards of {} are made of", op.def->name)};
    DimAtoms dims = plan.result_dims;
    Array x = with_reason(reason, [&] {
      return apply_windows(mesh_, plan, local_type(op.results[0], dims).shape, local);
    });
    if (plan.reduced)
      x = complete(reason, window_combiner(f_.types[op.results[0]].dtype), op.results[0],
                   plan.reduced, dims, std::move(x));
    settle(op, 0, x, dims);
  }

  // A fold of unknown kind has no neutral element with which to fill padding, so its dimensions
  // must not be sharded unevenly.
  void forbid_uneven(const Op& op, Factors& factors) {
    if (can_mask_padding(op, factors)) return;
    for (size_t k = 0; k < op.operands.size(); ++k)
      for (size_t d = 0; d < factors.operands[k].size(); ++d)
        for (int id : factors.operands[k][d]) {
          Factor& f = factors.factors[id];
          if (f.kind == FactorKind::kReduction &&
              f.size % mesh_.size(locals_[op.operands[k]].dims[d]))
            f.kind = FactorKind::kNeedReplication;
        }
  }

  std::vector<DimAtoms> declared_dims(const Function& f, std::span<const ValueId> values) {
    std::vector<DimAtoms> out;
    for (ValueId v : values) out.push_back(program_.declared(f.types[v]));
    return out;
  }

  std::vector<Array> rebuild(const Op& op, const OpParams& params, const FactorAssignment& a,
                             std::vector<Array> local) {
    const bool is_user_collective = std::holds_alternative<CollectiveLowering>(op.def->lower);
    if (is_user_collective)
      trace_.set_reason(add_reason({op.source.empty() ? std::string(op.def->name) : op.source,
                                    op.source, "called by the program"}));
    const SourceScope scope(op.source);
    const ShardContext context(program_, f_, op, a);
    std::vector<Array> out = op.def->localize ? op.def->localize(local, params, context)
                                              : bind_op(*op.def, params, local);
    trace_.set_reason(reason_);
    return out;
  }

  // Returns the op's params for the refined mesh: collectives of manual computations name axes of
  // the user's mesh.
  OpParams on_this_mesh(const Op& op) const {
    if (!std::holds_alternative<CollectiveLowering>(op.def->lower)) return op.params;
    const CollectiveInfo info = collective_info(op);
    if (info.mesh == mesh_.mesh()) return op.params;
    std::vector<std::string> names;
    for (const AxisRef& ref :
         translate_axes(op.def->name, whole_axes(info.axes), info.mesh, mesh_.mesh()))
      names.push_back(ref.name);
    return with_axes(op, mesh_.mesh(), names);
  }

  // Completes partial results, and reshards each result to the sharding that propagation chose.
  void finish(const Op& op, const Factors& factors, const FactorAssignment& a,
              std::vector<Array> results) {
    if (a.reduced && std::holds_alternative<Reduce>(op.def->lower) &&
        (op.results.size() > 1 || factors.combiner > ReduceKind::kOr)) {
      results = reduce_gathered(op, a, std::move(results));
    } else if (a.reduced) {
      for (size_t r = 0; r < results.size(); ++r) {
        DimAtoms dims = a.results[r];
        const Array x =
            complete({std::string(op.def->name), op.source, fold_text(program_, op, factors, a)},
                     factors.combiner, op.results[r], a.reduced, dims, results[r]);
        settle(op, r, x, dims);
      }
      return;
    }
    for (size_t r = 0; r < results.size(); ++r) settle(op, r, results[r], a.results[r]);
  }

  void settle(const Op& op, size_t r, const Array& x, const DimAtoms& dims) {
    const ValueId v = op.results[r];
    const DimAtoms wanted = declared(v);
    // Keeps the value before a part of it is dropped, for ops that need all of it.
    if (dims != wanted && is_split_further(dims, wanted)) resharded_.try_emplace({v, dims}, x);
    locals_[v] = {
        reshard(x, f_.types[v], dims, wanted, op, fmt::format("result of {}", op.def->name)),
        wanted};
    note_padding(v, op.def->name, op.source);
  }

  // Completes partial results over `reduced`: by reduce_scatter for axes that come next in the
  // sharding of a dimension of `v`, by all_reduce for the others.
  Array complete(const Reason& reason, ReduceKind kind, ValueId v, AtomSet reduced, DimAtoms& dims,
                 Array x) {
    const PartialPlan plan = plan_partial(mesh_, f_.types[v], reduced, dims, declared(v));
    dims = plan.dims;
    return with_reason(reason, [&] {
      for (const PartialPlan::Scatter& scatter : plan.scatters)
        x = bind_op1(reduce_scatter_op,
                     ReduceScatterParams{.mesh = mesh_.mesh(),
                                         .axes = mesh_.axis_names(scatter.atoms),
                                         .kind = kind,
                                         .dim = scatter.dim},
                     {x});
      if (!plan.all_reduced) return x;
      return bind_op1(all_reduce_op,
                      AllReduceParams{.mesh = mesh_.mesh(),
                                      .axes = mesh_.axis_names(mesh_.ordered(plan.all_reduced)),
                                      .kind = kind},
                      {x});
    });
  }

  // Completes folds without a collective (argmax, any user's fold): gathers the partial results and
  // folds them once more.
  std::vector<Array> reduce_gathered(const Op& op, const FactorAssignment& a,
                                     std::vector<Array> partial) {
    const AtomList over = mesh_.ordered(a.reduced);
    std::vector<Array> operands;
    for (const Array& x : partial) {
      const Reason reason{std::string(op.def->name), op.source,
                          "partial results of a fold that no all_reduce does"};
      operands.push_back(with_reason(reason, [&] {
        Shape shape = x.shape();
        shape.insert(shape.begin(), 1);
        return bind_op1(
            all_gather_op,
            AllGatherParams{.mesh = mesh_.mesh(), .axes = mesh_.axis_names(over), .dim = 0},
            {lax::reshape(x, shape)});
      }));
    }
    for (size_t k = partial.size(); k < op.operands.size(); ++k)
      operands.push_back(locals_[op.operands[k]].array);
    const auto& fold = std::get<Reduce>(op.def->lower);
    return bind_op(*op.def, fold.over(op.params, {0}), operands);
  }

  void visit_constraint(const Op& op) {
    const DimAtoms wanted = declared(op.results[0]);
    locals_[op.results[0]] = {with_dims(op.operands[0], wanted, op, "constraint"), wanted};
    note_padding(op.results[0], op.def->name, op.source);
  }

  // Partitions a border of a manual computation: the value is resharded along the manual axes, and
  // the border itself moves nothing.
  void visit_border(const Op& op) {
    const auto& p = op.params.as<ManualBoundaryParams>();
    const bool entering = std::get<ManualBorder>(op.def->lower).entering;
    const ValueId full = entering ? op.operands[0] : op.results[0],
                  shard = entering ? op.results[0] : op.operands[0];
    const DimAtoms inside = entering ? declared(shard) : locals_[shard].dims;
    // If each block has padding of its own, blocks are not aligned with the shards of the whole
    // array. Then the block is not sharded while it passes the border.
    DimAtoms sharded(inside.size()), block = inside;
    for (size_t d = 0; d < inside.size(); ++d) {
      sharded[d] = mesh_.atoms("shard_map", p.spec.dim(static_cast<int64_t>(d)).axes, p.mesh);
      if (!sharded[d].empty() && f_.types[shard].shape[d] % mesh_.size(inside[d])) block[d].clear();
      sharded[d].insert(sharded[d].end(), block[d].begin(), block[d].end());
    }
    const std::string what = fmt::format("{} of shard_map", entering ? "in_spec" : "out_spec");
    if (entering) {
      locals_[shard] = {
          reshard(with_dims(full, sharded, op, what), f_.types[shard], block, inside, op, what),
          inside};
    } else {
      const DimAtoms wanted = declared(full);
      const Array x = reshard(locals_[shard].array, f_.types[shard], inside, block, op, what);
      locals_[full] = {reshard(x, f_.types[full], sharded, wanted, op, what), wanted};
      note_padding(full, "shard_map", op.source);
    }
  }

  // Partitions an op without factors: every device runs it on whole operands.
  void visit_replicated(const Op& op) {
    std::vector<Array> local;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const DimAtoms whole(f_.types[op.operands[k]].rank());
      local.push_back(
          with_dims(op.operands[k], whole, op,
                    fmt::format("operand {} of {}, which has no sharding rule", k, op.def->name)));
    }
    const std::vector<Array> results = bind_op(*op.def, on_this_mesh(op), local);
    for (size_t r = 0; r < results.size(); ++r)
      settle(op, r, results[r], DimAtoms(f_.types[op.results[r]].rank()));
  }

  void note_padding(ValueId v, std::string_view op, const std::string& source) {
    program_.note_padding(f_.types[v], locals_[v].dims, op, source);
  }

  const Function& f_;
  PartitionedProgram& program_;
  const PartitionedProgram::Control* within_;
  const AtomMesh& mesh_;
  LocalValues values_;
  std::vector<LocalValues::Local>& locals_;
  const std::vector<int> producers_;
  std::map<std::pair<ValueId, DimAtoms>, Array> resharded_;
  int32_t reason_ = 0;
  bool has_dead_ops_ = false;  // earlier ops may have lost their readers
  FunctionTrace trace_;
};

}  // namespace

int64_t communication_cost(const Partitioned& p) {
  const int64_t latency = bytes_of_latency(p.mesh);
  int64_t cost = 0;
  for (const Collective& c : p.collectives)
    cost += (c.bytes_per_device + latency) * std::max<int64_t>(1, c.times);
  return cost;
}

Partitioned partition(const Function& propagated, const Mesh& mesh) {
  PartitionedProgram program(propagated, mesh);
  Partitioned out = Partitioner(propagated, program).run();
  if (!program.could_move_before_sums) return out;
  PartitionedProgram other(propagated, mesh);
  other.moves_before_sums = true;
  Partitioned moved = Partitioner(propagated, other).run();
  return communication_cost(moved) < communication_cost(out) ? std::move(moved) : std::move(out);
}

}  // namespace tessera::spmd
