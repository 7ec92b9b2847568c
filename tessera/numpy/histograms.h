// Histograms of several variables and edges of bins, as in jax.numpy (histogram(), of one variable,
// is in searching.h).
//
// All functions throw UserError for samples, bins, ranges and weights that do not fit each other.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

// The number of bins of equal widths, or their edges in ascending order.
using Bins = std::variant<int64_t, Array>;
using BinRange = std::optional<std::pair<double, double>>;  // absent: of the elements

// Returns the edges of the bins, one more than there are bins, in a's inexact dtype. A range
// without extent is widened by 0.5 on both sides.
Array histogram_bin_edges(const Array& a, const Bins& bins = int64_t{10},
                          const BinRange& range = std::nullopt);

struct HistogramddOptions {
  std::vector<Bins> bins = {int64_t{10}};       // one for all dimensions, or one for each
  std::vector<BinRange> range = {};             // none, or one for each dimension
  std::optional<Array> weights = std::nullopt;  // one for each sample; absent: 1
  bool density = false;                         // shares of the whole per unit of volume
};
struct Histogramdd {
  Array counts;              // [bins of dimension 0, ...]
  std::vector<Array> edges;  // one array for each dimension
};
// Returns how many samples are in each box of bins. A sample is a row of [samples, dimensions]. The
// last bin of each dimension includes its upper edge. Counts are integers unless weights or density
// are set.
Histogramdd histogramdd(const Array& sample, const HistogramddOptions& options = {});
struct Histogram2d {
  Array counts, x_edges, y_edges;
};
// Returns the same for samples (x[i], y[i]), from two vectors of one size.
Histogram2d histogram2d(const Array& x, const Array& y, const HistogramddOptions& options = {});

}  // namespace tessera
