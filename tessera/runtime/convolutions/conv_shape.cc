#include "tessera/runtime/convolutions/conv_shape.h"

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

// Returns the number of positions in a window.
int64_t places(const LibraryConv& c) {
  int64_t n = 1;
  for (const LibraryConv::Dim& d : c.dims) n *= d.window;
  return n;
}

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

// Divides [0, n) into at most `parts` ranges (start, length). All of them except the last have the
// same length, a multiple of `unit`.
Ranges ranges(int64_t n, int64_t parts, int64_t unit) {
  const int64_t size = ceil_div(ceil_div(n, std::max<int64_t>(1, parts)), unit) * unit;
  Ranges out;
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

// The ranges whose combinations are the tiles.
struct TileRanges {
  Ranges batches, rows, groups, features;  // features of the result; of a data gradient its own
};

constexpr double kTileNs = 2 * kTaskNs;  // smaller tiles are not worth a task
constexpr double kShortTileNs = 5000;    // unless they are few, and other threads are awake
constexpr double kMostTiles = 64;
constexpr int64_t kCores = 8;  // that can share one image, unless it is large
constexpr int64_t kLeastFeatures = 64, kLeastRows = 4;

// Returns an estimate of the time. If there are few features, reading and writing count, too.
double cost_ns(const LibraryConv& c) {
  const double bytes =
      4.0 * static_cast<double>(c.batch * c.groups * (c.inputs + c.outputs) * positions(c));
  return conv_flops(c) * 0.01 + bytes * 0.1;
}

// Returns how many ranges two threads share best, of more than half of `most` and no more.
int64_t even_parts(int64_t n, int64_t most) {
  int64_t best = most, least = n;
  for (int64_t parts = most; 2 * parts > most; --parts) {
    const int64_t size = ceil_div(n, parts), count = ceil_div(n, size);
    const int64_t busier = count / 2 * size + (count % 2 ? n - (count - 1) * size : 0);
    if (busier < least) {
      least = busier;
      best = parts;
    }
  }
  return best;
}

Ranges ranges_of_rows(const LibraryConv& c, int64_t parts) {
  const LibraryConv::Dim& first = c.dims[0];
  Ranges rows = ranges(first.out, parts, 1);
  for (const auto& [begin, count] : rows)
    if (slice_conv(first, begin, count).in <= 0) return {{0, first.out}};
  return rows;
}

// Returns into how many parts the features of the result are divided if an image has few positions:
// most of the time goes into reading the kernel, and a thread reads only a part of it then.
int64_t parts_of_kernel(const LibraryConv& c) {
  constexpr int64_t kFewPositions = 16, kLeastBytes = int64_t{256} << 10, kFewestFeatures = 64;
  const int64_t feature_bytes = 4 * places(c) * c.inputs;
  int64_t parts = 1;
  while (c.groups == 1 && positions(c) <= kFewPositions && parts < kCores &&
         c.outputs / (2 * parts) >= kFewestFeatures &&
         c.outputs / (2 * parts) * feature_bytes >= kLeastBytes)
    parts *= 2;
  return parts;
}

// Divides images in a way that depends on one image alone: the library may choose the order of a
// sum by the shape of the tile, so an image has the same bits in any batch.
//
// An image is divided by rows, since tiles with all features are read and written in place. A tile
// of some features is copied, so features are divided only if the rows make too few tiles.
TileRanges forward_ranges(const LibraryConv& c, bool alone) {
  constexpr int64_t kLeastPositions = 48;
  // If an element of the result is a short sum, its copy costs more than a tile of few positions.
  const bool copies_cost = c.outputs > places(c) * c.inputs;
  const int64_t least_positions = copies_cost && positions(c) >= kCores * kLeastPositions / 2
                                      ? kLeastPositions / 2
                                      : kLeastPositions;
  const double image_ns = cost_ns(c) / static_cast<double>(c.batch);
  const auto large_tiles = static_cast<int64_t>(std::min(kMostTiles, image_ns / (4 * kTileNs)));
  const int64_t wanted =
      std::max(large_tiles, std::min<int64_t>(kCores, static_cast<int64_t>(image_ns / kTileNs)));
  TileRanges out{.groups = alone ? ranges(c.groups, c.groups, 1) : Ranges{{0, c.groups}},
                 .features = {{0, c.outputs}}};
  const LibraryConv::Dim& first = c.dims[0];
  const int64_t kernel_parts = parts_of_kernel(c);
  if (wanted < 2 || kernel_parts > 1) {
    constexpr int64_t kBlock = 16;  // features that the library computes together
    // Tiles of other images would read the parts of the kernel again.
    const double few = kernel_parts > 1 ? 1 : std::min<double>(kCores, cost_ns(c) / kShortTileNs),
                 parts = std::max(few, cost_ns(c) / kTileNs / static_cast<double>(kernel_parts));
    out.batches = ranges(
        c.batch,
        static_cast<int64_t>(std::clamp(parts, 1.0, std::min<double>(kMostTiles, c.batch))), 1);
    out.rows = {{0, first.out}};
    out.features = ranges(c.outputs, kernel_parts, kBlock);
    return out;
  }
  out.batches = ranges(c.batch, c.batch, 1);
  const int64_t least_rows = std::max(first.window > 1 ? kLeastRows : 1,
                                      ceil_div(least_positions, positions(c) / first.out)),
                most = std::clamp<int64_t>(first.out / least_rows, 1, wanted);
  out.rows = ranges_of_rows(c, even_parts(first.out, most));
  const auto so_far = static_cast<int64_t>(out.rows.size() * out.groups.size());
  if (c.groups != static_cast<int64_t>(out.groups.size())) return out;
  // Parts of equal size: a half, a quarter, ...
  int64_t parts = 1;
  while (2 * parts * so_far <= std::min(large_tiles, kCores) &&
         c.outputs / (2 * parts) >= kLeastFeatures)
    parts *= 2;
  // Windows of several places: the library reads the kernel of a tile once for each row of the
  // result, so it should stay in the cache of the core.
  constexpr int64_t kMostKernelBytes = int64_t{768} << 10, kFewestFeatures = 32;
  const int64_t feature_bytes = 4 * places(c) * c.inputs;
  if (parts > 1 && places(c) > 1 && c.outputs / parts * feature_bytes > kMostKernelBytes &&
      c.outputs / (2 * parts) * feature_bytes <= kMostKernelBytes &&
      c.outputs / (2 * parts) >= kFewestFeatures)
    parts *= 2;
  out.features = ranges(c.outputs, parts, kFewestFeatures);
  return out;
}

// Each part of a sum costs as much memory as the whole result, so it must be large enough.
TileRanges gradient_ranges(const LibraryConv& c, bool alone) {
  constexpr int64_t kLeastPositions = 512;
  const auto wanted = static_cast<int64_t>(std::clamp(cost_ns(c) / kTileNs, 1.0, kMostTiles));
  const bool sums = c.direction == ConvDirection::kBackwardWeights;
  const int64_t parts =
      sums ? std::clamp<int64_t>(c.batch * positions(c) / kLeastPositions, 1, wanted) : wanted;

  TileRanges out{.batches = ranges(c.batch, std::min(parts, c.batch), 1),
                 .rows = {{0, c.dims[0].out}},
                 .groups = alone ? ranges(c.groups, c.groups, 1) : Ranges{{0, c.groups}}};
  const auto images = static_cast<int64_t>(out.batches.size()),
             groups = static_cast<int64_t>(out.groups.size());
  if (sums && images < parts)
    out.rows =
        ranges_of_rows(c, std::clamp<int64_t>(c.dims[0].out / kLeastRows, 1, parts / images));
  // Features are divided if there is too little else to divide.
  const int64_t so_far = images * static_cast<int64_t>(out.rows.size()) * groups,
                features = sums ? c.outputs : c.inputs;
  out.features = {{0, features}};
  if (c.groups == groups && so_far < std::min<int64_t>(wanted, 16))
    out.features =
        ranges(features, std::min(wanted / so_far, features / kLeastFeatures), kLeastFeatures);
  return out;
}

// Makes neighbouring dimensions over which the window has one place a single one, if both tensors
// allow it: a 1 x 1 convolution of an image is one of a row of pixels, which can be divided
// anywhere.
void join_dims(LibraryConv& c) {
  const auto plain = [](const LibraryConv::Dim& d) {
    return d.window == 1 && d.stride == 1 && d.low == 0 && d.in == d.out;
  };
  for (size_t d = c.dims.size(); d-- > 1;) {
    LibraryConv::Dim &outer = c.dims[d - 1], &inner = c.dims[d];
    const auto joins = [&](const ConvTensor& x) {
      return x.spatial[d - 1] == inner.in * x.spatial[d];
    };
    if (!plain(outer) || !plain(inner) || !joins(c.src) || !joins(c.dst)) continue;
    outer.in = outer.out = outer.in * inner.in;
    const auto at = static_cast<Dims::difference_type>(d);
    c.dims.erase(c.dims.begin() + at);
    for (ConvTensor* x : {&c.src, &c.dst}) x->spatial.erase(x->spatial.begin() + at - 1);
    c.weights.spatial.erase(c.weights.spatial.begin() + at);
  }
}

// Returns whether both operands are stored as those of a gradient by the kernel are: the images,
// which are the input features here, are the outermost dimension.
bool stored_as_gradient(const ConvShape& s) {
  const auto images_first = [](const ConvTensor& x) {
    return x.major < x.minor &&
           std::all_of(x.spatial.begin(), x.spatial.end(), [&](int64_t d) { return d <= x.minor; });
  };
  return images_first(s.lhs) && images_first(s.rhs);
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
  // As a forward convolution, a gradient over images of fewer pixels than the kernel would have few
  // features.
  constexpr int64_t kSmallKernel = 25;
  const bool small_images = s.groups == 1 && result <= kSmallKernel && stored_as_gradient(s),
             by_weights = (window > result && s.lhs.major < s.lhs.minor) || small_images;
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
  if (!by_weights) join_dims(out);
  return out;
}

double conv_ns(const LibraryConv& c) {
  constexpr double kKernelByteNs = 0.025;
  return cost_ns(c) +
         kKernelByteNs * 4.0 * static_cast<double>(places(c) * c.groups * c.inputs * c.outputs);
}

double conv_flops(const LibraryConv& c) {
  double flops = 2.0 * static_cast<double>(c.batch * c.groups * c.inputs * c.outputs) *
                 static_cast<double>(positions(c));
  for (const LibraryConv::Dim& d : c.dims) flops *= static_cast<double>(d.window);
  return flops;
}

std::vector<ConvTile> split_into_tiles(const LibraryConv& c, bool alone) {
  const TileRanges r =
      c.direction == ConvDirection::kForward ? forward_ranges(c, alone) : gradient_ranges(c, alone);
  const bool by_rows = c.direction != ConvDirection::kBackwardData;
  std::vector<ConvTile> tiles;
  for (const auto& [g, gs] : r.groups)
    for (const auto& [f, fs] : r.features)
      for (const auto& [b, bs] : r.batches)
        for (const auto& [row, rows] : r.rows)
          tiles.push_back({b, bs, g, gs, by_rows ? 0 : f, by_rows ? c.inputs : fs, by_rows ? f : 0,
                           by_rows ? fs : c.outputs, row, rows});
  return tiles;
}

std::vector<ConvTile> conv_tiles(LibraryConv& c) {
  const auto side_by_side = [&](const ConvTensor& x, int64_t features) {
    return c.groups == 1 || features == 1 ? true : x.group == features * x.minor;
  };
  if (c.groups > 1 && c.inputs == 1) c.src.minor = c.src.group;
  if (c.groups > 1 && c.outputs == 1) c.dst.minor = c.dst.group;
  return split_into_tiles(c, !side_by_side(c.src, c.inputs) || !side_by_side(c.dst, c.outputs));
}

std::vector<std::pair<int64_t, int64_t>> result_ranges(const LibraryConv& c,
                                                       const std::vector<ConvTile>& tiles) {
  if (c.direction != ConvDirection::kForward) return {};
  // The result must be dense, with the features as its minor dimension.
  int64_t stride = c.groups * c.outputs;
  if (stride > 1 && c.dst.minor != 1) return {};
  for (size_t d = c.dims.size(); d-- > 0;) {
    if (c.dims[d].out > 1 && c.dst.spatial[d] != stride) return {};
    stride *= c.dims[d].out;
  }
  if (c.batch > 1 && c.dst.major != stride) return {};
  const int64_t image = stride, row = image / c.dims[0].out;
  std::vector<std::pair<int64_t, int64_t>> out;
  for (const ConvTile& t : tiles) {
    if (t.groups != c.groups || t.outputs != c.outputs) return {};
    if (t.batches > 1 && t.rows != c.dims[0].out) return {};
    out.emplace_back(t.batch * image + t.row * row,
                     t.batches > 1 ? t.batches * image : t.rows * row);
  }
  return out;
}

}  // namespace tessera::runtime
