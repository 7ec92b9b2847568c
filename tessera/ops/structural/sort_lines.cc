#include "tessera/ops/structural/sort_lines.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/structural/keys_before.h"
#include "tessera/ops/structural/radix_sort.h"
#include "tessera/ops/structural/select_first.h"
#include "tessera/ops/structural/sort_keys.h"

namespace tessera::ops {
namespace {

// About how many elements the lines of one task have together.
constexpr int64_t kTaskElements = 4096;

// Up to this many first elements are always selected.
constexpr int64_t kMostFew = FewCandidates<uint64_t>::kMostFew;
// More are selected if there are at least this many elements for each one that is wanted; otherwise
// all are sorted, which takes longer for keys of more than 32 bits.
constexpr int64_t kSelectOneOf = 16, kSelectOneOfWide = 4;

// Calls fn(begin, end) for ranges of the elements of a line, in parallel if it is long.
template <class F>
void over_line(int64_t n, F fn) {
  parallel_for_ranges(n, in_parallel_task() ? n : kItemsPerThread, fn);
}

// A word of an element's keys, and the index of that element in the line.
struct Placed {
  uint64_t word;
  uint64_t place;
};

// Memory that is used again from line to line.
struct Workspace {
  std::vector<uint64_t> order, spare;
  std::vector<Placed> placed, placed_spare;
  std::vector<std::vector<uint64_t>> words;
};

// Calls fn(TypeTag<T>, KeyMaker, part): T is the type of the elements, and part(x) is the part of
// an element that is the key.
template <class F>
void visit_key(const SortKey& key, DType dtype, F fn) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_complex_type<T>) {
      using Part = typename T::value_type;
      const bool real = key.part == KeyPart::kReal;
      fn(TypeTag<T>{}, KeyMaker<Part>(key), [real](T z) { return real ? z.real() : z.imag(); });
    } else {
      fn(TypeTag<T>{}, KeyMaker<T>(key), [](T value) { return value; });
    }
  });
}

int key_bits(const SortKey& key, DType dtype) {
  return static_cast<int>(itemsize(dtype)) * (key.part == KeyPart::kWhole ? 8 : 4);
}

class LineSorter {
 public:
  LineSorter(const SortOrder& order, std::span<const DType> dtypes, const Lines& lines,
             std::span<const std::byte* const> x, std::span<std::byte* const> out)
      : order_(order), dtypes_(dtypes), lines_(lines), x_(x), out_(out) {
    for (const SortKey& key : order_) {
      const int bits = key_bits(key, dtypes_[key.operand]);
      if (word_bits_.empty() || word_bits_.back() + bits > 64) word_bits_.push_back(0);
      word_bits_.back() += bits;
    }
  }

  void sort(int64_t line, Workspace& w) const {
    const int64_t begin = lines_.begin(line);
    if (order_.size() == 1 && x_.size() == 1 && order_[0].part == KeyPart::kWhole) {
      sort_values(begin);
      return;
    }
    find_order(begin, w);
    for (size_t k = 0; k < x_.size(); ++k) move(k, begin, w.order);
  }

  // Computes w.order: the indices of the first `count` elements of the line, in the order of the
  // keys.
  void find_first(int64_t line, int64_t count, Workspace& w) const {
    const int64_t begin = lines_.begin(line);
    if (count == 0) {
      w.order.clear();
    } else if (selects(count)) {
      select_first(begin, count, w.order);
    } else {
      find_order(begin, w);
      w.order.resize(static_cast<size_t>(count));
    }
  }

 private:
  // Returns whether selecting the first elements takes less time than sorting all.
  bool selects(int64_t count) const {
    if (order_.size() > 1) return false;
    if (count <= kMostFew) return true;
    return count <= lines_.size / (word_bits_[0] <= 32 ? kSelectOneOf : kSelectOneOfWide);
  }

