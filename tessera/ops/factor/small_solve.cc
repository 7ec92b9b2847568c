#include "tessera/ops/factor/small_solve.h"

#include <algorithm>
#include <type_traits>

#include "tessera/base/workspace.h"
#include "tessera/ops/factor/complex_lanes.h"

namespace tessera::ops::factor {
namespace {

constexpr int64_t kMostUnknowns = 32;
// Two of the widest vectors. In float32, 16 x 16 matrices in lanes take 0.3
// of the time of BLAS with 16 right-hand sides; more of them are left to it.
constexpr int64_t kMostBytes = 128;

// The equations of one matrix, or of one in each lane (A is then a vector). Unknowns are numbered
// in the order in which they become known: strides are negative if the last one is the first known.
template <class A>
struct Triangle {
  int64_t m;
  const A* a;
  int64_t row, column;  // coefficient (i, j) is a[i * row + j * column]
  bool unit_diagonal, backward, conjugated;
};

// Returns where coefficients are in a row-major matrix: rows and columns exchange their roles if
// the equations are those of the transpose.
template <class A, class T>
[[gnu::always_inline]] inline Triangle<A> triangle_of(const SolveBatch<T>& b, const A* a) {
  const bool swapped = b.transposed == b.left, backward = b.lower == swapped;
  Triangle<A> out{.m = b.m,
                  .a = a,
                  .row = swapped ? 1 : b.m,
                  .column = swapped ? b.m : 1,
                  .unit_diagonal = b.unit_diagonal,
                  .backward = backward,
                  .conjugated = b.conjugated};
  if (!backward) return out;
  out.a += b.m * b.m - 1;
  out.row = -out.row;
  out.column = -out.column;
  return out;
}

// Right-hand sides in vectors: unknown i of vector c is at x[i * step + c * apart].
template <class T, int lanes, class A>
struct Substitution {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  Triangle<A> t;
  Vector* x;
  int64_t step, apart;

  [[gnu::always_inline]] Vector coefficient(int64_t i, int64_t j) const {
    const A& one = t.a[i * t.row + j * t.column];
    Vector out;
    if constexpr (std::is_same_v<A, T>) {
      out = Lanes::broadcast(one);
    } else {
      out = one;
    }
    return t.conjugated ? Lanes::conjugate(out) : out;
  }
  [[gnu::always_inline]] Vector negated(int64_t i, int64_t j) const { return -coefficient(i, j); }
  // Computes the unknowns from `first` on, as many as `rows`, from those before them: so many sums
  // do not wait for each other.
  template <int count, int rows>
  [[gnu::always_inline]] void solve_rows(int64_t first) const {
    Vector sums[rows][count];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < count; ++c) sums[r][c] = x[(first + r) * step + c * apart];
    for (int64_t j = 0; j < first; ++j) {
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const Vector factor = negated(first + r, j);
#pragma GCC unroll 4
        for (int c = 0; c < count; ++c)
          sums[r][c] = Lanes::fused(factor, x[j * step + c * apart], sums[r][c]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int k = 0; k < r; ++k) {
        const Vector factor = negated(first + r, first + k);
#pragma GCC unroll 4
        for (int c = 0; c < count; ++c) sums[r][c] = Lanes::fused(factor, sums[k][c], sums[r][c]);
      }
      const Vector diagonal =
          t.unit_diagonal ? Lanes::broadcast(1) : coefficient(first + r, first + r);
#pragma GCC unroll 4
      for (int c = 0; c < count; ++c) {
        if (!t.unit_diagonal) sums[r][c] /= diagonal;
        x[(first + r) * step + c * apart] = sums[r][c];
      }
    }
  }
  // Replaces `count` vectors, from vector c on, by solutions.
  template <int count>
  [[gnu::always_inline]] void solve(int64_t c) const {
    Substitution here = *this;
    here.x += c * apart;
    if (t.backward) {
      here.x += (t.m - 1) * step;
      here.step = -step;
    }
    constexpr int rows = count == 4 ? 2 : 4;
    int64_t i = 0;
    for (; i + rows <= t.m; i += rows) here.template solve_rows<count, rows>(i);
    for (; i < t.m; ++i) here.template solve_rows<count, 1>(i);
  }
  [[gnu::always_inline]] void solve_all(int64_t vectors) const {
    int64_t c = 0;
    for (; c + 4 <= vectors; c += 4) solve<4>(c);
    for (; c + 2 <= vectors; c += 2) solve<2>(c);
    if (c < vectors) solve<1>(c);
  }
};

// --- Many matrices with few right-hand sides: one matrix in each lane ---

template <class T, int lanes>
[[gnu::always_inline]] inline void solve_in_lanes(const SolveBatch<T>& b, int64_t members) {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  const int64_t squares = b.m * b.m, count = b.m * b.columns, step = b.left ? b.columns : 1,
                apart = b.left ? 1 : b.m;
  const Workspace<Vector> memory(squares + count);
  Vector *a = memory.data(), *x = a + squares;
  const Substitution<T, lanes, Vector> substitution{triangle_of<Vector>(b, a), x, step, apart};
  for (int64_t first = 0; first < members; first += lanes) {
    const int64_t valid = std::min<int64_t>(lanes, members - first);
    Lanes::load_members(b.a + first * squares, b.a + members * squares, valid, squares, a);
    Lanes::load_members(b.b + first * count, b.b + members * count, valid, count, x);
    substitution.solve_all(b.columns);
    Lanes::store_members(x, valid, count, b.x + first * count);
  }
}

// --- Many right-hand sides: one in each lane ---

// Copies right-hand sides, which are columns of b, to or from vectors, of which the last may be
// incomplete.
template <class T, int lanes>
struct Columns {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  int64_t m, columns, valid;

