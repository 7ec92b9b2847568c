// Quotients and remainders of 64 bits: those of small numbers, which floats compute, next to whole
// quotients and at the largest numbers for which this is done; and large ones.
#include "tessera/codegen/integer_ops.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "kernel_builder.h"

namespace tessera::codegen::test::integer_ops_test {
namespace {

using enum ScalarOp;

template <class T>
T divided(T a, T d, ScalarOp op) {
  if (op == kDiv) {
    if (d == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && d == static_cast<T>(-1)) return static_cast<T>(0 - uint64_t(a));
    return a / d;
  }
  if (d == 0) return a;
  return std::is_signed_v<T> && d == static_cast<T>(-1) ? 0 : a % d;
}

template <class T>
void check(DType dtype, std::optional<T> divisor, const std::vector<T>& as,
           const std::vector<T>& ds) {
  const auto n = static_cast<int64_t>(as.size());
  for (ScalarOp op : {kDiv, kRem}) {
    KernelMaker m;
    const int a = m.buffer(dtype, n), d = m.buffer(dtype, n),
              out = m.buffer(dtype, n, BufferKind::kOutput);
    m.k.parallel = {n};
    m.loop({});
    const int second = divisor ? m.constant<T>(*divisor) : m.load(d, {0, {1}, {}});
    m.store(out, {0, {1}, {}}, m.op(op, dtype, {m.load(a, {0, {1}, {}}), second}));
    for (KernelCompiler* compiler : compilers()) {
      Buffers b(m.k);
      std::copy(as.begin(), as.end(), b.data<T>(a));
      std::copy(ds.begin(), ds.end(), b.data<T>(d));
      compiler->compile(m.k)(b.pointers().data(), 0, n);
      for (int64_t i = 0; i < n; ++i) {
        const T by = divisor.value_or(ds[static_cast<size_t>(i)]);
        ASSERT_EQ(b.data<T>(out)[i], divided(as[static_cast<size_t>(i)], by, op))
            << as[static_cast<size_t>(i)] << (op == kDiv ? " / " : " rem ") << by;
      }
    }
  }
}

// Blocks of 64 numbers are small, or large, or have a few large ones among small ones.
template <class T>
void check_all(DType dtype) {
  std::mt19937_64 rng(3);
  const T limit = T{1} << 51;
  const auto number = [&](T most) {
    const T x = static_cast<T>(rng() >> (rng() % 64)) % most;
    return std::is_signed_v<T> && rng() % 2 ? static_cast<T>(0 - uint64_t(x)) : x;
  };
  std::vector<T> as, ds;
  for (int64_t i = 0; i < 20000; ++i) {
    const int64_t block = i / 64 % 4;
    T d = number(limit), a = number(limit);
    if (block == 1 && d != 0) a = number(limit / (d < 0 ? 0 - d : d) + 1) * d - 1 + T(rng() % 3);
    if (block == 2 || (block == 3 && rng() % 20 == 0)) {
      a = static_cast<T>(rng());
      d = static_cast<T>(rng() >> (rng() % 64));
    }
    if (i % 7 == 0) a = limit - 2 + T(rng() % 4);
    if (i % 31 == 0) a = std::numeric_limits<T>::min();
    if (block >= 2 && i % 5 == 0) d = static_cast<T>(rng() % 3 - 1);
    if (block < 2 && d == 0) d = 3;
    as.push_back(a);
    ds.push_back(d);
  }
  check<T>(dtype, std::nullopt, as, ds);
  for (T divisor : {T(10), T(8), T(7), T(0), static_cast<T>(-1), limit + 1, limit - 1})
    check<T>(dtype, divisor, as, ds);
}

TEST(IntegerOps, QuotientsOf64Bits) {
  check_all<int64_t>(int64);
  check_all<uint64_t>(uint64);
}

}  // namespace
}  // namespace tessera::codegen::test::integer_ops_test
