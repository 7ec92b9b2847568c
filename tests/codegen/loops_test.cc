// Compares loop nests of all three forms with the interpreter: reductions, scratch buffers, odd
// sizes.
#include <gtest/gtest.h>

#include <deque>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/op_def.h"

namespace tessera::codegen::test::loops_test {
namespace {

using enum ScalarOp;
constexpr auto kInner = Kernel::Vectorize::kInner;

// out[r] = fold of in[r, :]
Kernel row_reduce(DType dtype, ReduceKind kind, int64_t rows, int64_t columns, double init) {
  KernelMaker m;
  const int in = m.buffer(dtype, rows * columns), out = m.buffer(dtype, rows, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.k.vectorize = kInner;
  m.loop({columns});
  m.loop({});
  m.reduce(0, kind, m.load(in, {0, {columns}, {1}}), m.number(dtype, init),
           dtype == float64 ? float64 : float32);
  m.store(out, {0, {1}, {}}, m.reduced(dtype, 0), 1);
  return m.k;
}

// out[c] = fold of in[:, c]
Kernel column_reduce(DType dtype, ReduceKind kind, int64_t rows, int64_t columns, double init) {
  KernelMaker m;
  const int in = m.buffer(dtype, rows * columns),
            out = m.buffer(dtype, columns, BufferKind::kOutput);
  m.k.parallel = {columns};
  m.loop({rows});
  m.loop({});
  m.reduce(0, kind, m.load(in, {0, {1}, {columns}}), m.number(dtype, init),
           dtype == float64 ? float64 : float32);
  m.store(out, {0, {1}, {}}, m.reduced(dtype, 0), 1);
  return m.k;
}

bool defined(DType dtype, ReduceKind kind) {
  if (kind == ReduceKind::kAnd || kind == ReduceKind::kOr) return !is_inexact(dtype);
  if (kind == ReduceKind::kMin || kind == ReduceKind::kMax) return !is_complex(dtype);
  return kind == ReduceKind::kSum;
}

class Reductions : public ::testing::TestWithParam<int> {};
TEST_P(Reductions, RowsAndColumns) {
  const DType dtype = static_cast<DType>(GetParam());
  for (ReduceKind kind :
       {ReduceKind::kSum, ReduceKind::kMin, ReduceKind::kMax, ReduceKind::kAnd, ReduceKind::kOr}) {
    if (!defined(dtype, kind)) continue;
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 1},
                                 {5, 7},
                                 {5, 12},
                                 {3, 63},
                                 {2, 100},
                                 {4, 257},
                                 {1, 0},
                                 {37, 70}}) {
      check(row_reduce(dtype, kind, rows, columns, 1), tolerance_of(dtype), rows > 4 ? 3 : 1);
      check(column_reduce(dtype, kind, rows, std::max<int64_t>(columns, 1), 1), tolerance_of(dtype),
            2);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Reductions, ::testing::Range(0, kNumDTypes), [](const auto& info) {
  return std::string(dtype_name(static_cast<DType>(info.param)));
});

TEST(Loops, ProductsOfFloats) {
  const auto fill = [](Buffers& b) {
    for (int i = 0; i < 4 * 50; ++i)
      b.data<float>(0)[i] = 1 + 0.01f * static_cast<float>(i % 7 - 3);
  };
  check(row_reduce(float32, ReduceKind::kProduct, 4, 50, 2), 1e-5, 1, fill);
  check(column_reduce(float32, ReduceKind::kProduct, 4, 50, 2), 1e-5, 1, fill);
}

TEST(Loops, NanWinsMinAndMax) {
  for (ReduceKind kind : {ReduceKind::kMin, ReduceKind::kMax}) {
    for (int at : {0, 40, 99}) {
      const auto fill = [at](Buffers& b) {
        for (int i = 0; i < 300; ++i) b.data<float>(0)[i] = static_cast<float>(i % 13);
        b.data<float>(0)[100 + at] = NAN;
      };
      check(row_reduce(float32, kind, 3, 100, 3), 0, 1, fill);
      check(column_reduce(float32, kind, 3, 100, 3), 0, 1, fill);
    }
  }
}

TEST(Loops, SumsOfHalvesAreKeptInFloat32) {
  // Each sum is of 4096 ones: if it were kept in bfloat16, it would stop at 256.
  for (DType dtype : {float16, bfloat16}) {
    const auto fill = [dtype](Buffers& b) {
      for (int i = 0; i < 4096; ++i) {
        if (dtype == float16)
          b.data<Float16>(0)[i] = Float16(1);
        else
          b.data<Bfloat16>(0)[i] = Bfloat16(1);
      }
    };
    check(row_reduce(dtype, ReduceKind::kSum, 1, 4096, 0), 0, 1, fill);
    check(column_reduce(dtype, ReduceKind::kSum, 4096, 1, 0), 0, 1, fill);
  }
}

// A sum over many rows, or over many runs of a row, is a sum of sums of blocks, so its error is
// that of a few roundings. Added one after another, 65,536 elements have an error of more than
// 1e-6.
TEST(Loops, LongSumsAreAddedInBlocks) {
  const int64_t n = 65536;
  const auto fill = [](Buffers& b) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> numbers(0, 1);
    for (int64_t i = 0; i < n * 2; ++i) b.data<float>(0)[i] = numbers(random);
  };
  check(row_reduce(float32, ReduceKind::kSum, 2, n, 0), 5e-7, 1, fill);
  check(column_reduce(float32, ReduceKind::kSum, n, 2, 0), 5e-7, 1, fill);
  check(column_reduce(float32, ReduceKind::kSum, n * 2, 1, 3), 5e-7, 1, fill);
}

// Blocks depend on the number of rows and not on the loops over them. The result has the same bits
// if two dimensions are one loop, and wherever a block ends.
TEST(Loops, BlocksOfLongSumsDoNotDependOnLoops) {
  const int64_t rows = 3000, columns = 37;
  const auto sums = [&](const Dims& extents, KernelCompiler& compiler) {
    Dims strides(extents.size(), columns);
    for (size_t d = extents.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * extents[d + 1];
    KernelMaker m;
    const int in = m.buffer(float32, rows * columns),
              out = m.buffer(float32, columns, BufferKind::kOutput);
    m.k.parallel = {columns};
    m.loop(extents);
    m.loop({});
    m.reduce(0, ReduceKind::kSum, m.load(in, {0, {1}, strides}), m.number(float32, 0));
    m.store(out, {0, {1}, {}}, m.reduced(float32, 0), 1);
    check(m.k, 1e-5);
    Buffers b(m.k);
    std::mt19937 random(4);
    std::normal_distribution<float> numbers;
    for (int64_t i = 0; i < rows * columns; ++i) b.data<float>(in)[i] = numbers(random);
    compiler.compile(m.k)(b.pointers().data(), 0, columns);
    return std::vector<float>(b.data<float>(out), b.data<float>(out) + columns);
  };
  for (KernelCompiler* compiler : compilers()) {
    const std::vector<float> want = sums({rows}, *compiler);
    for (const Dims& extents : {Dims{3, 1000}, {1000, 3}, {30, 10, 10}})
      EXPECT_EQ(sums(extents, *compiler), want);
  }
}

// Heavy elementwise bodies of one long chain go several vectors at a time: every size around a
// block of them, in one dimension and in two, cut into pieces.
TEST(Loops, LongChains) {
  for (const DType f : {float32, float64})
    for (const Dims& parallel : {Dims{1}, Dims{3}, Dims{7}, Dims{8}, Dims{15}, Dims{16}, Dims{17},
                                 Dims{31}, Dims{33}, Dims{47}, Dims{63}, Dims{64}, Dims{65},
                                 Dims{129}, Dims{1000}, Dims{5, 37}, Dims{3, 64}, Dims{40, 3}}) {
      KernelMaker m;
      int64_t n = 1;
      for (const int64_t d : parallel) n *= d;
      const int in = m.buffer(f, n), out = m.buffer(f, n, BufferKind::kOutput);
      m.k.parallel = parallel;
      m.loop({});
      // Two dimensions have the other order in memory, so that they do not become one loop.
      const Dims strides = parallel.size() == 1 ? Dims{1} : Dims{1, parallel[0]};
      int x = m.load(in, {0, strides, {}});
      const int half = m.number(f, .5), one = m.number(f, 1);
      for (int i = 0; i < 60; ++i) x = m.op(kAdd, f, {m.op(kMul, f, {x, half}), one});
      m.store(out, {0, strides, {}}, x);
      check(m.k, 1e-6, 4);
    }
}

// The order of a sum depends neither on the vector width nor on how rows are split.
TEST(Loops, SumsAreTheSameOnEveryTarget) {
  const int64_t rows = 6, columns = 1003;
  const Kernel kernel = row_reduce(float32, ReduceKind::kSum, rows, columns, 0);
  Buffers b(kernel);
  std::mt19937 random(3);
  for (int64_t i = 0; i < rows * columns; ++i)
    b.data<float>(0)[i] = static_cast<float>(random()) / 1e9f;
  std::vector<std::vector<float>> results;
  for (KernelCompiler* compiler : compilers()) {
    for (int pieces : {1, 4}) {
      const auto pointers = b.pointers();
      const KernelCode fn = compiler->compile(kernel);
      for (int p = 0; p < pieces; ++p)
        fn(pointers.data(), rows * p / pieces, rows * (p + 1) / pieces);
      results.emplace_back(b.data<float>(1), b.data<float>(1) + rows);
    }
  }
  for (const auto& r : results) EXPECT_EQ(r, results[0]);
}

TEST(Loops, Softmax) {
  for (DType f : {float32, float64, bfloat16}) {
    for (int64_t n : {1, 5, 16, 100, 515}) {
      KernelMaker m;
      const int64_t rows = 7;
      const int x = m.buffer(f, rows * n), y = m.buffer(f, rows * n, BufferKind::kOutput);
      const int s = m.buffer(f, n, BufferKind::kScratch);
      m.k.parallel = {rows};
      m.k.vectorize = kInner;
      for (int l = 0; l < 3; ++l) m.loop({n});
      m.reduce(0, ReduceKind::kMax, m.load(x, {0, {n}, {1}}), m.number(f, -INFINITY));
      const int shifted = m.op(kSub, f, {m.load(x, {0, {n}, {1}}, 1), m.reduced(f, 0)});
      const int e = m.op(kExp, f, {shifted});
      m.store(s, {0, {0}, {1}}, e, 1);
      m.reduce(1, ReduceKind::kSum, e, m.number(f, 0), f == float64 ? float64 : float32);
      m.store(y, {0, {n}, {1}}, m.op(kDiv, f, {m.load(s, {0, {0}, {1}}, 2), m.reduced(f, 1)}), 2);
      check(m.k, tolerance_of(f), 3);
    }
  }
}

// What is left of a row after blocks of several vectors is no loop. Otherwise all of its vectors
// would be masked.
TEST(Loops, RestsOfRowsAreUnrolled) {
  const auto loops = [](int64_t columns) {
    const std::string ir =
        KernelCompiler::process().llvm_ir(row_reduce(float32, ReduceKind::kSum, 4, columns, 0));
    int count = 0;
    for (size_t at = 0; (at = ir.find("\nloop", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(loops(63), 1);
  EXPECT_EQ(loops(127), 2);
}

// While a row is computed, the next one is prefetched. Rows that are read once need no prefetch.
TEST(Loops, RowsAreFetchedAhead) {
  const auto fetches = [](int loops, int64_t n) {
    KernelMaker m;
    const int x = m.buffer(float32, 4 * n), y = m.buffer(float32, 4 * n, BufferKind::kOutput);
    m.k.parallel = {4};
    m.k.vectorize = kInner;
    for (int l = 0; l < loops; ++l) m.loop({n});
    m.reduce(0, ReduceKind::kMax, m.load(x, {0, {n}, {1}}), m.number(float32, -INFINITY));
    if (loops > 1) {
      const int shifted = m.op(kSub, float32, {m.load(x, {0, {n}, {1}}, 1), m.reduced(float32, 0)});
      m.store(y, {0, {n}, {1}}, shifted, 1);
    }
    return KernelCompiler::process().llvm_ir(m.k).find("llvm.prefetch") != std::string::npos;
  };
  EXPECT_TRUE(fetches(2, 1000));
  EXPECT_FALSE(fetches(2, 100)) << "short rows";
  EXPECT_FALSE(fetches(2, 1 << 20)) << "rows that do not fit the cache";
  EXPECT_FALSE(fetches(1, 1000));
}

// out[r, c] is the sum of in[r, :, c]. A block has as many vectors as a row, but at most four, or
// with AVX-512 at most twelve; the loop of masked vectors follows. Otherwise all of a short row
// would be masked.
TEST(Loops, BlocksAreNotLongerThanRows) {
  const auto sums = [](int64_t columns) {
    KernelMaker m;
    const int x = m.buffer(float32, 40 * 10 * columns),
              y = m.buffer(float32, 40 * columns, BufferKind::kOutput);
    m.k.parallel = {40, columns};
    m.loop({10});
    m.loop({});
    m.reduce(0, ReduceKind::kSum, m.load(x, {0, {10 * columns, 1}, {columns}}),
             m.number(float32, 0));
    m.store(y, {0, {columns, 1}, {}}, m.reduced(float32, 0), 1);
    check(m.k, 1e-5, 2);
    const std::string ir = KernelCompiler::process().llvm_ir(m.k);
    int count = 0;
    for (size_t at = ir.find("fadd"); at != std::string::npos; at = ir.find("fadd", at + 1))
      ++count;
    return count;
  };
  const int lanes = host_target().vector_bytes / 4;
  const bool long_blocks = host_target().avx512;
  EXPECT_EQ(sums(8 * lanes), (long_blocks ? 8 : 4) + 1);
  EXPECT_EQ(sums(27 * lanes), (long_blocks ? 9 : 4) + 1) << "three blocks of nine leave no rest";
  EXPECT_EQ(sums(2 * lanes), 2 + 1);
  EXPECT_EQ(sums(2 * lanes + 3), 2 + 1);
  EXPECT_EQ(sums(lanes), 1 + 1);
}

// Sums over two extents at once, contiguous and not, with lanes along the last extent.
TEST(Loops, NestedExtents) {
  for (auto vectorize : {Kernel::Vectorize::kParallel, kInner}) {
    KernelMaker m;
    const int64_t a = 3, p = 37, c = 41;  // in[a, p, c] summed over a and c
    const int in = m.buffer(float32, a * p * c), out = m.buffer(float32, p, BufferKind::kOutput);
    m.k.parallel = {p};
    m.k.vectorize = vectorize;
    m.loop({a, c});
    m.loop({});
    m.reduce(0, ReduceKind::kSum, m.load(in, {0, {c}, {p * c, 1}}), m.number(float32, 0));
    m.reduce(0, ReduceKind::kMax, m.load(in, {0, {c}, {p * c, 1}}), m.number(float32, 0));
    m.store(out, {0, {1}, {}},
            m.op(kAdd, float32, {m.reduced(float32, 0, 0), m.reduced(float32, 0, 1)}), 1);
    check(m.k, 1e-5, 2);
  }
}

// A sum of products in one kernel. One operand is a row for each result; the other one is the same
// for all.
TEST(Loops, DotOfRows) {
  KernelMaker m;
  const int64_t rows = 9, n = 133;
  const int x = m.buffer(float32, rows * n), w = m.buffer(float32, n),
            y = m.buffer(float32, rows, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.k.vectorize = kInner;
  m.loop({n});
  m.loop({});
  const int product = m.op(kMul, float32, {m.load(x, {0, {n}, {1}}), m.load(w, {0, {0}, {1}})});
  m.reduce(0, ReduceKind::kSum, product, m.number(float32, 0));
  m.store(y, {0, {1}, {}}, m.reduced(float32, 0), 1);
  check(m.k, 1e-5, 2);
}

Expr emit_less(ExprBuilder& b, std::span<const Expr> args, const OpParams&, std::span<const Type>,
               const Type&) {
  return b.apply(kLt, bool_, args);
}
Expr emit_select(ExprBuilder& b, std::span<const Expr> args, const OpParams&, std::span<const Type>,
                 const Type& result) {
  return b.apply(kSelect, result.dtype, args);
}
Expr emit_minimum(ExprBuilder& b, std::span<const Expr> args, const OpParams&,
                  std::span<const Type>, const Type& result) {
  return b.apply(kMin, result.dtype, args);
}
Expr emit_equal(ExprBuilder& b, std::span<const Expr> args, const OpParams&, std::span<const Type>,
                const Type&) {
  return b.apply(kEq, bool_, args);
}
const OpDef& op_of(std::string_view name, decltype(Pointwise::emit) emit) {
  static std::deque<OpDef> ops;  // operations refer to their definitions
  OpDef& def = ops.emplace_back();
  def.name = name;
  def.lower = Pointwise{emit};
  return def;
}

// (value, index, x, i) -> the larger value and its index; the smaller index if the values are
// equal.
FunctionRef argmax_body(DType dtype = float32) {
  static const OpDef &less = op_of("less", emit_less), &select = op_of("select", emit_select),
                     &minimum = op_of("minimum", emit_minimum), &equal = op_of("equal", emit_equal);
  auto f = std::make_shared<Function>();
  Type value, index, flag;
  value.dtype = dtype;
  index.dtype = int32;
  flag.dtype = bool_;
  const ValueId v = f->add_input(value), i = f->add_input(index), x = f->add_input(value),
                j = f->add_input(index);
  auto add = [&](const OpDef& def, ValueIds operands, const Type& type) {
    return f->add_op(def, OpParams(), operands, std::span(&type, 1))[0];
  };
  const ValueId smaller = add(less, {v, x}, flag);
  const ValueId best = add(select, {smaller, x, v}, value);
  const ValueId of_larger = add(select, {smaller, j, i}, index);
  const ValueId first = add(minimum, {i, j}, index);
  const ValueId same = add(equal, {v, x}, flag);
  const ValueId at = add(select, {same, first, of_larger}, index);
  f->outputs = {best, at};
  return f;
}

TEST(Loops, ArgmaxOfRowsAndColumns) {
  for (auto vectorize : {Kernel::Vectorize::kParallel, kInner}) {
    for (int64_t n : {1, 3, 16, 50, 333}) {
      KernelMaker m;
      const int64_t rows = 21;
      const bool inner = vectorize == kInner;
      const int x = m.buffer(float32, rows * n), v = m.buffer(float32, rows, BufferKind::kOutput),
                i = m.buffer(int32, rows, BufferKind::kOutput);
      m.k.parallel = {rows};
      m.k.vectorize = vectorize;
      m.loop({n});
      m.loop({});
      const int load = m.load(x, inner ? Affine{0, {n}, {1}} : Affine{0, {1}, {rows}});
      const int index = m.index(int32, {0, {0}, {1}});
      m.k.loops[0].reductions.push_back({ReduceKind::kArgMax,
                                         {load, index},
                                         {m.number(float32, -INFINITY), m.number(int32, 0)},
                                         argmax_body(),
                                         float32});
      m.store(v, {0, {1}, {}}, m.reduced(float32, 0, 0), 1);
      m.store(i, {0, {1}, {}}, m.reduced(int32, 0, 1), 1);
      const auto ties = [](Buffers& b) {
        for (int k = 0; k < 20; ++k) b.data<float>(0)[k] = 2;
      };
      check(m.k, 0, 2);
      check(m.k, 0, 1, ties);
    }
  }
}

// Elements of 16-bit floats are compared as they are after rounding: of two products that round to
// the same number, the first is found, although the second is larger.
TEST(Loops, ArgmaxOfRoundedElements) {
  for (auto vectorize : {Kernel::Vectorize::kParallel, kInner}) {
    KernelMaker m;
    const int64_t n = 50, rows = 21;
    const bool inner = vectorize == kInner;
    const int x = m.buffer(bfloat16, rows * n), y = m.buffer(bfloat16, rows * n),
              i = m.buffer(int32, rows, BufferKind::kOutput);
    m.k.parallel = {rows};
    m.k.vectorize = vectorize;
    m.loop({n});
    m.loop({});
    const Affine at = inner ? Affine{0, {n}, {1}} : Affine{0, {1}, {rows}};
    const int product = m.op(ScalarOp::kMul, bfloat16, {m.load(x, at), m.load(y, at)});
    m.k.loops[0].reductions.push_back({ReduceKind::kArgMax,
                                       {product, m.index(int32, {0, {0}, {1}})},
                                       {m.number(bfloat16, -INFINITY), m.number(int32, 0)},
                                       argmax_body(bfloat16),
                                       bfloat16});
    m.store(i, {0, {1}, {}}, m.reduced(int32, 0, 1), 1);
    for (KernelCompiler* compiler : compilers()) {
      Buffers b(m.k);
      std::fill_n(b.data<Bfloat16>(x), rows * n, Bfloat16(0.5F));
      std::fill_n(b.data<Bfloat16>(y), rows * n, Bfloat16(1.0F));
      const auto put = [&](int64_t row, int64_t k, float a, float c) {
        const int64_t place = inner ? row * n + k : row + k * rows;
        b.data<Bfloat16>(x)[place] = Bfloat16(a);
        b.data<Bfloat16>(y)[place] = Bfloat16(c);
      };
      for (int64_t row = 0; row < rows; ++row) {
        put(row, row, 1.015625F, 1);
        put(row, n - 1 - row, 1.0078125F, 1.0078125F);  // 1.01568...
      }
      compiler->compile(m.k)(b.pointers().data(), 0, rows);
      for (int64_t row = 0; row < rows; ++row) EXPECT_EQ(b.data<int32_t>(i)[row], row);
    }
  }
}

// A custom reduction need not start from its identity. The initial value must count exactly once.
TEST(Loops, CustomReductionCountsItsStartOnce) {
  static const OpDef& add = op_of(
      "add", [](ExprBuilder& b, std::span<const Expr> args, const OpParams&, std::span<const Type>,
                const Type& r) { return b.apply(kAdd, r.dtype, args); });
  auto body = std::make_shared<Function>();
  Type t;
  t.dtype = float32;
  const ValueId a = body->add_input(t), x = body->add_input(t);
  body->outputs = {body->add_op(add, OpParams(), {a, x}, std::span(&t, 1))[0]};
  for (int64_t n : {0, 1, 5, 100}) {
    Kernel kernel = row_reduce(float32, ReduceKind::kSum, 5, n, 10);
    kernel.loops[0].reductions[0].kind = ReduceKind::kCustom;
    kernel.loops[0].reductions[0].body = body;
    check(kernel, 1e-5);
  }
}

// Returns a body of type (acc..., x...) -> acc..., with one op for each result.
FunctionRef body_of(const std::vector<std::pair<DType, decltype(Pointwise::emit)>>& results) {
  auto body = std::make_shared<Function>();
  const size_t n = results.size();
  std::vector<Type> types(n);
  for (size_t k = 0; k < n; ++k) types[k].dtype = results[k].first;
  ValueIds inputs;
  for (size_t k = 0; k < 2 * n; ++k) inputs.push_back(body->add_input(types[k % n]));
  for (size_t k = 0; k < n; ++k)
    body->outputs.push_back(body->add_op(op_of("op", results[k].second), OpParams(),
                                         {inputs[k], inputs[n + k]}, std::span(&types[k], 1))[0]);
  return body;
}
Expr emit_bounded_sum(ExprBuilder& b, std::span<const Expr> x, const OpParams&,
                      std::span<const Type>, const Type& r) {
  return b.apply(kMin, r.dtype, {b.apply(kAdd, r.dtype, x), b.number(r.dtype, 5)});
}
// Emits a b / 1, by complex division.
Expr emit_quotient(ExprBuilder& b, std::span<const Expr> x, const OpParams&, std::span<const Type>,
                   const Type& r) {
  const Expr one = b.apply(kComplex, r.dtype,
                           {b.number(real_dtype(r.dtype), 1), b.number(real_dtype(r.dtype), 0)});
  return b.apply(kDiv, r.dtype, {b.apply(kMul, r.dtype, x), one});
}
Expr emit_sum(ExprBuilder& b, std::span<const Expr> x, const OpParams&, std::span<const Type>,
              const Type& r) {
  return b.apply(kAdd, r.dtype, x);
}

// When the lanes of a vector are folded, constants must be as wide as the lanes that are left.
TEST(Loops, BodiesWithConstants) {
  for (int64_t n : {1, 5, 16, 40, 257}) {
    for (DType dtype : {float32, float64, int32, int8, bfloat16}) {
      Kernel kernel = row_reduce(dtype, ReduceKind::kSum, 3, n, 0);
      kernel.loops[0].reductions[0].kind = ReduceKind::kCustom;
      kernel.loops[0].reductions[0].body = body_of({{dtype, emit_bounded_sum}});
      // At most two elements are not 0, so each sum is exact, and every order has the same result.
      check(kernel, tolerance_of(dtype), 1, [&](Buffers& b) {
        std::memset(b.raw(0), 0, static_cast<size_t>(3 * n * itemsize(dtype)));
        visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
          for (int64_t row : {0, 1, 2}) b.data<T>(0)[row * n + n / 2] = T(row == 2 ? 7 : 2);
          b.data<T>(0)[n - 1] = T(4);
        });
      });
    }
    Kernel kernel = row_reduce(complex64, ReduceKind::kSum, 3, n, 1);
    kernel.loops[0].reductions[0].kind = ReduceKind::kCustom;
    kernel.loops[0].reductions[0].body = body_of({{complex64, emit_quotient}});
    check(kernel, 1e-4, 1, [&](Buffers& b) {
      for (int64_t i = 0; i < 3 * n; ++i)
        b.data<std::complex<float>>(0)[i] = i % 5 ? 1.f : std::complex<float>(0, 1);
    });
  }
}

TEST(Loops, ComplexAndRealResultsOfOneReduction) {
  for (auto vectorize : {Kernel::Vectorize::kParallel, kInner}) {
    for (const auto& dtypes : {std::pair{complex64, float32}, {float32, complex64}}) {
      for (int64_t n : {1, 7, 100}) {
        KernelMaker m;
        const int64_t rows = 9;
        const bool inner = vectorize == kInner;
        const auto [first, second] = dtypes;
        const int x = m.buffer(first, rows * n), y = m.buffer(second, rows * n),
                  v = m.buffer(first, rows, BufferKind::kOutput),
                  w = m.buffer(second, rows, BufferKind::kOutput);
        m.k.parallel = {rows};
        m.k.vectorize = vectorize;
        m.loop({n});
        m.loop({});
        const Affine at = inner ? Affine{0, {n}, {1}} : Affine{0, {1}, {rows}};
        m.k.loops[0].reductions.push_back({ReduceKind::kCustom,
                                           {m.load(x, at), m.load(y, at)},
                                           {m.number(first, 0), m.number(second, 3)},
                                           body_of({{first, emit_sum}, {second, emit_sum}}),
                                           float32});
        m.store(v, {0, {1}, {}}, m.reduced(first, 0, 0), 1);
        m.store(w, {0, {1}, {}}, m.reduced(second, 0, 1), 1);
        check(m.k, 1e-4, 2);
      }
    }
  }
}

// 0 is larger than -0, in every position.
TEST(Loops, ZerosHaveAnOrder) {
  for (DType dtype : {float16, bfloat16, float32, float64}) {
    visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (!std::is_integral_v<T>) {
        for (int64_t n : {2, 3, 16, 100}) {
          for (bool is_max : {false, true}) {
            const ReduceKind kind = is_max ? ReduceKind::kMax : ReduceKind::kMin;
            const double init = is_max ? -INFINITY : INFINITY;
            for (const Kernel& kernel :
                 {row_reduce(dtype, kind, n, n, init), column_reduce(dtype, kind, n, n, init)}) {
              for (KernelCompiler* compiler : compilers()) {
                Buffers b(kernel);
                // One element of each row and column is the larger one (or the smaller one).
                const T common = T(is_max ? -0.f : 0.f), odd = T(is_max ? 0.f : -0.f);
                for (int64_t i = 0; i < n * n; ++i)
                  b.data<T>(0)[i] = i % (n + 1) == 0 ? odd : common;
                compiler->compile(kernel)(b.pointers().data(), 0, n);
                for (int64_t i = 0; i < n; ++i)
                  EXPECT_EQ(std::memcmp(b.data<T>(1) + i, &odd, sizeof(T)), 0)
                      << dtype << " " << n << " " << is_max;
              }
            }
          }
        }
      }
    });
  }
}

// A loop without elements stores nothing, whatever its addresses are.
TEST(Loops, EmptyExtents) {
  for (auto vectorize : {Kernel::Vectorize::kParallel, kInner}) {
    for (const Dims& extents : {Dims{0}, {3, 0}, {0, 3}}) {
      KernelMaker m;
      const int64_t rows = 12;
      const Dims none(extents.size(), 0);
      const int x = m.buffer(float32, 1), y = m.buffer(float32, 0, BufferKind::kOutput),
                z = m.buffer(float32, rows, BufferKind::kOutput);
      m.k.parallel = {rows};
      m.k.vectorize = vectorize;
      m.loop(extents);
      m.loop({});
      const int load = m.load(x, {0, {0}, none});
      m.reduce(0, ReduceKind::kMax, load, m.number(float32, 4));
      m.store(y, {0, {0}, none}, load);
      m.store(z, {0, {1}, {}}, m.reduced(float32, 0), 1);
      check(m.k, 0, 2);
    }
  }
}

}  // namespace
}  // namespace tessera::codegen::test::loops_test
