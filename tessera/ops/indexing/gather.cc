#include "tessera/ops/indexing/gather.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "tessera/base/contains.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/use_rule.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/indexing/local_starts.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/reductions/neutral.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

using namespace array_math;

constexpr IndexedWindowsNames kNames = {.op = "gather",
                                        .offset_dims = "offset_dims",
                                        .collapsed = "collapsed_slice_dims",
                                        .map = "start_index_map",
                                        .operand_batching = "operand_batching_dims",
                                        .indices_batching = "start_indices_batching_dims",
                                        .rank = "C1",
                                        .offset_unique = "C4",
                                        .offset_range = "C5",
                                        .collapsed_unique = "C6",
                                        .collapsed_sorted = "C7",
                                        .collapsed_range = "C8",
                                        .batching_sorted = "C10",
                                        .batching_range = "C11",
                                        .indices_batching_unique = "C13",
                                        .indices_batching_range = "C14",
                                        .indices_batching_vector = "C15",
                                        .batching_count = "C16",
                                        .batching_extents = "C17",
                                        .map_count = "C3",
                                        .map_unique = "C18",
                                        .map_range = "C19",
                                        .vector_range = "C2"};

// Returns the shape of the result: batch dimensions in the order of the indices, and window
// dimensions at offset_dims.
Shape gathered_shape(const GatherParams& p, const Shape& indices) {
  Shape shape, batch;
  for (int64_t d = 0; d < indices.rank(); ++d)
    if (d != p.index_vector_dim) batch.push_back(indices[d]);
  Dims sizes;
  for (int64_t d = 0; d < p.slice_sizes.rank(); ++d)
    if (!contains(p.collapsed_slice_dims, d) && !contains(p.operand_batching_dims, d))
      sizes.push_back(p.slice_sizes[d]);
  size_t next_batch = 0, next_size = 0;
  for (int64_t d = 0; d < batch.rank() + sizes.rank(); ++d)
    shape.push_back(contains(p.offset_dims, d) ? sizes[next_size++] : batch[next_batch++]);
  return shape;
}

std::vector<Type> infer_gather(std::span<const Type> operands, const GatherParams& p) {
  expect_operands("gather", operands, 2);
  const Type &x = operands[0], &indices = operands[1];
  if (p.slice_sizes.rank() != x.rank())
    shape_error("gather", "expected {} slice sizes (C20), got {} for {}", x.rank(), p.slice_sizes,
                describe(x));
  const int64_t batch_rank =
      indices.rank() - (p.index_vector_dim < indices.rank() && indices.rank() > 0 ? 1 : 0);
  check_index_dims(kNames, p.numbers(), p.index_vector_dim, x, indices,
                   batch_rank + p.offset_dims.rank());
  const Shape shape = gathered_shape(p, indices.shape);
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (p.slice_sizes[d] < 0 || p.slice_sizes[d] > x.shape[d])
      shape_error("gather", "expected a slice size in [0, {}] in dimension {} (C21), got {} for {}",
                  x.shape[d], d, p.slice_sizes[d], describe(x));
    const bool collapsed = contains(p.collapsed_slice_dims, d);
    if ((collapsed || contains(p.operand_batching_dims, d)) && p.slice_sizes[d] > 1)
      shape_error("gather", "expected a slice size of at most 1 in {} dimension {} ({}), got {}",
                  collapsed ? "collapsed" : "batching", d, collapsed ? "C9" : "C12",
                  p.slice_sizes[d]);
    // The result lacks this dimension, so it would have elements although its windows have none.
    if ((collapsed || contains(p.operand_batching_dims, d)) && p.slice_sizes[d] == 0 &&
        shape.elements() > 0)
      shape_error("gather",
                  "expected a slice size of 1 in {} dimension {} of a result with elements, got 0 "
                  "for {}; take no windows from an empty dimension",
                  collapsed ? "collapsed" : "batching", d, describe(x));
  }
  return {
      Type{.dtype = x.dtype, .shape = shape, .weak = x.weak, .varying = varying_union(operands)}};
}

