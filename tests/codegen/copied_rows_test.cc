// Kernels that only copy rows call the C library, if the rows are long.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::copied_rows_test {
namespace {

// Copies `rows` rows of `columns` elements into the middle of longer ones, from every `stride`-th
// element of a row.
Kernel copy_of(DType dtype, int64_t rows, int64_t columns, int64_t stride = 1) {
  const int64_t apart = columns + 24;
  KernelMaker m;
  m.k.parallel = {rows, columns};
  m.loop({});
  const int x =
      m.load(m.buffer(dtype, rows * columns * stride), {0, {columns * stride, stride}, {}});
  m.store(m.buffer(dtype, rows * apart, BufferKind::kOutput), {16, {apart, 1}, {}}, x);
  return m.k;
}

bool calls_library(const Kernel& kernel) {
  return compilers().back()->llvm_ir(kernel).find("@llvm.memcpy") != std::string::npos;
}

TEST(CopiedRows, LongOnes) {
  EXPECT_TRUE(calls_library(copy_of(float64, 5, 288)));
  EXPECT_FALSE(calls_library(copy_of(float64, 5, 280)));
  EXPECT_TRUE(calls_library(copy_of(int8, 5, 2304)));
  EXPECT_FALSE(calls_library(copy_of(float64, 5, 1000, 2)));
  Kernel repeated = copy_of(float64, 5, 1000);
  repeated.nodes[0].address.parallel[0] = 0;
  EXPECT_FALSE(calls_library(repeated));
  Kernel doubled = copy_of(float32, 5, 1000);
  KernelNode add = doubled.nodes[0];
  add.kind = NodeKind::kScalarOp;
  add.op = ScalarOp::kAdd;
  add.args = {0, 0};
  doubled.nodes.push_back(add);
  doubled.loops[0].stores[0].node = 1;
  EXPECT_FALSE(calls_library(doubled));
  Kernel streaming = copy_of(float64, 5, 1000);
  streaming.streaming_stores = true;
  EXPECT_FALSE(calls_library(streaming));
}

TEST(CopiedRows, Elements) {
  for (const DType dtype : {uint8, bfloat16, float32, float64, complex64, complex128})
    for (const int pieces : {1, 2, 7}) {
      SCOPED_TRACE(pieces);
      check(copy_of(dtype, 5, 2304 / static_cast<int64_t>(itemsize(dtype)) + 5), 0, pieces);
    }
}

}  // namespace
}  // namespace tessera::codegen::test::copied_rows_test
