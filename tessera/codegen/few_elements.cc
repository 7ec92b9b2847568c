#include "tessera/codegen/few_elements.h"

#include <numeric>

namespace tessera::codegen {
namespace {

// With more elements, vectors pay; with more operations, the code gets too large.
constexpr int64_t kMostElements = 16, kMostOperations = 512;

// Returns how many nodes are computed for one element, over all trips of its loops.
int64_t operations(const Kernel& kernel) {
  int64_t out = 0;
  for (size_t l = 0; l < kernel.loops.size(); ++l) {
    const auto nodes =
        std::count_if(kernel.nodes.begin(), kernel.nodes.end(),
                      [&](const KernelNode& node) { return node.loop == static_cast<int>(l); });
    out += nodes * kernel.loops[l].extents.elements();
  }
  return out;
}

}  // namespace

bool has_few_elements(const Kernel& kernel, int64_t elements, int lanes) {
  return kernel.vectorize == Kernel::Vectorize::kParallel && kernel.parallel.size() > 1 &&
         kernel.parallel.back() < 2 * lanes && elements <= kMostElements &&
         elements * operations(kernel) <= kMostOperations;
}

Kernel kernel_of_element(const Kernel& kernel, int64_t index) {
  Dims at(kernel.parallel.size(), 0);
  for (size_t d = at.size(); d-- > 1;) {
    at[d] = index % kernel.parallel[d];
    index /= kernel.parallel[d];
  }
  at[0] = index;
  Kernel out = kernel;
  out.parallel = {1};
  const auto move = [&](Affine& address) {
    address.offset =
        std::inner_product(at.begin(), at.end(), address.parallel.begin(), address.offset);
    address.parallel = {0};
  };
  for (KernelNode& node : out.nodes)
    if (node.kind == NodeKind::kLoad || node.kind == NodeKind::kIndex) move(node.address);
  for (KernelLoop& loop : out.loops)
    for (KernelStore& store : loop.stores) move(store.address);
  return out;
}

}  // namespace tessera::codegen
