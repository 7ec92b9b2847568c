// Atoms: the prime factors of mesh axes. Propagation and partition compute with them.
//
// Example: ('x': 8, 'y': 6) has the atoms x/0:2 x/1:2 x/2:2 y/0:2 y/1:3, major first. Every axis
// and every sub-axis "x":(2)4 consists of consecutive whole atoms, so no algorithm has to split an
// axis. When a sharding is written, adjacent atoms of an axis are joined and get the axis's name
// again.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/type.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::sharding {

using Atom = uint8_t;
// The atoms that shard one dimension, major first.
using AtomList = boost::container::small_vector<Atom, 6>;
// A set of atoms. A mesh has at most 64 atoms; no real number of devices has more.
using AtomSet = uint64_t;
inline AtomSet atom_bit(Atom a) { return AtomSet{1} << a; }
AtomSet atom_set(const AtomList& atoms);

// The sharding of a tensor: one list for each dimension.
using DimAtoms = boost::container::small_vector<AtomList, 4>;
AtomSet used_atoms(const DimAtoms& dims);
bool is_prefix(const AtomList& prefix, const AtomList& list);
std::vector<AxisRef> whole_axes(const std::vector<std::string>& names);

class AtomMesh {
 public:
  enum class Atoms : uint8_t { kPrimes, kAxes };
  // kAxes makes one atom of every axis (of size > 1), for a mesh with axes that need no splitting.
  explicit AtomMesh(Mesh mesh, Atoms atoms = Atoms::kPrimes);

  const Mesh& mesh() const { return mesh_; }
  int num_atoms() const { return static_cast<int>(sizes_.size()); }
  int64_t size(Atom a) const { return sizes_[a]; }
  int axis(Atom a) const { return parts_[a].axis; }  // the mesh axis of which it is a part
  int64_t size(const AtomList& atoms) const;
  int64_t size(AtomSet atoms) const;

  // Returns the atoms of an axis of this mesh, or of a part of one, major first.
  AtomList atoms(const AxisRef& axis) const;
  AtomList atoms(const std::vector<AxisRef>& axes) const;
  // Returns the atoms of axes of `from`, a mesh with the same order of devices (translate_axes).
  AtomList atoms(std::string_view op, const std::vector<AxisRef>& axes, const Mesh& from) const;
  // Returns the axes that these atoms make up, with adjacent parts of an axis joined.
  std::vector<AxisRef> axes(const AtomList& atoms) const;
  // Returns "x", or "x:(1)2" for a part, as collectives of the partitioned program name it.
  std::vector<std::string> axis_names(const AtomList& atoms) const;
  AtomList ordered(AtomSet atoms) const;  // in the order of the mesh

  // Returns the atoms of each of the sharding's `rank` dimensions. The sharding must be on this
  // mesh.
  DimAtoms dims(const NamedSharding& sharding, int64_t rank) const;
  // Returns the sharding, closed. Equal shardings are the same object.
  std::shared_ptr<const NamedSharding> sharding(const DimAtoms& dims) const;

 private:
  Mesh mesh_;
  std::vector<int64_t> sizes_;
  struct Part {
    int axis;
    int64_t pre;  // the product of the axis's earlier atoms
  };
  std::vector<Part> parts_;
  std::vector<AtomList> axis_atoms_;
  mutable std::map<DimAtoms, std::shared_ptr<const NamedSharding>> interned_;
};

// Returns `sharding` expressed on `mesh`: each axis becomes the parts of the axes of `mesh` that it
// covers. Its mesh must have the same devices in the same order. Throws a UserError that names `op`
// if the orders differ, or if an axis does not consist of such parts.
NamedSharding translate(std::string_view op, const NamedSharding& sharding, const Mesh& mesh);
// Returns axes of `from` expressed on `mesh`, as translate() does.
std::vector<AxisRef> translate_axes(std::string_view op, const std::vector<AxisRef>& axes,
                                    const Mesh& from, const Mesh& mesh);
bool same_device_order(const Mesh& a, const Mesh& b);

}  // namespace tessera::sharding
