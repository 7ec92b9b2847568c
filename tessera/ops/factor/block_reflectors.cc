#include "tessera/ops/factor/block_reflectors.h"

#include <algorithm>
#include <complex>

#include "tessera/base/thread_pool.h"

namespace tessera::ops::factor {
namespace {

// How many columns a task has: enough for products at full speed, few enough to occupy all threads.
constexpr int64_t kColumnsOfTask = 128;

template <class T>
constexpr char kAdjoint = lapack::is_complex<T> ? 'C' : 'T';

int as_int(int64_t n) { return static_cast<int>(n); }

}  // namespace

template <class T>
BlockReflectors<T>::BlockReflectors(int64_t rows, int64_t count)
    : rows_(rows), count_(count), v_(rows * count), t_(kBlock * count) {}

template <class T>
int64_t BlockReflectors<T>::size_of(int64_t first) const {
  return std::min(kBlock, count_ - first);
}

template <class T>
void BlockReflectors<T>::copy_vectors(int64_t first, const T* panel, int64_t lda) {
  for (int64_t i = 0; i < size_of(first); ++i) {
    T* v = v_.data() + (first + i) * rows_ + first;
    std::fill_n(v, i, T{});
    v[i] = T{1};
    std::copy_n(panel + i * lda + i + 1, rows_ - first - i - 1, v + i + 1);
  }
}

template <class T>
void BlockReflectors<T>::take_block(int64_t first, const T* panel, int64_t lda, const T* triangle,
                                    int64_t ldt) {
  copy_vectors(first, panel, lda);
  for (int64_t i = 0; i < size_of(first); ++i) {
    T* column = t_.data() + (first + i) * kBlock;
    std::copy_n(triangle + i * ldt, i + 1, column);
    std::fill_n(column + i + 1, kBlock - i - 1, T{});
  }
}

// Computes column i of T, which is -tau T V^H v above the diagonal, from the inner products of
// vectors.
template <class T>
void BlockReflectors<T>::take(const T* a, int64_t lda, const T* taus) {
  const int64_t blocks = (count_ + kBlock - 1) / kBlock;
  parallel_for(blocks, [&](int64_t block) {
    const int64_t first = block * kBlock, size = size_of(first);
    copy_vectors(first, a + first * lda + first, lda);
    const T* v = v_.data() + first * rows_ + first;
    const Workspace<T> products(size * size);
    lapack::gemm(kAdjoint<T>, 'N', as_int(size), as_int(size), as_int(rows_ - first), T{1}, v,
                 as_int(rows_), v, as_int(rows_), T{}, products.data(), as_int(size));
    for (int64_t i = 0; i < size; ++i) {
      T* column = t_.data() + (first + i) * kBlock;
      std::fill_n(column, kBlock, T{});
      for (int64_t k = 0; k < i; ++k) {
        const T weight = -taus[first + i] * products.data()[i * size + k];
        const T* other = t_.data() + (first + k) * kBlock;
        for (int64_t j = 0; j <= k; ++j) column[j] += weight * other[j];
      }
      column[i] = taus[first + i];
    }
  });
}

template <class T>
void BlockReflectors<T>::apply_block(int64_t first, bool adjoint, T* c, int64_t ldc,
                                     int64_t columns) const {
  const int rows = as_int(rows_ - first), size = as_int(size_of(first)), ldv = as_int(rows_),
            n = as_int(columns), to = as_int(ldc);
  const T* v = v_.data() + first * rows_ + first;
  const Workspace<T> inner(size * columns), turned(size * columns);
  lapack::gemm(kAdjoint<T>, 'N', size, n, rows, T{1}, v, ldv, c, to, T{}, inner.data(), size);
  lapack::gemm(adjoint ? kAdjoint<T> : 'N', 'N', size, n, size, T{1}, t_.data() + first * kBlock,
               as_int(kBlock), inner.data(), size, T{}, turned.data(), size);
  lapack::gemm('N', 'N', rows, n, size, T{-1}, v, ldv, turned.data(), size, T{1}, c, to);
}

template <class T>
void BlockReflectors<T>::apply(T* c, int64_t ldc, int64_t columns, bool of_identity) const {
  parallel_for_ranges(columns, kColumnsOfTask, [&](int64_t begin, int64_t end) {
    // A reflector i >= end leaves the first `end` columns of the identity unchanged.
    const int64_t count = of_identity ? std::min(count_, end) : count_;
    for (int64_t first = (count - 1) / kBlock * kBlock; first >= 0; first -= kBlock)
      apply_block(first, false, c + begin * ldc + first, ldc, end - begin);
  });
}

template <class T>
void BlockReflectors<T>::apply_adjoint_of_block(int64_t first, T* c, int64_t ldc,
                                                int64_t columns) const {
  parallel_for_ranges(columns, kColumnsOfTask, [&](int64_t begin, int64_t end) {
    apply_block(first, true, c + begin * ldc, ldc, end - begin);
  });
}

template class BlockReflectors<float>;
template class BlockReflectors<double>;
template class BlockReflectors<std::complex<float>>;
template class BlockReflectors<std::complex<double>>;

}  // namespace tessera::ops::factor
