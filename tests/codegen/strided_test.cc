// Kernels with lanes that are a few elements apart, as in arrays of short rows. Their values are
// compared with the interpreter for every distance, in whole vectors and in the last ones.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::strided_test {
namespace {

using enum ScalarOp;

// out[r, c] = x[r, columns - 1 - c], with one store for each column.
Kernel turned(DType f, int64_t rows, int64_t columns, bool streaming = false) {
  KernelMaker m;
  const int x = m.buffer(f, rows * columns), y = m.buffer(f, rows * columns, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.k.streaming_stores = streaming;
  m.loop({});
  for (int64_t c = 0; c < columns; ++c)
    m.store(y, {c, {columns}, {}}, m.load(x, {columns - 1 - c, {columns}, {}}));
  return m.k;
}

// Other cases: a column that is not stored, columns in another order, and a load that does not
// belong to a row.
Kernel uneven(DType f, int64_t rows) {
  KernelMaker m;
  const int x = m.buffer(f, rows * 3 + 1), y = m.buffer(f, rows * 3, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.loop({});
  const int first = m.load(x, {0, {3}, {}}), last = m.load(x, {3, {3}, {}});
  m.store(y, {1, {3}, {}}, m.op(kMul, f, {first, last}));
  m.store(y, {0, {3}, {}}, last);
  return m.k;
}

// A body of many operations. Its vectors are masked even if they are whole.
Kernel heavy(int64_t rows, int64_t columns) {
  KernelMaker m;
  const int x = m.buffer(float32, rows * columns),
            y = m.buffer(float32, rows * columns, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.loop({});
  for (int64_t c = 0; c < columns; ++c) {
    const int value = m.load(x, {c, {columns}, {}});
    m.store(y, {c, {columns}, {}}, m.op(kTanh, float32, {m.op(kExp, float32, {value})}));
  }
  return m.k;
}

// out[i] = the sum of every third element of row i.
Kernel sums(int64_t rows, int64_t terms) {
  KernelMaker m;
  const int x = m.buffer(float32, rows * terms * 3),
            y = m.buffer(float32, rows, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.k.vectorize = Kernel::Vectorize::kInner;
  m.loop({terms});
  m.loop({});
  m.reduce(0, ReduceKind::kSum, m.load(x, {2, {terms * 3}, {3}}), m.number(float32, 0));
  m.store(y, {0, {1}, {}}, m.reduced(float32, 0), 1);
  return m.k;
}

TEST(Strided, ColumnsOfRows) {
  for (DType f : {float32, float64, int8, int16, bfloat16, bool_, complex64})
    for (int64_t columns = 2; columns <= 10; ++columns) {
      SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << columns);
      for (int64_t rows : {1, 7, 64, 131}) check(turned(f, rows, columns), 0, rows > 1 ? 3 : 1);
      check(turned(f, 200, columns, true), 0, 2);
    }
}

// Returns a kernel that sums the first `read` columns of each row. If these are most of a row, it
// loads whole vectors, otherwise it gathers. The body is heavy, so that whole vectors need no mask.
Kernel sum_of_columns(DType f, int64_t rows, int64_t columns, int64_t read) {
  KernelMaker m;
  const int x = m.buffer(f, rows * columns), y = m.buffer(f, rows, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.loop({});
  int sum = m.load(x, {0, {columns}, {}});
  for (int64_t c = 1; c < read; ++c) {
    const int x_c = m.load(x, {c, {columns}, {}});
    sum = m.op(kMul, f, {m.op(kAdd, f, {sum, x_c}), x_c});
  }
  m.store(y, {0, {1}, {}}, sum);
  return m.k;
}

TEST(Strided, SumsOfColumns) {
  for (DType f : {float32, float64})
    for (int64_t columns : {3, 7, 9, 10})
      for (int64_t read : {int64_t{1}, columns / 2, columns / 2 + 1, columns}) {
        SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << columns << " " << read);
        for (int64_t rows : {1, 40, 133}) check(sum_of_columns(f, rows, columns, read), 1e-4);
      }
}

TEST(Strided, OtherStores) {
  for (DType f : {float32, float64, int32})
    for (int64_t rows : {5, 100}) check(uneven(f, rows), 1e-6);
}

TEST(Strided, MaskedVectors) {
  for (int64_t columns : {2, 3, 4})
    for (int64_t rows : {3, 16, 133}) check(heavy(rows, columns), 1e-5, 2);
}

TEST(Strided, SumsOfEveryThirdElement) {
  for (int64_t terms : {5, 64, 1003}) check(sums(3, terms), 1e-4);
}

}  // namespace
}  // namespace tessera::codegen::test::strided_test
