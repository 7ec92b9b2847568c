// WindowAddresses: where windows begin, for a scatter that takes them a block at a time. Dimensions
// of the indices that are walked with one stride everywhere are one walk, so that most scatters have
// a single one.
#pragma once

#include <optional>

#include "tessera/ops/indexing/indexed_windows.h"

namespace tessera::ops {

class WindowAddresses {
 public:
  WindowAddresses(const IndexedWindows& windows, DType index_dtype);

  int64_t count() const { return count_; }  // of windows
  // Whether window i begins at element i * `elements` of the updates.
  bool consecutive(int64_t elements) const;
  // Windows of different groups, which are this many consecutive windows each, have no element of
  // the operand in common. count() if there is one group.
  int64_t group() const;

  // Where the indices are integers of 4 or 8 bytes and window i, if it is inside, begins at index i
  // times one number: this number.
  std::optional<int64_t> column_stride() const;
  // Whether all windows [begin, end) are inside. Only where there is a column_stride().
  bool column_is_inside(const void* indices, int64_t begin, int64_t end) const;

  // Writes where in the operand the windows [begin, end) begin, -1 for one that is not inside it,
  // and returns how many are inside. `indices`: the whole array of them.
  int64_t find(const void* indices, int64_t begin, int64_t end, int64_t* at) const;
  // Writes where in the updates the windows [begin, end) begin.
  void find_updates(int64_t begin, int64_t end, int64_t* from) const;

 private:
  // Dimensions of the indices, merged: what one step adds to an offset in each array.
  struct Walk {
    int64_t extent, index, operand, updates;
  };
  // A dimension of the operand that an entry of the index vectors is the start in.
  struct Term {
    int64_t entry;  // offset of the entry in its vector
    int64_t limit;  // starts below are inside
    int64_t stride;
  };
  struct Line {
    int64_t index, operand, updates;  // offsets of its first window
    int64_t length;
  };
  // Calls f(line) for the pieces of [begin, end) along the last walk, in order.
  template <class F>
  void for_each_line(int64_t begin, int64_t end, F&& f) const;
  template <class T>
  int64_t place(const T* indices, const Line& line, int64_t* at) const;
  template <class T>
  int64_t place_avx2(const T* indices, const Line& line, int64_t* at) const;

  DType index_dtype_;
  std::vector<Walk> walks_;  // at least one
  std::vector<Term> terms_;
  int64_t count_ = 1;
};

}  // namespace tessera::ops
