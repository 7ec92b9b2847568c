// Tests every scalar operation on every dtype that it supports, at edge values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "kernel_builder.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen::test::ops_test {
namespace {

using enum ScalarOp;

template <class T>
std::vector<T> edge_integers() {
  using L = std::numeric_limits<T>;
  std::vector<T> v = {0,
                      1,
                      2,
                      3,
                      5,
                      7,
                      8,
                      15,
                      16,
                      31,
                      32,
                      33,
                      63,
                      64,
                      65,
                      100,
                      L::min(),
                      L::max(),
                      static_cast<T>(L::min() + 1),
                      static_cast<T>(L::max() - 1),
                      static_cast<T>(L::max() / 2)};
  if constexpr (std::is_signed_v<T>)
    v.insert(v.end(), {-1, -2, -3, -7, -8, -31, -32, -33, -64, -100});
  if constexpr (sizeof(T) >= 4) {
    for (int64_t x : {65519LL, 65520LL, 16777217LL, 2147483648LL, 4294967295LL, 9007199254740993LL,
                      576460752303423489LL, 33587201LL, 2049LL, 257LL, 259LL, 131328LL, 131329LL}) {
      v.push_back(static_cast<T>(x));
      v.push_back(static_cast<T>(-x));
    }
  }
  return v;
}

template <class T>
std::vector<T> edge_floats() {
  using L = std::numeric_limits<T>;
  return {0,
          -T(0),
          1,
          -1,
          T(0.5),
          T(-0.5),
          T(1.5),
          T(2.5),
          T(-2.5),
          T(0.49999997),
          3,
          100,
          T(-100.75),
          T(127.5),
          T(128),
          T(255.5),
          T(256),
          T(-129),
          T(32767.5),
          T(65535.5),
          T(-32769),
          T(2147483648.0),
          T(2147483520.0),
          T(4294967296.0),
          T(-2147483648.0),
          T(9.3e18),
          T(1.9e19),
          T(-9.3e18),
          T(1e30),
          L::infinity(),
          -L::infinity(),
          L::quiet_NaN(),
          L::denorm_min(),
          -L::denorm_min(),
          L::min(),
          L::max(),
          L::lowest(),
          T(65504),
          T(65519.99),
          T(65520),
          T(6e-8),
          T(2.98e-8),
          T(1.0009765625),
          T(1.00048828125),
          T(1.00048828126),
          T(1.0019531251),
          T(1.00390625),
          T(1.00390625001),
          T(3.39e38),
          T(1e-40),
          T(33.0),
          T(8388608.5),
          T(-8388607.5)};
}

template <class T>
std::vector<T> edge_values() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    return edge_integers<T>();
  } else if constexpr (std::is_floating_point_v<T>) {
    return edge_floats<T>();
  } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    std::vector<T> v;
    for (float x : edge_values<float>()) v.push_back(T(x));
    return v;
  } else {
    using R = typename T::value_type;
    std::vector<T> v;
    for (R re : {R(0), R(1), R(-2.5), R(3e3), R(0.125)}) {
      for (R im : {R(0), R(-1), R(4.5), R(-1e3)}) v.push_back({re, im});
    }
    return v;
  }
}

// Compares an operation with the interpreter at all edge values, or all pairs of them.
void check_op(ScalarOp op, DType operand, DType result, int arity, double tolerance = 0) {
  visit_dtype(operand, [&]<class T>(TypeTag<T>) {
    const std::vector<T> v = edge_values<T>();
    const int64_t n = static_cast<int64_t>(v.size() * (arity > 1 ? v.size() : 1));
    KernelMaker m;
    const int x = m.buffer(operand, n), y = m.buffer(operand, n),
              z = m.buffer(result, n, BufferKind::kOutput);
    m.k.parallel = {n};
    m.loop({});
    const int a = m.load(x, {0, {1}, {}});
    const int b = arity > 1 ? m.load(y, {0, {1}, {}}) : -1;
    m.store(z, {0, {1}, {}}, arity > 1 ? m.op(op, result, {a, b}) : m.op(op, result, {a}));
    SCOPED_TRACE(std::string(scalar_op_name(op)) + " of " + std::string(dtype_name(operand)));
    check(m.k, tolerance, 1, [&](Buffers& buffers) {
      for (int64_t i = 0; i < n; ++i) {
        buffers.data<T>(x)[i] = v[i % v.size()];
        buffers.data<T>(y)[i] = v[i / v.size() % v.size()];
      }
    });
  });
}

