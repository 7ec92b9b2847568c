// The state of the partitioner: for the whole program, and for the values of one function.
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

  // Returns the user's mesh with its axes split at the points where shardings split them
  // (refine_mesh.h).
  const AtomMesh& mesh() const { return mesh_; }
  const Mesh& user_mesh() const { return user_mesh_; }

  // Returns the sharding that propagation chose for a value of this type, on the refined mesh.
  const DimAtoms& declared(const Type& type);
  // Returns the type of a shard of a global type.
  Type local_type(const Type& global, const DimAtoms& dims) const;

  // Returns the names on the user's mesh of axes of the refined mesh: "x/0" is "x:(1)2".
  std::vector<std::string> user_names(const std::vector<std::string>& axes) const;
  std::vector<std::string> user_names(AtomSet atoms) const;
  std::string spec_text(const DimAtoms& dims) const;

  std::vector<Reason> reasons;

  // Facts about a loop or branch whose regions were partitioned: for a loop, the axes that its
  // carries vary over. The loops around it partition its body again when their own carries vary
  // over more axes; this is where that starts. The key is the enclosing loop or branch (null: none)
  // and the op.
  struct Control {
    std::vector<AxisNames> carries;
  };
  std::map<std::pair<const Control*, const Op*>, Control> controls;

  // moves_before_sums: whether an op moves its operands first if, for that op alone, this costs
  // less than completing its partial results. could_move_before_sums: whether this matters for some
  // op. Which choice is better for the whole program is known only after sums have been moved to
  // where they are smallest (late_sums.h).
  bool moves_before_sums = false, could_move_before_sums = false;

  // Adds a note on the padding of a value.
  void note_padding(const Type& global, const DimAtoms& dims, std::string_view op,
                    const std::string& source);
  // Adds a note that the op gathers a value of sharding `from` on every device, which receives
  // `bytes`, because of `why`.
  void note_gather(const Op& op, const Function& f, const Type& global, const DimAtoms& from,
                   int64_t bytes, const std::string& why);
  // Returns the notes without repetitions, since a region may have been partitioned more than once.
  std::vector<Note> take_notes();

 private:
  const Mesh user_mesh_;
  const AtomMesh user_atoms_;
  const AtomMesh mesh_;
  std::map<std::pair<const NamedSharding*, int64_t>, DimAtoms> declared_;
  std::vector<Note> notes_;
  std::set<std::string> padded_;  // the texts of the padding notes so far
};

// The values of one function, on shards.
struct LocalValues {
  struct Local {
    Array array;
    DimAtoms dims;
  };
  explicit LocalValues(const Function& f);

  std::vector<DimAtoms> dims(std::span<const ValueId> values) const;

  const Function& f;
  std::vector<Local> locals;      // for each value, once it is computed
  std::vector<int> uses;          // for each value, the number of its readers
  std::vector<int64_t> moved;     // for each value, the cost so far of moving its rows
  std::vector<const Op*> makers;  // for each value, the op that makes it; null for inputs
};

}  // namespace tessera::spmd