  void select_first(int64_t begin, int64_t count, std::vector<uint64_t>& order) const {
    const SortKey& key = order_[0];
    visit_key(key, dtypes_[key.operand], [&]<class T>(TypeTag<T>, auto maker, auto part) {
      using Key = typename decltype(maker)::Key;
      const T* values = reinterpret_cast<const T*>(x_[key.operand]) + begin;
      // In each part of a long line the first `count` elements are found; the first of these are
      // those of the line.
      const int64_t n = lines_.size,
                    parts = in_parallel_task()
                                ? 1
                                : std::clamp<int64_t>(n / std::max(kItemsPerThread, 8 * count), 1,
                                                      num_threads());
      if (count <= kMostFew) {
        add_parts(values, maker, part, parts, FewCandidates<Key>(count), order);
      } else {
        add_parts(values, maker, part, parts, FirstCandidates<Key>(count), order);
      }
    });
  }

  // Sets `order` to the first elements, which candidates like `none` keep.
  template <class T, class Maker, class Part, class Candidates>
  void add_parts(const T* values, const Maker& maker, Part part, int64_t parts,
                 const Candidates& none, std::vector<uint64_t>& order) const {
    Candidates all = none;
    const int64_t n = lines_.size, size = (n + parts - 1) / parts;
    if (parts == 1) {
      add_candidates(values, maker, part, 0, n, all);
    } else {
      std::vector<Candidates> found(static_cast<size_t>(parts), none);
      parallel_for(parts, [&](int64_t p) {
        add_candidates(values, maker, part, p * size, std::min(n, (p + 1) * size), found[p]);
      });
      for (Candidates& part_found : found) {
        auto kept = part_found.first();
        std::vector<typename decltype(kept)::value_type> ones(kept.begin(), kept.end());
        std::sort(ones.begin(), ones.end(),
                  [](const auto& a, const auto& b) { return a.place < b.place; });
        for (const auto& one : ones) all.add(one.key, one.place);
      }
    }
    order.clear();
    for (const auto& one : all.first()) order.push_back(static_cast<uint64_t>(one.place));
  }

  template <class T, class Maker, class Part, class Candidates>
  void add_candidates(const T* values, const Maker& maker, Part part, int64_t begin, int64_t end,
                      Candidates& found) const {
    const int64_t stride = lines_.stride;
    for (int64_t at = begin; at < end; at += kKeyBlock) {
      const int64_t size = std::min(kKeyBlock, end - at);
      if constexpr (std::is_same_v<Maker, KeyMaker<T>>) {
        if (stride == 1 && size == kKeyBlock && found.is_full() &&
            !any_key_before(values + at, maker, found.last()))
          continue;
      }
      for (int64_t i = 0; i < size; ++i) found.add(maker(part(values[(at + i) * stride])), at + i);
    }
  }

  // Sorts the only operand, which is its own only key.
  void sort_values(int64_t begin) const {
    visit_dtype(dtypes_[0], [&]<class T>(TypeTag<T>) {
      if constexpr (!is_complex_type<T>) {
        const KeyMaker<T> maker(order_[0]);
        const int64_t n = lines_.size, stride = lines_.stride;
        const T* from = reinterpret_cast<const T*>(x_[0]) + begin;
        T* to = reinterpret_cast<T*>(out_[0]) + begin;
        std::vector<KeyOf<T>> keys(static_cast<size_t>(n)), spare;
        std::atomic<bool> loses_bits = false;
        over_line(n, [&](int64_t first, int64_t end) {
          bool loses = false;
          for (int64_t i = first; i < end; ++i) {
            const T value = from[i * stride];
            loses |= maker.loses_bits(value);
            keys[static_cast<size_t>(i)] = maker(value);
          }
          if (loses) loses_bits = true;
        });
        std::vector<T> zeros, nans;
        if (loses_bits) set_apart(maker, from, zeros, nans);
        radix_sort(keys, spare, 8 * static_cast<int>(sizeof(T)), [](auto key) { return key; });
        over_line(n, [&](int64_t first, int64_t end) {
          for (int64_t i = first; i < end; ++i)
            to[i * stride] = maker.element(keys[static_cast<size_t>(i)]);
        });
        put_back(keys, maker.zero(), zeros, to);
        put_back(keys, maker.nan(), nans, to);
      }
    });
  }

