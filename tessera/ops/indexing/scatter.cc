#include "tessera/ops/indexing/scatter.h"

#include <algorithm>
#include <map>

#include "tessera/base/contains.h"
#include "tessera/base/fork.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/indexing/local_starts.h"
#include "tessera/ops/indexing/scatter_call.h"
#include "tessera/ops/indexing/scatter_evaluate.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/written_kind.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

using namespace array_math;

constexpr IndexedWindowsNames kNames = {.op = "scatter",
                                        .offset_dims = "update_window_dims",
                                        .collapsed = "inserted_window_dims",
                                        .map = "scatter_dims_to_operand_dims",
                                        .operand_batching = "input_batching_dims",
                                        .indices_batching = "scatter_indices_batching_dims",
                                        .rank = "C2",
                                        .offset_unique = "C7",
                                        .offset_range = "C8",
                                        .collapsed_unique = "C9",
                                        .collapsed_sorted = "C10",
                                        .collapsed_range = "C11",
                                        .batching_sorted = "C12",
                                        .batching_range = "C13",
                                        .indices_batching_unique = "C14",
                                        .indices_batching_range = "C15",
                                        .indices_batching_vector = "C16",
                                        .batching_count = "C17",
                                        .batching_extents = "C18",
                                        .map_count = "C19",
                                        .map_unique = "C20",
                                        .map_range = "C21",
                                        .vector_range = "C22"};

Shape window_sizes(const ScatterParams& p, int64_t rank, const Shape& updates) {
  Shape sizes;
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d)
    sizes.push_back(contains(p.inserted_window_dims, d) || contains(p.input_batching_dims, d)
                        ? 1
                        : updates[p.update_window_dims[next++]]);
  return sizes;
}

// Checks that the operands are arrays, indices and updates that fit. Returns the number of arrays.
size_t check_arrays(std::span<const Type> operands) {
  const size_t n = scatter_arrays(operands.size());
  if (n == 0 || operands.size() != 2 * n + 1)
    type_error("scatter",
               "expected arrays, the start indices, and as many updates as arrays (C5), got {} "
               "operands",
               operands.size());
  const Type &x = operands[0], &updates = operands[n + 1];
  for (size_t k = 0; k < n; ++k) {
    const Type &array = operands[k], &with = operands[n + 1 + k];
    if (array.shape != x.shape)
      shape_error("scatter", "expected arrays of one shape (C1), got {} and {}", describe(x),
                  describe(array));
    if (with.shape != updates.shape)
      shape_error("scatter", "expected updates of one shape (C3), got {} and {}", describe(updates),
                  describe(with));
    if (array.dtype != with.dtype)
      type_error("scatter",
                 "expected updates of the array's dtype (C6), got {} for {}; convert them",
                 describe(with), describe(array));
  }
  return n;
}

void check_computation(std::span<const Type> arrays, const ScatterParams& p) {
  if (!p.body) type_error("scatter", "expected an update computation, got none");
  const Function& body = *p.body;
  const size_t n = arrays.size();
  bool fits = body.inputs.size() == 2 * n && body.outputs.size() == n;
  std::string scalars;
  for (size_t k = 0; k < n; ++k) {
    const Type scalar{arrays[k].dtype, {}};
    fits = fits && body.type(body.inputs[k]).same_array(scalar) &&
           body.type(body.inputs[n + k]).same_array(scalar) &&
           body.type(body.outputs[k]).same_array(scalar);
    scalars += (k > 0 ? ", " : "") + describe(scalar);
  }
  if (!fits)
    type_error("scatter", "expected an update computation ({0}, {0}) -> {1} (C23), got another",
               scalars, n == 1 ? scalars : "(" + scalars + ")");
}

