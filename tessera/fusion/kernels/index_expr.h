// Indices inside a kernel: affine functions of its loop dimensions and of nodes whose values are
// known only at run time.
//
// An Index addresses an element of a tensor under any shape with the same number of elements, so a
// reshape keeps it. Only an op that needs single dimensions (a broadcast, a transpose) needs the
// index under its own shape, and then the index must separate into dimensions. Example: element (i,
// j) of a (6, 4) view of a (2, 12) tensor has the linear index 4 i + j. The loop over i must be
// split into loops a and b of (2, 3), such that 12 a + 4 b + j is row a, column 4 b + j.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "tessera/base/namespaces.h"
#include "tessera/base/shape.h"

namespace tessera::fusion {

// The value offset + sum of coefficient * loop index + sum of coefficient * integer node.
struct IndexExpr {
  int64_t offset = 0;
  // The coefficient of each loop dimension.
  boost::container::small_vector<int64_t, 6> coefficients;
  boost::container::small_vector<std::pair<int, int64_t>, 1> dynamic;  // (node, coefficient)

  static IndexExpr constant(int64_t offset, size_t dims);
  void add(const IndexExpr& other, int64_t times);
  bool is_constant() const;
  friend bool operator==(const IndexExpr&, const IndexExpr&) = default;
};
using IndexExprs = boost::container::small_vector<IndexExpr, 3>;

struct Index {
  Shape shape;
  IndexExprs dims;  // one for each dimension of shape
  friend bool operator==(const Index&, const Index&) = default;
};

size_t hash_value(const Index& index);
IndexExpr linear_index(const Index& index, size_t loop_dims);

// A request to split the loop over `dim` into (extent / minor, minor).
struct DimSplit {
  int dim;
  int64_t minor;
};
// Returns `index` under another shape of the same elements. If it does not separate into
// dimensions, returns nullopt and sets `split` to the loop to split first (dim -1 if splitting does
// not help).
std::optional<Index> reshape_index(const Index& index, const Shape& shape, const Dims& extents,
                                   DimSplit* split);

}  // namespace tessera::fusion
