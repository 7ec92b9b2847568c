#include "tessera/fusion/kernels/kernel_nodes.h"

#include <cstring>
#include <utility>

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

void remove_unused_nodes(Kernel& kernel) {
  std::vector<KernelNode>& nodes = kernel.nodes;
  std::vector<char> used(nodes.size(), 0);
  for (const KernelLoop& loop : kernel.loops) {
    for (const KernelReduction& r : loop.reductions) {
      for (int node : r.nodes) used[node] = 1;
      for (int node : r.init) used[node] = 1;
    }
    for (const KernelStore& store : loop.stores) {
      used[store.node] = 1;
      if (store.guard >= 0) used[store.guard] = 1;
    }
  }
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!used[i]) continue;
    for (int arg : nodes[i].args) used[arg] = 1;
    for (const auto& [index, stride] : nodes[i].dynamic) used[index] = 1;
    if (nodes[i].guard >= 0) used[nodes[i].guard] = 1;
  }
  std::vector<int> number(nodes.size(), -1);
  const auto renumber = [&](int& node) {
    if (node >= 0) node = number[node];
  };
  size_t kept = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!used[i]) continue;
    number[i] = static_cast<int>(kept);
    KernelNode node = std::move(nodes[i]);
    for (int& arg : node.args) renumber(arg);
    for (auto& [index, stride] : node.dynamic) renumber(index);
    renumber(node.guard);
    nodes[kept++] = std::move(node);
  }
  nodes.resize(kept, KernelNode{NodeKind::kConstant, bool_});
  for (KernelLoop& loop : kernel.loops) {
    for (KernelReduction& r : loop.reductions) {
      for (int& node : r.nodes) renumber(node);
      for (int& node : r.init) renumber(node);
    }
    for (KernelStore& store : loop.stores) {
      renumber(store.node);
      renumber(store.guard);
    }
  }
}

}  // namespace tessera::fusion
