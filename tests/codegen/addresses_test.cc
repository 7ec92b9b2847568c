// Compares kernels with the interpreter: guards, dynamic loads, layouts, index dtypes and streaming
// stores.
#include <gtest/gtest.h>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/codegen/canonical.h"
#include "tessera/codegen/emitter.h"

namespace tessera::codegen::test::addresses_test {
namespace {

using enum ScalarOp;
constexpr auto kInner = Kernel::Vectorize::kInner;

// y[i] is twice x[i - 5] if i is in [5, 90) and the mask's byte is set, and 0 otherwise. Memory
// outside of x is not touched.
TEST(Guards, LoadsAndStores) {
  for (DType f : {float32, int8, uint16, float64, complex64, bool_, bfloat16}) {
    KernelMaker m;
    const int64_t n = 100;
    const int x = m.buffer(f, 85), mask = m.buffer(bool_, n),
              y = m.buffer(f, n, BufferKind::kOutput), z = m.buffer(f, n, BufferKind::kOutput);
    m.k.parallel = {n};
    m.loop({});
    const int i = m.index(int32, {0, {1}, {}});
    const int inside = m.op(kAnd, bool_,
                            {m.op(kGe, bool_, {i, m.constant<int32_t>(5)}),
                             m.op(kLt, bool_, {i, m.constant<int32_t>(90)})});
    const int wanted = m.op(kAnd, bool_, {inside, m.load(mask, {0, {1}, {}})});
    const int value = m.load(x, {-5, {1}, {}}, 0, wanted);
    m.store(y, {0, {1}, {}}, m.op(kAdd, f, {value, value}));
    m.store(z, {0, {1}, {}}, value, 0, wanted);
    const auto clear = [&](Buffers& b) {
      std::memset(b.raw(z), 0, static_cast<size_t>(n * itemsize(f)));
    };
    check(m.k, 0, 3, clear);
  }
}

// A guard that is the same for all lanes: it excludes rows beyond the end of a padded array.
TEST(Guards, UniformGuard) {
  KernelMaker m;
  const int64_t rows = 6, n = 40;
  const int x = m.buffer(float32, 4 * n), row = m.buffer(float32, 4),
            y = m.buffer(float32, rows * n, BufferKind::kOutput);
  m.k.parallel = {rows, n};
  m.loop({});
  const int r = m.index(int32, {0, {1, 0}, {}});
  const int inside = m.op(kLt, bool_, {r, m.constant<int32_t>(4)});
  const int a = m.load(x, {0, {n, 1}, {}}, 0, inside), b = m.load(row, {0, {1, 0}, {}}, 0, inside);
  m.store(y, {0, {n, 1}, {}}, m.op(kAdd, float32, {a, b}));
  check(m.k, 0, 5);
}

// All lanes read the same element; those that the guard excludes get 0.
TEST(Guards, OneElementForSomeLanes) {
  for (DType f : {float32, int16, complex64, bool_}) {
    KernelMaker m;
    const int64_t n = 100;
    const int x = m.buffer(f, 1), mask = m.buffer(bool_, n),
              y = m.buffer(f, n, BufferKind::kOutput);
    m.k.parallel = {n};
    m.loop({});
    const int wanted = m.load(mask, {0, {1}, {}});
    const int value = m.load(x, {0, {0}, {}}, 0, wanted);
    m.store(y, {0, {1}, {}}, m.op(kAdd, f, {value, value}));
    check(m.k, 0, 3);
  }
}

// A guard that is the same for all lanes, for lanes that are apart, with a body so heavy that whole
// vectors have masks, too. The rows that are excluded are outside of the address space.
TEST(Guards, UniformGuardOfLanesApart) {
  for (int64_t n : {16, 64, 70}) {
    KernelMaker m;
    const int64_t rows = 3, apart = 16;
    const int x = m.buffer(float32, apart * n),
              y = m.buffer(float32, rows * n, BufferKind::kOutput);
    m.k.parallel = {rows, n};
    m.loop({});
    const int r = m.index(int32, {0, {1, 0}, {}});
    const int inside = m.op(kLt, bool_, {r, m.constant<int32_t>(1)});
    const int a = m.load(x, {0, {int64_t{1} << 50, apart}, {}}, 0, inside);
    m.store(y, {0, {n, 1}, {}}, m.op(kTanh, float32, {m.op(kExp, float32, {a})}));
    check(m.k, 1e-6, 5);
  }
}

// Loads of dynamic_slice (one start for all lanes) and of gather (an index for each lane).
TEST(DynamicLoads, SliceAndGather) {
  for (DType f : {float32, int16, float64, complex64, complex128, bool_}) {
    for (DType index : {int32, int64}) {
      KernelMaker m;
      const int64_t n = 70;
      const int x = m.buffer(f, 500), start = m.buffer(index, 1), at = m.buffer(index, n),
                y = m.buffer(f, n, BufferKind::kOutput);
      m.k.parallel = {n};
      m.loop({});
      const int s = m.load(start, {0, {0}, {}}), i = m.load(at, {0, {1}, {}});
      const int slice = m.load(x, {1, {1}, {}}, 0, -1, {{s, 2}});
      const int picked = m.load(x, {3, {0}, {}}, 0, -1, {{i, 3}, {s, 1}});
      const int both = m.load(x, {0, {2}, {}}, 0, -1, {{i, 1}});
      m.store(y, {0, {1}, {}}, m.op(kAdd, f, {m.op(kAdd, f, {slice, picked}), both}));
      const auto fill = [&](Buffers& b) {
        for (int64_t k = 0; k < n; ++k) {
          if (index == int32)
            b.data<int32_t>(at)[k] = static_cast<int32_t>(k * 31 % 120);
          else
            b.data<int64_t>(at)[k] = k * 31 % 120;
        }
        if (index == int32)
          b.data<int32_t>(start)[0] = 17;
        else
          b.data<int64_t>(start)[0] = 17;
      };
      check(m.k, 1e-14, 2, fill);
    }
  }
}

// Elements of 16 bits are gathered as halves of words, whether the array begins with a whole word
// or in the middle of one.
TEST(DynamicLoads, HalvesOfWords) {
  for (DType f : {int16, float16})
    for (int64_t begin : {0, 1}) {
      KernelMaker m;
      const int64_t n = 70;
      const int x = m.buffer(f, 121), at = m.buffer(int32, n),
                y = m.buffer(f, n, BufferKind::kOutput);
      m.k.parallel = {n};
      m.loop({});
      const int i = m.load(at, {0, {1}, {}});
      m.store(y, {0, {1}, {}}, m.load(x, {begin, {0}, {}}, 0, -1, {{i, 1}}));
      check(m.k, 0, 2, [&](Buffers& b) {
        for (int64_t k = 0; k < n; ++k) b.data<int32_t>(at)[k] = static_cast<int32_t>(k * 31 % 120);
      });
      if (!host_target().avx512) continue;
      EXPECT_EQ(KernelCompiler::process().llvm_ir(m.k).find("i16> @llvm.masked.gather"),
                std::string::npos);
    }
}

// Broadcasts, a strided and a reversed operand, and transposes, of rank 3. The range of elements is
// divided at unaligned positions.
TEST(Addresses, ManyLayouts) {
  for (DType f : {float32, int8, float16, float64, complex64, complex128, bool_, uint64}) {
    for (auto [a, b, c] :
         {std::array<int64_t, 3>{3, 5, 40}, {4, 6, 3}, {2, 33, 17}, {5, 1, 9}, {1, 70, 70}}) {
      KernelMaker m;
      const int64_t n = a * b * c;
      const int same = m.buffer(f, n), bias = m.buffer(f, c), row = m.buffer(f, a),
                strided = m.buffer(f, 2 * n), reversed = m.buffer(f, n), swapped = m.buffer(f, n),
                y = m.buffer(f, n, BufferKind::kOutput), t = m.buffer(f, n, BufferKind::kOutput);
      m.k.parallel = {a, b, c};
      m.loop({});
      int sum = m.load(same, {0, {b * c, c, 1}, {}});
      for (int node :
           {m.load(bias, {0, {0, 0, 1}, {}}), m.load(row, {0, {1, 0, 0}, {}}),
            m.load(strided, {0, {2 * b * c, 2 * c, 2}, {}}),
            m.load(reversed, {n - 1, {-b * c, -c, -1}, {}}),
            m.load(swapped, {0, {1, a * c, a}, {}}), m.load(swapped, {0, {b * c, 1, b}, {}})}) {
        sum = m.op(kAdd, f, {sum, node});
      }
      m.store(y, {0, {b * c, c, 1}, {}}, sum);
      m.store(t, {0, {1, a * c, a}, {}}, m.load(same, {0, {b * c, c, 1}, {}}));
      check(m.k, tolerance_of(f), 1);
      check(m.k, tolerance_of(f), 4);
    }
  }
}

// Rows that are read backwards and do not fill vectors: the vectors have masks, and are loaded
// whole and reversed. A gather of 16 lanes takes as long as ten other loads.
TEST(Addresses, ReversedRowsAreNotGathered) {
  for (DType f : {float32, float64, bfloat16, int8, bool_, complex64, complex128}) {
    KernelMaker m;
    const int64_t rows = 3, columns = 150, n = rows * columns;
    const int x = m.buffer(f, n), y = m.buffer(f, n, BufferKind::kOutput);
    m.k.parallel = {rows, columns};
    m.loop({});
    const int limit = m.index(int32, {0, {50, 0}, {}}), column = m.index(int32, {0, {0, 1}, {}});
    const int guard = m.op(kGe, bool_, {column, limit});
    m.store(y, {0, {columns, 1}, {}}, m.load(x, {n - 1, {-columns, -1}, {}}, 0, guard));
    check(m.k, 0, 3);
    llvm::LLVMContext context;
    llvm::Module module("reversed", context);
    // AVX2 has no masked loads of less than four bytes.
    const Target target = itemsize(f) < 4 ? host_target() : narrow_target();
    if (itemsize(f) < 4 && !target.avx512) continue;
    emit_kernel(canonical(m.k), target, module, "reversed");
    for (const llvm::Function& function : module)
      EXPECT_FALSE(function.getName().starts_with("llvm.masked.gather")) << dtype_name(f);
  }
}

// The parts of a complex number are loaded and stored together, at a position for each lane.
TEST(Addresses, PartsOfComplexNumbersStayTogether) {
  const int64_t n = 64;
  for (DType f : {complex64, complex128}) {
    KernelMaker m;
    const int x = m.buffer(f, 3 * n), y = m.buffer(f, 3 * n, BufferKind::kOutput);
    m.k.parallel = {n};
    m.loop({});
    const int element = m.load(x, {2, {3}, {}});
    m.store(y, {1, {3}, {}}, m.op(kMul, f, {element, element}));
    check(m.k, tolerance_of(f), 3,
          [&](Buffers& b) { std::memset(b.raw(y), 0, static_cast<size_t>(3 * n * itemsize(f))); });
    const std::string code = compilers().front()->llvm_ir(m.k);
    const auto has = [&](const char* text) { return code.find(text) != std::string::npos; };
    if (f == complex64) {
      EXPECT_TRUE(has("load <2 x float>") && !has("float> @llvm.masked.gather"));
      EXPECT_TRUE(has("masked.scatter") && !has("float> @llvm.masked.scatter"));
    } else {
      EXPECT_TRUE(has("load <2 x double>") && has("store <2 x double>"));
    }
  }
}

TEST(Addresses, IndicesOfEveryIntegerType) {
  for (DType d : {int8, uint8, int16, uint32, int64}) {
    for (auto [a, b] : {std::pair<int64_t, int64_t>{3, 50}, {20, 3}, {1, 1}}) {
      KernelMaker m;
      const int y = m.buffer(d, a * b, BufferKind::kOutput),
                z = m.buffer(d, a * b, BufferKind::kOutput);
      m.k.parallel = {a, b};
      m.loop({});
      m.store(y, {0, {b, 1}, {}}, m.index(d, {100, {7, -3}, {}}));
      m.store(z, {0, {b, 1}, {}}, m.index(d, {0, {0, 1}, {}}));
      check(m.k, 0, 3);
    }
  }
}

// A kernel of one element has no vectors.
TEST(Addresses, Scalars) {
  for (auto vectorize : {Kernel::Vectorize::kParallel, kInner}) {
    KernelMaker m;
    const int x = m.buffer(float32, 1), y = m.buffer(float32, 1, BufferKind::kOutput);
    m.k.vectorize = vectorize;
    m.loop({});
    const int l = m.load(x, {});
    m.store(y, {}, m.op(kTanh, float32, {m.op(kAdd, float32, {l, l})}));
    check(m.k, 1e-6);
  }
}

// Streaming stores write the same values, for aligned and unaligned rows.
TEST(Addresses, StreamingStores) {
  for (DType f : {float32, bfloat16, complex64}) {
    for (int64_t columns : {64, 61}) {
      KernelMaker m;
      const int64_t rows = 5;
      const int x = m.buffer(f, rows * columns),
                y = m.buffer(f, rows * columns, BufferKind::kOutput);
      m.k.parallel = {rows, columns};
      m.k.streaming_stores = true;
      m.loop({});
      const int l = m.load(x, {0, {1, rows}, {}});
      m.store(y, {0, {columns, 1}, {}}, m.op(kMul, f, {l, l}));
      check(m.k, tolerance_of(f), 3);
    }
  }
}

}  // namespace
}  // namespace tessera::codegen::test::addresses_test
