#include "tessera/fusion/kernels/short_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/fusion/kernels/kernel_nodes.h"

namespace tessera::fusion {
namespace {

// The most nodes of the unrolled kernel, and the most that are considered for it. The second limit
// is larger, because guards and selects that depend only on the column are dropped: often a column
// of a gradient has few of its terms.
constexpr size_t kMostNodes = 512, kMostSeen = 4096;
// Longer rows fill enough of a vector, if they are only copied from other places, or if lanes along
// them compute what all columns need in fewer nodes.
constexpr int64_t kCopiedRow = 9;
constexpr size_t kManyNodes = 16;

class RowUnroller {
 public:
  explicit RowUnroller(const Kernel& kernel) : k_(kernel), rank_(kernel.parallel.size()) {
    while (rank_ > 1 && columns_ * k_.parallel[rank_ - 1] <= kShortRow)
      columns_ *= k_.parallel[--rank_];
  }

  bool applies() const {
    if (k_.vectorize != Kernel::Vectorize::kParallel || columns_ < 2) return false;
    if (k_.parallel[rank_ - 1] < kLeastShortRows) return false;
    if (k_.nodes.size() * static_cast<size_t>(columns_) > kMostSeen) return false;
    if (k_.loops.empty() || k_.loops[0].stores.empty()) return false;
    for (const KernelLoop& loop : k_.loops) {
      if (!loop.extents.empty() || !loop.reductions.empty()) return false;
      for (const KernelStore& store : loop.stores)
        if (!is_near(store.address)) return false;
    }
    const bool near = std::all_of(k_.nodes.begin(), k_.nodes.end(), [&](const KernelNode& node) {
      return node.kind != NodeKind::kLoad || is_near(node.address);
    });
    return near &&
           std::any_of(k_.nodes.begin(), k_.nodes.end(),
                       [&](const KernelNode& node) {
                         return depends_on_column(node) &&
                                (columns_ <= kCopiedRow || !copies_row(node));
                       }) &&
           (columns_ <= kCopiedRow || k_.nodes.size() >= kManyNodes || only_moves() || is_narrow());
  }

  // Returns nullopt if the kernel would be too large.
  std::optional<Kernel> run() {
    out_ = k_;
    out_.nodes.clear();
    out_.parallel.resize(rank_);
    for (KernelLoop& loop : out_.loops) {
      std::vector<KernelStore> stores;
      for (const KernelStore& store : loop.stores)
        for (column_ = 0; column_ < columns_; ++column_) {
          unroll(store, stores);
          if (out_.nodes.size() > kMostNodes) return std::nullopt;
        }
      loop.stores = std::move(stores);
    }
    return std::move(out_);
  }

 private:
  bool is_near(const Affine& address) const {
    return std::abs(address.parallel[rank_ - 1]) <= kShortRow;
  }

  // Returns whether the node depends on the column in another way than the stored value does. A
  // kernel without such nodes runs along whole rows, and in place.
  bool depends_on_column(const KernelNode& node) const {
    const Dims &stored = k_.loops[0].stores[0].address.parallel, &here = node.address.parallel;
    // A gather of whole rows computes the position of a row once for all columns.
    if (node.kind == NodeKind::kIndex || !node.dynamic.empty())
      return std::any_of(here.begin() + static_cast<ptrdiff_t>(rank_), here.end(),
                         [](int64_t c) { return c != 0; });
    return node.kind == NodeKind::kLoad && here[rank_ - 1] != 0 && here != stored;
  }

  // Returns whether the node is a load of a whole row, in order, wherever the row is, or of one
  // element for all of the row.
  bool copies_row(const KernelNode& node) const {
    if (node.kind != NodeKind::kLoad || node.guard >= 0 || rank_ + 1 != k_.parallel.size())
      return false;
    const int64_t step = node.address.parallel.back();
    return step == 0 || step == 1;
  }

  // Returns whether the kernel stores integers of 8 or 16 bits, which no instruction gathers.
  bool is_narrow() const {
    const DType stored = k_.buffers[k_.loops[0].stores[0].buffer].dtype;
    return itemsize(stored) < 4 && !is_floating(stored);
  }

  // Returns whether the kernel computes nothing from what it loads.
  bool only_moves() const {
    std::vector<char> loaded;
    for (const KernelNode& node : k_.nodes) {
      const bool reads = std::any_of(node.args.begin(), node.args.end(),
                                     [&](int arg) { return loaded[static_cast<size_t>(arg)]; });
      if (reads && node.op != ScalarOp::kSelect) return false;
      loaded.push_back(reads || node.kind == NodeKind::kLoad);
    }
    return true;
  }

  void unroll(const KernelStore& store, std::vector<KernelStore>& stores) {
    // The nodes made for another column must not be reused.
    made_.assign(k_.nodes.size(), -1);
    KernelStore copy = store;
    copy.address = of_column(store.address);
    if (store.guard >= 0) {
      const int guard = made(store.guard);
      const std::optional<bool> holds = truth(guard);
      if (holds == false) return;
      copy.guard = holds ? -1 : guard;
    }
    copy.node = made(store.node);
    stores.push_back(copy);
  }