std::vector<Literal> evaluate_gather(std::span<const Literal> x, const GatherParams& p) {
  const IndexedWindows windows = gather_windows(p, x[0].shape(), x[1].shape());
  Literal out(x[0].dtype(), windows.windows);
  if (out.elements() == 0) return {out};
  const auto item = static_cast<size_t>(itemsize(out.dtype()));
  std::vector<int64_t> bases(static_cast<size_t>(windows.count()));
  windows.bases(x[1].dtype(), x[1].raw(), true, 0, windows.count(), bases.data());
  const std::vector<int64_t> to = windows.window_offsets();
  const IndexedWindows::Runs runs = windows.runs();
  std::byte* bytes = out.mutable_raw();
  for (size_t w = 0; w < bases.size(); ++w)
    for (size_t k = 0; k < runs.in_operand.size(); ++k)
      std::memcpy(bytes + static_cast<size_t>(to[w] + runs.in_windows[k]) * item,
                  x[0].raw() + static_cast<size_t>(bases[w] + runs.in_operand[k]) * item,
                  static_cast<size_t>(runs.run) * item);
  return {out};
}

// If an indexed dimension is sharded, each device gathers the rows that it has, and for all others
// elements that are neutral to a sum.
Factors gather_factors(std::span<const Type> operands, std::span<const Type>,
                       const GatherParams& p) {
  const IndexedWindows windows = gather_windows(p, operands[0].shape, operands[1].shape);
  const DType dtype = operands[0].dtype;
  Factors out;
  if (dtype == bool_) out.combiner = ReduceKind::kOr;
  const FactorKind indexed =
      has_neutral_to_sum(dtype) ? FactorKind::kReduction : FactorKind::kNeedReplication;
  const WindowFactors factors =
      add_window_factors(windows, {.free = FactorKind::kPass, .indexed = indexed}, out);
  out.operands = {factors.operand, factors.indices};
  out.results = {factors.windows};
  return out;
}

std::vector<Array> localize_gather(std::span<const Array> x, const GatherParams& p,
                                   const LocalContext& context) {
  GatherParams q = p;
  Shape global = context.global_operand(0).shape;
  const Shape& local = x[0].shape();
  const IndexedWindows windows = gather_windows(p, global, x[1].shape());
  const std::vector<Array> offsets = shard_offsets(windows, 0, local, context);
  for (int64_t d = 0; d < global.rank(); ++d) {
    if (global[d] == local[d] || contains(p.operand_batching_dims, d)) continue;
    if (windows.is_indexed(d)) continue;
    TESSERA_CHECK(p.slice_sizes[d] == global[d], "gather from a part of a sharded dimension");
    q.slice_sizes[d] = local[d];
  }
  if (offsets.empty()) return {bind_op1(gather_op, q, {x[0], x[1]})};
  const Array starts = local_starts(windows, offsets, lax::clamped_starts(windows, x[1]));
  const Array taken = bind_op1(gather_op, q, {x[0], starts});
  const IndexedWindows here = gather_windows(q, local, x[1].shape());
  const Array inside =
      lax::broadcast_in_dim(lax::windows_inside(here, starts), taken.shape(), here.batch_dims);
  return {lax::select(inside, taken, neutral_to_sum(taken.dtype(), taken.shape()))};
}

JvpResult jvp_gather(std::span<const Array> x, std::span<const Array> t, const GatherParams& p) {
  return {{bind_op1(gather_op, p, {x[0], x[1]})},
          {t[0].defined() ? bind_op1(gather_op, p, {t[0], x[1]}) : Array()}};
}

// Returns whether gather chooses at most one element along one dimension of every row of the
// operand. Then the operand's cotangent is an elementwise selection, which kernels fuse.
bool is_choice(const IndexedWindows& windows) {
  int components = 0;
  for (size_t d = 0; d < windows.dims.size(); ++d) {
    const IndexedWindows::Dim& dim = windows.dims[d];
    if (dim.component >= 0) {
      components += 1;
      if (dim.window >= 0) return false;
    } else if (dim.size != windows.operand[d] && dim.batch < 0) {
      return false;
    }
  }
  for (int64_t b : windows.free_batch_dims())
    if (windows.windows[b] != 1) return false;
  return components == 1;
}