std::vector<Type> infer_scatter(std::span<const Type> operands, const ScatterParams& p) {
  const size_t n = check_arrays(operands);
  const Type &x = operands[0], &indices = operands[n], &updates = operands[n + 1];
  check_index_dims(kNames, p.numbers(), p.index_vector_dim, x, indices, updates.rank());
  Shape batch;
  for (int64_t d = 0; d < indices.rank(); ++d)
    if (d != p.index_vector_dim) batch.push_back(indices.shape[d]);
  if (updates.rank() != batch.rank() + p.update_window_dims.rank())
    shape_error("scatter", "expected updates of rank {} + {} (C4), got {} for indices {}",
                batch.rank(), p.update_window_dims.rank(), describe(updates), describe(indices));
  size_t next = 0;
  for (int64_t d = 0; d < updates.rank(); ++d)
    if (!contains(p.update_window_dims, d) && updates.shape[d] != batch[next++])
      shape_error("scatter", "expected dimension {} of the updates to be {} as in {} (C4), got {}",
                  d, batch[next - 1], describe(indices), describe(updates));
  const Shape sizes = window_sizes(p, x.rank(), updates.shape);
  for (int64_t d = 0; d < x.rank(); ++d)
    if (sizes[d] > x.shape[d] && !contains(p.inserted_window_dims, d) &&
        !contains(p.input_batching_dims, d))
      shape_error("scatter", "expected windows of at most {} in dimension {} of {} (C4), got {}",
                  x.shape[d], d, describe(x), describe(updates));
  if (p.kind == ScatterKind::kCustom) {
    check_computation(operands.first(n), p);
  } else if (n != 1) {
    type_error("scatter", "expected an update computation for {} arrays, got {}; give a body", n,
               enum_names(p.kind)[static_cast<size_t>(p.kind)]);
  }
  std::vector<Type> results;
  for (size_t k = 0; k < n; ++k)
    results.push_back({.dtype = operands[k].dtype,
                       .shape = x.shape,
                       .weak = operands[k].weak && operands[n + 1 + k].weak,
                       .varying = varying_union(operands)});
  return results;
}

std::optional<ReduceKind> combiner_of(const ScatterParams& p, DType dtype) {
  const bool extremum = p.kind == ScatterKind::kMin || p.kind == ScatterKind::kMax;
  if (dtype == bool_ || (extremum && is_complex(dtype))) return std::nullopt;
  switch (p.kind) {
    case ScatterKind::kAdd:
      return ReduceKind::kSum;
    case ScatterKind::kMul:
      return ReduceKind::kProduct;
    case ScatterKind::kMin:
      return ReduceKind::kMin;
    case ScatterKind::kMax:
      return ReduceKind::kMax;
    case ScatterKind::kSet:
    case ScatterKind::kCustom:
      return std::nullopt;
  }
  return std::nullopt;
}

// If the order in which updates are folded does not matter, they may be sharded: then each device
// has a partial result. If an indexed dimension is sharded, each device updates the rows that it
// has.
Factors scatter_factors(std::span<const Type> operands, std::span<const Type>,
                        const ScatterParams& p) {
  const size_t n = scatter_arrays(operands.size());
  const IndexedWindows windows =
      scatter_windows(p, operands[0].shape, operands[n].shape, operands[n + 1].shape);
  const std::optional<ReduceKind> combiner = combiner_of(p, operands[0].dtype);
  Factors out;
  if (combiner) out.combiner = *combiner;
  const FactorKind free = combiner ? FactorKind::kReduction : FactorKind::kNeedReplication;
  const WindowFactors factors =
      add_window_factors(windows, {.free = free, .indexed = FactorKind::kPass}, out);
  out.results.assign(n, factors.operand);
  out.operands = out.results;
  out.operands.push_back(factors.indices);
  out.operands.insert(out.operands.end(), n, factors.windows);
  return out;
}

