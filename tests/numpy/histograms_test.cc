// Compares histograms with jax.numpy (golden/make_calls_numpy.py).
#include "tessera/numpy/histograms.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/logic.h"

namespace tessera::histograms_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Histograms, AsInJax) {
  test::check_calls("calls_numpy", "histograms", {
    TESSERA_CALL("histogram_bin_edges", histogram_bin_edges(a[0])),
        TESSERA_CALL("histogram_bin_edges_range",
                     histogram_bin_edges(a[0], int64_t{4}, std::pair(-1.0, 3.0))),
        TESSERA_CALL("histogram_bin_edges_given", histogram_bin_edges(a[0], a[1])),
        TESSERA_CALL("histogram_bin_edges_same", histogram_bin_edges(a[0], int64_t{3})),
        TESSERA_CALL_MANY("histogramdd",
                          const Histogramdd h = histogramdd(a[0], {.bins = {int64_t{3}}});
                          return {h.counts, h.edges[0], h.edges[1]};),
        TESSERA_CALL_MANY("histogramdd_bins",
                          const Histogramdd h = histogramdd(a[0], {.bins = {int64_t{4}, a[1]}});
                          return {h.counts, h.edges[0], h.edges[1]};),
        TESSERA_CALL_MANY("histogramdd_weights",
                          const Histogramdd h = histogramdd(
                              a[0], {.bins = {int64_t{3}}, .weights = a[1], .density = true});
                          return {h.counts, h.edges[0], h.edges[1]};),
        TESSERA_CALL_MANY(
            "histogramdd_range",
            const Histogramdd h = histogramdd(a[0], {.bins = {int64_t{3}},
                                                     .range = {std::pair(-1.0, 1.0), std::nullopt},
                                                     .density = true});
            return {h.counts, h.edges[0], h.edges[1]};),
        TESSERA_CALL_MANY("histogram2d", const Histogram2d h = histogram2d(
                                             a[0], a[1], {.bins = {int64_t{3}, int64_t{5}}});
                          return {h.counts, h.x_edges, h.y_edges};),
  });
}

TEST(Histograms, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({5, 2});
  expect_error([&] { histogram_bin_edges(v, int64_t{0}); },
               "[histogram_bin_edges] expected at least one bin, got 0");
  expect_error([&] { histogram_bin_edges(v, m); },
               "[histogram_bin_edges] expected a vector of at least two edges");
  expect_error([&] { histogram_bin_edges(astype(v, complex64)); },
               "[histogram_bin_edges] expected real numbers");
  expect_error([&] { histogramdd(v); }, "[histogramdd] expected samples as the rows of a matrix");
  expect_error([&] { histogramdd(astype(m, complex64)); }, "[histogramdd] expected real numbers");
  expect_error(
      [&] {
        histogramdd(m, {.bins = {int64_t{1}, int64_t{1}, int64_t{1}}});
      },
      "[histogramdd] expected bins for all dimensions or for each of 2");
  expect_error([&] { histogramdd(m, {.range = {std::nullopt}}); },
               "[histogramdd] expected no range or one for each");
  expect_error([&] { histogramdd(m, {.weights = v}); },
               "[histogramdd] expected one weight a sample");
  expect_error([&] { histogram2d(v, m); }, "[histogram2d] expected two vectors of one size");
}

}  // namespace
}  // namespace tessera::histograms_test
