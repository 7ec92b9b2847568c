// The IR: a Function is a list of ops in SSA form over values that are indices into a table of
// types.
//
// One form serves every stage. Traced: global shapes. Propagated: every type has a sharding.
// Partitioned: local shapes, explicit collectives, and `varying` in every type. A Function is
// closed: nested functions (regions) are fields of op params and get everything they use as
// operands, so they capture nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/ir/forward.h"
#include "tessera/ir/params.h"
#include "tessera/ir/type.h"

namespace tessera::ir {

using ValueIds = boost::container::small_vector<ValueId, 4>;

struct Op {
  const OpDef* def = nullptr;
  OpParams params;
  ValueIds operands;
  ValueIds results;
  // The user's call, for messages ("user.cc:42"), or the library function that bound the op. It may
  // be empty.
  std::string source;
  // Why the partitioner added the op, as the number of a reason (spmd/reasons.h); 0 means no
  // reason. Equal ops may have different reasons.
  int32_t reason = 0;
};

class Function {
 public:
  std::string name = "main";
  std::vector<Type> types;      // the type of every value
  std::vector<ValueId> inputs;  // values without a defining op
  std::vector<Op> ops;          // each value is defined before it is used
  std::vector<ValueId> outputs;

  Function();
  Function(const Function& other);
  Function(Function&& other) noexcept;
  Function& operator=(const Function& other);
  Function& operator=(Function&& other) noexcept;
  ~Function();

  ValueId add_value(Type type);
  ValueId add_input(Type type);
  // Appends an op with these result types and returns the ids of its results.
  const ValueIds& add_op(const OpDef& def, OpParams params, ValueIds operands,
                         std::span<const Type> results, std::string source = {});
  // Appends the op, whose own `results` are ignored, and returns the ids of its results.
  const ValueIds& add_op(Op op, std::span<const Type> results);
  const Type& type(ValueId id) const { return types[id]; }
  std::vector<Type> types_of(std::span<const ValueId> ids) const;
  std::vector<Type> input_types() const { return types_of(inputs); }
  std::vector<Type> output_types() const { return types_of(outputs); }
  // Returns, for each value v, the indices of the ops that read it, ascending and each once.
  // Outputs do not count.
  std::vector<std::vector<int>> users() const;
  // Returns, for each value v, the index of the op that defines it; -1 for inputs.
  std::vector<int> producers() const;
};

// Returns whether the functions are equal up to the numbering of values and source locations.
bool operator==(const Function& a, const Function& b);
size_t hash_value(const Function& function);

// Returns the function without ops that have no effect (OpDef::effect) and whose results are not
// used. Values are renumbered.
Function remove_dead_ops(const Function& function);

}  // namespace tessera::ir
