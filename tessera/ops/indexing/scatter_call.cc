#include "tessera/ops/indexing/scatter_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/ops/indexing/scatter_by_body.h"
#include "tessera/ops/indexing/scatter_folds.h"
#include "tessera/ops/indexing/window_addresses.h"

namespace tessera::ops {
namespace {

constexpr int64_t kBlock = 2048;              // windows that are looked up together
constexpr int64_t kSerialElements = 1 << 14;  // with fewer elements, tasks are not worth it
constexpr int64_t kColumns = 64;              // the least number of columns of a task
// Tasks of columns share the rows that other threads have written or will read, which takes longer
// than to fold so few bytes.
constexpr int64_t kSerialBytes = 2 << 20;
// Ranges of the operand: their size, the most of them, and how many windows are sorted before their
// updates are folded.
constexpr int64_t kRangeBytes = 1 << 20, kMaxRanges = 256, kSortedWindows = 1 << 20;

// The starts of the windows of a block that are inside, in order: in the operand and in the
// updates.
struct Block {
  int64_t count = 0;
  int64_t at[kBlock], from[kBlock];
};

// How the work is divided among threads. Each thread has:
enum class Split : uint8_t {
  kNone,
  kColumns,  // elements [begin, end) of every run
  kRuns,     // some runs of every window
  kGroups,   // some groups of windows (WindowAddresses::group)
  kRanges,   // the windows that begin in a range of the operand, which are sorted first
};

class Scatter {
 public:
  Scatter(const ScatterParams& p, const Type& operand, const Type& indices, const Type& updates)
      : Scatter(p, scatter_windows(p, operand.shape, indices.shape, updates.shape), operand,
                indices) {}

  void run(const void* indices, const void* updates, void* out) const;

 private:
  Scatter(const ScatterParams& p, const IndexedWindows& windows, const Type& operand,
          const Type& indices);

  Split split() const;
  void find(const void* indices, int64_t begin, int64_t end, Block& block) const;
  // Elements [first, last) of the runs [first_run, last_run) of the windows [begin, end).
  struct Part {
    int64_t begin, end, first_run, last_run, first, last;
  };
  Part all() const { return {0, addresses_.count(), 0, num_runs(), 0, runs_.run}; }
  int64_t num_runs() const { return static_cast<int64_t>(runs_.in_operand.size()); }
  void fold(const void* indices, const void* updates, void* out, const Part& part) const;
  void fold_block(const Block& block, const void* updates, void* out, const Part& part) const;
  struct Sorted;
  void fold_in_ranges(const void* indices, const void* updates, void* out) const;
  void sort_block(const void* indices, const void* updates, const Sorted& s, int64_t b) const;
  void fold_range(const Sorted& s, int64_t r, const void* updates, void* out) const;

  const std::byte* element(const void* x, int64_t i) const {
    return static_cast<const std::byte*>(x) + i * item_;
  }
  std::byte* element(void* x, int64_t i) const { return static_cast<std::byte*>(x) + i * item_; }