Array choice_transpose(const IndexedWindows& windows, const Array& ct, const Array& indices) {
  // Indices are compared in a dtype that can hold every index of the dimension.
  const Array starts = itemsize(indices.dtype()) < itemsize(int32)
                           ? lax::convert_element_type(indices, int32)
                           : indices;
  // The dimensions of ct and of the starts that are also the operand's. All others have extent 1.
  int64_t chosen = 0;
  Dims kept, ct_to, start_kept, start_to;
  for (int64_t d = 0; d < windows.operand.rank(); ++d) {
    const IndexedWindows::Dim& dim = windows.dims[d];
    if (dim.component >= 0) {
      chosen = d;
      continue;
    }
    kept.push_back(dim.batch >= 0 ? dim.batch : dim.window);
    ct_to.push_back(d);
    if (dim.batch < 0) continue;
    const auto at = std::find(windows.batch_dims.begin(), windows.batch_dims.end(), dim.batch);
    start_kept.push_back(windows.index_dims[at - windows.batch_dims.begin()]);
    start_to.push_back(d);
  }
  auto arrange = [](const Array& x, const Dims& dims) {
    Dims unit, permutation;
    for (int64_t d = 0; d < x.ndim(); ++d)
      if (!contains(dims, d)) unit.push_back(d);
    for (int64_t d : dims)
      permutation.push_back(
          d - std::count_if(unit.begin(), unit.end(), [&](int64_t u) { return u < d; }));
    return lax::transpose(lax::squeeze(x, unit), permutation);
  };
  const Array index = lax::broadcast_in_dim(arrange(starts, start_kept), windows.operand, start_to);
  const Array here = lax::eq(index, lax::iota(starts.dtype(), windows.operand, chosen));
  const Array spread = lax::broadcast_in_dim(arrange(ct, kept), windows.operand, ct_to);
  return lax::select(here, spread, lax::full_like(spread, 0));
}

std::vector<Array> transpose_gather(std::span<const Array> cts, std::span<const Array> x,
                                    const std::vector<bool>& linear, const GatherParams& p) {
  TESSERA_CHECK(linear[0] && !linear[1], "gather is linear in its operand");
  if (!cts[0].defined()) return {Array(), Array()};
  const IndexedWindows windows = gather_windows(p, x[0].shape(), x[1].shape());
  // Scatter drops a window that is outside, so such a window contributes nothing to the cotangent.
  // (kClip has moved all starts inside before.)
  if (is_choice(windows) && windows.operand.elements() > 0)
    return {choice_transpose(windows, cts[0], x[1]), Array()};
  ScatterParams q{p.offset_dims,           p.collapsed_slice_dims,
                  p.operand_batching_dims, p.start_indices_batching_dims,
                  p.start_index_map,       p.index_vector_dim,
                  ScatterKind::kAdd};
  q.indices_are_sorted = p.indices_are_sorted;
  const Array zeros = lax::full(x[0].shape(), 0, cts[0].dtype(), cts[0].weak_type());
  return {bind_op1(scatter_op, q, {zeros, x[1], cts[0]}), Array()};
}

// Returns the outer product if gather takes whole rows along one dimension: the index of a row
// stands for a row of the identity matrix. A row that is outside contributes nothing.
std::optional<OuterProduct> gather_outer_product(const Array& ct, std::span<const Array> x,
                                                 const std::vector<bool>&, const GatherParams& p) {
  const IndexedWindows windows = gather_windows(p, x[0].shape(), x[1].shape());
  OuterProduct out{.x_is_index = true};
  Dims order = windows.free_batch_dims();
  if (order.rank() != windows.batch_dims.rank()) return std::nullopt;
  for (int64_t d = 0; d < windows.operand.rank(); ++d) {
    const IndexedWindows::Dim& dim = windows.dims[static_cast<size_t>(d)];
    if (dim.component >= 0 && dim.window < 0 && dim.size == 1) {
      out.rows.push_back(d);
    } else if (dim.component < 0 && dim.window >= 0 && dim.size == windows.operand[d]) {
      out.columns.push_back(d);
      order.push_back(dim.window);
    } else {
      return std::nullopt;
    }
  }
  if (out.rows.rank() != 1 || x[0].size() == 0) return std::nullopt;
  const Array inside =
      lax::broadcast_in_dim(lax::windows_inside(windows, x[1]), ct.shape(), windows.batch_dims);
  const int64_t sum = windows.count();
  out.x =
      lax::convert_element_type(lax::reshape(lax::clamped_starts(windows, x[1]), {1, sum}), int32);
  out.y = lax::reshape(lax::transpose(lax::select(inside, ct, lax::full_like(ct, 0)), order),
                       {1, sum, sum == 0 ? 0 : ct.size() / sum});
  return out;
}

