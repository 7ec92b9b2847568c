#include "tessera/fusion/kernels/kernel_nodes.h"

#include <gtest/gtest.h>

#include "fusion_testing.h"

namespace tessera::fusion_testing::kernel_nodes_test {
namespace {

TEST(KernelNodes, EqualNodesAreOne) {
  std::vector<KernelNode> nodes;
  const int one = find_or_add(nodes, integer_node(int32, 1));
  EXPECT_NE(find_or_add(nodes, integer_node(int32, 2)), one);
  EXPECT_NE(find_or_add(nodes, integer_node(int64, 1)), one);
  EXPECT_EQ(find_or_add(nodes, integer_node(int32, 1)), one);
}

TEST(KernelNodes, UnusedNodesAreRemoved) {
  Kernel k;
  k.parallel = {8};
  k.buffers = {{float32, BufferKind::kInput, 8}, {float32, BufferKind::kOutput, 8}};
  k.loops.resize(1);
  const auto add = [&](KernelNode node) {
    k.nodes.push_back(std::move(node));
    return static_cast<int>(k.nodes.size()) - 1;
  };
  const Affine here{0, {1}, {}};
  const auto op = [&](ScalarOp which, DType dtype, std::initializer_list<int> args) {
    return add({.kind = NodeKind::kScalarOp, .dtype = dtype, .op = which, .args = args});
  };
  add(integer_node(int64, 7));
  const int index = add({.kind = NodeKind::kIndex, .dtype = int32, .address = here});
  const int bound = add(integer_node(int32, 4)), unused = add(integer_node(int32, 5));
  const int guard = op(ScalarOp::kLt, bool_, {index, bound});
  op(ScalarOp::kAdd, int32, {index, unused});
  const int place = op(ScalarOp::kMin, int32, {index, bound});
  const int load = add({.kind = NodeKind::kLoad,
                        .dtype = float32,
                        .buffer = 0,
                        .address = here,
                        .dynamic = {{place, 1}},
                        .guard = guard});
  op(ScalarOp::kNeg, float32, {load});
  const int stored = op(ScalarOp::kGe, bool_, {index, bound});
  k.loops[0].stores.push_back({.buffer = 1, .address = here, .node = load, .guard = stored});
  verify(k);
  remove_unused_nodes(k);
  verify(k);
  ASSERT_EQ(k.nodes.size(), 6u);
  EXPECT_EQ(k.loops[0].stores[0].guard, 5);
  EXPECT_EQ(k.loops[0].stores[0].node, 4);
  EXPECT_EQ(k.nodes[4].guard, 2);
  EXPECT_EQ(k.nodes[4].dynamic[0].first, 3);
  EXPECT_EQ(k.nodes[2].args[1], 1);
}

}  // namespace
}  // namespace tessera::fusion_testing::kernel_nodes_test
