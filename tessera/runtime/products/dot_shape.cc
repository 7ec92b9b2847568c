#include "tessera/runtime/products/dot_shape.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/runtime/products/gemm_small.h"

namespace tessera::runtime {
namespace {

// Several dimensions of an operand joined into one.
struct Joined {
  int64_t size = 1;
  std::optional<int64_t> stride = 1;  // of the joined dimension; nullopt if it has no single stride
};

Joined join(const Shape& shape, const Dims& strides, const Dims& dims) {
  Joined out;
  bool any = false;
  for (size_t i = dims.size(); i-- > 0;) {
    const int64_t n = shape[dims[i]], stride = strides[dims[i]];
    if (n == 1) continue;
    if (!any) {
      out.stride = stride;
    } else if (out.stride && *out.stride * out.size != stride) {
      out.stride.reset();
    }
    out.size *= n;
    any = true;
  }
  return out;
}

Dims free_dims(int64_t rank, const Dims& batch, const Dims& contract) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(batch.begin(), batch.end(), d) == batch.end() &&
        std::find(contract.begin(), contract.end(), d) == contract.end())
      out.push_back(d);
  return out;
}

// Appends a dimension to those that are copied. Dimensions that are adjacent in memory, too, become
// one, so that whole runs of memory are copied.
void append_extent(DotOperand& out, int64_t extent, int64_t stride) {
  if (!out.pack_extents.empty() && out.pack_strides.back() == extent * stride) {
    out.pack_extents.back() *= extent;
    out.pack_strides.back() = stride;
    return;
  }
  out.pack_extents.push_back(extent);
  out.pack_strides.push_back(stride);
}

// `rows` and `cols` are the dimensions of the operand that become those of the matrix.
DotOperand operand(const Shape& shape, const Dims& batch, const Dims& rows, const Dims& cols) {
  const Dims strides = row_major_strides(shape);
  const Joined row = join(shape, strides, rows), col = join(shape, strides, cols);
  DotOperand out;
  int64_t batches = 1;
  for (int64_t d : batch) batches *= shape[d];
  // A dimension of size 1 may have any stride, so it gets one that the library accepts.
  int64_t row_stride = row.stride.value_or(0), col_stride = col.stride.value_or(0);
  if (row.size == 1)
    row_stride = col.size == 1 ? 1 : std::max<int64_t>(1, col_stride == 1 ? col.size : 1);
  if (col.size == 1) col_stride = row.size == 1 ? 1 : (row_stride == 1 ? row.size : 1);
  const bool usable = row.stride && col.stride && (row_stride == 1 || col_stride == 1);
  if (!usable) {
    for (const Dims* dims : {&batch, &rows, &cols})
      for (int64_t d : *dims) append_extent(out, shape[d], strides[d]);
    out.row_stride = col.size;
    out.col_stride = 1;
    for (int64_t b = 0; b < batches; ++b) out.batch_offsets.push_back(b * row.size * col.size);
    return out;
  }
  out.row_stride = row_stride;
  out.col_stride = col_stride;
  for (int64_t b = 0; b < batches; ++b) {
    int64_t rest = b, offset = 0;
    for (size_t i = batch.size(); i-- > 0;) {
      offset += rest % shape[batch[i]] * strides[batch[i]];
      rest /= shape[batch[i]];
    }
    out.batch_offsets.push_back(offset);
  }
  return out;
}

int64_t extent(const Shape& shape, const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= shape[d];
  return n;
}

Dims joined(const Dims& a, const Dims& b) {
  Dims out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// If lhs would be packed because its rows cannot be joined, makes the first of their dimensions
// part of the batch, provided that the products are small ones then: those read lhs where it is.
// The rows come after the batch in the result, so their place there does not change. Operands of 16
// bits are packed, because each product would convert rhs again.
void split_rows(DotShape& out, const DotStep& step, const Shape& lhs, const Dims& free,
                const Dims& contract) {
  constexpr int64_t kMostProducts = 1 << 20;
  if (!out.lhs.packed() || out.rhs.packed() || out.rhs.col_stride != 1 ||
      step.sum != ops::DotSum::kAny || step.symmetric || !step.reduce_axes.empty())
    return;
  for (size_t outer = 1; outer < free.size(); ++outer) {
    const Dims first(free.begin(), free.begin() + static_cast<ptrdiff_t>(outer)),
        rest(free.begin() + static_cast<ptrdiff_t>(outer), free.end());
    const int64_t repeats = extent(lhs, first), rows = extent(lhs, rest);
    if (repeats == 0 || out.batch * repeats > kMostProducts || !is_small(rows, out.n, out.k))
      continue;
    DotOperand split = operand(lhs, joined(step.lhs_batch, first), rest, contract);
    if (split.packed()) continue;
    std::vector<int64_t> offsets;
    for (int64_t offset : out.rhs.batch_offsets)
      offsets.insert(offsets.end(), static_cast<size_t>(repeats), offset);
    out.batch *= repeats;
    out.m = rows;
    out.lhs = std::move(split);
    out.rhs.batch_offsets = std::move(offsets);
    return;
  }
}

}  // namespace

DotShape dot_shape(const DotStep& step, const Shape& lhs, const Shape& rhs, DType dtype) {
  const Dims lhs_free = free_dims(lhs.rank(), step.lhs_batch, step.lhs_contract);
  const Dims rhs_free = free_dims(rhs.rank(), step.rhs_batch, step.rhs_contract);
  DotShape out;
  out.batch = extent(lhs, step.lhs_batch);
  out.m = extent(lhs, lhs_free);
  out.n = extent(rhs, rhs_free);
  out.k = extent(lhs, step.lhs_contract);
  // Contracting dimensions may be in any order if it is the same for both operands. The order of
  // the lhs in memory lets the most dimensions be joined.
  std::vector<size_t> order(step.lhs_contract.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  // The dimension of examples that are summed separately stays first.
  const ptrdiff_t fixed =
      step.sum == ops::DotSum::kExamples || step.sum == ops::DotSum::kGrid ? 1 : 0;
  std::sort(order.begin() + fixed, order.end(),
            [&](size_t a, size_t b) { return step.lhs_contract[a] < step.lhs_contract[b]; });
  Dims lhs_contract, rhs_contract;
  for (size_t i : order) {
    lhs_contract.push_back(step.lhs_contract[i]);
    rhs_contract.push_back(step.rhs_contract[i]);
  }
  out.lhs = operand(lhs, step.lhs_batch, lhs_free, lhs_contract);
  out.rhs = operand(rhs, step.rhs_batch, rhs_contract, rhs_free);
  if (dtype == float32 || dtype == float64) split_rows(out, step, lhs, lhs_free, lhs_contract);
  return out;
}

}  // namespace tessera::runtime
