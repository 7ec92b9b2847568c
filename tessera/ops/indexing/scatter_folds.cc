#include "tessera/ops/indexing/scatter_folds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tessera/base/bfloat16_bits.h"
#include "tessera/base/instructions.h"
#include "tessera/base/workspace.h"
#include "tessera/ops/core/fold_element.h"
#include "tessera/ops/indexing/scatter_float16.h"

namespace tessera::ops {
namespace {

// Returns the nearest bfloat16 of the result of one operation on numbers of bfloat16. Unlike
// nearest_bfloat16, it needs no test for NaN: the last 16 bits of such a NaN are zeros, so that
// nothing is carried.
[[gnu::always_inline]] inline Bfloat16 rounded(float result) {
  const auto bits = std::bit_cast<uint32_t>(result);
  Bfloat16 out;
  out.bits = static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  return out;
}

struct Set {
  template <class T>
  static T fold(T, T update) {
    return update;
  }
};

template <ReduceKind kind>
struct Fold {
  template <class T>
  static T fold(T old, T update) {
    if constexpr (std::is_same_v<T, Bfloat16>) {
      return rounded(fold_element<kind, float>(widened(old), widened(update)));
    } else {
      return fold_element<kind, T>(old, update);
    }
  }
  // The sum or product of vectors.
  template <class V>
  static V fold_lanes(V old, V update) {
    return kind == ReduceKind::kSum ? old + update : old * update;
  }
};

// Whether the result of a fold is one of its operands, for floats.
template <class F, class T>
constexpr bool kSelects =
    (std::is_same_v<F, Fold<ReduceKind::kMin>> || std::is_same_v<F, Fold<ReduceKind::kMax>>)&&(
        std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Bfloat16>);

// Returns whether no update is NaN or zero, in one pass without branches. Of a bfloat16, the first
// bit of magnitude - 1 is set for a zero, and that of infinity - magnitude for NaN.
[[gnu::always_inline]] inline bool each_is_ordered(const Bfloat16* u, int64_t n) {
  constexpr uint16_t kMagnitude = 0x7fff, kInfinity = 0x7f80;
  uint16_t bits = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto magnitude = static_cast<uint16_t>(u[i].bits & kMagnitude);
    bits |= static_cast<uint16_t>((magnitude - 1) | (kInfinity - magnitude));
  }
  return bits >> 15 == 0;
}
template <class T>
[[gnu::always_inline]] inline bool each_is_ordered(const T* u, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  Bits all = ~Bits{0};
  for (int64_t i = 0; i < n; ++i) all &= std::abs(u[i]) > 0 ? ~Bits{0} : Bits{0};
  return all != 0;
}
template <class T>
TESSERA_AVX2 bool are_ordered_avx2(const T* u, int64_t n) {
  return each_is_ordered(u, n);
}
template <class T>
bool are_ordered(const T* u, int64_t n) {
  return has_avx2() ? are_ordered_avx2(u, n) : each_is_ordered(u, n);
}

// The minimum or maximum if the update is ordered: one comparison. If the old element is NaN, it is
// kept.
template <class F, class T>
[[gnu::always_inline]] inline T selected(T old, T update) {
  const auto value = [](T x) {
    if constexpr (std::is_same_v<T, Bfloat16>) {
      return widened(x);
    } else {
      return x;
    }
  };
  if constexpr (std::is_same_v<F, Fold<ReduceKind::kMin>>) {
    return value(update) < value(old) ? update : old;
  } else {
    return value(update) > value(old) ? update : old;
  }
}

// Whether a fold is computed in float and rounded.
template <class F, class T>
constexpr bool kRounds =
    (std::is_same_v<F, Fold<ReduceKind::kSum>> ||
     std::is_same_v<F, Fold<ReduceKind::kProduct>>)&&std::is_same_v<T, Bfloat16>;

// The number of updates that are examined together, before they are folded.
constexpr int64_t kTogether = 2048;

template <class F, class T>
void fold_elements(void* array, const int64_t* __restrict at, const void* updates, int64_t n) {
  T* __restrict x = static_cast<T*>(array);
  const T* __restrict u = static_cast<const T*>(updates);
  if constexpr (kSelects<F, T>) {
    if (are_ordered(u, n)) {
      for (int64_t i = 0; i < n; ++i) x[at[i]] = selected<F, T>(x[at[i]], u[i]);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) x[at[i]] = F::template fold<T>(x[at[i]], u[i]);
}

template <class F, class T>
void fold_chosen(void* array, const int64_t* __restrict at, const void* updates,
                 const int64_t* __restrict from, int64_t n) {
  T* __restrict x = static_cast<T*>(array);
  const T* __restrict u = static_cast<const T*>(updates);
  for (int64_t i = 0; i < n; ++i) x[at[i]] = F::template fold<T>(x[at[i]], u[from[i]]);
}

// Like fold_indexed with a stride of 1, for arrays whose elements get many updates: meanwhile the
// elements are floats. They are rounded to bfloat16 after each update, so the bits are the same.
// The rounding of one element takes six instructions, which never leave the vector registers.
template <class F, class Index>
void fold_in_floats(Bfloat16* __restrict x, const Index* __restrict at, int64_t largest,
                    const Bfloat16* __restrict u, int64_t n) {
  typedef float Floats __attribute__((vector_size(16)));
  typedef uint32_t Words __attribute__((vector_size(16)));
  const int64_t elements = largest + 1;
  const auto last = static_cast<Index>(largest);
  const Workspace<float> memory(elements);
  float* __restrict wide = memory.data();
  for (int64_t i = 0; i < elements; ++i) wide[i] = widened(x[i]);
  for (int64_t i = 0; i < n; ++i) {
    if (at[i] > last) continue;
    float& to = wide[static_cast<int64_t>(at[i])];
    const auto sum =
        std::bit_cast<Words>(F::template fold_lanes<Floats>(Floats{to}, Floats{widened(u[i])}));
    to = std::bit_cast<Floats>((sum + 0x7fff + ((sum >> 16) & 1)) & 0xffff0000)[0];
  }
  for (int64_t i = 0; i < elements; ++i)
    x[i].bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(wide[i]) >> 16);
}

// The number of updates of an element, on average, from which they are folded in floats.
constexpr int64_t kUpdatesInFloats = 4;

template <class F, class T, class Index>
void fold_indexed(void* array, const void* index, int64_t stride, int64_t largest,
                  const void* updates, int64_t n) {
  if (largest < 0) return;
  T* __restrict x = static_cast<T*>(array);
  const T* __restrict u = static_cast<const T*>(updates);
  const Index* __restrict at = static_cast<const Index*>(index);
  const auto last = static_cast<Index>(largest);  // a negative index is larger, being unsigned
  const auto each = [&](int64_t m, auto&& folded) {
    const auto elements = [&](auto step) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < m; ++i) {
        if (at[i] > last) continue;
        T& to = x[static_cast<int64_t>(at[i]) * step];
        to = folded(to, u[i]);
      }
    };
    // Without a multiplication, the loop takes three quarters of the time.
    if (stride == 1) return elements(std::integral_constant<int64_t, 1>());
    elements(stride);
  };
  if constexpr (kRounds<F, T>) {
    if (stride == 1 && n >= kUpdatesInFloats * (largest + 1))
      return fold_in_floats<F>(x, at, largest, u, n);
  }
  for (int64_t m; n > 0; n -= m, at += m, u += m) {
    m = std::min(n, kTogether);
    if constexpr (kSelects<F, T>) {
      if (are_ordered(u, m)) {
        each(m, [](T old, T update) { return selected<F, T>(old, update); });
        continue;
      }
    }
    each(m, [](T old, T update) { return F::template fold<T>(old, update); });
  }
}

