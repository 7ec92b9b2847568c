// Makes steps of collectives, and finds the mesh axes that their results physically vary over.
// Whatever the types say, the result of an all_reduce or an all_gather is the same on all devices
// of a group, so it is stored once for them.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Returns `axes`, then those of `more` that are not among them.
AxisList axes_union(AxisList axes, const AxisList& more);
// Returns the axes that a collective (or axis_index) runs over, major first.
AxisList collective_axes(const Op& op, const Mesh& mesh);
// Returns the axes that the collective's results vary over. `over` is what collective_axes()
// returned, `operand_axes` the axes that its operands vary over.
AxisList collective_result_axes(const Op& op, const Mesh& mesh, const AxisList& over,
                                const AxisList& operand_axes);
// Returns the step of a kCollective op, from the slots `in` to the slot `out`.
CollectiveStep collective_step(const GraphOp& op, std::span<const int> in, int out);
// Returns the step of a kAxisIndex op; the instances of its result are numbered along `axes`.
InstanceTableStep axis_index_step(const GraphOp& op, const Mesh& mesh, const AxisList& axes,
                                  int out);

}  // namespace tessera::fusion
