// dynamic_slice and dynamic_update_slice.
#include <algorithm>
#include <cstring>

#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/copy_elements.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

// Throws UserError unless the operands from `first` on are integer scalars of one dtype, one for
// each dimension.
void expect_starts(std::string_view op, std::span<const Type> operands, size_t first, int64_t rank,
                   std::string_view count_rule, std::string_view type_rule) {
  if (static_cast<int64_t>(operands.size() - first) != rank)
    shape_error(op, "expected {} start indices ({}), one a dimension, got {}", rank, count_rule,
                operands.size() - first);
  for (size_t k = first; k < operands.size(); ++k) {
    if (!is_integer(operands[k].dtype) || is_narrow(operands[k].dtype) || operands[k].rank() != 0)
      type_error(op, "expected integer scalars as start indices, got {}", describe(operands[k]));
    if (operands[k].dtype != operands[first].dtype)
      type_error(op, "expected start indices of one dtype ({}), got {} and {}; convert them",
                 type_rule, describe(operands[first]), describe(operands[k]));
  }
}

// Returns the starts on the host, moved into [0, extent - size].
Dims clamped_starts(std::span<const Literal> starts, const Shape& extents, const Shape& sizes) {
  Dims out;
  for (size_t d = 0; d < extents.size(); ++d) {
    const int64_t start = visit_dtype(starts[d].dtype(), [&]<class T>(TypeTag<T>) -> int64_t {
      if constexpr (std::is_integral_v<T>) {
        const T value = starts[d].data<T>()[0];
        return std::is_unsigned_v<T> && static_cast<uint64_t>(value) > INT64_MAX
                   ? INT64_MAX
                   : static_cast<int64_t>(value);
      }
      TESSERA_CHECK(false, "starts are integers");
      return 0;
    });
    out.push_back(std::clamp<int64_t>(start, 0, extents[d] - sizes[d]));
  }
  return out;
}

std::vector<Type> infer_dynamic_slice(std::span<const Type> operands, const DynamicSliceParams& p) {
  if (operands.empty())
    type_error("dynamic_slice", "expected an operand and its start indices, got none");
  const Type& x = operands[0];
  if (p.sizes.rank() != x.rank())
    shape_error("dynamic_slice", "expected {} slice sizes (C2), got {} for {}", x.rank(), p.sizes,
                describe(x));
  expect_starts("dynamic_slice", operands, 1, x.rank(), "C2", "C3");
  for (int64_t d = 0; d < x.rank(); ++d)
    if (p.sizes[d] < 0 || p.sizes[d] > x.shape[d])
      shape_error("dynamic_slice", "expected a size in [0, {}] in dimension {} (C4), got {} for {}",
                  x.shape[d], d, p.sizes[d], describe(x));
  return {
      Type{.dtype = x.dtype, .shape = p.sizes, .weak = x.weak, .varying = varying_union(operands)}};
}

std::vector<Literal> evaluate_dynamic_slice(std::span<const Literal> x,
                                            const DynamicSliceParams& p) {
  const Dims start = clamped_starts(x.subspan(1), x[0].shape(), p.sizes);
  return {copy_elements(x[0], p.sizes, [&](int64_t d, int64_t i) { return start[d] + i; })};
}

// Whole dimensions pass through. If only a part of a dimension is read, any shard may hold it.
Factors dynamic_slice_factors(std::span<const Type> operands, std::span<const Type> results,
                              const DynamicSliceParams&) {
  Factors out;
  out.operands.resize(operands.size());
  out.results.resize(1);
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const int64_t extent = operands[0].shape[d], size = results[0].shape[d];
    const bool whole = extent == size;
    const int factor = out.add(extent, whole ? FactorKind::kPass : FactorKind::kNeedReplication);
    out.operands[0].push_back({factor});
    out.results[0].push_back({whole ? factor : out.add(size, FactorKind::kNeedReplication)});
  }
  return out;
}