const DType kIntegers[] = {int8, int16, int32, int64, uint8, uint16, uint32, uint64};
const DType kFloats[] = {float16, bfloat16, float32, float64};
const DType kComplexes[] = {complex64, complex128};

TEST(Ops, IntegerBinary) {
  for (ScalarOp op : {kAdd, kSub, kMul, kDiv, kRem, kMin, kMax, kPow, kAnd, kOr, kXor, kShl,
                      kShrLogical, kShrArithmetic}) {
    for (DType d : kIntegers) check_op(op, d, d, 2);
  }
}

TEST(Ops, IntegerUnary) {
  for (ScalarOp op : {kNeg, kAbs, kNot, kSign, kPopcnt, kClz}) {
    for (DType d : kIntegers) check_op(op, d, d, 1);
  }
}

// Division and shifts by constants have code of their own.
TEST(Ops, ConstantDivisorsAndShifts) {
  for (DType d : kIntegers) {
    for (ScalarOp op : {kDiv, kRem, kShl, kShrLogical, kShrArithmetic}) {
      for (double c : {0.0, 1.0, 3.0, 8.0, 40.0, 100.0, is_signed(d) ? -1.0 : 5.0,
                       is_signed(d) ? -7.0 : 6.0}) {
        visit_dtype(d, [&]<class T>(TypeTag<T>) {
          const std::vector<T> v = edge_values<T>();
          KernelMaker m;
          const int64_t n = static_cast<int64_t>(v.size());
          const int x = m.buffer(d, n), z = m.buffer(d, n, BufferKind::kOutput);
          m.k.parallel = {n};
          m.loop({});
          m.store(z, {0, {1}, {}}, m.op(op, d, {m.load(x, {0, {1}, {}}), m.number(d, c)}));
          check(m.k, 0, 1, [&](Buffers& b) { std::copy(v.begin(), v.end(), b.data<T>(x)); });
        });
      }
    }
  }
}

TEST(Ops, Comparisons) {
  for (ScalarOp op : {kEq, kNe, kLt, kLe, kGt, kGe}) {
    for (int d = 0; d < kNumDTypes; ++d) {
      const DType dtype = static_cast<DType>(d);
      if (dtype_kinds::contains(scalar_op_info(op).kinds, dtype)) check_op(op, dtype, bool_, 2);
    }
  }
  for (DType d : kFloats) check_op(kIsFinite, d, bool_, 1);
}

// Every row of scalar_ops.def has code for each kind of dtype that it declares.
TEST(Ops, EveryRowHasCodeForItsKinds) {
  constexpr ScalarOp kAll[] = {
#define SCALAR_OP(op, ...) op,
#include "tessera/ir/scalar_ops.def"
#undef SCALAR_OP
  };
  for (ScalarOp op : kAll) {
    const ScalarOpInfo& info = scalar_op_info(op);
    const bool tests = info.signature == ScalarSignature::kPredicate ||
                       info.signature == ScalarSignature::kComparison;
    const bool maps = info.signature == ScalarSignature::kUnary ||
                      info.signature == ScalarSignature::kBinary ||
                      info.signature == ScalarSignature::kTernary;
    for (int d = 0; d < kNumDTypes && (tests || maps); ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!dtype_kinds::contains(info.kinds, dtype)) continue;
      const DType result = tests ? bool_ : dtype;
      KernelMaker m;
      const int x = m.buffer(dtype, 16), z = m.buffer(result, 16, BufferKind::kOutput);
      m.k.parallel = {16};
      m.loop({});
      const int a = m.load(x, {0, {1}, {}});
      KernelNode node{NodeKind::kScalarOp, result, op};
      node.args.assign(static_cast<size_t>(info.arity()), a);
      m.store(z, {0, {1}, {}}, m.add(std::move(node)));
      verify(m.k);
      EXPECT_NO_THROW(compilers()[0]->compile(m.k)) << info.name << " of " << dtype;
    }
  }
}

TEST(Ops, Bools) {
  for (ScalarOp op : {kAdd, kMul, kAnd, kOr, kXor, kMin, kMax}) check_op(op, bool_, bool_, 2);
  check_op(kNot, bool_, bool_, 1);
}