template <class F, int64_t size, class T>
[[gnu::always_inline]] inline void fold_part(T* __restrict x, const T* __restrict u) {
  for (int64_t k = 0; k < size; ++k) x[k] = F::template fold<T>(x[k], u[k]);
}

template <class F, class T>
[[gnu::always_inline]] inline void fold_each_row(void* array, const int64_t* __restrict at,
                                                 const void* updates,
                                                 const int64_t* __restrict from, int64_t n,
                                                 int64_t run) {
  constexpr int64_t kLarge = 16, kSmall = 4;
  if constexpr (is_complex_type<T> && std::is_same_v<F, Fold<ReduceKind::kSum>>) {
    // A sum of complex numbers is that of their parts, which fill vectors.
    using Part = typename T::value_type;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t to = 2 * at[i], with = 2 * from[i], one = 0;
      fold_each_row<F, Part>(static_cast<Part*>(array) + to, &one,
                             static_cast<const Part*>(updates) + with, &one, 1, 2 * run);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    T* x = static_cast<T*>(array) + at[i];
    const T* u = static_cast<const T*>(updates) + from[i];
    int64_t k = 0;
    for (; k + kLarge <= run; k += kLarge) fold_part<F, kLarge>(x + k, u + k);
    for (; k + kSmall <= run; k += kSmall) fold_part<F, kSmall>(x + k, u + k);
    for (; k < run; ++k) fold_part<F, 1>(x + k, u + k);
  }
}
template <class F, class T>
void fold_rows(void* array, const int64_t* at, const void* updates, const int64_t* from, int64_t n,
               int64_t run) {
  fold_each_row<F, T>(array, at, updates, from, n, run);
}
// AVX2 folds twice as many elements per instruction. It has no fused multiply-add, so the bits are
// the same.
template <class F, class T>
TESSERA_AVX2 void fold_rows_avx2(void* array, const int64_t* at, const void* updates,
                                 const int64_t* from, int64_t n, int64_t run) {
  fold_each_row<F, T>(array, at, updates, from, n, run);
}

