// Compares sorts by keys with std::stable_sort, for which the comparator is interpreted.
#include "tessera/ops/structural/sort_lines.h"

#include <cstring>
#include <numeric>

#include "tessera/base/visit_dtype.h"
#include "tessera/ops/structural/radix_sort.h"
#include "tessera/ops/structural/sort.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::sort_lines_test {

using namespace ops;

namespace {

// Returns elements with many equal values, all special values, NaNs of both signs with several
// payloads, and random bits.
Literal random_elements(DType dtype, const Shape& shape, std::mt19937& rng) {
  Literal out(dtype, shape);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T* x = out.mutable_data<T>();
    const auto scalar = [&]<class S>(TypeTag<S>) -> S {
      if constexpr (std::is_same_v<S, bool>) {
        return rng() % 2 == 1;
      } else if constexpr (std::is_integral_v<S>) {
        return rng() % 2 ? static_cast<S>(rng() % 7)
                         : static_cast<S>(uint64_t{rng()} << 32 | rng());
      } else {
        using Bits = std::conditional_t<sizeof(S) == 2, uint16_t,
                                        std::conditional_t<sizeof(S) == 4, uint32_t, uint64_t>>;
        const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(S) - 1));
        const S inf(std::numeric_limits<float>::infinity());
        constexpr int quiet = sizeof(S) == 8               ? 51
                              : sizeof(S) == 4             ? 22
                              : std::is_same_v<S, Float16> ? 9
                                                           : 6;
        const Bits nan = static_cast<Bits>(std::bit_cast<Bits>(inf) | Bits{1} << quiet);
        Bits bits = 0;
        switch (rng() % 6) {
          case 0:
            break;
          case 1:
            bits = static_cast<Bits>(nan + rng() % 3);
            break;
          case 2:
            bits = std::bit_cast<Bits>(inf);
            break;
          case 3:
            bits = std::bit_cast<Bits>(S(static_cast<float>(rng() % 5)));
            break;
          default:
            bits = std::bit_cast<Bits>(S(std::ldexp(static_cast<float>(rng()), -40)));
            break;
        }
        return std::bit_cast<S>(static_cast<Bits>(rng() % 2 ? bits | sign : bits));
      }
    };
    for (int64_t i = 0; i < out.elements(); ++i) {
      if constexpr (is_complex_type<T>) {
        using Part = typename T::value_type;
        x[i] = T(scalar(TypeTag<Part>{}), scalar(TypeTag<Part>{}));
      } else {
        x[i] = scalar(TypeTag<T>{});
      }
    }
  });
  return out;
}

std::vector<Literal> sorted_by_keys(const SortOrder& order, const std::vector<Literal>& x,
                                    int64_t dimension) {
  const Lines lines(x[0].shape(), dimension);
  std::vector<Literal> out = x;
  std::vector<DType> dtypes;
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (size_t k = 0; k < x.size(); ++k) {
    dtypes.push_back(x[k].dtype());
    from.push_back(x[k].raw());
    to.push_back(out[k].mutable_raw());
  }
  EXPECT_TRUE(sort_by_keys(order, dtypes, lines, from, to));
  return out;
}

// Compares sorts in the default order with the evaluation, which calls the comparator.
void check(const std::vector<DType>& dtypes, const Shape& shape, int64_t dimension, int64_t keys,
           std::mt19937& rng) {
  std::vector<Literal> x;
  for (DType dtype : dtypes) x.push_back(random_elements(dtype, shape, rng));
  for (bool descending : {false, true})
    for (bool total : {false, true}) {
      std::string names;
      for (DType dtype : dtypes) names += fmt::format(" {}", dtype);
      SCOPED_TRACE(fmt::format("{}{} along {}, {} keys, descending {}, total {}", shape, names,
                               dimension, keys, descending, total));
      const SortParams p{dimension, true, keys, descending, total};
      const std::vector<Literal> want = sort_op.evaluate(x, p);
      const std::vector<Literal> got =
          sorted_by_keys(default_order(keys, descending, total, dtypes), x, dimension);
      for (size_t k = 0; k < x.size(); ++k) EXPECT_EQ(got[k], want[k]) << "operand " << k;
    }
}

const DType kAll[] = {bool_,  int8,    int16,    int32,   int64,   uint8,     uint16,    uint32,
                      uint64, float16, bfloat16, float32, float64, complex64, complex128};

TEST(SortLines, EveryDtypeAlone) {
  std::mt19937 rng(1);
  for (DType dtype : kAll)
    for (int64_t n : {0, 1, 2, 31, 32, 33, 64, 300}) check({dtype}, {n}, 0, 1, rng);
}

TEST(SortLines, EveryDtypeWithOthers) {
  std::mt19937 rng(2);
  for (DType dtype : kAll)
    for (int64_t n : {2, 32, 33, 200}) {
      check({dtype, int32}, {n}, 0, 1, rng);
      check({int8, dtype, complex128}, {n}, 0, 2, rng);
      check({dtype, float64, bool_}, {n}, 0, 3, rng);
    }
}

TEST(SortLines, EveryDimension) {
  std::mt19937 rng(3);
  for (int64_t d : {0, 1, 2}) {
    check({float32}, {5, 40, 3}, d, 1, rng);
    check({bfloat16, int32}, {5, 40, 3}, d, 1, rng);
    check({float64, float32}, {5, 40, 3}, d, 2, rng);
  }
}

