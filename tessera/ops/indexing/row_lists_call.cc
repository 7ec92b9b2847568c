#include "tessera/ops/indexing/row_lists_call.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/instructions.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/base/workspace.h"
#include "tessera/ops/indexing/row_lists.h"
#include "tessera/ops/indexing/scatter_folds.h"

namespace tessera::ops {
namespace {

int64_t threads_here() { return in_parallel_task() ? 1 : num_threads(); }

// --- list_rows ---

constexpr int64_t kEntries = 4096;  // the least number of entries of a task

// Sorts by counting. Each part of the entries has a counter for each row, and one for the entries
// of no row; so the lists are the same however many parts there are.
template <class Index>
void list_rows(const Index* index, const int32_t* source, int64_t entries, int64_t rows,
               int32_t* ends, int32_t* sources) {
  const int64_t parts = std::clamp<int64_t>(std::min(entries / kEntries, 2 * entries / (rows + 1)),
                                            1, threads_here());
  const int64_t grain = ceil_div(entries, parts), counters = rows + 1;
  const Workspace<int32_t> counts(parts * counters);
  const auto row_of = [&](int64_t i) {
    // A negative index is large as an unsigned one.
    const auto at = static_cast<uint64_t>(static_cast<int64_t>(index[i]));
    return at < static_cast<uint64_t>(rows) ? static_cast<int64_t>(at) : rows;
  };
  const auto for_parts = [&](auto each) {
    parallel_for(parts, [&](int64_t part) {
      int32_t* count = counts.data() + part * counters;
      each(count, part * grain, std::min(entries, (part + 1) * grain));
    });
  };
  for_parts([&](int32_t* count, int64_t begin, int64_t end) {
    std::fill_n(count, counters, 0);
    for (int64_t i = begin; i < end; ++i) ++count[row_of(i)];
  });
  int32_t sum = 0;
  for (int64_t r = 0; r < counters; ++r) {
    for (int64_t part = 0; part < parts; ++part)
      sum += std::exchange(counts.data()[part * counters + r], sum);
    if (r < rows) ends[r] = sum;
  }
  for_parts([&](int32_t* next, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sources[next[row_of(i)]++] = source[i];
  });
}

// --- fold_lists ---

// The lists, the rows that they name, and a row of fills.
template <class T>
struct Lists {
  const int32_t *ends, *sources;
  const T *rows, *fill;
  int64_t num_rows, width;

  const T* row(int32_t source) const {
    return static_cast<uint32_t>(source) < static_cast<uint64_t>(num_rows) ? rows + source * width
                                                                           : fill;
  }
};

// Sums of vectors of `bytes` bytes, `count` of them side by side, which stay in registers.
template <class T, int bytes, int count>
[[gnu::always_inline]] inline void sum_columns(const Lists<T>& lists, int64_t begin, int64_t end,
                                               const T* x, T* out, int64_t column) {
  typedef T Vector __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
  Vector sum[count];
  for (int k = 0; k < count; ++k) sum[k] = reinterpret_cast<const Vector*>(x)[k];
  for (int64_t i = begin; i < end; ++i) {
    const T* row = lists.row(lists.sources[i]) + column;
    for (int k = 0; k < count; ++k) sum[k] += reinterpret_cast<const Vector*>(row)[k];
  }
  for (int k = 0; k < count; ++k) reinterpret_cast<Vector*>(out)[k] = sum[k];
}

// A rectangle of the result.
struct Part {
  int64_t first_row, last_row, first_column, last_column;
};

template <class T>
[[gnu::always_inline]] inline void sum_part(const Lists<T>& lists, const T* x, T* out,
                                            const Part& part) {
  constexpr int kBytes = 32, kLanes = kBytes / sizeof(T), kFew = kBytes / 2, kHalf = kLanes / 2;
  for (int64_t r = part.first_row; r < part.last_row; ++r) {
    const int64_t begin = r == 0 ? 0 : lists.ends[r - 1], end = lists.ends[r];
    if (begin == end && x == out) continue;
    int64_t c = part.first_column;
    const auto columns = [&]<int bytes, int count>(std::integral_constant<int, bytes>,
                                                   std::integral_constant<int, count>) {
      constexpr int64_t kColumns = bytes / sizeof(T) * count;
      for (; c + kColumns <= part.last_column; c += kColumns)
        sum_columns<T, bytes, count>(lists, begin, end, x + r * lists.width + c,
                                     out + r * lists.width + c, c);
    };
    using One = std::integral_constant<int, 1>;
    columns(std::integral_constant<int, kBytes>(), std::integral_constant<int, 8>());
    columns(std::integral_constant<int, kBytes>(), std::integral_constant<int, 4>());
    columns(std::integral_constant<int, kBytes>(), One());
    if constexpr (kHalf > 1) columns(std::integral_constant<int, kFew>(), One());
    columns(std::integral_constant<int, sizeof(T)>(), One());
  }
}
template <class T>
void sum_plainly(const Lists<T>& lists, const T* x, T* out, const Part& part) {
  sum_part(lists, x, out, part);
}
// The sums have the same bits as without AVX2.
template <class T>
TESSERA_AVX2 void sum_by_avx2(const Lists<T>& lists, const T* x, T* out, const Part& part) {
  sum_part(lists, x, out, part);
}

class FoldLists {
 public:
  FoldLists(ScatterKind kind, const Type& x, int64_t num_rows)
      : kind_(kind),
        dtype_(x.dtype),
        item_(itemsize(x.dtype)),
        n_(x.shape[0]),
        width_(x.elements() / x.shape[0]),
        num_rows_(num_rows),
        folds_(scatter_folds(kind, x.dtype)) {}

