#include "tessera/spmd/assignment.h"

#include <algorithm>

#include "tessera/sharding/projection.h"

namespace tessera {
namespace {

bool may_be_cut(FactorKind kind) { return kind == FactorKind::kPass || kind == FactorKind::kReduction; }

struct Candidate {
  int factor;
  AtomList axes;
  int64_t carried = 0;  // elements of the tensors that have it already
};

// The dimensions with several factors: there a minor factor may be cut only when the major ones are cut to single elements, and cuts must
// be even.
std::vector<DimFactors> joint_dims(const Factors& f) {
  std::vector<DimFactors> out;
  for (const auto* tensors : {&f.operands, &f.results})
    for (const TensorFactors& t : *tensors)
      for (const DimFactors& d : t)
        if (d.size() > 1) out.push_back(d);
  return out;
}

bool representable(const AtomMesh& mesh, const Factors& f, const std::vector<DimFactors>& joint, const std::vector<AtomList>& axes) {
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

FactorAssignment assign_factors(const AtomMesh& mesh, const Factors& f, const std::vector<TensorSharding>& operands,
                                const std::vector<TensorSharding>& results, const std::vector<AtomList>& pinned) {
  std::vector<Candidate> candidates;
  auto collect = [&](const TensorFactors& tensor, const TensorSharding& sharding) {
    const std::vector<char> open(tensor.size(), true);
    const Projection projection(f, tensor, sharding.dims, open, mesh);
    for (const DimFactors& dim : tensor) {
      for (int id : dim) {
        const AtomList& axes = projection.atoms(id);
        if (axes.empty() || !may_be_cut(f.factors[id].kind)) continue;
        auto it = std::find_if(candidates.begin(), candidates.end(),
                               [&](const Candidate& c) { return c.factor == id && c.axes == axes; });
        if (it == candidates.end()) it = candidates.insert(it, Candidate{id, axes});
        it->carried += sharding.elements;
      }
    }
  };
  for (size_t i = 0; i < operands.size(); ++i) collect(f.operands[i], operands[i]);
  for (size_t i = 0; i < results.size(); ++i) collect(f.results[i], results[i]);
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.carried != b.carried) return a.carried > b.carried;
    const FactorKind ka = f.factors[a.factor].kind, kb = f.factors[b.factor].kind;
    if (ka != kb) return ka < kb;
    return mesh.size(a.axes) > mesh.size(b.axes);
  });

  FactorAssignment out;
  out.axes.resize(f.factors.size());
  AtomSet taken = 0;
  for (size_t id = 0; id < pinned.size(); ++id) {
    out.axes[id] = pinned[id];
    taken |= atom_set(pinned[id]);
  }
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
  // A minor factor may wait for its major one: go round until nothing fits any more.
  for (bool grew = true; grew;) {
    grew = false;
    for (const Candidate& c : candidates) grew = try_candidate(c) || grew;
  }

  for (const TensorFactors& t : f.operands) out.operands.push_back(dims_of(t, out.axes));
  for (const TensorFactors& t : f.results) out.results.push_back(dims_of(t, out.axes));
  for (size_t id = 0; id < f.factors.size(); ++id)
    if (f.factors[id].kind == FactorKind::kReduction) out.reduced |= atom_set(out.axes[id]);
  return out;
}

}  // namespace tessera
