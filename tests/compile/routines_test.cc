// Loops that run as one function have the same bits as loops that are interpreted, iteration by
// iteration.
#include <cstring>

#include "tessera/codegen/compiler.h"
#include "tessera/runtime/routine_code.h"
#include "tests/compile/devices.h"

namespace tessera::routines_test {

using namespace runtime;

namespace {

class Routines : public DevicesTest {};

int64_t code_units() {
  const auto s = codegen::KernelCompiler::process().statistics();
  return s.compiled + s.from_disk + s.from_memory;
}

template <class T>
std::vector<Literal> literals(const T& tree) {
  std::vector<Literal> out;
  tree::for_each_leaf(tree, [&](const Array& leaf) { out.push_back(leaf.to_host()); });
  return out;
}

enum class Expected { kRoutine, kInterpreted };

// Compares the results of `f`, compiled in both forms. The number of machine code functions shows
// whether its loops were compiled as a whole.
template <class F, class... Args>
void expect_same_bits(Expected expected, const F& f, const Args&... args) {
  const int64_t start = code_units();
  const auto whole = literals(jit(f)(args...));
  const int64_t one = code_units() - start;
  // With another output it is another program, which has the same loop.
  const auto with_more = [&](const Args&... x) { return std::pair(f(x...), Array(1.f) + 1); };
  const InterpretLoops interpret;
  const int64_t before = code_units();
  const auto pair = jit(with_more)(args...);
  const int64_t several = code_units() - before;
  const auto apart = literals(pair.first);
  ASSERT_EQ(whole.size(), apart.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i], apart[i]) << "result " << i;
  if (several == 0) return;  // a program of this structure has been compiled before
  if (expected == Expected::kRoutine) {
    EXPECT_LT(one, several);
  } else {
    EXPECT_GE(one, several - 1);
  }
}

// (a, b) -> (b, a + sin(b)): the carries are swapped.
std::pair<Array, Array> swapped(const Array& a, const Array& b) { return {b, a + sin(b)}; }

TEST_F(Routines, CarriesOfEverySizeAndNumberOfTrips) {
  for (int64_t trips : {0, 1, 2, 7}) {
    for (int64_t n : {1, 3, 8, 17, 40, 100, 300}) {
      SCOPED_TRACE(fmt::format("{} trips of {} elements", trips, n));
      expect_same_bits(
          Expected::kRoutine,
          [=](const Array& x) {
            return fori_loop(
                0, trips,
                [](const Array& i, const std::pair<Array, Array>& s) {
                  const auto next = swapped(s.first, s.second);
                  return std::pair(next.first + astype(i, float32), next.second);
                },
                std::pair(x, x * 2));
          },
          linspace(-1, 1, n));
    }
  }
}

// A concatenation of more than four arrays is stored array by array. The first one is computed from
// a sum over the second one. The kernel of the sum also computes the last result, so it comes after
// the other arrays are stored.
TEST_F(Routines, PartsOfACarryThatAreStoredOneAfterTheOther) {
  for (const DType dtype : {float32, float64}) {
    for (int64_t n : {1, 2, 3, 5, 9, 17}) {
      SCOPED_TRACE(fmt::format("{} elements of {} after the others", n, dtype));
      const auto f = [=](const Array& a) {
        return fori_loop(
            0, 5,
            [=](const Array&, const std::pair<Array, Array>& carry) {
              const Array& x = carry.first;
              const Array first = slice(x, {0}, {n}), second = slice(x, {n}, {n + 6});
              const Array total = sum(second), end = slice(second, {0}, {1});
              const Array next =
                  concatenate({sin(first) * total, -second, reshape(total, {1}), end, 2.0 * end});
              return std::pair(next, carry.second * total + 1);
            },
            std::pair(a, zeros({}, dtype)));
      };
      expect_same_bits(Expected::kRoutine, f, astype(linspace(-1, 1.3, n + 9), dtype));
    }
  }
}

TEST_F(Routines, SlicesAndStackedResults) {
  for (bool reverse : {false, true}) {
    for (int64_t length : {1, 2, 9}) {
      expect_same_bits(
          Expected::kRoutine,
          [=](const Array& xs) {
            return scan(
                [](const Array& c, const Array& x) {
                  const Array next = c * 0.5 + roll(x, 1);
                  return std::pair(next, std::pair(next, sum(next * x)));
                },
                zeros({5}), xs, {.reverse = reverse});
          },
          reshape(linspace(-3, 3, length * 5), {length, 5}));
    }
  }
}

TEST_F(Routines, ConditionsBranchesAndLoopsInside) {
  expect_same_bits(
      Expected::kRoutine,
      [](const Array& start) {
        return while_loop([](const Array& x) { return abs(x * x * x - 2.0) > 1e-3; },
                          [](const Array& x) { return x - 0.1 * (x * x * x - 2.0) / (3 * x * x); },
                          start);
      },
      Array(30.f));
  for (float start : {0.2f, 0.7f}) {
    expect_same_bits(
        Expected::kRoutine,
        [](const Array& x) {
          return fori_loop(
              0, 20,
              [](const Array& i, const Array& c) {
                const Array inner = fori_loop(
                    0, 3, [](const Array& j, const Array& b) { return b * 0.99 + j * 0.01; }, c);
                return switch_(i % 4,
                               std::tuple([](const Array& v) { return v * 0.5; },
                                          [](const Array& v) { return v + 0.3; },
                                          [](const Array& v) { return cos(v); }),
                               inner);
              },
              x);
        },
        Array(start));
  }
}

// The code of a loop contains the number with which its counter starts, so each start has its own.
TEST_F(Routines, NeighboursFromEachStart) {
  const Array x = sin(linspace(-3, 3, 40));
  for (int64_t start : {0, 1, 2, -3, 35}) {
    for (int64_t distance : {1, 2}) {
      SCOPED_TRACE(fmt::format("from {}, distance {}", start, distance));
      const auto f = [=](const Array& a) {
        return fori_loop(
            start, start + 38,
            [=](const Array& i, const Array& b) {
              return at(b)[i].set(0.9 * index(b, {i - distance}) + index(b, {i}));
            },
            a);
      };
      expect_same_bits(Expected::kRoutine, f, x);
    }
  }
}

TEST_F(Routines, LanesThatStopByThemselves) {
  expect_same_bits(
      Expected::kRoutine,
      [](const Array& x) {
        return vmap([](const Array& v) {
          return while_loop([](const Array& y) { return y > 1.0; },
                            [](const Array& y) { return y * 0.7; }, v);
        })(x);
      },
      linspace(0.5, 40, 21));
}

// Vectors of flags have more lanes than the padding of a small carry has room for. The routine's
// own variables after the carry must not change.
TEST_F(Routines, StoresEndWithinThePaddingOfACarry) {
  const random::Key keys = random::split(random::key(3), 4);
  expect_same_bits(
      Expected::kRoutine,
      [](const Array& words, const Array& a) {
        return vmap([](const Array& key, const Array& alpha) {
          return random::gamma(random::Key{key}, alpha, Shape{2});
        })(words, a);
      },
      keys.data, array({0.2, 1., 3., 50.}));
}

TEST_F(Routines, CarriesOfNarrowAndWideDTypesBesideEachOther) {
  for (int64_t n : {1, 2, 3, 7, 15, 16, 17, 31, 33, 50}) {
    SCOPED_TRACE(n);
    expect_same_bits(
        Expected::kRoutine,
        [](const Array& x) {
          using State = std::tuple<Array, Array, Array, Array, Array, Array>;
          const Array steps = astype(x, int8);
          return fori_loop(
              0, 9,
              [](const Array& i, const State& s) {
                const auto& [a, b, done, count, c, d] = s;
                const Array now = logical_or(done, a > 3);
                return State(where(now, a, a * 1.25f + b), where(now, b, b + 0.125f), now,
                             count + astype(logical_not(now), int8), c + astype(i, float64),
                             roll(d, 1) + a);
              },
              State(x, x * 0.5f, x > 100, steps, astype(x, float64), x));
        },
        linspace(-1, 2, n));
  }
}

TEST_F(Routines, EveryDType) {
  for (DType dtype : {bool_, int8, uint16, int32, int64, float16, bfloat16, float32, complex64}) {
    SCOPED_TRACE(dtype_name(dtype));
    for (int64_t n : {1, 5, 9, 33}) {
      expect_same_bits(
          Expected::kRoutine,
          [](const Array& x) {
            return scan([](const Array& c, NoneType) { return std::pair(roll(c, 1) * c + c, c); },
                        x, None, {.length = 4});
          },
          astype(arange(static_cast<double>(n)) % 3, dtype));
    }
  }
}

TEST_F(Routines, RandomKeys) {
  expect_same_bits(
      Expected::kRoutine,
      [](const random::Key& key) {
        return scan(
            [](const Array& x, const random::Key& k) {
              const Array p = x + 0.5 * random::normal(k, {2});
              return std::pair(where(log(random::uniform(k)) < -sum(p * p), p, x), x);
            },
            zeros({2}), random::split(key, 30));
      },
      random::key(3));
}

TEST_F(Routines, ProductsWithVectors) {
  for (int64_t n : {1, 3, 16, 33}) {
    expect_same_bits(
        Expected::kRoutine,
        [](const Array& a) {
          return fori_loop(
              0, 5,
              [a](const Array&, const Array& x) {
                const Array y = matmul(a, x) + matmul(x, a);
                return y / sqrt(dot(y, y));
              },
              ones({a.shape()[0]}));
        },
        reshape(linspace(0.1, 1, n * n), {n, n}));
  }
}

TEST_F(Routines, WhatIsNoCodeIsInterpreted) {
  // The body has a library call.
  expect_same_bits(
      Expected::kInterpreted,
      [](const Array& x) {
        return fori_loop(
            0, 3, [](const Array&, const Array& m) { return matmul(m, m) * 0.5; }, x);
      },
      iota({12, 12}));
  // The value has several instances.
  expect_same_bits(
      Expected::kInterpreted,
      [](const Array& x) {
        return fori_loop(
            0, 3, [](const Array&, const Array& v) { return v * 0.5 + 1; }, x);
      },
      device_put(iota({16}), on8(P("x"))));
}

}  // namespace
}  // namespace tessera::routines_test
