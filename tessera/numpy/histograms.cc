#include "tessera/numpy/histograms.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/differences.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"

namespace tessera {

namespace {

void check_bins(const char* name, const Bins& bins) {
  if (const Array* edges = std::get_if<Array>(&bins)) {
    if (edges->ndim() != 1 || edges->size() < 2)
      shape_error(name, "expected a vector of at least two edges, got {}", describe(edges->type()));
  } else if (std::get<int64_t>(bins) < 1) {
    value_error(name, "expected at least one bin, got {}", std::get<int64_t>(bins));
  }
}

}  // namespace

Array histogram_bin_edges(const Array& a, const Bins& bins, const BinRange& range) {
  const char* name = "histogram_bin_edges";
  if (is_complex(a.dtype())) type_error(name, "expected real numbers, got {}", describe(a.type()));
  check_bins(name, bins);
  const DType dtype = to_inexact(a.dtype());
  if (const Array* edges = std::get_if<Array>(&bins)) return astype(*edges, dtype);
  struct EdgesParams {
    int64_t bins;
    std::optional<double> low, high;
    DType dtype;
  };
  EdgesParams params{std::get<int64_t>(bins), {}, {}, dtype};
  if (range) {
    params.low = range->first;
    params.high = range->second;
  } else if (a.size() == 0) {
    params.low = 0;
    params.high = 1;
  }
  return composite(name, params, {a}, [](const EdgesParams& p, std::span<const Array> x) {
    const Array values = astype(x[0], p.dtype);
    const Array low = p.low ? full(Shape{}, *p.low, p.dtype) : min(values),
                high = p.high ? full(Shape{}, *p.high, p.dtype) : max(values);
    const Array half =
        where(equal(low, high), full(Shape{}, 0.5, p.dtype), zeros(Shape{}, p.dtype));
    return linspace(low - half, high + half, p.bins + 1, {.dtype = p.dtype});
  });
}

namespace {

struct HistogramddParams {
  int64_t dimensions;
  bool weights, density;
};

// The arguments `a` are the sample, the edges of each dimension, and the weights.
Array counts_in_boxes(const HistogramddParams& p, std::span<const Array> a) {
  const std::vector<Array> same =
      p.weights ? promote_dtypes(std::vector<Array>{a[0], a.back()}, Promotion::kInexact)
                : std::vector<Array>{promote(a[0], Promotion::kInexact)};
  const Array& sample = same[0];
  // Each dimension has two more than its bins: one for samples below them and one for those above.
  Array place = zeros({sample.shape()[0]}, int32);
  Shape boxes;
  int64_t total = 1;
  for (int64_t d = 0; d < p.dimensions; ++d) {
    const Array& edges = a[static_cast<size_t>(d) + 1];
    const Array x = index_in_dim(sample, d, 1, false);
    Array bin = searchsorted(edges, x, {.side = Side::kRight});
    bin = where(equal(x, index_in_dim(edges, edges.size() - 1, 0, false)), bin - 1, bin);
    place = place * (edges.size() + 1) + bin;
    boxes.push_back(edges.size() + 1);
    total *= edges.size() + 1;
  }
  Array counts = reshape(bincount(place, total, p.weights ? same[1] : Array()), boxes);
  for (int64_t d = 0; d < p.dimensions; ++d) counts = slice_in_dim(counts, 1, boxes[d] - 1, d);
  if (!p.density) return counts;
  counts = astype(counts, sample.dtype());
  counts = counts / sum(counts);
  for (int64_t d = 0; d < p.dimensions; ++d) {
    Shape along(static_cast<size_t>(p.dimensions), 1);
    along[d] = -1;
    counts = counts / reshape(diff(a[static_cast<size_t>(d) + 1]), along);
  }
  return counts;
}

}  // namespace

Histogramdd histogramdd(const Array& sample, const HistogramddOptions& o) {
  const char* name = "histogramdd";
  if (sample.ndim() != 2 || sample.shape()[1] == 0)
    shape_error(name, "expected samples as the rows of a matrix, got {}", describe(sample.type()));
  if (is_complex(sample.dtype()))
    type_error(name, "expected real numbers, got {}", describe(sample.type()));
  const int64_t dimensions = sample.shape()[1];
  const auto count = static_cast<size_t>(dimensions);
  if (o.bins.size() != 1 && o.bins.size() != count)
    value_error(name, "expected bins for all dimensions or for each of {}, got {}", dimensions,
                o.bins.size());
  if (!o.range.empty() && o.range.size() != count)
    value_error(name, "expected no range or one for each of {} dimensions, got {}", dimensions,
                o.range.size());
  if (o.weights && o.weights->shape() != Shape{sample.shape()[0]})
    shape_error(name, "expected one weight a sample, got {} for {}", describe(o.weights->type()),
                describe(sample.type()));
  for (const Bins& bins : o.bins) check_bins(name, bins);
  Histogramdd out;
  std::vector<Array> args{sample};
  for (size_t d = 0; d < count; ++d) {
    const Array column = index_in_dim(sample, static_cast<int64_t>(d), 1, false);
    out.edges.push_back(histogram_bin_edges(column, o.bins[o.bins.size() == 1 ? 0 : d],
                                            o.range.empty() ? BinRange() : o.range[d]));
    args.push_back(out.edges.back());
  }
  if (o.weights) args.push_back(*o.weights);
  const HistogramddParams params{dimensions, o.weights.has_value(), o.density};
  out.counts = composite(name, params, args, counts_in_boxes);
  return out;
}

Histogram2d histogram2d(const Array& x, const Array& y, const HistogramddOptions& options) {
  if (x.ndim() != 1 || x.shape() != y.shape())
    shape_error("histogram2d", "expected two vectors of one size, got {} and {}",
                describe(x.type()), describe(y.type()));
  const Histogramdd out = histogramdd(stack({x, y}, 1), options);
  return {out.counts, out.edges[0], out.edges[1]};
}

}  // namespace tessera
