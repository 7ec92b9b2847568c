// Kernels whose guards differ only near the borders. Their values are compared with the
// interpreter, and their code shows whether a part of it is for the elements between the borders.
#include <gtest/gtest.h>

#include <cstring>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"
#include "watched.h"

namespace tessera::codegen::test::middle_test {
namespace {

using enum ScalarOp;

bool has_middle(const Kernel& kernel) {
  return compilers().front()->llvm_ir(kernel).find("\nmiddle") != std::string::npos;
}

// A condition that index * sign + offset, for the index along dimension d, is in [begin, end).
struct Interval {
  int64_t d, sign, offset, begin, end;
};

// Makes kernels over rows and columns that choose between x and pieces of y at the same position.
class Chooser {
 public:
  Chooser(DType f, Dims parallel) : f_(f), n_(parallel.elements()) {
    m.k.parallel = parallel;
    x_ = m.buffer(f, n_);
    y_ = m.buffer(f, n_);
    out_ = m.buffer(f, n_, BufferKind::kOutput);
    m.loop({});
    flat_ = {0, Dims(parallel.size(), 1), {}};
    for (size_t d = parallel.size() - 1; d-- > 0;)
      flat_.parallel[d] = flat_.parallel[d + 1] * parallel[d + 1];
  }

  int inside(const std::vector<Interval>& box, DType index = int32) {
    int out = -1;
    for (const auto& [d, sign, offset, begin, end] : box) {
      Affine at{offset, Dims(flat_.parallel.size(), 0), {}};
      at.parallel[d] = sign;
      const int from = m.index(index, at);
      for (const auto& [op, bound] : {std::pair{kGe, begin}, {kLt, end}}) {
        const int number =
            index == int32 ? m.constant(static_cast<int32_t>(bound)) : m.constant<int64_t>(bound);
        const int condition = m.op(op, bool_, {from, number});
        out = out < 0 ? condition : m.op(kAnd, bool_, {out, condition});
      }
    }
    return out;
  }
  // The sum (for bools, the choice) of x and pieces of y in the boxes.
  Kernel kernel(const std::vector<std::vector<Interval>>& boxes, DType index = int32) {
    int sum = m.load(x_, flat_);
    for (const auto& box : boxes) {
      const int guard = inside(box, index), piece = m.load(y_, flat_, 0, guard);
      sum = f_ == bool_ ? m.op(kSelect, f_, {guard, piece, sum})
                        : m.op(kAdd, f_, {sum, m.op(kSelect, f_, {guard, piece, m.number(f_, 0)})});
    }
    m.store(out_, flat_, sum);
    return m.k;
  }

  // Stores the sum of x and, where the guard is true, element 7 of y.
  void store_sum_with_one(int guard) {
    const Affine seventh{7, Dims(flat_.parallel.size(), 0), {}};
    const int one = m.load(y_, seventh, 0, guard);
    m.store(out_, flat_, m.op(kAdd, f_, {m.load(x_, flat_), one}));
  }
  // Stores the function of x, but where the guard is true a longer one of y.
  void store_function(ScalarOp function, int guard = -1) {
    int z = m.op(function, f_, {m.load(x_, flat_)});
    if (guard >= 0) {
      const int y = m.op(kSinh, f_, {m.op(kTanh, f_, {m.load(y_, flat_, 0, guard)})});
      z = m.op(kSelect, f_, {guard, y, z});
    }
    m.store(out_, flat_, z);
  }

  KernelMaker m;

