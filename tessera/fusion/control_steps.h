// Loops and branches in the graph: which operands are constants, carried or scanned, and which axes
// carries and results physically vary over. A carry varies over the axes of its initial value and
// those that a trip adds: an iteration finds the fewest such axes.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

struct ControlLowering {
  std::shared_ptr<GraphControl> control;
  std::vector<size_t> operands, results;  // of the op, in the order of the graph's op
  std::vector<AxisList> result_axes;      // for each of `results`
  // The op has effects and no results: its last result in the graph is an array without elements,
  // so that the op is kept.
  bool token = false;
  // (result, operand): a while's carry that its body returns unchanged.
  std::vector<std::pair<size_t, size_t>> aliases;
};

// Throws UserError if the condition or index differs between devices.
ControlLowering lower_control(const Op& op, const Mesh& mesh,
                              const std::vector<AxisList>& operand_axes);

// Returns the step, once every region has its schedule.
Step control_step(const GraphControl& control, std::vector<int> in, std::vector<int> out);

}  // namespace tessera::fusion
