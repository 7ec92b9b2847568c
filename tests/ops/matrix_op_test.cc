// Matrices that are transposed for LAPACK.
#include "tessera/ops/factor/matrix_op.h"

#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "tessera/base/namespaces.h"

namespace tessera::ops::matrix_op_test {
namespace {

// Whole tiles, parts of tiles, and more columns than a task has.
template <class T>
void expect_transposed() {
  const std::pair<int64_t, int64_t> shapes[] = {{1, 1},   {3, 50},  {16, 16}, {32, 64},
                                                {37, 21}, {21, 37}, {64, 600}};
  for (const auto& [rows, cols] : shapes) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << cols);
    const auto count = static_cast<size_t>(rows * cols);
    std::vector<T> in(count), out(count + 1, T{-1});
    for (size_t k = 0; k < count; ++k) in[k] = static_cast<T>(static_cast<float>(k));
    factor::transpose_matrix(in.data(), rows, cols, out.data());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        ASSERT_EQ(out[static_cast<size_t>(j * rows + i)], in[static_cast<size_t>(i * cols + j)])
            << i << ", " << j;
    EXPECT_EQ(out.back(), T{-1});
  }
}

TEST(MatrixOp, Transposes) {
  expect_transposed<float>();
  expect_transposed<double>();
  expect_transposed<std::complex<float>>();
  expect_transposed<std::complex<double>>();
}

}  // namespace
}  // namespace tessera::ops::matrix_op_test
