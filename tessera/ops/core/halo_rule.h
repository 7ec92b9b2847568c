// Halo rules: for an op that folds windows of rows (convolution, reduce_window), which rows the
// windows reach. If such a dimension is sharded, the partitioner lets neighbours send the rows
// beyond a shard that its windows reach. It then runs the op on these rows, without padding of its
// own.
#pragma once

#include <functional>
#include <vector>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// Row j of the result reads rows [j * stride - low, j * stride - low + size) of the operand, whose
// rows are `base_dilation` apart.
struct HaloDim {
  int dim = 0, result_dim = 0;
  int64_t size = 1, stride = 1, low = 0, base_dilation = 1;
  // If few results have long windows, as in the gradient of a kernel, then the windows are sharded
  // instead of the results, and so is the second operand along `tap_dim`, whose rows are taps
  // `tap_dilation` apart. Each device has a part of the sum. If it is -1, the results are sharded.
  int tap_dim = -1;
  int64_t tap_dilation = 1;
};
// Returns whether windows of `size` rows reach only rows of neighbours. With longer ones, a sharded
// dimension would be gathered on every device anyway.
inline bool windows_are_local(int64_t size, int64_t results) { return size <= results; }

struct HaloRule {
  // Returns how many operands have windows: these come first, and all have one shape.
  std::function<size_t(size_t operands)> windowed;
  // Returns the dimensions along which a window may reach other rows. In Factors each is one factor
  // of kind kPermutation, of an operand and a result or of both operands.
  std::function<std::vector<HaloDim>(const OpParams&, std::span<const Type> operands,
                                     std::span<const Type> results)>
      dims;
  // Returns the scalar with which padding is filled; it does not change the result.
  std::function<Array(const OpParams&, DType)> neutral_operand;
  // Returns the params with other padding along a dimension.
  std::function<OpParams(const OpParams&, const HaloDim&, int64_t low, int64_t high)> padded;
};

// Registers the rule of an op. It is called once, in the file of the op's definition.
bool register_halo_rule(const OpDef& def, HaloRule rule);
// Returns the op's rule, or null if it has none.
const HaloRule* find_halo_rule(const OpDef& def);

}  // namespace tessera::ops
