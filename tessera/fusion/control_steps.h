// Loops and branches in the graph: finds which operands are constants, carried or scanned, and
// which axes carries and results physically vary over. A carry varies over the axes of its initial
// value and those that a trip adds; iterating from the initial values finds the fewest such axes.
#pragma once

#include <map>

#include "tessera/fusion/graph.h"
#include "tessera/ir/control_flow.h"

namespace tessera::fusion {

struct ControlLowering {
  std::shared_ptr<GraphControl> control;
  std::vector<size_t> operands, results;  // positions in the op, ordered as in the graph's op
  std::vector<AxisList> result_axes;      // for each of `results`
  // True if the op has effects and no results: the last result in the graph is then an array
  // without elements, so that the op is kept.
  bool token = false;
  // Pairs (result, operand) for each carry of a while loop that its body returns unchanged.
  std::vector<std::pair<size_t, size_t>> aliases;
};

// The axes that the carries of loops were found to vary over. For nested loops, the search in the
// inner loop runs again in each iteration of the search in the outer one, with inputs that vary
// over more and more axes. It starts from what it found before; otherwise the number of iterations
// would double with each level of nesting.
class SettledCarries {
 public:
  // Adds to the carries in `inputs` the axes that were found for inputs with the same or fewer
  // axes.
  void widen(const ControlFlow& loop, std::vector<AxisList>& inputs) const;
  // Records that the search found `settled` for `inputs`.
  void keep(const ControlFlow& loop, std::vector<AxisList> inputs, std::vector<AxisList> settled);

 private:
  struct Found {
    size_t num_consts, num_carry;
    std::vector<AxisList> inputs, settled;
  };
  std::map<FunctionRef, std::vector<Found>> found_;  // by the body
};

// Returns how the op appears in the graph. Throws UserError if the condition or index differs
// between devices.
ControlLowering lower_control(const Op& op, const Mesh& mesh,
                              const std::vector<AxisList>& operand_axes, SettledCarries& settled);

// Returns the step. Every region must have its schedule.
Step control_step(const GraphControl& control, std::vector<int> in, std::vector<int> out);

}  // namespace tessera::fusion