// If the updates are sharded, only one device may count the array itself: the one with the first
// updates. The others start with the identity.
std::vector<Array> localize_scatter(std::span<const Array> x, const ScatterParams& p,
                                    const LocalContext& context) {
  std::vector<Array> operands(x.begin(), x.end());
  const size_t n = scatter_arrays(x.size());
  const IndexedWindows all =
      scatter_windows(p, context.global_operand(0).shape, context.global_operand(n).shape,
                      context.global_operand(n + 1).shape);
  if (const std::vector<Array> offsets = shard_offsets(all, 0, x[0].shape(), context);
      !offsets.empty())
    operands[n] = local_starts(all, offsets, x[n]);
  if (p.kind == ScatterKind::kAdd || p.kind == ScatterKind::kMul) {
    const IndexedWindows windows = scatter_windows(p, x[0].shape(), x[n].shape(), x[n + 1].shape());
    const Literal identity = *combiner_of(p, float32) == ReduceKind::kSum
                                 ? convert_literal(Literal::scalar(0.0f), x[0].dtype())
                                 : convert_literal(Literal::scalar(1.0f), x[0].dtype());
    Array first;
    for (int64_t b : windows.free_batch_dims()) {
      // The extents alone do not show whether a dimension is sharded: one of extent 1 may be.
      const Array offset = context.operand_offset(2, static_cast<int>(b));
      if (known_value(offset)) continue;
      const Array here = lax::eq(offset, Array(Literal(offset.dtype(), {})));
      first = first.defined() ? lax::bitwise_and(first, here) : here;
    }
    const Literal* known = known_value(x[0]);
    const bool neutral = known && known->shape().empty() && *known == identity;
    if (first.defined() && !neutral)
      operands[0] = lax::select(first, x[0], lax::full(x[0].shape(), identity));
  }
  return bind_op(scatter_op, p, std::span<const Array>(operands));
}

double scatter_flops(std::span<const Type> operands, std::span<const Type>, const ScatterParams&) {
  const auto arrays = static_cast<double>(scatter_arrays(operands.size()));
  return arrays * static_cast<double>(operands.back().elements());
}

// --- Derivatives ---

Array bind_scatter(const ScatterParams& p, ScatterKind kind, const Array& x, const Array& indices,
                   const Array& updates) {
  ScatterParams q = p;
  q.kind = kind;
  q.body = nullptr;
  return bind_op1(scatter_op, q, {x, indices, updates});
}

// Returns the elements of x that the updates are folded into.
Array gather_windows_of(const ScatterParams& p, const Array& x, const Array& indices,
                        const Shape& updates) {
  return bind_op1(
      gather_op,
      GatherParams{p.update_window_dims, p.inserted_window_dims, p.input_batching_dims,
                   p.scatter_indices_batching_dims, p.scatter_dims_to_operand_dims,
                   p.index_vector_dim, window_sizes(p, x.ndim(), updates), p.indices_are_sorted},
      {x, indices});
}

