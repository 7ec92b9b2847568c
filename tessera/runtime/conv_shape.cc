#include "tessera/runtime/conv_shape.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

Dims spatial_strides(const Dims& spec, const Dims& strides) {
  Dims out;
  for (size_t d = 2; d < spec.size(); ++d) out.push_back(strides[spec[d]]);
  return out;
}

ConvTensor exchanged(ConvTensor x) {
  std::swap(x.major, x.minor);
  return x;
}

int64_t window_extent(int64_t window, int64_t dilation) { return (window - 1) * dilation + 1; }

// Returns the number of dst's positions, which determines the cost of a tile.
int64_t positions(const LibraryConv& c) {
  int64_t n = 1;
  for (const LibraryConv::Dim& d : c.dims) n *= d.out;
  return n;
}

// Divides [0, n) into at most `parts` ranges (start, length). All of them except the last have the
// same length, a multiple of `unit`.
std::vector<std::pair<int64_t, int64_t>> ranges(int64_t n, int64_t parts, int64_t unit) {
  const int64_t size = ceil_div(ceil_div(n, std::max<int64_t>(1, parts)), unit) * unit;
  std::vector<std::pair<int64_t, int64_t>> out;
  for (int64_t at = 0; at < n; at += size) out.emplace_back(at, std::min(size, n - at));
  return out;
}

std::optional<LibraryConv> backward_data(const ConvShape& s, LibraryConv out) {
  out.direction = ConvDirection::kBackwardData;
  out.inputs = s.outputs;
  out.outputs = s.inputs;
  out.src = s.out;
  out.weights = exchanged(s.rhs);
  out.dst = s.lhs;
  for (const ConvShape::Dim& d : s.dims) {
    const int64_t extent = window_extent(d.window, d.window_dilation);
    const LibraryConv::Dim dim{d.out,         d.window,          d.in,
                               d.in_dilation, d.window_dilation, extent - 1 - d.low};
    const int64_t high = (dim.out - 1) * dim.stride + extent - dim.low - dim.in;
    if (d.stride != 1 || dim.low < 0 || high <= -dim.stride) return std::nullopt;
    out.dims.push_back(dim);
    out.reversed.push_back(!d.reversed);
  }
  return out;
}

}  // namespace

ConvShape conv_shape(const ConvolutionParams& p, const Shape& lhs, const Shape& rhs,
                     const Shape& result) {
  const Dims ls = row_major_strides(lhs), rs = row_major_strides(rhs),
             os = row_major_strides(result);
  ConvShape s;
  s.groups = p.feature_group_count * p.batch_group_count;
  s.batch = result[p.out_spec[0]];
  s.inputs = rhs[p.rhs_spec[1]];
  s.outputs = rhs[p.rhs_spec[0]] / s.groups;
  const bool by_batch = p.batch_group_count > 1;
  s.lhs = {ls[p.lhs_spec[0]], by_batch ? s.batch * ls[p.lhs_spec[0]] : s.inputs * ls[p.lhs_spec[1]],
           ls[p.lhs_spec[1]], spatial_strides(p.lhs_spec, ls)};
  s.rhs = {rs[p.rhs_spec[0]], s.outputs * rs[p.rhs_spec[0]], rs[p.rhs_spec[1]],
           spatial_strides(p.rhs_spec, rs)};
  s.out = {os[p.out_spec[0]], s.outputs * os[p.out_spec[1]], os[p.out_spec[1]],
           spatial_strides(p.out_spec, os)};
  s.rhs_shape = rhs;
  s.rhs_dims = Dims(p.rhs_spec.begin() + 2, p.rhs_spec.end());
  for (size_t d = 0; d < p.strides.size(); ++d)
    s.dims.push_back({lhs[p.lhs_spec[d + 2]], rhs[p.rhs_spec[d + 2]], result[p.out_spec[d + 2]],
                      p.strides[d], p.low[d], p.lhs_dilation[d], p.rhs_dilation[d],
                      p.reversal[d] != 0});
  return s;
}

ConvSlice slice_conv(const LibraryConv::Dim& d, int64_t begin, int64_t count) {
  const int64_t start = begin * d.stride - d.low;
  const int64_t end = start + (count - 1) * d.stride + window_extent(d.window, d.dilation);
  ConvSlice out{std::max<int64_t>(0, start), 0, std::max<int64_t>(0, -start),
                std::max<int64_t>(0, end - d.in), count};
  out.in = std::min(end, d.in) - out.begin;
  // The last slice keeps the elements at the end that no window reaches if they are fewer than a
  // stride, so that a whole image is contiguous.
  if (begin + count == d.out && d.in - end < d.stride) out.in = d.in - out.begin;
  return out;
}

