// Turns: the columns at which the guards of loads change along a row.
//
// An index map of several pieces (a concatenation, padding, a slice that is replaced) loads each
// operand under a guard such as column + offset < bound. Between two turns the guards are the same
// for all lanes. So a row is divided at its turns, and each part loads whole vectors of exactly the
// operands that it needs. Example: out[i] = i < 5 ? a[i] : b[i - 5] with 12 elements has one turn,
// at 5, which both guards share, and the parts [0, 5) and [5, 12).
#include <algorithm>
#include <set>

#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

using llvm::Value;

namespace {

// Every part of a row ends with masked vectors, so rows are divided only if their length allows
// this many vectors for each part. (The code does not know the length of a kernel's only row.)
constexpr int64_t kVectorsInPart = 4;
constexpr size_t kMostTurns = 64;

}  // namespace

// Returns by how much the value of `node` grows from column to column; nullopt if it is not an
// integer that grows evenly.
std::optional<int64_t> KernelEmitter::step_along_row(int node) const {
  const KernelNode& n = k_.nodes[node];
  if (n.dtype != int32 && n.dtype != int64) return std::nullopt;
  if (!by_lane_[node]) return depth_[node] <= 1 ? std::optional<int64_t>(0) : std::nullopt;
  if (n.kind == NodeKind::kIndex)
    return depth_[node] <= 2 ? std::optional<int64_t>(lane_stride(n.address)) : std::nullopt;
  if (n.kind != NodeKind::kScalarOp || n.op != ScalarOp::kAdd) return std::nullopt;
  const std::optional<int64_t> a = step_along_row(n.args[0]), b = step_along_row(n.args[1]);
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

void KernelEmitter::find_turns() {
  turns_.clear();
  if (!along_parallel_ || flat_ || single_) return;
  const int n = static_cast<int>(k_.nodes.size());
  std::vector<char> guards(n, 0);
  for (const KernelNode& node : k_.nodes)
    if (node.kind == NodeKind::kLoad && node.guard >= 0) guards[node.guard] = 1;
  std::set<std::pair<int, int>> comparisons;  // the operands of each comparison
  for (int i = n; i-- > 0;) {
    const KernelNode& node = k_.nodes[i];
    if (!guards[i] || node.kind != NodeKind::kScalarOp || !by_lane_[i]) continue;
    if (node.op == ScalarOp::kAnd)
      for (int arg : node.args) guards[arg] = 1;
    if (node.op != ScalarOp::kLt && node.op != ScalarOp::kGe) continue;
    const std::optional<int64_t> step = step_along_row(node.args[0]);
    if (!step || (*step != 1 && *step != -1) || step_along_row(node.args[1]) != 0) continue;
    turns_.push_back({i, (node.op == ScalarOp::kGe) == (*step > 0)});
    comparisons.emplace(node.args[0], node.args[1]);
  }
  const int64_t parts = static_cast<int64_t>(comparisons.size()) + 1;
  const bool short_rows =
      k_.parallel.size() > 1 && k_.parallel.back() < parts * kVectorsInPart * lanes_;
  if (short_rows || comparisons.size() > kMostTurns) turns_.clear();
  for (size_t t = 0; t < turns_.size(); ++t) turn_of_[turns_[t].node] = static_cast<int>(t);
}

// Returns the value of `node` at column 0 of this row.
Value* KernelEmitter::at_row_start(int node) {
  const KernelNode& n = k_.nodes[node];
  if (!by_lane_[node]) {
    const Val same = value(node, 0);
    use_scope(1);
    return b_.CreateSExt(same.re, b_.getInt64Ty());
  }
  if (n.kind == NodeKind::kIndex) return address_sum(n.address, node, 1);
  Value *a = at_row_start(n.args[0]), *b = at_row_start(n.args[1]);
  use_scope(1);
  return b_.CreateAdd(a, b);
}

// Returns the column of the turn. start + column < bound is true before column bound - start; start
// - column < bound is true from column start - bound + 1 on.
Value* KernelEmitter::column_of(const Turn& turn) {
  const KernelNode& n = k_.nodes[turn.node];
  Value *start = at_row_start(n.args[0]), *bound = at_row_start(n.args[1]);
  const bool grows = turn.rises == (n.op == ScalarOp::kGe);
  use_scope(1);
  return grows ? b_.CreateSub(bound, start) : b_.CreateAdd(b_.CreateSub(start, bound), i64(1));
}

// Returns the end of the part of the row that begins at `column`: the next turn, or `end`.
Value* KernelEmitter::end_of_part(Value* column, Value* end) {
  column_ = column;
  const auto nearest = [&](Value* at) {
    Value* ahead = b_.CreateSelect(b_.CreateICmpSGT(at, column), at, end);
    end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, ahead);
  };
  for (Turn& turn : turns_) {
    turn.at = column_of(turn);
    nearest(turn.at);
  }
  // Streaming stores write whole cache lines, so the vectors after a turn must begin at a line
  // again.
  if (k_.streaming_stores && line_store_ < 0) {
    Value* past = b_.CreateAdd(column, i64(lanes_ - 1));
    nearest(b_.CreateAnd(past, i64(-lanes_)));
  }
  return end;
}

// Returns whether the comparison is true in this part of the row.
Val KernelEmitter::compute_turn(const Turn& turn) {
  use_scope(1);
  Value* reached = b_.CreateICmpSGE(column_, turn.at);
  return {turn.rises ? reached : b_.CreateNot(reached)};
}

}  // namespace tessera::codegen
