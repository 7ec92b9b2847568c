#include "tessera/fusion/kernels/short_row_pieces.h"

#include <algorithm>

#include "tessera/fusion/kernels/short_rows.h"

namespace tessera::fusion {
namespace {

constexpr int kMostValues = 64;  // that are searched

// Returns whether the rows before the last dimension are whole in the piece.
bool has_whole_columns(const IndexPiece& piece, const Shape& result) {
  if (piece.start.size() != result.size() || !piece.start_dynamic.empty()) return false;
  for (size_t d = 0; d + 1 < result.size(); ++d)
    if (piece.start[d] != 0 || piece.stop[d] != result[d]) return false;
  return true;
}

bool are_near(const Graph& g, int v, const std::vector<char>& stored, int64_t rows, int& left) {
  const GraphValue& value = g.values[v];
  if (--left < 0) return false;
  if (value.elements() != 1 && value.shape.back() > kShortRow && value.shape.back() != rows)
    return false;
  if (stored[v] || value.op < 0) return true;
  const GraphOp& op = g.ops[value.op];
  if (op.stored()) return true;
  if (op.kind == OpKind::kReduce || op.kind == OpKind::kGather) return false;
  return std::all_of(op.operands.begin(), op.operands.end(),
                     [&](int operand) { return are_near(g, operand, stored, rows, left); });
}

// Returns the part of the result's elements that read operand k of an index map whose pieces divide
// short rows; else 1.
float share_of_columns(const GraphOp& op, size_t k, const Shape& result) {
  if (op.kind != OpKind::kIndexMap || op.mapping.pieces.empty() || result.size() < 2) return 1;
  const int64_t row = result.back();
  if (row < 2 || row > kShortRow || result[result.size() - 2] < kLeastShortRows) return 1;
  int64_t columns = 0;
  for (const IndexPiece& piece : op.mapping.pieces) {
    if (piece.operand != static_cast<int>(k)) continue;
    if (!has_whole_columns(piece, result)) return 1;
    columns += piece.stop.back() - piece.start.back();
  }
  return columns == 0 ? 1 : static_cast<float>(columns) / static_cast<float>(row);
}

}  // namespace

float share_of_elements(const Graph& graph, int user, size_t k, const Group& group,
                        const GroupMembership& at) {
  if (group.piece >= 0 || group.structured || !group.families.empty()) return 1;
  const GraphOp& op = graph.ops[user];
  const Shape& result = graph.values[op.results[0]].shape;
  const bool whole =
      std::equal(result.begin(), result.end(), group.extents.begin(), group.extents.end()) &&
      at.access == identity_access(result);
  return whole ? at.share * share_of_columns(op, k, result) : at.share;
}

bool reads_short_rows(const Graph& graph, int v, const std::vector<char>& stored,
                      const Group& group) {
  int left = kMostValues;
  return group.families.empty() && group.root_rank >= 2 &&
         are_near(graph, v, stored, group.extents[group.root_rank - 2], left);
}

}  // namespace tessera::fusion