  [[gnu::always_inline]] void load(const T* from, Vector* to) const {
    for (int64_t i = 0; i < m; ++i) {
      const T* row = from + i * columns;
      to[i] = valid >= lanes ? Lanes::load(row) : Lanes::load_some(row, valid);
    }
  }
  [[gnu::always_inline]] void store(const Vector* from, T* to) const {
    for (int64_t i = 0; i < m; ++i) {
      if (valid >= lanes)
        Lanes::store(to + i * columns, from[i]);
      else
        Lanes::store_some(to + i * columns, from[i], valid);
    }
  }
};

template <class T, int lanes>
[[gnu::always_inline]] inline void solve_in_columns(const SolveBatch<T>& b, int64_t members) {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  constexpr int kVectors = 4;
  Vector x[kMostUnknowns * kVectors];
  const int64_t apart = b.left ? 1 : b.m;  // right-hand sides in b
  for (int64_t member = 0; member < members; ++member) {
    const Substitution<T, lanes, T> substitution{triangle_of<T>(b, b.a + member * b.m * b.m), x, 1,
                                                 b.m};
    const T* from = b.b + member * b.m * b.columns;
    T* to = b.x + member * b.m * b.columns;
    for (int64_t first = 0; first < b.columns; first += kVectors * lanes) {
      const int64_t vectors = std::min<int64_t>(kVectors, (b.columns - first + lanes - 1) / lanes);
      for (int64_t v = 0; v < vectors; ++v) {
        const int64_t at = first + v * lanes, valid = b.columns - at;
        if (b.left)
          Columns<T, lanes>{b.m, b.columns, valid}.load(from + at * apart, x + v * b.m);
        else
          Lanes::load_members(from + at * apart, from + b.columns * apart, valid, b.m, x + v * b.m);
      }
      substitution.solve_all(vectors);
      for (int64_t v = 0; v < vectors; ++v) {
        const int64_t at = first + v * lanes, valid = b.columns - at;
        if (b.left)
          Columns<T, lanes>{b.m, b.columns, valid}.store(x + v * b.m, to + at * apart);
        else
          Lanes::store_members(x + v * b.m, valid, b.m, to + at * apart);
      }
    }
  }
}

// --- Choice ---

template <class T, int lanes>
[[gnu::always_inline]] inline void solve_of(const SolveBatch<T>& b, int64_t members) {
  if (b.columns <= 2 * lanes && 4 * members >= lanes) {
    solve_in_lanes<T, lanes>(b, members);
  } else {
    solve_in_columns<T, lanes>(b, members);
  }
}

}  // namespace

bool is_small_solve(int64_t m, int64_t bytes) {
  return m > 0 && m <= kMostUnknowns && bytes <= kMostBytes && has_member_lanes();
}

template <class T>
void small_solve(const SolveBatch<T>& batch, int64_t members) {
  in_member_lanes<typename RealPart<T>::Type>(
      true, [&](auto lanes)
                __attribute__((always_inline)) { solve_of<T, lanes()>(batch, members); });
}

template void small_solve(const SolveBatch<float>&, int64_t);
template void small_solve(const SolveBatch<double>&, int64_t);
template void small_solve(const SolveBatch<std::complex<float>>&, int64_t);
template void small_solve(const SolveBatch<std::complex<double>>&, int64_t);

}  // namespace tessera::ops::factor
