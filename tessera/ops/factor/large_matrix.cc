#include "tessera/ops/factor/large_matrix.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/factor/block_reflectors.h"

namespace tessera::ops::factor {
namespace {

using lapack::Real;

constexpr int64_t kLarge = 192;

int as_int(int64_t n) { return static_cast<int>(n); }

// Returns whether the largest absolute value of an element is in [low, high]; then LAPACK computes
// without scaling.
template <class T>
bool is_within(const T* a, int64_t count, Real<T> low, Real<T> high) {
  Real<T> largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Real<T> size = std::max(std::abs(std::real(a[i])), std::abs(std::imag(a[i])));
    if (!(size <= high)) return false;  // also if `size` is NaN
    largest = std::max(largest, size);
  }
  return largest >= low;
}

}  // namespace

bool is_large(int64_t m, int64_t n) { return std::min(m, n) >= kLarge; }

// Panels are factored by recursion; the columns after a panel are updated by tasks.
template <class T>
void large_qr(int64_t m, int64_t n, T* a, int64_t columns, T* q) {
  constexpr int64_t kBlock = BlockReflectors<T>::kBlock;
  const int64_t count = std::min(m, n);
  BlockReflectors<T> reflectors(m, count);
  const Workspace<T> triangle(kBlock * kBlock);
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t size = std::min(kBlock, count - first);
    T* panel = a + first * m + first;
    lapack::geqrt3(as_int(m - first), as_int(size), panel, as_int(m), triangle.data(),
                   as_int(kBlock));
    reflectors.take_block(first, panel, m, triangle.data(), kBlock);
    reflectors.apply_adjoint_of_block(first, panel + size * m, m, n - first - size);
  }
  parallel_for_ranges(columns, 64, [&](int64_t begin, int64_t end) {
    std::fill(q + begin * m, q + end * m, T{});
    for (int64_t j = begin; j < end; ++j) q[j * m + j] = T{1};
  });
  reflectors.apply(q, m, columns, /*of_identity=*/true);
}

template <class T>
bool large_eigh(int64_t n, T* a, Real<T>* w, T* z, int* info) {
  using R = Real<T>;
  const R low = std::sqrt(std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon());
  if (!is_large(n, n) || !is_within(a, n * n, 2 * low, 1 / (2 * low))) return false;
  const Workspace<R> e(n), vectors(n * n);
  const Workspace<T> taus(n);
  lapack::sytrd('L', as_int(n), a, w, e.data(), taus.data());
  *info = lapack::stedc(as_int(n), w, e.data(), vectors.data());
  if (*info != 0) return true;
  BlockReflectors<T> reflectors(n - 1, n - 1);
  reflectors.take(a + 1, n, taus.data());
  std::copy_n(vectors.data(), n * n, z);
  reflectors.apply(z + 1, n, n);
  return true;
}

template <class T>
bool large_svd(int64_t m, int64_t n, T* a, Real<T>* s, T* u, T* v, int* info) {
  using R = Real<T>;
  const R low = std::sqrt(std::numeric_limits<R>::min()) / std::numeric_limits<R>::epsilon();
  if (!is_large(m, n) || !is_within(a, m * n, 2 * low, 1 / (2 * low))) return false;
  const Workspace<R> e(n), left(n * n), right(n * n);
  const Workspace<T> left_taus(n), right_taus(n), rows(n * n);
  lapack::gebrd(as_int(m), as_int(n), a, s, e.data(), left_taus.data(), right_taus.data());
  *info = lapack::bdsdc(as_int(n), s, e.data(), left.data(), right.data());
  if (*info != 0) return true;
  BlockReflectors<T> of_u(m, n), of_v(n - 1, n - 1);
  of_u.take(a, m, left_taus.data());
  // The vectors of the reflectors from the right are rows of a, conjugated, beyond the first
  // superdiagonal.
  for (int64_t j = 1; j < n; ++j)
    for (int64_t i = 0; i < j; ++i) {
      T x = a[j * m + i];
      if constexpr (lapack::is_complex<T>) x = std::conj(x);
      rows.data()[i * (n - 1) + j - 1] = x;
    }
  of_v.take(rows.data(), n - 1, right_taus.data());
  for (int64_t j = 0; j < n; ++j) {
    std::copy_n(left.data() + j * n, n, u + j * m);
    std::fill_n(u + j * m + n, m - n, T{});
    for (int64_t i = 0; i < n; ++i) v[j * n + i] = right.data()[i * n + j];
  }
  of_u.apply(u, m, n);
  of_v.apply(v + 1, n, n);
  return true;
}

#define TESSERA_INSTANTIATE(T)                                       \
  template void large_qr(int64_t, int64_t, T*, int64_t, T*);         \
  template bool large_eigh(int64_t, T*, lapack::Real<T>*, T*, int*); \
  template bool large_svd(int64_t, int64_t, T*, lapack::Real<T>*, T*, T*, int*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
TESSERA_INSTANTIATE(std::complex<float>)
TESSERA_INSTANTIATE(std::complex<double>)

}  // namespace tessera::ops::factor
