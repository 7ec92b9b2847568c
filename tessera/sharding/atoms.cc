#include "tessera/sharding/atoms.h"

#include <fmt/ostream.h>

#include <algorithm>

#include "tessera/ir/format.h"
#include "tessera/mesh/contrast.h"

namespace tessera::sharding {

AtomSet atom_set(const AtomList& atoms) {
  AtomSet out = 0;
  for (Atom a : atoms) out |= atom_bit(a);
  return out;
}

AtomSet used_atoms(const DimAtoms& dims) {
  AtomSet out = 0;
  for (const AtomList& d : dims) out |= atom_set(d);
  return out;
}

bool is_prefix(const AtomList& prefix, const AtomList& list) {
  return prefix.size() <= list.size() && std::equal(prefix.begin(), prefix.end(), list.begin());
}

std::vector<AxisRef> whole_axes(const std::vector<std::string>& names) {
  std::vector<AxisRef> out;
  for (const std::string& name : names) out.push_back({name});
  return out;
}

AtomMesh::AtomMesh(Mesh mesh, Atoms atoms_are) : mesh_(std::move(mesh)) {
  for (int axis = 0; axis < mesh_.rank(); ++axis) {
    AtomList atoms;
    int64_t pre = 1;
    for (int64_t rest = mesh_.axis_sizes()[axis], p = 2; rest > 1;) {
      if (p * p > rest || atoms_are == Atoms::kAxes) p = rest;
      if (rest % p) {
        ++p;
        continue;
      }
      atoms.push_back(static_cast<Atom>(sizes_.size()));
      sizes_.push_back(p);
      parts_.push_back({axis, pre});
      pre *= p;
      rest /= p;
    }
    axis_atoms_.push_back(std::move(atoms));
  }
  TESSERA_CHECK(sizes_.size() <= 64, "a mesh of more than 2^64 devices");
}

int64_t AtomMesh::size(const AtomList& atoms) const {
  int64_t n = 1;
  for (Atom a : atoms) n *= sizes_[a];
  return n;
}

int64_t AtomMesh::size(AtomSet atoms) const { return size(ordered(atoms)); }

AtomList AtomMesh::atoms(const AxisRef& axis) const {
  const AtomList& all = axis_atoms_[mesh_.axis_index(axis.name)];
  if (axis.is_whole()) return all;
  AtomList out;
  for (Atom a : all)
    if (parts_[a].pre >= axis.pre_size && parts_[a].pre < axis.pre_size * axis.size)
      out.push_back(a);
  TESSERA_CHECK(size(out) == axis.size, "part of axis '{}' cuts a prime factor", axis.name);
  return out;
}

AtomList AtomMesh::atoms(const std::vector<AxisRef>& axes) const {
  AtomList out;
  for (const AxisRef& axis : axes) {
    const AtomList part = atoms(axis);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

AtomList AtomMesh::atoms(std::string_view op, const std::vector<AxisRef>& axes,
                         const Mesh& from) const {
  return atoms(translate_axes(op, axes, from, mesh_));
}

std::vector<AxisRef> AtomMesh::axes(const AtomList& atoms) const {
  std::vector<AxisRef> out;
  for (size_t i = 0; i < atoms.size();) {
    const Part first = parts_[atoms[i]];
    int64_t covered = sizes_[atoms[i]];
    size_t j = i + 1;
    while (j < atoms.size() && parts_[atoms[j]].axis == first.axis &&
           parts_[atoms[j]].pre == first.pre * covered)
      covered *= sizes_[atoms[j++]];
    const std::string& name = mesh_.axis_names()[first.axis];
    if (covered == mesh_.axis_sizes()[first.axis]) {
      out.push_back({name});
    } else {
      out.push_back({name, first.pre, covered});
    }
    i = j;
  }
  return out;
}

std::vector<std::string> AtomMesh::axis_names(const AtomList& atoms) const {
  std::vector<std::string> out;
  for (const AxisRef& axis : axes(atoms)) out.push_back(fmt::format("{}", axis));
  return out;
}

AtomList AtomMesh::ordered(AtomSet atoms) const {
  AtomList out;
  for (int a = 0; a < num_atoms(); ++a)
    if (atoms >> a & 1) out.push_back(static_cast<Atom>(a));
  return out;
}

DimAtoms AtomMesh::dims(const NamedSharding& sharding, int64_t rank) const {
  DimAtoms out(rank);
  for (int64_t d = 0; d < rank; ++d) out[d] = atoms(sharding.dim_axes(d));
  return out;
}

std::shared_ptr<const NamedSharding> AtomMesh::sharding(const DimAtoms& dims) const {
  auto [it, is_new] = interned_.try_emplace(dims);
  if (is_new) {
    std::vector<DimSpec> spec;
    for (const AtomList& d : dims) spec.push_back(DimSpec(axes(d)));
    it->second = std::make_shared<NamedSharding>(mesh_, PartitionSpec(std::move(spec)));
  }
  return it->second;
}

bool same_device_order(const Mesh& a, const Mesh& b) {
  return a.size() == b.size() && a.is_abstract() == b.is_abstract() &&
         (a.is_abstract() || a.device_ids() == b.device_ids());
}

std::vector<AxisRef> translate_axes(std::string_view op, const std::vector<AxisRef>& axes,
                                    const Mesh& from, const Mesh& mesh) {
  if (from == mesh || axes.empty()) return axes;
  if (!same_device_order(from, mesh))
    sharding_error(op,
                   "expected meshes that list the same devices in the same order, got {} and {}; "
                   "build both from one device "
                   "list",
                   in_contrast(from, mesh), in_contrast(mesh, from));
  // An axis is a range of the flat device number: [stride, stride * size). Each range of `from` is
  // covered by parts of the axes of `mesh`.
  auto stride_of = [](const Mesh& m, int64_t axis) {
    int64_t stride = 1;
    for (int64_t i = axis + 1; i < m.rank(); ++i) stride *= m.axis_sizes()[i];
    return stride;
  };
  std::vector<AxisRef> out;
  for (const AxisRef& ref : axes) {
    const int64_t index = from.axis_index(ref.name), whole = from.axis_sizes()[index];
    const int64_t size = ref.is_whole() ? whole : ref.size, pre = ref.is_whole() ? 1 : ref.pre_size;
    const int64_t low = stride_of(from, index) * (whole / (pre * size));
    int64_t high = low * size;  // the rest to cover is [low, high), from the major side
    for (int64_t a = 0; a < mesh.rank() && high > low; ++a) {
      const int64_t n = mesh.axis_sizes()[a], begin = stride_of(mesh, a), end = begin * n;
      if (n == 1 || begin >= high || end <= low) continue;
      const int64_t top = std::min(end, high), bottom = std::max(begin, low);
      if (top != high || end % top || top % bottom || bottom % begin)
        sharding_error(op,
                       "expected axes that are parts of {}, got '{}' of {}; use one mesh, or axis "
                       "sizes that divide each other",
                       mesh, ref.name, from);
      out.push_back({mesh.axis_names()[a], end / top, top / bottom});
      high = bottom;
    }
    TESSERA_CHECK(high == low || size == 1, "axis {} is not covered", ref.name);
  }
  return out;
}

NamedSharding translate(std::string_view op, const NamedSharding& sharding, const Mesh& mesh) {
  if (sharding.mesh() == mesh) return sharding;
  std::vector<DimSpec> dims;
  for (int64_t d = 0; d < sharding.spec().rank(); ++d)
    dims.emplace_back(translate_axes(op, sharding.dim_axes(d), sharding.mesh(), mesh),
                      sharding.is_open(d));
  return NamedSharding(
      mesh, PartitionSpec(std::move(dims),
                          translate_axes(op, sharding.spec().replicated(), sharding.mesh(), mesh)));
}

}  // namespace tessera::sharding