  void run(std::span<const void* const> in, void* out) const {
    const auto* ends = static_cast<const int32_t*>(in[1]);
    const Workspace<std::byte> fill(width_ * item_);
    for (int64_t k = 0; k < width_; ++k)
      std::memcpy(fill.data() + k * item_, in[4], static_cast<size_t>(item_));
    const int64_t entries = ends[n_ - 1];
    const int64_t threads = entries * width_ < kSerialElements ? 1 : threads_here();
    if (threads == 1) return fold(in, fill.data(), out, {0, n_, 0, width_});
    // A list may have most of the entries, so wide rows are divided, too.
    const int64_t row_parts = std::min(n_, 4 * threads),
                  column_parts = std::clamp<int64_t>(width_ / kColumns, 1, threads),
                  columns = ceil_div(ceil_div(width_, column_parts), 16) * 16;
    parallel_for(row_parts * column_parts, [&](int64_t task) {
      const int64_t rows = task / column_parts, column = task % column_parts * columns;
      fold(in, fill.data(), out,
           {first_row(ends, rows, row_parts), first_row(ends, rows + 1, row_parts), column,
            std::min(width_, column + columns)});
    });
  }

 private:
  static constexpr int64_t kSerialElements = 1 << 14;  // with fewer, tasks are not worth it
  static constexpr int64_t kColumns = 64;              // the least number of columns of a task

  // Returns the first row of a part, such that all parts have as many rows and entries together.
  int64_t first_row(const int32_t* ends, int64_t part, int64_t parts) const {
    const int64_t before = (ends[n_ - 1] + n_) * part / parts;
    int64_t low = 0, high = n_;
    while (low < high) {
      const int64_t r = (low + high) / 2;
      if (ends[r] + r + 1 <= before)
        low = r + 1;
      else
        high = r;
    }
    return part == parts ? n_ : low;
  }

  void fold(std::span<const void* const> in, const std::byte* fill, void* out,
            const Part& part) const {
    if (part.first_column >= part.last_column) return;
    const bool done = kind_ == ScatterKind::kAdd && visit_dtype(dtype_, [&]<class T>(TypeTag<T>) {
                        if constexpr (std::is_floating_point_v<T>) {
                          sum<T>(in, fill, out, part);
                          return true;
                        } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
                          // Sums of signed integers have the bits of those of unsigned ones, which
                          // may wrap in C++.
                          sum<std::make_unsigned_t<T>>(in, fill, out, part);
                          return true;
                        }
                        return false;
                      });
    if (!done) fold_row_by_row(in, fill, out, part);
  }

  template <class T>
  Lists<T> lists(std::span<const void* const> in, const std::byte* fill) const {
    return {static_cast<const int32_t*>(in[1]),
            static_cast<const int32_t*>(in[2]),
            static_cast<const T*>(in[3]),
            reinterpret_cast<const T*>(fill),
            num_rows_,
            width_};
  }
  template <class T>
  void sum(std::span<const void* const> in, const std::byte* fill, void* out,
           const Part& part) const {
    (has_avx2() ? sum_by_avx2<T> : sum_plainly<T>)(lists<T>(in, fill), static_cast<const T*>(in[0]),
                                                   static_cast<T*>(out), part);
  }
  void fold_row_by_row(std::span<const void* const> in, const std::byte* fill, void* out,
                       const Part& part) const {
    Lists<std::byte> bytes = lists<std::byte>(in, fill);
    bytes.width = width_ * item_;
    const int64_t columns = part.last_column - part.first_column, zero = 0;
    for (int64_t r = part.first_row; r < part.last_row; ++r) {
      const int64_t at = r * width_ + part.first_column;
      std::byte* to = static_cast<std::byte*>(out) + at * item_;
      const std::byte* old = static_cast<const std::byte*>(in[0]) + at * item_;
      if (to != old) std::memcpy(to, old, static_cast<size_t>(columns * item_));
      for (int64_t i = r == 0 ? 0 : bytes.ends[r - 1]; i < bytes.ends[r]; ++i)
        folds_.rows(to, &zero, bytes.row(bytes.sources[i]) + part.first_column * item_, &zero, 1,
                    columns);
    }
  }

  ScatterKind kind_;
  DType dtype_;
  int64_t item_, n_, width_, num_rows_;
  ScatterFolds folds_;
};

}  // namespace

HostCall list_rows_call(const OpParams& params, std::span<const Type> operands,
                        std::span<const Type>) {
  const int64_t rows = params.as<ListRowsParams>().rows, entries = operands[0].elements();
  const DType dtype = operands[0].dtype;
  return [=](std::span<const void* const> in, std::span<void* const> out) {
    visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        list_rows(static_cast<const T*>(in[0]), static_cast<const int32_t*>(in[1]), entries, rows,
                  static_cast<int32_t*>(out[0]), static_cast<int32_t*>(out[1]));
    });
  };
}

HostCall fold_lists_call(const OpParams& params, std::span<const Type> operands,
                         std::span<const Type>) {
  const Type &x = operands[0], &rows = operands[3];
  if (x.elements() == 0) return [](std::span<const void* const>, std::span<void* const>) {};
  const FoldLists fold(params.as<FoldListsParams>().kind, x, rows.shape[0]);
  return
      [fold](std::span<const void* const> in, std::span<void* const> out) { fold.run(in, out[0]); };
}

}  // namespace tessera::ops
