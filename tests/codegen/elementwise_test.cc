// Compares elementwise kernels of every dtype with the interpreter, on both vector widths.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::elementwise_test {
namespace {

constexpr int64_t kSizes[] = {1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 129, 1000};

// z = (x + y) * x - y
Kernel arithmetic(DType dtype, int64_t n) {
  KernelMaker m;
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n),
            z = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  const Affine at{0, {1}, {}};
  const int lx = m.load(x, at), ly = m.load(y, at);
  const int sum = m.op(ScalarOp::kAdd, dtype, {lx, ly});
  const int product = m.op(ScalarOp::kMul, dtype, {sum, lx});
  m.store(z, at, dtype == bool_ ? product : m.op(ScalarOp::kSub, dtype, {product, ly}));
  return m.k;
}

class EveryDType : public ::testing::TestWithParam<int> {};

TEST_P(EveryDType, Arithmetic) {
  const DType dtype = static_cast<DType>(GetParam());
  const double tolerance = dtype == float16               ? 2e-3
                           : dtype == bfloat16            ? 1e-2
                           : real_dtype(dtype) == float32 ? 2e-6
                                                          : 1e-14;
  for (int64_t n : kSizes) check(arithmetic(dtype, n), is_inexact(dtype) ? tolerance : 0);
  check(arithmetic(dtype, 1000), is_inexact(dtype) ? tolerance : 0, 7);
}

INSTANTIATE_TEST_SUITE_P(All, EveryDType, ::testing::Range(0, kNumDTypes), [](const auto& info) {
  return std::string(dtype_name(static_cast<DType>(info.param)));
});

}  // namespace
}  // namespace tessera::codegen::test::elementwise_test
