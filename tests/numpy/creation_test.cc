#include "tessera/numpy/creation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>

#include "run.h"
#include "tessera/base/warning.h"
#include "tessera/numpy/host_memory.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/printing.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"

namespace tessera::creation_test {
namespace {

using tessera::test::X64;

TEST(CreationTest, NestedLists) {
  const Array vector = array({1, 2, 3}), matrix = array({{1.5, 2.5}, {3.5, 4.5}, {5.5, 6.5}}),
              cube = array({{{1}, {2}}, {{3}, {4}}});
  EXPECT_EQ(repr(vector), "Array([1, 2, 3], dtype=int32)");
  EXPECT_EQ(matrix.shape(), Shape({3, 2}));
  EXPECT_EQ(matrix.dtype(), float32);
  EXPECT_EQ(to_vector<float>(matrix), (std::vector<float>{1.5, 2.5, 3.5, 4.5, 5.5, 6.5}));
  EXPECT_EQ(cube.shape(), Shape({2, 2, 1}));
  EXPECT_EQ(array({{{{true}}}}).shape(), Shape({1, 1, 1, 1}));
  EXPECT_EQ(array({1, 2}, float16).dtype(), float16);
}

TEST(CreationTest, Vectors) {
  EXPECT_EQ(array(std::vector<double>{1, 2}).dtype(), float32);
  EXPECT_EQ(array(std::vector<int64_t>{1, 2}).dtype(), int32);
  EXPECT_EQ(array(std::vector<uint8_t>{1, 2}).dtype(), uint8);
  EXPECT_EQ(array(std::vector<bool>{true, false}).dtype(), bool_);
  EXPECT_EQ(array(std::vector<std::vector<float>>{{1, 2, 3}, {4, 5, 6}}).shape(), Shape({2, 3}));
  EXPECT_EQ(array(std::vector<std::vector<float>>{}).shape(), Shape({0, 0}));
}

// Returns the warnings of `f`.
template <class F>
std::vector<std::string> warnings_of(const F& f) {
  std::vector<std::string> out;
  const WarningHandler before =
      set_warning_handler([&](const std::string& text) { out.push_back(text); });
  f();
  set_warning_handler(before);
  return out;
}

TEST(CreationTest, DataThatLoseDigitsAreWarnedOf) {
  const std::vector<std::string> one{
      "host data of float64 become float32, which has fewer digits: call enable_x64(true) at the "
      "start of the program to keep them, or pass float32 data"};
  const std::vector<double> values{1, 2};
  EXPECT_EQ(warnings_of([&] { from_host(values); }), one);
  EXPECT_EQ(warnings_of([&] { from_host(Literal::from<double>(values, {2, 1})); }), one);
  EXPECT_EQ(warnings_of([&] { array(values); }), one);
  EXPECT_EQ(warnings_of([&] { array(std::vector<std::vector<double>>{values}); }), one);
  EXPECT_EQ(warnings_of([&] { array(values, float64); }), one);
  EXPECT_EQ(warnings_of([&] { borrow(values.data(), {2}, [] {}, {.copy = true}); }), one);
  EXPECT_EQ(warnings_of([&] { from_host(std::vector<std::complex<double>>{1}); }).size(), 1u);
}

TEST(CreationTest, IntegersThatDoNotFitAreWarnedOf) {
  const std::vector<std::string> one{
      "host data of int64 become int32, which cannot hold some of the values, so that these "
      "change: "
      "call enable_x64(true) at the start of the program to keep them, or pass values that fit"};
  const int64_t large = int64_t{1} << 31;
  std::vector<int64_t> late(1'000'000);  // more than one task checks the numbers
  late.back() = large;
  const std::vector<int64_t> above{0, large}, below{-large - 1}, edges{-large, large - 1};
  for (const auto& values : {above, below, late}) {
    EXPECT_EQ(warnings_of([&] { from_host(values); }), one);
    EXPECT_EQ(warnings_of([&] { array(values); }), one);
    EXPECT_EQ(warnings_of([&] { array(values, int64); }), one);
  }
  EXPECT_EQ(warnings_of([&] { array({int64_t{0}, large}); }), one);
  EXPECT_EQ(warnings_of([&] { array({0, large}); }), one);
  EXPECT_THAT(warnings_of([&] { from_host(std::vector<uint64_t>{uint64_t{1} << 32}); }),
              ::testing::ElementsAre(::testing::StartsWith("host data of uint64 become uint32")));
  EXPECT_THAT(warnings_of([&] {
                from_host(edges);
                array(above, int32);
                from_host(std::vector<int64_t>{});
                from_host(std::vector<uint64_t>{(uint64_t{1} << 32) - 1});
                const X64 x64(true);
                from_host(above);
              }),
              ::testing::IsEmpty());
}

// The default handler prints a text once in each process, on standard error.
TEST(CreationTest, AWarningOfLostDigitsIsPrintedOnce) {
  from_host(std::vector<double>{1});
  ::testing::internal::CaptureStderr();
  from_host(std::vector<double>{2, 3});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(CreationTest, OtherNumbersAreNotWarnedOf) {
  EXPECT_EQ(warnings_of([] {
              array({1.5, 2.5});
              array({{1, 2.5}});
              array(std::vector<double>{1, 2}, float32);
              array(std::vector<float>{1, 2});
              array(std::vector<int64_t>{1, 2});
              from_host(std::vector<int64_t>{1, 2});
              linspace(0, 1);
              Array(1.5);
            }),
            std::vector<std::string>());
  const X64 x64(true);
  EXPECT_EQ(warnings_of([] { from_host(std::vector<double>{1, 2}); }), std::vector<std::string>());
}

TEST(CreationTest, ScalarsAreWeak) {
  EXPECT_EQ(repr(array(1.0)), "Array(1., dtype=float32, weak_type=True)");
  EXPECT_EQ(repr(array(1.0, float32)), "Array(1., dtype=float32)");
  EXPECT_EQ(repr(full({2}, 1.0)), "Array([1., 1.], dtype=float32, weak_type=True)");
  EXPECT_FALSE(full({2}, 1.0, float32).weak_type());
  EXPECT_FALSE(zeros({2}).weak_type());
  EXPECT_TRUE(zeros_like(array(3)).weak_type());
  EXPECT_TRUE(full_like(array(1), 2).weak_type());
  EXPECT_FALSE(full_like(array({1}), 2.5).weak_type());
  EXPECT_EQ(full_like(array({1}), 2.5).dtype(), int32);
}

TEST(CreationTest, DefaultsFollowX64) {
  EXPECT_EQ(arange(32.0f).dtype(), float32);
  EXPECT_EQ(arange(32).dtype(), int32);
  EXPECT_EQ(zeros({2}, float64).dtype(), float32);
  const X64 x64(true);
  EXPECT_EQ(arange(3).dtype(), int64);
  EXPECT_EQ(arange(3.0).dtype(), float64);
  EXPECT_EQ(zeros({2}).dtype(), float64);
  EXPECT_EQ(array({1.5}).dtype(), float64);
  EXPECT_EQ(tri(2).dtype(), float32);
  EXPECT_EQ(to_vector<double>(arange(0.0, 0.3, 0.1)), (std::vector<double>{0.0, 0.1, 0.2}));
}

TEST(CreationTest, HostRoundTrip) {
  std::vector<double> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 7;
  const X64 x64(true);
  const Array x = from_host(values, {10, 100});
  EXPECT_EQ(x.to_host(), Literal::from<double>(values, {10, 100}));
  EXPECT_EQ(to_vector<double>(x), values);
  EXPECT_THROW(x.item<double>(), UserError);
}

TEST(CreationTest, Items) {
  EXPECT_EQ(array({{7}}).item<int>(), 7);
  EXPECT_EQ(sum(array({1., 2.})).item<float>(), 3.0f);
  EXPECT_TRUE(static_cast<bool>(array({1}) == 1));
}

TEST(CreationTest, SmallTypesAndEmptyOnes) {
  EXPECT_EQ(arange(0).shape(), Shape({0}));
  EXPECT_EQ(ones({2, 0, 3}).size(), 0);
  EXPECT_EQ(repr(zeros({0, 3})), "Array([], shape=(0, 3), dtype=float32)");
  EXPECT_EQ(to_vector<int>(arange(5, uint8)), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(to_vector<float>(arange(0.0, 1.0, 0.25, bfloat16)),
            (std::vector<float>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(to_vector<float>(eye(2, 3, -1)), (std::vector<float>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(to_vector<float>(identity(2)), (std::vector<float>{1, 0, 0, 1}));
}

TEST(CreationTest, ConversionsSaturate) {
  const Array x = array({-1.7, 1.7, 300.0, std::nan("")});
  EXPECT_EQ(to_vector<int>(astype(x, int32)), (std::vector<int>{-1, 1, 300, 0}));
  EXPECT_EQ(to_vector<int>(astype(x, int8)), (std::vector<int>{-1, 1, 127, 0}));
  EXPECT_EQ(to_vector<bool>(astype(array({0, 2}), bool_)), (std::vector<bool>{false, true}));
}

TEST(CreationTest, ShapesOfVectors) {
  EXPECT_EQ(zeros(std::vector<int64_t>{2, 3}).shape(), Shape({2, 3}));
  EXPECT_EQ(ones(std::vector<int>{4}).shape(), Shape({4}));
  EXPECT_EQ(full(std::vector<size_t>{}, 2.0).shape(), Shape({}));
  EXPECT_EQ(reshape(arange(6), std::vector<int>{3, -1}).shape(), Shape({3, 2}));
}

// Numbers of several C++ types get their common dtype.
TEST(CreationTest, MixedNumbers) {
  EXPECT_EQ(repr(array({1, 2.5})), "Array([1. , 2.5], dtype=float32)");
  EXPECT_EQ(repr(array({{1, 2.5}, {3, 4}})),
            "Array([[1. , 2.5],\n       [3. , 4. ]], dtype=float32)");
  EXPECT_EQ(array({true, 2}).dtype(), int32);
  EXPECT_EQ(array({1, 2.5f}).dtype(), float32);
  EXPECT_EQ(array({1, 2.5}, int8).dtype(), int8);
  EXPECT_EQ(array({{{{{1}}}}}).shape(), Shape({1, 1, 1, 1, 1}));
  {
    const X64 x64(true);
    EXPECT_EQ(array({1, 2.5}).dtype(), float64);
    EXPECT_EQ(array({1, 2.5f}).dtype(), float32);
    EXPECT_EQ(to_vector<int64_t>(array({1, int64_t{1} << 62}))[1], int64_t{1} << 62);
  }
  EXPECT_THROW(array({{1, 2.5}, {3}}), UserError);
  EXPECT_THROW(array({{1, 2.5}, 3}), UserError);
}

TEST(CreationTest, NoneStandsForWhatIsAbsent) {
  const Array x = array({{3., -1.}, {0., 2.}});
  EXPECT_EQ(to_vector<float>(clip(x, None, 1)), (std::vector<float>{1, -1, 0, 1}));
  EXPECT_EQ(to_vector<float>(clip(x, 0, None)), (std::vector<float>{3, 0, 0, 2}));
  EXPECT_EQ(to_vector<float>(clip(x, array({0., 1.}))), (std::vector<float>{3, 1, 0, 2}));
  EXPECT_EQ(to_vector<float>(index(x, {Slice(None, 1), Slice(1, None)})), (std::vector<float>{-1}));
  EXPECT_EQ(to_vector<float>(index(x, {0, Slice(None, None, -1)})), (std::vector<float>{-1, 3}));
  EXPECT_EQ(to_vector<float>(index(x, {Slice(None, None, None), 0})), (std::vector<float>{3, 0}));
  EXPECT_EQ(argmax(x, {.axis = None}).item<int>(), 0);
  EXPECT_EQ(to_vector<float>(sort(x, {.axis = None})), (std::vector<float>{-1, 0, 2, 3}));
  EXPECT_EQ(eye(2, None, 1).shape(), Shape({2, 2}));
}

}  // namespace
}  // namespace tessera::creation_test
