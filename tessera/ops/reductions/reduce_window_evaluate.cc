// The windows' folds on the host: as plain loops, and as a library call.
#include <cstring>
#include <limits>
#include <numeric>

#include "tessera/base/thread_pool.h"
#include "tessera/ir/params.h"
#include "tessera/ops/core/fold_element.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/reductions/reduce_internal.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/reductions/window_fold.h"

namespace tessera::ops {
namespace {

// Computes the best value of each window and its position. Of equal values, the smaller position
// wins.
template <class T, class I>
void fold_places(const WindowPlaces& p, bool largest, const T* x, const I* ix, T init, I init_place,
                 T* out, I* out_place, int64_t begin, int64_t end) {
  auto number = [](T v) {
    if constexpr (is_half_type<T>) {
      return static_cast<float>(v);
    } else {
      return v;
    }
  };
  for (int64_t o = begin; o < end; ++o) {
    T best = init;
    I place = init_place;
    p.each(indices_of(o, p.out, p.out.rank()), p.out.rank(), [&](int64_t i) {
      const auto a = number(best), b = number(x[i]);
      const bool a_nan = a != a, b_nan = b != b;
      const bool better = b_nan ? !a_nan : !a_nan && (largest ? b > a : b < a);
      const bool equal = a == b || (a_nan && b_nan);
      if (better || (equal && ix[i] < place)) best = x[i], place = ix[i];
    });
    out[o] = best;
    out_place[o] = place;
  }
}

// Applies a custom body to all windows at once: for each k, to the k-th elements of all of them.
std::vector<Literal> fold_custom(const WindowPlaces& p, const Function& body,
                                 std::span<const Literal> x) {
  const size_t n = x.size() / 2;
  std::vector<Literal> acc;
  for (size_t k = 0; k < n; ++k) {
    Literal all(x[k].dtype(), p.out);
    const auto item = static_cast<size_t>(itemsize(x[k].dtype()));
    for (int64_t i = 0; i < all.elements(); ++i)
      std::memcpy(all.mutable_raw() + static_cast<size_t>(i) * item, x[n + k].raw(), item);
    acc.push_back(all);
  }
  const int64_t results = p.out.elements();
  std::vector<int64_t> from(static_cast<size_t>(results));
  for (int64_t place = 0; place < p.size().elements(); ++place) {
    const Dims k = indices_of(place, p.size(), p.in.rank());
    for (int64_t o = 0; o < results; ++o) {
      const Dims at = indices_of(o, p.out, p.out.rank());
      int64_t offset = 0;
      for (int64_t d = 0; d < p.out.rank() && offset >= 0; ++d) {
        const int64_t i = p.source(d, at[d], k[d]);
        offset = i < 0 ? -1 : offset + i * p.in_strides[d];
      }
      from[o] = offset;
    }
    std::vector<Literal> args = acc;
    for (size_t r = 0; r < n; ++r) {
      Literal taken = acc[r];
      const auto item = static_cast<size_t>(itemsize(taken.dtype()));
      for (int64_t o = 0; o < results; ++o)
        if (from[o] >= 0)
          std::memcpy(taken.mutable_raw() + static_cast<size_t>(o) * item,
                      x[r].raw() + static_cast<size_t>(from[o]) * item, item);
      args.push_back(taken);
    }
    const std::vector<Literal> folded = evaluate_function(body, args);
    for (size_t r = 0; r < n; ++r) {
      const auto item = static_cast<size_t>(itemsize(acc[r].dtype()));
      for (int64_t o = 0; o < results; ++o)
        if (from[o] >= 0)
          std::memcpy(acc[r].mutable_raw() + static_cast<size_t>(o) * item,
                      folded[r].raw() + static_cast<size_t>(o) * item, item);
    }
  }
  return acc;
}

// One step of fold_prefixes: applies the body to each element and the one `by` positions before it.
std::vector<Literal> fold_pairs(const Function& body, const std::vector<Literal>& x, int d,
                                int64_t by, bool reverse) {
  const int64_t n = x[0].shape()[d], stride = row_major_strides(x[0].shape())[d];
  std::vector<Literal> before = x;
  const int64_t kept = (n - by) * stride, line = n * stride;
  auto each_line = [&](auto&& copy) {
    for (int64_t at = 0; at < x[0].elements(); at += line) copy(at);
  };
  auto move = [&](Literal& to, const Literal& from, int64_t to_at, int64_t from_at, int64_t count) {
    const auto item = static_cast<size_t>(itemsize(to.dtype()));
    std::memcpy(to.mutable_raw() + static_cast<size_t>(to_at) * item,
                from.raw() + static_cast<size_t>(from_at) * item,
                static_cast<size_t>(count) * item);
  };
  const int64_t moved = by * stride;
  for (size_t r = 0; r < x.size(); ++r)
    each_line([&](int64_t at) {
      reverse ? move(before[r], x[r], at, at + moved, kept)
              : move(before[r], x[r], at + moved, at, kept);
    });
  std::vector<Literal> args = reverse ? x : before;
  const std::vector<Literal>& second = reverse ? before : x;
  args.insert(args.end(), second.begin(), second.end());
  std::vector<Literal> out = evaluate_function(body, args);
  for (size_t r = 0; r < x.size(); ++r)
    each_line([&](int64_t at) {
      move(out[r], x[r], reverse ? at + kept : at, reverse ? at + kept : at, moved);
    });
  return out;
}

// Computes prefix folds with a custom body, in log n steps; each step doubles the length of the
// folds.
std::vector<Literal> fold_prefixes(const Function& body, std::span<const Literal> x, int d,
                                   bool reverse) {
  const size_t n = x.size() / 2;
  std::vector<Literal> acc(x.begin(), x.begin() + static_cast<ptrdiff_t>(n));
  for (int64_t by = 1; by < acc[0].shape()[d]; by *= 2) acc = fold_pairs(body, acc, d, by, reverse);
  std::vector<Literal> args;
  for (size_t k = 0; k < n; ++k) {
    Literal all(x[k].dtype(), acc[k].shape());
    const auto item = static_cast<size_t>(itemsize(all.dtype()));
    for (int64_t i = 0; i < all.elements(); ++i)
      std::memcpy(all.mutable_raw() + static_cast<size_t>(i) * item, x[n + k].raw(), item);
    args.push_back(all);
  }
  args.insert(args.end(), acc.begin(), acc.end());
  return evaluate_function(body, args);
}

std::vector<Literal> run_custom(const ReduceWindowParams& p, const WindowPlaces& places,
                                std::span<const Literal> x) {
  bool reverse = false;
  const int along = cumulative_dim(places.windows, places.in, &reverse);
  if (along >= 0 && places.in.elements() > 0) return fold_prefixes(*p.body, x, along, reverse);
  return fold_custom(places, *p.body, x);
}

// Evaluates all folds. If `plainly`, it uses no threads and no rows; cumulative windows still take
// linear time.
void run(const ReduceWindowParams& p, const WindowPlaces& places, DType dtype, DType index,
         std::span<const void* const> in, std::span<void* const> out, bool plainly) {
  if (is_arg(p.kind)) {
    visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (!is_complex_type<T>) {
        auto fold = [&]<class I>(TypeTag<I>) {
          parallel_for_ranges(places.out.elements(), plainly ? places.out.elements() : 1024,
                              [&](int64_t begin, int64_t end) {
                                fold_places<T, I>(
                                    places, p.kind == ReduceKind::kArgMax,
                                    static_cast<const T*>(in[0]), static_cast<const I*>(in[1]),
                                    *static_cast<const T*>(in[2]), *static_cast<const I*>(in[3]),
                                    static_cast<T*>(out[0]), static_cast<I*>(out[1]), begin, end);
                              });
        };
        index == int64 ? fold(TypeTag<int64_t>{}) : fold(TypeTag<int32_t>{});
      }
    });
    return;
  }
  fold_windows(p.kind, {.places = places,
                        .dtype = dtype,
                        .x = in[0],
                        .init = in[1],
                        .out = out[0],
                        .plainly = plainly});
}

}  // namespace

