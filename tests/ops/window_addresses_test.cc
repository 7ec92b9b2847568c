#include "tessera/ops/indexing/window_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tessera/base/namespaces.h"
#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops_test::window_addresses_test {
namespace {

using ops::IndexedWindows, ops::ScatterParams, ops::WindowAddresses;

// Finds windows in blocks of `block`, and compares them with those of the naive loop.
template <class T>
void check(const IndexedWindows& windows, const std::vector<T>& indices, int64_t block) {
  const DType dtype = dtype_of<T>;
  const WindowAddresses addresses(windows, dtype);
  const int64_t n = windows.count();
  ASSERT_EQ(addresses.count(), n);
  std::vector<int64_t> expected(static_cast<size_t>(n)), found(static_cast<size_t>(n), 7);
  windows.bases(dtype, indices.data(), false, 0, n, expected.data());
  int64_t inside = 0;
  for (int64_t begin = 0; begin < n; begin += block)
    inside +=
        addresses.find(indices.data(), begin, std::min(n, begin + block), found.data() + begin);
  EXPECT_EQ(found, expected) << windows.operand << " by " << windows.indices;
  EXPECT_EQ(inside, std::count_if(expected.begin(), expected.end(), [](auto i) { return i >= 0; }));
}

// Elements of an operand of two dimensions, placed by pairs.
IndexedWindows elements(const Shape& operand, int64_t count) {
  const ScatterParams p{.inserted_window_dims = {0, 1},
                        .scatter_dims_to_operand_dims = {0, 1},
                        .index_vector_dim = 1};
  return scatter_windows(p, operand, {count, 2}, {count});
}

// Starts inside, next to the bounds, and as far outside as they can be.
template <class T>
std::vector<T> starts_around(int64_t count, int64_t rows, int64_t columns) {
  std::mt19937 random(5);
  std::vector<T> out;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t extent : {rows, columns}) {
      const int64_t inside = static_cast<int64_t>(random()) % std::max<int64_t>(1, extent);
      const int64_t outside[] = {
          -1, extent, extent - 1, 0, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
      out.push_back(static_cast<T>(random() % 4 ? inside : outside[random() % 6]));
    }
  return out;
}

TEST(WindowAddresses, PairsOfStarts) {
  for (int64_t count : {1, 3, 4, 103})
    for (const Shape& operand : {Shape{30, 20}, Shape{1, 7}, Shape{100000, 100000}, Shape{0, 5}})
      for (int64_t block : {1, 7, 64}) {
        const IndexedWindows windows = elements(operand, count);
        check(windows, starts_around<int32_t>(count, operand[0], operand[1]), block);
        check(windows, starts_around<int64_t>(count, operand[0], operand[1]), block);
      }
}

// Each batch of pairs has an operand of its own: the offset grows with the batch.
TEST(WindowAddresses, PairsInBatches) {
  const ScatterParams p{.inserted_window_dims = {1, 2},
                        .input_batching_dims = {0},
                        .scatter_indices_batching_dims = {0},
                        .scatter_dims_to_operand_dims = {1, 2},
                        .index_vector_dim = 1};
  check(scatter_windows(p, {50, 30, 20}, {50, 2}, {50}), starts_around<int32_t>(50, 30, 20), 13);
}

}  // namespace
}  // namespace tessera::ops_test::window_addresses_test