Array plus(const Array& a, const Array& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

// Returns the tangent of a set: x's tangent where there is no update, elsewhere that of the last
// update.
Array set_tangent(std::span<const Array> x, std::span<const Array> t, const ScatterParams& p) {
  Array tangent;
  if (t[0].defined()) {
    const Array updated = bind_scatter(p, ScatterKind::kSet, lax::full(x[0].shape(), 0, bool_),
                                       x[1], lax::full(x[2].shape(), 1, bool_));
    tangent = lax::select(updated, lax::full_like(t[0], 0), t[0]);
  }
  if (!t[2].defined()) return tangent;
  Array update = t[2];
  if (!p.unique_indices) {
    // The numbers of the updates are set too. An update whose number is found at its position
    // stays.
    const DType dtype = x[2].size() < (int64_t{1} << 31) ? int32 : int64;
    const Array number = lax::reshape(lax::iota(dtype, {x[2].size()}), x[2].shape());
    const Array winners =
        bind_scatter(p, ScatterKind::kSet, lax::full(x[0].shape(), -1, dtype), x[1], number);
    const Array stays = lax::eq(gather_windows_of(p, winners, x[1], x[2].shape()), number);
    update = lax::select(stays, t[2], lax::full_like(t[2], 0));
  }
  const Array base = tangent.defined() ? tangent : lax::full(x[0].shape(), 0, t[2].dtype());
  return bind_scatter(p, ScatterKind::kAdd, base, x[1], update);
}

Array product_tangent(std::span<const Array> x, std::span<const Array> t, const ScatterParams& p) {
  Array tangent;
  if (t[0].defined())
    tangent = t[0] * bind_scatter(p, ScatterKind::kMul, lax::full(x[0].shape(), 1, x[0].dtype()),
                                  x[1], x[2]);
  if (!t[2].defined()) return tangent;
  if (!p.unique_indices)
    type_error("scatter",
               "expected updates without a tangent, or unique_indices, to differentiate a product; "
               "state the latter where no element is multiplied twice");
  return plus(tangent, x[0] * bind_scatter(p, ScatterKind::kAdd,
                                           lax::full(x[0].shape(), 0, t[2].dtype()), x[1], t[2]));
}

// Returns the mean of the tangents of the elements and updates that equal the extremum. If it is
// NaN, none equals it, and the tangent is 0.
Array extremum_tangent(std::span<const Array> x, std::span<const Array> t, const Array& result,
                       const ScatterParams& p) {
  auto mask = [](const Array& a, const Array& b) {
    return lax::convert_element_type(lax::eq(a, b), a.dtype());
  };
  const Array is_x = mask(x[0], result),
              is_update = mask(x[2], gather_windows_of(p, result, x[1], x[2].shape()));
  const Array count = bind_scatter(p, ScatterKind::kAdd, is_x, x[1], is_update);
  Array tangent = t[0].defined() ? t[0] * is_x : lax::full(x[0].shape(), 0, x[0].dtype());
  if (t[2].defined()) tangent = bind_scatter(p, ScatterKind::kAdd, tangent, x[1], t[2] * is_update);
  return tangent / lax::max(count, lax::full_like(count, 1));
}

JvpResult jvp_scatter(std::span<const Array> x, std::span<const Array> t, const ScatterParams& p) {
  JvpResult out{.primals = bind_op(scatter_op, p, x)};
  out.tangents.resize(out.primals.size());
  const size_t n = scatter_arrays(x.size());
  bool any = false;
  for (size_t k = 0; k < x.size(); ++k)
    any = any || (k != n && t[k].defined() && is_inexact(x[k].dtype()));
  if (!any) return out;
  if (x[0].type().elements() == 0) return out;  // nothing is updated, wherever the indices point
  switch (p.kind) {
    case ScatterKind::kSet:
      out.tangents[0] = set_tangent(x, t, p);
      return out;
    case ScatterKind::kAdd: {
      auto or_zeros = [](const Array& tangent, const Array& like) {
        return tangent.defined() ? tangent : lax::full(like.shape(), 0, like.dtype());
      };
      out.tangents[0] = t[2].defined()
                            ? bind_scatter(p, ScatterKind::kAdd, or_zeros(t[0], x[0]), x[1], t[2])
                            : t[0];
      return out;
    }
    case ScatterKind::kMul:
      out.tangents[0] = product_tangent(x, t, p);
      return out;
    case ScatterKind::kMin:
    case ScatterKind::kMax:
      out.tangents[0] = extremum_tangent(x, t, out.primals[0], p);
      return out;
    case ScatterKind::kCustom:
      type_error("scatter",
                 "expected set, add, mul, min or max to differentiate, got an update computation "
                 "of its own");
  }
  return out;
}

std::vector<Array> transpose_scatter(std::span<const Array> cts, std::span<const Array> x,
                                     const std::vector<bool>& linear, const ScatterParams& p) {
  TESSERA_CHECK(p.kind == ScatterKind::kAdd, "the scatter is not linear");
  std::vector<Array> out(3);
  if (!cts[0].defined()) return out;
  if (linear[0]) out[0] = cts[0];
  if (linear[2]) {
    // An update that was dropped has cotangent zero.
    const IndexedWindows windows = scatter_windows(p, cts[0].shape(), x[1].shape(), x[2].shape());
    const Array taken = gather_windows_of(p, cts[0], x[1], windows.windows);
    const Array inside = lax::broadcast_in_dim(lax::windows_inside(windows, x[1]), taken.shape(),
                                               windows.batch_dims);
    out[2] = lax::select(inside, taken, lax::full_like(taken, 0));
  }
  return out;
}

Dims shifted(Dims dims) {
  for (int64_t& d : dims) ++d;
  return dims;
}

BatchResult batch_scatter(std::span<const Array> x, std::span<const int> dims,
                          const ScatterParams& p) {
  const size_t n = scatter_arrays(x.size());
  int64_t size = -1;
  for (size_t k = 0; k < x.size(); ++k)
    if (dims[k] >= 0) size = x[k].shape()[dims[k]];
  ScatterParams q = p;
  q.update_window_dims = shifted(p.update_window_dims);
  q.inserted_window_dims = shifted(p.inserted_window_dims);
  q.input_batching_dims = shifted(p.input_batching_dims);
  q.scatter_dims_to_operand_dims = shifted(p.scatter_dims_to_operand_dims);
  std::vector<Array> operands;
  for (size_t k = 0; k < x.size(); ++k)
    operands.push_back(k == n ? x[n] : lax::with_batch_first(x[k], dims[k], size));
  const std::vector<int> first(n, 0);
  if (dims[n] < 0) {
    // The indices are not mapped: every window has the mapped dimension whole.
    q.update_window_dims.insert(q.update_window_dims.begin(), 0);
    return {bind_op(scatter_op, q, std::span<const Array>(operands)), first};
  }
  operands[n] = lax::move_to_front(x[n], dims[n]);
  q.scatter_indices_batching_dims = shifted(p.scatter_indices_batching_dims);
  q.index_vector_dim += 1;
  q.input_batching_dims.insert(q.input_batching_dims.begin(), 0);
  q.scatter_indices_batching_dims.insert(q.scatter_indices_batching_dims.begin(), 0);
  q.indices_are_sorted = false;
  return {bind_op(scatter_op, q, std::span<const Array>(operands)), first};
}

// Returns a body whose results are the sum of the first array's element and the second array's
// update, and the maximum of the other two.
FunctionRef crossed_body() {
  Function body;
  const Type first{int32, {}}, second{int16, {}};
  std::vector<ValueId> in;
  for (const Type& type : {first, second, first, second}) in.push_back(body.add_input(type));
  const auto bind = [&](const OpDef& op, const OpParams& p, ValueIds x, const Type& type) {
    return body.add_op(op, p, std::move(x), std::vector{type})[0];
  };
  const ValueId a = bind(convert_op, ConvertParams{int32}, {in[3]}, first),
                b = bind(convert_op, ConvertParams{int16}, {in[2]}, second);
  body.outputs = {bind(add_op, add_op.params, {in[0], a}, first),
                  bind(max_op, max_op.params, {in[1], b}, second)};
  return std::make_shared<const Function>(std::move(body));
}

std::vector<Sample> scatter_samples() {
  auto numbers = [](DType dtype, Shape shape, int64_t seed) {
    Literal out(float64, shape);
    for (int64_t i = 0; i < out.elements(); ++i)
      out.mutable_data<double>()[i] = static_cast<double>((i * 37 + seed) % 101) / 8;
    return convert_literal(out, dtype);
  };
  auto ints = [](Shape shape, std::initializer_list<int32_t> values) {
    return Literal::from<int32_t>(std::span<const int32_t>(values.begin(), values.size()), shape);
  };
  std::vector<Sample> out;
  auto add = [&](DType dtype, const Shape& x, const Literal& indices, const Shape& updates,
                 ScatterParams p) {
    Sample sample{.operands = {{dtype, x}, {indices.dtype(), indices.shape()}, {dtype, updates}},
                  .params = std::move(p),
                  .literals = {numbers(dtype, x, 5), indices, numbers(dtype, updates, 60)}};
    out.push_back(std::move(sample));
  };
  const Literal four = ints({4, 1}, {3, 0, 9, 3});
  for (ScatterKind kind : {ScatterKind::kSet, ScatterKind::kAdd, ScatterKind::kMul,
                           ScatterKind::kMin, ScatterKind::kMax}) {
    // A product has a derivative by its updates only if no element is updated twice.
    const bool unique = kind == ScatterKind::kMul;
    add(float32, {6, 8}, unique ? ints({4, 1}, {3, 0, 9, 1}) : four, {4, 8},
        {{1}, {0}, {}, {}, {0}, 1, kind, nullptr, false, unique});
    add(int16, {6, 8}, convert_literal(four, uint8), {4, 8}, {{1}, {0}, {}, {}, {0}, 1, kind});
    add(bool_, {8}, four, {4}, {{}, {0}, {}, {}, {0}, 1, kind});
    add(complex64, {6, 2}, unique ? ints({2, 1}, {3, 0}) : ints({2, 1}, {3, 3}), {2, 2},
        {{1}, {0}, {}, {}, {0}, 1, kind, nullptr, false, unique});
    // One element of each row is updated.
    add(float32, {4, 6}, ints({4, 1, 1}, {5, 0, 2, 7}), {4, 1},
        {{}, {1}, {0}, {0}, {1}, 2, kind, nullptr, false, unique});
  }
  const ScatterKind kAdd = ScatterKind::kAdd;
  add(bfloat16, {6, 8}, four, {4, 8}, {{1}, {0}, {}, {}, {0}, 1, kAdd});
  add(float64, {8, 6}, four, {8, 4}, {{0}, {1}, {}, {}, {1}, 1, kAdd});
  // Windows overlap, starts are swapped, and index vectors are along the first dimension.
  add(float32, {6, 8}, ints({2, 4}, {1, 5, 5, 0, 2, 0, 3, -1}), {2, 4, 3},
      {{0, 2}, {}, {}, {}, {1, 0}, 0, kAdd});
  add(float32, {2, 5, 4, 3}, ints({4, 2}, {4, 0, 2, 1, 1, 3, 0, 0}), {4, 3, 2},
      {{1}, {1}, {0, 2}, {1, 0}, {1}, 2, kAdd});
  add(float32, {10}, ints({4}, {9, 1, 1, 4}), {4}, {{}, {0}, {}, {}, {0}, 1, kAdd});
  add(float32, {10}, ints({}, {7}), {3}, {{0}, {}, {}, {}, {0}, 0, kAdd});
  add(float32, {6, 4}, Literal(int32, {0, 1}), {0, 4}, {{1}, {0}, {}, {}, {0}, 1, kAdd});
  // Two arrays, each of which gets the other array's updates.
  const ScatterParams swapped{{1}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, crossed_body()};
  out.push_back(
      {.operands =
           {{int32, {6, 8}}, {int16, {6, 8}}, {int32, {4, 1}}, {int32, {4, 8}}, {int16, {4, 8}}},
       .params = swapped,
       .literals = {numbers(int32, {6, 8}, 5), numbers(int16, {6, 8}, 7), four,
                    numbers(int32, {4, 8}, 60), numbers(int16, {4, 8}, 33)}});
  return out;
}

FunctionRef make_body(ScatterKind kind, DType dtype) {
  Function body;
  body.name = "update";
  const Type scalar{dtype, {}};
  const ValueId old = body.add_input(scalar), update = body.add_input(scalar);
  if (kind == ScatterKind::kSet) {
    body.outputs = {update};
  } else {
    const OpDef& op = kind == ScatterKind::kAdd   ? add_op
                      : kind == ScatterKind::kMul ? mul_op
                      : kind == ScatterKind::kMin ? min_op
                                                  : max_op;
    body.outputs = {body.add_op(op, op.params, {old, update}, std::vector{scalar})[0]};
  }
  return std::make_shared<const Function>(std::move(body));
}

}  // namespace

