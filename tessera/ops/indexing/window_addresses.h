// WindowAddresses: computes where in the operand each window of a scatter begins, for one block of
// windows after the other. It is a loop over the dimensions of the indices; adjacent dimensions are
// merged if one stride in each array leads from each window to the next. So most scatters have a
// single loop.
#pragma once

#include <optional>

#include "tessera/ops/indexing/indexed_windows.h"

namespace tessera::ops {

class WindowAddresses {
 public:
  WindowAddresses(const IndexedWindows& windows, DType index_dtype);

  int64_t count() const { return count_; }  // the number of windows
  // Returns whether window i begins at element i * `elements` of the updates.
  bool consecutive(int64_t elements) const;
  // Returns how many consecutive windows make a group, such that windows of different groups have
  // no element of the operand in common. It is count() if there is one group.
  int64_t group() const;

  // If the indices are integers of 4 or 8 bytes, and each window that is inside begins at its index
  // times one number, returns that number; otherwise nullopt.
  std::optional<int64_t> column_stride() const;
  // Returns the largest index of a window that is inside, or -1; the smallest is 0. It may be
  // called only if column_stride() has a value.
  int64_t column_largest() const;

  // Writes to `at` the offset in the operand of each of the windows [begin, end), -1 for one that
  // is not inside. Returns how many are inside. `indices` is the whole array of indices.
  int64_t find(const void* indices, int64_t begin, int64_t end, int64_t* at) const;
  // Writes to `from` the offset in the updates of each of the windows [begin, end).
  void find_updates(int64_t begin, int64_t end, int64_t* from) const;

 private:
  // One dimension of the indices, or several merged ones: its extent, and by how much one step
  // along it changes an offset in each array.
  struct Walk {
    int64_t extent, index, operand, updates;
  };
  // A dimension of the operand in which an entry of the index vectors is the start.
  struct Term {
    int64_t entry;  // offset of the entry in its vector
    int64_t limit;  // starts below it are inside
    int64_t stride;
  };
  struct Line {
    int64_t index, operand, updates;  // offsets of the line's first window
    int64_t length;
  };
  // Calls f(line) for each piece of [begin, end) along the last walk, in order.
  template <class F>
  void for_each_line(int64_t begin, int64_t end, F&& f) const;
  template <class T>
  int64_t place(const T* indices, const Line& line, int64_t* at) const;
  template <class T>
  int64_t place_avx2(const T* indices, const Line& line, int64_t* at) const;

  DType index_dtype_;
  std::vector<Walk> walks_;  // there is at least one
  std::vector<Term> terms_;
  bool pairs_ = false;  // two terms, of adjacent entries, whose numbers fit in 32 bits
  int64_t count_ = 1;
};

}  // namespace tessera::ops
