// Graph: the program in the form that fusion needs. Casts and constraints are removed (they are
// aliases of their operand), every op is one of a few kinds with its lowering, and every value has
// the mesh axes that it physically varies over. A reduction with too few results to occupy the
// machine is divided into blocks of a fixed size; a second reduction combines their partial
// results.
#pragma once

#include <optional>
#include <vector>

#include "tessera/fusion/schedule.h"
#include "tessera/ir/function.h"
#include "tessera/ir/op_def.h"

namespace tessera::fusion {

enum class OpKind : uint8_t {
  kNothing,    // it became part of another op
  kConstant,   // a scalar
  kConvert,    // to the result's dtype
  kPointwise,  // `op` emits it
  kIndexMap,   // `mapping`
  kReshape,    // the same elements in the same order
  kReduce,     // `reduction`; n operands, then n initial scalars
  kGather,     // `op` says which element of its first operand
  kDot,        // operands and results of this kind and of all that follow are stored
  kConvolution,
  kCollective,
  kAxisIndex,
  kCall,  // `call` computes all results
  // A dynamic_update_slice. It writes only the update if its result is in its operand's memory
  // (updates.h).
  kUpdate,
  kControl,  // a loop or a branch
};

// A region of a control op, with the axes that its inputs vary over and those that its outputs must
// vary over.
struct Region {
  FunctionRef function;
  std::shared_ptr<struct Graph> graph;  // the graph of `function` for these inputs
  std::vector<AxisList> inputs, outputs;
  std::shared_ptr<const Schedule> schedule;  // made once, by fuse()
};

// A loop or a branch. The operands of a loop are constants, carry, scanned; those of a branch are
// the index, then the inputs of every branch. The results of a loop are carry, stacked.
struct GraphControl {
  bool loop = true;
  std::vector<Region> regions;     // a loop's body, then its condition if it has one
  std::optional<size_t> expected;  // the branch that is almost always taken
  int64_t trip_count = 0;
  bool reverse = false;
  bool independent = false;  // LoopStep::independent
  size_t num_consts = 0, num_carry = 0;
};

struct GraphOp {
  OpKind kind;
  const Op* op = nullptr;  // null if there is no such op in the function
  boost::container::small_vector<int, 3> operands, results;
  std::vector<Type> operand_types;  // for kPointwise: dtype and shape
  IndexMapping mapping;
  Reduction reduction;
  // For kDot: dimension numbers and what it absorbed; a third operand is the bias.
  std::shared_ptr<DotStep> dot;
  // For kConstant, kPointwise: the scalar that every element has.
  std::shared_ptr<const Literal> splat;
  // For kPointwise: its scalar operation, if it is a single one of its operands, in their order.
  std::optional<ScalarOp> single;
  // The number of scalar instructions for an element, roughly; an elementary function has about
  // ten.
  float work = 0;
  // For kCollective, kAxisIndex: the axes that it runs along.
  AxisList over;
  HostCall call;         // for kCall
  bool updates = false;  // for kCall: Library::updates
  // True if the op has effects and its last operand is a result of the previous op with effects.
  // That operand is not read; it keeps the two ops in order.
  bool after_effect = false;
  std::shared_ptr<GraphControl> control;  // for kControl

  bool stored() const { return kind >= OpKind::kDot; }  // its results exist in memory
};

struct GraphValue {
  DType dtype;
  Shape shape;
  AxisList axes;  // in storage order
  int64_t instances = 1;
  int op = -1;     // the op that makes it; -1: it is an input or a constant array
  int input = -1;  // the number of the input
  bool output = false;
  std::shared_ptr<const Literal> constant;       // if it is a constant array
  boost::container::small_vector<int, 4> users;  // the ops that read it, ascending, each once

  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * itemsize(dtype); }
};

struct Graph {
  Mesh mesh;
  std::vector<GraphValue> values;
  std::vector<GraphOp> ops;  // in an order that defines before use
  std::vector<int> inputs, outputs;

  // Sets GraphValue::users.
  void find_users();
  int add_value(DType dtype, const Shape& shape, const AxisList& axes, int op = -1);
};

// The graph refers to ops of `function`.
Graph build_graph(const Function& function, const Mesh& mesh,
                  const std::vector<AxisList>& input_axes);
// Returns the graph of a region of a function.
class SettledCarries;
Graph build_graph(const Function& function, const Mesh& mesh,
                  const std::vector<AxisList>& input_axes, SettledCarries& settled);

// A reduction of more elements than this is divided; its blocks have about this many elements.
inline constexpr int64_t kReduceBlock = 16384;

}  // namespace tessera::fusion
