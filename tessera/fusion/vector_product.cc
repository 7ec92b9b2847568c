#include "tessera/fusion/vector_product.h"

#include <algorithm>

namespace tessera::fusion {
namespace {

constexpr int64_t kMostProducts = 4096;  // beyond, the library is faster

struct Operand {
  Dims free, free_strides, contract, contract_strides;

  Operand(const Shape& shape, const Dims& contracted) {
    Dims strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    for (size_t d = 0; d < shape.size(); ++d) {
      if (std::find(contracted.begin(), contracted.end(), static_cast<int64_t>(d)) !=
          contracted.end())
        continue;
      free.push_back(shape[d]);
      free_strides.push_back(strides[d]);
    }
    for (int64_t d : contracted) {
      contract.push_back(shape[static_cast<size_t>(d)]);
      contract_strides.push_back(strides[static_cast<size_t>(d)]);
    }
  }
  int64_t rows() const { return free.elements(); }
};

bool is_contiguous(const Dims& strides) { return strides.empty() || strides.back() == 1; }

}  // namespace

std::optional<KernelStep> vector_product(const DotStep& dot, const std::vector<Slot>& slots) {
  const auto slot = [&](int s) -> const Slot& { return slots[static_cast<size_t>(s)]; };
  const DType dtype = slot(dot.out).dtype;
  if (!dot.lhs_batch.empty() || dot.lhs_contract.empty() || dot.bias >= 0 ||
      !dot.reduce_axes.empty() || dot.activation != DotStep::Activation::kNone)
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
  // Lanes run over the results where these lie side by side, else over the sum.
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
    KernelNode load{NodeKind::kLoad, dtype};
    load.buffer = side;
    load.address.parallel.assign(kernel.parallel.size(), 0);
    std::copy(
        o.free_strides.begin(), o.free_strides.end(),
        load.address.parallel.begin() + static_cast<ptrdiff_t>(side == 0 ? 0 : lhs.free.size()));
    load.address.inner = o.contract_strides;
    kernel.nodes.push_back(std::move(load));
  }
  KernelNode product{NodeKind::kScalarOp, dtype, ScalarOp::kMul};
  product.args = {1, 2};
  kernel.nodes.push_back(std::move(product));
  KernelNode total{NodeKind::kReduced, dtype};
  kernel.nodes.push_back(std::move(total));

  KernelReduction sum;
  sum.nodes = {3};
  sum.init = {0};
  sum.accumulate = dtype;
  Affine address;
  address.parallel.assign(kernel.parallel.size(), 1);
  for (size_t d = kernel.parallel.size(); d-- > 1;)
    address.parallel[d - 1] = address.parallel[d] * kernel.parallel[d];
  kernel.loops.push_back({lhs.contract, {std::move(sum)}, {}});
  kernel.loops.push_back({{}, {}, {{2, std::move(address), 4, -1}}});
  return step;
}

}  // namespace tessera::fusion