IndexMapping map_dynamic_slice(const OpParams& params, std::span<const Type> operands,
                               std::span<const Type>) {
  const auto& p = params.as<DynamicSliceParams>();
  IndexPiece piece;
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const int64_t max = operands[0].shape[d] - p.sizes[d];
    piece.terms.push_back({.result_dim = static_cast<int>(d),
                           .dynamic = max == 0 ? -1 : static_cast<int>(d) + 1,
                           .dynamic_max = max});
  }
  return {.pieces = {piece}};
}

JvpResult dynamic_slice_jvp(std::span<const Array> x, std::span<const Array> t,
                            const DynamicSliceParams& p) {
  return {{lax::dynamic_slice(x[0], x.subspan(1), p.sizes)},
          {t[0].defined() ? lax::dynamic_slice(t[0], x.subspan(1), p.sizes) : Array()}};
}

std::vector<Array> dynamic_slice_transpose(std::span<const Array> ct, std::span<const Array> x,
                                           const std::vector<bool>&, const DynamicSliceParams&) {
  std::vector<Array> out(x.size());
  out[0] = lax::dynamic_update_slice(lax::full(x[0].shape(), 0, ct[0].dtype(), ct[0].weak_type()),
                                     ct[0], x.subspan(1));
  return out;
}

// Returns the starts with an additional start of 0, for the mapped dimension at `dim`.
std::vector<Array> batched_starts(std::span<const Array> starts, int dim) {
  std::vector<Array> out(starts.begin(), starts.end());
  out.insert(out.begin() + dim, lax::full({}, 0, starts.empty() ? int32 : starts[0].dtype()));
  return out;
}

bool any_mapped(std::span<const int> dims) {
  return std::any_of(dims.begin(), dims.end(), [](int d) { return d >= 0; });
}

// Returns the starts as one index vector for each example, [size, rank], if they differ between the
// examples.
Array start_vectors(std::span<const Array> starts, int64_t size) {
  std::vector<Array> columns;
  for (const Array& start : starts) {
    const Array column = lax::convert_element_type(start, starts[0].dtype());
    columns.push_back(lax::broadcast_in_dim(column, {size, 1}, iota_dims(column.ndim())));
  }
  return lax::concatenate(columns, 1);
}

// Returns the dimension numbers for windows over all `rank` dimensions. If the operand is mapped,
// its first dimension is that of the examples.
IndexDims windows_of_examples(int64_t rank, bool operand_mapped) {
  IndexDims out;
  for (int64_t d = 0; d < rank; ++d) {
    out.offset_dims.push_back(d + 1);
    out.start_index_map.push_back(operand_mapped ? d + 1 : d);
  }
  if (operand_mapped) {
    out.operand_batching_dims = {0};
    out.start_indices_batching_dims = {0};
  }
  return out;
}

// If each example has starts of its own, this is a gather, which moves windows inside in the same
// way.
BatchResult dynamic_slice_batch(std::span<const Array> x, std::span<const int> dims,
                                const DynamicSliceParams& p) {
  const std::span<const Array> starts = x.subspan(1);
  const std::span<const int> mapped = dims.subspan(1);
  Shape sizes = p.sizes;
  if (!any_mapped(mapped)) {
    sizes.insert(sizes.begin() + dims[0], x[0].shape()[dims[0]]);
    return {{lax::dynamic_slice(x[0], batched_starts(starts, dims[0]), sizes)}, {dims[0]}};
  }
  const bool operand_mapped = dims[0] >= 0;
  const size_t first = static_cast<size_t>(
      std::find_if(mapped.begin(), mapped.end(), [](int d) { return d >= 0; }) - mapped.begin());
  const int64_t size = starts[first].shape()[0];
  const Array operand = operand_mapped ? lax::with_batch_first(x[0], dims[0], size) : x[0];
  if (operand_mapped) sizes.insert(sizes.begin(), 1);
  return {
      {lax::gather(operand, start_vectors(starts, size),
                   windows_of_examples(p.sizes.rank(), operand_mapped), sizes, IndexMode::kClip)},
      {0}};
}