const OpDef& scatter_op = define<ScatterParams>({
    .name = "scatter",
    .attributes = {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                   "scatter_indices_batching_dims", "scatter_dims_to_operand_dims",
                   "index_vector_dim", "kind", "body", "indices_are_sorted", "unique_indices"},
    .infer = infer_scatter,
    .evaluate = evaluate_scatter,
    .factors = scatter_factors,
    .localize = localize_scatter,
    .lower = Library{.kind = LibraryKind::kCall, .call = scatter_call, .updates = true},
    .flops = scatter_flops,
    .jvp = {jvp_scatter},
    .transpose = {transpose_scatter},
    .batch = {batch_scatter},
    .samples = scatter_samples,
});

IndexedWindows scatter_windows(const ScatterParams& p, const Shape& operand, const Shape& indices,
                               const Shape& updates) {
  return {p.numbers(), p.index_vector_dim,
          operand,     indices,
          updates,     window_sizes(p, operand.rank(), updates)};
}

FunctionRef scatter_body(ScatterKind kind, DType dtype) {
  TESSERA_CHECK(kind != ScatterKind::kCustom, "a custom update has its own body");
  static ForkSafeMutex& mutex = *new ForkSafeMutex(ForkParticipant::Level::kKernels);
  static auto& cache = *new std::map<std::pair<ScatterKind, DType>, FunctionRef>;
  const std::lock_guard lock(mutex);
  FunctionRef& body = cache[{kind, dtype}];
  if (!body) body = make_body(kind, dtype);
  return body;
}

