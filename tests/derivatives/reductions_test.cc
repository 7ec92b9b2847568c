// Reductions, products and polynomials of jax.numpy: values and derivatives as in JAX.
#include "derivatives.h"
#include "tessera/numpy/convolve.h"
#include "tessera/numpy/differences.h"
#include "tessera/numpy/histograms.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/polynomial.h"
#include "tessera/numpy/quantile.h"
#include "tessera/numpy/searching.h"
#include "tessera/numpy/sorting.h"
#include "tessera/numpy/ufuncs.h"

namespace tessera::derivatives_reductions_test {
namespace {

using namespace derivatives_test;

Arrays results(const Histogram2d& h) { return {h.counts, h.x_edges, h.y_edges}; }
Arrays results(const Histogramdd& h) {
  Arrays out = {h.counts};
  out.insert(out.end(), h.edges.begin(), h.edges.end());
  return out;
}
using derivatives_test::results;

const std::vector<Row> kRows = {
    CALL("jax.numpy.sum", sum(x[0])),
    CALL("jax.numpy.prod", prod(x[0])),
    CALL("jax.numpy.max", max(x[0])),
    CALL("jax.numpy.min", min(x[0])),
    CALL("jax.numpy.mean", mean(x[0])),
    CALL("jax.numpy.std", std(x[0])),
    CALL("jax.numpy.var", var(x[0])),
    CALL("jax.numpy.amax", amax(x[0])),
    CALL("jax.numpy.amin", amin(x[0])),
    CALL("jax.numpy.ptp", ptp(x[0])),
    CALL("jax.numpy.nansum", nansum(x[0])),
    CALL("jax.numpy.nanprod", nanprod(x[0])),
    CALL("jax.numpy.nanmax", nanmax(x[0])),
    CALL("jax.numpy.nanmin", nanmin(x[0])),
    CALL("jax.numpy.nanmean", nanmean(x[0])),
    CALL("jax.numpy.nanstd", nanstd(x[0])),
    CALL("jax.numpy.nanvar", nanvar(x[0])),
    CALL("jax.numpy.median", median(x[0])),
    CALL("jax.numpy.nanmedian", nanmedian(x[0])),
    CALL("jax.numpy.minmax", minmax(x[0])),
    CALL("jax.numpy.cumsum", cumsum(x[0])),
    CALL("jax.numpy.cumprod", cumprod(x[0])),
    CALL("jax.numpy.nancumsum", nancumsum(x[0])),
    CALL("jax.numpy.nancumprod", nancumprod(x[0])),
    CALL("jax.numpy.cumulative_sum", cumulative_sum(x[0])),
    CALL("jax.numpy.cumulative_prod", cumulative_prod(x[0])),
    CALL("jax.numpy.all", all(x[0])),
    CALL("jax.numpy.any", any(x[0])),
    CALL("jax.numpy.count_nonzero", count_nonzero(x[0])),
    CALL("jax.numpy.average", average(x[0], {.axis = 0, .weights = x[1]})),
    CALL("jax.numpy.prod/zero", prod(x[0])),
    CALL("jax.numpy.max/ties", max(x[0])),
    CALL("jax.numpy.std/complex", std(x[0])),
    CALL("jax.numpy.nansum/nan", nansum(x[0])),
    CALL("jax.numpy.nanmean/nan", nanmean(x[0])),
    CALL("jax.numpy.nanvar/nan", nanvar(x[0])),
    CALL("jax.numpy.nanstd/nan", nanstd(x[0])),
    CALL("jax.numpy.nanmedian/nan", nanmedian(x[0])),
    CALL("jax.numpy.nanmax/nan", nanmax(x[0])),
    CALL("jax.numpy.nanmin/nan", nanmin(x[0])),
    CALL("jax.numpy.nanprod/nan", nanprod(x[0])),
    CALL("jax.numpy.nancumsum/nan", nancumsum(x[0])),
    CALL("jax.numpy.nancumprod/nan", nancumprod(x[0])),
    CALL("jax.numpy.nanquantile/nan", nanquantile(x[0], x[1])),
    CALL("jax.numpy.cumprod/zero", cumprod(x[0])),
    CALL("jax.numpy.quantile", quantile(x[0], x[1])),
    CALL("jax.numpy.percentile", percentile(x[0], x[1])),
    CALL("jax.numpy.nanquantile", nanquantile(x[0], x[1])),
    CALL("jax.numpy.nanpercentile", nanpercentile(x[0], x[1])),
    CALL("jax.numpy.histogram", histogram(x[0], {.bins = 4, .weights = x[1]})),
    CALL("jax.numpy.histogram2d", histogram2d(x[0], x[1], {.bins = {int64_t{3}}})),
    CALL("jax.numpy.histogramdd", histogramdd(x[0], {.bins = {int64_t{3}}})),
    CALL("jax.numpy.histogram_bin_edges", histogram_bin_edges(x[0], int64_t{4})),
    CALL("jax.numpy.convolve", convolve(x[0], x[1])),
    CALL("jax.numpy.correlate", correlate(x[0], x[1])),
    CALL("jax.numpy.cov", cov(x[0])),
    CALL("jax.numpy.corrcoef", corrcoef(x[0])),
    CALL("jax.numpy.diff", diff(x[0], {.n = 2})),
    CALL("jax.numpy.ediff1d", ediff1d(x[0])),
    CALL("jax.numpy.gradient", gradient(x[0])),
    CALL("jax.numpy.interp", interp(x[0], x[1], x[2])),
    CALL("jax.numpy.trapezoid", trapezoid(x[0], {.x = x[1]})),
    CALL("jax.numpy.cross", cross(x[0], x[1])),
    CALL("jax.numpy.dot", dot(x[0], x[1])),
    CALL("jax.numpy.einsum", einsum("ij,kj->ik", {x[0], x[1]})),
    CALL("jax.numpy.inner", inner(x[0], x[1])),
    CALL("jax.numpy.matmul", matmul(x[0], x[1])),
    CALL("jax.numpy.matmul/complex", matmul(x[0], x[1])),
    CALL("jax.numpy.matvec", matvec(x[0], x[1])),
    CALL("jax.numpy.vecmat", vecmat(x[0], x[1])),
    CALL("jax.numpy.outer", outer(x[0], x[1])),
    CALL("jax.numpy.tensordot", tensordot(x[0], x[1], 1)),
    CALL("jax.numpy.trace", trace(x[0])),
    CALL("jax.numpy.vdot", vdot(x[0], x[1])),
    CALL("jax.numpy.vecdot", vecdot(x[0], x[1])),
    CALL("jax.numpy.poly", poly(x[0])),
    CALL("jax.numpy.polyadd", polyadd(x[0], x[1])),
    CALL("jax.numpy.polysub", polysub(x[0], x[1])),
    CALL("jax.numpy.polymul", polymul(x[0], x[1])),
    CALL("jax.numpy.polydiv", polydiv(x[0], x[1])),
    CALL("jax.numpy.polyder", polyder(x[0], 2)),
    CALL("jax.numpy.polyint", polyint(x[0], 2)),
    CALL("jax.numpy.polyval", polyval(x[0], x[1])),
    CALL("jax.numpy.polyfit", polyfit(x[0], x[1], 2)),
    CALL("jax.numpy.roots", roots(x[0], {.strip_zeros = false})),
    CALL("jax.numpy.vander", vander(x[0])),
};

TEST(Derivatives, Reductions) { check_section("reductions", kRows); }

}  // namespace
}  // namespace tessera::derivatives_reductions_test
