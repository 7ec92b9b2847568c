// Loops and branches in the graph: which operands are constants, carried or scanned, and which axes
// carries and results physically vary over. A carry varies over the axes of its initial value and
// those that a trip adds: an iteration finds the fewest such axes.
#pragma once

#include <map>

#include "tessera/fusion/graph.h"
#include "tessera/ir/control_flow.h"

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

// The axes that carries of loops were found to vary over. The search in a loop runs again for each
// trip of the search around it, with inputs that vary over more and more axes; it starts from what
// it found before, since otherwise its trips would double with each loop around it.
class SettledCarries {
 public:
  // Adds to the carries in `inputs` the axes that were found for inputs that vary over no more axes.
  void widen(const ControlFlow& loop, std::vector<AxisList>& inputs) const;
  // Keeps `settled`, what was found for `inputs`.
  void keep(const ControlFlow& loop, std::vector<AxisList> inputs, std::vector<AxisList> settled);

 private:
  struct Found {
    size_t num_consts, num_carry;
    std::vector<AxisList> inputs, settled;
  };
  std::map<FunctionRef, std::vector<Found>> found_;  // by the body
};

// Throws UserError if the condition or index differs between devices.
ControlLowering lower_control(const Op& op, const Mesh& mesh,
                              const std::vector<AxisList>& operand_axes, SettledCarries& settled);

// Returns the step, once every region has its schedule.
Step control_step(const GraphControl& control, std::vector<int> in, std::vector<int> out);

}  // namespace tessera::fusion