// Returns the dimensions `dims` after a new one is inserted at `at`.
Dims shifted(Dims dims, int64_t at) {
  for (int64_t& d : dims) d += d >= at;
  return dims;
}

BatchResult batch_gather(std::span<const Array> x, std::span<const int> dims,
                         const GatherParams& p) {
  GatherParams q = p;
  if (dims[1] < 0) {
    // The indices are not mapped: every window gets the operand's mapped dimension whole.
    const int64_t at = dims[0];
    q.collapsed_slice_dims = shifted(p.collapsed_slice_dims, at);
    q.operand_batching_dims = shifted(p.operand_batching_dims, at);
    q.start_index_map = shifted(p.start_index_map, at);
    q.slice_sizes.insert(q.slice_sizes.begin() + at, x[0].shape()[at]);
    // In the result, this dimension is before the window dimension of the next operand dimension
    // that has one.
    int64_t windows_before = 0;
    for (int64_t d = 0; d < at; ++d)
      windows_before +=
          !contains(p.collapsed_slice_dims, d) && !contains(p.operand_batching_dims, d);
    const int64_t rank =
        x[1].ndim() - (p.index_vector_dim < x[1].ndim() ? 1 : 0) + p.offset_dims.rank();
    const int64_t place =
        windows_before < p.offset_dims.rank() ? p.offset_dims[windows_before] : rank;
    q.offset_dims = shifted(p.offset_dims, place);
    q.offset_dims.insert(q.offset_dims.begin() + windows_before, place);
    return {{bind_op1(gather_op, q, {x[0], x[1]})}, {static_cast<int>(place)}};
  }
  // The mapped dimension of the indices becomes their first dimension, and that of the result.
  const Array indices = lax::move_to_front(x[1], dims[1]);
  q.offset_dims = shifted(p.offset_dims, 0);
  q.start_indices_batching_dims = shifted(p.start_indices_batching_dims, 0);
  q.index_vector_dim += 1;
  q.indices_are_sorted = false;
  Array operand = x[0];
  if (dims[0] >= 0) {
    operand = lax::move_to_front(x[0], dims[0]);
    q.collapsed_slice_dims = shifted(p.collapsed_slice_dims, 0);
    q.operand_batching_dims = shifted(p.operand_batching_dims, 0);
    q.start_index_map = shifted(p.start_index_map, 0);
    q.operand_batching_dims.insert(q.operand_batching_dims.begin(), 0);
    q.start_indices_batching_dims.insert(q.start_indices_batching_dims.begin(), 0);
    q.slice_sizes.insert(q.slice_sizes.begin(), 1);
  }
  return {{bind_op1(gather_op, q, {operand, indices})}, {0}};
}

