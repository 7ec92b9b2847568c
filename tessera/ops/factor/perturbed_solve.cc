#include "tessera/ops/factor/perturbed_solve.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "tessera/base/workspace.h"
#include "tessera/ops/factor/lapack.h"

namespace tessera::ops::factor {
namespace {

// A row of u, which is upper triangular with two diagonals above the main one.
template <class T>
struct Row {
  T diagonal, next, second;
};

// Divides a row of the solution by its pivot. A pivot for which the quotient overflows is moved
// away from 0 first.
template <class T>
void divide(int64_t n, lapack::Real<T> step, T pivot, T* row) {
  using R = lapack::Real<T>;
  constexpr R kSmallest = std::numeric_limits<R>::min(), kLargest = 1 / kSmallest;
  R most = 0;
  for (int64_t j = 0; j < n; ++j) most = std::max<R>(most, std::abs(row[j]));
  step = std::copysign(std::max(std::abs(step), kSmallest), std::real(pivot));
  for (R size = std::abs(pivot); size < 1; size = std::abs(pivot)) {
    const bool tiny = size < kSmallest;
    if (tiny ? size == 0 || most * kSmallest > size : most > size * kLargest) {
      pivot += step;
      step *= 2;
      continue;
    }
    if (tiny) {
      pivot *= kLargest;
      for (int64_t j = 0; j < n; ++j) row[j] *= kLargest;
    }
    break;
  }
  const T inverse = T{1} / pivot;
  for (int64_t j = 0; j < n; ++j) row[j] *= inverse;
}

}  // namespace

template <class T>
void perturbed_solve(int64_t m, int64_t n, const T* dl, const T* d, const T* du, const T* b, T* x) {
  using R = lapack::Real<T>;
  if (m == 0) return;
  std::copy_n(b, m * n, x);
  const Workspace<Row<T>> rows(m);
  Row<T>* u = rows.data();
  auto upper = [&](int64_t k) { return k + 1 < m ? du[k] : T{}; };
  u[0] = {d[0], upper(0), T{}};
  R largest = std::max(std::abs(u[0].diagonal), std::abs(u[0].next));
  R scale = std::abs(u[0].diagonal) + std::abs(u[0].next);
  for (int64_t k = 0; k + 1 < m; ++k) {
    const T below = dl[k + 1];
    const R next_scale = std::abs(below) + std::abs(d[k + 1]) + std::abs(upper(k + 1));
    T *row = x + k * n, *next = row + n;
    const bool stays = std::abs(below) * scale <= std::abs(u[k].diagonal) * next_scale;
    if (below == T{}) {
      u[k + 1] = {d[k + 1], upper(k + 1), T{}};
      scale = next_scale;
    } else if (stays && u[k].diagonal != T{}) {
      const T factor = below / u[k].diagonal;
      u[k + 1] = {d[k + 1] - factor * u[k].next, upper(k + 1), T{}};
      for (int64_t j = 0; j < n; ++j) next[j] -= factor * row[j];
      scale = next_scale;
    } else {
      const T factor = u[k].diagonal / below, above = u[k].next;
      u[k] = {below, d[k + 1], upper(k + 1)};
      u[k + 1] = {above - factor * d[k + 1], -factor * upper(k + 1), T{}};
      for (int64_t j = 0; j < n; ++j) {
        std::swap(row[j], next[j]);
        next[j] -= factor * row[j];
      }
      scale = std::abs(u[k + 1].diagonal) + std::abs(u[k + 1].next);
    }
    for (T v : {u[k].diagonal, u[k].next, u[k].second, u[k + 1].diagonal})
      largest = std::max<R>(largest, std::abs(v));
  }
  const R step = std::numeric_limits<R>::epsilon() * largest;
  for (int64_t k = m - 1; k >= 0; --k) {
    T* row = x + k * n;
    if (k + 1 < m)
      for (int64_t j = 0; j < n; ++j) row[j] -= u[k].next * row[n + j];
    if (k + 2 < m)
      for (int64_t j = 0; j < n; ++j) row[j] -= u[k].second * row[2 * n + j];
    divide(n, step, u[k].diagonal, row);
  }
}

template void perturbed_solve(int64_t, int64_t, const float*, const float*, const float*,
                              const float*, float*);
template void perturbed_solve(int64_t, int64_t, const double*, const double*, const double*,
                              const double*, double*);
template void perturbed_solve(int64_t, int64_t, const std::complex<float>*,
                              const std::complex<float>*, const std::complex<float>*,
                              const std::complex<float>*, std::complex<float>*);
template void perturbed_solve(int64_t, int64_t, const std::complex<double>*,
                              const std::complex<double>*, const std::complex<double>*,
                              const std::complex<double>*, std::complex<double>*);

}  // namespace tessera::ops::factor
