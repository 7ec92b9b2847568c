// Kernels with selects between long arms. Their values are compared with the arms' own values, and
// their code shows which arms are in blocks of their own.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::select_arms_test {
namespace {

using enum ScalarOp;

constexpr int64_t kCount = 1000;

// A kernel of one operand x, whose results are floats at the same position.
class Maker {
 public:
  explicit Maker(DType f) : f_(f) {
    m.k.parallel = {kCount};
    const int in = m.buffer(f, kCount);
    m.loop({});
    x = m.load(in, kAt);
  }
  int number(double value) { return m.number(f_, value); }
  // A polynomial of x. Horner's rule makes `terms` products and sums.
  int chain(int terms, double seed) {
    int sum = number(seed);
    for (int i = 0; i < terms; ++i)
      sum = m.op(kAdd, f_, {m.op(kMul, f_, {sum, x}), number(seed / (i + 2))});
    return sum;
  }
  int select(ScalarOp comparison, double bound, int a, int b) {
    return m.op(kSelect, f_, {m.op(comparison, bool_, {x, number(bound)}), a, b});
  }
  void store(int node) { m.store(m.buffer(f_, kCount, BufferKind::kOutput), kAt, node); }

  KernelMaker m;
  int x = -1;

 private:
  inline static const Affine kAt{0, {1}, {}};
  DType f_;
};

// The number of arms in blocks of their own, in the code for AVX2. It has two loops: for whole
// vectors and for the rest.
int count_arms(const Kernel& kernel) {
  const std::string code = compilers().front()->llvm_ir(kernel);
  int count = 0;
  for (size_t at = 0; (at = code.find("\narm", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count % 2, 0);
  return count / 2;
}

// Operands below 1, from 1 on, of both kinds in one vector, and NaN.
template <class T>
std::vector<T> operands() {
  std::vector<T> x(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    x[i] = static_cast<T>(i < 200 ? -0.004 * i : i < 400 ? 0.005 * i : i % 7 * 0.3);
  x[100] = 1.5;
  x[300] = 0.5;
  x[500] = std::numeric_limits<T>::quiet_NaN();
  x[650] = std::numeric_limits<T>::infinity();
  return x;
}

// Runs the kernel of one operand and returns the results of its first output.
template <class T>
std::vector<T> run(KernelCompiler* compiler, const Kernel& kernel, const std::vector<T>& x) {
  std::vector<T> y(kCount);
  void* buffers[] = {const_cast<T*>(x.data()), y.data()};
  compiler->compile(kernel)(buffers, 0, kCount);
  return y;
}
template <class T>
std::vector<T> chain_alone(KernelCompiler* compiler, int terms, double seed,
                           const std::vector<T>& x) {
  Maker alone(dtype_of<T>);
  alone.store(alone.chain(terms, seed));
  return run<T>(compiler, alone.m.k, x);
}
template <class T>
void expect_same(T got, T want, T x) {
  if (std::isnan(want))
    ASSERT_TRUE(std::isnan(got)) << x;
  else
    ASSERT_EQ(got, want) << x;
}

template <class T>
void check_two_arms() {
  Maker two(dtype_of<T>);
  two.store(two.select(kLt, 1, two.chain(40, 0.7), two.chain(40, -0.3)));

  EXPECT_EQ(count_arms(two.m.k), 2);
  const std::vector<T> x = operands<T>();
  for (KernelCompiler* compiler : compilers()) {
    const std::vector<T> below = chain_alone(compiler, 40, 0.7, x),
                         above = chain_alone(compiler, 40, -0.3, x),
                         y = run<T>(compiler, two.m.k, x);
    for (int64_t i = 0; i < kCount; ++i) expect_same(y[i], x[i] < 1 ? below[i] : above[i], x[i]);
  }
}
TEST(SelectArms, Float32) { check_two_arms<float>(); }
TEST(SelectArms, Float64) { check_two_arms<double>(); }

// The arm from 1 on chooses again.
template <class T>
void check_three_arms() {
  Maker three(dtype_of<T>);
  const int inner = three.select(kLt, 1.4, three.chain(40, -0.3), three.chain(44, 0.2));
  three.store(three.select(kLt, 1, three.chain(40, 0.7), inner));
  EXPECT_EQ(count_arms(three.m.k), 4);
  const std::vector<T> x = operands<T>();
  for (KernelCompiler* compiler : compilers()) {
    const std::vector<T> low = chain_alone(compiler, 40, 0.7, x),
                         middle = chain_alone(compiler, 40, -0.3, x),
                         high = chain_alone(compiler, 44, 0.2, x),
                         y = run<T>(compiler, three.m.k, x);
    for (int64_t i = 0; i < kCount; ++i)
      expect_same(y[i], x[i] < 1 ? low[i] : x[i] < T(1.4) ? middle[i] : high[i], x[i]);
  }
}
TEST(SelectArms, OfAnArm) {
  check_three_arms<float>();
  check_three_arms<double>();
}

// If one arm is short, the other one is needed nearly always.
TEST(SelectArms, ShortArmsStay) {
  for (int terms : {0, 3}) {
    Maker kernel(float32);
    kernel.store(kernel.select(kLt, 1, kernel.chain(40, 0.7), kernel.chain(terms, 0.5)));
    EXPECT_EQ(count_arms(kernel.m.k), 0) << terms;
  }
}

// What something else reads is computed in any case.
TEST(SelectArms, SharedArmsStay) {
  Maker kernel(float32);
  const int a = kernel.chain(40, 0.7);
  kernel.store(kernel.select(kLt, 1, a, kernel.chain(40, -0.3)));
  kernel.store(a);
  EXPECT_EQ(count_arms(kernel.m.k), 0);
}

// Vectors that are computed side by side have one branch for each arm, and a vector that takes no
// arm alone takes it with the others.
TEST(SelectArms, SideBySide) {
  Maker kernel(float32);
  for (int i = 0; i < 30; ++i) kernel.x = kernel.m.op(kTanh, float32, {kernel.x});
  kernel.store(kernel.select(kLt, 0.1, kernel.chain(40, 0.7), kernel.chain(40, -0.3)));
  EXPECT_EQ(count_arms(kernel.m.k), 2);
  check(kernel.m.k, 1e-4);
}

}  // namespace
}  // namespace tessera::codegen::test::select_arms_test
