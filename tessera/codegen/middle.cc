// Middle: the box of a kernel's indices in which its guards are known.
//
// An index map of several pieces (padding, an update of a slice, a concatenation) loads each
// operand under a guard that compares indices with constants. If the pieces are small parts at the
// borders, such as what reflecting padding adds to its gradient, most elements lie in a box in
// which no guard changes. The code for this box contains no guards, no loads of other pieces, and
// no choices. The elements around it are computed by the code with all of them.
//
// A kernel whose lanes run over several short rows (flat mode) has a middle if it loads these rows
// one by one (strided.cc): pools with padding over few channels. Its range is divided where the
// index along the last dimension with borders enters or leaves the box.
//
// Example: out[r, c] = a[r, c] + (r >= 1 && r < 6 ? b[r, c] : 0) with 1000 rows. In the middle, the
// rows from 6 on, out[r, c] = a[r, c] + 0. (The code does not know how many rows there are.)
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
// The length that an interval without a known end counts as.
constexpr int64_t kUnknownLength = 64;

// Returns the longest interval between neighbouring thresholds of an index below `extent` (0: not
// known).
std::pair<int64_t, int64_t> longest_interval(const std::set<int64_t>& thresholds, int64_t extent) {
  std::pair<int64_t, int64_t> longest{0, 0};
  int64_t length = 0, begin = 0;
  const auto consider = [&](int64_t end, int64_t counted) {
    if (counted > length) longest = {begin, end}, length = counted;
  };
  for (int64_t at : thresholds) {
    consider(at, at - begin);
    begin = at;
  }
  consider(kNoEnd, extent > 0 ? extent - begin : kUnknownLength);
  return longest;
}

}  // namespace

// Returns the dimension and the threshold of a comparison of an index along one parallel dimension
// with a constant: from the threshold on it has another value than before.
std::optional<KernelEmitter::Threshold> KernelEmitter::threshold_of(int node) const {
  const KernelNode& n = k_.nodes[node];
  if (n.kind != NodeKind::kScalarOp || (n.op != ScalarOp::kLt && n.op != ScalarOp::kGe))
    return std::nullopt;
  const KernelNode &index = k_.nodes[n.args[0]], &bound = k_.nodes[n.args[1]];
  if (index.kind != NodeKind::kIndex || bound.kind != NodeKind::kConstant) return std::nullopt;
  if (bound.dtype != int32 && bound.dtype != int64) return std::nullopt;
  const auto is_zero = [](int64_t c) { return c == 0; };
  const Dims& steps = index.address.parallel;
  if (!std::all_of(index.address.inner.begin(), index.address.inner.end(), is_zero))
    return std::nullopt;
  int64_t dim = -1;
  for (int64_t d = 0; d < steps.rank(); ++d) {
    if (steps[d] == 0) continue;
    if (dim >= 0) return std::nullopt;
    dim = d;
  }
  if (dim < 0) return std::nullopt;
  if (dim + 1 == steps.rank() && !is_turn(node)) return std::nullopt;
  int64_t value = 0;
  if (bound.dtype == int32) {
    int32_t narrow = 0;
    std::memcpy(&narrow, bound.immediate.data(), sizeof(narrow));
    value = narrow;
  } else {
    std::memcpy(&value, bound.immediate.data(), sizeof(value));
  }
  // offset + s p < value from p = 0 up to (value - offset) / s, rounded up; offset - s p < value
  // from (offset - value) / s on, rounded down, plus 1. An index before 0 makes no difference.
  const int64_t step = std::abs(steps[dim]), offset = index.address.offset;
  const bool grows = steps[dim] > 0;
  const int64_t at = grows            ? (std::max<int64_t>(value - offset, 0) + step - 1) / step
                     : offset < value ? 0
                                      : (offset - value) / step + 1;
  return Threshold{dim, at, (n.op == ScalarOp::kGe) == grows};
}

