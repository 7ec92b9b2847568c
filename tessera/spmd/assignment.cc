#include "tessera/spmd/assignment.h"

#include <algorithm>
#include <limits>

#include "tessera/base/contains.h"
#include "tessera/sharding/projection.h"
#include "tessera/spmd/cost.h"
#include "tessera/spmd/partition.h"
#include "tessera/spmd/reshard.h"

namespace tessera::spmd {
namespace {

// Work is measured in multiply-adds.
constexpr int64_t kWorkPerByte = kFlopsPerByte / 2;

bool may_be_sharded(FactorKind kind, const AssignmentOrder& order) {
  switch (kind) {
    case FactorKind::kPass:
      return true;
    case FactorKind::kReduction:
      return order.shard_reductions;
    case FactorKind::kNeedReplication:
      return order.shard_windows;
    case FactorKind::kPermutation:
      return order.shard_windows || order.shard_halos;
  }
  return false;
}

struct Candidate {
  int factor;
  AtomList axes;
  int64_t carried = 0;  // the elements of the tensors that are sharded so already
};

// Returns the dimensions with several factors. In these, a minor factor may be sharded only if the
// major factors are sharded to single elements, and all shards must be even.
std::vector<DimFactors> joint_dims(const Factors& f) {
  std::vector<DimFactors> out;
  for (const auto* tensors : {&f.operands, &f.results})
    for (const TensorFactors& t : *tensors)
      for (const DimFactors& d : t)
        if (d.size() > 1) out.push_back(d);
  return out;
}

bool representable(const AtomMesh& mesh, const Factors& f, const std::vector<DimFactors>& joint,
                   const std::vector<AtomList>& axes) {
  for (const DimFactors& dim : joint) {
    bool whole_before = true;
    for (int id : dim) {
      const int64_t shards = mesh.size(axes[id]), size = f.factors[id].size;
      if (shards > 1 && (!whole_before || size % shards)) return false;
      whole_before = whole_before && shards == size;
    }
  }
  return true;
}

DimAtoms dims_of(const TensorFactors& tensor, const std::vector<AtomList>& axes) {
  DimAtoms out(tensor.size());
  for (size_t d = 0; d < tensor.size(); ++d)
    for (int f : tensor[d]) out[d].insert(out[d].end(), axes[f].begin(), axes[f].end());
  return out;
}

}  // namespace

namespace {

// Returns whether folding factor `id` has so many results that completing them may cost more than
// first sharding another dimension of the operand.
bool may_be_moved(const ShardedOp& op, size_t operand, int id) {
  if (op.factors.factors[id].kind != FactorKind::kReduction) return false;
  int64_t results = 0;
  for (const Type& type : op.result_types) results += type.elements();
  int holders = 0;
  for (const TensorFactors& tensor : op.factors.operands)
    for (const DimFactors& dim : tensor) holders += contains(dim, id);
  return holders == 1 && results * op.mesh.size(used_atoms(op.operands[operand])) >
                             op.operand_types[operand].elements();
}

// Returns the axes by which operands shard factors that need replication or may be moved.
AtomList axes_to_move(const ShardedOp& op) {
  AtomList out;
  for (size_t k = 0; k < op.operands.size(); ++k) {
    const TensorFactors& tensor = op.factors.operands[k];
    const std::vector<char> open(tensor.size(), true);
    const Projection projection(op.factors, tensor, op.operands[k], open, op.mesh);
    for (const DimFactors& dim : tensor)
      for (int id : dim)
        if (op.factors.factors[id].kind == FactorKind::kNeedReplication ||
            op.factors.factors[id].kind == FactorKind::kPermutation || may_be_moved(op, k, id))
          for (Atom a : projection.atoms(id))
            if (!contains(out, a)) out.push_back(a);
  }
  return out;
}

}  // namespace

FactorAssignment assign_factors(const ShardedOp& op, const AssignmentOrder& order) {
  const AtomMesh& mesh = op.mesh;
  const Factors& f = op.factors;
  std::vector<Candidate> candidates;
  auto collect = [&](const TensorFactors& tensor, const Type& type, const DimAtoms& dims,
                     bool first) {
    const std::vector<char> open(tensor.size(), true);
    const Projection projection(f, tensor, dims, open, mesh);
    for (const DimFactors& dim : tensor) {
      for (int id : dim) {
        const AtomList& axes = projection.atoms(id);
        if (axes.empty() || !may_be_sharded(f.factors[id].kind, order)) continue;
        auto it = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) {
          return c.factor == id && c.axes == axes;
        });
        if (it == candidates.end()) it = candidates.insert(it, Candidate{id, axes});
        it->carried += first ? int64_t{1} << 60 : type.elements();
      }
    }
  };
  int tensor = 0;
  for (size_t i = 0; i < op.operands.size(); ++i)
    collect(f.operands[i], op.operand_types[i], op.operands[i], tensor++ == order.first);
  for (size_t i = 0; i < op.results.size(); ++i)
    collect(f.results[i], op.result_types[i], op.results[i], tensor++ == order.first);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) {
                     if (a.carried != b.carried) return a.carried > b.carried;
                     const FactorKind ka = f.factors[a.factor].kind, kb = f.factors[b.factor].kind;
                     if (ka != kb) return ka < kb;
                     return mesh.size(a.axes) > mesh.size(b.axes);
                   });

  FactorAssignment out;
  out.axes.resize(f.factors.size());
  AtomSet taken = 0;
  const std::vector<DimFactors> joint = joint_dims(f);
  auto try_candidate = [&](const Candidate& c) {
    AtomList& have = out.axes[c.factor];
    if (!is_prefix(have, c.axes)) return false;
    bool grew = false;
    for (size_t i = have.size(); i < c.axes.size(); ++i) {
      if (taken & atom_bit(c.axes[i])) break;
      have.push_back(c.axes[i]);
      if (!representable(mesh, f, joint, out.axes)) {
        have.pop_back();
        break;
      }
      taken |= atom_bit(c.axes[i]);
      grew = true;
    }
    return grew;
  };
  // A minor factor may have to wait for its major one, so this repeats until nothing more fits.
  for (bool grew = true; grew;) {
    grew = false;
    for (const Candidate& c : candidates) grew = try_candidate(c) || grew;
  }
  if (order.takes_moved_axes >= 0) {
    AtomList axes = out.axes[order.takes_moved_axes];
    for (Atom a : axes_to_move(op))
      if (!(taken & atom_bit(a))) axes.push_back(a);
    try_candidate({order.takes_moved_axes, axes});
  }

  for (const TensorFactors& t : f.operands) out.operands.push_back(dims_of(t, out.axes));
  for (const TensorFactors& t : f.results) out.results.push_back(dims_of(t, out.axes));
  for (size_t id = 0; id < f.factors.size(); ++id)
    if (f.factors[id].kind == FactorKind::kReduction) out.reduced |= atom_set(out.axes[id]);
  return out;
}

