#include "tessera/ops/indexing/window_addresses.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "tessera/base/instructions.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/format.h"

namespace tessera::ops {
namespace {

struct Places {
  int64_t first, step;  // offset of the first window, and step to the next, if starts are 0
};

// Writes to `at` the offsets of windows that are placed by these starts, and -1 for starts that are
// not in [0, limit). An unsigned start beyond int64 becomes negative, so it counts as outside.
template <class T>
[[gnu::always_inline]] inline void place_starts(const T* starts, int64_t stride, int64_t limit,
                                                int64_t scale, Places places, int64_t n,
                                                int64_t* __restrict at) {
  for (int64_t i = 0; i < n; ++i) {
    const auto start = static_cast<int64_t>(starts[i * stride]);
    const bool inside = start >= 0 && start < limit;
    at[i] = inside ? places.first + i * places.step + start * scale : -1;
  }
}

template <class T>
[[gnu::always_inline]] inline void add_starts(const T* starts, int64_t stride, int64_t limit,
                                              int64_t scale, int64_t n, int64_t* __restrict at) {
  for (int64_t i = 0; i < n; ++i) {
    const auto start = static_cast<int64_t>(starts[i * stride]);
    const bool inside = start >= 0 && start < limit && at[i] >= 0;
    at[i] = inside ? at[i] + start * scale : -1;
  }
}

// A component of an index vector: its starts are in [0, limit), and its step in the operand.
struct Component {
  int32_t limit, scale;
};
// Writes the offsets of windows that are placed by vectors of `size` adjacent starts, and returns
// how many are inside. One pass, with products of 32-bit numbers, which AVX2 has.
template <size_t size>
[[gnu::always_inline]] inline int64_t place_vectors(const int32_t* __restrict starts,
                                                    std::array<Component, size> components,
                                                    Places places, int64_t n,
                                                    int64_t* __restrict at) {
  int64_t inside = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t offset = places.first + i * places.step;
    bool all = true;
    for (size_t c = 0; c < size; ++c) {
      const int32_t start = starts[static_cast<size_t>(i) * size + c];
      all = all & (start >= 0) & (start < components[c].limit);
      offset += static_cast<int64_t>(start) * components[c].scale;
    }
    at[i] = all ? offset : -1;
    inside += all ? 1 : 0;
  }
  return inside;
}

#if defined(__x86_64__)
// The same for pairs, four at a time. A pair stays in the 64 bits it comes in: both starts are
// compared at once, and each product reads the 32 bits that it needs. What compilers make of the
// loop above moves all first starts and all second starts into vectors of their own before.
TESSERA_AVX2 int64_t place_pairs_avx2(const int32_t* __restrict starts,
                                      std::array<Component, 2> components, Places places, int64_t n,
                                      int64_t* __restrict at) {
  if (components[0].limit == 0 || components[1].limit == 0) {
    std::fill(at, at + n, int64_t{-1});
    return 0;
  }
  // Starts are compared as unsigned numbers, so that negative ones are too large.
  const auto largest = [&](size_t c) { return static_cast<uint32_t>(components[c].limit - 1); };
  const __m256i most = _mm256_set1_epi64x(
                    static_cast<int64_t>(uint64_t{largest(1)} << 32 | largest(0))),
                first = _mm256_set1_epi64x(components[0].scale),
                second = _mm256_set1_epi64x(components[1].scale),
                step = _mm256_set1_epi64x(4 * places.step);
  const __m256i all = _mm256_set1_epi64x(-1);
  __m256i offset = _mm256_set_epi64x(places.first + 3 * places.step, places.first + 2 * places.step,
                                     places.first + places.step, places.first);
  __m256i inside = _mm256_setzero_si256();
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256i pair = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(starts + 2 * i));
    const __m256i fits =
        _mm256_cmpeq_epi64(_mm256_cmpeq_epi32(_mm256_min_epu32(pair, most), pair), all);
    const __m256i moved = _mm256_add_epi64(_mm256_mul_epi32(pair, first),
                                           _mm256_mul_epi32(_mm256_srli_epi64(pair, 32), second));
    const __m256i place = _mm256_add_epi64(offset, moved);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + i), _mm256_blendv_epi8(all, place, fits));
    inside = _mm256_sub_epi64(inside, fits);
    offset = _mm256_add_epi64(offset, step);
  }
  alignas(32) std::array<int64_t, 4> counts{};
  _mm256_store_si256(reinterpret_cast<__m256i*>(counts.data()), inside);
  const Places rest{places.first + i * places.step, places.step};
  return counts[0] + counts[1] + counts[2] + counts[3] +
         place_vectors<2>(starts + 2 * i, components, rest, n - i, at + i);
}
#endif

}  // namespace

