#include "tessera/fusion/kernels/small_product.h"

#include <algorithm>

#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion {
namespace {

// With more multiplications the library is faster, or uses more threads: a matrix times a vector, a
// vector times a matrix, a matrix of long rows times a vector, two matrices, each of a batch.
constexpr int64_t kMostOfRows = 65536, kMostOfColumns = 16384, kMostOfLongRows = 4096,
                  kMostOfMatrices = 512, kMostOfBatch = 216;
// The additions of a row's sum wait for each other. Other rows are added meanwhile if these begin
// soon.
constexpr int64_t kLongestSum = 1024;

struct Operand {
  Dims batch, batch_strides, free, free_strides, contract, contract_strides;

  Operand(const Shape& shape, const Dims& batched, const Dims& contracted) {
    const Dims strides = row_major_strides(shape);
    for (int64_t d : batched) {
      batch.push_back(shape[d]);
      batch_strides.push_back(strides[d]);
    }
    for (int64_t d : dot_free_dims(shape.rank(), batched, contracted)) {
      free.push_back(shape[d]);
      free_strides.push_back(strides[d]);
    }
    for (int64_t d : contracted) {
      contract.push_back(shape[d]);
      contract_strides.push_back(strides[d]);
    }
  }
  int64_t rows() const { return free.elements(); }
};

constexpr int64_t kShortestOfLanes = 8;  // the same as for reductions

bool is_contiguous(const Dims& strides) { return strides.empty() || strides.back() == 1; }

// `side_by_side`: whether lanes run over the results.
bool is_small(const Operand& lhs, const Operand& rhs, bool side_by_side) {
  const int64_t sum = lhs.contract.elements(), products = lhs.rows() * rhs.rows() * sum;
  if (products == 0 || lhs.batch.elements() == 0) return false;
  if (!lhs.batch.empty()) return products <= kMostOfBatch;
  if (std::min(lhs.rows(), rhs.rows()) > 1) return products <= kMostOfMatrices;
  if (side_by_side) return products <= kMostOfColumns;
  return products <= (sum > kLongestSum ? kMostOfLongRows : kMostOfRows);
}

// Returns the kernel of the product. Its parallel dimensions are the batch, the rows of lhs, and
// those of rhs.
Kernel kernel_of(const Operand& lhs, const Operand& rhs, DType dtype) {
  Kernel kernel;
  for (const Dims* dims : {&lhs.batch, &lhs.free, &rhs.free})
    kernel.parallel.insert(kernel.parallel.end(), dims->begin(), dims->end());
  kernel.nodes.push_back({NodeKind::kConstant, dtype});
  for (int side = 0; side < 2; ++side) {
    const Operand& o = side == 0 ? lhs : rhs;
    Affine address{.parallel = Dims(kernel.parallel.size(), 0), .inner = o.contract_strides};
    std::copy(o.batch_strides.begin(), o.batch_strides.end(), address.parallel.begin());
    std::copy(o.free_strides.begin(), o.free_strides.end(),
              address.parallel.begin() + static_cast<ptrdiff_t>(lhs.batch.size()) +
                  (side == 0 ? 0 : static_cast<ptrdiff_t>(lhs.free.size())));
    kernel.nodes.push_back(
        {.kind = NodeKind::kLoad, .dtype = dtype, .buffer = side, .address = std::move(address)});
  }
  kernel.nodes.push_back(
      {.kind = NodeKind::kScalarOp, .dtype = dtype, .op = ScalarOp::kMul, .args = {1, 2}});
  kernel.nodes.push_back({.kind = NodeKind::kReduced, .dtype = dtype});
  kernel.loops.push_back(
      {.extents = lhs.contract, .reductions = {{.nodes = {3}, .init = {0}, .accumulate = dtype}}});
  kernel.loops.push_back(
      {.stores = {
           {.buffer = 2, .address = {.parallel = row_major_strides(kernel.parallel)}, .node = 4}}});
  return kernel;
}

}  // namespace

std::optional<KernelStep> small_product(const DotStep& dot, const std::vector<Slot>& slots) {
  const auto slot = [&](int s) -> const Slot& { return slots[s]; };
  const DType dtype = slot(dot.out).dtype;
  if (dot.sum != ops::DotSum::kAny || dot.lhs_contract.empty() || dot.bias >= 0 ||
      !dot.reduce_axes.empty() || dot.activation != DotStep::Activation::kNone)
    return std::nullopt;
  const bool numbers = dtype == float32 || dtype == float64 || dtype == int32 || dtype == int64;
  if (!numbers || dot.accumulate != dtype || slot(dot.lhs).dtype != dtype ||
      slot(dot.rhs).dtype != dtype)
    return std::nullopt;
  const Operand lhs(slot(dot.lhs).shape, dot.lhs_batch, dot.lhs_contract),
      rhs(slot(dot.rhs).shape, dot.rhs_batch, dot.rhs_contract);
  // Lanes run over the results if these are adjacent in the operand's memory, otherwise over the
  // sum.
  const Operand& last = rhs.rows() == 1 ? lhs : rhs;
  const bool side_by_side = last.rows() > 1 && is_contiguous(last.free_strides);
  if (!is_small(lhs, rhs, side_by_side)) return std::nullopt;
  if (!side_by_side &&
      !(is_contiguous(lhs.contract_strides) && is_contiguous(rhs.contract_strides)))
    return std::nullopt;

  KernelStep step;
  step.slots = {dot.lhs, dot.rhs, dot.out};
  step.axes = dot.axes;
  step.kernel = kernel_of(lhs, rhs, dtype);
  for (int s : step.slots)
    step.kernel.buffers.push_back(
        {dtype, s == dot.out ? BufferKind::kOutput : BufferKind::kInput, slot(s).shape.elements()});
  // A single product of short rows is added in order, as a batch of them is (reductions.cc).
  const bool one_short = lhs.rows() * rhs.rows() * lhs.batch.elements() == 1 &&
                         lhs.contract.elements() < kShortestOfLanes;
  step.kernel.vectorize =
      side_by_side || one_short ? Kernel::Vectorize::kParallel : Kernel::Vectorize::kInner;
  return step;
}

}  // namespace tessera::fusion