PartialPlan plan_partial(const AtomMesh& mesh, const Type& global, AtomSet reduced,
                         const DimAtoms& dims, const DimAtoms& wanted) {
  PartialPlan plan;
  plan.dims = dims;
  auto bytes = [&] {
    return local_shape(mesh, global.shape, plan.dims).elements() * itemsize(global.dtype);
  };
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!is_prefix(dims[d], wanted[d])) continue;
    AtomList scattered;
    for (size_t i = dims[d].size(); i < wanted[d].size() && (reduced & atom_bit(wanted[d][i])); ++i)
      scattered.push_back(wanted[d][i]);
    const int64_t n = mesh.size(scattered);
    if (scattered.empty() || global.shape[d] % (mesh.size(dims[d]) * n)) continue;
    plan.scatters.push_back({static_cast<int>(d), scattered, bytes() / n * (n - 1)});
    plan.dims[d].insert(plan.dims[d].end(), scattered.begin(), scattered.end());
    reduced &= ~atom_set(scattered);
  }
  plan.all_reduced = reduced;
  if (reduced) plan.all_reduce_bytes = 2 * bytes() / mesh.size(reduced) * (mesh.size(reduced) - 1);
  return plan;
}

namespace {

// Returns the iterations of one device's loops: the product of its shares of the factors.
double work_of(const ShardedOp& op, const FactorAssignment& a) {
  double work = 1;
  for (size_t id = 0; id < a.axes.size(); ++id)
    work *= static_cast<double>(ceil_div(op.factors.factors[id].size, op.mesh.size(a.axes[id])));
  return work;
}

}  // namespace