std::vector<Sample> dynamic_slice_samples() {
  auto start = [](auto v) { return Literal::scalar(v); };
  auto floats = [](Shape shape) {
    Literal out(float32, shape);
    for (int64_t i = 0; i < out.elements(); ++i)
      out.mutable_data<float>()[i] = static_cast<float>(i);
    return out;
  };
  auto sample = [](std::vector<Literal> literals, Shape sizes) {
    Sample out{.operands = {}, .params = DynamicSliceParams{sizes}, .literals = literals};
    for (const Literal& l : literals)
      out.operands.push_back(Type{.dtype = l.dtype(), .shape = l.shape()});
    return out;
  };
  return {sample({floats({10}), start(int32_t{3})}, {4}),
          sample({floats({10}), start(int32_t{8})}, {4}),  // moved back to 6
          sample({floats({10}), start(int32_t{-5})}, {4}),
          sample({floats({4, 6}), start(int64_t{1}), start(int64_t{2})}, {4, 3}),
          sample({floats({4, 6}), start(uint8_t{200}), start(uint8_t{2})}, {1, 0}),
          sample({floats({})}, {})};
}

// --- dynamic_update_slice ---

std::vector<Type> infer_update(std::span<const Type> operands, const NoParams&) {
  if (operands.size() < 2)
    type_error("dynamic_update_slice",
               "expected an operand, an update and start indices, got {} operands",
               operands.size());
  const Type &x = operands[0], &update = operands[1];
  if (update.dtype != x.dtype)
    type_error("dynamic_update_slice",
               "expected an update of the operand's dtype (C2), got {} for {}; convert it",
               describe(update), describe(x));
  if (update.rank() != x.rank())
    shape_error("dynamic_update_slice", "expected an update of rank {} (C3), got {} for {}",
                x.rank(), describe(update), describe(x));
  expect_starts("dynamic_update_slice", operands, 2, x.rank(), "C4", "C5");
  for (int64_t d = 0; d < x.rank(); ++d)
    if (update.shape[d] > x.shape[d])
      shape_error("dynamic_update_slice",
                  "expected an update within the operand (C6), got {} for {}", describe(update),
                  describe(x));
  return {Type{.dtype = x.dtype,
               .shape = x.shape,
               .weak = x.weak && update.weak,
               .varying = varying_union(operands)}};
}

std::vector<Literal> evaluate_update(std::span<const Literal> x, const NoParams&) {
  const Shape &shape = x[0].shape(), &sizes = x[1].shape();
  const Dims start = clamped_starts(x.subspan(2), shape, sizes);
  Literal out = x[0];
  const Dims to = row_major_strides(shape), strides = row_major_strides(sizes);
  const auto item = static_cast<size_t>(itemsize(out.dtype()));
  std::byte* bytes = out.mutable_raw();
  for (int64_t i = 0; i < x[1].elements(); ++i) {
    int64_t at = 0;
    for (int64_t d = 0; d < shape.rank(); ++d) at += (start[d] + i / strides[d] % sizes[d]) * to[d];
    std::memcpy(bytes + at * item, x[1].raw() + i * item, item);
  }
  return {out};
}

// The operand passes through. If the update covers only a part of a dimension, each shard gets the
// whole update.
Factors update_factors(std::span<const Type> operands, std::span<const Type> results,
                       const NoParams&) {
  Factors out = pointwise_factors({}, results);
  out.operands.resize(operands.size());
  out.operands[0] = out.results[0];
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const int64_t size = operands[1].shape[d];
    const bool whole = size == operands[0].shape[d];
    out.operands[1].push_back(whole ? out.results[0][d]
                                    : DimFactors{out.add(size, FactorKind::kNeedReplication)});
  }
  return out;
}

