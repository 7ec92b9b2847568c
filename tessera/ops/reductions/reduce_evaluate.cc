// The naive evaluation of reduce: plain loops, sums of floats in the next wider type.
#include <cmath>
#include <cstring>
#include <limits>

#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/reductions/reduce_internal.h"

namespace tessera::ops {
namespace {

// Returns x as a number that C++ can compare.
template <class T>
auto ordered(T x) {
  if constexpr (is_half_type<T>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}

template <class T>
bool is_nan(T x) {
  if constexpr (is_half_type<T> || std::is_floating_point_v<T>) {
    return std::isnan(ordered(x));
  } else {
    return false;
  }
}

// Returns whether x replaces acc in a maximum, or in a minimum if `smallest`. -0 is smaller than 0.
// The first NaN replaces every number, and is not replaced.
template <class T>
bool replaces(T x, T acc, bool smallest) {
  if (is_nan(acc)) return false;
  if (is_nan(x)) return true;
  const auto a = ordered(x), b = ordered(acc);
  if constexpr (std::is_floating_point_v<decltype(a)>) {
    if (a == 0 && b == 0) return std::signbit(b) != std::signbit(a) && std::signbit(a) == smallest;
  }
  return smallest ? a < b : b < a;
}

template <class T>
T fold_one(ReduceKind kind, const T* x, const Dims& offsets, T init) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kProduct: {
      using W = NaiveSum<T>;
      W acc = element_cast<W>(init);
      for (int64_t o : offsets) {
        if (kind == ReduceKind::kSum) {
          acc += element_cast<W>(x[o]);
        } else {
          acc *= element_cast<W>(x[o]);
        }
      }
      return element_cast<T>(acc);
    }
    case ReduceKind::kMin:
    case ReduceKind::kMax:
      if constexpr (!is_complex_type<T>) {
        T acc = init;
        for (int64_t o : offsets)
          if (replaces<T>(x[o], acc, kind == ReduceKind::kMin)) acc = x[o];
        return acc;
      }
      break;
    case ReduceKind::kAnd:
    case ReduceKind::kOr:
      if constexpr (std::is_integral_v<T>) {
        T acc = init;
        for (int64_t o : offsets)
          acc = static_cast<T>(kind == ReduceKind::kAnd ? acc & x[o] : acc | x[o]);
        return acc;
      }
      break;
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
    case ReduceKind::kCustom:
      break;
  }
  TESSERA_CHECK(false, "a fold of {}", dtype_name(dtype_of<T>));
  __builtin_unreachable();
}

}  // namespace

FoldIndex fold_index(const Shape& shape, const Dims& dims) {
  FoldIndex out;
  const Dims strides = row_major_strides(shape);
  std::vector<bool> reduced(shape.size(), false);
  for (int64_t d : dims) reduced[d] = true;
  auto offsets = [&](bool of_reduced) {
    Dims all{0};
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (reduced[d] != of_reduced) continue;
      Dims next;
      for (int64_t base : all)
        for (int64_t i = 0; i < shape[d]; ++i) next.push_back(base + i * strides[d]);
      all = std::move(next);
    }
    return all;
  };
  for (int64_t d = 0; d < shape.rank(); ++d)
    if (!reduced[d]) out.shape.push_back(shape[d]);
  out.kept = offsets(false);
  out.reduced = offsets(true);
  return out;
}

Literal fold(ReduceKind kind, const Literal& x, const Literal& init, const Dims& dims) {
  const FoldIndex index = fold_index(x.shape(), dims);
  Literal out(x.dtype(), index.shape);
  visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) {
    T* to = out.mutable_data<T>();
    for (size_t i = 0; i < index.kept.size(); ++i)
      to[i] = fold_one<T>(kind, x.data<T>() + index.kept[i], index.reduced, init.data<T>()[0]);
  });
  return out;
}

namespace {

template <class T, class I>
void fold_args(bool smallest, std::span<const Literal> x, const FoldIndex& index,
               std::vector<Literal>& out) {
  const T init = x[2].data<T>()[0];
  const I init_index = x[3].data<I>()[0];
  T* values = out[0].mutable_data<T>();
  I* indices = out[1].mutable_data<I>();
  for (size_t i = 0; i < index.kept.size(); ++i) {
    T acc = init;
    I at = init_index;
    for (int64_t o : index.reduced) {
      const T value = x[0].data<T>()[index.kept[i] + o];
      const I here = x[1].data<I>()[index.kept[i] + o];
      const bool tie = (is_nan(value) && is_nan(acc)) || ordered(value) == ordered(acc);
      const bool wins = is_nan(acc)     ? false
                        : is_nan(value) ? true
                        : smallest      ? ordered(value) < ordered(acc)
                                        : ordered(acc) < ordered(value);
      if (wins || (tie && here < at)) {
        acc = value;
        at = here;
      }
    }
    values[i] = acc;
    indices[i] = at;
  }
}

}  // namespace

std::vector<Literal> fold_arg(ReduceKind kind, std::span<const Literal> x, const Dims& dims) {
  const FoldIndex index = fold_index(x[0].shape(), dims);
  std::vector<Literal> out{Literal(x[0].dtype(), index.shape), Literal(x[1].dtype(), index.shape)};
  visit_dtype(x[0].dtype(), [&]<class T>(TypeTag<T>) {
    visit_dtype(x[1].dtype(), [&]<class I>(TypeTag<I>) {
      if constexpr (!is_complex_type<T> && std::is_integral_v<I> && !std::is_same_v<I, bool>) {
        fold_args<T, I>(kind == ReduceKind::kArgMin, x, index, out);
      } else {
        TESSERA_CHECK(false, "argmin of {}", dtype_name(x[0].dtype()));
      }
    });
  });
  return out;
}

// The body is applied once for each reduced element, to all results at once.
std::vector<Literal> fold_custom(const Function& body, std::span<const Literal> x,
                                 const Dims& dims) {
  const size_t n = x.size() / 2;
  const FoldIndex index = fold_index(x[0].shape(), dims);
  auto take = [&](const Literal& from, auto offset) {
    Literal out(from.dtype(), index.shape);
    const int64_t item = itemsize(from.dtype());
    std::byte* to = out.mutable_raw();
    for (size_t i = 0; i < index.kept.size(); ++i)
      std::memcpy(to + i * item, from.raw() + offset(i) * item, static_cast<size_t>(item));
    return out;
  };
  std::vector<Literal> args(2 * n);
  for (size_t k = 0; k < n; ++k) args[k] = take(x[n + k], [](size_t) { return 0; });
  for (int64_t o : index.reduced) {
    for (size_t k = 0; k < n; ++k)
      args[n + k] = take(x[k], [&](size_t i) { return index.kept[i] + o; });
    std::vector<Literal> next = evaluate_function(body, args);
    for (size_t k = 0; k < n; ++k) args[k] = std::move(next[k]);
  }
  args.resize(n);
  return args;
}

}  // namespace tessera::ops
