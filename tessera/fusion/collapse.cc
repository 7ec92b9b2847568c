#include "tessera/fusion/collapse.h"

#include <algorithm>

namespace tessera::fusion {
namespace {

bool has_address(const KernelNode& node) {
  return node.kind == NodeKind::kLoad || node.kind == NodeKind::kIndex;
}

// Runs of dimensions that become one: its extent, and the dimension whose coefficient it takes (the
// minor one).
struct Merged {
  Dims extents;
  std::vector<int> minor;
};

Merged merge(const std::vector<int>& dims, const Dims& extents,
             const std::vector<const IndexExpr*>& users) {
  Merged out;
  for (size_t k = dims.size(); k-- > 0;) {  // from the minor end
    const int d = dims[k];
    if (extents[d] == 1) continue;
    const bool even = !out.minor.empty() && std::ranges::all_of(users, [&](const IndexExpr* user) {
      return user->coefficients[d] == user->coefficients[out.minor.back()] * out.extents.back();
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
  const size_t loops = kernel.loops.size();
  std::vector<const IndexExpr*> all;
  std::vector<std::vector<const IndexExpr*>> of_loop(loops);
  for (size_t i = 0; i < kernel.nodes.size(); ++i) {
    if (!has_address(kernel.nodes[i])) continue;
    all.push_back(&addresses[i]);
    of_loop[kernel.nodes[i].loop].push_back(&addresses[i]);
  }
  for (size_t l = 0; l < loops; ++l) {
    for (const IndexExpr& expr : store_addresses[l]) {
      all.push_back(&expr);
      of_loop[l].push_back(&expr);
    }
  }
  Merged parallel = merge(dims.parallel, dims.extents, all);
  const bool scalar = parallel.minor.empty();
  kernel.parallel = parallel.extents;
  if (scalar) kernel.parallel.push_back(1);
  std::vector<Merged> inner(loops);
  for (size_t l = 0; l < loops; ++l) {
    if (dims.loop_family[l] >= 0)
      inner[l] = merge(dims.families[dims.loop_family[l]], dims.extents, of_loop[l]);
    kernel.loops[l].extents = inner[l].extents;
  }
  auto affine = [&](const IndexExpr& expr, size_t loop) {
    Affine out{
        .offset = expr.offset, .parallel = pick(expr, parallel), .inner = pick(expr, inner[loop])};
    if (scalar) out.parallel.push_back(0);
    return out;
  };
  for (size_t i = 0; i < kernel.nodes.size(); ++i)
    if (has_address(kernel.nodes[i]))
      kernel.nodes[i].address = affine(addresses[i], kernel.nodes[i].loop);
  for (size_t l = 0; l < loops; ++l)
    for (size_t s = 0; s < store_addresses[l].size(); ++s)
      kernel.loops[l].stores[s].address = affine(store_addresses[l][s], l);
}

}  // namespace tessera::fusion