int64_t assignment_cost(const ShardedOp& op, const FactorAssignment& a) {
  const int64_t latency = bytes_of_latency(op.mesh.mesh());
  int64_t cost = 0;
  auto reshard = [&](const Type& type, const DimAtoms& from, const DimAtoms& to) {
    for (const ReshardStep& step : plan_reshard(op.mesh, type.shape, type.dtype, from, to))
      cost += step.bytes == 0 ? kReshardStepCost : step.bytes + latency;
  };
  for (size_t k = 0; k < op.operands.size(); ++k)
    reshard(op.operand_types[k], op.operands[k], a.operands[k]);
  for (size_t r = 0; r < op.results.size(); ++r) {
    const PartialPlan partial =
        plan_partial(op.mesh, op.result_types[r], a.reduced, a.results[r], op.results[r]);
    for (const PartialPlan::Scatter& scatter : partial.scatters) cost += scatter.bytes + latency;
    if (partial.all_reduced) cost += partial.all_reduce_bytes + latency;
    reshard(op.result_types[r], partial.dims, op.results[r]);
  }
  return cost + static_cast<int64_t>(std::min(work_of(op, a) / kWorkPerByte, 1e17));
}

namespace {

// Returns whether operands need data of other devices, and not just a local slice.
bool moves_operands(const ShardedOp& op, const FactorAssignment& a) {
  for (size_t k = 0; k < op.operands.size(); ++k)
    for (size_t d = 0; d < op.operands[k].size(); ++d)
      if (!is_prefix(op.operands[k][d], a.operands[k][d])) return true;
  return false;
}

}  // namespace

bool moves_before_sum(const ShardedOp& op, const FactorAssignment& chosen) {
  if (!moves_operands(op, chosen)) return false;
  const FactorAssignment first = assign_factors(op);
  return first.reduced && !moves_operands(op, first);
}

FactorAssignment choose_assignment(const ShardedOp& op) {
  FactorAssignment best = assign_factors(op);
  if (!best.reduced && !moves_operands(op, best)) return best;
  int64_t least = assignment_cost(op, best);
  // Operands may be summed in parts where they are. Gathering them, so that each device sums all of
  // them, must cost less than half of that.
  const int64_t of_parts = least;
  const double most_work =
      moves_operands(op, best) ? std::numeric_limits<double>::infinity() : work_of(op, best);
  std::vector<std::vector<AtomList>> seen{best.axes};
  const int tensors = static_cast<int>(op.operands.size() + op.results.size());
  for (const bool shard_reductions : {true, false})
    for (int first = -1; first < tensors; ++first) {
      FactorAssignment a = assign_factors(op, {first, shard_reductions});
      if (contains(seen, a.axes)) continue;
      seen.push_back(a.axes);
      const int64_t cost = assignment_cost(op, a);
      if (cost >= least || (work_of(op, a) > most_work && 2 * cost > of_parts)) continue;
      least = cost;
      best = std::move(a);
    }
  return best;
}

FactorAssignment with_moved_axes(const ShardedOp& op, FactorAssignment chosen) {
  if (axes_to_move(op).empty()) return chosen;
  int64_t least = assignment_cost(op, chosen);
  for (size_t id = 0; id < op.factors.factors.size(); ++id) {
    if (op.factors.factors[id].kind != FactorKind::kPass) continue;
    for (const bool shard_reductions : {true, false}) {
      FactorAssignment a = assign_factors(
          op, {.shard_reductions = shard_reductions, .takes_moved_axes = static_cast<int>(id)});
      const int64_t cost = assignment_cost(op, a);
      if (cost >= least) continue;
      least = cost;
      chosen = std::move(a);
    }
  }
  return chosen;
}

}  // namespace tessera::spmd