  // Collects the elements whose bits do not follow from their keys (zeros and NaNs), in their
  // order.
  template <class T>
  void set_apart(const KeyMaker<T>& maker, const T* from, std::vector<T>& zeros,
                 std::vector<T>& nans) const {
    if constexpr (has_float_key<T>) {
      for (int64_t i = 0; i < lines_.size; ++i) {
        const T value = from[i * lines_.stride];
        if (maker(value) == maker.zero()) zeros.push_back(value);
        if (maker.loses_bits(value) && maker(value) == maker.nan()) nans.push_back(value);
      }
    }
  }
  template <class T>
  void put_back(const std::vector<KeyOf<T>>& keys, KeyOf<T> key, const std::vector<T>& elements,
                T* to) const {
    if (elements.empty()) return;
    int64_t i = std::lower_bound(keys.begin(), keys.end(), key) - keys.begin();
    for (const T& element : elements) to[i++ * lines_.stride] = element;
  }

  // Computes w.order: the indices of the line's elements, in the order of the keys.
  void find_order(int64_t begin, Workspace& w) const {
    make_words(begin, w);
    const int64_t n = lines_.size;
    w.order.resize(static_cast<size_t>(n));
    if (word_bits_.size() == 1 && word_bits_[0] <= 32 && n < (int64_t{1} << 32)) {
      over_line(n, [&](int64_t first, int64_t end) {
        for (int64_t i = first; i < end; ++i)
          w.order[i] = w.words[0][i] << 32 | static_cast<uint64_t>(i);
      });
      radix_sort(w.order, w.spare, word_bits_[0], [](uint64_t item) { return item >> 32; });
      for (uint64_t& place : w.order) place &= 0xffffffffU;
      return;
    }
    w.placed.resize(static_cast<size_t>(n));
    for (size_t k = word_bits_.size(); k-- > 0;) {
      const bool first_round = k + 1 == word_bits_.size();
      over_line(n, [&](int64_t first, int64_t end) {
        for (int64_t i = first; i < end; ++i) {
          Placed& item = w.placed[i];
          if (first_round) item.place = static_cast<uint64_t>(i);
          item.word = w.words[k][item.place];
        }
      });
      radix_sort(w.placed, w.placed_spare, word_bits_[k],
                 [](const Placed& item) { return item.word; });
    }
    over_line(n, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) w.order[i] = w.placed[i].place;
    });
  }

  void make_words(int64_t begin, Workspace& w) const {
    const int64_t n = lines_.size, stride = lines_.stride;
    w.words.resize(word_bits_.size());
    for (auto& word : w.words) word.assign(static_cast<size_t>(n), 0);
    size_t at = 0;
    int used = 0;
    for (const SortKey& key : order_) {
      const DType dtype = dtypes_[key.operand];
      const int bits = key_bits(key, dtype);
      if (used + bits > 64) {
        ++at;
        used = 0;
      }
      used += bits;
      visit_key(key, dtype, [&]<class T>(TypeTag<T>, auto maker, auto part) {
        const T* values = reinterpret_cast<const T*>(x_[key.operand]) + begin;
        uint64_t* word = w.words[at].data();
        // The first key of a word is not shifted: a shift by 64 bits would be undefined.
        const int shift = bits == 64 ? 0 : bits;
        over_line(n, [&](int64_t first, int64_t end) {
          for (int64_t i = first; i < end; ++i)
            word[i] = word[i] << shift | uint64_t{maker(part(values[i * stride]))};
        });
      });
    }
  }

  void move(size_t k, int64_t begin, const std::vector<uint64_t>& order) const {
    visit_dtype(dtypes_[k], [&]<class T>(TypeTag<T>) {
      const T* from = reinterpret_cast<const T*>(x_[k]) + begin;
      T* to = reinterpret_cast<T*>(out_[k]) + begin;
      over_line(lines_.size, [&](int64_t first, int64_t end) {
        for (int64_t i = first; i < end; ++i)
          to[i * lines_.stride] = from[static_cast<int64_t>(order[i]) * lines_.stride];
      });
    });
  }

  const SortOrder& order_;
  std::span<const DType> dtypes_;
  const Lines& lines_;
  std::span<const std::byte* const> x_;
  std::span<std::byte* const> out_;
  std::vector<int> word_bits_;
};

