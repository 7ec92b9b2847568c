// Rows that begin anywhere in a cache line. Their values are compared with the interpreter, and the
// code shows whether it looks at the addresses of its stores.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"
#include "watched.h"

namespace tessera::codegen::test::store_lines_test {
namespace {

using enum ScalarOp;

// Copies rows of `columns` elements into rows of `apart` elements, from the element `first` on.
Kernel copy_rows(DType f, int64_t rows, int64_t columns, int64_t apart, int64_t first,
                 bool streaming = false) {
  KernelMaker m;
  const int x = m.buffer(f, rows * columns),
            y = m.buffer(f, first + rows * apart, BufferKind::kOutput);
  m.k.parallel = {rows, columns};
  m.k.streaming_stores = streaming;
  m.loop({});
  m.store(y, {first, {apart, 1}, {}}, m.load(x, {0, {columns, 1}, {}}));
  return m.k;
}

// Copies one array to the elements from `first` on.
Kernel copy_to(int64_t elements, int64_t first, bool streaming) {
  KernelMaker m;
  const int x = m.buffer(float32, elements),
            y = m.buffer(float32, first + elements, BufferKind::kOutput);
  m.k.parallel = {elements};
  m.k.streaming_stores = streaming;
  m.loop({});
  m.store(y, {first, {1}, {}}, m.load(x, {0, {1}, {}}));
  return m.k;
}

// out = sin(x) in rows that are `columns` + 1 elements apart.
Kernel sine_of_rows(int64_t rows, int64_t columns) {
  Kernel k = copy_rows(float32, rows, columns, columns + 1, 0, true);
  KernelNode sine{NodeKind::kScalarOp, float32};
  sine.op = kSin;
  sine.args.push_back(k.loops[0].stores[0].node);
  k.nodes.push_back(std::move(sine));
  k.loops[0].stores[0].node = static_cast<int>(k.nodes.size()) - 1;
  return k;
}

// Returns whether the code computes how far away the next line is: the distance is a negated
// address.
bool looks_at_lines(const Kernel& kernel) {
  return compilers().front()->llvm_ir(kernel).find("sub i64 0, ") != std::string::npos;
}

TEST(StoreLines, RowsThatBeginAnywhere) {
  for (DType f : {float32, float64, bfloat16, int32, complex64})
    for (bool streaming : {false, true}) {
      check(copy_rows(f, 5, 1000, 1001, 0, streaming), 0, 3);
      check(copy_rows(f, 3, 1001, 2003, 7, streaming), 0, 2);
    }
  for (int64_t first : {0, 1, 15, 16, 37}) check(copy_to(1003, first, true), 0, 3);
  check(copy_rows(bool_, 3, 2000, 2001, 3, true), 0, 2);
}

// A masked vector at an end of a row may reach beyond the operand, by less than its length.
TEST(StoreLines, NoAddressIsOutsideOfTheOperands) {
  Watched watched(narrow_target());
  for (int64_t columns : {512, 999, 1000}) {
    const int64_t out = watched.farthest(copy_rows(float32, 4, columns, columns + 1, 0, true));
    EXPECT_GE(out, 0) << "nothing is accessed";
    EXPECT_LT(out, narrow_target().vector_bytes);
  }
}

// Others are rows whose vectors are aligned already, short rows, rows that are stored into the
// caches, and kernels whose time is that of computing.
TEST(StoreLines, OnlyRowsThatGain) {
  EXPECT_TRUE(looks_at_lines(copy_rows(float32, 8, 1000, 1001, 0, true)));
  EXPECT_TRUE(looks_at_lines(copy_rows(float32, 8, 1024, 2048, 4, true)));
  EXPECT_TRUE(looks_at_lines(copy_rows(float32, 8, 1024, 2052, 0, true)));
  EXPECT_TRUE(looks_at_lines(copy_to(4096, 4, true)));
  EXPECT_FALSE(looks_at_lines(copy_rows(float32, 8, 1024, 2048, 0, true)));
  EXPECT_FALSE(looks_at_lines(copy_to(4096, 64, true)));
  EXPECT_FALSE(looks_at_lines(copy_rows(float32, 8, 100, 101, 0, true)));
  EXPECT_FALSE(looks_at_lines(copy_rows(float32, 8, 1000, 1001, 0)));
  EXPECT_FALSE(looks_at_lines(copy_to(4096, 4, false)));
  EXPECT_FALSE(looks_at_lines(sine_of_rows(8, 1000)));
}

}  // namespace
}  // namespace tessera::codegen::test::store_lines_test
