#include "tessera/fusion/kernels/narrow_indices.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tessera/fusion/kernels/kernel_nodes.h"

namespace tessera::fusion {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;
constexpr int64_t kUnknown = -1;

bool is_wide(DType dtype) { return dtype == int64 || dtype == uint64; }
DType narrow(DType dtype) { return dtype == int64 ? int32 : dtype == uint64 ? uint32 : dtype; }

class IndexNarrower {
 public:
  explicit IndexNarrower(const Kernel& kernel) : k_(kernel), most_(kernel.nodes.size(), kUnknown) {
    for (size_t i = 0; i < k_.nodes.size(); ++i) most_[i] = most_of(k_.nodes[i]);
  }

  // Returns whether the kernel has indices of 64 bits, and nothing else of 64 bits or more.
  bool applies() const {
    bool some = false;
    for (size_t i = 0; i < k_.nodes.size(); ++i) {
      const KernelNode& node = k_.nodes[i];
      const bool constant = node.kind == NodeKind::kConstant;
      if (is_wide(node.dtype) && !constant) {
        if (most_[i] == kUnknown) return false;
        some = true;
      } else if (itemsize(node.dtype) >= 8 && !constant) {
        return false;
      }
      if (!is_wide(node.dtype) && !reads_by_conversion(node)) return false;
      const auto wide = [&](int id) { return is_wide(k_.nodes[id].dtype); };
      if (std::any_of(node.dynamic.begin(), node.dynamic.end(),
                      [&](const auto& part) { return wide(part.first); }))
        return false;
    }
    return some && std::all_of(k_.loops.begin(), k_.loops.end(),
                               [&](const KernelLoop& loop) { return stores_none(loop); });
  }

  Kernel narrowed() {
    Kernel out = k_;
    out.nodes.clear();
    for (const KernelNode& node : k_.nodes) number_.push_back(add(out, node));
    for (KernelLoop& loop : out.loops) {
      for (KernelStore& store : loop.stores) {
        store.node = number_[store.node];
        if (store.guard >= 0) store.guard = number_[store.guard];
      }
      for (KernelReduction& r : loop.reductions) {
        for (int& id : r.nodes) id = number_[id];
        for (int& id : r.init) id = number_[id];
      }
    }
    return out;
  }

 private:
  // Returns the largest value of a node whose values are known to be from 0 to kLimit - 1.
  int64_t most_of(const KernelNode& node) const {
    if (!is_wide(node.dtype)) return kUnknown;
    int64_t most = kUnknown;
    if (node.kind == NodeKind::kConstant) {
      std::memcpy(&most, node.immediate.data(), sizeof(most));
    } else if (node.kind == NodeKind::kIndex) {
      most = most_of(node.address, k_.loops[node.loop].extents);
    } else if (node.kind == NodeKind::kScalarOp) {
      most = most_of_op(node);
    }
    return most >= 0 && most < kLimit ? most : kUnknown;
  }
  int64_t most_of(const Affine& address, const Dims& extents) const {
    int64_t most = address.offset;
    bool known = most >= 0 && most < kLimit;
    const auto add = [&](const Dims& coefficients, const Dims& sizes) {
      for (size_t d = 0; d < coefficients.size(); ++d) {
        // Neither factor is so large that the product overflows.
        known = known && coefficients[d] >= 0 && coefficients[d] < kLimit && sizes[d] <= kLimit;
        if (known) most += coefficients[d] * std::max<int64_t>(0, sizes[d] - 1);
        known = known && most < kLimit;
      }
    };
    add(address.parallel, k_.parallel);
    add(address.inner, extents);
    return known ? most : kUnknown;
  }
  int64_t most_of_op(const KernelNode& node) const {
    if (node.args.size() != 2) return kUnknown;
    const int64_t a = most_[node.args[0]], b = most_[node.args[1]];
    if (a == kUnknown || b == kUnknown) return kUnknown;
    switch (node.op) {
      case ScalarOp::kAdd:
        return a + b;
      case ScalarOp::kMul:
        return a * b;
      case ScalarOp::kShrLogical:
        // A shift by the width or more is 0, and there is no smaller result than by one bit less.
        return k_.nodes[node.args[1]].kind == NodeKind::kConstant ? a >> std::min<int64_t>(b, 63)
                                                                  : kUnknown;
      default:
        return kUnknown;
    }
  }
  // Returns whether a node that is not wide reads wide ones only by converting them.
  bool reads_by_conversion(const KernelNode& node) const {
    return std::all_of(node.args.begin(), node.args.end(), [&](int id) {
      return !is_wide(k_.nodes[id].dtype) ||
             (node.op == ScalarOp::kConvert && most_[id] != kUnknown);
    });
  }
  bool stores_none(const KernelLoop& loop) const {
    const auto wide = [&](int id) { return is_wide(k_.nodes[id].dtype); };
    return std::none_of(loop.stores.begin(), loop.stores.end(),
                        [&](const KernelStore& s) { return wide(s.node); }) &&
           std::none_of(loop.reductions.begin(), loop.reductions.end(),
                        [&](const KernelReduction& r) {
                          return std::any_of(r.nodes.begin(), r.nodes.end(), wide);
                        });
  }

  // Adds the node with 32 bits. Returns its number.
  int add(Kernel& out, KernelNode node) const {
    const bool wide = is_wide(node.dtype);
    const auto most = wide ? most_[number_.size()] : kUnknown;
    node.dtype = narrow(node.dtype);
    for (int& id : node.args) id = number_[id];
    for (auto& [id, stride] : node.dynamic) id = number_[id];
    if (node.guard >= 0) node.guard = number_[node.guard];
    // Amounts of shifts are constants, too.
    if (wide && (most == 0 || node.kind == NodeKind::kConstant))
      return find_or_add(out.nodes, integer_node(node.dtype, most));
    if (node.kind == NodeKind::kScalarOp && node.op == ScalarOp::kConvert &&
        out.nodes[node.args[0]].dtype == node.dtype)
      return node.args[0];
    return find_or_add(out.nodes, std::move(node));
  }

  const Kernel& k_;
  std::vector<int64_t> most_;  // for each node, the largest value, or kUnknown
  std::vector<int> number_;    // for each node so far, its number in the narrow kernel
};

}  // namespace

Kernel narrow_indices(Kernel kernel) {
  IndexNarrower narrower(kernel);
  return narrower.applies() ? narrower.narrowed() : kernel;
}

}  // namespace tessera::fusion
