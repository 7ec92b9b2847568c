// Tests which kernels the compiler refuses, and which kernels share their code.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::kernel_compiler_test {
namespace {

using enum ScalarOp;

TEST(Verify, RefusesBrokenKernels) {
  KernelMaker m;
  const int x = m.buffer(float32, 10), y = m.buffer(float32, 10, BufferKind::kOutput);
  m.k.parallel = {10};
  m.loop({});
  const int l = m.load(x, {0, {1}, {}});
  m.store(y, {0, {1}, {}}, l);
  EXPECT_NO_THROW(verify(m.k));
  auto broken = [&](auto&& change) {
    Kernel k = m.k;
    change(k);
    EXPECT_THROW(verify(k), InternalError);
    EXPECT_THROW(compilers()[0]->compile(k), InternalError);
  };
  broken([&](Kernel& k) { k.nodes[0].buffer = 7; });
  broken([&](Kernel& k) { k.nodes[0].dtype = int32; });
  broken([&](Kernel& k) { k.nodes[0].address.parallel = {1, 2}; });
  broken([&](Kernel& k) { k.loops[0].stores[0].buffer = x; });
  broken([&](Kernel& k) { k.loops[0].stores[0].node = 3; });
  broken([&](Kernel& k) { k.loops[0].stores[0].guard = 0; });
  broken([&](Kernel& k) { k.loops.clear(); });
  broken([&](Kernel& k) {
    KernelNode n{NodeKind::kScalarOp, float32};
    n.op = kAdd;
    n.args = {0};
    k.nodes.push_back(n);
  });
  broken([&](Kernel& k) {
    KernelNode n{NodeKind::kScalarOp, float32};
    n.op = kAnd;
    n.args = {0, 0};
    k.nodes.push_back(n);
  });
  broken([&](Kernel& k) {
    KernelNode n{NodeKind::kReduced, float32};
    k.nodes.push_back(n);
  });
}

TEST(Compiler, SizesAndDtypesThatOnlyMoveShareCode) {
  KernelCompiler compiler({std::nullopt, "off"});
  auto copy = [&](DType d, Dims shape) {
    KernelMaker m;
    const int64_t n = shape.elements();
    const int x = m.buffer(d, n), y = m.buffer(d, n, BufferKind::kOutput);
    m.k.parallel = shape;
    m.loop({});
    const Affine at{0, row_major_strides(shape), {}};
    m.store(y, at, m.load(x, at));
    return compiler.compile(m.k);
  };
  const KernelFn first = copy(float32, {100}).fn;
  EXPECT_EQ(copy(int32, {64, 32}).fn, first);
  EXPECT_EQ(copy(uint32, {2, 1, 7}).fn, first);
  EXPECT_NE(copy(float64, {100}).fn, first);
  EXPECT_EQ(compiler.statistics().compiled, 2);
}

TEST(Compiler, ManyKernelsAtOnce) {
  KernelCompiler compiler({std::nullopt, "off"});
  std::vector<Kernel> kernels;
  for (int i = 0; i < 12; ++i) {
    KernelMaker m;
    const int x = m.buffer(float32, 50), y = m.buffer(float32, 50, BufferKind::kOutput);
    m.k.parallel = {50};
    m.loop({});
    m.store(y, {0, {1}, {}},
            m.op(kAdd, float32, {m.load(x, {0, {1}, {}}), m.constant(static_cast<float>(i % 6))}));
    kernels.push_back(m.k);
  }
  std::vector<const Kernel*> pointers;
  for (const Kernel& k : kernels) pointers.push_back(&k);
  const std::vector<KernelCode> functions = compiler.compile(pointers);
  EXPECT_EQ(compiler.statistics().compiled, 6);
  for (int i = 0; i < 12; ++i) {
    std::vector<float> x(50, 1), y(50);
    void* buffers[] = {x.data(), y.data()};
    functions[i](buffers, 0, 50);
    for (float v : y) ASSERT_EQ(v, 1 + static_cast<float>(i % 6));
  }
}

}  // namespace
}  // namespace tessera::codegen::test::kernel_compiler_test
