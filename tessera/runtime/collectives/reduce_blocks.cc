#include "tessera/runtime/collectives/reduce_blocks.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/base/extremum.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/halves.h"

namespace tessera::runtime {
namespace {

// The type in which elements of T are folded.
template <class T>
using Wide = std::conditional_t<is_half_type<T>, float, T>;

template <class T>
using Bits = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;  // wraps
      return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  }
};
struct Product {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));  // wraps
    } else {
      return a * b;
    }
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return ieee_minimum(a, b);
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return ieee_maximum(a, b);
    return a > b ? a : b;
  }
};
struct And {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};

// Folds one, two, four or eight sources in one pass, in the order of their tree.
template <class Op, class T>
void fold_leaf(T* __restrict out, const T* const* in, size_t count, int64_t n) {
  switch (count) {
    case 1:
      std::copy_n(in[0], n, out);
      return;
    case 2:
      for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(in[0][i], in[1][i]);
      return;
    case 4: {
      const T *a = in[0], *b = in[1], *c = in[2], *d = in[3];
      for (int64_t i = 0; i < n; ++i)
        out[i] = Op::apply(Op::apply(a[i], b[i]), Op::apply(c[i], d[i]));
      return;
    }
    case 8: {
      const T *a = in[0], *b = in[1], *c = in[2], *d = in[3], *e = in[4], *f = in[5], *g = in[6],
              *h = in[7];
      for (int64_t i = 0; i < n; ++i)
        out[i] = Op::apply(Op::apply(Op::apply(a[i], b[i]), Op::apply(c[i], d[i])),
                           Op::apply(Op::apply(e[i], f[i]), Op::apply(g[i], h[i])));
      return;
    }
    default:
      TESSERA_CHECK(false, "a leaf of {}", count);
  }
}

// `spare` has room for n elements for each level of the tree below this one.
template <class Op, class T>
void fold_tree(T* out, std::span<const T* const> in, int64_t n, T* spare) {
  if (in.size() <= 8 && std::has_single_bit(in.size()))
    return fold_leaf<Op, T>(out, in.data(), in.size(), n);
  const size_t left = fold_split(in.size());
  fold_tree<Op, T>(out, in.first(left), n, spare);
  T* right = spare;
  fold_tree<Op, T>(right, in.subspan(left), n, spare + n);
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(out[i], right[i]);
}

template <class Op, class T>
void reduce_block(std::byte* out, std::span<const std::byte* const> sources, int64_t n) {
  using W = Wide<T>;
  const auto levels = static_cast<int64_t>(std::bit_width(sources.size()));
  const auto count = static_cast<int64_t>(sources.size());
  // Scratch memory: pointers, the spare blocks of the tree, and the converted sources.
  const int64_t pointers = (count * 8 + 63) / 64 * 64;
  const int64_t blocks = levels + (is_half_type<T> ? count + 1 : 0);
  const Workspace<std::byte> scratch(pointers + blocks * n * static_cast<int64_t>(sizeof(W)));
  auto** in = reinterpret_cast<const W**>(scratch.data());
  auto* spare = reinterpret_cast<W*>(scratch.data() + pointers);
  if constexpr (is_half_type<T>) {
    W* wide = spare + levels * n;
    for (int64_t k = 0; k < count; ++k) {
      widen(reinterpret_cast<const T*>(sources[static_cast<size_t>(k)]), wide + k * n, n);
      in[k] = wide + k * n;
    }
    W* result = wide + count * n;
    fold_tree<Op, W>(result, {in, sources.size()}, n, spare);
    narrow(result, reinterpret_cast<T*>(out), n);
  } else {
    for (int64_t k = 0; k < count; ++k)
      in[k] = reinterpret_cast<const W*>(sources[static_cast<size_t>(k)]);
    fold_tree<Op, W>(reinterpret_cast<W*>(out), {in, sources.size()}, n, spare);
  }
}

template <class Op, class W>
void combine(std::byte* out, const std::byte* a, const std::byte* b, int64_t n) {
  auto* to = reinterpret_cast<W*>(out);
  const auto *x = reinterpret_cast<const W*>(a), *y = reinterpret_cast<const W*>(b);
  for (int64_t i = 0; i < n; ++i) to[i] = Op::apply(x[i], y[i]);
}

// Returns f<Op>() for the operation `kind` on elements of T.
template <class T, class F>
auto with_operation(DType dtype, ReduceKind kind, F&& f) {
  constexpr bool kComplex = !std::is_arithmetic_v<T> && !is_half_type<T>;
  constexpr bool kBitwise = std::is_integral_v<T>;
  switch (kind) {
    case ReduceKind::kSum:
      if constexpr (std::is_same_v<T, bool>) return f.template operator()<Or>();
      return f.template operator()<Sum>();
    case ReduceKind::kProduct:
      if constexpr (std::is_same_v<T, bool>) return f.template operator()<And>();
      return f.template operator()<Product>();
    case ReduceKind::kMin:
      if constexpr (!kComplex) return f.template operator()<Min>();
      break;
    case ReduceKind::kMax:
      if constexpr (!kComplex) return f.template operator()<Max>();
      break;
    case ReduceKind::kAnd:
      if constexpr (kBitwise) return f.template operator()<And>();
      break;
    case ReduceKind::kOr:
      if constexpr (kBitwise) return f.template operator()<Or>();
      break;
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
    case ReduceKind::kCustom:
      break;
  }
  TESSERA_CHECK(false, "a {} of {} over devices", enum_names(kind)[static_cast<size_t>(kind)],
                dtype);
  return decltype(f.template operator()<Sum>()){};
}

}  // namespace

PairReducer pair_reducer(DType dtype, ReduceKind kind) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    return with_operation<T>(dtype, kind,
                             []<class Op>() -> PairReducer { return combine<Op, Wide<Bits<T>>>; });
  });
}

BlockReducer block_reducer(DType dtype, ReduceKind kind) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    return with_operation<T>(dtype, kind,
                             []<class Op>() -> BlockReducer { return reduce_block<Op, Bits<T>>; });
  });
}

}  // namespace tessera::runtime
