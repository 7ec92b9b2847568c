#include "tessera/runtime/products/dot_plan.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/runtime/products/gemm_tiles.h"

namespace tessera::runtime {
namespace {

using Tile = DotPlan::Tile;

constexpr int64_t kWantedTiles = 8;       // the number of cores that can share one dot
constexpr double kLeastTileFlops = 16e6;  // smaller tiles mostly copy operands
// Of a product that would be one tile otherwise.
constexpr double kLeastCachedFlops = 2e6;
constexpr int64_t kLargestTile = 1024;

const Slot& slot_of(const Schedule& s, int slot) { return s.slots[static_cast<size_t>(slot)]; }

// Returns the side of `parts` tiles of about equal size. It is a multiple of `unit`, to which the
// kernels of oneDNN and OpenBLAS unroll.
int64_t part_size(int64_t size, int64_t parts, int64_t unit) {
  return std::min(size, ceil_div(ceil_div(size, parts), unit) * unit);
}

// `finely` says whether small tiles are worth it, too.
std::vector<Tile> rectangle(int64_t m, int64_t n, int64_t k, int64_t products, bool finely) {
  if (m == 0 || n == 0) return {};
  int64_t rows = ceil_div(m, kLargestTile), cols = ceil_div(n, kLargestTile);
  const auto flops = [&] {
    return 2.0 * static_cast<double>(m) / static_cast<double>(rows) * static_cast<double>(n) /
           static_cast<double>(cols) * static_cast<double>(std::max<int64_t>(1, k));
  };
  while (products * rows * cols < kWantedTiles && flops() > 2 * kLeastTileFlops &&
         (m / rows > 32 || n / cols > 96)) {
    (m / rows >= n / cols && m / rows > 32) || n / cols <= 96 ? rows *= 2 : cols *= 2;
  }
  int64_t unit = 48;
  if (rows * cols == 1 && finely) {
    // By columns, because the rhs, which is often the larger operand (weights), is divided then:
    // each core keeps a part of it in its cache.
    constexpr int64_t kLeastColumns = 32, kLeastRows = 16;
    unit = kLeastColumns;
    while (products * rows * cols < kWantedTiles && flops() > 2 * kLeastCachedFlops &&
           (n / cols >= 2 * kLeastColumns || m / rows >= 2 * kLeastRows)) {
      n / cols >= 2 * kLeastColumns ? cols *= 2 : rows *= 2;
    }
  }
  const int64_t tm = part_size(m, rows, 16), tn = part_size(n, cols, unit);
  std::vector<Tile> tiles;
  for (int64_t i = 0; i < m; i += tm)
    for (int64_t j = 0; j < n; j += tn)
      tiles.push_back({i, j, std::min(tm, m - i), std::min(tn, n - j)});
  return tiles;
}

// Adds the tiles of the upper triangle of a symmetric result: squares of up to `on_diagonal` rows
// on the diagonal, and larger ones off it, found by halving.
void triangle(int64_t begin, int64_t end, int64_t on_diagonal, std::vector<Tile>& tiles) {
  constexpr int64_t kOffDiagonal = 528;
  if (end - begin <= on_diagonal) {
    tiles.push_back({begin, begin, end - begin, end - begin, false, true});
    return;
  }
  const int64_t middle = begin + part_size(end - begin, 2, 48);
  for (int64_t i = begin; i < middle; i += kOffDiagonal)
    for (int64_t j = middle; j < end; j += kOffDiagonal)
      tiles.push_back(
          {i, j, std::min(kOffDiagonal, middle - i), std::min(kOffDiagonal, end - j), true});
  triangle(begin, middle, on_diagonal, tiles);
  triangle(middle, end, on_diagonal, tiles);
}

// Returns the axes of the step except those that it sums over.
AxisList outer_axes(const DotStep& step) {
  AxisList outer;
  for (int a : step.axes)
    if (std::find(step.reduce_axes.begin(), step.reduce_axes.end(), a) == step.reduce_axes.end())
      outer.push_back(a);
  return outer;
}

DotOperandCode operand(const DotStep& step, const Schedule& s, int slot, const DotOperand& shape) {
  const Slot& v = slot_of(s, slot);
  AxisList joint = outer_axes(step);
  joint.insert(joint.end(), step.reduce_axes.begin(), step.reduce_axes.end());
  return {v, slot, shape, InstanceMap(s, joint, v.axes)};
}

}  // namespace

DotPlan::DotPlan(const DotStep& step, const Schedule& s)
    : DotPlan(step, s,
              dot_shape(step, slot_of(s, step.lhs).shape, slot_of(s, step.rhs).shape,
                        slot_of(s, step.lhs).dtype)) {}

DotPlan::DotPlan(const DotStep& step, const Schedule& s, const DotShape& shape)
    : lhs(operand(step, s, step.lhs, shape.lhs)),
      rhs(operand(step, s, step.rhs, shape.rhs)),
      lhs_slot(step.lhs),
      out(step.out),
      bias(step.bias),
      relu(step.activation == DotStep::Activation::kRelu),
      sum(step.sum),
      batch(shape.batch),
      m(shape.m),
      n(shape.n),
      k(shape.k) {
  const Slot &left = slot_of(s, step.lhs), &right = slot_of(s, step.rhs),
             &result = slot_of(s, step.out);
  TESSERA_CHECK(left.dtype == right.dtype, "a dot of {} and {}", left.dtype, right.dtype);
  choose_types(left.dtype, result.dtype);
  choose_sum_of_examples(step, left.shape, left.dtype);

  const AxisList outer = outer_axes(step);
  instances = instance_count(s, outer);
  // The tiles of a product determine the order of its sums, so they must not depend on how many
  // products this process has.
  products = (s.reproducible ? axes_size(s.mesh, outer) : instances) * batch;
  summed = axes_size(s.mesh, step.reduce_axes);
  join_sums();
  out_map = InstanceMap(s, outer, result.axes);
  if (bias >= 0) bias_map = InstanceMap(s, outer, slot_of(s, bias).axes);

  // A bias is added along the last dimension of the result, whichever matrix dimension that is.
  bias_period = result.shape.empty() ? 1 : result.shape.back();
  out_bytes = result.bytes();
  choose_tiles(step);
  // If the lhs is sharded by rows and the rhs is replicated, the instances are one taller product
  // (provided that the data is in order).
  can_merge = instances > 1 && !s.reproducible && batch == 1 && step.reduce_axes.empty() &&
              !step.symmetric && !lhs.shape().packed() && lhs.map().identity() &&
              out_map.identity() && right.instances == 1 && lhs.shape().col_stride == 1 &&
              (bias < 0 || slot_of(s, bias).instances == 1);
  if (can_merge) merged_tiles = rectangle(instances * m, n, k, 1, divides_finely());
  choose_splits();
  rhs_work = lhs.workspace_bytes();
  partials = workspace = rhs_work + rhs.workspace_bytes();
  if (splits > 1) workspace += splits * instances * batch * m * n * itemsize(types.out);
}

void DotPlan::choose_types(DType in, DType result) {
  types = {in, gemm_sum_dtype(in, result)};
  wants_tiles(in);  // so that an invalid setting is an error here, not in a run
  out_dtype = result;
  TESSERA_CHECK(gemm_supports(types), "a dot of {} giving {}", in, result);
  TESSERA_CHECK((bias < 0 && !relu) || types.out == float32 || types.out == float64,
                "an epilogue on {}", result);
}

// Tiles of other sums copy their operands, and those of other dtypes convert them.
bool DotPlan::divides_finely() const {
  return sum == ops::DotSum::kAny && types.in == types.out &&
         (is_floating(types.in) || is_complex(types.in));
}

// Chooses whether the examples' sums are separate and added in float64. If an example has few
// elements, all products of DotSum::kExamples are float64 instead, since separate sums would be
// slower.
void DotPlan::choose_sum_of_examples(const DotStep& step, const Shape& lhs_shape, DType dtype) {
  constexpr int64_t kLeast = 32;
  if (k == 0) return;
  if (sum == ops::DotSum::kGrid) {
    example = k / lhs_shape[step.lhs_contract[0]];
    one = dtype;
    return;
  }
  if (sum != ops::DotSum::kExamples || types.out != float32) return;
  const int64_t elements = k / lhs_shape[step.lhs_contract[0]];
  if (elements == 1) return;
  if (elements < kLeast) {
    types.out = float64;
  } else {
    example = elements;
  }
}

// Makes a sum over instances one product with a longer k, for which libraries are faster, if the
// instances are in order already or if copying them pays.
void DotPlan::join_sums() {
  constexpr int64_t kLongK = 1024, kWide = 256;
  if (invariant() || summed == 1 || batch != 1 || m == 0 || n == 0 || k == 0) return;
  const JoinedSum left{.outer = instances,
                       .summed = summed,
                       .rows = m,
                       .k = k,
                       .k_slow = k == 1 || m == 1 || lhs.shape().row_stride == 1,
                       .k_is_row = false};
  const JoinedSum right{.outer = instances,
                        .summed = summed,
                        .rows = n,
                        .k = k,
                        .k_slow = k == 1 || n == 1 || rhs.shape().col_stride == 1,
                        .k_is_row = true};
  const bool copies = !left.k_slow || !right.k_slow;
  if (copies && (k >= kLongK || m < kWide || n < kWide)) return;
  if (!lhs.can_join(left) || !rhs.can_join(right)) return;
  lhs.join(left);
  rhs.join(right);
  k *= summed;
  summed = 1;
}

void DotPlan::choose_tiles(const DotStep& step) {
  const bool halves =
      sum == ops::DotSum::kAny || (sum == ops::DotSum::kInvariant && is_floating(types.out));
  if (step.symmetric && bias < 0 && n == m && halves) {
    // If the diagonal's tiles cost half as much, they may be larger.
    triangle(0, m, !invariant() && gemm_knows_symmetric(types) ? 288 : 144, tiles);
  } else if (const int64_t parts = parts_of_matrix(false); parts > 1) {
    const int64_t size = part_size(m * n, parts, 16);
    for (int64_t i = 0; i < m * n; i += size)
      tiles.push_back(n == 1 ? Tile{i, 0, std::min(size, m - i), 1}
                             : Tile{0, i, 1, std::min(size, n - i)});
  } else {
    tiles = rectangle(m, n, k, products, divides_finely());
  }
}

// Returns into how many parts a matrix that is multiplied by a vector is divided, along k or along
// the other dimension. One thread does not use all of the memory's bandwidth, and a part is read
// fastest if its elements are next to each other. Otherwise returns 1.
int64_t DotPlan::parts_of_matrix(bool along_k) const {
  constexpr int64_t kPartBytes = 1 << 19;
  if (sum != ops::DotSum::kAny || (m == 1) == (n == 1) || summed > 1 || products >= kWantedTiles ||
      !is_floating(types.out))
    return 1;
  const bool rows_along_k = m == 1 ? rhs.shape().row_stride == 1 : lhs.shape().col_stride == 1;
  if (rows_along_k == along_k) return 1;
  const int64_t bytes = m * n * k * itemsize(types.in);
  return std::clamp<int64_t>(bytes / kPartBytes, 1, kWantedTiles);
}

// Divides a long contraction of small matrices (a scalar product), or a matrix whose columns are
// multiplied by a vector, along k instead. The partial results are added in order.
void DotPlan::choose_splits() {
  constexpr int64_t kLeastK = 16384;
  if (const int64_t parts = can_merge ? 1 : parts_of_matrix(true); parts > 1) {
    split_k = ceil_div(k, parts);
    splits = ceil_div(k, split_k);
    tiles = {{0, 0, m, n}};
    return;
  }
  if (invariant() || static_cast<int64_t>(tiles.size()) * products >= kWantedTiles || summed > 1 ||
      k < 2 * kLeastK || tiles.size() > 1 || can_merge || m * n * 64 > k)
    return;
  splits = std::min<int64_t>(64, k / kLeastK);
  split_k = ceil_div(ceil_div(k, splits), 64) * 64;
  splits = ceil_div(k, split_k);
}

}  // namespace tessera::runtime