IndexMapping map_update(const OpParams&, std::span<const Type> operands, std::span<const Type>) {
  IndexPiece update{.operand = 1}, rest{.operand = 0};
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const int64_t max = operands[0].shape[d] - operands[1].shape[d];
    const auto dim = static_cast<int>(d);
    // Inside the bounds, shifted by the start, element i of the result is update[i - start]. An
    // update as long as the operand begins at 0; of one element only that is read.
    const int start = max == 0 ? -1 : dim + 2;
    if (operands[1].shape[d] == 1) {
      update.terms.push_back({});
    } else {
      update.terms.push_back(
          {.result_dim = dim, .dynamic = start, .dynamic_max = max, .dynamic_stride = -1});
    }
    update.start.push_back(0);
    update.stop.push_back(operands[1].shape[d]);
    update.start_dynamic.push_back(start);
    update.start_dynamic_max.push_back(max);
    rest.terms.push_back({.result_dim = dim});
  }
  return {.pieces = {update, rest}, .updates = true};
}

// A sharded dimension of which the update covers only a part.
struct SplitUpdate {
  int dim;
  Array start;  // int64, relative to the shard; the update may be outside
};

// Returns the shard after the update. It replaces a box inside of the shard that is as large as the
// update and as near to the update's position as possible. In the box, elements that the update
// covers are new; the others keep their values. For example, for a shard of 4 and an update [a, b]
// at -1, the box at 0 is [b, x1].
Array update_in_shard(const Array& x, const Array& update, std::vector<Array> starts,
                      const std::vector<SplitUpdate>& splits) {
  const auto number = [](int64_t value) { return lax::constant(Literal::scalar(value)); };
  const Shape& sizes = update.shape();
  Array window = update, taken;
  Dims room(sizes.size(), 0);
  std::vector<Array> shifts(sizes.size(), number(0));
  for (const SplitUpdate& split : splits) {
    const int64_t size = sizes[split.dim];
    starts[split.dim] = lax::clamp(number(0), split.start, number(x.shape()[split.dim] - size));
    // Element i of the box is element i + shift of the update, if the update has one.
    const Array shift =
        lax::clamp(number(-size), lax::sub(starts[split.dim], split.start), number(size));
    Array inside;
    if (size == 1) {
      inside = lax::eq(shift, number(0));
    } else {
      const Array place =
          lax::add(lax::iota(int64, sizes, split.dim), lax::broadcast_in_dim(shift, sizes, {}));
      inside = lax::bitwise_and(lax::ge(place, lax::full(sizes, 0, int64)),
                                lax::lt(place, lax::full(sizes, static_cast<double>(size), int64)));
      room[split.dim] = size;
      shifts[split.dim] = lax::add(shift, number(size));
    }
    if (taken.defined() && taken.shape() != inside.shape())
      (taken.ndim() == 0 ? taken : inside) =
          lax::broadcast_in_dim(taken.ndim() == 0 ? taken : inside, sizes, {});
    taken = taken.defined() ? lax::bitwise_and(taken, inside) : inside;
  }
  if (std::any_of(room.begin(), room.end(), [](int64_t n) { return n > 0; }))
    window = lax::dynamic_slice(lax::pad(update, lax::full({}, 0, x.dtype()), room, room), shifts,
                                sizes);
  const Array old = lax::dynamic_slice(x, starts, sizes);
  return lax::dynamic_update_slice(x, lax::select(taken, window, old), starts);
}

// Returns the shard after an update that is larger than the shard. The shard is padded on both
// sides by the size of the update, updated, and cut out again. For example, a shard of 4 at offset
// 4 is padded to _____...._____ for an update of 5; an update at 3 is written at 3 - 4 + 5 = 4.
Array update_in_room(const Array& x, const Array& update, std::vector<Array> starts,
                     const std::vector<SplitUpdate>& splits) {
  Dims room(x.shape().size(), 0), limit = x.shape();
  for (const SplitUpdate& split : splits) {
    room[split.dim] = update.shape()[split.dim];
    limit[split.dim] += room[split.dim];
    starts[split.dim] = lax::add(split.start, lax::constant(Literal::scalar(room[split.dim])));
  }
  const Array padded = lax::pad(x, lax::full({}, 0, x.dtype()), room, room);
  return lax::slice(lax::dynamic_update_slice(padded, update, starts), room, limit);
}

