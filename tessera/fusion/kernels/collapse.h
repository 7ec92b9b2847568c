// The addresses of a kernel under construction, and their final form: loop dimensions of one
// element are removed, and adjacent ones that are contiguous in every address are merged, so an
// elementwise kernel over contiguous arrays is a single loop.
#pragma once

#include "tessera/fusion/kernel.h"
#include "tessera/fusion/kernels/index_expr.h"

namespace tessera::fusion {

// The loop dimensions that addresses use; `extents` has the extent of each. A loop consists of the
// parallel dimensions and the dimensions of one family, major first.
struct LoopDims {
  const Dims& extents;
  const std::vector<int>& parallel;
  const std::vector<std::vector<int>>& families;
  std::vector<int> loop_family;  // for each loop; -1: none
};

// Sets the parallel dimensions, the loops' extents, and all addresses of `kernel`. addresses[i] is
// the address of node i, store_addresses[l][s] that of store s in loop l.
void collapse(Kernel& kernel, const LoopDims& dims, const std::vector<IndexExpr>& addresses,
              const std::vector<std::vector<IndexExpr>>& store_addresses);

}  // namespace tessera::fusion