double arithmetic_tolerance(DType d) {
  return d == float64 ? 0 : d == float32 ? 0 : d == float16 ? 1e-3 : 1e-2;
}

TEST(Ops, FloatArithmetic) {
  for (DType d : kFloats) {
    for (ScalarOp op : {kAdd, kSub, kMul, kDiv, kMin, kMax})
      check_op(op, d, d, 2, arithmetic_tolerance(d));
    for (ScalarOp op : {kNeg, kAbs, kSign, kFloor, kCeil, kRoundEven, kRoundAway, kSqrt}) {
      check_op(op, d, d, 1, arithmetic_tolerance(d));
    }
  }
  for (DType d : {float32, float64}) check_op(kRem, d, d, 2);
}

TEST(Ops, SignsOfZero) {
  KernelMaker m;
  const int x = m.buffer(float32, 2), z = m.buffer(float32, 2, BufferKind::kOutput);
  m.k.parallel = {2};
  m.loop({});
  m.store(z, {0, {1}, {}}, m.op(kSign, float32, {m.load(x, {0, {1}, {}})}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    b.data<float>(x)[0] = 0.0f;
    b.data<float>(x)[1] = -0.0f;
    compiler->compile(m.k)(b.pointers().data(), 0, 2);
    EXPECT_FALSE(std::signbit(b.data<float>(z)[0]));
    EXPECT_TRUE(std::signbit(b.data<float>(z)[1]));
  }
}

// IEEE 754-2019's minimum and maximum, of two values in memory and with a constant on either side.
TEST(Ops, ExtremaOfZerosAndNan) {
  for (DType dtype : kFloats) {
    visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (!std::is_integral_v<T> && std::is_constructible_v<float, T>) {
        std::vector<T> v;
        for (float x : {0.f, -0.f, 1.f, -1.f, INFINITY, -INFINITY, NAN, -NAN}) v.push_back(T(x));
        const auto n = static_cast<int64_t>(v.size());
        for (bool is_max : {false, true}) {
          for (T c : v) {
            KernelMaker m;
            const int x = m.buffer(dtype, n), y = m.buffer(dtype, n);
            m.k.parallel = {n};
            m.loop({});
            const int a = m.load(x, {0, {1}, {}}), b = m.load(y, {0, {1}, {}}), k = m.constant(c);
            const ScalarOp op = is_max ? kMax : kMin;
            for (auto [p, q] : {std::pair{a, b}, {b, a}, {a, k}, {k, a}})
              m.store(m.buffer(dtype, n, BufferKind::kOutput), {0, {1}, {}},
                      m.op(op, dtype, {p, q}));
            for (KernelCompiler* compiler : compilers()) {
              Buffers buffers(m.k);
              std::copy(v.begin(), v.end(), buffers.data<T>(x));
              std::fill_n(buffers.data<T>(y), n, c);
              compiler->compile(m.k)(buffers.pointers().data(), 0, n);
              for (int out : {2, 3, 4, 5}) {
                for (int64_t i = 0; i < n; ++i) {
                  const auto left = static_cast<float>(v[static_cast<size_t>(i)]),
                             right = static_cast<float>(c),
                             got = static_cast<float>(buffers.data<T>(out)[i]);
                  SCOPED_TRACE(fmt::format("{} {} {} {} {}", dtype, is_max, left, right, out));
                  if (std::isnan(left) || std::isnan(right)) {
                    EXPECT_TRUE(std::isnan(got)) << got;
                    continue;
                  }
                  const bool first =
                      left != right ? (left < right) != is_max : std::signbit(left) != is_max;
                  EXPECT_EQ(got, first ? left : right);
                  EXPECT_EQ(std::signbit(got), std::signbit(first ? left : right));
                }
              }
            }
          }
        }
      }
    });
  }
}

TEST(Ops, ConversionsBetweenAllTypes) {
  for (int from = 0; from < kNumDTypes; ++from) {
    for (int to = 0; to < kNumDTypes; ++to) {
      check_op(kConvert, static_cast<DType>(from), static_cast<DType>(to), 1);
    }
  }
}