ScatterKind classify_scatter_body(const Function& body) {
  if (body.ops.empty() && body.inputs.size() == 2 && body.outputs.size() == 1 &&
      body.outputs[0] == body.inputs[1])
    return ScatterKind::kSet;
  if (body.inputs.size() != 2) return ScatterKind::kCustom;
  const bool logic = body.type(body.inputs[0]).dtype == bool_;
  switch (written_kind(body)) {
    case ReduceKind::kSum:
      return ScatterKind::kAdd;
    case ReduceKind::kProduct:
      return ScatterKind::kMul;
    case ReduceKind::kMin:
      return ScatterKind::kMin;
    case ReduceKind::kMax:
      return ScatterKind::kMax;
    case ReduceKind::kOr:
      return logic ? ScatterKind::kAdd : ScatterKind::kCustom;
    case ReduceKind::kAnd:
      return logic ? ScatterKind::kMul : ScatterKind::kCustom;
    default:
      return ScatterKind::kCustom;
  }
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

namespace {

Array bind_checked(const Array& x, const Array& indices, const Array& updates,
                   const IndexDims& dims, ScatterKind kind, FunctionRef body,
                   const ScatterOptions& options) {
  SourceScope source("scatter");
  if (options.mode == IndexMode::kWrap)
    value_error("scatter",
                "expected a mode of windows, got kWrap; take remainder(indices, extent)");
  if (indices.ndim() == 0)
    shape_error("scatter", "expected indices with a last dimension of index vectors, got {}",
                describe(indices.type()));
  const ScatterParams p{dims.offset_dims,
                        dims.collapsed_slice_dims,
                        dims.operand_batching_dims,
                        dims.start_indices_batching_dims,
                        dims.start_index_map,
                        indices.ndim() - 1,
                        kind,
                        std::move(body),
                        options.indices_are_sorted,
                        options.unique_indices};
  Array starts = indices;
  if (options.mode == IndexMode::kClip) {
    const std::vector<Type> types{x.type(), indices.type(), updates.type()};
    infer_scatter(types, p);
    starts =
        clamped_starts(scatter_windows(p, x.shape(), indices.shape(), updates.shape()), indices);
  }
  return bind_op1(scatter_op, p, {x, starts, updates});
}

}  // namespace

Array scatter(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
              ScatterKind kind, const ScatterOptions& options) {
  return bind_checked(x, indices, updates, dims, kind, nullptr, options);
}

Array scatter(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
              FunctionRef body, const ScatterOptions& options) {
  const ScatterKind kind = classify_scatter_body(*body);
  return bind_checked(x, indices, updates, dims, kind,
                      kind == ScatterKind::kCustom ? std::move(body) : nullptr, options);
}

}  // namespace tessera::lax