WindowAddresses::WindowAddresses(const IndexedWindows& windows, DType index_dtype)
    : index_dtype_(index_dtype), count_(windows.count()) {
  const Dims operand = row_major_strides(windows.operand),
             indices = row_major_strides(windows.indices),
             updates = row_major_strides(windows.windows);
  const bool vectors = windows.index_vector_dim < windows.indices.rank();
  for (size_t k = 0; k < windows.index_dims.size(); ++k) {
    const int64_t d = windows.index_dims[k], batch = windows.batch_dims[k];
    Walk walk{windows.indices[d], indices[d], 0, updates[batch]};
    for (size_t i = 0; i < windows.dims.size(); ++i)
      if (windows.dims[i].batch == batch) walk.operand = operand[i];
    if (walk.extent == 1) continue;
    if (!walks_.empty()) {
      Walk& outer = walks_.back();
      if (outer.index == walk.extent * walk.index && outer.operand == walk.extent * walk.operand &&
          outer.updates == walk.extent * walk.updates) {
        walk.extent *= outer.extent;
        outer = walk;
        continue;
      }
    }
    walks_.push_back(walk);
  }
  if (walks_.empty()) walks_.push_back({1, 0, 0, 0});
  for (size_t d = 0; d < windows.dims.size(); ++d) {
    const IndexedWindows::Dim& dim = windows.dims[d];
    if (dim.component < 0) continue;
    terms_.push_back({vectors ? dim.component * indices[windows.index_vector_dim] : 0,
                      std::max<int64_t>(0, windows.operand[d] - dim.size + 1), operand[d]});
  }
  pairs_ = terms_.size() == 2 && terms_[0].entry == 0 && terms_[1].entry == 1 &&
           std::all_of(terms_.begin(), terms_.end(), [](const Term& t) {
             return t.limit <= std::numeric_limits<int32_t>::max() &&
                    t.stride <= std::numeric_limits<int32_t>::max();
           });
}

bool WindowAddresses::consecutive(int64_t elements) const {
  return walks_.size() == 1 && (walks_[0].extent == 1 || walks_[0].updates == elements);
}

int64_t WindowAddresses::group() const {
  return walks_[0].operand != 0 ? count_ / walks_[0].extent : count_;
}

template <class F>
void WindowAddresses::for_each_line(int64_t begin, int64_t end, F&& f) const {
  const Walk& last = walks_.back();
  while (begin < end) {
    int64_t rest = begin / last.extent;
    const int64_t i = begin % last.extent;
    Line line{i * last.index, i * last.operand, i * last.updates,
              std::min(end - begin, last.extent - i)};
    for (size_t k = walks_.size() - 1; k-- > 0;) {
      const int64_t j = rest % walks_[k].extent;
      rest /= walks_[k].extent;
      line.index += j * walks_[k].index;
      line.operand += j * walks_[k].operand;
      line.updates += j * walks_[k].updates;
    }
    f(line);
    begin += line.length;
  }
}

template <class T>
[[gnu::always_inline]] inline int64_t WindowAddresses::place(const T* indices, const Line& line,
                                                             int64_t* at) const {
  const Walk& walk = walks_.back();
  const int64_t n = line.length;
  const Places places{line.operand, walk.operand};
  if (terms_.empty()) {
    for (int64_t i = 0; i < n; ++i) at[i] = places.first + i * places.step;
    return n;
  }
  if constexpr (std::is_same_v<T, int32_t>) {
    if (pairs_ && walk.index == 2) {
      const auto component = [&](size_t k) {
        return Component{static_cast<int32_t>(terms_[k].limit),
                         static_cast<int32_t>(terms_[k].stride)};
      };
      const std::array<Component, 2> both{component(0), component(1)};
#if defined(__x86_64__)
      if (has_avx2()) return place_pairs_avx2(indices + line.index, both, places, n, at);
#endif
      return place_vectors<2>(indices + line.index, both, places, n, at);
    }
  }
  for (size_t k = 0; k < terms_.size(); ++k) {
    const Term& t = terms_[k];
    const T* starts = indices + line.index + t.entry;
    if (k > 0) {
      add_starts(starts, walk.index, t.limit, t.stride, n, at);
    } else if (walk.index == 1) {
      place_starts(starts, 1, t.limit, t.stride, places, n, at);
    } else {
      place_starts(starts, walk.index, t.limit, t.stride, places, n, at);
    }
  }
  int64_t inside = 0;
  for (int64_t i = 0; i < n; ++i) inside += at[i] >= 0 ? 1 : 0;
  return inside;
}

template <class T>
TESSERA_AVX2 int64_t WindowAddresses::place_avx2(const T* indices, const Line& line,
                                                 int64_t* at) const {
  return place(indices, line, at);
}

int64_t WindowAddresses::find(const void* indices, int64_t begin, int64_t end, int64_t* at) const {
  const bool avx2 = has_avx2();
  int64_t inside = 0;
  visit_dtype(index_dtype_, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for_each_line(begin, end, [&](const Line& line) {
        const auto* all = static_cast<const T*>(indices);
        inside += avx2 ? place_avx2(all, line, at) : place(all, line, at);
        at += line.length;
      });
    } else {
      TESSERA_CHECK(false, "indices are integers");
    }
  });
  return inside;
}

std::optional<int64_t> WindowAddresses::column_stride() const {
  if (walks_.size() > 1 || terms_.size() != 1 || itemsize(index_dtype_) < 4) return std::nullopt;
  const Walk& walk = walks_[0];
  if (walk.extent > 1 && (walk.index != 1 || walk.operand != 0)) return std::nullopt;
  return terms_[0].stride;
}

int64_t WindowAddresses::column_largest() const {
  int64_t most = std::numeric_limits<int64_t>::max();
  if (itemsize(index_dtype_) == 4)
    most = is_signed(index_dtype_) ? int64_t{std::numeric_limits<int32_t>::max()}
                                   : int64_t{std::numeric_limits<uint32_t>::max()};
  return std::min(most, terms_[0].limit - 1);
}

void WindowAddresses::find_updates(int64_t begin, int64_t end, int64_t* from) const {
  const int64_t step = walks_.back().updates;
  for_each_line(begin, end, [&](const Line& line) {
    for (int64_t i = 0; i < line.length; ++i) from[i] = line.updates + i * step;
    from += line.length;
  });
}

}  // namespace tessera::ops
