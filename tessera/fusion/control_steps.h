// Loops and branches in the graph: which operands are constants, carried or scanned, and over which
// axes carries and results physically vary. A carry varies over what its initial value or a trip
// makes it vary over: the least such axes are found by iteration.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

struct ControlLowering {
  std::shared_ptr<GraphControl> control;
  std::vector<size_t> operands, results;  // of the op, in the order of the graph's op
  std::vector<AxisList> result_axes;      // one of `results`
  // The op has effects and no results: its last result in the graph is an array without elements, which
  // keeps it.
  bool token = false;
  // (result, operand): a while's carry that its body returns as it came.
  std::vector<std::pair<size_t, size_t>> aliases;
};

// UserError where what decides the way differs between devices.
ControlLowering lower_control(const Op& op, const Mesh& mesh,
                              const std::vector<AxisList>& operand_axes);

// The step, once every region has its schedule.
Step control_step(const GraphControl& control, std::vector<int> in, std::vector<int> out);

}  // namespace tessera::fusion
