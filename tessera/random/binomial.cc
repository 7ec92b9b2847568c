// binomial and multinomial, as JAX draws them: by sums of geometric numbers if few successes are
// expected (Devroye, "Non-Uniform Random Variate Generation", X.4.3), otherwise by transformed
// rejection (Hormann, "The generation of binomial random variates", 1993, BTRS).
#include <array>
#include <tuple>

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"
#include "tessera/random/distributions.h"
#include "tessera/random/sampling.h"

namespace tessera::random {

namespace {

// Returns log(k!) minus Stirling's approximation of it.
Array stirling_tail(const Array& k) {
  static const std::vector<double> kSmall = {
      0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.010411265261972,
      0.00925546218271273, 0.00833056343336287};
  const Array small = clip(k, 0, 9), square_of_next = square(small + 1);
  const Array series =
      (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square_of_next) / square_of_next) / (small + 1);
  const Array table = astype(array(kSmall, default_float()), k.dtype());
  return where(k <= 9, take(table, astype(floor(small), int32)), series);
}

using Key = random::Key;
using Carry = std::tuple<Array, Array, Array>;  // number, end of loop, key's words

// Returns how many geometric numbers add up to at most the count.
Array by_inversion(const Key& key, const Array& count, const Array& p) {
  const Array log_failure = log1p(-p), none = zeros_like(p);
  const auto open = [&](const Carry& c) { return any(std::get<1>(c) <= count); };
  const auto step = [&](const Carry& c) {
    const auto& [drawn, total, words] = c;
    const auto keys = split<2>(Key{words});
    const Array more = where(total <= count, drawn + 1, drawn);
    const Array u = uniform(keys[0], p.shape(), p.dtype());
    return Carry(more, total + ceil(log(u) / log_failure), keys[1].data);
  };
  return std::get<0>(while_loop(open, step, Carry(none, none, key.data))) - 1;
}

Array by_rejection(const Key& key, const Array& n, const Array& p) {
  const Array deviation = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const Array a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5, accept_below = 0.92 - 4.2 / b;
  const Array odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation, m = floor((n + 1) * p);
  const auto open = [](const Carry& carry) { return any(logical_not(std::get<1>(carry))); };
  const auto step = [&](const Carry& carry) {
    const auto& [kept, accepted, words] = carry;
    const auto keys = split<3>(Key{words});
    const Array u = uniform(keys[1], p.shape(), p.dtype()) - 0.5;
    const Array v = uniform(keys[2], p.shape(), p.dtype());
    const Array us = 0.5 - abs(u), k = floor((2 * a / us + b) * u + c);
    const Array at_once = (us >= 0.07) & (v <= accept_below), outside = (k < 0) | (k > n);
    const Array left = log(v * alpha / (a / (us * us) + b));
    const Array bound = (m + 0.5) * log((m + 1) / (odds * (n - m + 1))) +
                        (n + 1) * log((n - m + 1) / (n - k + 1)) +
                        (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_tail(m) +
                        stirling_tail(n - m) - stirling_tail(k) - stirling_tail(n - k);
    const Array accept = at_once | (logical_not(outside) & (left <= bound));
    return Carry(where(accept, k, kept), accepted | accept, keys[0].data);
  };
  return std::get<0>(
      while_loop(open, step, Carry(full_like(p, -1), zeros(p.shape(), bool_), key.data)));
}

// Returns binomial numbers. count and p have one shape and floating dtype.
Array binomial_numbers(const Key& key, const Array& count, const Array& p) {
  const Array rare = p < 0.5;
  Array q = where(rare, p, 1 - p);
  const Array bad_count = isnan(count) | (count < 0), bad_p = isnan(q) | (q < 0);
  const Array endless = isinf(count);
  q = where(bad_p, full_like(q, 0.01), q);
  const Array few = bad_count | (count * q <= 10);
  const Array n = floor(count);
  Array out = where(
      few, by_inversion(key, where(few, n, 0), q),
      by_rejection(key, where(few, full_like(n, 10000), n), where(few, full_like(q, 0.5), q)));
  const Array invalid = bad_p | bad_count;
  out = where(invalid, NAN, out);
  out = where(endless & logical_not(invalid), INFINITY, out);
  return where(rare | bad_count | isnan(p) | endless, out, n - out);
}

void expect_real_counts(const char* name, const Array& n, const Array& p) {
  for (const Array* x : {&n, &p})
    if (is_complex(x->dtype()))
      type_error(name, "expected real parameters, got {}", describe(x->type()));
}

}  // namespace

Array binomial(const Key& key, const Array& n, const Array& p, OrNone<Shape> shape,
               OptionalDType dtype) {
  const char* name = "random::binomial";
  const DType result = internal::floating(name, dtype);
  expect_real_counts(name, n, p);
  const Shape out = internal::sample_shape(name, shape, {n.shape(), p.shape()});
  return composite(name, internal::SampleParams{out, result}, {key.data, n, p},
                   [](const internal::SampleParams& s, std::span<const Array> a) {
                     const DType dtype = to_inexact(a[2].dtype());
                     const auto spread = [&](const Array& x) {
                       return broadcast_to(as_dtype(x, dtype), s.shape);
                     };
                     return astype(binomial_numbers(Key{a[0]}, spread(a[1]), spread(a[2])),
                                   s.dtype);
                   });
}

Array multinomial(const Key& key, const Array& n, const Array& p, OrNone<Shape> shape,
                  OptionalDType dtype) {
  const char* name = "random::multinomial";
  const DType result = internal::floating(name, dtype);
  expect_real_counts(name, n, p);
  const Shape out = shape.value_or(p.shape());
  if (out.empty())
    shape_error(name, "expected probabilities along a last dimension, got {}", describe(p.type()));
  internal::check_shape(name, out);
  const Shape rows(out.begin(), out.end() - 1);
  broadcast_array(name, n, rows);
  broadcast_array(name, p, out);
  return composite(name, internal::SampleParams{out, result}, {key.data, n, p},
                   [](const internal::SampleParams& s, std::span<const Array> a) {
                     const std::vector<Array> same =
                         promote_dtypes(a.subspan(1), Promotion::kInexact);
                     const Shape rows(s.shape.begin(), s.shape.end() - 1);
                     const Array count = as_dtype(broadcast_to(same[0], rows), same[0].dtype());
                     const Array classes = moveaxis(broadcast_to(same[1], s.shape), -1, 0);
                     // Each class gets a binomial number of the trials that are left, with its
                     // share of the probability that is left.
                     const Array rest = flip(cumsum(flip(classes, 0), {.axis = 0}), 0);
                     const Array share = clip(classes / where(equal(rest, 0), 1, rest), 0, 1);
                     const Key keys = split(Key{a[0]}, share.shape()[0]);
                     const auto [left, counts] = scan(
                         [](const Array& left, const std::pair<Array, Array>& x) {
                           const Array taken = binomial_numbers(Key{x.second}, left,
                                                                as_dtype(x.first, left.dtype()));
                           return std::pair(left - taken, taken);
                         },
                         count, std::pair(share, keys.data));
                     return astype(moveaxis(counts, 0, -1), s.dtype);
                   });
}

}  // namespace tessera::random
