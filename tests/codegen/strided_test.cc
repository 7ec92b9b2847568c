// Kernels with lanes that are a few elements apart, as in arrays of short rows. Their values are
// compared with the interpreter for every distance, in whole vectors and in the last ones.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"
#include "watched.h"

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
  for (DType f : {float32, float64, int8, int16, complex64, complex128})
    for (int64_t columns : {2, 3, 4, 7, 8, 10, 12, 16}) {
      SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << columns);
      for (int64_t rows : {1, 131}) check(turned(f, rows, columns), 0, rows > 1 ? 3 : 1);
      check(turned(f, 200, columns, true), 0, 2);
    }
}

// Rows of many columns are many vectors already: one vector of each column is computed at a time,
// because the code grows with the square of the columns.
TEST(Strided, ManyColumnsAreOneVectorAtATime) {
  const auto stores_of = [](int64_t columns) {
    std::istringstream ir(KernelCompiler::process().llvm_ir(turned(float32, 4096, columns)));
    int64_t stores = 0;
    for (std::string line; std::getline(ir, line);) stores += line.find("  store <") == 0;
    return stores;
  };
  EXPECT_GE(stores_of(3), 4 * 3);
  EXPECT_GE(stores_of(12), 12);
  EXPECT_LT(stores_of(12), 2 * 12);
}

// Returns the different lists of lanes by which the code for sums of rows shuffles two vectors
// (`pairs`) or one.
std::set<std::string> shuffles_of_sums(int64_t columns, bool pairs) {
  KernelMaker m;
  const int x = m.buffer(int32, 4096 * columns), y = m.buffer(int32, 4096, BufferKind::kOutput);
  m.k.parallel = {4096};
  m.loop({});
  int sum = m.load(x, {0, {columns}, {}});
  for (int64_t c = 1; c < columns; ++c)
    sum = m.op(kAdd, int32, {sum, m.load(x, {c, {columns}, {}})});
  m.store(y, {0, {1}, {}}, sum);
  std::istringstream ir(KernelCompiler::process().llvm_ir(m.k));
  std::set<std::string> found;
  for (std::string line; std::getline(ir, line);)
    if (line.find("= shufflevector") != std::string::npos &&
        pairs == (line.find("poison") == std::string::npos))
      found.insert(line.substr(line.rfind('<')));
  return found;
}

// As long as the number of columns is even, vectors are divided into every second element, for all
// columns together. Columns of an odd number are collected by selecting lanes, and then ordered.
TEST(Strided, ColumnsShareShuffles) {
  EXPECT_EQ(shuffles_of_sums(4, true).size(), 2u);
  EXPECT_EQ(shuffles_of_sums(6, true).size(), 2u + 3u);
  EXPECT_EQ(shuffles_of_sums(12, true).size(), 2u + 3u);
  EXPECT_EQ(shuffles_of_sums(5, true).size(), 5u);
  EXPECT_GE(shuffles_of_sums(5, false).size(), 5u);
}

