// Kernels that are one chain of dependent operations compute several vectors side by side, with the
// bits that the vectors have by themselves.
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <optional>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::side_by_side_test {
namespace {

using enum ScalarOp;

// A kernel over `n` elements with a hash of each element's number.
class Hash {
 public:
  explicit Hash(int64_t n) : n_(n) {
    m_.k.parallel = {n};
    m_.loop({});
    bits_ = m_.index(uint32, {0, {1}, {}});
    for (uint32_t round = 1; round <= 30; ++round) {
      const int left = m_.op(kShl, uint32, {bits_, m_.constant<uint32_t>(7)});
      const int right = m_.op(kShrLogical, uint32, {bits_, m_.constant<uint32_t>(25)});
      const int rotated = m_.op(kOr, uint32, {left, right});
      const int sum = m_.op(kAdd, uint32, {bits_, m_.constant<uint32_t>(0x9e3779b9u * round)});
      bits_ = m_.op(kXor, uint32, {sum, rotated});
    }
  }

  // A float in [-low, low).
  int uniform(DType dtype, double low) {
    const int number = m_.op(kConvert, dtype, {m_.op(kBitcast, int32, {bits_})});
    return m_.op(kMul, dtype, {number, m_.number(dtype, low / 0x1p31)});
  }
  // The kernel that stores the node, as the only result.
  Kernel stored(int node) {
    const DType dtype = m_.k.nodes[static_cast<size_t>(node)].dtype;
    Kernel out = m_.k;
    out.buffers = {{dtype, BufferKind::kOutput, n_}};
    out.loops[0].stores = {{.buffer = 0, .address = {0, {1}, {}}, .node = node, .guard = -1}};
    return out;
  }
  int bits() const { return bits_; }
  static uint32_t of(uint32_t bits) {
    for (uint32_t round = 1; round <= 30; ++round)
      bits = (bits + 0x9e3779b9u * round) ^ std::rotl(bits, 7);
    return bits;
  }
  KernelMaker& maker() { return m_; }

 private:
  KernelMaker m_;
  int64_t n_;
  int bits_;
};

template <class T>
void expect_exact(int64_t n) {
  Hash hash(n);
  const DType dtype = dtype_of<T>;
  const int bits = hash.bits();
  const Kernel kernel =
      hash.stored(dtype == uint32 ? bits : hash.maker().op(kConvert, dtype, {bits}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers out(kernel);
    compiler->compile(kernel)(out.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(out.data<T>(0)[i], static_cast<T>(Hash::of(static_cast<uint32_t>(i)))) << i;
    EXPECT_TRUE(out.guards_intact());
  }
}

TEST(SideBySide, HashesAreExact) {
  for (const int64_t n : {1, 15, 64, 100, 1000}) {
    SCOPED_TRACE(n);
    expect_exact<uint32_t>(n);
    expect_exact<uint8_t>(n);
    expect_exact<uint64_t>(n);
  }
}

TEST(SideBySide, FunctionsHaveTheBitsOfOneVector) {
  constexpr int64_t kSize = 1000;
  for (const ScalarOp op :
       {kErfInv, kSin, kCos, kTan, kLog, kExp, kLog1p, kSinh, kCosh, kAsinh, kAcosh})
    for (const DType dtype : {float32, float64})
      for (const double low : {1.1, 1e9}) {
        SCOPED_TRACE(fmt::format("{} of {} up to {}", scalar_op_name(op), dtype, low));
        Hash hash(kSize);
        const int x = hash.uniform(dtype, low), y = hash.maker().op(op, dtype, {x});
        const Kernel numbers = hash.stored(x), together = hash.stored(y),
                     alone = function_of(op, dtype, kSize);
        for (KernelCompiler* compiler : compilers()) {
          Buffers in(numbers), out(together), both(alone);
          compiler->compile(numbers)(in.pointers().data(), 0, kSize);
          compiler->compile(together)(out.pointers().data(), 0, kSize);
          const auto bytes = static_cast<size_t>(kSize * itemsize(dtype));
          std::memcpy(both.raw(0), in.raw(0), bytes);
          compiler->compile(alone)(both.pointers().data(), 0, kSize);
          EXPECT_EQ(std::memcmp(out.raw(0), both.raw(1), bytes), 0);
          EXPECT_TRUE(out.guards_intact());
        }
      }
}

int count(const std::string& text, const std::string& part) {
  int out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST(SideBySide, AllVectorsBeforeTheFirstStore) {
  if (!host_target().avx512) GTEST_SKIP() << "other code begins with a loop without masks";
  Hash hash(1 << 20);
  Kernel kernel = hash.stored(hash.bits());
  kernel.streaming_stores = true;
  const std::string code = compilers().back()->assembly(kernel);
  EXPECT_EQ(count(code, "vprold"), 4 * 30);
  const size_t store = code.find("vmovntdq");
  ASSERT_NE(store, std::string::npos) << code;
  EXPECT_LT(code.rfind("vprold"), store) << code;
}

// With AVX-512 there is one block for the rare arguments of four vectors. Without, one for those of
// two vectors, and one in the loop for the last elements.
TEST(SideBySide, OneBranchForRareArguments) {
  Hash hash(1000);
  const int x = hash.uniform(float32, 1);
  const Kernel kernel = hash.stored(hash.maker().op(kErfInv, float32, {x}));
  for (KernelCompiler* compiler : compilers()) {
    const bool wide = compiler != compilers().front();
    EXPECT_EQ(count(compiler->llvm_ir(kernel), "\nslow"), wide ? 1 : 2);
  }
}

// Returns the code of a kernel that computes f of each element.
std::string code_of(DType dtype, const std::function<int(KernelMaker&, int)>& f) {
  KernelMaker m;
  m.k.parallel = {1000};
  m.loop({});
  const int x = m.load(m.buffer(dtype, 1000), {0, {1}, {}});
  m.store(m.buffer(dtype, 1000, BufferKind::kOutput), {0, {1}, {}}, f(m, x));
  return compilers().back()->llvm_ir(m.k);
}

// Each of these functions divides once for each vector. Light ones have a loop for the last
// vectors, with one more division, and heavy ones do not. Of the lightest, eight vectors are
// computed, except in rows that may be short.
TEST(SideBySide, HowManyVectors) {
  if (!host_target().avx512) GTEST_SKIP() << "other code has two loops";
  const auto divisions = [](DType dtype, const std::function<int(KernelMaker&, int)>& f) {
    const std::string code = code_of(dtype, f), division = "fdiv <";
    int lanes = 0;
    for (size_t at = code.find(division); at != std::string::npos; at = code.find(division, at + 1))
      lanes += std::stoi(code.substr(at + division.size()));
    return lanes * static_cast<int>(itemsize(dtype)) / 64;
  };
  const auto tanh_of = [](DType dtype) {
    return [=](KernelMaker& m, int x) { return m.op(kTanh, dtype, {x}); };
  };
  const auto two_of = [](DType dtype) {
    return [=](KernelMaker& m, int x) { return m.op(kExp, dtype, {m.op(kTanh, dtype, {x})}); };
  };
  const auto logistic_of = [](DType dtype) {
    return [=](KernelMaker& m, int x) { return m.op(kLogistic, dtype, {x}); };
  };
  EXPECT_EQ(divisions(float32, logistic_of(float32)), 9);
  EXPECT_EQ(divisions(float64, logistic_of(float64)), 9);
  EXPECT_EQ(divisions(float32, tanh_of(float32)), 5);
  EXPECT_EQ(divisions(float64, tanh_of(float64)), 5);
  EXPECT_EQ(divisions(float32, two_of(float32)), 5);
  EXPECT_EQ(divisions(float64, two_of(float64)), 4);
  // A power waits for itself only if its base is 2, and then it is no logarithm, which divides.
  const auto power_of = [](std::optional<double> base) {
    return [=](KernelMaker& m, int x) {
      const int from = base ? m.number(float32, *base) : x;
      return m.op(kPow, float32, {from, m.op(kTanh, float32, {x})});
    };
  };
  EXPECT_EQ(divisions(float32, power_of(2.0)), 4);
  EXPECT_EQ(divisions(float32,
                      [](KernelMaker& m, int x) {
                        return m.op(kPow, float32, {x, x});
                      }),
            1);
  // Powers of float64 have too many constants for four vectors.
  EXPECT_EQ(divisions(float64,
                      [](KernelMaker& m, int x) {
                        return m.op(kPow, float64, {x, x});
                      }),
            3);
  // A short chain of short operations, such as a fold of a short row, does not wait.
  EXPECT_EQ(divisions(float32,
                      [](KernelMaker& m, int x) {
                        int y = x;
                        for (int k = 0; k < 8; ++k)
                          y = m.op(kMax, float32, {y, m.number(float32, k)});
                        return m.op(kDiv, float32, {m.number(float32, 1), y});
                      }),
            1);
}

// The code of a function is one wide vector, of four or eight. A function of float32 that is
// computed in float64 is two, and a gamma is not joined, nor are results of 16 bits.
TEST(SideBySide, FunctionsAreWideVectors) {
  if (!host_target().avx512) GTEST_SKIP() << "only functions with branches are joined";
  const auto function_with = [](DType dtype, ScalarOp op) {
    return code_of(dtype, [=](KernelMaker& m, int x) { return m.op(op, dtype, {x}); });
  };
  const auto fmas = [&](DType dtype, ScalarOp op, const std::string& type) {
    return count(function_with(dtype, op), "call " + type + " @llvm.fma");
  };
  for (const ScalarOp op : {kExp, kExpm1, kLogistic}) {
    EXPECT_GT(fmas(float32, op, "<128 x float>"), 0) << scalar_op_name(op);
    EXPECT_GT(fmas(float64, op, "<64 x double>"), 0) << scalar_op_name(op);
  }
  for (const ScalarOp op : {kLog, kTanh, kLog1p, kAtan}) {
    EXPECT_GT(fmas(float32, op, "<64 x float>"), 0) << scalar_op_name(op);
    EXPECT_GT(fmas(float64, op, "<32 x double>"), 0) << scalar_op_name(op);
  }
  for (const ScalarOp op : {kAsinh, kAcosh, kErfc})
    EXPECT_EQ(count(function_with(float32, op), "fpext <32 x float>"), 2) << scalar_op_name(op);
  EXPECT_EQ(fmas(float64, kLgamma, "<32 x double>"), 0);
  EXPECT_GT(count(function_with(bfloat16, kExp), "@llvm.fma.v16f32"), 0);
  EXPECT_EQ(count(function_with(bfloat16, kExp), "@llvm.fma.v64f32"), 0);
  // Rows of 50 vectors, each with a factor of its own.
  KernelMaker m;
  m.k.parallel = {7, 800};
  m.loop({});
  const int x = m.load(m.buffer(float32, 5600), {0, {800, 1}, {}});
  const int factor = m.load(m.buffer(float32, 7), {0, {1, 0}, {}});
  m.store(m.buffer(float32, 5600, BufferKind::kOutput), {0, {800, 1}, {}},
          m.op(kExp, float32, {m.op(kMul, float32, {x, factor})}));
  EXPECT_GT(count(compilers().back()->llvm_ir(m.k), "@llvm.fma.v64f32"), 0);
}

}  // namespace
}  // namespace tessera::codegen::test::side_by_side_test