// Several threads sort parts of a long line.
TEST(SortLines, LongLines) {
  std::mt19937 rng(4);
  const int64_t n = 3 * kItemsPerThread + 17;
  const int threads = num_threads();
  set_num_threads(4);
  const Literal x = random_elements(float32, {n}, rng), y = random_elements(float64, {n}, rng),
                z = random_elements(int16, {n}, rng);
  const auto before = [](float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::vector<float> want(x.data<float>(), x.data<float>() + n);
  std::stable_sort(want.begin(), want.end(), before);
  EXPECT_EQ(sorted_by_keys(default_order(1, false, false, std::vector{float32}), {x}, 0)[0],
            Literal::from<float>(want, {n}));
  // Sorts by z, then y, then x from the largest, with the positions.
  Literal place(int32, {n});
  std::iota(place.mutable_data<int32_t>(), place.mutable_data<int32_t>() + n, 0);
  std::vector<int32_t> places(place.data<int32_t>(), place.data<int32_t>() + n);
  std::stable_sort(places.begin(), places.end(), [&](int32_t a, int32_t b) {
    const int16_t za = z.data<int16_t>()[a], zb = z.data<int16_t>()[b];
    if (za != zb) return za < zb;
    const auto ya = y.data<double>()[a], yb = y.data<double>()[b];
    const bool lt = std::isnan(yb) ? !std::isnan(ya) : ya < yb,
               gt = std::isnan(ya) ? !std::isnan(yb) : yb < ya;
    if (lt || gt) return lt;
    return before(x.data<float>()[b], x.data<float>()[a]);
  });
  const SortOrder order{
      {.operand = 2},
      {.operand = 1, .equal_zeros = true, .nans = NanOrder::kLargest},
      {.operand = 0, .descending = true, .equal_zeros = true, .nans = NanOrder::kLargest}};
  EXPECT_EQ(sorted_by_keys(order, {x, y, z, place}, 0)[3], Literal::from<int32_t>(places, {n}));
  set_num_threads(threads);
}

// Compares the first elements and their positions with those of a full sort.
void check_first(DType dtype, const Shape& shape, int64_t dimension, int64_t count,
                 std::mt19937& rng) {
  const Literal x = random_elements(dtype, shape, rng);
  const int64_t size = shape[dimension];
  for (bool descending : {false, true})
    for (bool total : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {} along {}, first {}, descending {}, total {}", shape, dtype,
                               dimension, count, descending, total));
      const SortOrder order = default_order(1, descending, total, std::vector{dtype});
      const Lines lines(shape, dimension);
      Literal places(int64, shape);
      for (int64_t line = 0; line < lines.count; ++line)
        for (int64_t i = 0; i < size; ++i)
          places.mutable_data<int64_t>()[lines.begin(line) + i * lines.stride] = i;
      const std::vector<Literal> all = sorted_by_keys(order, {x, places}, dimension);
      Shape first_shape = shape;
      first_shape[dimension] = count;
      Literal first(dtype, first_shape), where(int64, first_shape);
      const std::byte* from = x.raw();
      std::byte* to[] = {first.mutable_raw(), where.mutable_raw()};
      first_by_keys(order, {&dtype, 1}, lines, count, int64, {&from, 1}, to);
      const auto item = static_cast<size_t>(itemsize(dtype));
      for (int64_t line = 0; line < lines.count; ++line)
        for (int64_t i = 0; i < count; ++i) {
          const int64_t a = lines.begin(line) + i * lines.stride,
                        b = lines.begin_of(line, count) + i * lines.stride;
          ASSERT_EQ(where.data<int64_t>()[b], all[1].data<int64_t>()[a]);
          ASSERT_EQ(std::memcmp(first.raw() + static_cast<size_t>(b) * item,
                                all[0].raw() + static_cast<size_t>(a) * item, item),
                    0);
        }
    }
}

TEST(FirstByKeys, AreTheFirstOfTheSort) {
  std::mt19937 rng(5);
  for (DType dtype : kAll)
    for (int64_t count : {0, 1, 3, 8, 9, 18, 19, 40, 300})
      check_first(dtype, {2, 300}, 1, count, rng);
  check_first(float32, {3, 500, 4}, 1, 5, rng);
  check_first(float32, {1000}, 0, 249, rng);
  check_first(float64, {2000, 3}, 0, 7, rng);
  check_first(int32, {1}, 0, 1, rng);
}

TEST(FirstByKeys, OfLongLinesInParts) {
  std::mt19937 rng(6);
  const int threads = num_threads();
  set_num_threads(3);
  for (DType dtype : {float32, int8}) {  // many equal elements across the parts
    check_first(dtype, {4 * kItemsPerThread + 5}, 0, 10, rng);
    check_first(dtype, {4 * kItemsPerThread + 5}, 0, 1000, rng);
  }
  set_num_threads(threads);
}

TEST(SortLines, IeeeComparisonsNeedNumbers) {
  const SortOrder order{{.operand = 0, .equal_zeros = true, .nans = NanOrder::kUnordered}};
  const std::vector<float> numbers{3, -0.0F, 0, -1, 0, -0.0F}, sorted{-1, -0.0F, 0, 0, -0.0F, 3};
  EXPECT_EQ(sorted_by_keys(order, {Literal::from<float>(numbers, {6})}, 0)[0],
            Literal::from<float>(sorted, {6}));
  const Literal x = Literal::from<float>(std::vector{1.0F, std::nanf("")}, {2});
  Literal out = x;
  const std::byte* from = x.raw();
  std::byte* to = out.mutable_raw();
  const DType dtype = float32;
  EXPECT_FALSE(sort_by_keys(order, {&dtype, 1}, Lines(x.shape(), 0), {&from, 1}, {&to, 1}));
}

}  // namespace
}  // namespace tessera::testing_ops::sort_lines_test
