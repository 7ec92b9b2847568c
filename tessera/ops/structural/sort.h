// sort: StableHLO's op that orders several arrays along one dimension by a comparator.
//
// It has n operands of one shape, and n results. The default order is given by `num_keys` and
// `descending`: the first num_keys operands are compared one after the other, numbers by size with
// NaN the largest and 0 equal to -0, complex numbers by real, then imaginary part. With
// `total_order` floating-point numbers with different bits are different: -NaN < -inf < -0 < 0 <
// inf < NaN. Any other order needs a comparator. If a comparator is recognised as an order by keys
// (sort_order.h), it is not called: the keys are sorted (sort_lines.h).
#pragma once

#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/forward.h"

namespace tessera::ops {

struct SortParams {
  int64_t dimension = 0;
  bool is_stable = true;
  int64_t num_keys = 1;
  bool descending = false;
  bool total_order = false;
  // (a0, b0, a1, b1, ...) -> bool, whether a is before b; null stands for the default order.
  FunctionRef comparator = {};
};
extern const OpDef& sort_op;
// Returns the params of a sort, or null for other ops.
const SortParams* as_sort(const Op& op);

// The first `count` elements of each line of a sort by the default order, without the others; few
// are found by selection instead of sorting. The operands are those of the sort. With `index`, the
// sort's last operand, the indices along the dimension, is left out, and they are computed as
// `index_dtype`. Only the compiler makes this op (fusion/rewrites/simplify_sorts.h).
struct FirstSortedParams {
  int64_t dimension = 0;
  int64_t count = 1;
  int64_t num_keys = 1;
  bool descending = false;
  bool total_order = false;
  bool index = false;
  DType index_dtype = int32;
};
extern const OpDef& first_sorted_op;

// Returns the comparator of the default order on scalars of these dtypes, as JAX writes it.
FunctionRef sort_comparator(int64_t num_keys, bool descending, bool total_order,
                            std::span<const DType> dtypes);

// Returns how many times sorts of this process have interpreted a comparator so far. Tests use it.
int64_t interpreted_comparisons();

}  // namespace tessera::ops

namespace tessera::lax {

// Return the operands sorted along a dimension. Sorts are stable in either direction: equal
// elements keep their order.
std::vector<Array> sort(std::span<const Array> operands, int64_t dimension = -1,
                        int64_t num_keys = 1, bool descending = false);
std::vector<Array> sort(std::span<const Array> operands, int64_t dimension,
                        ir::FunctionRef comparator);
// Returns the k largest elements along the last dimension, descending, and their indices (int32);
// of equal ones the first come first. The order is total, as in XLA: NaN is the largest, -NaN the
// smallest, -0 < 0.
std::pair<Array, Array> top_k(const Array& x, int64_t k);

}  // namespace tessera::lax
