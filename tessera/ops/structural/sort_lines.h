// Sorts lines of arrays by keys: unsigned numbers that have the order of the elements, whose digits
// are sorted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tessera/base/shape.h"
#include "tessera/ops/structural/sort_order.h"

namespace tessera::ops {

// The lines along one dimension of an array: `count` lines of `size` elements, which are `stride`
// apart.
struct Lines {
  int64_t size, stride, count;
  Lines(const Shape& shape, int64_t dimension)
      : size(shape[dimension]), stride(row_major_strides(shape)[dimension]) {
    count = size == 0 ? 0 : shape.elements() / size;
  }
  int64_t begin(int64_t line) const { return begin_of(line, size); }
  // Returns the offset of a line's first element in an array whose lines have `length` elements.
  int64_t begin_of(int64_t line, int64_t length) const {
    return line / stride * stride * length + line % stride;
  }
};

// Sorts the lines of all operands `x` into `out`, stably; returns whether it did. It does not if a
// key with NanOrder::kUnordered has a NaN; then `out` is unspecified.
//
// The keys of an element are packed into words of 64 bits, most significant first. Words of up to
// 32 bits are sorted together with the index of their element in one number; if there is one
// operand of at most 64 bits that is its own only key, its keys are sorted without indices, and
// converted back to elements. Long lines are sorted in parallel, and so are many short ones; the
// results are the same.
bool sort_by_keys(const SortOrder& order, std::span<const DType> dtypes, const Lines& lines,
                  std::span<const std::byte* const> x, std::span<std::byte* const> out);

// Writes the first `count` elements of each sorted line, and, if `index` is an integer dtype, their
// indices in the line to the last array of `out`. Few elements with one key are selected: a line is
// read once, and an element that is not before the last of the first `count` so far is dropped.
void first_by_keys(const SortOrder& order, std::span<const DType> dtypes, const Lines& lines,
                   int64_t count, std::optional<DType> index, std::span<const std::byte* const> x,
                   std::span<std::byte* const> out);

}  // namespace tessera::ops