  ScatterFolds folds_, sets_;
  int64_t item_, index_item_, operand_elements_, window_;
  WindowAddresses addresses_;
  IndexedWindows::Runs runs_;
  bool disjoint_;  // windows with different starts have no element in common
  bool columns_;   // different columns of runs have no element in common
  bool single_;    // a window is one element
  bool in_order_;  // single_, and window i is element i of the updates
  // If in_order_ and one index places a window: the number by which the index is multiplied.
  std::optional<int64_t> column_;
};

// Returns the number of elements in the last dimensions of the operand that every window has whole.
int64_t whole_columns(const IndexedWindows& windows) {
  int64_t columns = 1;
  for (size_t d = windows.dims.size(); d-- > 0;) {
    const IndexedWindows::Dim& dim = windows.dims[d];
    if (dim.window < 0 || dim.size != windows.operand[d]) break;
    columns *= dim.size;
  }
  return columns;
}

// Returns the same windows, divided into runs of `run` elements.
IndexedWindows::Runs shorter_runs(const IndexedWindows::Runs& runs, int64_t run) {
  IndexedWindows::Runs out{.run = run};
  for (size_t k = 0; k < runs.in_operand.size(); ++k)
    for (int64_t i = 0; i < runs.run; i += run) {
      out.in_operand.push_back(runs.in_operand[k] + i);
      out.in_windows.push_back(runs.in_windows[k] + i);
    }
  return out;
}

Scatter::Scatter(const ScatterParams& p, const IndexedWindows& windows, const Type& operand,
                 const Type& indices)
    : folds_(scatter_folds(p.kind, operand.dtype)),
      sets_(scatter_folds(ScatterKind::kSet, operand.dtype)),
      item_(itemsize(operand.dtype)),
      index_item_(itemsize(indices.dtype)),
      operand_elements_(operand.elements()),
      addresses_(windows, indices.dtype),
      runs_(windows.runs()),
      disjoint_(windows.disjoint()),
      columns_(disjoint_) {
  const int64_t columns = whole_columns(windows);
  if (!disjoint_ && columns >= 2 * kColumns && runs_.run % columns == 0) {
    runs_ = shorter_runs(runs_, columns);
    columns_ = true;
  }
  window_ = runs_.run * num_runs();
  single_ = window_ == 1;
  in_order_ = single_ && addresses_.consecutive(1);
  if (in_order_) column_ = addresses_.column_stride();
}

Split Scatter::split() const {
  const int64_t threads = in_parallel_task() ? 1 : num_threads(), count = addresses_.count();
  if (count * window_ < kSerialElements) return Split::kNone;
  if (threads > 1) {
    if (columns_ && runs_.run >= 2 * kColumns)
      return count * window_ * item_ > kSerialBytes ? Split::kColumns : Split::kNone;
    if (!disjoint_) return Split::kNone;
    if (num_runs() >= 2 * threads) return Split::kRuns;
    if (count / addresses_.group() >= 2 * threads) return Split::kGroups;
  }
  if (!disjoint_) return Split::kNone;
  // Nanoseconds per window: for sorting; for its elements, if they are in the caches; and in
  // addition if the operand is larger than the caches.
  const double sorting = 2.5, elements = 0.5 + 0.15 * static_cast<double>(window_);
  const int64_t bytes = operand_elements_ * item_;
  const double misses = bytes < (1 << 20) ? 0 : bytes < (1 << 23) ? 1 : 8;
  const bool faster =
      (sorting + elements) / static_cast<double>(threads) < 0.8 * (elements + misses);
  return faster ? Split::kRanges : Split::kNone;
}

void Scatter::run(const void* indices, const void* updates, void* out) const {
  const int64_t threads = num_threads(), count = addresses_.count();
  // Runs tasks of `grain` windows, runs or columns.
  const auto in_parts = [&](int64_t Part::*first, int64_t Part::*last, int64_t n, int64_t grain) {
    parallel_for_ranges(n, grain, [&](int64_t begin, int64_t end) {
      Part part = all();
      part.*first = begin;
      part.*last = end;
      fold(indices, updates, out, part);
    });
  };
  switch (split()) {
    case Split::kNone:
      return fold(indices, updates, out, all());
    case Split::kColumns:
      return in_parts(&Part::first, &Part::last, runs_.run,
                      std::max(kColumns, ceil_div(ceil_div(runs_.run, threads), 16) * 16));
    case Split::kRuns:
      return in_parts(&Part::first_run, &Part::last_run, num_runs(), ceil_div(num_runs(), threads));
    case Split::kGroups:
      return in_parts(&Part::begin, &Part::end, count,
                      ceil_div(count / addresses_.group(), 2 * threads) * addresses_.group());
    case Split::kRanges:
      return fold_in_ranges(indices, updates, out);
  }
}

// Finds the windows that are inside, in order. block.from is not written if all are inside and
// in_order_ holds.
void Scatter::find(const void* indices, int64_t begin, int64_t end, Block& block) const {
  block.count = addresses_.find(indices, begin, end, block.at);
  const bool whole = block.count == end - begin;
  if (block.count == 0 || (whole && in_order_)) return;
  addresses_.find_updates(begin, end, block.from);
  if (whole) return;
  int64_t n = 0;
  for (int64_t i = 0; i < end - begin; ++i) {
    const int64_t at = block.at[i];
    block.at[n] = at;
    block.from[n] = block.from[i];
    n += at >= 0 ? 1 : 0;
  }
}

void Scatter::fold(const void* indices, const void* updates, void* out, const Part& part) const {
  if (column_) {
    const auto indexed = index_item_ == 4 ? folds_.indexed_32 : folds_.indexed_64;
    return indexed(out, static_cast<const std::byte*>(indices) + part.begin * index_item_, *column_,
                   addresses_.column_largest(), element(updates, part.begin),
                   part.end - part.begin);
  }
  Block block;
  for (int64_t begin = part.begin; begin < part.end; begin += kBlock) {
    const int64_t end = std::min(part.end, begin + kBlock);
    find(indices, begin, end, block);
    if (block.count == 0) continue;
    if (in_order_ && block.count == end - begin) {
      folds_.elements(out, block.at, element(updates, begin), block.count);
    } else {
      fold_block(block, updates, out, part);
    }
  }
}

void Scatter::fold_block(const Block& block, const void* updates, void* out,
                         const Part& part) const {
  const int64_t run = part.last - part.first;
  const auto fold_run = [&](int64_t r, int64_t first, int64_t n) {
    const auto k = static_cast<size_t>(r);
    std::byte* to = element(out, runs_.in_operand[k] + part.first);
    const std::byte* with = element(updates, runs_.in_windows[k] + part.first);
    if (run == 1) {
      folds_.chosen(to, block.at + first, with, block.from + first, n);
    } else {
      folds_.rows(to, block.at + first, with, block.from + first, n, run);
    }
  };
  if (disjoint_ || part.last_run - part.first_run == 1) {
    for (int64_t r = part.first_run; r < part.last_run; ++r) fold_run(r, 0, block.count);
    return;
  }
  // The windows are folded one by one, because a run of one window may overlap another run of a
  // later window.
  for (int64_t i = 0; i < block.count; ++i)
    for (int64_t r = part.first_run; r < part.last_run; ++r) fold_run(r, i, 1);
}

// Windows, sorted by the range of the operand in which they begin, one block at a time. For
// example, with ranges of four elements and blocks of three windows:
//   at       5 1 6 | 2 0 7
//   sorted   1 5 6 | 2 0 7    ends 1 3 | 2 3
// Range 0 gets 1, 2, 0, range 1 gets 5, 6, 7.
struct Scatter::Sorted {
  int64_t begin, count, blocks, ranges;
  int shift;           // element >> shift is its range
  int64_t from_bytes;  // bytes of an entry of `from`
  Workspace<int64_t> at;
  Workspace<std::byte> from;  // starts of the updates; if a window is one element, the updates
  Workspace<int32_t> ends;    // the end of each range in each block