template <class F, class T>
ScatterFolds folds_of() {
  return {fold_elements<F, T>, fold_chosen<F, T>, fold_indexed<F, T, uint32_t>,
          fold_indexed<F, T, uint64_t>, has_avx2() ? fold_rows_avx2<F, T> : fold_rows<F, T>};
}

template <ReduceKind kind>
ScatterFolds folds_of(DType dtype) {
  return visit_dtype(dtype, []<class T>(TypeTag<T>) {
    // Sums and products of signed integers have the bits of those of unsigned ones, which may wrap
    // in C++.
    constexpr bool wraps = kind == ReduceKind::kSum || kind == ReduceKind::kProduct;
    if constexpr (wraps && std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return folds_of<Fold<kind>, std::make_unsigned_t<T>>();
    } else {
      return folds_of<Fold<kind>, T>();
    }
  });
}

ScatterFolds sets_of(DType dtype) {
  struct Sixteen {
    uint64_t low, high;
  };
  switch (itemsize(dtype)) {
    case 1:
      return folds_of<Set, uint8_t>();
    case 2:
      return folds_of<Set, uint16_t>();
    case 4:
      return folds_of<Set, uint32_t>();
    case 8:
      return folds_of<Set, uint64_t>();
    default:
      TESSERA_CHECK(itemsize(dtype) == sizeof(Sixteen), "elements of {} bytes", itemsize(dtype));
      return folds_of<Set, Sixteen>();
  }
}

}  // namespace

ScatterFolds scatter_folds(ScatterKind kind, DType dtype) {
  if (dtype == float16 && kind != ScatterKind::kSet && kind != ScatterKind::kCustom)
    if (const std::optional<ScatterFolds> folds = scatter_folds_of_float16(kind)) return *folds;
  switch (kind) {
    case ScatterKind::kSet:
      return sets_of(dtype);
    case ScatterKind::kAdd:
      return folds_of<ReduceKind::kSum>(dtype);
    case ScatterKind::kMul:
      return folds_of<ReduceKind::kProduct>(dtype);
    case ScatterKind::kMin:
      return folds_of<ReduceKind::kMin>(dtype);
    case ScatterKind::kMax:
      return folds_of<ReduceKind::kMax>(dtype);
    case ScatterKind::kCustom:
      break;
  }
  TESSERA_CHECK(false, "a custom update has a body");
  return {};
}

}  // namespace tessera::ops