 private:
  DType f_;
  int64_t n_;
  int x_, y_, out_;
  Affine flat_;
};

const std::vector<std::vector<Interval>> kBorders = {
    {{0, 1, 0, 1, 3}},                           // rows 1 and 2
    {{0, -1, 40, 2, 4}},                         // rows 37 and 38 of 40
    {{1, 1, 5, 6, 9}},                           // columns 1 to 3
    {{1, -1, 0, -900, -700}, {0, 1, 0, 20, 40}}  // columns 700 and further, of later rows
};

TEST(Middle, Values) {
  for (DType f : {float32, float64, bfloat16, int8, bool_, complex64})
    for (int pieces : {1, 3, 7}) check(Chooser(f, {40, 901}).kernel(kBorders), 0, pieces);
  check(Chooser(float32, {40, 901}).kernel(kBorders, int64), 0, 2);
  EXPECT_TRUE(has_middle(Chooser(float32, {40, 901}).kernel(kBorders)));
}

TEST(Middle, BordersOfOneDimension) {
  for (const auto& boxes :
       std::vector<std::vector<std::vector<Interval>>>{{{{0, 1, 0, 0, 2}}, {{0, 1, 0, 990, 1000}}},
                                                       {{{0, -1, 999, 0, 3}}, {{0, 1, 3, 3, 5}}}}) {
    const Kernel kernel = Chooser(float32, {1000}).kernel(boxes);
    EXPECT_TRUE(has_middle(kernel));
    for (int pieces : {1, 2, 5}) check(kernel, 0, pieces);
  }
}

// What a condition chooses everywhere between the borders is computed there for several vectors
// side by side.
TEST(Middle, ChosenFunctions) {
  constexpr int64_t kRows = 40, kColumns = 901, kSize = kRows * kColumns, kBorder = 3 * kColumns;
  for (const DType f : {float32, float64}) {
    Chooser all(f, {kRows, kColumns}), chosen(f, {kRows, kColumns});
    all.store_function(kExp);
    chosen.store_function(kExp, chosen.inside({{0, 1, 0, 0, kBorder / kColumns}}));
    EXPECT_TRUE(has_middle(chosen.m.k));
    for (KernelCompiler* compiler : compilers()) {
      Buffers want(all.m.k), got(chosen.m.k);
      std::memcpy(got.raw(0), want.raw(0), static_cast<size_t>(kSize * itemsize(f)));
      compiler->compile(all.m.k)(want.pointers().data(), 0, kSize);
      compiler->compile(chosen.m.k)(got.pointers().data(), 0, kSize);
      const int64_t border = kBorder * itemsize(f), end = kSize * itemsize(f);
      EXPECT_EQ(
          std::memcmp(got.raw(2) + border, want.raw(2) + border, static_cast<size_t>(end - border)),
          0);
      EXPECT_TRUE(got.guards_intact());
    }
  }
}

// An element that all lanes read is guarded by their positions, and by nothing between the borders.
TEST(Middle, OneElementForAllLanes) {
  for (const DType f : {float32, complex64}) {
    Chooser chooser(f, {600, 5});
    const int guard = chooser.inside({{0, 1, 0, 4, 600}});
    chooser.store_sum_with_one(guard);
    EXPECT_TRUE(has_middle(chooser.m.k));
    for (int pieces : {1, 3}) check(chooser.m.k, 0, pieces);
  }
}

// The columns of short rows are not divided, but whole rows have no piece.
TEST(Middle, ShortRows) {
  for (int64_t columns : {5, 40, 64}) {
    const Kernel kernel = Chooser(float32, {7, 50, columns})
                              .kernel({{{1, 1, 0, 1, 2}}, {{0, 1, 0, 6, 7}}, {{2, 1, 0, 1, 3}}});
    check(kernel, 0, 3);
    EXPECT_TRUE(has_middle(kernel)) << columns;
  }
}

// Windows with a stride, over two images, that reach beyond the ends of both dimensions of an
// image: loads of whole rows of few channels, or columns of many.
Kernel strided_windows(DType f, int64_t rows, int64_t columns, int64_t channels, int64_t sign,
                       int64_t stride = 2) {
  KernelMaker m;
  const int64_t images = 2, n = stride * rows + 1 - stride, k = stride * columns + 1 - stride,
                step = stride * sign;
  const int x = m.buffer(f, images * n * k * channels),
            y = m.buffer(f, images * rows * columns * channels, BufferKind::kOutput);
  m.k.parallel = {images, rows, columns, channels};
  m.loop({});
  int sum = -1;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 2; ++j) {
      // From the last row and column to the first, if sign is -1.
      const Affine row{sign > 0 ? i : 2 * rows - 1 - i, {0, step, 0, 0}, {}},
          column{sign > 0 ? j : 2 * columns - 1 - j, {0, 0, step, 0}, {}};
      const int guard =
          m.op(kAnd, bool_,
               {m.op(kLt, bool_, {m.index(int32, row), m.constant(static_cast<int32_t>(n))}),
                m.op(kLt, bool_, {m.index(int32, column), m.constant(static_cast<int32_t>(k))})});
      const Affine at{(row.offset * k + column.offset) * channels,
                      {n * k * channels, step * k * channels, step * channels, 1},
                      {}};
      const int loaded = m.op(kSelect, f, {guard, m.load(x, at, 0, guard), m.number(f, 0)});
      sum = sum < 0 ? loaded : m.op(kAdd, f, {sum, loaded});
    }
  const int64_t line = columns * channels;
  m.store(y, {0, {rows * line, line, channels, 1}, {}}, sum);
  return m.k;
}

TEST(Middle, WindowsWithStrides) {
  for (int64_t channels : {4, 8, 64})
    for (int64_t sign : {1, -1}) {
      const Kernel kernel = strided_windows(float32, 7, 9, channels, sign);
      for (int pieces : {1, 5}) check(kernel, 0, pieces);
      if (channels >= 8) {
        EXPECT_TRUE(has_middle(kernel)) << channels;
      }
    }
  check(strided_windows(float64, 7, 9, 8, 1), 0, 5);
  check(strided_windows(int8, 7, 9, 32, 1), 0, 5);
}

// Rows of few channels that lie side by side are loaded as one, without pieces.
TEST(Middle, WindowsWithoutStrides) {
  for (DType f : {float32, int64, complex128}) {
    const Kernel kernel = strided_windows(f, 7, 30, 8, 1, 1);
    for (int pieces : {1, 5}) check(kernel, tolerance_of(f), pieces);
    EXPECT_TRUE(has_middle(kernel)) << f;
  }
}

// Guards that change with each index of a dimension of extent 2, as in the gradient of a pool with
// strides of 2: rows of 8 channels are not divided by them, which would make parts of 8 elements.
TEST(Middle, PartsOfFewVectorsAreNotDivided) {
  const auto repeated = [](int64_t repeats, int32_t begin) {
    KernelMaker m;
    const int64_t rows = 40, channels = 8;
    const int x = m.buffer(float32, rows * channels), z = m.buffer(float32, rows * channels),
              y = m.buffer(float32, rows * repeats * channels, BufferKind::kOutput);
    m.k.parallel = {rows, repeats, channels};
    m.loop({});
    const Affine row{0, {channels, 0, 1}, {}};
    const int guard = m.op(kGe, bool_, {m.index(int32, {0, {0, 1, 0}, {}}), m.constant(begin)});
    const int piece =
        m.op(kSelect, float32, {guard, m.load(z, row, 0, guard), m.number(float32, 0)});
    m.store(y, {0, {repeats * channels, channels, 1}, {}},
            m.op(kAdd, float32, {m.load(x, row), piece}));
    check(m.k, 0, 3);
    return m.k;
  };
  EXPECT_FALSE(has_middle(repeated(2, 1)));
  EXPECT_TRUE(has_middle(repeated(60, 1)));
}

// What is inside of a box may be infinite or NaN. The elements around it do not see that.
TEST(Middle, InfinitiesAndNans) {
  check(Chooser(float32, {40, 901}).kernel(kBorders), 0, 2, [](Buffers& b) {
    for (int k = 0; k < 40 * 901; k += 3) {
      b.data<float>(1)[k] = k % 2 ? std::numeric_limits<float>::infinity() : NAN;
      b.data<float>(0)[k] = -0.0F;
    }
  });
}

// A gather of rows whose positions are read under a guard: the middle has none of its own.
TEST(Middle, GuardedPositions) {
  KernelMaker m;
  const int64_t rows = 30, columns = 600;
  const int table = m.buffer(float32, 100), places = m.buffer(int32, rows * columns),
            y = m.buffer(float32, rows * columns, BufferKind::kOutput);
  m.k.parallel = {rows, columns};
  m.loop({});
  const Affine flat{0, {columns, 1}, {}};
  const int guard = m.op(kLt, bool_, {m.index(int32, {0, {1, 0}, {}}), m.constant<int32_t>(2)});
  const int place = m.load(places, flat, 0, guard);
  const int near = m.op(
      kMin, int32, {m.op(kMax, int32, {place, m.constant<int32_t>(0)}), m.constant<int32_t>(99)});
  const int a = m.load(table, {0, {0, 0}, {}}, 0, -1, {{near, 1}}),
            c = m.load(table, {0, {0, 0}, {}}, 0, guard, {{near, 1}});
  m.store(y, flat, m.op(kAdd, float32, {a, c}));
  check(m.k, 0, 3);
}

TEST(Middle, NoneIfMostElementsNeedEveryPiece) {
  EXPECT_FALSE(has_middle(Chooser(float32, {40, 901}).kernel({})));
  // In the middle, the heavy part of the code is the same.
  Chooser heavy(float32, {40, 901});
  Kernel kernel = heavy.kernel({{{0, 1, 0, 1, 39}}});
  KernelNode sine{NodeKind::kScalarOp, float32};
  sine.op = kSin;
  sine.args.push_back(kernel.loops[0].stores[0].node);
  kernel.nodes.push_back(std::move(sine));
  kernel.loops[0].stores[0].node = static_cast<int>(kernel.nodes.size()) - 1;
  EXPECT_FALSE(has_middle(kernel));
}

TEST(Middle, NoAddressIsOutsideOfTheOperands) {
  std::vector<Target> targets{narrow_target()};
  if (host_target().avx512) targets.push_back(host_target());
  for (const Target& target : targets) {
    Watched watched(target);
    const int64_t out = watched.farthest(Chooser(float32, {40, 901}).kernel(kBorders));
    EXPECT_GE(out, 0);
    EXPECT_LT(out, target.vector_bytes);
  }
}

}  // namespace
}  // namespace tessera::codegen::test::middle_test