// The lines that whole rows are read from are prefetched once, not for each column.
TEST(Strided, WholeRowsArePrefetched) {
  KernelMaker m;
  const int x = m.buffer(float32, 4096 * 3), y = m.buffer(float32, 4096, BufferKind::kOutput);
  m.k.parallel = {4096};
  m.loop({});
  m.store(y, {0, {1}, {}}, m.op(kMul, float32, {m.load(x, {0, {3}, {}}), m.load(x, {2, {3}, {}})}));
  const std::string ir = KernelCompiler::process().llvm_ir(m.k);
  size_t loads = 0, prefetches = 0;
  for (size_t at = 0; (at = ir.find("= load <", at)) != std::string::npos; ++at) ++loads;
  for (size_t at = 0; (at = ir.find("call void @llvm.prefetch", at)) != std::string::npos; ++at)
    ++prefetches;
  EXPECT_GT(prefetches, 0u);
  EXPECT_EQ(loads % prefetches, 0u) << loads << " " << prefetches;
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

// out[a, r, b, s, c] = (x[a, b, c] + row[b]) * scale[c], with rows of `columns` that are repeated:
// the loads of x are rows that are apart, `row` is one element for each row, and `scale` is the
// same row everywhere. With a guard, some rows and some columns of x are 0.
Kernel repeated_rows(DType f, int64_t columns, bool guarded, bool heavy) {
  const int64_t a = 3, b = 5;
  KernelMaker m;
  const int x = m.buffer(f, a * b * columns), row = m.buffer(f, b), scale = m.buffer(f, columns),
            y = m.buffer(f, a * 2 * b * 2 * columns, BufferKind::kOutput);
  m.k.parallel = {a, 2, b, 2, columns};
  m.loop({});
  int guard = -1;
  if (guarded) {
    const int c = m.index(int32, {0, {0, 0, 0, 0, 1}, {}}),
              r = m.index(int32, {0, {0, 0, 1, 0, 0}, {}});
    guard = m.op(kAnd, bool_,
                 {m.op(kGe, bool_, {c, m.constant(int32_t{1})}),
                  m.op(kLt, bool_, {r, m.constant(int32_t{3})})});
  }
  const int element = m.load(x, {0, {b * columns, 0, columns, 0, 1}, {}}, 0, guard);
  const int of_row = m.load(row, {0, {0, 0, 1, 0, 0}, {}}, 0, guard);
  int value =
      m.op(kMul, f, {m.op(kAdd, f, {element, of_row}), m.load(scale, {0, {0, 0, 0, 0, 1}, {}})});
  if (heavy) value = m.op(kTanh, f, {m.op(kExp, f, {m.op(kTanh, f, {value})})});
  m.store(y, {0, {4 * b * columns, 2 * b * columns, 2 * columns, columns, 1}, {}}, value);
  return m.k;
}

// Ranges that begin within a vector or within a row are correct, too.
TEST(Strided, RowsThatAreApart) {
  for (DType f : {float32, float64, bfloat16, complex64, complex128})
    for (int64_t columns : {2, 4, 6, 8, 16})
      for (bool guarded : {false, true})
        for (bool heavy : {false, true}) {
          if (heavy && is_complex(f)) continue;
          SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << columns << guarded << heavy);
          check(repeated_rows(f, columns, guarded, heavy), tolerance_of(f), 7);
        }
}

// Vectors after the last element are masked off, and the rows that they would have are not read:
// they are far outside of the operand, of which each row uses a quarter.
TEST(Strided, RowsAfterTheLastAreNotRead) {
  const Target target = host_target();
  for (DType f : {float32, float64}) {
    KernelMaker m;
    const int64_t a = 5, columns = 4;
    const int x = m.buffer(f, a * 16 * columns),
              y = m.buffer(f, a * 2 * columns, BufferKind::kOutput);
    m.k.parallel = {a, 2, columns};
    m.loop({});
    const int element = m.load(x, {0, {16 * columns, 8 * columns, 1}, {}});
    m.store(y, {0, {2 * columns, columns, 1}, {}},
            m.op(kTanh, f, {m.op(kExp, f, {m.op(kTanh, f, {element})})}));
    EXPECT_LT(Watched(target).farthest(m.k), 4 * target.vector_bytes) << dtype_name(f);
  }
}

// out[a, r, c] = the sum over t of x[a, t, c] * y[a, c]: only the load of y does not depend on t.
TEST(Strided, RowsThatAreApartInALoop) {
  for (DType f : {float32, float64})
    for (int64_t columns : {4, 8}) {
      SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << columns);
      const int64_t a = 7, terms = 5;
      KernelMaker m;
      const int x = m.buffer(f, a * terms * columns), y = m.buffer(f, a * columns),
                z = m.buffer(f, a * 2 * columns, BufferKind::kOutput);
      m.k.parallel = {a, 2, columns};
      m.loop({terms});
      m.loop({});
      const int product = m.op(kMul, f,
                               {m.load(x, {0, {terms * columns, 0, 1}, {columns}}),
                                m.load(y, {0, {columns, 0, 1}, {0}})});
      m.reduce(0, ReduceKind::kSum, product, m.number(f, 0), f);
      m.store(z, {0, {2 * columns, columns, 1}, {}}, m.reduced(f, 0), 1);
      check(m.k, tolerance_of(f), 3);
    }
}

