// Scatters of several arrays, a rule of simplify. Arrays that the update computation does not mix
// get separate scatters, each with its own combiner.
//
//   y, z = scatter(a, b, index, u, v)           y = scatter(add, a, index, u)
//     where the body returns                ->  z = scatter(max, b, index, v)
//     old_a + u_a, max(old_b, v_b)
//
// A result stays with the arrays that it needs: if a body returns old_a + v_b, max(old_b, v_b), the
// scatter is not split.
#pragma once

#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

struct ScatterPart {
  Op op;                        // without results
  std::vector<size_t> results;  // its results among those of the whole scatter, in order
};
// Returns the scatters that together do what `op` does. The list is empty if `op` is not a scatter
// of several arrays, or if its body mixes all of them.
std::vector<ScatterPart> split_scatter(const Op& op);

}  // namespace tessera::fusion
