#include "tessera/base/parallel_copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "tessera/base/thread_pool.h"

namespace tessera {
namespace {

// How many bytes one task copies.
constexpr int64_t kCopyTask = int64_t{1} << 20;

#if defined(__x86_64__)
__attribute__((target("avx2"))) void stream_avx2(std::byte* dst, const std::byte* src,
                                                 size_t bytes) {
  const size_t head = std::min(bytes, (32 - reinterpret_cast<uintptr_t>(dst) % 32) % 32);
  std::memcpy(dst, src, head);
  size_t i = head;
  for (; i + 128 <= bytes; i += 128) {
    const auto* s = reinterpret_cast<const __m256i*>(src + i);
    auto* d = reinterpret_cast<__m256i*>(dst + i);
    const __m256i a = _mm256_loadu_si256(s), b = _mm256_loadu_si256(s + 1),
                  c = _mm256_loadu_si256(s + 2), e = _mm256_loadu_si256(s + 3);
    _mm256_stream_si256(d, a);
    _mm256_stream_si256(d + 1, b);
    _mm256_stream_si256(d + 2, c);
    _mm256_stream_si256(d + 3, e);
  }
  std::memcpy(dst + i, src + i, bytes - i);
}
const bool kHasAvx2 = __builtin_cpu_supports("avx2");
#endif

}  // namespace

#if defined(__x86_64__)
void stream_bytes(std::byte* dst, const std::byte* src, size_t bytes) {
  kHasAvx2 ? stream_avx2(dst, src, bytes) : static_cast<void>(std::memcpy(dst, src, bytes));
}
void stream_fence() { _mm_sfence(); }
#else
void stream_bytes(std::byte* dst, const std::byte* src, size_t bytes) {
  std::memcpy(dst, src, bytes);
}
void stream_fence() {}
#endif

void copy_bytes(std::byte* dst, const std::byte* src, int64_t bytes) {
  if (bytes == 0) return;
  parallel_for_ranges(bytes, kCopyTask, [&](int64_t begin, int64_t end) {
    const auto n = static_cast<size_t>(end - begin);
    if (bytes < kStreamingBytes) {
      std::memcpy(dst + begin, src + begin, n);
    } else {
      stream_bytes(dst + begin, src + begin, n);
      stream_fence();
    }
  });
}

void fill_zeros(std::byte* dst, int64_t bytes) {
  parallel_for_ranges(bytes, kCopyTask, [&](int64_t begin, int64_t end) {
    std::memset(dst + begin, 0, static_cast<size_t>(end - begin));
  });
}

}  // namespace tessera
