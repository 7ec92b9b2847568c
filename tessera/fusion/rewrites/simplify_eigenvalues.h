// Eigendecompositions of which the eigenvectors are not read, a rule of simplify.
//
//   v, w, info = eigh(x)     ->    w, info = eigh_values(x)        if nothing reads v
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// Returns whether the op is `eigh` and nothing in `f` reads its eigenvectors.
bool reads_no_eigenvectors(const Function& f, const Op& op);

// Returns the `eigh_values` that computes the results of `eigh` except the first.
Op eigenvalues_of(const Op& eigh);

}  // namespace tessera::fusion
