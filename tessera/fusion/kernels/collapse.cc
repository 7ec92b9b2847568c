#include "tessera/fusion/kernels/collapse.h"

#include <algorithm>

namespace tessera::fusion {
namespace {

// An address under construction, the loop that uses it, and where its final form is stored.
struct Use {
  const IndexExpr* address;
  int loop;
  Affine* final_form;
};

// Dimensions after merging: the extent of each, and the dimension whose coefficient it has (the
// minor one of those merged).
struct Merged {
  Dims extents;
  std::vector<int> minor;
};

// Merges those of `dims` that are contiguous in all addresses of `loop`; -1: of all loops.
Merged merge(const std::vector<int>& dims, const Dims& extents, const std::vector<Use>& uses,
             int loop) {
  Merged out;
  for (size_t k = dims.size(); k-- > 0;) {  // starts at the minor end
    const int d = dims[k];
    if (extents[d] == 1) continue;
    const bool even = !out.minor.empty() && std::ranges::all_of(uses, [&](const Use& use) {
      const auto& along = use.address->coefficients;
      return (loop >= 0 && use.loop != loop) ||
             along[d] == along[out.minor.back()] * out.extents.back();
    });
    if (even) {
      out.extents.back() *= extents[d];
    } else {
      out.extents.push_back(extents[d]);
      out.minor.push_back(d);
    }
  }
  std::reverse(out.extents.begin(), out.extents.end());
  std::reverse(out.minor.begin(), out.minor.end());
  return out;
}

Dims pick(const IndexExpr& expr, const Merged& merged) {
  Dims out;
  for (int d : merged.minor) out.push_back(expr.coefficients[d]);
  return out;
}

}  // namespace

void collapse(Kernel& kernel, const LoopDims& dims, const std::vector<IndexExpr>& addresses,
              const std::vector<std::vector<IndexExpr>>& store_addresses) {
  const int loops = static_cast<int>(kernel.loops.size());
  std::vector<Use> uses;
  for (size_t i = 0; i < kernel.nodes.size(); ++i) {
    KernelNode& node = kernel.nodes[i];
    if (node.kind == NodeKind::kLoad || node.kind == NodeKind::kIndex)
      uses.push_back({&addresses[i], node.loop, &node.address});
  }
  for (int l = 0; l < loops; ++l)
    for (size_t s = 0; s < store_addresses[l].size(); ++s)
      uses.push_back({&store_addresses[l][s], l, &kernel.loops[l].stores[s].address});
  const Merged parallel = merge(dims.parallel, dims.extents, uses, -1);
  const bool scalar = parallel.minor.empty();
  kernel.parallel = parallel.extents;
  if (scalar) kernel.parallel.push_back(1);
  std::vector<Merged> inner(loops);
  for (int l = 0; l < loops; ++l) {
    if (dims.loop_family[l] >= 0)
      inner[l] = merge(dims.families[dims.loop_family[l]], dims.extents, uses, l);
    kernel.loops[l].extents = inner[l].extents;
  }
  for (const auto& [address, loop, final_form] : uses) {
    *final_form = {.offset = address->offset,
                   .parallel = pick(*address, parallel),
                   .inner = pick(*address, inner[loop])};
    if (scalar) final_form->parallel.push_back(0);
  }
}

}  // namespace tessera::fusion
