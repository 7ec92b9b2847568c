#include "tessera/ops/factor/small_eigenvalues.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "tessera/base/workspace.h"
#include "tessera/ops/factor/lapack.h"
#include "tessera/ops/factor/member_lanes.h"

namespace tessera::ops::factor {
namespace {

constexpr int64_t kMostEigenvalues = 8;
// Matrices of 8 rows take about six sweeps over all pairs, those of 2 rows one.
constexpr int kMostSweeps = 40;
// The info of a matrix whose elements beside the diagonal do not vanish.
constexpr int32_t kNotConverged = 1;

template <class T, int lanes>
struct EigenvalueLanes {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  using Ints = typename Lanes::Ints;
  using Int = typename Lanes::Int;

  int64_t n;
  Vector* a;  // the lower triangle, row by row

  [[gnu::always_inline]] Vector& at(int64_t i, int64_t j) const {
    return i < j ? a[j * (j + 1) / 2 + i] : a[i * (i + 1) / 2 + j];
  }
  [[gnu::always_inline]] int64_t elements() const { return n * (n + 1) / 2; }

  // Returns the largest magnitude, as bits.
  [[gnu::always_inline]] Ints largest() const {
    Ints most{};
    for (int64_t e = 0; e < elements(); ++e) {
      const Ints size = (Ints)Lanes::magnitude(a[e]);
      most = size > most ? size : most;
    }
    return most;
  }
  // Multiplies by powers of two the matrices whose elements' squares might overflow or underflow.
  // Returns the powers, as bits.
  [[gnu::always_inline]] Ints scale() const {
    constexpr T kLarge = std::is_same_v<T, float> ? T(0x1p60) : T(0x1p500);
    constexpr T kSmall = std::is_same_v<T, float> ? T(0x1p-30) : T(0x1p-400);
    const Ints most = largest();
    const Ints fits =
        ((Vector)most <= Lanes::broadcast(kLarge)) & ((Vector)most >= Lanes::broadcast(kSmall));
    const Ints power = fits ? (Ints)Lanes::broadcast(1) : Lanes::scales_of(most);
    for (int64_t e = 0; e < elements(); ++e) a[e] *= (Vector)power;
    return power;
  }
  // Turns the rows and columns p and q so that the element (p, q) becomes 0, in lanes in which it
  // is larger than `least`. Returns these lanes. With a[p][p], a[p][q], a[q][q] = x, y, z and d =
  // (z - x) / 2, the tangent of the angle is y / (d + sign(d) sqrt(d^2 + y^2)).
  [[gnu::always_inline]] Ints rotate(int64_t p, int64_t q, const Vector& least) const {
    const Vector one = Lanes::broadcast(1), zero{};
    const Vector y = at(q, p);
    const Ints turns = Lanes::magnitude(y) > least;
    const Vector d = (at(q, q) - at(p, p)) * Lanes::broadcast(T(0.5));
    const Vector root = Lanes::square_root(Lanes::fused(d, d, y * y));
    const Vector height = Lanes::magnitude(d) + root;
    const Vector signed_y = d < zero ? -y : y;
    const Vector length = Lanes::square_root(Lanes::fused(height, height, y * y));
    const Vector tangent = turns ? signed_y / height : zero;
    const Vector inverse = one / length;
    const Vector cosine = turns ? height * inverse : one;
    const Vector sine = turns ? signed_y * inverse : zero;
    at(p, p) = Lanes::fused(-tangent, y, at(p, p));
    at(q, q) = Lanes::fused(tangent, y, at(q, q));
    at(q, p) = turns ? zero : y;
    for (int64_t k = 0; k < n; ++k) {
      if (k == p || k == q) continue;
      Vector &with_p = at(k, p), &with_q = at(k, q);
      const Vector first = with_p, second = with_q;
      with_p = Lanes::fused(cosine, first, -(sine * second));
      with_q = Lanes::fused(sine, first, cosine * second);
    }
    return turns;
  }
  // Makes the matrices diagonal. What is left beside the diagonal is too small to count. Returns
  // the lanes in which more is left. A lane that is finished does not change any more, so that its
  // bits do not depend on the other lanes.
  [[gnu::always_inline]] Ints diagonalise() const {
    const Vector least =
        (Vector)largest() * Lanes::broadcast(std::numeric_limits<T>::epsilon() / 16);
    Ints turned{};
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      turned = Ints{};
      for (int64_t q = 1; q < n; ++q)
        for (int64_t p = 0; p < q; ++p) turned |= rotate(p, q, least);
      if (!Lanes::any(turned)) break;
    }
    return turned;
  }
  // Sorts the diagonal into the first n elements, multiplied by `factor`.
  [[gnu::always_inline]] void sort(const Vector& factor) const {
    for (int64_t i = 0; i < n; ++i) a[i] = at(i, i) * factor;
    for (int64_t end = n - 1; end > 0; --end)
      for (int64_t i = 0; i < end; ++i) {
        const Vector first = a[i], second = a[i + 1];
        const Ints swaps = second < first;
        a[i] = swaps ? second : first;
        a[i + 1] = swaps ? first : second;
      }
  }
};

template <class T, int lanes>
[[gnu::always_inline]] inline void eigenvalues_in_lanes(const EigenvalueBatch<T>& b,
                                                        int64_t members) {
  using Lanes = MemberLanes<T, lanes>;
  using Vector = typename Lanes::Vector;
  using Ints = typename Lanes::Ints;
  const int64_t n = b.n, count = n * n;
  const Workspace<Vector> memory(count + n * (n + 1) / 2);
  Vector* whole = memory.data();
  const EigenvalueLanes<T, lanes> solver{.n = n, .a = whole + count};
  const Vector infinity = Lanes::broadcast(std::numeric_limits<T>::infinity());
  for (int64_t first = 0; first < members; first += lanes) {
    const int64_t valid = std::min<int64_t>(lanes, members - first);
    Lanes::load_members(b.a + first * count, b.a + members * count, valid, count, whole);
    Ints finite = Lanes::broadcast_int(-1);
    for (int64_t e = 0; e < count; ++e) finite &= Lanes::magnitude(whole[e]) < infinity;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        solver.at(i, j) = finite ? whole[b.lower ? i * n + j : j * n + i] : Vector{};
    const Ints power = solver.scale();
    const Ints left = solver.diagonalise();
    solver.sort(Lanes::reciprocal_power(power));
    for (int64_t i = 0; i < n; ++i)
      solver.a[i] = finite ? solver.a[i] : Lanes::broadcast(std::numeric_limits<T>::quiet_NaN());
    Lanes::store_members(solver.a, valid, n, b.w + first * n);
    for (int64_t lane = 0; lane < valid; ++lane)
      b.info[first + lane] = !finite[lane] ? lapack::kNotFinite : left[lane] ? kNotConverged : 0;
  }
}

}  // namespace

bool has_small_eigenvalues(int64_t n) {
  return n > 0 && n <= kMostEigenvalues && has_member_lanes();
}

template <class T>
void small_eigenvalues(const EigenvalueBatch<T>& batch, int64_t members) {
  in_member_lanes<T>(
      fills_wide_lanes<T>(members), [&](auto lanes) __attribute__((always_inline)) {
        eigenvalues_in_lanes<T, lanes()>(batch, members);
      });
}

template void small_eigenvalues(const EigenvalueBatch<float>&, int64_t);
template void small_eigenvalues(const EigenvalueBatch<double>&, int64_t);

}  // namespace tessera::ops::factor
