// Kernels that transpose: their loads are contiguous along the dimension before the last one. The
// results of tiles, whole and partial, are compared with the interpreter.
#include <gtest/gtest.h>

#include <string>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::tiles_test {
namespace {

using enum ScalarOp;

// out[s, r, c] = x[s, c, r], converted to the dtype of the result.
Kernel transposed(DType from, DType to, int64_t slabs, int64_t rows, int64_t columns,
                  bool streaming = false) {
  KernelMaker m;
  const int64_t count = slabs * rows * columns;
  const int x = m.buffer(from, count), y = m.buffer(to, count, BufferKind::kOutput);
  m.k.parallel = {slabs, rows, columns};
  m.k.streaming_stores = streaming;
  m.loop({});
  int value = m.load(x, {0, {rows * columns, 1, rows}, {}});
  if (from != to) value = m.op(kConvert, to, {value});
  m.store(y, {0, {rows * columns, columns, 1}, {}}, value);
  return m.k;
}

// out[s, r, c] = x[s, c, rows - 1 - r], or with `across`, x[s, columns - 1 - c, r]: rot90.
Kernel turned(DType f, int64_t slabs, int64_t rows, int64_t columns, bool across) {
  KernelMaker m;
  const int64_t count = slabs * rows * columns;
  const int x = m.buffer(f, count), y = m.buffer(f, count, BufferKind::kOutput);
  m.k.parallel = {slabs, rows, columns};
  m.loop({});
  const int value = across ? m.load(x, {(columns - 1) * rows, {rows * columns, 1, -rows}, {}})
                           : m.load(x, {rows - 1, {rows * columns, -1, rows}, {}});
  m.store(y, {0, {rows * columns, columns, 1}, {}}, value);
  return m.k;
}

TEST(Tiles, ReversedDimensions) {
  for (bool across : {false, true}) {
    EXPECT_EQ(KernelCompiler::process().llvm_ir(turned(float32, 1, 64, 256, across)).find("gather"),
              std::string::npos);
    for (DType f : {float32, float64, bfloat16, int8})
      for (int64_t rows : {4, 17, 75})
        for (int64_t columns : {48, 131}) {
          SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << rows << " x " << columns);
          check(turned(f, 1, rows, columns, across));
          check(turned(f, 3, rows, columns, across), 0, 5);
        }
  }
}

// A tile takes shuffles of whole vectors; without it, every lane would be gathered.
TEST(Tiles, AreTransposedInRegisters) {
  for (KernelCompiler* compiler : compilers())
    for (DType f : {float32, float64, float16, bfloat16, int8, int16, int32, int64, bool_})
      for (int64_t rows : {64, 75}) {
        const std::string ir = compiler->llvm_ir(transposed(f, f, 1, rows, 256));
        EXPECT_EQ(ir.find("masked.gather"), std::string::npos) << dtype_name(f) << " " << rows;
        EXPECT_NE(ir.find("shufflevector"), std::string::npos) << dtype_name(f) << " " << rows;
      }
}

// Rows of few elements take a part of a vector instead of gathers.
TEST(Tiles, ShortRows) {
  for (DType f : {int8, int16, bool_})
    for (int64_t columns : {12, 16, 24, 32}) {
      SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << columns);
      const Kernel kernel = transposed(f, f, 5, 32, columns);
      for (int pieces : {1, 4}) check(kernel, 0, pieces);
      for (KernelCompiler* compiler : compilers())
        EXPECT_EQ(compiler->llvm_ir(kernel).find("gather"), std::string::npos);
    }
}

TEST(Tiles, EveryDtype) {
  for (DType f : {float32, float64, float16, bfloat16, int8, int16, int32, int64, bool_, complex64})
    for (int64_t rows : {3, 8, 17, 75})
      for (int64_t columns : {48, 131}) {
        SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << rows << " x " << columns);
        check(transposed(f, f, 1, rows, columns));
        check(transposed(f, f, 3, rows, columns), 0, 2);
      }
}

// Ranges begin and end within rows, within tiles and in other slabs.
TEST(Tiles, Ranges) {
  for (int pieces : {2, 3, 5, 7, 11, 50})
    for (int64_t rows : {16, 23, 32}) {
      SCOPED_TRACE(::testing::Message() << pieces << " " << rows);
      check(transposed(float32, float32, 3, rows, 75), 0, pieces);
    }
}

TEST(Tiles, OtherDtypeThanTheResult) {
  for (auto [from, to] : {std::pair{int8, float32},
                          {float32, float64},
                          {float64, int32},
                          {bfloat16, float32},
                          {int8, int16},
                          {bool_, int64}})
    for (int64_t rows : {16, 19}) check(transposed(from, to, 2, rows, 70), 0, 3);
}

TEST(Tiles, StreamingStores) {
  check(transposed(float32, float32, 1, 40, 128, true), 0, 2);
  check(transposed(float64, float64, 1, 40, 129, true), 0, 2);
}

// out[r, c] = f(x[c, r], y[r, c], z[c], x[columns - 1 - c, r + 1]): a heavy body with other
// operands, and lanes that run backwards.
TEST(Tiles, OtherOperands) {
  for (int64_t rows : {16, 21})
    for (int64_t columns : {64, 77}) {
      SCOPED_TRACE(::testing::Message() << rows << " x " << columns);
      KernelMaker m;
      const int64_t width = rows + 1;
      const int x = m.buffer(float32, columns * width), y = m.buffer(float32, rows * columns),
                z = m.buffer(float32, columns),
                out = m.buffer(float32, rows * columns, BufferKind::kOutput);
      m.k.parallel = {rows, columns};
      m.loop({});
      const int forwards = m.load(x, {0, {1, width}, {}});
      const int backwards = m.load(x, {(columns - 1) * width + 1, {1, -width}, {}});
      const int along = m.load(y, {0, {columns, 1}, {}}), column = m.load(z, {0, {0, 1}, {}});
      const int row = m.op(kConvert, float32, {m.index(int32, {1, {1, 0}, {}})});
      const int sum = m.op(kAdd, float32, {m.op(kMul, float32, {forwards, along}), column});
      const int bent = m.op(kTanh, float32, {m.op(kSin, float32, {sum})});
      const int value = m.op(kSub, float32, {m.op(kMul, float32, {bent, row}), backwards});
      m.store(out, {0, {columns, 1}, {}}, value);
      check(m.k, 1e-5, 3);
    }
}

// More transposed loads than there are tiles: the last ones are gathered.
TEST(Tiles, ManyLoads) {
  KernelMaker m;
  const int64_t rows = 20, columns = 70;
  m.k.parallel = {rows, columns};
  m.loop({});
  int sum = -1;
  for (int k = 0; k < 12; ++k) {
    const int x = m.load(m.buffer(int32, rows * columns), {0, {1, rows}, {}});
    sum = sum < 0 ? x : m.op(kAdd, int32, {sum, x});
  }
  m.store(m.buffer(int32, rows * columns, BufferKind::kOutput), {0, {columns, 1}, {}}, sum);
  check(m.k, 0, 2);
}

}  // namespace
}  // namespace tessera::codegen::test::tiles_test