// Finds the box and what is known in it. There is none if the code of the box would be nearly as
// long as the code for all elements.
void KernelEmitter::find_middle() {
  middle_ = {};
  const bool guarded = std::any_of(k_.nodes.begin(), k_.nodes.end(), [](const KernelNode& node) {
    return node.kind == NodeKind::kLoad && node.guard >= 0;
  });
  if (!guarded || !along_parallel_ || single_ || tile_rows_ > 0) return;
  if (k_.parallel.size() == 1 && turns_.empty()) return;
  const size_t rank = k_.parallel.size();
  std::vector<std::optional<Threshold>> thresholds(k_.nodes.size());
  std::vector<std::set<int64_t>> along(rank);
  for (size_t i = 0; i < k_.nodes.size(); ++i) {
    thresholds[i] = threshold_of(static_cast<int>(i));
    if (!thresholds[i]) continue;
    const auto& [dim, at, rises] = *thresholds[i];
    const int64_t extent = dim > 0 ? k_.parallel[dim] : 0;
    if (at > 0 && (extent == 0 || at < extent)) along[dim].insert(at);
  }
  // Parts of few vectors would take longer to begin than their guards take.
  constexpr int64_t kLeastVectors = 4;
  int64_t block = 1;  // the elements for each index of dimension d
  for (size_t d = rank; flat_ && d-- > 1; block *= k_.parallel[d]) {
    if (along[d].empty()) continue;
    const auto [first, stop] = longest_interval(along[d], k_.parallel[d]);
    if ((std::min(stop, k_.parallel[d]) - first) * block >= kLeastVectors * lanes_) continue;
    along[d].clear();
    for (std::optional<Threshold>& threshold : thresholds)
      if (threshold && threshold->dim == static_cast<int64_t>(d)) threshold.reset();
  }
  for (size_t d = 0; d < rank; ++d)
    middle_.ranges.push_back(along[d].empty()
                                 ? std::pair<int64_t, int64_t>{0, kNoEnd}
                                 : longest_interval(along[d], d > 0 ? k_.parallel[d] : 0));
  middle_.known.assign(k_.nodes.size(), -1);
  for (size_t i = 0; i < k_.nodes.size(); ++i) {
    const KernelNode& node = k_.nodes[i];
    if (thresholds[i]) {
      const auto& [dim, at, rises] = *thresholds[i];
      middle_.known[i] = (middle_.ranges[dim].first >= at) == rises;
    } else if (node.kind == NodeKind::kScalarOp && node.op == ScalarOp::kAnd &&
               node.dtype == bool_) {
      const int8_t a = middle_.known[node.args[0]], b = middle_.known[node.args[1]];
      middle_.known[i] = a == 0 || b == 0 ? 0 : a == 1 && b == 1 ? 1 : -1;
    }
  }
  int everywhere = 0, inside = 0;
  for (size_t l = 0; l < k_.loops.size(); ++l) {
    everywhere += loop_weight(static_cast<int>(l));
    in_middle_ = true;
    inside += loop_weight(static_cast<int>(l));
    in_middle_ = false;
  }
  if (4 * inside > 3 * everywhere) middle_ = {};
}

// Returns the value of a bool in the middle, if the middle is being emitted.
std::optional<bool> KernelEmitter::known(int node) const {
  if (!in_middle_ || middle_.known[node] < 0) return std::nullopt;
  return middle_.known[node] == 1;
}

// Returns the operand that a choice returns in the middle.
std::optional<int> KernelEmitter::known_choice(int node) const {
  const KernelNode& n = k_.nodes[node];
  if (n.kind != NodeKind::kScalarOp || n.op != ScalarOp::kSelect) return std::nullopt;
  const std::optional<bool> first = known(n.args[0]);
  if (!first) return std::nullopt;
  return n.args[*first ? 1 : 2];
}