std::optional<LibraryConv> library_conv(const ConvShape& s) {
  if (s.dims.size() > 3) return std::nullopt;
  LibraryConv out{.batch = s.batch, .groups = s.groups, .inputs = s.inputs, .outputs = s.outputs};
  int64_t window = 1, result = 1;
  bool dilated = false;
  for (const ConvShape::Dim& d : s.dims) {
    if (d.in < 1 || d.window < 1 || d.out < 1) return std::nullopt;
    dilated |= d.in_dilation > 1;
    window *= d.window;
    result *= d.out;
  }
  if (s.batch < 1 || s.inputs < 1 || s.outputs < 1) return std::nullopt;
  if (dilated) return backward_data(s, std::move(out));
  const bool by_weights = window > result && s.lhs.major < s.lhs.minor;
  if (by_weights) {
    out.direction = ConvDirection::kBackwardWeights;
    std::swap(out.batch, out.inputs);
    out.src = exchanged(s.lhs);
    out.weights = exchanged(s.out);
    out.dst = exchanged(s.rhs);
  } else {
    out.src = s.lhs;
    out.weights = s.rhs;
    out.dst = s.out;
  }
  for (const ConvShape::Dim& d : s.dims) {
    if (by_weights) {
      out.dims.push_back({d.in, d.out, d.window, d.window_dilation, d.stride, d.low});
    } else {
      out.dims.push_back({d.in, d.window, d.out, d.stride, d.window_dilation, d.low});
    }
    out.reversed.push_back(d.reversed);
    const ConvSlice all = slice_conv(out.dims.back(), 0, out.dims.back().out);
    if (all.in <= 0) return std::nullopt;  // windows see only padding
  }
  if (out.dims.empty()) {
    out.dims.push_back({1, 1, 1, 1, 1, 0});
    out.reversed.push_back(false);
    for (ConvTensor* x : {&out.src, &out.weights, &out.dst}) x->spatial = {1};
  }
  return out;
}

double conv_flops(const LibraryConv& c) {
  double flops = 2.0 * static_cast<double>(c.batch * c.groups * c.inputs * c.outputs) *
                 static_cast<double>(positions(c));
  for (const LibraryConv::Dim& d : c.dims) flops *= static_cast<double>(d.window);
  return flops;
}

std::vector<ConvTile> split_into_tiles(const LibraryConv& c, bool alone) {
  constexpr double kMostTiles = 64;
  constexpr int64_t kLeastPositions = 512, kLeastFeatures = 64, kLeastRows = 4;
  // If there are few features, the time of reading and writing counts as well.
  const double bytes =
      4.0 * static_cast<double>(c.batch * c.groups * (c.inputs + c.outputs) * positions(c));
  const auto wanted = static_cast<int64_t>(
      std::clamp((conv_flops(c) * 0.01 + bytes * 0.1) / (2 * kTaskNs), 1.0, kMostTiles));
  const bool sums = c.direction == ConvDirection::kBackwardWeights;
  const bool by_rows = c.direction != ConvDirection::kBackwardData;
  // Each part of a sum costs as much memory as the whole result, so it must be large enough.
  const int64_t parts =
      sums ? std::clamp<int64_t>(c.batch * positions(c) / kLeastPositions, 1, wanted) : wanted;

  const auto batches = ranges(c.batch, std::min(parts, c.batch), 1);
  const auto images = static_cast<int64_t>(batches.size());
  const LibraryConv::Dim& first = c.dims[0];
  std::vector<std::pair<int64_t, int64_t>> rows{{0, first.out}};
  if (by_rows && images < parts)
    rows = ranges(first.out, std::clamp<int64_t>(first.out / kLeastRows, 1, parts / images), 1);
  for (const auto& [begin, count] : rows)
    if (slice_conv(first, begin, count).in <= 0) rows = {{0, first.out}};
  std::vector<std::pair<int64_t, int64_t>> groups{{0, c.groups}};
  if (alone) groups = ranges(c.groups, c.groups, 1);
  // The features of the result are divided if there is too little else to divide.
  const int64_t so_far =
      images * static_cast<int64_t>(rows.size()) * static_cast<int64_t>(groups.size());
  const int64_t features = by_rows ? c.outputs : c.inputs;
  std::vector<std::pair<int64_t, int64_t>> feature_ranges{{0, features}};
  if (c.groups == static_cast<int64_t>(groups.size()) && so_far < std::min<int64_t>(wanted, 16))
    feature_ranges =
        ranges(features, std::min(wanted / so_far, features / kLeastFeatures), kLeastFeatures);

  std::vector<ConvTile> tiles;
  for (const auto& [g, gs] : groups)
    for (const auto& [f, fs] : feature_ranges)
      for (const auto& [b, bs] : batches)
        for (const auto& [r, rs] : rows)
          tiles.push_back({b, bs, g, gs, by_rows ? 0 : f, by_rows ? c.inputs : fs, by_rows ? f : 0,
                           by_rows ? fs : c.outputs, r, rs});
  return tiles;
}

}  // namespace tessera::runtime
