// Kernels that fold columns in several loops with work between the loops, as standard deviations
// do.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"
#include "tessera/codegen/canonical.h"
#include "tessera/codegen/emitter.h"

namespace tessera::codegen::test::column_folds_test {
namespace {

using enum ScalarOp;

// Stores each column's deviation: the root of the mean square of its elements' distances to their
// mean.
Kernel deviations(DType f, int64_t rows, int64_t columns) {
  KernelMaker m;
  const int x = m.buffer(f, rows * columns), y = m.buffer(f, columns, BufferKind::kOutput);
  m.k.parallel = {columns};
  m.loop({rows});
  m.loop({rows});
  m.loop({});
  const Affine at{0, {1}, {columns}};
  const int zero = m.number(f, 0), count = m.number(f, static_cast<double>(rows));
  const auto sum = [&](int loop, int node) {
    m.k.loops[static_cast<size_t>(loop)].reductions.push_back(
        {ReduceKind::kSum, {node}, {zero}, nullptr, f});
  };
  sum(0, m.load(x, at));
  const int mean = m.op(kDiv, f, {m.reduced(f, 0), count});
  const int apart = m.op(kSub, f, {m.load(x, at, 1), mean});
  sum(1, m.op(kMul, f, {apart, apart}));
  m.store(y, {0, {1}, {}}, m.op(kSqrt, f, {m.op(kDiv, f, {m.reduced(f, 1), count})}), 2);
  return m.k;
}

// Stores each column's sum of exponentials.
Kernel exponentials(int64_t rows, int64_t columns) {
  KernelMaker m;
  const int x = m.buffer(float64, rows * columns),
            y = m.buffer(float64, columns, BufferKind::kOutput);
  m.k.parallel = {columns};
  m.loop({rows});
  m.loop({});
  const int element = m.op(kExp, float64, {m.load(x, {0, {1}, {columns}})});
  m.k.loops[0].reductions.push_back(
      {ReduceKind::kSum, {element}, {m.number(float64, 0)}, nullptr, float64});
  m.store(y, {0, {1}, {}}, m.reduced(float64, 0), 1);
  return m.k;
}

// Returns how many vectors the code loads without a mask.
int whole_loads(const Kernel& kernel, const Target& target) {
  llvm::LLVMContext context;
  llvm::Module module("columns", context);
  emit_kernel(canonical(kernel), target, module, "columns");
  int count = 0;
  for (const llvm::Function& function : module)
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& i : block)
        count += llvm::isa<llvm::LoadInst>(i) && i.getType()->isVectorTy();
  return count;
}

TEST(ColumnFolds, ManySizes) {
  for (DType f : {float32, float64, bfloat16})
    for (int64_t rows : {3, 16, 300})
      for (int64_t columns : {1, 8, 31, 64, 133}) {
        SCOPED_TRACE(::testing::Message() << dtype_name(f) << " " << rows << " x " << columns);
        check(deviations(f, rows, columns), f == float64 ? 1e-12 : f == float32 ? 1e-5 : 1e-2, 2);
        check(exponentials(rows, columns), 1e-12, 2);
      }
}

// The work between the loops does not count as work for each row, so each of the two loops loads
// four vectors of a row at a time.
TEST(ColumnFolds, ReadSeveralVectorsOfARow) {
  for (const Target& target : {host_target(), narrow_target()})
    EXPECT_GE(whole_loads(deviations(float64, 300, 128), target), 8);
  // Two vectors at a time if each element takes long.
  EXPECT_GE(whole_loads(exponentials(300, 128), host_target()), 2);
  // Few rows: all columns are computed by one body.
  if (host_target().avx512) {
    EXPECT_LT(whole_loads(deviations(float64, 4, 128), host_target()), 8);
  }
}

// y[r, c] = exp(x[r, c]), z[c] = the sum of y[:, c], then of y[:, c] * z[c]: the second loop reads
// what the first one has stored.
TEST(ColumnFolds, ColumnsReadWhatTheyHaveStored) {
  for (DType f : {float32, float64})
    for (int64_t n : {1, 30, 70}) {
      const int64_t rows = 25;
      KernelMaker m;
      const int x = m.buffer(f, rows * n), y = m.buffer(f, rows * n, BufferKind::kOutput),
                z = m.buffer(f, n, BufferKind::kOutput);
      m.k.parallel = {n};
      m.loop({rows});
      m.loop({rows});
      m.loop({});
      const int e = m.op(kExp, f, {m.load(x, {0, {1}, {n}})});
      m.store(y, {0, {1}, {n}}, e);
      m.reduce(0, ReduceKind::kSum, e, m.number(f, 0));
      const int product = m.op(kMul, f, {m.load(y, {0, {1}, {n}}, 1), m.reduced(f, 0)});
      m.reduce(1, ReduceKind::kSum, product, m.number(f, 0));
      m.store(z, {0, {1}, {}}, m.reduced(f, 1), 2);
      check(m.k, tolerance_of(f), 3);
    }
}

}  // namespace
}  // namespace tessera::codegen::test::column_folds_test
