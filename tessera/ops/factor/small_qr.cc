#include "tessera/ops/factor/small_qr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tessera/base/workspace.h"
#include "tessera/ops/factor/member_lanes.h"

namespace tessera::ops::factor {
namespace {

constexpr int64_t kMostQrSide = 32;

template <class T, int lanes>
struct ReflectorLanes {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  using Ints = typename Lanes::Ints;
  using Int = typename Lanes::Int;

  int64_t m, n;
  Vector* a;  // m x n
  Vector* taus;

  // Replaces column k by its reflector, with the element of r on the diagonal. Nothing changes in
  // lanes in which the column is zero below the diagonal. As integers, magnitudes have the order of
  // the numbers, with NaN as the largest.
  [[gnu::always_inline]] void choose(int64_t k) {
    Ints below{};
    for (int64_t i = k + 1; i < m; ++i) {
      const Ints size = (Ints)Lanes::magnitude(a[i * n + k]);
      below = size > below ? size : below;
    }
    const Ints zero = below == Ints{};
    const Vector diagonal = a[k * n + k];
    const Ints first = (Ints)Lanes::magnitude(diagonal),
               power = Lanes::scales_of(first > below ? first : below);
    const Vector scale = (Vector)power, alpha = diagonal * scale;
    Vector squares = alpha * alpha;
    for (int64_t i = k + 1; i < m; ++i) {
      const Vector x = a[i * n + k] * scale;
      a[i * n + k] = x;
      squares = Lanes::fused(x, x, squares);
    }
    const Ints sign_bit = Lanes::broadcast_int(std::numeric_limits<Int>::min());
    const Ints sign = ((Ints)alpha & sign_bit) ^ sign_bit;
    const Vector beta = (Vector)((Ints)Lanes::square_root(squares) | sign);
    const Vector factor = Lanes::broadcast(1) / (alpha - beta);
    for (int64_t i = k + 1; i < m; ++i) a[i * n + k] = zero ? a[i * n + k] : a[i * n + k] * factor;
    a[k * n + k] = zero ? diagonal : beta * Lanes::reciprocal_power(power);
    taus[k] = zero ? Vector{} : (beta - alpha) / beta;
  }
  // Multiplies `columns` columns, from j on, by reflector k, in lanes in which it is not the
  // identity.
  template <int columns>
  [[gnu::always_inline]] void reflect(int64_t k, int64_t j) {
    Vector sums[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) sums[c] = a[k * n + j + c];
    for (int64_t i = k + 1; i < m; ++i) {
      const Vector v = a[i * n + k];
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) sums[c] = Lanes::fused(v, a[i * n + j + c], sums[c]);
    }
    const Ints changes = taus[k] != Vector{};
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) {
      sums[c] = (Vector)((Ints)(sums[c] * taus[k]) & changes);
      a[k * n + j + c] -= sums[c];
    }
    for (int64_t i = k + 1; i < m; ++i) {
      const Vector v = -a[i * n + k];
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c)
        a[i * n + j + c] = Lanes::fused(v, sums[c], a[i * n + j + c]);
    }
  }
  [[gnu::always_inline]] void reflect_from(int64_t k, int64_t j) {
    for (; j + 4 <= n; j += 4) reflect<4>(k, j);
    for (; j + 2 <= n; j += 2) reflect<2>(k, j);
    if (j < n) reflect<1>(k, j);
  }
  [[gnu::always_inline]] void factorise() {
    for (int64_t k = 0; k < std::min(m - 1, n); ++k) {
      choose(k);
      reflect_from(k, k + 1);
    }
    if (m <= n) taus[m - 1] = Vector{};
  }
  // Replaces the matrix by the product of `count` reflectors in its first columns. The last one is
  // multiplied first, so each one changes only the columns from its own on.
  [[gnu::always_inline]] void multiply(int64_t count) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = count; j < n; ++j) a[i * n + j] = Lanes::broadcast(i == j ? 1 : 0);
    for (int64_t k = count - 1; k >= 0; --k) {
      reflect_from(k, k + 1);
      for (int64_t i = 0; i < k; ++i) a[i * n + k] = Vector{};
      a[k * n + k] = Lanes::broadcast(1) - taus[k];
      for (int64_t i = k + 1; i < m; ++i) a[i * n + k] *= -taus[k];
    }
  }
};

