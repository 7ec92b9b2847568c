// Histograms of several variables and edges of bins, as in jax.numpy (histogram of one variable is
// in searching.h).
//
// Errors, of all: UserError for samples, bins, ranges and weights that do not fit each other.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

// How many bins of equal widths, or their edges, ascending.
using Bins = std::variant<int64_t, Array>;
using BinRange = std::optional<std::pair<double, double>>;  // absent: of the elements

// The edges of the bins, one more than bins, in a's inexact dtype. A range without extent is
// widened by 0.5 on both sides.
Array histogram_bin_edges(const Array& a, const Bins& bins = int64_t{10},
                          const BinRange& range = std::nullopt);

struct HistogramddOptions {
  std::vector<Bins> bins = {int64_t{10}};       // one for all dimensions, or one a dimension
  std::vector<BinRange> range = {};             // none, or one a dimension
  std::optional<Array> weights = std::nullopt;  // of each sample; absent: 1
  bool density = false;                         // shares of the whole, per unit of volume
};
struct Histogramdd {
  Array counts;              // [bins of dimension 0, ...]
  std::vector<Array> edges;  // of each dimension
};
// Counts of samples, the rows of [samples, dimensions], in the boxes of bins; the last bin of each
// dimension is closed. Without weights and density integers.
Histogramdd histogramdd(const Array& sample, const HistogramddOptions& options = {});
struct Histogram2d {
  Array counts, x_edges, y_edges;
};
// The same of two vectors of one size.
Histogram2d histogram2d(const Array& x, const Array& y, const HistogramddOptions& options = {});

}  // namespace tessera