  Sorted(int64_t first, int64_t windows, int64_t number, int range_shift, int64_t entry)
      : begin(first),
        count(windows),
        blocks(ceil_div(windows, kBlock)),
        ranges(number),
        shift(range_shift),
        from_bytes(entry),
        at(count),
        from(count * from_bytes),
        ends(blocks * ranges) {}
};

void Scatter::fold_in_ranges(const void* indices, const void* updates, void* out) const {
  const int64_t threads = num_threads(),
                wanted = std::min<int64_t>(
                    kMaxRanges,
                    std::max<int64_t>(4 * threads, operand_elements_ * item_ / kRangeBytes));
  int shift = 0;
  while ((operand_elements_ - 1) >> shift >= wanted) ++shift;
  const int64_t ranges = ((operand_elements_ - 1) >> shift) + 1;
  for (int64_t begin = 0; begin < addresses_.count(); begin += kSortedWindows) {
    const Sorted sorted(begin, std::min(kSortedWindows, addresses_.count() - begin), ranges, shift,
                        single_ ? item_ : static_cast<int64_t>(sizeof(int64_t)));
    parallel_for_ranges(sorted.blocks, ceil_div(sorted.blocks, 4 * threads),
                        [&](int64_t b, int64_t end) {
                          for (; b < end; ++b) sort_block(indices, updates, sorted, b);
                        });
    parallel_for(ranges, [&](int64_t r) { fold_range(sorted, r, updates, out); });
  }
}

void Scatter::sort_block(const void* indices, const void* updates, const Sorted& s,
                         int64_t b) const {
  const int64_t begin = s.begin + b * kBlock, end = std::min(s.begin + s.count, begin + kBlock);
  Block block;
  find(indices, begin, end, block);
  int32_t next[kMaxRanges] = {};
  for (int64_t i = 0; i < block.count; ++i) ++next[block.at[i] >> s.shift];
  int32_t sum = 0;
  for (int64_t r = 0; r < s.ranges; ++r) {
    const int32_t n = std::exchange(next[r], sum);
    s.ends.data()[b * s.ranges + r] = sum += n;
  }
  int64_t* at = s.at.data() + b * kBlock;
  int64_t to[kBlock];
  for (int64_t i = 0; i < block.count; ++i) {
    to[i] = next[block.at[i] >> s.shift]++;
    at[to[i]] = block.at[i];
  }
  std::byte* from = s.from.data() + b * kBlock * s.from_bytes;
  if (!single_) {
    for (int64_t i = 0; i < block.count; ++i)
      reinterpret_cast<int64_t*>(from)[to[i]] = block.from[i];
  } else if (in_order_ && block.count == end - begin) {
    sets_.elements(from, to, element(updates, begin), block.count);
  } else {
    sets_.chosen(from, to, updates, block.from, block.count);
  }
}

void Scatter::fold_range(const Sorted& s, int64_t r, const void* updates, void* out) const {
  for (int64_t b = 0; b < s.blocks; ++b) {
    const int32_t* ends = s.ends.data() + b * s.ranges;
    const int64_t first = r == 0 ? 0 : ends[r - 1], n = ends[r] - first;
    if (n == 0) continue;
    const int64_t* at = s.at.data() + b * kBlock + first;
    const std::byte* from = s.from.data() + (b * kBlock + first) * s.from_bytes;
    if (single_) {
      folds_.elements(out, at, from, n);
      continue;
    }
    for (size_t k = 0; k < runs_.in_operand.size(); ++k)
      folds_.rows(element(out, runs_.in_operand[k]), at, element(updates, runs_.in_windows[k]),
                  reinterpret_cast<const int64_t*>(from), n, runs_.run);
  }
}

void copy_array(const void* from, void* to, int64_t bytes) {
  constexpr int64_t kChunk = 1 << 20;
  if (from == to) return;
  parallel_for_ranges(bytes, kChunk, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

}  // namespace

HostCall scatter_call(const OpParams& params, std::span<const Type> operands,
                      std::span<const Type> results) {
  const auto& p = params.as<ScatterParams>();
  std::vector<int64_t> bytes;
  for (const Type& result : results) bytes.push_back(result.elements() * itemsize(result.dtype));
  std::shared_ptr<const Scatter> scatter;
  std::shared_ptr<const ScatterByBody> by_body;
  if (results[0].elements() > 0 && operands.back().elements() > 0) {
    if (p.kind == ScatterKind::kCustom) {
      by_body = std::make_shared<const ScatterByBody>(p, operands);
    } else {
      scatter = std::make_shared<const Scatter>(p, operands[0], operands[1], operands[2]);
    }
  }
  return [=](std::span<const void* const> in, std::span<void* const> out) {
    for (size_t k = 0; k < out.size(); ++k) copy_array(in[k], out[k], bytes[k]);
    if (scatter) scatter->run(in[1], in[2], out[0]);
    if (by_body) by_body->run(in, out);
  };
}

}  // namespace tessera::ops
