#include "tessera/fusion/vector_product.h"

#include <algorithm>

#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion {
namespace {

constexpr int64_t kMostProducts = 4096;  // the library is faster beyond this

struct Operand {
  Dims free, free_strides, contract, contract_strides;

  Operand(const Shape& shape, const Dims& contracted) {
    const Dims strides = row_major_strides(shape);
    for (int64_t d : dot_free_dims(shape.rank(), {}, contracted)) {
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

bool is_contiguous(const Dims& strides) { return strides.empty() || strides.back() == 1; }

}  // namespace

std::optional<KernelStep> vector_product(const DotStep& dot, const std::vector<Slot>& slots) {
  const auto slot = [&](int s) -> const Slot& { return slots[s]; };
  const DType dtype = slot(dot.out).dtype;
  if (dot.sum != ops::DotSum::kAny || !dot.lhs_batch.empty() || dot.lhs_contract.empty() ||
      dot.bias >= 0 || !dot.reduce_axes.empty() || dot.activation != DotStep::Activation::kNone)
    return std::nullopt;
  if ((dtype != float32 && dtype != float64) || dot.accumulate != dtype ||
      slot(dot.lhs).dtype != dtype || slot(dot.rhs).dtype != dtype)
    return std::nullopt;
  const Operand lhs(slot(dot.lhs).shape, dot.lhs_contract),
      rhs(slot(dot.rhs).shape, dot.rhs_contract);
  const int64_t products = lhs.rows() * rhs.rows() * lhs.contract.elements();
  if (products == 0 || products > kMostProducts || std::min(lhs.rows(), rhs.rows()) != 1)
    return std::nullopt;
  const Operand& matrix = rhs.rows() == 1 ? lhs : rhs;
  // Lanes are along the results if these are adjacent, otherwise along the sum.
  const bool side_by_side = matrix.rows() > 1 && is_contiguous(matrix.free_strides);
  if (!side_by_side &&
      !(is_contiguous(lhs.contract_strides) && is_contiguous(rhs.contract_strides)))
    return std::nullopt;

  KernelStep step;
  step.slots = {dot.lhs, dot.rhs, dot.out};
  step.axes = dot.axes;
  Kernel& kernel = step.kernel;
  for (int s : step.slots)
    kernel.buffers.push_back(
        {dtype, s == dot.out ? BufferKind::kOutput : BufferKind::kInput, slot(s).shape.elements()});
  for (const Operand* o : {&lhs, &rhs})
    kernel.parallel.insert(kernel.parallel.end(), o->free.begin(), o->free.end());
  kernel.vectorize = side_by_side ? Kernel::Vectorize::kParallel : Kernel::Vectorize::kInner;

  kernel.nodes.push_back({NodeKind::kConstant, dtype});
  for (int side = 0; side < 2; ++side) {
    const Operand& o = side == 0 ? lhs : rhs;
    Affine address{.parallel = Dims(kernel.parallel.size(), 0), .inner = o.contract_strides};
    std::copy(o.free_strides.begin(), o.free_strides.end(),
              address.parallel.begin() + (side == 0 ? 0 : lhs.free.size()));
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
  return step;
}

}  // namespace tessera::fusion