bool has_nan(const SortKey& key, DType dtype, int64_t elements, const std::byte* x) {
  std::atomic<bool> found = false;
  visit_key(key, dtype, [&]<class T, class Part>(TypeTag<T>, KeyMaker<Part>, auto part) {
    if constexpr (has_float_key<Part>) {
      const T* values = reinterpret_cast<const T*>(x);
      over_line(elements, [&](int64_t first, int64_t end) {
        bool any = false;
        for (int64_t i = first; i < end; ++i)
          any |= is_nan_bits<Part>(std::bit_cast<KeyOf<Part>>(part(values[i])));
        if (any) found = true;
      });
    }
  });
  return found;
}

// Returns how many lines one task sorts. If lines are few and long, they are one task, in which
// each line is sorted in parallel.
int64_t lines_per_task(const Lines& lines) {
  if (lines.count < num_threads() && lines.size >= 2 * kItemsPerThread)
    return std::max<int64_t>(1, lines.count);
  return std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, lines.size));
}

}  // namespace

bool sort_by_keys(const SortOrder& order, std::span<const DType> dtypes, const Lines& lines,
                  std::span<const std::byte* const> x, std::span<std::byte* const> out) {
  for (const SortKey& key : order)
    if (key.nans == NanOrder::kUnordered &&
        has_nan(key, dtypes[key.operand], lines.count * lines.size, x[key.operand]))
      return false;
  const LineSorter sorter(order, dtypes, lines, x, out);
  parallel_for_ranges(lines.count, lines_per_task(lines), [&](int64_t begin, int64_t end) {
    Workspace workspace;
    for (int64_t line = begin; line < end; ++line) sorter.sort(line, workspace);
  });
  return true;
}

namespace {

// Copies the elements of a line of x at the indices `order` to the same line of `out`.
void copy_first(DType dtype, const Lines& lines, int64_t line, const std::vector<uint64_t>& order,
                const std::byte* x, std::byte* out) {
  const auto count = static_cast<int64_t>(order.size());
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    const T* from = reinterpret_cast<const T*>(x) + lines.begin(line);
    T* to = reinterpret_cast<T*>(out) + lines.begin_of(line, count);
    for (int64_t i = 0; i < count; ++i)
      to[i * lines.stride] = from[static_cast<int64_t>(order[i]) * lines.stride];
  });
}

void write_places(DType dtype, const Lines& lines, int64_t line, const std::vector<uint64_t>& order,
                  std::byte* out) {
  const auto count = static_cast<int64_t>(order.size());
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      T* to = reinterpret_cast<T*>(out) + lines.begin_of(line, count);
      for (int64_t i = 0; i < count; ++i) to[i * lines.stride] = static_cast<T>(order[i]);
    }
  });
}

}  // namespace

void first_by_keys(const SortOrder& order, std::span<const DType> dtypes, const Lines& lines,
                   int64_t count, std::optional<DType> index, std::span<const std::byte* const> x,
                   std::span<std::byte* const> out) {
  const LineSorter sorter(order, dtypes, lines, x, out);
  parallel_for_ranges(lines.count, lines_per_task(lines), [&](int64_t begin, int64_t end) {
    Workspace workspace;
    for (int64_t line = begin; line < end; ++line) {
      sorter.find_first(line, count, workspace);
      for (size_t k = 0; k < x.size(); ++k)
        copy_first(dtypes[k], lines, line, workspace.order, x[k], out[k]);
      if (index) write_places(*index, lines, line, workspace.order, out[x.size()]);
    }
  });
}

}  // namespace tessera::ops
