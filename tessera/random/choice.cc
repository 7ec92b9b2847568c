#include "tessera/compile/composite.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/random/random.h"
#include "tessera/random/sampling.h"

namespace tessera::random {

using namespace ir;

namespace {

// Returns prefix sums of a vector, added up in the order of XLA's CPU compiler: one by one within
// runs of 16, to which the sum of the earlier runs is added. Those sums are added up in the same
// order. The element that is picked depends on where a number is among the prefix sums, so they
// must be rounded as XLA rounds them.
Array running_totals(const Array& x) {
  constexpr int64_t kRun = 16;
  const int64_t n = x.size(), runs = (n + kRun - 1) / kRun;
  if (n == 0) return x;
  const Array zero = lax::full({}, 0, x.dtype());
  Array rows = lax::reshape(lax::pad(x, zero, {0}, {runs * kRun - n}, {0}), {runs, kRun});
  std::vector<Array> columns{lax::slice_in_dim(rows, 0, 1, 1, 1)};
  for (int64_t i = 1; i < kRun; ++i)
    columns.push_back(lax::add(columns.back(), lax::slice_in_dim(rows, i, i + 1, 1, 1)));
  rows = lax::concatenate(columns, 1);
  if (runs > 1) {
    const Array whole = running_totals(lax::reshape(columns.back(), {runs}));
    const Array before = lax::pad(lax::slice_in_dim(whole, 0, runs - 1), zero, {1}, {0}, {0});
    rows = lax::add(rows, lax::broadcast_in_dim(before, rows.shape(), {0}));
  }
  return lax::slice_in_dim(lax::reshape(rows, {runs * kRun}), 0, n);
}

// Returns the logits with Gumbel noise. The first of equal ones is picked, so they must be rounded
// as JAX rounds them.
Array noisy_logits(const Key& key, const Shape& shape, const Array& logits) {
  const Array noise = internal::rounded(gumbel(key, shape, logits.dtype()));
  return internal::rounded(lax::add(noise, logits));
}

struct ChoiceParams {
  std::string name;
  Shape shape;
  int64_t population;
  bool replace;
  DType index;
};

// Returns indices into a population of n. `p` may be undefined.
Array places(const char* name, const Key& key, int64_t n, const Shape& shape,
             const ChoiceOptions& o) {
  internal::check_shape(name, shape);
  const int64_t draws = shape.elements();
  const DType index = default_int();
  if (o.p.defined() && o.p.shape() != Shape{n})
    shape_error(name, "expected one probability for each of {} elements, got {}", n,
                describe(o.p.type()));
  if (o.p.defined() && is_complex(o.p.dtype()))
    type_error(name, "expected real probabilities, got {}", describe(o.p.type()));
  if (draws == 0) return zeros(shape, index);
  if (n <= 0) value_error(name, "expected at least one element to choose from, got {}", n);
  if (!o.replace && draws > n)
    value_error(name,
                "expected at most {} draws from {} elements without replacement, got {}; ask for "
                "fewer, or replace",
                n, n, draws);
  if (!o.p.defined() && o.replace) return randint(key, shape, 0, n, index);
  std::vector<Array> args{key.data};
  if (o.p.defined()) args.push_back(o.p);
  return composite(name, ChoiceParams{name, shape, n, o.replace, index}, args,
                   [](const ChoiceParams& c, std::span<const Array> a) -> Array {
                     const Shape& shape = c.shape;
                     const int64_t n = c.population, draws = shape.elements();
                     const Key k{a[0]};
                     if (a.size() == 1)
                       return lax::reshape(lax::slice_in_dim(permutation(k, n), 0, draws), shape);
                     const DType dtype = to_inexact(canonical_dtype(a[1].dtype()));
                     const Array p = as_dtype(a[1], dtype);
                     if (c.replace) {
                       const Array sums = running_totals(p);
                       const Array all = lax::reshape(lax::slice_in_dim(sums, n - 1, n), {});
                       const Array u = uniform(k, shape, dtype);
                       const Array r = internal::rounded(
                           lax::mul(broadcast_array(c.name, all, shape),
                                    internal::rounded(lax::sub(lax::full_like(u, 1), u))));
                       return as_dtype(searchsorted(sums, r), c.index);
                     }
                     // The k largest logits with Gumbel noise are a sample without replacement.
                     const Array noisy = noisy_logits(k, {n}, internal::rounded(lax::log(p)));
                     return lax::reshape(as_dtype(lax::top_k(noisy, draws).second, c.index), shape);
                   });
}

}  // namespace

namespace internal {

Array choice_of_count(const Key& key, int64_t n, const Shape& shape, const ChoiceOptions& options) {
  return places("random::choice", key, n, shape, options);
}

}  // namespace internal

Array choice(const Key& key, const Array& a, const Shape& shape, const ChoiceOptions& options) {
  const char* name = "random::choice";
  if (a.ndim() == 0)
    shape_error(name,
                "expected an array with an axis to choose along, got {}; pass a C++ integer to "
                "choose from 0 ... n - 1",
                describe(a.type()));
  const int64_t axis = normalize_axis(name, options.axis, a.ndim());
  const Array at = places(name, key, a.shape()[axis], shape, options);
  return take(a, at, {.axis = axis, .mode = IndexMode::kPromiseInBounds});
}

namespace {

// Returns distinct classes. The largest logits with Gumbel noise are a sample without replacement
// (Kool, van Hoof and Welling, "Stochastic beams and where to find them", ICML 2019). The first
// `added` extents of the shape count the draws.
Array distinct_classes(const char* name, const Key& key, const Array& logits, int64_t axis,
                       const Shape& shape, int64_t added) {
  const Shape draws(shape.begin(), shape.begin() + added);
  const int64_t k = draws.elements(), classes = logits.shape()[axis];
  if (k > classes)
    value_error(name, "expected at most {} draws of as many classes without replacement, got {}",
                classes, k);
  struct DistinctParams {
    Shape shape;
    int64_t axis, draws;
  };
  return composite("random::categorical_distinct", DistinctParams{shape, axis, k},
                   {key.data, logits}, [](const DistinctParams& p, std::span<const Array> a) {
                     const Array x = as_dtype(a[1], a[1].dtype());
                     const Array noisy = noisy_logits({a[0]}, x.shape(), x);
                     const int64_t last = x.ndim() - 1;
                     const Array found =
                         lax::top_k(lax::move_dim(noisy, p.axis, last), p.draws).second;
                     return lax::reshape(lax::move_to_front(found, last), p.shape);
                   });
}

}  // namespace

Array categorical(const Key& key, const Array& logits, const CategoricalOptions& o) {
  const char* name = "random::categorical";
  if (!is_floating(logits.dtype()))
    type_error(name, "expected floating-point logits, got {}; convert them with astype",
               describe(logits.type()));
  if (logits.ndim() == 0)
    shape_error(name, "expected at least 1 dimension of logits, got {}", describe(logits.type()));
  const int64_t axis = normalize_axis(name, o.axis, logits.ndim());
  Shape batch = logits.shape();
  batch.erase(batch.begin() + axis);
  const Shape shape = o.shape.value_or(batch);
  const int64_t added = shape.rank() - batch.rank();
  const Shape tail = added >= 0 ? Shape(shape.begin() + added, shape.end()) : Shape{};
  bool fits = added >= 0;
  for (int64_t d = 0; fits && d < batch.rank(); ++d) fits = batch[d] == tail[d] || batch[d] == 1;
  if (!fits)
    shape_error(name, "expected a shape that ends in the logits' {} (without axis {}), got {}",
                batch, axis, shape);
  if (!o.replace) {
    if (batch != tail)
      shape_error(name, "expected a shape that ends in the logits' {} without replacement, got {}",
                  batch, shape);
    return distinct_classes(name, key, logits, axis, shape, added);
  }
  Shape drawn = shape;
  drawn.insert(drawn.begin() + added + axis, logits.shape()[axis]);
  struct CategoricalParams {
    Shape shape;
    int64_t axis;
  };
  return composite(name, CategoricalParams{drawn, added + axis}, {key.data, logits},
                   [](const CategoricalParams& p, std::span<const Array> a) {
                     const Array x = broadcast_array("random::categorical",
                                                     as_dtype(a[1], a[1].dtype()), p.shape);
                     return argmax(noisy_logits({a[0]}, p.shape, x), {.axis = p.axis});
                   });
}

}  // namespace tessera::random