TEST(Ops, Bitcasts) {
  for (auto [a, b] : {std::pair{float32, int32},
                      {uint32, float32},
                      {float64, uint64},
                      {int64, float64},
                      {float16, int16},
                      {uint16, float16},
                      {bfloat16, uint16},
                      {int16, bfloat16},
                      {float16, bfloat16},
                      {int8, uint8}}) {
    check_op(kBitcast, a, b, 1);
  }
}

TEST(Ops, Complex) {
  for (DType d : kComplexes) {
    const double tolerance = d == complex64 ? 1e-5 : 1e-14;
    for (ScalarOp op : {kAdd, kSub, kMul}) check_op(op, d, d, 2, tolerance);
    check_op(kNeg, d, d, 1);
    check_op(kReal, d, real_dtype(d), 1);
    check_op(kImag, d, real_dtype(d), 1);
    // Division of finite values is compared with the interpreter; the special values are those of
    // C's Annex G.
    KernelMaker m;
    const int64_t n = 400;
    const int x = m.buffer(d, n), y = m.buffer(d, n), z = m.buffer(d, n, BufferKind::kOutput);
    m.k.parallel = {n};
    m.loop({});
    m.store(z, {0, {1}, {}}, m.op(kDiv, d, {m.load(x, {0, {1}, {}}), m.load(y, {0, {1}, {}})}));
    check(m.k, tolerance);
    if (d != complex64) continue;
    using C = std::complex<float>;
    const float inf = INFINITY;
    const C tops[] = {{1, 2}, {inf, 1}, {1, 1}, {0, 0}, {-1, 0}, {1e30f, 1e30f}};
    const C bottoms[] = {{0, 0}, {2, 0}, {inf, inf}, {0, 0}, {0, 0}, {1e30f, 1e30f}};
    for (KernelCompiler* compiler : compilers()) {
      Buffers b(m.k);
      std::copy(tops, tops + 6, b.data<C>(x));
      std::copy(bottoms, bottoms + 6, b.data<C>(y));
      compiler->compile(m.k)(b.pointers().data(), 0, 6);
      const C* r = b.data<C>(z);
      EXPECT_EQ(r[0], C(inf, inf));
      EXPECT_TRUE(std::isinf(r[1].real()));
      EXPECT_EQ(r[2], C(0, 0));
      EXPECT_TRUE(std::isnan(r[3].real()) && std::isnan(r[3].imag()));
      EXPECT_EQ(r[4].real(), -inf);
      EXPECT_EQ(r[5], C(1, 0));
    }
  }
}

// Tests functions of two arguments: exactly if IEEE 754 defines the result, and within 2 ulp
// otherwise.
template <class T>
void check_two_arguments(ScalarOp op, T (*reference)(T, T)) {
  std::vector<T> v = edge_values<T>();
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, 4);
  for (int i = 0; i < 300; ++i) v.push_back(static_cast<T>(normal(random)));
  for (int i = -9; i < 10; ++i) v.push_back(static_cast<T>(i));
  const int64_t n = static_cast<int64_t>(v.size() * v.size());
  KernelMaker m;
  const DType d = dtype_of<T>;
  const int x = m.buffer(d, n), y = m.buffer(d, n), z = m.buffer(d, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(z, {0, {1}, {}}, m.op(op, d, {m.load(x, {0, {1}, {}}), m.load(y, {0, {1}, {}})}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    for (int64_t i = 0; i < n; ++i) {
      b.data<T>(x)[i] = v[i % v.size()];
      b.data<T>(y)[i] = v[i / v.size()];
    }
    compiler->compile(m.k)(b.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i) {
      const T p = b.data<T>(x)[i], q = b.data<T>(y)[i], got = b.data<T>(z)[i],
              want = reference(p, q);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got))
            << scalar_op_name(op) << "(" << p << ", " << q << ") = " << got;
        continue;
      }
      const T low = std::nextafter(std::nextafter(want, -INFINITY), -INFINITY),
              high = std::nextafter(std::nextafter(want, INFINITY), INFINITY);
      const bool exact = want == 0 || std::isinf(want) || op == kNextAfter;
      const bool good = exact ? (got == want && std::signbit(got) == std::signbit(want)) ||
                                    (std::isinf(want) && got == std::nextafter(want, T(0)))
                              : got >= low && got <= high;
      ASSERT_TRUE(good) << scalar_op_name(op) << "(" << p << ", " << q << ") = " << got
                        << ", expected " << want;
    }
  }
}

