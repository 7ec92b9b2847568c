// The state of the partitioner: that of the whole program, and that of the values of one function.
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

// The state that a function and the regions inside it share.
class PartitionedProgram {
 public:
  PartitionedProgram(const Function& f, const Mesh& mesh);

  // Returns the axes of the user's mesh, split as shardings split them (refine_mesh.h).
  const AtomMesh& mesh() const { return mesh_; }
  const Mesh& user_mesh() const { return user_mesh_; }

  // Returns the sharding that propagation chose for a value of this type, on the refined mesh.
  const DimAtoms& declared(const Type& type);
  // Returns the type of a shard of a global type.
  Type local_type(const Type& global, const DimAtoms& dims) const;

  // Returns axes of the refined mesh by the names of the user's mesh: "x/0" is "x:(1)2".
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

  // Whether an op moves its operands first if, for that op alone, this costs less than completing
  // its partial results; and whether it does for some op. Which one is better for the whole program
  // is known only after sums have been moved to where they are smallest (late_sums.h).
  bool moves_before_sums = false, could_move_before_sums = false;

  // Adds a note for the user.
  void note_padding(const Type& global, const DimAtoms& dims, std::string_view op,
                    const std::string& source);
  // Adds the note that `why` gathers a value with the sharding `from` on every device, with `bytes`
  // each.
  void note_gather(const Op& op, const Function& f, const Type& global, const DimAtoms& from,
                   int64_t bytes, const std::string& why);
  // Returns the notes without repetitions: a region may have been partitioned more than once.
  std::vector<Note> take_notes();

 private:
  const Mesh user_mesh_;
  const AtomMesh user_atoms_;
  const AtomMesh mesh_;
  std::map<std::pair<const NamedSharding*, int64_t>, DimAtoms> declared_;
  std::vector<Note> notes_;
  std::set<std::string> padded_;  // the notes of padding so far
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
  std::vector<Local> locals;      // of each value, once it has been computed
  std::vector<int> uses;          // of each value
  std::vector<int64_t> moved;     // the cost of moving its rows so far
  std::vector<const Op*> makers;  // null for inputs
};

}  // namespace tessera::spmd
