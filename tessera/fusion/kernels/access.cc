#include "tessera/fusion/kernels/access.h"

#include <algorithm>

#include "tessera/base/contains.h"
#include "tessera/base/hash.h"
#include "tessera/fusion/kernels/short_rows.h"
#include "tessera/ops/indexing/gather.h"

namespace tessera::fusion {
namespace {

bool is_whole(const IndexPiece& piece, const Shape& result) {
  if (!piece.start_dynamic.empty()) return false;
  for (size_t d = 0; d < piece.start.size(); ++d)
    if (piece.start[d] > 0) return false;
  for (size_t d = 0; d < piece.stop.size(); ++d)
    if (piece.stop[d] < result[d]) return false;
  return true;
}

std::optional<Access> mapped_access(const GraphOp& op, int k, const Access& access,
                                    const Shape& operand, const Shape& result) {
  const std::vector<IndexPiece>& pieces = op.mapping.pieces;
  if (pieces.size() != 1 || pieces[0].operand != k || !is_whole(pieces[0], result))
    return std::nullopt;
  Access out;
  for (size_t d = 0; d < operand.size(); ++d) {
    const IndexTerm& term = pieces[0].terms[d];
    if (operand[d] == 1) {
      out.dims.push_back(-1);
    } else if (term.result_dim >= 0 && operand[d] == result[term.result_dim] && term.stride == 1 &&
               term.offset == 0 && term.divisor == 1 && term.dynamic < 0) {
      out.dims.push_back(access.dims[term.result_dim]);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Returns the access of the indices of a gather (operand 1): they have the batch dimensions of its
// result. Which element of operand 0 they select is not known, so its access is not plain.
std::optional<Access> gathered_access(const GraphOp& op, size_t k, const Access& access,
                                      const Shape& operand, const Shape& result) {
  if (k == 0) return std::nullopt;
  const GatherParams& p = op.op->params.as<GatherParams>();
  if (p.start_index_map.size() > 1) return std::nullopt;
  Access out;
  size_t batch = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (d == p.index_vector_dim) {
      out.dims.push_back(-1);
      continue;
    }
    while (contains(p.offset_dims, batch)) ++batch;
    out.dims.push_back(result[batch] == 1 ? int8_t{-1} : access.dims[batch]);
    ++batch;
  }
  return out;
}

std::optional<Access> reshaped_access(const Access& access, const Shape& operand,
                                      const Shape& result) {
  Access out;
  size_t r = 0;
  for (int64_t extent : operand) {
    if (extent == 1) {
      out.dims.push_back(-1);
      continue;
    }
    while (r < result.size() && result[r] == 1) ++r;
    if (r == result.size() || result[r] != extent) return std::nullopt;
    out.dims.push_back(access.dims[r++]);
  }
  return out;
}

}  // namespace

Access identity_access(const Shape& shape) {
  Access out;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d)
    out.dims.push_back(shape[d] == 1 ? -1 : static_cast<int8_t>(d));
  return out;
}

size_t tag_of(const Access& access) {
  size_t tag = access.tag;
  if (access.plain)
    for (int8_t d : access.dims) tag = hash_combine(tag, static_cast<size_t>(d) + 2);
  return tag;
}

Access opaque_access(const Access& of, size_t maker) {
  return {.plain = false, .tag = hash_combine(tag_of(of), maker), .dims = {}};
}

std::optional<Access> operand_access(const GraphOp& op, size_t k, const Access& access,
                                     const Shape& operand, const Shape& result) {
  if (operand.empty()) return Access{};
  const bool elementwise = op.kind == OpKind::kPointwise || op.kind == OpKind::kConvert;
  if (elementwise) return access;
  if (!access.plain) return std::nullopt;
  switch (op.kind) {
    case OpKind::kIndexMap:
      return mapped_access(op, static_cast<int>(k), access, operand, result);
    case OpKind::kGather:
      return gathered_access(op, k, access, operand, result);
    case OpKind::kReshape:
      return reshaped_access(access, operand, result);
    default:
      return std::nullopt;
  }
}

bool is_tiling(const GraphOp& op, const Shape& result) {
  int64_t elements = 0;
  for (const IndexPiece& piece : op.mapping.pieces) {
    if (!piece.start_dynamic.empty() || piece.start.size() != result.size() ||
        piece.stop.size() != result.size() || piece.terms.size() != result.size())
      return false;
    for (int d = 0; d < static_cast<int>(result.size()); ++d) {
      const IndexTerm& term = piece.terms[d];
      if (term.result_dim != d || term.stride != 1 || term.divisor != 1 || term.dynamic >= 0)
        return false;
      if (piece.start[d] < 0 || piece.stop[d] > result[d]) return false;
    }
    elements += piece_extents(piece).elements();
  }
  return op.mapping.fill < 0 && elements == result.elements();
}

bool is_short_row(const GraphOp& op, const Shape& result) {
  size_t first = result.size();
  for (const IndexPiece& piece : op.mapping.pieces)
    for (size_t d = 0; d < first; ++d)
      if (piece.stop[d] - piece.start[d] != result[d]) first = d;
  int64_t row = 1;
  for (size_t d = first; d < result.size(); ++d) row *= result[d];
  return row <= kShortRow;
}

float share_of_pieces(const GraphOp& op, size_t k, const Shape& result) {
  if (op.kind != OpKind::kIndexMap || result.elements() == 0) return 1;
  int64_t covered = 0;
  for (const IndexPiece& piece : op.mapping.pieces) {
    if (piece.operand != static_cast<int>(k)) continue;
    if (piece.start.size() != result.size() || piece.stop.size() != result.size() ||
        !piece.start_dynamic.empty())
      return 1;
    int64_t elements = 1;
    for (size_t d = 0; d < result.size(); ++d)
      elements *= std::max<int64_t>(
          0, std::min(piece.stop[d], result[d]) - std::max<int64_t>(piece.start[d], 0));
    covered += elements;
  }
  if (covered == 0) return 1;
  return std::min(1.0F, static_cast<float>(covered) / static_cast<float>(result.elements()));
}

Shape piece_extents(const IndexPiece& piece) {
  Shape out;
  for (size_t d = 0; d < piece.stop.size(); ++d) out.push_back(piece.stop[d] - piece.start[d]);
  return out;
}

}  // namespace tessera::fusion