void fold_windows(ReduceKind kind, const WindowFold& fold) {
  visit_fold(kind, [&](auto constant) { fold_windows_of<decltype(constant)::value>(fold); });
}

int cumulative_dim(const Windows& w, const Shape& shape, bool* reverse) {
  int along = -1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (w.trivial(d)) continue;
    const int64_t n = shape[d];
    const bool up_to = w.low[d] == n - 1 && w.high[d] == 0,
               from = w.low[d] == 0 && w.high[d] == n - 1;
    if (along >= 0 || w.size[d] != n || w.strides[d] != 1 || w.base_dilation[d] != 1 ||
        w.window_dilation[d] != 1 || (!up_to && !from))
      return -1;
    along = static_cast<int>(d);
    *reverse = from;
  }
  return along;
}

std::vector<Literal> evaluate_reduce_window(std::span<const Literal> x,
                                            const ReduceWindowParams& p) {
  const WindowPlaces places(x[0].shape(), p.windows());
  if (p.kind == ReduceKind::kCustom) return run_custom(p, places, x);
  std::vector<Literal> out;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const Literal& l : x) from.push_back(l.raw());
  for (size_t k = 0; k < x.size() / 2; ++k) out.emplace_back(x[k].dtype(), places.out);
  for (Literal& l : out) to.push_back(l.mutable_raw());
  run(p, places, x[0].dtype(), x.size() == 4 ? x[1].dtype() : int32, from, to, true);
  return out;
}

HostCall reduce_window_call(const OpParams& params, std::span<const Type> operands,
                            std::span<const Type>) {
  const ReduceWindowParams p = params.as<ReduceWindowParams>();
  const auto places = std::make_shared<const WindowPlaces>(operands[0].shape, p.windows());
  const std::vector<Type> types(operands.begin(), operands.end());
  return [=](std::span<const void* const> in, std::span<void* const> out) {
    if (p.kind != ReduceKind::kCustom) {
      run(p, *places, types[0].dtype, types.size() == 4 ? types[1].dtype : int32, in, out, false);
      return;
    }
    std::vector<Literal> x;
    for (size_t k = 0; k < types.size(); ++k) {
      x.emplace_back(types[k].dtype, types[k].shape);
      if (x[k].bytes() > 0)
        std::memcpy(x[k].mutable_raw(), in[k], static_cast<size_t>(x[k].bytes()));
    }
    const std::vector<Literal> results = run_custom(p, *places, x);
    for (size_t r = 0; r < results.size(); ++r)
      if (results[r].bytes() > 0)
        std::memcpy(out[r], results[r].raw(), static_cast<size_t>(results[r].bytes()));
  };
}

}  // namespace tessera::ops
