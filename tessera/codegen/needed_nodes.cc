// Which nodes of a kernel a loop needs, and what they cost.
#include <algorithm>

#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

std::vector<int> KernelEmitter::needed_nodes(int l) const {
  std::vector<char> needed(k_.nodes.size(), 0);
  for (const KernelReduction& r : k_.loops[l].reductions) {
    for (int node : r.nodes) needed[node] = 1;
  }
  for (const KernelStore& store : k_.loops[l].stores) {
    needed[store.node] = 1;
    if (store.guard >= 0) needed[store.guard] = 1;
  }
  std::vector<int> nodes;
  for (size_t i = k_.nodes.size(); i-- > 0;) {
    const int id = static_cast<int>(i);
    if (!needed[i] || is_turn(id) || known(id)) continue;
    const KernelNode& node = k_.nodes[i];
    if (is_never_loaded(node)) continue;
    if (const std::optional<int> same = known_choice(id)) {
      needed[*same] = 1;
      continue;
    }
    for (int arg : node.args) needed[arg] = 1;
    for (const auto& [index, stride] : node.dynamic) needed[index] = 1;
    if (node.guard >= 0) needed[node.guard] = 1;
    if (!fused_[i]) nodes.push_back(id);
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

int KernelEmitter::node_weight(const KernelNode& node) const {
  return node.kind == NodeKind::kScalarOp ? op_weight(node.op, k_.nodes[node.args.back()].dtype)
                                          : 1;
}

int KernelEmitter::loop_weight(int l) const { return weight_within(l, 0); }

int KernelEmitter::row_weight(int l) const { return weight_within(l, 3); }

int KernelEmitter::weight_within(int l, int depth) const {
  int weight = 0;
  for (int id : needed_nodes(l))
    if (by_lane_[id] && depth_[id] >= depth) weight += node_weight(k_.nodes[id]);
  for (const KernelReduction& r : k_.loops[l].reductions) {
    weight += r.kind >= ReduceKind::kArgMin ? 4 + 4 * static_cast<int>(r.nodes.size()) : 1;
  }
  return weight;
}

bool KernelEmitter::has_powers() const {
  return std::any_of(k_.nodes.begin(), k_.nodes.end(), [](const KernelNode& node) {
    return node.kind == NodeKind::kScalarOp && node.op == ScalarOp::kPow && node.dtype == float64;
  });
}

bool KernelEmitter::stores_halves() const {
  return std::any_of(k_.loops.begin(), k_.loops.end(), [&](const KernelLoop& loop) {
    return std::any_of(loop.stores.begin(), loop.stores.end(), [&](const KernelStore& store) {
      return is_half(k_.buffers[store.buffer].dtype);
    });
  });
}

int KernelEmitter::loop_chain(int l) const {
  std::vector<int> until(k_.nodes.size(), 0);  // the heaviest chain that ends with each node
  int longest = 0;
  for (int id : needed_nodes(l)) {
    const KernelNode& node = k_.nodes[id];
    if (!by_lane_[id]) continue;
    for (int arg : node.args) until[id] = std::max(until[id], until[arg]);
    // A power of float32 is computed in two vectors of float64, which do not wait for each other,
    // and each of which has parts that do not, but not one of a constant.
    const bool parallel = node.kind == NodeKind::kScalarOp && node.op == ScalarOp::kPow &&
                          k_.nodes[node.args[0]].kind != NodeKind::kConstant &&
                          k_.nodes[node.args[1]].dtype != float64;
    until[id] += parallel ? node_weight(node) / 3 : node_weight(node);
    longest = std::max(longest, until[id]);
  }
  return longest;
}

}  // namespace tessera::codegen
