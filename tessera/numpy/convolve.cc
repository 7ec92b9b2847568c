#include "tessera/numpy/convolve.h"

#include <limits>

#include "tessera/compile/composite.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"

namespace tessera {

namespace {

struct OverlapParams {
  bool conjugate;  // correlate: v is conjugated and not reversed
  ConvolveMode mode;
  OptionalDType preferred;
};

Array overlaps(const OverlapParams& p, std::span<const Array> a) {
  const std::vector<Array> same =
      promote_dtypes(a, p.preferred ? Promotion::kAny : Promotion::kInexact);
  const auto as_preferred = [&](const Array& v) {
    const bool widens = p.preferred && is_inexact(*p.preferred) && !is_inexact(v.dtype());
    return widens ? as_dtype(v, *p.preferred) : v;
  };
  Array x = as_preferred(same[0]),
        y = p.conjugate ? conj(as_preferred(same[1])) : as_preferred(same[1]);
  const bool swapped = x.size() < y.size();
  if (swapped) std::swap(x, y);
  if (!p.conjugate) y = flip(y);
  const int64_t m = y.size();
  std::pair<int64_t, int64_t> padding(0, 0);
  switch (p.mode) {
    case ConvolveMode::kFull:
      padding = {m - 1, m - 1};
      break;
    case ConvolveMode::kSame:
      padding = {m / 2, m - m / 2 - 1};
      break;
    case ConvolveMode::kValid:
      break;
  }
  const Array out =
      reshape(lax::conv_general_dilated(reshape(x, {1, 1, x.size()}), reshape(y, {1, 1, m}), {1},
                                        lax::Padding{padding}, {.preferred = p.preferred}),
              {-1});
  return p.conjugate && swapped ? flip(out) : out;
}

Array overlap_sums(const char* name, const Array& a, const Array& v, bool conjugate,
                   ConvolveMode mode, OptionalDType preferred) {
  if (a.ndim() != 1 || v.ndim() != 1 || a.size() == 0 || v.size() == 0)
    shape_error(name, "expected two vectors with elements, got {} and {}", describe(a.type()),
                describe(v.type()));
  if (preferred) preferred = canonical_dtype(*preferred);
  return composite(name, OverlapParams{conjugate, mode, preferred}, {a, v}, overlaps);
}

}  // namespace

Array convolve(const Array& a, const Array& v, const ConvolveOptions& o) {
  return overlap_sums("convolve", a, v, false, o.mode, o.preferred_element_type);
}
Array correlate(const Array& a, const Array& v, const CorrelateOptions& o) {
  return overlap_sums("correlate", a, v, true, o.mode, o.preferred_element_type);
}

namespace {

struct CovParams {
  bool rowvar, has_y, fweights, aweights;
  int64_t ddof;
};

Array cov_body(const CovParams& p, std::span<const Array> a) {
  const std::vector<Array> same = promote_dtypes(a.first(p.has_y ? 2 : 1), Promotion::kInexact);
  const auto rows = [&](const Array& x) {
    return !p.rowvar && x.ndim() == 2 && x.shape()[0] != 1 ? transpose(x) : atleast_2d(x);
  };
  Array x = !p.rowvar && same[0].ndim() == 2 ? transpose(same[0]) : atleast_2d(same[0]);
  if (p.has_y) x = concatenate({x, rows(same[1])});
  size_t next = p.has_y ? 2 : 1;
  Array weights, observation_weights;
  if (p.fweights) weights = abs(a[next++]);
  if (p.aweights) {
    observation_weights = abs(a[next++]);
    weights = weights.defined() ? weights * observation_weights : observation_weights;
  }
  const int64_t n = x.shape()[1];
  if (x.shape()[0] == 0 || n == 0)
    return squeeze(full(Shape{x.shape()[0], x.shape()[0]}, NAN, x.dtype()));
  Array factor = static_cast<double>(n - p.ddof);
  if (weights.defined()) {
    const Array total = sum(weights);
    factor = p.ddof == 0 ? total
             : p.aweights
                 ? total - static_cast<double>(p.ddof) * sum(weights * observation_weights) / total
                 : total - p.ddof;
  }
  const Array mean_of_each = average(x, {.axis = 1, .weights = weights, .keepdims = true});
  const Array centered = x - mean_of_each;
  const Array weighted = weights.defined() ? centered * weights : centered;
  return squeeze(divide(matmul(centered, conj(transpose(weighted))), factor));
}

void check_variables(const char* name, const Array& m, const std::optional<Array>& y, bool rowvar) {
  for (const Array* x : {&m, y ? &*y : &m})
    if (x->ndim() > 2)
      shape_error(name, "expected at most 2 dimensions, got {}", describe(x->type()));
  if (!y) return;
  const auto observations = [&](const Array& x, bool turns) {
    return x.ndim() == 0 ? 1 : x.ndim() == 1 ? x.size() : x.shape()[turns ? 0 : 1];
  };
  if (observations(m, !rowvar) != observations(*y, !rowvar && y->ndim() == 2 && y->shape()[0] != 1))
    shape_error(name, "expected as many observations of y as of m, got {} and {}",
                describe(y->type()), describe(m.type()));
}

void check_weights(const std::optional<Array>& weights, int64_t observations, const char* what) {
  if (weights && (weights->ndim() != 1 || weights->size() != observations))
    shape_error("cov", "expected {} as a vector of {} elements, got {}", what, observations,
                describe(weights->type()));
}

}  // namespace

Array cov(const Array& m, const CovOptions& o) {
  check_variables("cov", m, o.y, o.rowvar);
  const int64_t observations = m.ndim() == 0   ? 1
                               : m.ndim() == 1 ? m.size()
                                               : m.shape()[o.rowvar ? 1 : 0];
  check_weights(o.fweights, observations, "fweights");
  check_weights(o.aweights, observations, "aweights");
  if (o.fweights && !is_integer(o.fweights->dtype()))
    type_error("cov", "expected integers as fweights, got {}; aweights takes other weights",
               describe(o.fweights->type()));
  const CovParams params{o.rowvar, o.y.has_value(), o.fweights.has_value(), o.aweights.has_value(),
                         o.ddof.value_or(o.bias ? 0 : 1)};
  std::vector<Array> args{m};
  for (const std::optional<Array>* x : {&o.y, &o.fweights, &o.aweights})
    if (*x) args.push_back(**x);
  return composite("cov", params, args, cov_body);
}

Array corrcoef(const Array& x, const CorrcoefOptions& o) {
  check_variables("corrcoef", x, o.y, o.rowvar);
  const Array c = cov(x, {.y = o.y, .rowvar = o.rowvar});
  return composite("corrcoef", {}, {c}, [](const NoParams&, std::span<const Array> a) -> Array {
    const Array& c = a[0];
    if (c.ndim() == 0) return c / c;  // NOLINT(misc-redundant-expression): NaN for 0
    const Array deviation = sqrt(real(diag(c)));
    const Array r = c / expand_dims(deviation, 1) / expand_dims(deviation, 0);
    if (!is_complex(r.dtype())) return clip(r, -1, 1);
    return lax::complex(clip(real(r), -1, 1), clip(imag(r), -1, 1));
  });
}

}  // namespace tessera
