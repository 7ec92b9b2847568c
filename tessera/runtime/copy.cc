#include "tessera/runtime/copy.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/base/parallel_copy.h"
#include "tessera/base/thread_pool.h"
#include "tessera/ir/format.h"

namespace tessera::runtime {
namespace {

// Copies `count` runs of a size known at compile time: a move for each, instead of a call.
template <size_t kRun>
void copy_row(std::byte* dst, int64_t dst_stride, const std::byte* src, int64_t src_stride,
              int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, kRun);
}

void copy_row(std::byte* dst, int64_t dst_stride, const std::byte* src, int64_t src_stride,
              int64_t count, int64_t run) {
  switch (run) {
    case 1:
      return copy_row<1>(dst, dst_stride, src, src_stride, count);
    case 2:
      return copy_row<2>(dst, dst_stride, src, src_stride, count);
    case 4:
      return copy_row<4>(dst, dst_stride, src, src_stride, count);
    case 8:
      return copy_row<8>(dst, dst_stride, src, src_stride, count);
    case 16:
      return copy_row<16>(dst, dst_stride, src, src_stride, count);
    case 32:
      return copy_row<32>(dst, dst_stride, src, src_stride, count);
    default:
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(dst + i * dst_stride, src + i * src_stride, static_cast<size_t>(run));
  }
}

// Copies runs [begin, end), numbered in row-major order of the extents.
void copy_runs(const CopyPattern& p, std::byte* dst, const std::byte* src, int64_t begin,
               int64_t end) {
  const int64_t rank = p.extents.rank();
  if (rank == 0) {
    if (begin < end) std::memcpy(dst, src, static_cast<size_t>(p.run));
    return;
  }
  const int64_t row = p.extents.back();
  while (begin < end) {
    const int64_t first = begin % row;
    const int64_t count = std::min(row - first, end - begin);
    int64_t rest = begin / row, d = first * p.dst_strides.back(), s = first * p.src_strides.back();
    for (int64_t i = rank - 2; i >= 0; --i) {
      const int64_t index = rest % p.extents[i];
      rest /= p.extents[i];
      d += index * p.dst_strides[i];
      s += index * p.src_strides[i];
    }
    copy_row(dst + d, p.dst_strides.back(), src + s, p.src_strides.back(), count, p.run);
    begin += count;
  }
}

std::pair<int64_t, int64_t> run_offsets(const CopyPattern& p, int64_t index) {
  int64_t d = 0, s = 0;
  for (int64_t i = p.extents.rank() - 1; i >= 0; --i) {
    const int64_t at = index % p.extents[i];
    index /= p.extents[i];
    d += at * p.dst_strides[i];
    s += at * p.src_strides[i];
  }
  return {d, s};
}

}  // namespace

Dims byte_strides(const Shape& shape, int64_t itemsize) {
  Dims strides = row_major_strides(shape);
  for (int64_t& s : strides) s *= itemsize;
  return strides;
}

CopyPattern make_copy_pattern(const Shape& extents, const Dims& dst_strides,
                              const Dims& src_strides, int64_t itemsize) {
  TESSERA_CHECK(extents.size() == dst_strides.size() && extents.size() == src_strides.size());
  CopyPattern p;
  if (extents.elements() == 0) return p;
  p.run = itemsize;
  // Starts with the innermost dimension; `p` grows outwards and is reversed at the end.
  for (int64_t i = extents.rank() - 1; i >= 0; --i) {
    const int64_t n = extents[i];
    if (n == 1) continue;
    if (p.extents.empty() && dst_strides[i] == p.run && src_strides[i] == p.run) {
      p.run *= n;
    } else if (!p.extents.empty() && dst_strides[i] == p.dst_strides.back() * p.extents.back() &&
               src_strides[i] == p.src_strides.back() * p.extents.back()) {
      p.extents.back() *= n;
    } else {
      p.extents.push_back(n);
      p.dst_strides.push_back(dst_strides[i]);
      p.src_strides.push_back(src_strides[i]);
    }
  }
  std::reverse(p.extents.begin(), p.extents.end());
  std::reverse(p.dst_strides.begin(), p.dst_strides.end());
  std::reverse(p.src_strides.begin(), p.src_strides.end());
  return p;
}

int64_t copy_pieces(const CopyPattern& p) {
  if (p.run == 0) return 0;
  if (p.run > kCopyGrain) return p.runs() * ceil_div(p.run, kCopyGrain);
  return ceil_div(p.runs(), std::max<int64_t>(1, kCopyGrain / p.run));
}

void copy_piece(const CopyPattern& p, std::byte* dst, const std::byte* src, int64_t piece,
                bool streaming) {
  if (p.run <= kCopyGrain) {
    const int64_t each = std::max<int64_t>(1, kCopyGrain / p.run);
    const int64_t begin = piece * each, end = std::min(p.runs(), begin + each);
    if (!streaming || p.run < 512) return copy_runs(p, dst, src, begin, end);
    for (int64_t i = begin; i < end; ++i) {
      const auto [d, s] = run_offsets(p, i);
      stream_bytes(dst + d, src + s, static_cast<size_t>(p.run));
    }
    return stream_fence();
  }
  const int64_t pieces = ceil_div(p.run, kCopyGrain);
  const auto [d, s] = run_offsets(p, piece / pieces);
  const int64_t begin = piece % pieces * kCopyGrain, bytes = std::min(kCopyGrain, p.run - begin);
  if (streaming) {
    stream_bytes(dst + d + begin, src + s + begin, static_cast<size_t>(bytes));
    stream_fence();
  } else {
    std::memcpy(dst + d + begin, src + s + begin, static_cast<size_t>(bytes));
  }
}

void copy_all(const CopyPattern& p, std::byte* dst, const std::byte* src) {
  copy_runs(p, dst, src, 0, p.runs());
}

void run_copies(const std::vector<RegionCopy>& copies) {
  int64_t bytes = 0, pieces = 0;
  for (const RegionCopy& copy : copies) bytes += copy.pattern.bytes();
  if (bytes <= kCopyGrain) {
    for (const RegionCopy& copy : copies) copy_all(copy.pattern, copy.dst, copy.src);
    return;
  }
  std::vector<int64_t> first;  // the number of the first piece of each copy
  for (const RegionCopy& copy : copies) {
    first.push_back(pieces);
    pieces += copy_pieces(copy.pattern);
  }
  parallel_for(pieces, [&](int64_t piece) {
    const auto i = static_cast<size_t>(std::upper_bound(first.begin(), first.end(), piece) -
                                       first.begin() - 1);
    copy_piece(copies[i].pattern, copies[i].dst, copies[i].src, piece - first[i],
               bytes >= kStreamingBytes);
  });
}

}  // namespace tessera::runtime
