#include "tessera/fusion/kernel_nodes.h"

#include <cstring>

namespace tessera::fusion {
namespace {

bool same_node(const KernelNode& a, const KernelNode& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.args == b.args &&
         a.immediate == b.immediate && a.buffer == b.buffer && a.address == b.address &&
         a.dynamic == b.dynamic && a.guard == b.guard && a.loop == b.loop &&
         a.reduction == b.reduction;
}

}  // namespace

int find_or_add(std::vector<KernelNode>& nodes, KernelNode node) {
  for (size_t i = 0; i < nodes.size(); ++i)
    if (same_node(nodes[i], node)) return static_cast<int>(i);
  nodes.push_back(std::move(node));
  return static_cast<int>(nodes.size()) - 1;
}

KernelNode integer_node(DType dtype, int64_t value) {
  KernelNode node{.kind = NodeKind::kConstant, .dtype = dtype};
  std::memcpy(node.immediate.data(), &value, static_cast<size_t>(itemsize(dtype)));
  return node;
}

}  // namespace tessera::fusion
