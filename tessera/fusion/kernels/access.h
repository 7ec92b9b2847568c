// Access: which element of a value a kernel reads, given the kernel's loop dimensions, if each
// dimension of the value is one of these.
#pragma once

#include <optional>

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// For each dimension of a value, the dimension of the kernel that is its index; -1: the index is 0.
struct Access {
  // If false, the index is another function of the loop dimensions, identified by `tag`, and `dims`
  // is empty.
  bool plain = true;
  size_t tag = 0;
  boost::container::small_vector<int8_t, 6> dims;
  friend bool operator==(const Access&, const Access&) = default;
};

Access identity_access(const Shape& shape);
// Returns an access that is not plain. Equal arguments give equal accesses.
Access opaque_access(const Access& of, size_t maker);
// Returns a number that distinguishes this access from others.
size_t tag_of(const Access& access);

// Returns the access of operand k of a kPointwise, kConvert, kIndexMap, kGather or kReshape op,
// given that of its result; nullopt if it is not plain, except that elementwise ops read their
// operands where they are read themselves.
std::optional<Access> operand_access(const GraphOp& op, size_t k, const Access& access,
                                     const Shape& operand, const Shape& result);

// Returns whether the pieces of an index map divide the result into boxes, each a copy of a box of
// its operand with the same order of dimensions.
bool is_tiling(const GraphOp& op, const Shape& result);
// Returns whether the pieces of an index map change within short rows, which one kernel computes at
// once (short_rows.h).
bool is_short_row(const GraphOp& op, const Shape& result);
// Returns the part of the result's elements that come from operand k of an index map whose pieces
// are boxes at known positions; 1 for other ops.
float share_of_pieces(const GraphOp& op, size_t k, const Shape& result);
// Returns the extents of the part of the result that a piece of a tiling covers.
Shape piece_extents(const IndexPiece& piece);

}  // namespace tessera::fusion