  Affine of_column(Affine address) const {
    int64_t rest = column_;
    for (size_t d = k_.parallel.size(); d-- > rank_;) {
      address.offset += address.parallel[d] * (rest % k_.parallel[d]);
      rest /= k_.parallel[d];
    }
    address.parallel.resize(rank_);
    return address;
  }

  int made(int node) {
    if (made_[node] < 0) made_[node] = make(k_.nodes[node]);
    return made_[node];
  }

  int make(const KernelNode& node) {
    KernelNode copy = node;
    switch (node.kind) {
      case NodeKind::kConstant:
      case NodeKind::kReduced:
        break;
      case NodeKind::kIndex:
        copy.address = of_column(node.address);
        if (std::all_of(copy.address.parallel.begin(), copy.address.parallel.end(),
                        [](int64_t c) { return c == 0; }))
          return number(node.dtype, copy.address.offset);
        break;
      case NodeKind::kLoad:
        copy.address = of_column(node.address);
        for (auto& [position, step] : copy.dynamic) position = made(position);
        if (node.guard >= 0) {
          copy.guard = made(node.guard);
          const std::optional<bool> holds = truth(copy.guard);
          if (holds == false) return add({.kind = NodeKind::kConstant, .dtype = node.dtype});
          if (holds) copy.guard = -1;
        }
        break;
      case NodeKind::kScalarOp:
        return make_scalar_op(node);
    }
    return add(std::move(copy));
  }

  int make_scalar_op(const KernelNode& node) {
    KernelNode copy = node;
    if (node.op == ScalarOp::kSelect) {
      const int chosen = made(node.args[0]);
      if (const std::optional<bool> holds = truth(chosen)) return made(node.args[*holds ? 1 : 2]);
    }
    for (int& arg : copy.args) arg = made(arg);
    if (node.dtype == bool_ && copy.args.size() == 2)
      if (const std::optional<int> known = make_known(node.op, copy.args[0], copy.args[1]))
        return *known;
    return add(std::move(copy));
  }

  // Returns the value of a comparison of known integers, or of an and/or with a known operand.
  std::optional<int> make_known(ScalarOp op, int a, int b) {
    if (op == ScalarOp::kAnd || op == ScalarOp::kOr) {
      const std::optional<bool> left = truth(a), right = truth(b);
      const bool decides = op == ScalarOp::kOr;
      if (left) return *left == decides ? a : b;
      if (right) return *right == decides ? b : a;
      return std::nullopt;
    }
    const std::optional<int64_t> x = integer(a), y = integer(b);
    if (!x || !y) return std::nullopt;
    switch (op) {
      case ScalarOp::kLt:
        return boolean(*x < *y);
      case ScalarOp::kLe:
        return boolean(*x <= *y);
      case ScalarOp::kGt:
        return boolean(*x > *y);
      case ScalarOp::kGe:
        return boolean(*x >= *y);
      case ScalarOp::kEq:
        return boolean(*x == *y);
      case ScalarOp::kNe:
        return boolean(*x != *y);
      default:
        return std::nullopt;
    }
  }

  std::optional<bool> truth(int node) const {
    const KernelNode& n = out_.nodes[node];
    if (n.kind != NodeKind::kConstant || n.dtype != bool_) return std::nullopt;
    return n.immediate[0] != std::byte{0};
  }
  // Returns the value of a constant of int32 or int64, the dtypes of indices.
  std::optional<int64_t> integer(int node) const {
    const KernelNode& n = out_.nodes[node];
    if (n.kind != NodeKind::kConstant) return std::nullopt;
    if (n.dtype == int64) {
      int64_t value = 0;
      std::memcpy(&value, n.immediate.data(), sizeof(value));
      return value;
    }
    if (n.dtype != int32) return std::nullopt;
    int32_t value = 0;
    std::memcpy(&value, n.immediate.data(), sizeof(value));
    return value;
  }
  int boolean(bool value) {
    KernelNode node{.kind = NodeKind::kConstant, .dtype = bool_};
    node.immediate[0] = std::byte{value};
    return add(std::move(node));
  }
  int number(DType dtype, int64_t value) { return add(integer_node(dtype, value)); }
  int add(KernelNode node) { return find_or_add(out_.nodes, std::move(node)); }

  const Kernel& k_;
  size_t rank_;          // the rank of the parallel dimensions that are left
  int64_t columns_ = 1;  // the number of elements of a row
  int64_t column_ = 0;
  Kernel out_;
  std::vector<int> made_;  // for each node of k_, its node in out_ for this column
};

}  // namespace

Kernel unroll_short_rows(Kernel kernel) {
  if (kernel.parallel.empty()) return kernel;
  RowUnroller unroller(kernel);
  if (!unroller.applies()) return kernel;
  std::optional<Kernel> unrolled = unroller.run();
  return unrolled ? std::move(*unrolled) : std::move(kernel);
}

}  // namespace tessera::fusion
