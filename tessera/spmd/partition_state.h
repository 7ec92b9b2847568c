// What the partitioner knows while it works: of the whole program, and of the values of one
// function.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"
#include "tessera/sharding/atoms.h"
#include "tessera/spmd/assignment.h"
#include "tessera/spmd/partition.h"
#include "tessera/spmd/reasons.h"

namespace tessera::spmd {

// What a function and the regions inside it have in common.
class PartitionedProgram {
 public:
  PartitionedProgram(const Function& f, const Mesh& mesh);

  // The axes of the user's mesh, cut where shardings cut them (refine_mesh.h).
  const AtomMesh& mesh() const { return mesh_; }
  const Mesh& user_mesh() const { return user_mesh_; }

  // The sharding that propagation gave to a value of this type, on the refined mesh.
  const DimAtoms& declared(const Type& type);
  // A shard of a global type.
  Type local_type(const Type& global, const DimAtoms& dims) const;

  // Axes of the refined mesh by the names of the user's: "x/0" is "x:(1)2".
  std::vector<std::string> user_names(const std::vector<std::string>& axes) const;
  std::vector<std::string> user_names(AtomSet atoms) const;
  std::string spec_text(const DimAtoms& dims) const;

  std::vector<Reason> reasons;

  // A loop or branch that regions were made for, within that around it (null: none). Of a loop: what
  // its carries vary over. The loops around it make its body again when their own carries vary over
  // more; it starts from there.
  struct Control {
    std::vector<AxisNames> carries;
  };
  std::map<std::pair<const Control*, const Op*>, Control> controls;

  // Whether an op moves its operands first where, taken by itself, that costs less than to complete
  // its partial results; and whether for some op it does. Which is better for the whole program is
  // seen when sums have gone where they are smallest (late_sums.h).
  bool moves_before_sums = false, could_move_before_sums = false;

  // Notes for the user.
  void note_padding(const Type& global, const DimAtoms& dims, std::string_view op,
                    const std::string& source);
  // `why` brings a value that was cut like `from` whole to every device, `bytes` each.
  void note_gather(const Op& op, const Function& f, const Type& global, const DimAtoms& from,
                   int64_t bytes, const std::string& why);
  // Each once: a region may have been partitioned more than once.
  std::vector<Note> take_notes();

 private:
  const Mesh user_mesh_;
  const AtomMesh user_atoms_;
  const AtomMesh mesh_;
  std::map<std::pair<const NamedSharding*, int64_t>, DimAtoms> declared_;
  std::vector<Note> notes_;
  std::set<std::string> padded_;  // what has been told of padding
};

// The values of one function on shards.
struct LocalValues {
  struct Local {
    Array array;
    DimAtoms dims;
  };
  explicit LocalValues(const Function& f);

  std::vector<DimAtoms> dims(std::span<const ValueId> values) const;

  const Function& f;
  std::vector<Local> locals;      // of each value, once it is there
  std::vector<int> uses;          // of each value
  std::vector<int64_t> moved;     // what moving its rows has cost
  std::vector<const Op*> makers;  // null for inputs
};

}  // namespace tessera::spmd