std::vector<Array> localize_update(std::span<const Array> x, const NoParams&,
                                   const LocalContext& context) {
  const Shape &global = context.global_operand(0).shape, &local = x[0].shape(),
              &update = x[1].shape();
  std::vector<Array> starts(x.begin() + 2, x.end());
  std::vector<int> dims;
  bool fits = true;
  for (int d = 0; d < static_cast<int>(local.size()); ++d) {
    if (local[d] == global[d] || context.global_operand(1).shape[d] == global[d]) continue;
    dims.push_back(d);
    fits = fits && update[d] <= local[d];
  }
  if (dims.empty()) return {lax::dynamic_update_slice(x[0], x[1], starts)};
  const auto number = [](int64_t value) { return lax::constant(Literal::scalar(value)); };
  for (Array& start : starts) {
    if (start.dtype() == uint64)
      start = lax::min(start, lax::constant(Literal::scalar(uint64_t{INT64_MAX})));
    start = lax::convert_element_type(start, int64);
  }
  std::vector<SplitUpdate> splits;
  for (int d : dims) {
    const Array inside = lax::clamp(number(0), starts[d], number(global[d] - update[d]));
    const Array offset = lax::convert_element_type(context.operand_offset(0, d), int64);
    splits.push_back({d, lax::sub(inside, offset)});
  }
  return {fits ? update_in_shard(x[0], x[1], std::move(starts), splits)
               : update_in_room(x[0], x[1], std::move(starts), splits)};
}

JvpResult update_jvp(std::span<const Array> x, std::span<const Array> t, const NoParams&) {
  const Array z = lax::dynamic_update_slice(x[0], x[1], x.subspan(2));
  if (!t[0].defined() && !t[1].defined()) return {{z}, {Array()}};
  return {
      {z},
      {lax::dynamic_update_slice(t[0].defined() ? t[0] : lax::full_like(x[0], 0),
                                 t[1].defined() ? t[1] : lax::full_like(x[1], 0), x.subspan(2))}};
}

std::vector<Array> update_transpose(std::span<const Array> ct, std::span<const Array> x,
                                    const std::vector<bool>& linear, const NoParams&) {
  std::vector<Array> out(x.size());
  const Shape& sizes = x[1].shape();
  if (linear[0])
    out[0] = lax::dynamic_update_slice(ct[0], lax::full(sizes, 0, ct[0].dtype(), ct[0].weak_type()),
                                       x.subspan(2));
  if (linear[1]) out[1] = lax::dynamic_slice(ct[0], x.subspan(2), sizes);
  return out;
}

// If each example has starts of its own, this is a scatter, with windows that were moved inside.
BatchResult update_batch(std::span<const Array> x, std::span<const int> dims, const NoParams&) {
  const std::span<const Array> starts = x.subspan(2);
  int64_t size = 0;
  for (size_t k = 0; k < x.size(); ++k)
    if (dims[k] >= 0) size = x[k].shape(dims[k]);
  const Array operand = lax::with_batch_first(x[0], dims[0], size),
              update = lax::with_batch_first(x[1], dims[1], size);
  if (!any_mapped(dims.subspan(2)))
    return {{lax::dynamic_update_slice(operand, update, batched_starts(starts, 0))}, {0}};
  return {{lax::scatter(operand, start_vectors(starts, size), update,
                        windows_of_examples(update.ndim() - 1, true), ScatterKind::kSet,
                        {.mode = IndexMode::kClip, .unique_indices = true})},
          {0}};
}

