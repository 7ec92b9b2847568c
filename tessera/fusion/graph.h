// Graph: the program in the form that fusion needs. Casts and constraints are removed (they are
// other names of their operand), every op is one of a few kinds with its lowering, every value has
// the mesh axes that it physically varies over, and reductions with too few results to occupy the
// machine are divided into blocks of a fixed size, whose partial results a second reduction
// combines.
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
  kGather,     // `op` says which element of its first operand, by the second's
  kDot,        // from here on their operands and results are stored
  kConvolution,
  kCollective,
  kAxisIndex,
  kCall,  // `call` computes all results
  // a dynamic_update_slice that writes only the update if its operand is in the same memory
  // (updates.h)
  kUpdate,
  kControl,  // a loop or a branch
};

// A region of a control op, with the axes that its inputs vary over and that its outputs must vary
// over.
struct Region {
  FunctionRef function;
  std::shared_ptr<struct Graph> graph;  // of `function`, for these inputs
  std::vector<AxisList> inputs, outputs;
  std::shared_ptr<const Schedule> schedule;  // made once
};

// A loop or a branch. The operands of a loop are constants, carry, scanned; those of a branch the
// index, then the inputs of every branch. The results of a loop are carry, stacked.
struct GraphControl {
  bool loop = true;
  std::vector<Region> regions;     // a loop's body, then its condition if it has one
  std::optional<size_t> expected;  // the branch that is almost always taken
  int64_t trip_count = 0;
  bool reverse = false;
  size_t num_consts = 0, num_carry = 0;
};

struct GraphOp {
  OpKind kind;
  const Op* op = nullptr;  // null if the graph made it
  boost::container::small_vector<int, 3> operands, results;
  std::vector<Type> operand_types;  // for kPointwise: dtype and shape
  IndexMapping mapping;
  Reduction reduction;
  // For kDot: dimension numbers and what it absorbed; a third operand is the bias.
  std::shared_ptr<DotStep> dot;
  // For kConstant, kPointwise: the scalar that every element has.
  std::shared_ptr<const Literal> splat;
  // For kPointwise: the operation if it is a single one of its operands, in their order.
  std::optional<ScalarOp> single;
  // The number of scalar instructions for an element, roughly; an elementary function counts about
  // ten.
  float work = 0;
  // For kCollective, kAxisIndex: the axes that it runs along.
  AxisList over;
  HostCall call;         // for kCall
  bool updates = false;  // for kCall, as Library::updates
  // It has effects, and its last operand is a result of the op with effects before it: it is not
  // read, but keeps the order of the two.
  bool after_effect = false;
  std::shared_ptr<GraphControl> control;  // for kControl

  bool stored() const { return kind >= OpKind::kDot; }  // its results exist in memory
};

struct GraphValue {
  DType dtype;
  Shape shape;
  AxisList axes;  // in storage order
  int64_t instances = 1;
  int op = -1;     // -1: an input, or a constant array
  int input = -1;  // the number of the input
  bool output = false;
  std::shared_ptr<const Literal> constant;       // if op < 0, input < 0: the same on every device
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
// Returns the graph of a region of such a function.
class SettledCarries;
Graph build_graph(const Function& function, const Mesh& mesh,
                  const std::vector<AxisList>& input_axes, SettledCarries& settled);

// The number of rows (elements folded one after the other) of a reduction that is not divided, and
// the size of the blocks otherwise.
inline constexpr int64_t kReduceBlock = 16384;

}  // namespace tessera::fusion
