// Collectives as steps, and what they do to physical variance: whatever the typing says, the result
// of an all_reduce or an all_gather is the same on all devices of a group, so it is stored once for
// them.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// `axes`, then those of `more` that it lacks.
AxisList axes_union(AxisList axes, const AxisList& more);
// The axes a collective (or axis_index) runs over, major first.
AxisList collective_axes(const Op& op, const Mesh& mesh);
// What its results vary over, given these axes and what the union of its operands does.
AxisList collective_result_axes(const Op& op, const Mesh& mesh, const AxisList& over,
                                const AxisList& operand_axes);
// The step of a kCollective op between slots.
CollectiveStep collective_step(const GraphOp& op, std::span<const int> in, int out);
// The step of a kAxisIndex op; the result's instances are counted along `axes`.
InstanceTableStep axis_index_step(const GraphOp& op, const Mesh& mesh, const AxisList& axes,
                                  int out);

}  // namespace tessera::fusion
