#include "tessera/ops/factor/small_lu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tessera/base/workspace.h"
#include "tessera/ops/factor/member_lanes.h"

namespace tessera::ops::factor {
namespace {

constexpr int64_t kMostLuRows = 32;

// --- Many matrices: one in each lane ---

template <class T, int lanes>
struct LuLanes {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  using Ints = typename Lanes::Ints;

  int64_t m, n;
  Vector* a;  // m x n
  Ints pivots[kMostLuRows], permutation[kMostLuRows], info;

  // Writes the row of the pivot of column k to pivots[k]. Returns the pivot's magnitude.
  [[gnu::always_inline]] Vector choose(int64_t k) {
    Vector best = Lanes::magnitude(a[k * n + k]);
    Ints pivot = Lanes::broadcast_int(k);
    for (int64_t i = k + 1; i < m; ++i) {
      const Vector size = Lanes::magnitude(a[i * n + k]);
      const Ints larger = size > best;
      best = larger ? size : best;
      pivot = larger ? Lanes::broadcast_int(i) : pivot;
    }
    pivots[k] = pivot;
    return best;
  }
  // Exchanges `columns` columns, from j on, of row k and those of the pivots.
  template <int columns>
  [[gnu::always_inline]] void exchange(int64_t k, int64_t j) {
    Vector first[columns], chosen[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) first[c] = chosen[c] = a[k * n + j + c];
    for (int64_t i = k + 1; i < m; ++i) {
      const Ints here = pivots[k] == Lanes::broadcast_int(i);
      Vector* row = a + i * n + j;
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) {
        chosen[c] = here ? row[c] : chosen[c];
        row[c] = here ? first[c] : row[c];
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) a[k * n + j + c] = chosen[c];
  }
  [[gnu::always_inline]] void exchange_rows(int64_t k) {
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) exchange<4>(k, j);
    for (; j < n; ++j) exchange<1>(k, j);
    const Ints first = permutation[k];
    Ints chosen = first;
    for (int64_t i = k + 1; i < m; ++i) {
      const Ints here = pivots[k] == Lanes::broadcast_int(i);
      chosen = here ? permutation[i] : chosen;
      permutation[i] = here ? first : permutation[i];
    }
    permutation[k] = chosen;
  }
  // Subtracts multiples of row k from those below it, except in the lanes of `kept`.
  template <bool some_kept>
  [[gnu::always_inline]] void subtract(int64_t k, const Ints& kept) {
    const Vector pivot = a[k * n + k];
    for (int64_t i = k + 1; i < m; ++i) {
      Vector* row = a + i * n;
      const Vector factor = row[k] / pivot;
      row[k] = some_kept ? (kept ? row[k] : factor) : factor;
      for (int64_t j = k + 1; j < n; ++j) {
        const Vector value = Lanes::fused(-factor, a[k * n + j], row[j]);
        row[j] = some_kept ? (kept ? row[j] : value) : value;
      }
    }
  }
  [[gnu::always_inline]] void factorise() {
    for (int64_t i = 0; i < m; ++i) permutation[i] = Lanes::broadcast_int(i);
    info = Ints{};
    for (int64_t k = 0; k < std::min(m, n); ++k) {
      const Ints zero = choose(k) == Vector{};
      if (Lanes::any(pivots[k] != Lanes::broadcast_int(k))) exchange_rows(k);
      if (Lanes::any(zero)) {
        info = (zero & (info == Ints{})) ? Lanes::broadcast_int(k + 1) : info;
        subtract<true>(k, zero);
      } else {
        subtract<false>(k, zero);
      }
    }
  }
};

template <class T, int lanes>
[[gnu::always_inline]] inline void lu_in_lanes(const LuBatch<T>& b, int64_t members) {
  using Lanes = MemberLanes<T, lanes>;
  const int64_t count = b.m * b.n, columns = std::min(b.m, b.n);
  const Workspace<typename Lanes::Vector> memory(count);
  LuLanes<T, lanes> lu{.m = b.m, .n = b.n, .a = memory.data()};
  for (int64_t first = 0; first < members; first += lanes) {
    const int64_t valid = std::min<int64_t>(lanes, members - first);
    Lanes::load_members(b.a + first * count, b.a + members * count, valid, count, lu.a);
    lu.factorise();
    Lanes::store_members(lu.a, valid, count, b.lu + first * count);
    for (int64_t lane = 0; lane < valid; ++lane) {
      int32_t *pivots = b.pivots + (first + lane) * columns,
              *permutation = b.permutation + (first + lane) * b.m;
      for (int64_t k = 0; k < columns; ++k) pivots[k] = static_cast<int32_t>(lu.pivots[k][lane]);
      for (int64_t i = 0; i < b.m; ++i)
        permutation[i] = static_cast<int32_t>(lu.permutation[i][lane]);
      b.info[first + lane] = static_cast<int32_t>(lu.info[lane]);
    }
  }
}

// --- Few matrices: the elements of a row in the lanes ---

template <class T, int lanes>
struct LuRows {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  using Ints = typename Lanes::Ints;
  static constexpr int64_t kMostPieces = kMostLuRows / lanes;