std::vector<Sample> gather_samples() {
  auto numbers = [](DType dtype, Shape shape) {
    Literal out(float64, shape);
    for (int64_t i = 0; i < out.elements(); ++i)
      out.mutable_data<double>()[i] = static_cast<double>((i * 37) % 101);
    return convert_literal(out, dtype);
  };
  auto ints = [](Shape shape, std::initializer_list<int32_t> values) {
    return Literal::from<int32_t>(std::span<const int32_t>(values.begin(), values.size()), shape);
  };
  auto sample = [](std::vector<Literal> literals, GatherParams p) {
    Sample out{.operands = {}, .params = std::move(p), .literals = std::move(literals)};
    for (const Literal& l : out.literals)
      out.operands.push_back(Type{.dtype = l.dtype(), .shape = l.shape()});
    return out;
  };
  const Literal four = ints({4, 1}, {3, 0, 9, -2});
  return {
      // Rows. Two of the starts are outside.
      sample({numbers(float32, {6, 8}), four}, {{1}, {0}, {}, {}, {0}, 1, {1, 8}}),
      sample({numbers(bfloat16, {6, 8}), convert_literal(four, uint8)},
             {{1}, {0}, {}, {}, {0}, 1, {1, 8}}),
      sample({numbers(complex64, {8, 6}), four}, {{0}, {1}, {}, {}, {1}, 1, {8, 1}}),
      // Parts of rows whose dimensions are kept. Index vectors of two swapped entries are not the
      // last dimension.
      sample({numbers(float32, {6, 8}), ints({2, 4}, {1, 7, 5, 0, 2, 0, 9, -1})},
             {{0, 2}, {}, {}, {}, {1, 0}, 0, {2, 3}}),
      sample({numbers(int32, {4, 6, 2}), ints({2, 3, 2}, {0, 1, 3, 5, 1, 1, 2, 0, 0, 0, 9, 9})},
             {{2}, {0, 1}, {}, {}, {0, 1}, 2, {1, 1, 2}}),
      // Scalars as indices, without a vector dimension.
      sample({numbers(float32, {10}), ints({4}, {9, 1, 1, 4})}, {{}, {0}, {}, {}, {0}, 1, {1}}),
      sample({numbers(float64, {10}), ints({}, {7})}, {{0}, {}, {}, {}, {0}, 0, {3}}),
      // take_along_axis with one element for each row, and with several.
      sample({numbers(float32, {4, 6}), ints({4, 1, 1}, {5, 0, 2, 7})},
             {{}, {1}, {0}, {0}, {1}, 2, {1, 1}}),
      sample({numbers(float32, {4, 6}), ints({3, 4}, {5, 0, 2, 7, 1, 1, 1, 1, 0, 1, 2, 3})},
             {{}, {1}, {0}, {1}, {1}, 2, {1, 1}}),
      sample({numbers(float32, {2, 5, 4, 3}), ints({4, 2}, {4, 0, 2, 1, 1, 3, 0, 0})},
             {{1}, {1}, {0, 2}, {1, 0}, {1}, 2, {1, 1, 1, 3}}),
      // A gather without elements.
      sample({numbers(float32, {6, 0}), four}, {{1}, {0}, {}, {}, {0}, 1, {1, 0}}),
      sample({numbers(float32, {6, 4}), Literal(int32, {0, 1})},
             {{1}, {0}, {}, {}, {0}, 1, {1, 4}}),
  };
}

}  // namespace