template <class T, int lanes>
[[gnu::always_inline]] inline void geqrf_in_lanes(const ReflectorBatch<T>& b, int64_t members) {
  using Lanes = MemberLanes<T, lanes>;
  const int64_t count = b.m * b.n, taus = std::min(b.m, b.n);
  const Workspace<typename Lanes::Vector> memory(count + taus);
  ReflectorLanes<T, lanes> qr{
      .m = b.m, .n = b.n, .a = memory.data(), .taus = memory.data() + count};
  for (int64_t first = 0; first < members; first += lanes) {
    const int64_t valid = std::min<int64_t>(lanes, members - first);
    Lanes::load_members(b.a + first * count, b.a + members * count, valid, count, qr.a);
    qr.factorise();
    Lanes::store_members(qr.a, valid, count, b.packed + first * count);
    Lanes::store_members(qr.taus, valid, taus, b.taus + first * taus);
  }
}

template <class T, int lanes>
[[gnu::always_inline]] inline void product_in_lanes(const ProductBatch<T>& b, int64_t members) {
  using Lanes = MemberLanes<T, lanes>;
  const int64_t count = b.m * b.n;
  const Workspace<typename Lanes::Vector> memory(count + b.count);
  ReflectorLanes<T, lanes> qr{
      .m = b.m, .n = b.n, .a = memory.data(), .taus = memory.data() + count};
  for (int64_t first = 0; first < members; first += lanes) {
    const int64_t valid = std::min<int64_t>(lanes, members - first);
    Lanes::load_members(b.a + first * count, b.a + members * count, valid, count, qr.a);
    Lanes::load_members(b.taus + first * b.count, b.taus + members * b.count, valid, b.count,
                        qr.taus);
    qr.multiply(b.count);
    Lanes::store_members(qr.a, valid, count, b.q + first * count);
  }
}

template <class T, int lanes>
[[gnu::always_inline]] inline void qr_in_lanes(const QrBatch<T>& b, int64_t members) {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  const int64_t count = b.m * b.n, taus = std::min(b.m, b.n), q_count = b.m * b.k,
                r_count = b.k * b.n;
  const Workspace<Vector> memory(count + taus + q_count + r_count);
  ReflectorLanes<T, lanes> packed{
      .m = b.m, .n = b.n, .a = memory.data(), .taus = memory.data() + count};
  ReflectorLanes<T, lanes> q{.m = b.m, .n = b.k, .a = packed.taus + taus, .taus = packed.taus};
  Vector* r = q.a + q_count;
  for (int64_t first = 0; first < members; first += lanes) {
    const int64_t valid = std::min<int64_t>(lanes, members - first);
    Lanes::load_members(b.a + first * count, b.a + members * count, valid, count, packed.a);
    packed.factorise();
    for (int64_t i = 0; i < b.k; ++i)
      for (int64_t j = 0; j < b.n; ++j) r[i * b.n + j] = j < i ? Vector{} : packed.a[i * b.n + j];
    for (int64_t i = 0; i < b.m; ++i) std::copy_n(packed.a + i * b.n, taus, q.a + i * b.k);
    q.multiply(taus);
    Lanes::store_members(r, valid, r_count, b.r + first * r_count);
    Lanes::store_members(q.a, valid, q_count, b.q + first * q_count);
  }
}

}  // namespace

bool is_small_qr(int64_t m, int64_t n) {
  return m > 0 && n > 0 && m <= kMostQrSide && n <= kMostQrSide && has_member_lanes();
}

template <class T>
void small_geqrf(const ReflectorBatch<T>& batch, int64_t members) {
  in_member_lanes<T>(
      fills_wide_lanes<T>(members), [&](auto lanes) __attribute__((always_inline)) {
        geqrf_in_lanes<T, lanes()>(batch, members);
      });
}
template <class T>
void small_product(const ProductBatch<T>& batch, int64_t members) {
  in_member_lanes<T>(
      fills_wide_lanes<T>(members), [&](auto lanes) __attribute__((always_inline)) {
        product_in_lanes<T, lanes()>(batch, members);
      });
}
template <class T>
void small_qr(const QrBatch<T>& batch, int64_t members) {
  in_member_lanes<T>(
      fills_wide_lanes<T>(members), [&](auto lanes) __attribute__((always_inline)) {
        qr_in_lanes<T, lanes()>(batch, members);
      });
}

template void small_geqrf(const ReflectorBatch<float>&, int64_t);
template void small_geqrf(const ReflectorBatch<double>&, int64_t);
template void small_product(const ProductBatch<float>&, int64_t);
template void small_product(const ProductBatch<double>&, int64_t);
template void small_qr(const QrBatch<float>&, int64_t);
template void small_qr(const QrBatch<double>&, int64_t);

}  // namespace tessera::ops::factor