  int64_t m, n, pieces;  // a row is so many vectors
  alignas(64) Vector a[kMostLuRows * kMostPieces];
  alignas(64) T column[kMostLuRows];  // of which rows before k are 0
  int32_t *pivots, *permutation;

  [[gnu::always_inline]] T* row(int64_t i) { return reinterpret_cast<T*>(a + i * pieces); }

  // Returns the row of the pivot of column k, of which it writes a copy to `column`.
  [[gnu::always_inline]] int64_t choose(int64_t k) {
    for (int64_t i = k; i < m; ++i) column[i] = row(i)[k];
    int64_t best = k;
    T largest = std::abs(column[k]);
    for (int64_t i = k + 1; i < m; ++i) {
      const T size = std::abs(column[i]);
      best = size > largest ? i : best;
      largest = size > largest ? size : largest;
    }
    return best;
  }
  [[gnu::always_inline]] void exchange_rows(int64_t k, int64_t other) {
    for (int64_t p = 0; p < pieces; ++p) {
      const Vector first = a[k * pieces + p];
      a[k * pieces + p] = a[other * pieces + p];
      a[other * pieces + p] = first;
    }
    std::swap(column[k], column[other]);
    std::swap(permutation[k], permutation[other]);
  }
  [[gnu::always_inline]] void subtract(int64_t k) {
    const Vector pivot = Lanes::broadcast(column[k]);
    for (int64_t i = k / lanes * lanes; i < m; i += lanes)
      Lanes::store(column + i, Lanes::load(column + i) / pivot);
    Ints lane;
    for (int l = 0; l < lanes; ++l) lane[l] = l;
    const int64_t first = (k + 1) / lanes;
    const Ints changes = lane > Lanes::broadcast_int(k - first * lanes);
    const Vector* from = a + k * pieces;
    for (int64_t i = k + 1; i < m; ++i) {
      row(i)[k] = column[i];
      const Vector factor = Lanes::broadcast(-column[i]);
      Vector* to = a + i * pieces;
      for (int64_t p = first; p < pieces; ++p) {
        const Vector value = Lanes::fused(factor, from[p], to[p]);
        to[p] = p == first ? (changes ? value : to[p]) : value;
      }
    }
  }
  // Returns info.
  [[gnu::always_inline]] int32_t factorise() {
    int32_t info = 0;
    for (int64_t i = 0; i < m; ++i) permutation[i] = static_cast<int32_t>(i);
    for (int64_t k = 0; k < std::min(m, n); ++k) {
      const int64_t pivot = choose(k);
      pivots[k] = static_cast<int32_t>(pivot);
      if (column[pivot] == 0) {
        if (info == 0) info = static_cast<int32_t>(k + 1);
        continue;
      }
      if (pivot != k) exchange_rows(k, pivot);
      subtract(k);
    }
    return info;
  }
};

template <class T, int lanes>
[[gnu::always_inline]] inline void lu_in_rows(const LuBatch<T>& b, int64_t members) {
  const int64_t columns = std::min(b.m, b.n);
  LuRows<T, lanes> lu;
  lu.m = b.m;
  lu.n = b.n;
  lu.pieces = (b.n + lanes - 1) / lanes;
  std::fill_n(reinterpret_cast<T*>(lu.a), b.m * lu.pieces * lanes, T(0));
  std::fill_n(lu.column, kMostLuRows, T(0));
  for (int64_t member = 0; member < members; ++member) {
    const T* a = b.a + member * b.m * b.n;
    T* out = b.lu + member * b.m * b.n;
    lu.pivots = b.pivots + member * columns;
    lu.permutation = b.permutation + member * b.m;
    for (int64_t i = 0; i < b.m; ++i) std::copy_n(a + i * b.n, b.n, lu.row(i));
    b.info[member] = lu.factorise();
    for (int64_t i = 0; i < b.m; ++i) std::copy_n(lu.row(i), b.n, out + i * b.n);
  }
}

// --- Choice ---

template <class T, int lanes>
[[gnu::always_inline]] inline void lu_of(const LuBatch<T>& b, int64_t members) {
  if (4 * members >= lanes) {
    lu_in_lanes<T, lanes>(b, members);
  } else {
    lu_in_rows<T, lanes>(b, members);
  }
}

}  // namespace

bool is_small_lu(int64_t m, int64_t n) {
  return m > 0 && n > 0 && m <= kMostLuRows && n <= kMostLuRows && has_member_lanes();
}

template <class T>
void small_lu(const LuBatch<T>& batch, int64_t members) {
  in_member_lanes<T>(
      true, [&](auto lanes) __attribute__((always_inline)) { lu_of<T, lanes()>(batch, members); });
}

template void small_lu(const LuBatch<float>&, int64_t);
template void small_lu(const LuBatch<double>&, int64_t);

}  // namespace tessera::ops::factor