// Returns the guard of a load; -1 if it has none, or if it is true in the middle.
int KernelEmitter::guard_of(const KernelNode& load) const {
  return load.guard >= 0 && known(load.guard) == true ? -1 : load.guard;
}

// Returns whether the guard of the load is false in the middle: its value is 0.
bool KernelEmitter::is_never_loaded(const KernelNode& node) const {
  return node.kind == NodeKind::kLoad && node.guard >= 0 && known(node.guard) == false;
}

// Returns the value of a node that needs no code of its own in the middle.
std::optional<Val> KernelEmitter::value_in_middle(int node, int u) {
  Val out;
  if (const std::optional<bool> same = known(node)) {
    out = {b_.getInt1(*same)};
  } else if (const std::optional<int> chosen = known_choice(node)) {
    out = value(*chosen, u);
  } else if (is_never_loaded(k_.nodes[node])) {
    out = number_val(ir_, k_.nodes[node].dtype, 0);
  } else {
    return std::nullopt;
  }
  if (!by_lane_[node]) return out;
  use_scope(depth_[node]);
  return broadcast_val(ir_, out);
}

// Computes all elements in flat mode, in parts that are in the middle or not.
void KernelEmitter::emit_flat_parts() {
  size_t last = k_.parallel.size() - 1;  // the last dimension with borders
  while (last > 0 && middle_.ranges[last] == std::pair<int64_t, int64_t>{0, kNoEnd}) --last;
  int64_t block = 1;
  for (size_t d = last + 1; d < k_.parallel.size(); ++d) block *= k_.parallel[d];
  std::vector<Value*> none;
  Loop parts = open_loop(begin_, none);
  enter_loop(parts, b_.CreateICmpSLT(parts.index, end_));
  use_scope(top());
  Value* position = b_.CreateUDiv(parts.index, i64(block));
  decompose(position, last + 1);
  Value* index = parallel_[last];
  const auto& [first, stop] = middle_.ranges[last];
  Value* border = last > 0 ? i64(k_.parallel[last]) : b_.CreateAdd(end_, index);
  for (int64_t at : {stop, first})
    if (at > 0 && at != kNoEnd)
      border = b_.CreateSelect(b_.CreateICmpSLT(index, i64(at)), i64(at), border);
  Value* end = b_.CreateMul(b_.CreateAdd(b_.CreateSub(position, index), border), i64(block));
  end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, end_);
  emit_part(parts.index, end);
  use_scope(top());
  close_loop(parts, end, none);
}

// Computes the columns of a row from `column` to `end`, which no turn divides. Both are in the
// middle, or neither is.
void KernelEmitter::emit_part(Value* column, Value* end) {
  if (middle_.ranges.empty()) return emit_columns(column, end);
  use_scope(1);
  Value* inside = b_.getTrue();
  for (size_t d = 0; d < middle_.ranges.size(); ++d) {
    const auto& [first, stop] = middle_.ranges[d];
    Value* index = d + 1 == middle_.ranges.size() ? column : parallel_[d];
    if (first > 0) inside = b_.CreateAnd(inside, b_.CreateICmpSGE(index, i64(first)));
    if (stop != kNoEnd) inside = b_.CreateAnd(inside, b_.CreateICmpSLT(index, i64(stop)));
  }
  BasicBlock *middle = new_block("middle"), *around = new_block("around"),
             *done = new_block("part");
  b_.CreateCondBr(inside, middle, around);
  // What is computed once for a row belongs to one of the two.
  const Scope row = scopes_[1];
  const auto emit = [&](BasicBlock* block, bool in_middle) {
    scopes_[1] = row;
    scopes_[1].tail = block;
    in_middle_ = in_middle;
    flat_ ? emit_flat_columns(column, end) : emit_columns(column, end);
    use_scope(1);
    b_.CreateBr(done);
  };
  emit(middle, true);
  emit(around, false);
  scopes_[1] = row;
  scopes_[1].tail = done;
}

}  // namespace tessera::codegen