TEST(Ops, TwoArgumentFunctions) {
  check_two_arguments<float>(
      kPow, [](float x, float y) { return static_cast<float>(std::pow(double{x}, double{y})); });
  check_two_arguments<float>(kAtan2, [](float x, float y) {
    return static_cast<float>(std::atan2(double{x}, double{y}));
  });
  check_two_arguments<float>(kNextAfter, [](float x, float y) { return std::nextafter(x, y); });
  check_two_arguments<double>(kPow, [](double x, double y) { return std::pow(x, y); });
  check_two_arguments<double>(kAtan2, [](double x, double y) { return std::atan2(x, y); });
  check_two_arguments<double>(kNextAfter, [](double x, double y) { return std::nextafter(x, y); });
}

// Pairs of any magnitudes, pairs next to whole quotients, and special values: the bits are fmod's.
template <class T, class Bits>
void check_remainders(DType dtype) {
  constexpr int64_t n = 40003;
  KernelMaker m;
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n),
            z = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(z, {0, {1}, {}}, m.op(kRem, dtype, {m.load(x, {0, {1}, {}}), m.load(y, {0, {1}, {}})}));
  const T specials[] = {0,
                        -T(0),
                        1,
                        -1,
                        2,
                        INFINITY,
                        -INFINITY,
                        NAN,
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::denorm_min()};
  std::mt19937_64 rng(11);
  std::uniform_real_distribution<double> magnitude(-12, 12), up_to_one(0, 1);
  const auto number = [&] { return static_cast<T>(std::exp2(magnitude(rng)) * up_to_one(rng)); };
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    T *xs = b.data<T>(x), *ys = b.data<T>(y);
    for (int64_t i = 0; i < n; ++i) {
      xs[i] = number(), ys[i] = number();
      if (i % 4 == 1) xs[i] = std::bit_cast<T>(static_cast<Bits>(rng()));
      if (i % 8 == 1) ys[i] = std::bit_cast<T>(static_cast<Bits>(rng()));
      if (i % 4 == 2) {
        xs[i] = ys[i] * static_cast<T>(rng() % (std::is_same_v<T, float> ? 1u << 25 : 1ull << 54));
        if (i % 8 == 2) xs[i] = std::nextafter(xs[i], i % 16 == 2 ? T(0) : T(INFINITY));
      }
      if (i < 121) xs[i] = specials[i % 11], ys[i] = specials[i / 11];
      if (rng() % 2) xs[i] = -xs[i];
      if (rng() % 2) ys[i] = -ys[i];
    }
    compiler->compile(m.k)(b.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i) {
      const T want = std::fmod(xs[i], ys[i]), got = b.data<T>(z)[i];
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got)
                                   : std::bit_cast<Bits>(want) == std::bit_cast<Bits>(got))
          << xs[i] << " rem " << ys[i] << " = " << got << ", expected " << want;
    }
  }
}
TEST(Ops, RemaindersAreExact) {
  check_remainders<float, uint32_t>(float32);
  check_remainders<double, uint64_t>(float64);
}

TEST(Ops, FmaRoundsOnce) {
  KernelMaker m;
  const int64_t n = 45;
  const int x = m.buffer(float32, n), z = m.buffer(float32, n, BufferKind::kOutput),
            w = m.buffer(float32, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  const int a = m.load(x, {0, {1}, {}});
  const int c = m.constant(-1.0f);
  m.store(z, {0, {1}, {}}, m.op(ScalarOp::kFma, float32, {a, a, c}));
  m.store(w, {0, {1}, {}}, m.op(ScalarOp::kFma, float32, {m.op(kNeg, float32, {a}), a, c}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    for (int64_t i = 0; i < n; ++i) b.data<float>(x)[i] = 1 + 1e-4f * static_cast<float>(i);
    compiler->compile(m.k)(b.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i) {
      const float v = b.data<float>(x)[i];
      EXPECT_EQ(b.data<float>(z)[i], std::fma(v, v, -1.0f));
      EXPECT_EQ(b.data<float>(w)[i], std::fma(-v, v, -1.0f));
    }
  }
}

}  // namespace
}  // namespace tessera::codegen::test::ops_test
