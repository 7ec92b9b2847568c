// Atoms: the prime factors of mesh axes, with which propagation and partition compute.
//
// ('x': 8, 'y': 6) has atoms x/0:2 x/1:2 x/2:2 y/0:2 y/1:3, major first. Every axis and every
// sub-axis "x":(2)4 consists of consecutive whole atoms, so no algorithm has to split an axis.
// Names come back when a sharding is written, where adjacent parts are joined.
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
// A set of atoms; a mesh has at most 64, which no real number of devices exceeds.
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
  // kAxes: every axis (of size > 1) is one atom, for a mesh whose axes need not be split further.
  explicit AtomMesh(Mesh mesh, Atoms atoms = Atoms::kPrimes);

  const Mesh& mesh() const { return mesh_; }
  int num_atoms() const { return static_cast<int>(sizes_.size()); }
  int64_t size(Atom a) const { return sizes_[a]; }
  int axis(Atom a) const { return parts_[a].axis; }  // the mesh axis that it is a part of
  int64_t size(const AtomList& atoms) const;
  int64_t size(AtomSet atoms) const;

  // Returns the atoms of an axis of this mesh, or of a part of one, major first.
  AtomList atoms(const AxisRef& axis) const;
  AtomList atoms(const std::vector<AxisRef>& axes) const;
  // Returns the same for axes of `from`, a mesh with the same order of devices (translate_axes).
  AtomList atoms(std::string_view op, const std::vector<AxisRef>& axes, const Mesh& from) const;
  // The inverse: returns the axes, with adjacent parts of an axis joined.
  std::vector<AxisRef> axes(const AtomList& atoms) const;
  // Returns "x", or "x:(1)2" for a part, as collectives of the partitioned program name it.
  std::vector<std::string> axis_names(const AtomList& atoms) const;
  AtomList ordered(AtomSet atoms) const;  // mesh order

  // Returns the sharding's dimensions, `rank` of them. The sharding must be on this mesh.
  DimAtoms dims(const NamedSharding& sharding, int64_t rank) const;
  // Returns the closed sharding; equal ones are one object.
  std::shared_ptr<const NamedSharding> sharding(const DimAtoms& dims) const;

 private:
  Mesh mesh_;
  std::vector<int64_t> sizes_;
  struct Part {
    int axis;
    int64_t pre;  // the product of the axis's atoms before this one
  };
  std::vector<Part> parts_;
  std::vector<AtomList> axis_atoms_;
  mutable std::map<DimAtoms, std::shared_ptr<const NamedSharding>> interned_;
};

// Returns `sharding`, which is on a mesh with the same devices in the same order, expressed on
// `mesh`: each axis becomes the parts of mesh's axes that it covers. Throws a UserError that names
// `op` if the orders differ or if an axis does not consist of such parts.
NamedSharding translate(std::string_view op, const NamedSharding& sharding, const Mesh& mesh);
// Returns the same for axes of `from`.
std::vector<AxisRef> translate_axes(std::string_view op, const std::vector<AxisRef>& axes,
                                    const Mesh& from, const Mesh& mesh);
bool same_device_order(const Mesh& a, const Mesh& b);

}  // namespace tessera::sharding