const OpDef& gather_op = define<GatherParams>({
    .name = "gather",
    .attributes = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                   "start_indices_batching_dims", "start_index_map", "index_vector_dim",
                   "slice_sizes", "indices_are_sorted"},
    .infer = infer_gather,
    .evaluate = evaluate_gather,
    .factors = gather_factors,
    .localize = localize_gather,
    .lower = Library{LibraryKind::kGather},
    .jvp = {jvp_gather},
    .transpose = {transpose_gather},
    .batch = {batch_gather},
    .samples = gather_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

namespace {
[[maybe_unused]] const bool kGatherProduct =
    register_outer_product(gather_op, gather_outer_product);
}  // namespace

IndexedWindows gather_windows(const GatherParams& p, const Shape& operand, const Shape& indices) {
  return {p.numbers(), p.index_vector_dim,         operand,
          indices,     gathered_shape(p, indices), p.slice_sizes};
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

namespace {

// Returns the constant vector `starts`, repeated for every index vector.
Array spread_starts(const IndexedWindows& windows, const Dims& starts, DType dtype) {
  const int64_t largest = visit_dtype(dtype, []<class T>(TypeTag<T>) -> int64_t {
    if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(
          std::min<uint64_t>(static_cast<uint64_t>(std::numeric_limits<T>::max()),
                             static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
    return 0;
  });
  Literal literal(int64, {starts.rank()});
  for (size_t k = 0; k < starts.size(); ++k)
    literal.mutable_data<int64_t>()[k] = std::min(starts[k], largest);
  const bool same =
      std::all_of(starts.begin(), starts.end(), [&](int64_t s) { return s == starts[0]; });
  const bool vectors = windows.index_vector_dim < windows.indices.rank();
  if (same || !vectors)
    return full(windows.indices,
                static_cast<double>(starts.empty() ? 0 : literal.data<int64_t>()[0]), dtype);
  return broadcast_in_dim(constant(convert_literal(literal, dtype)), windows.indices,
                          {windows.index_vector_dim});
}

}  // namespace

Array windows_inside(const IndexedWindows& windows, const Array& indices) {
  const Array largest = spread_starts(windows, windows.largest_starts(), indices.dtype());
  Array inside = le(indices, largest);
  if (is_signed(indices.dtype())) inside = bitwise_and(inside, ge(indices, full_like(indices, 0)));
  if (windows.index_vector_dim == windows.indices.rank()) return inside;
  if (windows.indices[windows.index_vector_dim] == 1)
    return squeeze(inside, {windows.index_vector_dim});
  return reduce_and(inside, {windows.index_vector_dim});
}

Array clamped_starts(const IndexedWindows& windows, const Array& indices) {
  const Array largest = spread_starts(windows, windows.largest_starts(), indices.dtype());
  const Array below = min(indices, largest);
  return is_signed(indices.dtype()) ? max(below, full_like(below, 0)) : below;
}

Array gather(const Array& x, const Array& indices, const IndexDims& dims, const Shape& slice_sizes,
             IndexMode mode, std::optional<double> fill, bool indices_are_sorted) {
  SourceScope source("gather");
  if (mode == IndexMode::kWrap)
    value_error("gather", "expected a mode of windows, got kWrap; take remainder(indices, extent)");
  if (indices.ndim() == 0)
    shape_error("gather", "expected indices with a last dimension of index vectors, got {}",
                describe(indices.type()));
  const GatherParams p{dims.offset_dims,
                       dims.collapsed_slice_dims,
                       dims.operand_batching_dims,
                       dims.start_indices_batching_dims,
                       dims.start_index_map,
                       indices.ndim() - 1,
                       slice_sizes,
                       indices_are_sorted};
  if (mode == IndexMode::kPromiseInBounds) return bind_op1(gather_op, p, {x, indices});
  const IndexedWindows windows = gather_windows(p, x.shape(), indices.shape());
  if (mode == IndexMode::kClip)
    return bind_op1(gather_op, p, {x, clamped_starts(windows, indices)});
  const Array taken = bind_op1(gather_op, p, {x, indices});
  const Array inside =
      broadcast_in_dim(windows_inside(windows, indices), taken.shape(), windows.batch_dims);
  const Literal value = visit_dtype(wide_dtype(x.dtype()), [&]<class T>(TypeTag<T>) -> Literal {
    if (fill) return convert_literal(Literal::scalar(*fill), x.dtype());
    if (is_narrow(x.dtype()) && is_integer(x.dtype())) {  // -8 or 15
      const int bits = bit_width(x.dtype());
      const int outside = is_signed(x.dtype()) ? -(1 << (bits - 1)) : (1 << bits) - 1;
      return convert_literal(Literal::scalar(int32_t{outside}), x.dtype());
    }
    if constexpr (std::is_same_v<T, bool>) {
      return Literal::scalar(true);
    } else if constexpr (std::is_integral_v<T>) {
      return Literal::scalar(std::is_signed_v<T> ? std::numeric_limits<T>::min()
                                                 : std::numeric_limits<T>::max());
    } else {
      return convert_literal(Literal::scalar(std::numeric_limits<double>::quiet_NaN()), x.dtype());
    }
  });
  return select(inside, taken, tessera::lax::full(taken.shape(), value, taken.weak_type()));
}

Array take_along(const Array& x, const Array& indices, int64_t dim, IndexMode mode,
                 std::optional<double> fill) {
  // A window of one element would be larger than a dimension that has none.
  if (indices.size() == 0) return full(indices.shape(), 0, x.dtype());
  Shape vectors = indices.shape();
  vectors.push_back(1);
  IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = {dim}, .start_index_map = {dim}};
  for (int64_t d = 0; d < x.ndim(); ++d) {
    if (d == dim) continue;
    dims.operand_batching_dims.push_back(d);
    dims.start_indices_batching_dims.push_back(d);
  }
  return gather(x, reshape(indices, vectors), dims, Shape(x.shape().size(), 1), mode, fill);
}

}  // namespace tessera::lax
