// Kernels that choose among operands by position. Their values are compared with the interpreter.
// Every access is watched, to test that they touch only the memory of their operands.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"
#include "watched.h"

namespace tessera::codegen::test::turns_test {
namespace {

using enum ScalarOp;

// out[r, c] = c < left ? a[r, c] : b[r, c - left], over rows of `left + right` columns.
Kernel concatenate(DType f, int64_t rows, int64_t left, int64_t right, bool streaming = false) {
  KernelMaker m;
  const int64_t n = left + right;
  const int a = m.buffer(f, rows * left), b = m.buffer(f, rows * right),
            y = m.buffer(f, rows * n, BufferKind::kOutput);
  m.k.parallel = {rows, n};
  m.k.streaming_stores = streaming;
  m.loop({});
  const int column = m.index(int32, {0, {0, 1}, {}}),
            bound = m.constant(static_cast<int32_t>(left));
  const int first = m.op(kLt, bool_, {column, bound}), second = m.op(kGe, bool_, {column, bound});
  const int x = m.load(a, {0, {left, 1}, {}}, 0, first),
            z = m.load(b, {-left, {right, 1}, {}}, 0, second);
  m.store(y, {0, {n, 1}, {}}, m.op(kSelect, f, {first, x, z}));
  return m.k;
}

// out[i] = (i < left ? a[i] : b[i - left]) * (i < left ? a[i] : 0): the code of a kernel with one
// parallel dimension does not depend on its length.
Kernel concatenate_flat(int64_t left, int64_t right) {
  KernelMaker m;
  const int a = m.buffer(float32, left), b = m.buffer(float32, right),
            y = m.buffer(float32, left + right, BufferKind::kOutput);
  m.k.parallel = {left + right};
  m.loop({});
  const int column = m.index(int32, {0, {1}, {}}), bound = m.constant(static_cast<int32_t>(left));
  const int first = m.op(kLt, bool_, {column, bound}), second = m.op(kGe, bool_, {column, bound});
  const int x = m.load(a, {0, {1}, {}}, 0, first), z = m.load(b, {-left, {1}, {}}, 0, second);
  m.store(y, {0, {1}, {}}, m.op(kMul, float32, {m.op(kSelect, float32, {first, x, z}), x}));
  return m.k;
}

// out[r, c] is the reflection of x before column `edge`, and x itself from there on. A load of
// every second element is added if that element exists.
Kernel reflect(DType f, int64_t rows, int64_t edge, int64_t columns) {
  KernelMaker m;
  const int64_t n = edge + columns;
  const int x = m.buffer(f, rows * columns), y = m.buffer(f, rows * n, BufferKind::kOutput);
  m.k.parallel = {rows, n};
  m.loop({});
  const int back = m.index(int32, {edge, {0, -1}, {}}), zero = m.constant<int32_t>(0);
  const int mirrored = m.op(kGe, bool_, {back, m.constant<int32_t>(1)}),
            behind = m.op(kLt, bool_, {back, m.constant<int32_t>(1)});
  const int even = m.op(
      kLt, bool_, {m.index(int32, {0, {0, 2}, {}}), m.constant(static_cast<int32_t>(columns))});
  const int in_front = m.op(kAnd, bool_, {even, m.op(kGe, bool_, {back, zero})});
  const int a = m.load(x, {edge, {columns, -1}, {}}, 0, mirrored),
            b = m.load(x, {-edge, {columns, 1}, {}}, 0, behind),
            c = m.load(x, {0, {columns, 2}, {}}, 0, in_front);
  m.store(y, {0, {n, 1}, {}}, m.op(kAdd, f, {m.op(kSelect, f, {mirrored, a, b}), c}));
  return m.k;
}

// out = x, with `update` written from (start0, start1) on. The kernel reads these indices when it
// runs.
Kernel update_slice(int64_t rows, int64_t columns, int64_t height, int64_t width) {
  KernelMaker m;
  const int x = m.buffer(float32, rows * columns), update = m.buffer(float32, height * width),
            start = m.buffer(int32, 2), y = m.buffer(float32, rows * columns, BufferKind::kOutput);
  m.k.parallel = {rows, columns};
  m.loop({});
  int inside = -1;
  std::vector<std::pair<int, int64_t>> back;
  for (int d = 0; d < 2; ++d) {
    const int at = m.op(kMul, int32, {m.load(start, {d, {0, 0}, {}}), m.constant<int32_t>(-1)});
    const int from = m.op(kAdd, int32, {m.index(int32, {0, {d == 0, d == 1}, {}}), at});
    for (int condition :
         {m.op(kGe, bool_, {from, m.constant<int32_t>(0)}),
          m.op(kLt, bool_, {from, m.constant(static_cast<int32_t>(d ? width : height))})})
      inside = inside < 0 ? condition : m.op(kAnd, bool_, {inside, condition});
    back.emplace_back(at, d ? 1 : width);
  }
  const int from_update = m.load(update, {0, {width, 1}, {}}, 0, inside, back),
            from_x = m.load(x, {0, {columns, 1}, {}});
  m.store(y, {0, {columns, 1}, {}}, m.op(kSelect, float32, {inside, from_update, from_x}));
  return m.k;
}

// out[r] = the sum of row r of x, padded by `pad` zeros on both sides.
Kernel padded_sum(int64_t rows, int64_t columns, int64_t pad) {
  KernelMaker m;
  const int x = m.buffer(float32, rows * columns), y = m.buffer(float32, rows, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.k.vectorize = Kernel::Vectorize::kInner;
  m.loop({columns + 2 * pad});
  m.loop({});
  const int column = m.index(int32, {-pad, {0}, {1}});
  const int inside = m.op(kAnd, bool_,
                          {m.op(kGe, bool_, {column, m.constant<int32_t>(0)}),
                           m.op(kLt, bool_, {column, m.constant(static_cast<int32_t>(columns))})});
  m.reduce(0, ReduceKind::kSum, m.load(x, {-pad, {columns}, {1}}, 0, inside), m.number(float32, 0));
  m.store(y, {0, {1}, {}}, m.reduced(float32, 0), 1);
  return m.k;
}

std::function<void(Buffers&)> starts_at(int32_t row, int32_t column) {
  return [=](Buffers& b) {
    b.data<int32_t>(2)[0] = row;
    b.data<int32_t>(2)[1] = column;
  };
}

TEST(Turns, ValuesOfConcatenations) {
  for (DType f : {float32, float64, int8, bfloat16, bool_, complex64}) {
    for (auto [left, right] :
         {std::pair<int64_t, int64_t>{1, 700}, {333, 334}, {640, 64}, {5, 9}}) {
      check(concatenate(f, 3, left, right), 0, 1);
      check(concatenate(f, 3, left, right, true), 0, 4);
    }
  }
  check(concatenate_flat(1000, 1), 0, 3);
  check(concatenate_flat(17, 300), 0, 5);
}

TEST(Turns, ValuesOfReflections) {
  for (DType f : {float32, int16, complex128})
    for (int64_t edge : {1, 7, 300}) check(reflect(f, 2, edge, 400), 0, 3);
}

TEST(Turns, ValuesOfUpdates) {
  for (int32_t row : {0, 2, 5})
    for (int32_t column : {0, 63, 260, 400})
      check(update_slice(7, 500, 2, 100), 0, 3, starts_at(row, column));
  check(update_slice(7, 40, 2, 10), 0, 3, starts_at(1, 30));
}

TEST(Turns, ValuesOfPaddedSums) {
  check(padded_sum(3, 1000, 37), 1e-5, 2);
  check(padded_sum(3, 5, 400), 1e-5, 1);
}

// A vector at the end of an operand may reach beyond the end, by less than its length.
TEST(Turns, NoAddressIsOutsideOfTheOperands) {
  std::vector<Target> targets{narrow_target()};
  if (host_target().avx512) targets.push_back(host_target());
  for (const Target& target : targets) {
    Watched watched(target);
    const auto farthest = [&](const Kernel& kernel, const std::vector<int32_t>& starts = {}) {
      const int64_t out = watched.farthest(kernel, starts);
      EXPECT_GE(out, 0) << "nothing is accessed";
      return out;
    };
    const int64_t vector = target.vector_bytes;
    EXPECT_LT(farthest(concatenate(float32, 3, 1000, 2000)), vector);
    EXPECT_LT(farthest(concatenate(float32, 3, 9, 40)),
              vector);  // the rows are too short to be divided
    EXPECT_LT(farthest(concatenate(float64, 3, 1000, 1)), vector);
    EXPECT_LT(farthest(concatenate(complex64, 3, 1000, 2000)), 2 * vector);
    EXPECT_LT(farthest(concatenate_flat(2000, 3000)), vector);
    EXPECT_LT(farthest(reflect(float32, 2, 300, 1000)), vector);
    EXPECT_LT(farthest(padded_sum(3, 1000, 1000)), vector);
    for (int32_t row : {0, 100, 498})
      EXPECT_LT(farthest(update_slice(500, 256, 2, 32), {row, 224}), vector);
    EXPECT_LT(farthest(update_slice(500, 40, 2, 10), {498, 30}), vector);
  }
}

}  // namespace
}  // namespace tessera::codegen::test::turns_test
