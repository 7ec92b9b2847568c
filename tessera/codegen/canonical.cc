#include "tessera/codegen/canonical.h"

#include <algorithm>
#include <functional>

namespace tessera::codegen {
namespace {

// Calls f(address, loop) for every address of the kernel.
void for_each_address(Kernel& kernel, const std::function<void(Affine&, int)>& f) {
  for (KernelNode& node : kernel.nodes) {
    if (node.kind == NodeKind::kLoad || node.kind == NodeKind::kIndex) f(node.address, node.loop);
  }
  for (size_t l = 0; l < kernel.loops.size(); ++l) {
    for (KernelStore& store : kernel.loops[l].stores) f(store.address, static_cast<int>(l));
  }
}

// Merges neighbours d, d+1 if every coefficient list has c[d] == c[d+1] * extent[d+1]; drops
// extents of 1. The first `keep` extents always stay.
void merge_dims(Dims& extents, const std::vector<Dims*>& coefficients, size_t keep) {
  auto erase = [&](size_t d) {
    extents.erase(extents.begin() + d);
    for (Dims* c : coefficients) c->erase(c->begin() + d);
  };
  for (size_t d = extents.size(); d-- > 0;) {
    if (extents[d] == 1 && extents.size() > keep) erase(d);
  }
  for (size_t d = extents.size(); d-- > 1;) {
    const bool one_run = std::all_of(coefficients.begin(), coefficients.end(), [&](const Dims* c) {
      return (*c)[d - 1] == (*c)[d] * extents[d];
    });
    if (!one_run) continue;
    extents[d] *= extents[d - 1];
    erase(d - 1);
    for (Dims* c : coefficients) TESSERA_CHECK(c->size() == extents.size());
  }
}

// Gives unsigned dtypes of the same size to elements that are only loaded, selected and stored.
void retype_moved(Kernel& kernel) {
  std::array<bool, kNumAllDTypes> computed{};
  auto mark = [&](DType dtype) { computed[static_cast<size_t>(dtype)] = true; };
  for (const KernelNode& node : kernel.nodes) {
    if (node.guard >= 0) mark(bool_);
    if (node.kind != NodeKind::kScalarOp) {
      if (node.kind == NodeKind::kIndex || node.kind == NodeKind::kReduced) mark(node.dtype);
      continue;
    }
    if (node.op == ScalarOp::kSelect) {
      mark(bool_);
      continue;
    }
    mark(node.dtype);
    for (int arg : node.args) mark(kernel.nodes[arg].dtype);
  }
  for (const KernelLoop& loop : kernel.loops) {
    for (const KernelReduction& r : loop.reductions) {
      for (int node : r.nodes) mark(kernel.nodes[node].dtype);
    }
    for (const KernelStore& store : loop.stores) {
      if (store.guard >= 0) mark(bool_);
    }
  }
  auto retype = [&](DType& dtype) {
    if (computed[static_cast<size_t>(dtype)] || dtype == complex128) return;
    static constexpr DType kBySize[] = {uint8,  uint8,  uint16, uint16, uint32,
                                        uint32, uint32, uint32, uint64};
    dtype = kBySize[itemsize(dtype)];
  };
  for (KernelNode& node : kernel.nodes) retype(node.dtype);
  for (KernelBuffer& buffer : kernel.buffers) retype(buffer.dtype);
}

// Whether the outermost parallel dimension is the rows of a transposed load.
bool transposes(const Kernel& kernel) {
  return kernel.parallel.size() == 2 &&
         std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [](const KernelNode& node) {
           return node.kind == NodeKind::kLoad && is_transposed(node.address);
         });
}

}  // namespace

bool is_transposed(const Affine& address) {
  const size_t rank = address.parallel.size();
  if (rank < 2 || std::abs(address.parallel[rank - 2]) != 1) return false;
  const int64_t apart = address.parallel[rank - 1];
  return apart < -1 || apart > kMostApart;
}

Kernel canonical(const Kernel& given) {
  Kernel kernel = given;
  if (kernel.parallel.empty()) {
    kernel.parallel.push_back(1);
    for_each_address(kernel, [](Affine& a, int) { a.parallel.push_back(0); });
  }
  std::vector<Dims*> parallel;
  std::vector<std::vector<Dims*>> inner(kernel.loops.size());
  for_each_address(kernel, [&](Affine& a, int loop) {
    parallel.push_back(&a.parallel);
    inner[loop].push_back(&a.inner);
  });
  merge_dims(kernel.parallel, parallel, 1);
  for (size_t l = 0; l < kernel.loops.size(); ++l) {
    Dims& extents = kernel.loops[l].extents;
    if (kernel.loops[l].extents.elements() == 0) {
      extents.assign(1, 0);  // there are no elements to compute
      for (Dims* c : inner[l]) c->assign(1, 0);
      kernel.loops[l].stores.clear();
    } else {
      merge_dims(extents, inner[l], extents.empty() ? 0 : 1);
    }
  }
  // A kernel of one element keeps its extent: its code needs no vectors.
  if (kernel.parallel != Dims{1} && !transposes(kernel)) kernel.parallel[0] = 0;
  for (KernelBuffer& buffer : kernel.buffers) {
    buffer.elements = buffer.elements > INT32_MAX ? int64_t{1} << 31 : 0;
  }
  retype_moved(kernel);
  return kernel;
}

}  // namespace tessera::codegen
