// The order of the groups of a plan: that of the program, unless a step needs the result of a later
// one. A step that reads an array runs before one that updates it, if neither waits for the other.
// It is the last part of make_fusion_plan (plan.h); the groups are complete.
#pragma once

#include <vector>

#include "tessera/fusion/plan.h"

namespace tessera::fusion {

// Returns the groups in the order of their steps.
std::vector<int> order_of_groups(const Graph& graph, const FusionPlan& plan);

}  // namespace tessera::fusion
