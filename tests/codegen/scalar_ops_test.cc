// Kernels of many elementary functions: their code grows in proportion to the number of functions,
// and the results have the bits of the functions computed one after the other.
#include "tessera/codegen/scalar_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernel_builder.h"

namespace tessera::codegen::test::scalar_ops_test {
namespace {

constexpr int64_t kElements = 37;  // some full vectors and a part of one

// Returns a kernel of y = f(f(...x)), with `count` calls of f. The second operand of pow is x.
Kernel in_a_row(ScalarOp op, DType dtype, int count, Dims parallel = {kElements}) {
  KernelMaker m;
  const int64_t n = parallel[0];
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = std::move(parallel);
  m.loop({});
  const int first = m.load(x, {0, {1}, {}});
  int value = first;
  for (int k = 0; k < count; ++k)
    value = op == ScalarOp::kPow ? m.op(op, dtype, {value, first}) : m.op(op, dtype, {value});
  m.store(y, {0, {1}, {}}, value);
  return m.k;
}

int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(LongFunctions, CodeOfManyGrowsByCalls) {
  using enum ScalarOp;
  for (KernelCompiler* compiler : compilers()) {
    for (const ScalarOp op : {kSin, kCos, kErf, kTan, kPow, kErfc, kLgamma, kAsinh}) {
      const auto lines = [&](int count) {
        return lines_of(compiler->llvm_ir(in_a_row(op, float32, count)));
      };
      // Each function is called for at most four vectors at a time, with and without masks, so at
      // most eight times.
      EXPECT_LE(lines(200) - lines(100), 8 * 100) << scalar_op_name(op);
    }
  }
}

TEST(LongFunctions, FewAreInLine) {
  const std::string text = KernelCompiler::process().llvm_ir(in_a_row(ScalarOp::kSin, float32, 4));
  EXPECT_EQ(text.find("call <16 x float> @sin"), std::string::npos);
  EXPECT_EQ(text.find("call <8 x float> @sin"), std::string::npos);
}

template <class T>
void expect_bits_of_single_calls(ScalarOp op, DType dtype, int64_t elements) {
  constexpr int kCount = 150;
  for (KernelCompiler* compiler : compilers()) {
    const KernelCode many = compiler->compile(in_a_row(op, dtype, kCount, {elements}));
    const KernelCode one = compiler->compile(in_a_row(op, dtype, 1, {elements}));
    std::vector<T> x, y(static_cast<size_t>(elements)), expected(static_cast<size_t>(elements));
    for (int64_t k = 0; k < elements; ++k) x.push_back(static_cast<T>(-2e5 + 1.1e4 * k));
    std::vector<T> at = x;
    for (int k = 0; k < kCount; ++k) {
      void* step[] = {at.data(), expected.data()};
      one.fn(step, 0, elements);
      at = expected;
    }
    void* buffers[] = {x.data(), y.data()};
    many.fn(buffers, 0, elements);
    EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(T)), 0)
        << scalar_op_name(op);
  }
}

TEST(LongFunctions, CalledOnesHaveTheBitsOfThoseInLine) {
  for (const int64_t elements : {int64_t{1}, kElements}) {
    for (const ScalarOp op : {ScalarOp::kSin, ScalarOp::kCos, ScalarOp::kErf, ScalarOp::kAsinh}) {
      expect_bits_of_single_calls<float>(op, float32, elements);
      expect_bits_of_single_calls<double>(op, float64, elements);
    }
  }
}

// With a second operand of 1, atan2 is atan.
TEST(Atan2, OfOne) {
  for (const DType dtype : {float32, float64}) {
    KernelMaker m;
    m.k.parallel = {kElements};
    m.loop({});
    const int x = m.load(m.buffer(dtype, kElements), {0, {1}, {}});
    m.store(m.buffer(dtype, kElements, BufferKind::kOutput), {0, {1}, {}},
            m.op(ScalarOp::kAtan2, dtype, {x, m.number(dtype, 1)}));
    const Kernel atan = function_of(ScalarOp::kAtan, dtype, kElements);
    for (KernelCompiler* compiler : compilers()) {
      Buffers of_one(m.k), expected(atan);
      compiler->compile(m.k)(of_one.pointers().data(), 0, kElements);
      compiler->compile(atan)(expected.pointers().data(), 0, kElements);
      const auto bytes = static_cast<size_t>(kElements * itemsize(dtype));
      EXPECT_EQ(std::memcmp(of_one.raw(0), expected.raw(0), bytes), 0);
      EXPECT_EQ(std::memcmp(of_one.raw(1), expected.raw(1), bytes), 0);
    }
    EXPECT_EQ(lines_of(compilers().back()->llvm_ir(m.k)),
              lines_of(compilers().back()->llvm_ir(atan)));
  }
}

}  // namespace
}  // namespace tessera::codegen::test::scalar_ops_test
