// The oracle of clipping computes the gradients of every example one by one, clips them and adds
// them up.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/privacy/clipping/clip_pytree.h"
#include "tessera/privacy/clipping/clipped_grad.h"
#include "tessera/tessera.h"

namespace tessera::privacy::helpers {

inline double as_number(const Array& x) {
  const double out = astype(x, x.dtype() == float64 ? float64 : float32).item<double>();
  return std::isnan(out) ? std::numeric_limits<double>::infinity() : out;
}

// Returns the largest difference of two trees' leaves, in units of the largest element of
// `expected`; infinite if there is a NaN.
template <class P>
double difference(const P& got, const P& expected) {
  const std::vector<Array> a = tree::leaves(got), b = tree::leaves(expected);
  double worst = 0, size = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].shape(), b[i].shape());
    if (a[i].size() == 0) continue;
    worst = std::max(worst, as_number(max(abs(a[i] - b[i]))));
    size = std::max(size, as_number(max(abs(b[i]))));
  }
  return worst / size;
}

template <class P>
struct Materialised {
  P sum;
  std::vector<double> norms;
};
template <class Loss, class P, class... Batch>
Materialised<P> materialised(const Loss& loss, const P& params, int64_t size, double clip,
                             const Batch&... batch) {
  Materialised<P> out{tree::map([](const Array& x) { return zeros_like(x); }, params), {}};
  const auto gradient = jit([&](const P& p, const Batch&... x) { return grad(loss)(p, x...); });
  for (int64_t b = 0; b < size; ++b) {
    const P g = gradient(params, slice_in_dim(batch, b, b + 1, 0)...);
    auto [clipped, norm] = clip_pytree(g, clip);
    out.norms.push_back(norm.template item<double>());
    out.sum = tree::map([](const Array& x, const Array& y) { return x + y; }, out.sum, clipped);
  }
  return out;
}

// Compares every method that works for these parameters, with a clip norm that clips some examples
// and not others.
template <class Loss, class P, class... Batch>
void expect_clipped_like_materialised(const Loss& loss, const P& params, int64_t size,
                                      const Batch&... batch) {
  const Materialised<P> raw = materialised(loss, params, size, 1e30, batch...);
  std::vector<double> sorted = raw.norms;
  std::sort(sorted.begin(), sorted.end());
  const double clip = sorted[sorted.size() / 2];
  const Materialised<P> expected = materialised(loss, params, size, clip, batch...);
  std::vector<size_t> argnums;
  for (size_t i = 1; i <= sizeof...(batch); ++i) argnums.push_back(i);
  for (std::optional<NormWay> method :
       {std::optional<NormWay>(), std::optional(NormWay::kFactors), std::optional(NormWay::kTiles),
        std::optional(NormWay::kKeep)})
    for (std::optional<int64_t> microbatch :
         {std::optional<int64_t>(), std::optional<int64_t>(size % 2 == 0 ? 2 : 1)}) {
      const auto out = clipped_value_and_grad(loss, {.l2_clip_norm = clip,
                                                     .batch_argnums = argnums,
                                                     .microbatch_size = microbatch,
                                                     .norm_way = method})(params, batch...);
      const std::string label = std::string("way ") +
                                (method ? std::to_string(int(*method)) : "chosen") +
                                " microbatch " + std::to_string(microbatch.value_or(0));
      EXPECT_LT(difference(out.grads, expected.sum), 1e-5) << label;
      for (size_t b = 0; b < expected.norms.size(); ++b)
        EXPECT_NEAR(
            as_number(slice_in_dim(out.grad_norms, int64_t(b), int64_t(b) + 1, 0)) / raw.norms[b],
            1, 1e-5)
            << label << " example " << b;
    }
}

}  // namespace tessera::privacy::helpers
