#include "tessera/privacy/batch_selection/padding.h"

#include <algorithm>
#include <limits>
#include <map>

#include "tessera/base/format.h"

namespace tessera::privacy::batch_selection {
namespace {

// A batch of rows, each of `width` indices. A batch of single examples has rows of one index.
struct Rows {
  std::span<const int64_t> indices;
  int64_t width = 1;

  int64_t count() const { return static_cast<int64_t>(indices.size()) / width; }
};

void check_positive(const char* op, const char* what, int64_t value) {
  if (value < 1 || value > std::numeric_limits<int32_t>::max())
    value_error(op, "expected a {} in [1, 2^31), got {}; batches are padded up to it", what, value);
}

// Returns the rows first, ..., first + size - 1, with padding after the end of the batch, in the
// order of microbatches.
std::vector<int64_t> padded_rows(const Rows& rows, int64_t first, int64_t size,
                                 std::optional<int64_t> microbatch_size) {
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(size * rows.width));
  for (const int64_t place : compute_early_stopping_order(size, microbatch_size)) {
    const int64_t row = first + place;
    for (int64_t i = 0; i < rows.width; ++i)
      out.push_back(row < rows.count() ? rows.indices[static_cast<size_t>(row * rows.width + i)]
                                       : kPaddingIndex);
  }
  return out;
}

std::vector<std::vector<int64_t>> split(const Rows& rows, int64_t size,
                                        std::optional<int64_t> microbatch_size) {
  check_positive("split_and_pad_global_batch", "minibatch_size", size);
  std::vector<std::vector<int64_t>> out;
  int64_t first = 0;
  for (; first + size < rows.count(); first += size)
    out.push_back(padded_rows(rows, first, size, std::nullopt));
  out.push_back(padded_rows(rows, first, size, microbatch_size));
  return out;
}

template <class T>
Array array_of(const std::vector<T>& values, const Shape& shape) {
  return Array(Literal::from<T>(std::span<const T>(values), shape));
}

int32_t narrowed(int64_t index) {
  if (index > std::numeric_limits<int32_t>::max())
    value_error("padded_batch",
                "expected indices of examples below 2^31, got {}; split the training set", index);
  return static_cast<int32_t>(index);
}

// Returns the padded batch as arrays. `shape` is the shape of one row.
PaddedBatch padded(const Rows& rows, const PaddedBatchOptions& o, Shape shape) {
  check_positive("padded_batch", "multiple", o.multiple);
  const int64_t size =
      (std::max<int64_t>(rows.count(), 1) + o.multiple - 1) / o.multiple * o.multiple;
  std::vector<int32_t> indices;
  for (const int64_t index : padded_rows(rows, 0, size, o.microbatch_size))
    indices.push_back(narrowed(index));
  Literal mask(bool_, {size});
  for (int64_t i = 0; i < size; ++i)
    mask.mutable_data<bool>()[i] = indices[static_cast<size_t>(i * rows.width)] == kPaddingIndex;
  shape.insert(shape.begin(), size);
  return {.indices = array_of(indices, shape), .is_padding = Array(std::move(mask))};
}

}  // namespace

std::vector<int64_t> pad_to_multiple_of(std::span<const int64_t> indices, int64_t multiple,
                                        std::optional<int64_t> microbatch_size) {
  check_positive("pad_to_multiple_of", "multiple", multiple);
  const auto size = static_cast<int64_t>(indices.size());
  return padded_rows({.indices = indices}, 0, (size + multiple - 1) / multiple * multiple,
                     microbatch_size);
}

std::vector<int64_t> compute_early_stopping_order(int64_t batch_size,
                                                  std::optional<int64_t> microbatch_size) {
  const int64_t size = microbatch_size.value_or(1);
  if (size < 1 || batch_size % size != 0)
    value_error("compute_early_stopping_order",
                "expected a microbatch_size that divides the batch of {}, got {}; pad the batch to "
                "a multiple of it",
                batch_size, size);
  const int64_t microbatches = batch_size / size;
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(batch_size));
  for (int64_t place = 0; place < size; ++place)
    for (int64_t m = 0; m < microbatches; ++m) out.push_back(m * size + place);
  return out;
}

std::vector<std::vector<int64_t>> split_and_pad_global_batch(
    std::span<const int64_t> indices, int64_t minibatch_size,
    std::optional<int64_t> microbatch_size) {
  return split({.indices = indices}, minibatch_size, microbatch_size);
}

std::vector<UserBatch> split_and_pad_global_batch(const UserBatch& batch, int64_t minibatch_size,
                                                  std::optional<int64_t> microbatch_size) {
  const int64_t width = batch.examples_per_user;
  std::vector<UserBatch> out;
  for (std::vector<int64_t>& indices :
       split({.indices = batch.indices, .width = width}, minibatch_size, microbatch_size))
    out.push_back({.indices = std::move(indices), .examples_per_user = width});
  return out;
}

std::vector<int64_t> optimal_physical_batch_sizes(std::span<const int64_t> batch_sizes,
                                                  int64_t num_compilations) {
  const char* op = "optimal_physical_batch_sizes";
  if (num_compilations < 1)
    value_error(op, "expected num_compilations of at least 1, got {}; batches need a size",
                num_compilations);
  std::map<int64_t, double> counts;
  for (const int64_t size : batch_sizes) {
    if (size < 0) value_error(op, "expected sizes that are not negative, got {}", size);
    ++counts[size];
  }
  std::vector<int64_t> sizes;
  std::vector<double> up_to{0};  // the number of batches of the first sizes
  for (const auto& [size, count] : counts) {
    sizes.push_back(size);
    up_to.push_back(up_to.back() + count);
  }
  const size_t n = sizes.size();
  if (static_cast<int64_t>(n) <= num_compilations) return sizes;
  // After c rounds, cost[i] is the least total size of the batches of the first i sizes, if these
  // are padded to c sizes of which the last is sizes[i - 1].
  std::vector<double> cost(n + 1, std::numeric_limits<double>::infinity());
  cost[0] = 0;
  // before[c][i] is how many of the first i sizes are not padded to the last of the c + 1 sizes.
  std::vector<std::vector<size_t>> before;
  for (int64_t c = 0; c < num_compilations; ++c) {
    std::vector<double> next(n + 1, std::numeric_limits<double>::infinity());
    before.emplace_back(n + 1);
    for (size_t i = 1; i <= n; ++i)
      for (size_t j = 0; j < i; ++j) {
        const double with = cost[j] + (up_to[i] - up_to[j]) * static_cast<double>(sizes[i - 1]);
        if (with < next[i]) next[i] = with, before.back()[i] = j;
      }
    cost = std::move(next);
  }
  std::vector<int64_t> out;
  for (size_t i = n, c = before.size(); c-- > 0; i = before[c][i]) out.push_back(sizes[i - 1]);
  return {out.rbegin(), out.rend()};
}

PaddedBatch padded_batch(std::span<const int64_t> indices, const PaddedBatchOptions& options) {
  return padded({.indices = indices}, options, {});
}

PaddedBatch padded_batch(const UserBatch& batch, const PaddedBatchOptions& options) {
  const int64_t width = batch.examples_per_user;
  return padded({.indices = batch.indices, .width = width}, options, {width});
}

}  // namespace tessera::privacy::batch_selection
