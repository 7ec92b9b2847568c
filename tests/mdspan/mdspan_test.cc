#include "tessera/mdspan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/errors.h"

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace tessera::mdspan_test {
namespace {

using test::expect_error;
using ::testing::ElementsAre;

constexpr size_t kDynamic = std::numeric_limits<size_t>::max();
enum class Layout { kRight, kLeft };

// The part of std::mdspan's interface that the library needs, for standard libraries without
// mdspan: extents, some of which are fixed, and optional strides.
template <class T, class Index, Layout layout, size_t... fixed>
class TestMdspan {
 public:
  using element_type = T;
  using index_type = Index;
  using data_handle_type = T*;
  static constexpr size_t rank() { return sizeof...(fixed); }
  static constexpr size_t static_extent(size_t d) {
    constexpr std::array<size_t, sizeof...(fixed)> kFixed{fixed...};
    return kFixed[d];
  }

  TestMdspan(T* data, const std::array<Index, sizeof...(fixed)>& extents)
      : data_(data), extents_(extents) {
    Index dense = 1;
    for (size_t k = 0; k < rank(); ++k) {
      const size_t d = layout == Layout::kRight ? rank() - 1 - k : k;
      strides_[d] = dense;
      dense *= extents_[d];
    }
  }
  TestMdspan(T* data, const std::array<Index, sizeof...(fixed)>& extents,
             const std::array<Index, sizeof...(fixed)>& strides)
      : data_(data), extents_(extents), strides_(strides) {}

  T* data_handle() const { return data_; }
  Index extent(size_t d) const { return extents_[d]; }
  Index stride(size_t d) const { return strides_[d]; }
  template <class... I>
  T& operator()(I... at) const {
    const std::array<Index, sizeof...(fixed)> indices{static_cast<Index>(at)...};
    Index offset = 0;
    for (size_t d = 0; d < rank(); ++d) offset += indices[d] * strides_[d];
    return data_[offset];
  }

 private:
  T* data_;
  std::array<Index, sizeof...(fixed)> extents_, strides_{};
};
template <class T>
using Matrix = TestMdspan<T, size_t, Layout::kRight, kDynamic, kDynamic>;
template <class T>
using ColumnMatrix = TestMdspan<T, size_t, Layout::kLeft, kDynamic, kDynamic>;
static_assert(Mdspan<Matrix<const float>> && Mdspan<ColumnMatrix<int32_t>>);
static_assert(!Mdspan<std::vector<float>> && !Mdspan<Matrix<std::string>>);

TEST(Mdspans, AreBorrowedWithoutACopy) {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  int released = 0;
  {
    const Array x = borrow(Matrix<float>(values.data(), {2, 3}), [&] { ++released; });
    EXPECT_EQ(x.shape(), (Shape{2, 3}));
    EXPECT_EQ(view<float>(x).data(), values.data());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  const Array none = borrow(Matrix<const float>(values.data(), {0, 3}), [] {});
  EXPECT_EQ(none.shape(), (Shape{0, 3}));
  const TestMdspan<float, int, Layout::kRight> scalar(values.data(), {});
  EXPECT_EQ(borrow(scalar, [] {}).item<float>(), 1);
}

TEST(Mdspans, OfOtherStridesAreCopiedIfThatIsAskedFor) {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  int released = 0;
  const auto release = [&] { ++released; };
  const ColumnMatrix<float> columns(values.data(), {2, 3});
  expect_error([&] { borrow(columns, release); },
               "[borrow] expected dense memory in row-major order");
  EXPECT_EQ(released, 0);
  const Array x = borrow(columns, release, {.copy = true});
  EXPECT_EQ(released, 1);
  EXPECT_THAT(to_vector<float>(x), ElementsAre(1, 3, 5, 2, 4, 6));
  const Matrix<float> every_second(values.data(), {3, 1}, {2, 1});
  EXPECT_THAT(to_vector<float>(borrow(every_second, release, {.copy = true})),
              ElementsAre(1, 3, 5));
  expect_error(
      [&] {
        borrow(columns, release, {.strides = Dims{1, 2}, .copy = true});
      },
      "[borrow] expected no strides beside those of the mdspan");
}

TEST(MdspanViews, ShowArraysAndKeepTheirMemory) {
  std::optional<Array> x = from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const float* data = view<float>(*x).data();
  const MdspanView<Matrix<const float>> m(*x);
  x.reset();
  EXPECT_EQ(m.data_handle(), data);
  EXPECT_EQ(m.extent(0), 2u);
  EXPECT_EQ(m(1, 0), 4);
  const MdspanView<Matrix<const float>> copy = m;
  EXPECT_EQ(copy.data_handle(), data);
  const MdspanView<TestMdspan<const float, int, Layout::kRight, 2, kDynamic>> fixed(
      from_host(std::vector<float>{1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(fixed(1, 1), 4);
  const MdspanView<TestMdspan<const float, int, Layout::kRight>> scalar(
      from_host(std::vector<float>{7}, Shape{}));
  EXPECT_EQ(scalar(), 7);
}

TEST(MdspanViews, Errors) {
  const Array x = ones({2, 3});
  expect_error([&] { MdspanView<Matrix<const float>>{ones(3)}; },
               "[MdspanView] expected an array of 2 dimensions, got the shape (3,)");
  using Fixed = TestMdspan<const float, int, Layout::kRight, 2, 4>;
  expect_error([&] { MdspanView<Fixed>{x}; },
               "[MdspanView] expected the extent 4 in dimension 1, as the type of the mdspan says");
  using Narrow = TestMdspan<const float, int8_t, Layout::kRight, kDynamic>;
  expect_error([&] { MdspanView<Narrow>{ones(1000)}; },
               "[MdspanView] expected at most 127 elements");
  expect_error([&] { MdspanView<ColumnMatrix<const float>>{x}; },
               "[MdspanView] expected an mdspan of layout_right");
  expect_error([&] { MdspanView<Matrix<const double>>{x}; },
               "[view] expected the C++ type of the elements");
}

#ifdef __cpp_lib_mdspan
TEST(MdspanViews, OfTheStandardLibrary) {
  const Array x = from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const MdspanView<std::mdspan<const float, std::dextents<size_t, 2>>> m(x);
  EXPECT_EQ(m.data_handle()[m.mapping()(1, 2)], 6);
  EXPECT_EQ(view<float>(borrow(m, [x] {})).data(), m.data_handle());
}
#endif

}  // namespace
}  // namespace tessera::mdspan_test