// z[n, i, j] is the sum of x[n, i, k] * y[n, k, j] over k, for matrices of 4 x 4.
Kernel products_of_matrices(DType f, int64_t n) {
  KernelMaker m;
  const int x = m.buffer(f, 16 * n), y = m.buffer(f, 16 * n),
            z = m.buffer(f, 16 * n, BufferKind::kOutput);
  m.k.parallel = {n, 4, 4};
  m.loop({});
  int sum = -1;
  for (int64_t k = 0; k < 4; ++k) {
    const int term =
        m.op(kMul, f, {m.load(x, {k, {16, 4, 0}, {}}), m.load(y, {4 * k, {16, 0, 1}, {}})});
    sum = sum < 0 ? term : m.op(kAdd, f, {sum, term});
  }
  m.store(z, {0, {16, 4, 1}, {}}, sum);
  return m.k;
}

// Rows of bytes are not loaded byte by byte, however many of them a vector has. Most vectors have
// no masks, although there is more to compute than to load.
TEST(Strided, RowsOfSmallMatrices) {
  const std::pair<DType, const char*> rows[] = {{int8, "load <4 x i8>"},
                                                {int16, "load <4 x i16>"},
                                                {int64, "load <4 x i64>"},
                                                {complex128, "load <8 x double>"}};
  for (const auto& [f, load] : rows) {
    const Kernel kernel = products_of_matrices(f, 37);
    for (int pieces : {1, 7}) check(kernel, tolerance_of(f), pieces);
    if (!host_target().avx512) continue;
    EXPECT_NE(KernelCompiler::process().llvm_ir(kernel).find(load), std::string::npos) << f;
  }
}

// y[i, c] = x[i, c] * scale[i] + table[positions[i], c], and x has rows that are apart in memory.
Kernel scaled_rows(DType f, int64_t rows, int64_t columns, bool gathered, int64_t apart) {
  KernelMaker m;
  const int x = m.buffer(f, rows * (columns + apart)), scale = m.buffer(f, rows),
            table = m.buffer(f, 10 * columns), positions = m.buffer(int32, rows),
            y = m.buffer(f, rows * columns, BufferKind::kOutput);
  m.k.parallel = {rows, columns};
  m.loop({});
  int value = m.load(x, {0, {columns + apart, 1}, {}});
  if (!gathered) {
    value = m.op(kMul, f, {value, m.load(scale, {0, {1, 0}, {}})});
  } else {
    const int place =
        m.op(kMin, int32,
             {m.op(kMax, int32, {m.load(positions, {0, {1, 0}, {}}), m.constant<int32_t>(0)}),
              m.constant<int32_t>(9)});
    value = m.op(kAdd, f, {value, m.load(table, {0, {0, 1}, {}}, 0, -1, {{place, columns}})});
  }
  m.store(y, {0, {columns, 1}, {}}, value);
  return m.k;
}

// From ten elements on, rows that would need gathers in flat mode are computed one after the other.
TEST(Strided, ShortRowsAreWholeInsteadOfGathered) {
  const auto gathers = [](const Kernel& kernel) {
    return compilers().front()->llvm_ir(kernel).find("masked.gather") != std::string::npos;
  };
  for (DType f : {float32, float64, bfloat16, int8, complex128})
    for (int64_t columns : {3, 10, 15, 16, 20, 31, 33})
      for (bool gathered : {false, true})
        for (int64_t apart : {0, 3}) {
          SCOPED_TRACE(::testing::Message()
                       << dtype_name(f) << " " << columns << gathered << apart);
          const Kernel kernel = scaled_rows(f, 50, columns, gathered, apart);
          for (int pieces : {1, 7}) check(kernel, tolerance_of(f), pieces);
          if (f == float32 && host_target().avx512) {
            EXPECT_EQ(gathers(kernel), columns < 10);
          }
        }
}

}  // namespace
}  // namespace tessera::codegen::test::strided_test