std::vector<Sample> update_samples() {
  auto start = [](auto v) { return Literal::scalar(v); };
  auto floats = [](Shape shape, float from) {
    Literal out(float32, shape);
    for (int64_t i = 0; i < out.elements(); ++i)
      out.mutable_data<float>()[i] = from + static_cast<float>(i);
    return out;
  };
  auto sample = [](std::vector<Literal> literals) {
    Sample out{.operands = {}, .params = NoParams{}, .literals = literals};
    for (const Literal& l : literals)
      out.operands.push_back({.dtype = l.dtype(), .shape = l.shape()});
    return out;
  };
  return {sample({floats({10}, 0), floats({3}, 100), start(int32_t{4})}),
          sample({floats({10}, 0), floats({3}, 100), start(int32_t{9})}),  // moved back to 7
          sample({floats({10}, 0), floats({3}, 100), start(int64_t{-1})}),
          sample({floats({4, 6}, 0), floats({4, 2}, 100), start(uint8_t{3}), start(uint8_t{3})}),
          sample({floats({4, 6}, 0), floats({1, 0}, 100), start(int32_t{3}), start(int32_t{3})}),
          sample({floats({}, 0), floats({}, 100)})};
}

}  // namespace

const OpDef& dynamic_slice_op = define<DynamicSliceParams>({
    .name = "dynamic_slice",
    .attributes = {"slice_sizes"},
    .infer = infer_dynamic_slice,
    .evaluate = evaluate_dynamic_slice,
    .factors = dynamic_slice_factors,
    .localize =
        [](std::span<const Array> x, const DynamicSliceParams&, const LocalContext& context) {
          return std::vector{lax::dynamic_slice(x[0], x.subspan(1), context.local_result(0).shape)};
        },
    .lower = IndexMap{map_dynamic_slice},
    .flops = [](std::span<const Type>, std::span<const Type>,
                const DynamicSliceParams&) { return 0.0; },
    .jvp = {dynamic_slice_jvp},
    .transpose = {dynamic_slice_transpose},
    .batch = {dynamic_slice_batch},
    .samples = dynamic_slice_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& dynamic_update_slice_op = define<NoParams>({
    .name = "dynamic_update_slice",
    .infer = infer_update,
    .evaluate = evaluate_update,
    .factors = update_factors,
    .localize = localize_update,
    .lower = IndexMap{map_update},
    .flops = [](std::span<const Type>, std::span<const Type>, const NoParams&) { return 0.0; },
    .jvp = {update_jvp},
    .transpose = {update_transpose},
    .batch = {update_batch},
    .samples = update_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

// Returns starts that are zero in every dimension except `dim`.
static std::vector<Array> starts_in_dim(const Array& x, const Array& start, int64_t dim) {
  std::vector<Array> starts(x.shape().size(), full({}, 0, start.dtype()));
  starts[dim] = start;
  return starts;
}

Array dynamic_slice(const Array& x, std::span<const Array> starts, const Shape& sizes) {
  std::vector<Array> operands{x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return bind_op(dynamic_slice_op, DynamicSliceParams{sizes}, operands)[0];
}

Array dynamic_update_slice(const Array& x, const Array& update, std::span<const Array> starts) {
  std::vector<Array> operands{x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return bind_op(dynamic_update_slice_op, NoParams{}, operands)[0];
}
Array dynamic_slice_in_dim(const Array& x, const Array& start, int64_t size, int64_t dim) {
  dim = normalize_axis("dynamic_slice", dim, x.ndim());
  Shape sizes = x.shape();
  sizes[dim] = size;
  return dynamic_slice(x, starts_in_dim(x, start, dim), sizes);
}

Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start,
                                  int64_t dim) {
  dim = normalize_axis("dynamic_update_slice", dim, x.ndim());
  return dynamic_update_slice(x, update, starts_in_dim(x, start, dim));
}

}  // namespace tessera::lax
