// Gathers of which each row reads its own row of the operand; these are prefetched.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::gathers_test {
namespace {

using enum ScalarOp;

// out[r, c] = x[r, i[r, c] % width]
Kernel along_rows(DType f, int64_t rows, int64_t columns, int64_t width) {
  KernelMaker m;
  const int i = m.buffer(int32, rows * columns), x = m.buffer(f, rows * width),
            y = m.buffer(f, rows * columns, BufferKind::kOutput);
  m.k.parallel = {rows, columns};
  m.loop({});
  const int index = m.load(i, {0, {columns, 1}, {}});
  const int positive = m.op(kAnd, int32, {index, m.constant<int32_t>(0x7fffffff)});
  const int within =
      m.op(kRem, int32, {positive, m.constant<int32_t>(static_cast<int32_t>(width))});
  m.store(y, {0, {columns, 1}, {}}, m.load(x, {0, {width, 0}, {}}, 0, -1, {{within, 1}}));
  return m.k;
}

TEST(Gathers, AlongRows) {
  for (DType f : {float32, float64, int8, bfloat16})
    for (auto [columns, width] : {std::pair{int64_t{128}, int64_t{128}}, {65, 1000}, {200, 64}})
      for (int64_t rows : {1, 9}) {
        SCOPED_TRACE(::testing::Message() << dtype_name(f) << columns << " " << width);
        check(along_rows(f, rows, columns, width), 0, 2);
      }
}

}  // namespace
}  // namespace tessera::codegen::test::gathers_test
