// How the element of a value that a kernel reads follows from the kernel's loop dimensions: which
// dimension of the one is which of the other, where it is as simple as that.
#pragma once

#include <optional>

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Dimension of the kernel for each dimension of a value, -1 where the index is always 0.
struct Access {
  // False: some other function of the loop dimensions, which `tag` names; `dims` is empty.
  bool plain = true;
  size_t tag = 0;
  boost::container::small_vector<int8_t, 6> dims;
  friend bool operator==(const Access&, const Access&) = default;
};

Access identity_access(const Shape& shape);
// An access that no choice of dimensions gives; equal for equal arguments.
Access opaque_access(const Access& of, size_t maker);
// Distinguishes accesses.
size_t tag_of(const Access& access);

// The access of operand k of a kPointwise, kConvert, kIndexMap, kGather or kReshape op, given that
// of its result, if that is plain too.
std::optional<Access> operand_access(const GraphOp& op, size_t k, const Access& access,
                                     const Shape& operand, const Shape& result);

// Whether the pieces of an index map cut the result into boxes, each a copy of a box of its operand
// in the same order of dimensions.
bool is_tiling(const GraphOp& op, const Shape& result);
// Whether the pieces of an index map change within short rows, which one kernel computes at once
// (short_rows.h).
bool is_short_row(const GraphOp& op, const Shape& result);
// Extents of the part of the result that a piece of a tiling gives.
Shape piece_extents(const IndexPiece& piece);

}  // namespace tessera::fusion
